package wire_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/yarnproxy/amrm/wire"
)

func TestToken(t *testing.T) {
	t.Parallel()
	got, key, err := wire.ParseAttempt(hadoop(t, "token"))
	want := wire.Attempt{Cluster: 1795218000123, App: 7, Attempt: 2}
	if err != nil || key != -1234567 || got != want {
		t.Errorf("%+v, key %d, error %v", got, key, err)
	}
	if s := got.String(); s != "appattempt_1795218000123_0007_000002" {
		t.Errorf("attempt %s", s)
	}
	if s := got.AppID(); s != "application_1795218000123_0007" {
		t.Errorf("application %s", s)
	}
	if s := (wire.Attempt{Cluster: 1, App: 12345, Attempt: 1234567}).String(); s != "appattempt_1_12345_1234567" {
		t.Errorf("attempt %s", s)
	}
	_, key, err = wire.ParseAttempt(field(1, append(field(1, 0x08, 1, 0x10, 1), 0x10, 1)...))
	if err != nil || key != -1 {
		t.Errorf("without a key: %d, error %v", key, err)
	}
}

func TestTokenOfNoAttempt(t *testing.T) {
	t.Parallel()
	token := hadoop(t, "token")
	for n := range len(token) {
		if n == 15 {
			continue // the attempt is whole, the key number is absent
		}
		if a, _, err := wire.ParseAttempt(token[:n]); err == nil {
			t.Errorf("%d bytes of %d were read as %v", n, len(token), a)
		}
	}
	for _, token := range [][]byte{nil, field(1), field(1, 0x10, 1), field(1, field(1, 0x08, 1, 0x10, 1)...), field(2), {0x08, 1}} {
		if a, _, err := wire.ParseAttempt(token); err == nil {
			t.Errorf("%x was read as %v", token, a)
		}
	}
}

func TestTokenIsReadAsProtobufDoes(t *testing.T) {
	t.Parallel()
	o := newOracle(t)
	rapid.Check(t, func(t *rapid.T) {
		token := encode(t, o.describe("AMRMTokenIdentifierProto"), 0)
		checkToken(t, o, token)
		token = append(token, field(1, field(1, 0x08, 5, 0x10, 6)...)...)
		token = append(token, field(1, 0x10, 4)...)
		if !checkToken(t, o, token) { // what came before is merged with these
			t.Fatalf("%x was not read", token)
		}
	})
}

// checkToken fails unless a token that is read is read as the oracle does. It
// returns whether it was read.
func checkToken(t rapid.TB, o oracle, token []byte) bool {
	t.Helper()
	got, key, err := wire.ParseAttempt(token)
	if err != nil {
		return false
	}
	want, err := o.read("AMRMTokenIdentifierProto", token)
	if err != nil {
		t.Fatalf("%x was read as %v: %v", token, got, err)
	}
	if diff := cmp.Diff(want.message("appAttemptId").attempt(), got); diff != "" || int64(key) != want.or("keyId", -1) {
		t.Fatalf("%x: key %d (-want +got):\n%s", token, key, diff)
	}
	return true
}

func TestContext(t *testing.T) {
	t.Parallel()
	want := wire.Attempt{Cluster: 1795218000123, App: 7, Attempt: 2}
	for _, s := range []string{
		"mr_appmaster_appattempt_1795218000123_0007_000002",
		"appattempt_1795218000123_0007_000002",
		"tez_appattempt_1795218000123_7_2",
		"x_appattempt_1_0001_000001_appattempt_1795218000123_0007_000002",
	} {
		if got, ok := wire.ParseContext([]byte(s)); !ok || got != want {
			t.Errorf("%s: %+v, %t", s, got, ok)
		}
	}
	for _, s := range []string{
		"", "mr_appmaster_", "CLI", "appattempt_", "appattempt_1_2", "appattempt_1_2_", "appattempt_1_2_3_", "appattempt_1_2_3_4",
		"appattempt_1_2_3:x", "appattempt__2_3", "appattempt_1__3", "appattempt_-1_2_3", "appattempt_1_+2_3", "appattempt_0_1_1",
		"appattempt_1_0_1", "appattempt_1_1_0", "appattempt_9223372036854775808_1_1", "appattempt_1_2147483648_1", "appattempt_1_4294967297_1",
		"appattempt_1_1_2147483648", "appattempt_1_1_4294967297", "appattempt_1_1_1 ", "appattempt_0x1_1_1", "application_1_2", "attempt_1_0001_m_000001_0",
	} {
		if got, ok := wire.ParseContext([]byte(s)); ok {
			t.Errorf("%q was read as %v", s, got)
		}
	}
}

func TestContextOfAnyAttempt(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := wire.Attempt{
			Cluster: rapid.Int64Min(1).Draw(t, "cluster"), App: rapid.Int32Min(1).Draw(t, "app"), Attempt: rapid.Int32Min(1).Draw(t, "attempt"),
		}
		if got, ok := wire.ParseContext([]byte("mr_appmaster_" + want.String())); !ok || got != want {
			t.Fatalf("%v was read as %+v, %t", want, got, ok)
		}
	})
}

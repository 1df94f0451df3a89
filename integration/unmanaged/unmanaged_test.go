package unmanaged

import (
	"encoding/base64"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/yarnproxy/amrm/wire"
)

// TestCall: an encoded allocate call decodes to the same content.
func TestCall(t *testing.T) {
	t.Parallel()
	am := &AM{Attempt: wire.Attempt{Cluster: 1700000000000, App: 42, Attempt: 1}, response: 7}
	release := []wire.ContainerID{{Attempt: 1, ID: 3}, {Attempt: 1, ID: 1<<40 | 4}}
	body := am.appendCall(nil, Call{
		Rows:         []wire.NewRow{{Priority: 10, RequestID: -1, Name: wire.Any, Count: 2, Memory: 512, VCores: 1}},
		Release:      release,
		BlacklistAdd: []string{"w11"}, BlacklistRemove: []string{"/rack2"},
	})
	var got wire.Request
	if err := got.Parse(body); err != nil {
		t.Fatal(err)
	}
	if len(got.Asks) != 1 || string(got.Asks[0].Name) != wire.Any || got.Asks[0].Count != 2 || got.Asks[0].Relax {
		t.Errorf("asks %+v, want two containers anywhere, strictly", got.Asks)
	}
	got.Asks = nil
	want := wire.Request{
		ResponseID: 7, Progress: 0.5, Releases: release,
		BlacklistAdd: [][]byte{[]byte("w11")}, BlacklistRemove: [][]byte{[]byte("/rack2")},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +read)\n%s", diff)
	}
}

// TestNotConnected: calls without a connection, or with nothing to repeat, are errors.
func TestNotConnected(t *testing.T) {
	t.Parallel()
	am := &AM{ID: "application_1_0001"}
	if _, err := am.Allocate(t.Context(), Call{}); !errors.Is(err, errNotConnected) {
		t.Errorf("allocate without a connection: %v", err)
	}
	if _, err := (&AM{}).Repeat(t.Context()); err == nil {
		t.Error("repeated a call that was never made")
	}
}

// answerOf is a report of an ACCEPTED application with a token.
func answerOf(identifier, password string) []byte {
	token := appendMessage(appendMessage(nil, 1, []byte(identifier)), 2, []byte(password))
	report := appendMessage(appendNumber(appendMessage(nil, 2, []byte("root")), 8, stateAccepted), 19, token)
	return appendMessage(nil, 1, report)
}

// tokenOf is AMRMTokenIdentifierProto of the first attempt of an application.
func tokenOf(app, cluster uint64) string {
	attempt := appendNumber(appendMessage(nil, 1, appID(app, cluster)), 2, 1)
	return string(appendNumber(appendMessage(nil, 1, attempt), 2, 5))
}

func TestToken(t *testing.T) {
	t.Parallel()
	r, err := parseReport(answerOf(tokenOf(42, 1700000000000), "secret"))
	if err != nil || r.state != stateAccepted {
		t.Fatalf("%+v, %v; want state ACCEPTED", r, err)
	}
	var am AM
	if err := am.takeToken(r); err != nil {
		t.Fatal(err)
	}
	if want := (wire.Attempt{Cluster: 1700000000000, App: 42, Attempt: 1}); am.Attempt != want {
		t.Errorf("attempt %v, want %v", am.Attempt, want)
	}
	if want := base64.StdEncoding.EncodeToString([]byte("secret")); am.secret.Password != want {
		t.Errorf("password %q, want %q", am.secret.Password, want)
	}
}

func TestReportRequest(t *testing.T) {
	t.Parallel()
	got, err := reportRequest("application_1700000000000_0042")
	if want := appendMessage(nil, 1, appID(42, 1700000000000)); err != nil || string(got) != string(want) {
		t.Errorf("%x, %v; want %x", got, err, want)
	}
	if _, err := reportRequest("job_1_2"); err == nil {
		t.Error("took job_1_2 for an application")
	}
}

// FuzzReport: no answer makes the reader fail otherwise than with an error, and
// what it reads is part of the answer.
func FuzzReport(f *testing.F) {
	f.Add(answerOf(tokenOf(1, 2), "secret"))
	f.Add([]byte{})
	f.Add(appendMessage(nil, 1, appendMessage(nil, 19, []byte{0x0a, 0x7f})))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := parseReport(body)
		if err != nil && (r.state != 0 || r.identifier != nil || r.password != nil) {
			t.Errorf("an error, and %+v", r)
		}
		if len(r.identifier)+len(r.password) > 2*len(body) {
			t.Errorf("%d bytes of a token in an answer of %d", len(r.identifier)+len(r.password), len(body))
		}
	})
}

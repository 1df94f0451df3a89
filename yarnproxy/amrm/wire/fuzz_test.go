package wire_test

import (
	"fmt"
	"regexp"
	"testing"

	"heddle/yarnproxy/amrm/wire"
)

// FuzzRequest: whatever is read is read as the oracle does.
func FuzzRequest(f *testing.F) {
	o := newOracle(f)
	seedRequests(f, func(body []byte) { f.Add(body) })
	var r wire.Request
	f.Fuzz(func(t *testing.T, body []byte) {
		if r.Parse(body) == nil {
			checkRequest(t, o, &r, body)
		}
	})
}

// seedRequests calls add with requests of Hadoop and with the odd shapes of protobuf.
func seedRequests(f *testing.F, add func([]byte)) {
	f.Helper()
	request := hadoop(f, "request")
	add(request)
	add(hadoop(f, "empty"))
	add(wire.AppendVerbatim(nil, hadoop(f, "row")))
	add(append(request[len(request)-30:], request...))
	add([]byte{0x6b, 0x08, 1, 0x6c, 0x20, 0x91, 0x80, 0x00, 0x20, 0x05}) // a group, a long varint, a field that comes twice
	add(field(1, field(3, field(3, 0x10, 1)...)...))
}

// FuzzResponse: whatever is read is read as the oracle does.
func FuzzResponse(f *testing.F) {
	o := newOracle(f)
	f.Add(hadoop(f, "response"))
	f.Add(hadoop(f, "register"))
	f.Add(hadoop(f, "finish"))
	f.Add([]byte{0x08, 2, 0x08, 9, 0x32, 2, 0x38, 5, 0x22, 2, 0x20, 1})
	var r wire.Response
	f.Fuzz(func(t *testing.T, body []byte) {
		if r.Parse(body) == nil {
			checkResponse(t, o, &r, body)
		}
		if got, err := wire.ParseRegisterResponse(nil, body); err == nil {
			want, err := o.read("RegisterApplicationMasterResponseProto", body)
			if err != nil || want.value("containers_from_previous_attempts").List().Len() != len(got) {
				t.Errorf("%x: %d containers, the oracle says %v", body, len(got), err)
			}
		}
		if got, err := wire.ParseFinishResponse(body); err == nil {
			want, err := o.read("FinishApplicationMasterResponseProto", body)
			if err != nil || want.value("isUnregistered").Bool() != got {
				t.Errorf("%x: %t, the oracle says %v", body, got, err)
			}
		}
	})
}

// FuzzEdit: a request that is read can be edited, is read again, and has the
// asks that were put in and all else it had.
func FuzzEdit(f *testing.F) {
	o := newOracle(f)
	row := hadoop(f, "row")
	seedRequests(f, func(body []byte) { f.Add(body, row, "w11", int32(3), false) })
	f.Add(hadoop(f, "request"), field(6, 'g'), wire.Any, int32(-1), true)
	f.Fuzz(func(t *testing.T, body, template []byte, name string, count int32, relax bool) {
		var r wire.Request
		if r.Parse(body) != nil {
			return
		}
		var asks []byte
		var want []view
		for i := range r.Asks {
			asks = wire.AppendVerbatim(asks, r.Asks[i].Raw)
			want = append(want, mustRead(t, o, r.Asks[i].Raw))
		}
		if _, err := wire.ParseRow(template); err == nil {
			if asks, err = wire.AppendRow(asks, template, name, count, relax); err != nil {
				t.Fatalf("template %x: %v", template, err)
			}
			v := mustRead(t, o, template)
			v.rename(name, count, relax)
			want = append(want, v)
		}
		out, err := wire.AppendRequest(nil, body, asks)
		if err != nil {
			t.Fatalf("%x: %v", body, err)
		}
		checkEdit(t, o, body, out, asks)
		checkAsks(t, o, out, want)
		if len(want) <= wire.MaxItems {
			checkRequest(t, o, &r, out)
		}
	})
}

func mustRead(t *testing.T, o oracle, row []byte) view {
	t.Helper()
	v, err := o.read("ResourceRequestProto", row)
	if err != nil {
		t.Fatalf("row %x: %v", row, err)
	}
	return v
}

// FuzzToken: whatever is read is read as the oracle does.
func FuzzToken(f *testing.F) {
	o := newOracle(f)
	f.Add(hadoop(f, "token"))
	f.Add(hadoop(f, "token")[:15])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, token []byte) { checkToken(t, o, token) })
}

// FuzzContext: an attempt that is found is written in the context, and found again in its own name.
func FuzzContext(f *testing.F) {
	f.Add([]byte("mr_appmaster_appattempt_1795218000123_0007_000002"))
	f.Add([]byte("appattempt_1_2_3"))
	f.Add([]byte("appattempt_9223372036854775807_2147483647_2147483647"))
	f.Fuzz(func(t *testing.T, context []byte) {
		a, ok := wire.ParseContext(context)
		if !ok {
			return
		}
		if again, ok := wire.ParseContext([]byte(a.String())); !ok || again != a {
			t.Errorf("%q was read as %v, which is read as %v, %t", context, a, again, ok)
		}
		written := regexp.MustCompile(fmt.Sprintf("appattempt_0*%d_0*%d_0*%d$", a.Cluster, a.App, a.Attempt))
		if !written.Match(context) {
			t.Errorf("%q was read as %v", context, a)
		}
	})
}

package wire_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"

	"heddle/yarnproxy/amrm/wire"
)

// same compares what package wire read with what the oracle read: absent and
// empty are one, as are all NaNs; Raw is compared where it matters.
func same() cmp.Options {
	return cmp.Options{cmpopts.EquateEmpty(), cmpopts.EquateNaNs(), cmpopts.IgnoreFields(wire.Row{}, "Raw")}
}

func TestRequestIsReadAsProtobufDoes(t *testing.T) {
	t.Parallel()
	o := newOracle(t)
	var got wire.Request // kept, so that something of an earlier message would show
	rapid.Check(t, func(t *rapid.T) {
		body := encode(t, o.describe("AllocateRequestProto"), 0)
		checkRequest(t, o, &got, body)
	})
}

// checkRequest fails unless body is read, and as the oracle reads it.
func checkRequest(t rapid.TB, o oracle, got *wire.Request, body []byte) {
	t.Helper()
	want, err := o.read("AllocateRequestProto", body)
	if err != nil {
		t.Fatalf("the oracle refuses %x: %v", body, err)
	}
	if err := got.Parse(body); err != nil {
		t.Fatalf("%x: %v", body, err)
	}
	if diff := cmp.Diff(want.request(), *got, same()); diff != "" {
		t.Fatalf("%x (-want +got):\n%s", body, diff)
	}
	for i := range got.Asks {
		if row, err := wire.ParseRow(got.Asks[i].Raw); err != nil || !cmp.Equal(row, got.Asks[i]) {
			t.Fatalf("row %d alone: %+v, error %v, want %+v", i, row, err, got.Asks[i])
		}
	}
}

func TestResponseIsReadAsProtobufDoes(t *testing.T) {
	t.Parallel()
	o := newOracle(t)
	var got wire.Response
	rapid.Check(t, func(t *rapid.T) {
		checkResponse(t, o, &got, encode(t, o.describe("AllocateResponseProto"), 0))
	})
}

// checkResponse fails unless body is read, and as the oracle reads it.
func checkResponse(t rapid.TB, o oracle, got *wire.Response, body []byte) {
	t.Helper()
	want, err := o.read("AllocateResponseProto", body)
	if err != nil {
		t.Fatalf("the oracle refuses %x: %v", body, err)
	}
	if err := got.Parse(body); err != nil {
		t.Fatalf("%x: %v", body, err)
	}
	if diff := cmp.Diff(want.response(), *got, same()); diff != "" {
		t.Fatalf("%x (-want +got):\n%s", body, diff)
	}
}

func TestRegisterAndFinishAreReadAsProtobufDoes(t *testing.T) {
	t.Parallel()
	o := newOracle(t)
	rapid.Check(t, func(t *rapid.T) {
		body := encode(t, o.describe("RegisterApplicationMasterResponseProto"), 0)
		want, err := o.read("RegisterApplicationMasterResponseProto", body)
		if err != nil {
			t.Fatal(err)
		}
		kept := []wire.Container{{Port: 1}}
		got, err := wire.ParseRegisterResponse(kept, body)
		if diff := cmp.Diff(append(kept, each(want, "containers_from_previous_attempts", view.container)...), got, same()); err != nil || diff != "" {
			t.Fatalf("%x: error %v (-want +got):\n%s", body, err, diff)
		}
		body = encode(t, o.describe("FinishApplicationMasterResponseProto"), 0)
		if want, err = o.read("FinishApplicationMasterResponseProto", body); err != nil {
			t.Fatal(err)
		}
		if done, err := wire.ParseFinishResponse(body); err != nil || done != want.value("isUnregistered").Bool() {
			t.Fatalf("%x: %v, error %v", body, done, err)
		}
	})
}

// field encodes one length-delimited field.
func field(num protowire.Number, inner ...byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), inner)
}

func TestMalformed(t *testing.T) {
	t.Parallel()
	deep := bytes.Repeat([]byte{13<<3 | 3}, 20000)
	for name, c := range map[string]struct {
		body []byte
		want string // in the error
	}{
		"truncated tag":              {[]byte{0x80}, "unexpected EOF"},
		"truncated varint":           {[]byte{0x20, 0x80}, "unexpected EOF"},
		"truncated float":            {[]byte{0x2d, 0, 0}, "unexpected EOF"},
		"ask longer than the body":   {[]byte{0x0a, 5, 0}, "unexpected EOF"},
		"length beyond 64 bits":      {append([]byte{0x0a}, bytes.Repeat([]byte{0xff}, 10)...), "overflow"},
		"varint of eleven bytes":     {append([]byte{0x20}, append(bytes.Repeat([]byte{0x80}, 10), 1)...), "overflow"},
		"field 0":                    {[]byte{0x00, 0x00}, "invalid field number"},
		"tag of 33 bits":             {[]byte{0x8a, 0x80, 0x80, 0x80, 0x10, 0}, "more than 32 bits"},
		"reserved wire type":         {[]byte{0x27, 0}, "reserved"},
		"end of no group":            {[]byte{0x6c}, "end group"},
		"group without end":          {[]byte{0x6b}, "unexpected EOF"},
		"groups nested without end":  {deep, "field 13"},
		"ask as a varint":            {[]byte{0x08, 1}, "wire type 0, want 2"},
		"response id as a string":    {field(4), "wire type 2, want 0"},
		"progress as a varint":       {[]byte{0x28, 1}, "wire type 0, want 5"},
		"blacklist as a varint":      {[]byte{0x18, 1}, "wire type 0, want 2"},
		"scheduling as a varint":     {[]byte{0x50, 1}, "wire type 0, want 2"},
		"priority as a varint":       {field(1, 0x08, 1), "ResourceRequestProto: field 1: wire type 0, want 2"},
		"name as a varint":           {field(1, 0x10, 1), "ResourceRequestProto: field 2: wire type 0, want 2"},
		"count as a string":          {field(1, field(4)...), "ResourceRequestProto: field 4: wire type 2, want 0"},
		"relaxLocality as a fixed32": {field(1, 0x2d, 0, 0, 0, 0), "ResourceRequestProto: field 5: wire type 5, want 0"},
		"execution type as a varint": {field(1, 0x38, 1), "ResourceRequestProto: field 7: wire type 0, want 2"},
		"resource without a key":     {field(1, field(3, field(3, 0x10, 1)...)...), "a resource value has no key"},
		"release cut short":          {field(2, 0x18), "ContainerIdProto: field 3: unexpected EOF"},
		"attempt cut short":          {field(2, field(2, 0x10)...), "ApplicationAttemptIdProto: field 2: unexpected EOF"},
		"blacklisted number":         {field(3, 0x08, 1), "ResourceBlacklistRequestProto: field 1: wire type 0, want 2"},
	} {
		var r wire.Request
		err := r.Parse(c.body)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "as it came") {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
}

func TestMalformedResponse(t *testing.T) {
	t.Parallel()
	for name, body := range map[string][]byte{
		"command as a string":     field(1),
		"containers as a varint":  {0x18, 1},
		"container id cut short":  field(3, field(1, 0x18)...),
		"host as a varint":        field(3, field(2, 0x08, 1)...),
		"port as a string":        field(3, field(2, field(2)...)...),
		"exit status as a string": field(4, field(4)...),
		"headroom cut short":      field(5, 0x08),
		"node state as a string":  field(6, field(7)...),
		"rack as a varint":        field(6, 0x18, 1),
		"earlier container":       append(protowire.AppendTag(nil, 17, protowire.BytesType), 2, 0x40),
	} {
		var r wire.Response
		if err := r.Parse(body); err == nil || !strings.Contains(err.Error(), "as it came") {
			t.Errorf("%s: %+v, error %v", name, r, err)
		}
	}
	if _, err := wire.ParseRegisterResponse(nil, field(4, 0x40)); err == nil {
		t.Error("an answer to register with half a container was read")
	}
	if _, err := wire.ParseFinishResponse([]byte{0x0a, 0}); err == nil {
		t.Error("a string was read as isUnregistered")
	}
}

// TestTruncated cuts real messages at every byte: what is not an error has to be a whole message.
func TestTruncated(t *testing.T) {
	t.Parallel()
	o := newOracle(t)
	request, response := hadoop(t, "request"), hadoop(t, "response")
	cut := 0
	for n := range request {
		var r wire.Request
		if _, err := o.read("AllocateRequestProto", request[:n]); err == nil {
			checkRequest(t, o, &r, request[:n])
		} else if r.Parse(request[:n]) == nil {
			t.Errorf("a request of %d bytes was read from %d of them", len(request), n)
		} else {
			cut++
		}
	}
	for n := range response {
		var r wire.Response
		if _, err := o.read("AllocateResponseProto", response[:n]); err == nil {
			checkResponse(t, o, &r, response[:n])
		} else if r.Parse(response[:n]) == nil {
			t.Errorf("a response of %d bytes was read from %d of them", len(response), n)
		} else {
			cut++
		}
	}
	if cut < (len(request)+len(response))*9/10 {
		t.Errorf("only %d cuts of %d were errors", cut, len(request)+len(response))
	}
}

func TestUnknownEnumNumbersCountAsAbsent(t *testing.T) {
	t.Parallel()
	var r wire.Response
	node := field(6, 0x38, 5, 0x38, 99)
	if err := r.Parse(append([]byte{0x08, 1, 0x08, 3, 0x08, 0}, node...)); err != nil {
		t.Fatal(err)
	}
	if r.Command != wire.CommandResync || r.Nodes[0].State != wire.NodeLost {
		t.Errorf("command %d, state %d", r.Command, r.Nodes[0].State)
	}
}

func TestMaxItems(t *testing.T) {
	t.Parallel()
	full := bytes.Repeat(field(1), wire.MaxItems)
	var r wire.Request
	if err := r.Parse(full); err != nil || len(r.Asks) != wire.MaxItems {
		t.Fatalf("%d rows, error %v", len(r.Asks), err)
	}
	for name, body := range map[string][]byte{
		"asks":     append(full, field(1)...),
		"releases": bytes.Repeat(field(2), wire.MaxItems+1),
		"hosts":    field(3, bytes.Repeat(field(1), wire.MaxItems+1)...),
		"removals": field(3, bytes.Repeat(field(2), wire.MaxItems+1)...),
	} {
		if err := r.Parse(body); err == nil {
			t.Errorf("too many %s were read", name)
		}
	}
	for _, num := range []protowire.Number{3, 4, 6, 17} {
		var p wire.Response
		if err := p.Parse(bytes.Repeat(field(num), wire.MaxItems+1)); err == nil {
			t.Errorf("too many of field %d were read", num)
		}
	}
}

func TestNodeState(t *testing.T) {
	t.Parallel()
	usable := map[wire.NodeState]bool{0: true, wire.NodeNew: true, wire.NodeRunning: true}
	for s := range wire.NodeShutdown + 1 {
		if s.Usable() != usable[s] {
			t.Errorf("state %d: usable %t", s, s.Usable())
		}
	}
}

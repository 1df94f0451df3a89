package wire_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"

	"heddle/yarnproxy/amrm/wire"
)

// TestEdit replaces the asks of any request by any rows, and has the oracle read
// the result: the asks are those wanted, all else is what it was.
func TestEdit(t *testing.T) {
	t.Parallel()
	o := newOracle(t)
	rapid.Check(t, func(t *rapid.T) {
		body := encode(t, o.describe("AllocateRequestProto"), 0)
		asks, want := drawRows(t, o, body)
		prefix := []byte("prefix")
		before := bytes.Clone(body)
		out, err := wire.AppendRequest(slices.Clone(prefix), body, asks)
		if err != nil {
			t.Fatal(err)
		}
		out, found := bytes.CutPrefix(out, prefix)
		if !found || !bytes.Equal(body, before) {
			t.Fatal("the edit changed what it was to leave alone")
		}
		checkEdit(t, o, body, out, asks)
		checkAsks(t, o, out, want)
	})
}

// checkEdit fails unless out is body with asks instead of its own, in their place.
func checkEdit(t rapid.TB, o oracle, body, out, asks []byte) {
	t.Helper()
	var want []byte // by an independent reading: field by field
	placed := !bytes.Contains(fieldNumbers(t, body), []byte{1})
	if placed {
		want = append(want, asks...)
	}
	for rest := body; len(rest) > 0; {
		num, _, n := protowire.ConsumeField(rest)
		switch {
		case num != 1:
			want = append(want, rest[:n]...)
		case !placed:
			want, placed = append(want, asks...), true
		}
		rest = rest[n:]
	}
	if !bytes.Equal(out, want) {
		t.Fatalf("edited to %x, want %x", out, want)
	}
	was, err := o.read("AllocateRequestProto", body)
	if err != nil {
		t.Fatal(err)
	}
	is, err := o.read("AllocateRequestProto", out)
	if err != nil {
		t.Fatalf("the oracle refuses the edit %x: %v", out, err)
	}
	ask := was.field("ask")
	was.Clear(ask)
	is.Clear(ask)
	if !proto.Equal(was.Interface(), is.Interface()) {
		t.Fatalf("beside the asks, %v became %v", was.Interface(), is.Interface())
	}
}

// fieldNumbers returns the numbers of the fields of a message, 255 for those above.
func fieldNumbers(t rapid.TB, body []byte) []byte {
	t.Helper()
	var all []byte
	for len(body) > 0 {
		num, _, n := protowire.ConsumeField(body)
		if n < 0 {
			t.Fatalf("%x: %v", body, protowire.ParseError(n))
		}
		all = append(all, byte(min(num, 255)))
		body = body[n:]
	}
	return all
}

// checkAsks fails unless the asks of a request are those wanted, unknown fields included.
func checkAsks(t rapid.TB, o oracle, body []byte, want []view) {
	t.Helper()
	v, err := o.read("AllocateRequestProto", body)
	if err != nil {
		t.Fatal(err)
	}
	asks := v.value("ask").List()
	if asks.Len() != len(want) {
		t.Fatalf("%d asks, want %d", asks.Len(), len(want))
	}
	for i := range want {
		if got := asks.Get(i).Message(); !proto.Equal(got.Interface(), want[i].Interface()) {
			t.Fatalf("ask %d is %v, want %v", i, got.Interface(), want[i].Interface())
		}
	}
}

// drawRows draws ask fields and what the oracle thinks of them.
func drawRows(t *rapid.T, o oracle, body []byte) ([]byte, []view) {
	var r wire.Request
	if err := r.Parse(body); err != nil {
		t.Fatal(err)
	}
	var asks []byte
	var want []view
	for range rapid.IntRange(0, 5).Draw(t, "rows") {
		var template []byte
		if i := rapid.IntRange(-1, len(r.Asks)-1).Draw(t, "template"); i >= 0 {
			template = r.Asks[i].Raw
		} else {
			template = encode(t, o.describe("ResourceRequestProto"), 1)
		}
		v, err := o.read("ResourceRequestProto", template)
		if err != nil {
			t.Fatal(err)
		}
		switch rapid.IntRange(0, 2).Draw(t, "kind") {
		case 0:
			asks = wire.AppendVerbatim(asks, template)
		case 1:
			n := drawNewRow(t)
			asks = wire.AppendNewRow(asks, n)
			v = o.newRow(n)
		default:
			n := drawNewRow(t)
			if asks, err = wire.AppendRow(asks, template, n.Name, n.Count, n.Relax); err != nil {
				t.Fatal(err)
			}
			v.rename(n.Name, n.Count, n.Relax)
		}
		want = append(want, v)
	}
	return asks, want
}

func drawNewRow(t *rapid.T) *wire.NewRow {
	return &wire.NewRow{
		Priority: rapid.Int32().Draw(t, "priority"), RequestID: rapid.SampledFrom([]int64{-1, 0, 7, -5, 1 << 60}).Draw(t, "request id"),
		Name:  rapid.SampledFrom([]string{wire.Any, "/rack1", "w11", "", strings.Repeat("h", 130)}).Draw(t, "name"),
		Count: rapid.Int32().Draw(t, "count"), Relax: rapid.Bool().Draw(t, "relaxLocality"),
		Memory: rapid.Int64().Draw(t, "memory"), VCores: rapid.Int32().Draw(t, "vcores"),
	}
}

// rename does to a decoded row what AppendRow does to an encoded one.
func (v view) rename(name string, count int32, relax bool) {
	v.Set(v.field("resource_name"), protoreflect.ValueOfString(name))
	v.Set(v.field("num_containers"), protoreflect.ValueOfInt32(count))
	v.Clear(v.field("relax_locality"))
	if !relax {
		v.Set(v.field("relax_locality"), protoreflect.ValueOfBool(false))
	}
	if name != wire.Any {
		v.Clear(v.field("node_label_expression"))
	}
}

// newRow is what AppendNewRow has to have encoded.
func (o oracle) newRow(n *wire.NewRow) view {
	v, err := o.read("ResourceRequestProto", nil)
	if err != nil {
		panic(err)
	}
	priority, capability := v.Mutable(v.field("priority")).Message(), v.Mutable(v.field("capability")).Message()
	priority.Set(view{priority}.field("priority"), protoreflect.ValueOfInt32(n.Priority))
	capability.Set(view{capability}.field("memory"), protoreflect.ValueOfInt64(n.Memory))
	capability.Set(view{capability}.field("virtual_cores"), protoreflect.ValueOfInt32(n.VCores))
	v.Set(v.field("execution_type_request"), protoreflect.ValueOfBytes([]byte{0x08, 1, 0x10, 1}))
	if n.RequestID != -1 {
		v.Set(v.field("allocation_request_id"), protoreflect.ValueOfInt64(n.RequestID))
	}
	v.rename(n.Name, n.Count, n.Relax)
	return v
}

// TestPin is the edit of a reduce ask that relay-facts found to work: hosts, rack
// and a strict ANY row.
func TestPin(t *testing.T) {
	t.Parallel()
	row := hadoop(t, "row")
	body := slices.Concat(hadoop(t, "empty")[:2], wire.AppendVerbatim(nil, row), hadoop(t, "empty")[2:])
	asks := pin(t, nil, row, 3, "w11", "w12", "w13")
	out, err := wire.AppendRequest(nil, body, asks)
	if err != nil {
		t.Fatal(err)
	}
	var r wire.Request
	if err := r.Parse(out); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range r.Asks {
		got = append(got, fmt.Sprintf("%d %s %d %t %d/%d", a.Priority, a.Name, a.Count, a.Relax, a.Memory, a.VCores))
	}
	want := []string{
		"20 w11 3 true 512/1", "20 w12 3 true 512/1", "20 w13 3 true 512/1", "20 /rack1 3 true 512/1", "20 * 3 false 512/1",
	}
	if !slices.Equal(got, want) || r.ResponseID != 18 {
		t.Errorf("asks %q of call %d, want %q", got, r.ResponseID, want)
	}
	if size := len(out) - len(body); size != 3*64+67+2 {
		t.Errorf("the pin took %d bytes", size)
	}
}

// pin makes the rows of a pin to hosts of /rack1.
func pin(tb testing.TB, dst, template []byte, count int32, hosts ...string) []byte {
	tb.Helper()
	var err error
	for _, name := range append(slices.Clip(hosts), "/rack1", wire.Any) {
		if dst, err = wire.AppendRow(dst, template, name, count, name != wire.Any); err != nil {
			tb.Fatal(err)
		}
	}
	return dst
}

// TestLabelStaysOnAny guards a job's life: a label on another row fails the call.
func TestLabelStaysOnAny(t *testing.T) {
	t.Parallel()
	var r wire.Request
	if err := r.Parse(hadoop(t, "request")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{wire.Any: "gpu", "w11": "", "/rack1": ""} {
		asks, err := wire.AppendRow(nil, r.Asks[3].Raw, name, 1, false)
		if err != nil {
			t.Fatal(err)
		}
		var got wire.Request
		if err := got.Parse(asks); err != nil || string(got.Asks[0].Label) != want {
			t.Errorf("%s: label %q, error %v, want %q", name, got.Asks[0].Label, err, want)
		}
	}
}

func TestMalformedEdit(t *testing.T) {
	t.Parallel()
	prefix := []byte("prefix")
	for _, body := range [][]byte{{0x08, 1}, {0x80}, {0x0a, 5}, {0x6c}, append(field(1), 0), append(field(1), 0x20)} {
		if out, err := wire.AppendRequest(prefix, body, field(1)); err == nil || !bytes.Equal(out, prefix) {
			t.Errorf("%x: %x, error %v", body, out, err)
		}
	}
}

func TestMalformedTemplate(t *testing.T) {
	t.Parallel()
	prefix := []byte("prefix")
	for _, template := range [][]byte{{0x0a, 5}, {0x80}, {0x0c}, append(field(1, 0x08, 1), 0x20)} {
		if out, err := wire.AppendRow(prefix, template, "w11", 1, true); err == nil || !bytes.Equal(out, prefix) {
			t.Errorf("%x: %x, error %v", template, out, err)
		}
		if _, err := wire.ParseRow(template); err == nil {
			t.Errorf("%x was read as a row", template)
		}
	}
}

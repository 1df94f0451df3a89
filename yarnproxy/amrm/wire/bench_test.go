package wire_test

import (
	"fmt"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"heddle/yarnproxy/amrm/wire"
)

// mapRows is an allocate call with n rows for maps, and its ANY row.
func mapRows(tb testing.TB, n int) []byte {
	tb.Helper()
	row := hadoop(tb, "row")
	asks := wire.AppendVerbatim(nil, row)
	for i := range n {
		var err error
		if asks, err = wire.AppendRow(asks, row, fmt.Sprintf("host-%03d.example.com", i), 3, true); err != nil {
			tb.Fatal(err)
		}
	}
	body, err := wire.AppendRequest(nil, hadoop(tb, "empty"), asks)
	if err != nil {
		tb.Fatal(err)
	}
	return body
}

// granted is the answer of Hadoop with n containers.
func granted(tb testing.TB, n int) []byte {
	tb.Helper()
	body := hadoop(tb, "response")
	var container []byte
	for rest := body; len(rest) > 0 && container == nil; {
		num, _, size := protowire.ConsumeField(rest)
		if num == 3 {
			container = rest[:size]
		}
		rest = rest[size:]
	}
	for range n - 2 {
		body = append(body, container...)
	}
	return body
}

// pinTo appends the rows of a pin to hosts.
func pinTo(dst, template []byte, hosts []string) ([]byte, error) {
	var err error
	for _, host := range hosts {
		if dst, err = wire.AppendRow(dst, template, host, 10, true); err != nil {
			return dst, err
		}
	}
	if dst, err = wire.AppendRow(dst, template, "/rack1", 10, true); err != nil {
		return dst, err
	}
	return wire.AppendRow(dst, template, wire.Any, 10, false)
}

func hosts(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("host-%03d.example.com", i)
	}
	return names
}

// paths are what runs for every allocate call.
func paths(tb testing.TB) map[string]func() error {
	tb.Helper()
	var request, reduce wire.Request
	var response wire.Response
	var asks, out []byte
	empty, maps, answer := hadoop(tb, "empty"), mapRows(tb, 200), granted(tb, 50)
	one := mapRows(tb, 0)
	names := hosts(40)
	token := hadoop(tb, "token")
	return map[string]func() error{
		"ParseEmpty":      func() error { return request.Parse(empty) },
		"Parse200Rows":    func() error { return request.Parse(maps) },
		"Parse50Granted":  func() error { return response.Parse(answer) },
		"ParseAttempt":    func() error { _, _, err := wire.ParseAttempt(token); return err },
		"EditPin40Hosts":  func() (err error) { asks, out, err = edit(&reduce, one, asks, out, names); return err },
		"EditMaps200Rows": func() (err error) { asks, out, err = edit(&request, maps, asks, out, nil); return err },
	}
}

// edit reads body and replaces its asks by a pin to hosts of the first of them,
// or by themselves when there are no hosts.
func edit(r *wire.Request, body, asks, out []byte, hosts []string) ([]byte, []byte, error) {
	asks, out = asks[:0], out[:0]
	err := r.Parse(body)
	if err != nil {
		return asks, out, err
	}
	if hosts != nil {
		asks, err = pinTo(asks, r.Asks[0].Raw, hosts)
	} else {
		for i := range r.Asks {
			asks = wire.AppendVerbatim(asks, r.Asks[i].Raw)
		}
	}
	if err != nil {
		return asks, out, err
	}
	out, err = wire.AppendRequest(out, body, asks)
	return asks, out, err
}

func TestNothingIsAllocated(t *testing.T) { // counts allocations
	for name, run := range paths(t) {
		if n := testing.AllocsPerRun(100, func() {
			if err := run(); err != nil {
				t.Error(err)
			}
		}); n != 0 {
			t.Errorf("%s allocates %g times", name, n)
		}
	}
	context := []byte("mr_appmaster_appattempt_1795218000123_0007_000002")
	if n := testing.AllocsPerRun(100, func() { wire.ParseContext(context) }); n != 0 {
		t.Errorf("ParseContext allocates %g times", n)
	}
}

func BenchmarkWire(b *testing.B) {
	for name, run := range paths(b) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

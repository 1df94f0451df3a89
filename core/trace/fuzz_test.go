package trace_test

import (
	"bytes"
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"heddle/core/trace"
)

// FuzzReader feeds the reader anything. It must not panic, its errors must
// point into the input, and what it returns must survive another round.
func FuzzReader(f *testing.F) {
	golden, err := os.ReadFile("testdata/format1.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(golden, uint64(0))
	f.Add(golden[:len(golden)*2/3], uint64(0))
	lines := bytes.SplitAfter(golden, []byte("\n"))
	for _, line := range lines[1 : len(lines)-1] { // each record as the first one, so that mutations reach its body
		_, rest, _ := bytes.Cut(line, []byte(","))
		f.Add(slices.Concat(lines[0], []byte(`{"seq":1,`), rest), uint64(0))
	}
	continues := `{"seq":8,"t_ms":5,"kind":"mark","body":{"mark":"continues","after":7}}` + "\n"
	f.Add(append(bytes.Clone(lines[0]), continues...), uint64(7))
	second, err := os.ReadFile("testdata/format2.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(second, uint64(0))
	head := string(lines[0])
	for _, record := range []string{ // what recordings are refused for, and what is only odd
		`{"seq":2,"t_ms":5,"kind":"mark","body":{"mark":"note"}}`,
		`{"seq":1,"t_ms":9223372036854775807,"kind":"observation","body":{"source":"rm","at_ms":-9223372036854775808,"fact":"sample","body":{}}}`,
		`{"seq":1,"t_ms":5,"kind":"mark","body":{"mark":"restarted","header":{"format":2,"start_ms":9,"pseudonymized":true,"settings":{}}}}`,
		`{"seq":1,"t_ms":5,"kind":"observation","body":{"source":"rm","at_ms":5,"fact":"nodes","body":{"nodes":[{},null,{}]}}}`,
		`{"seq":1,"t_ms":5,"kind":"mark","body":{"mark":"note","text":"\u00e9\/\ud800"}}`,
		strings.Repeat("[", 20_000),
		strings.Repeat(" ", 70_000),
	} {
		f.Add([]byte(head+record+"\n"), uint64(0))
	}
	f.Add([]byte(strings.Replace(head, `"format":1`, `"format":3`, 1)), uint64(0))
	f.Add([]byte("\x28\xb5\x2f\xfd\x00\x58\x01\x00\x00"), uint64(0)) // compressed
	f.Fuzz(func(t *testing.T, data []byte, after uint64) {
		opts := trace.ReadOptions{After: after, MaxLine: 1 << 20}
		got, err := read(data, opts)
		var position *trace.PositionError
		if err != nil && !errors.As(err, &position) {
			t.Fatalf("error without a position: %v", err)
		}
		if position != nil && (position.Offset < 0 || position.Offset > int64(len(data))) {
			t.Fatalf("%v: the input has %d bytes", err, len(data))
		}
		var again bytes.Buffer
		w, err := trace.NewWriter(&again, header())
		if err != nil {
			t.Fatal(err)
		}
		if len(got) > 0 && got[0].Mark != nil && got[0].Mark.Name == trace.MarkContinues {
			got = got[1:]
		}
		for i, rec := range got {
			seq, err := w.Append(rec)
			if err != nil {
				t.Fatalf("record %d was read and cannot be written: %v", rec.Seq, err)
			}
			if rec.Seq-got[0].Seq != uint64(i) {
				t.Fatalf("record %d is number %d of those read: a gap", rec.Seq, i)
			}
			got[i].Seq = seq
		}
		back, err := read(again.Bytes(), trace.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if reflect.DeepEqual(got, back) {
			return
		}
		if diff := cmp.Diff(got, back, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("read, written and read again (-first +second):\n%s", diff)
		}
	})
}

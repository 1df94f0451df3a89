package pseudonym_test

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"testing"

	"heddle/core/lab/pseudonym"
	"heddle/core/trace"
)

// FuzzPseudonyms replaces the names in anything that is a recording. What comes out is one too,
// with as many records, and has pseudonyms.
func FuzzPseudonyms(f *testing.F) {
	for _, name := range []string{"format1.jsonl", "format2.jsonl"} {
		golden, err := os.ReadFile("../../trace/testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(golden)
		lines := bytes.SplitAfter(golden, []byte("\n"))
		for _, line := range lines[1 : len(lines)-1] {
			_, rest, _ := bytes.Cut(line, []byte(","))
			f.Add(slices.Concat(lines[0], []byte(`{"seq":1,`), rest))
		}
	}
	f.Add([]byte(`{"format":2,"policy":"capacity","params":{"Queues":{"root.a":{}},"queues":{"b":{}}},"settings":{"state":{"Table":{"a":"/b"}}},"topology":{"":["",".","a:1"]}}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		names := pseudonym.NewNames()
		count, err := eachRecord(data, names.AddHeader, names.Add)
		if err != nil {
			return
		}
		table, err := names.Table([]byte("key"))
		if err != nil {
			return // an OrderError
		}
		var out bytes.Buffer
		var w *trace.Writer
		_, err = eachRecord(data, func(h *trace.Header) (err error) {
			if err = table.Header(h); err == nil {
				w, err = trace.NewWriter(&out, *h)
			}
			return err
		}, func(r *trace.Record) error {
			if err := table.Record(r); err != nil {
				return err
			}
			_, err := w.Append(*r)
			return err
		})
		if err != nil {
			t.Fatalf("the names were collected, and then: %v", err)
		}
		again := pseudonym.NewNames()
		n, err := eachRecord(out.Bytes(), func(h *trace.Header) error {
			if err := again.AddHeader(h); !errors.Is(err, pseudonym.ErrPseudonymized) {
				t.Fatalf("the copy's header: %v", err)
			}
			return nil
		}, func(*trace.Record) error { return nil })
		if err != nil || n != count {
			t.Fatalf("the copy has %d of %d records: %v", n, count, err)
		}
	})
}

func eachRecord(data []byte, header func(*trace.Header) error, record func(*trace.Record) error) (n int, err error) {
	r, err := trace.NewReader(bytes.NewReader(data), trace.ReadOptions{MaxLine: 1 << 20})
	if err != nil {
		return 0, err
	}
	h := r.Header()
	if err := header(&h); err != nil {
		return 0, err
	}
	for rec, err := range r.Records() {
		if err != nil {
			return n, err
		}
		if err := record(&rec); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

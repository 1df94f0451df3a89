package pseudonym_test

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"slices"
	"testing"

	"heddle/core/lab/pseudonym"
	"heddle/core/trace"
)

// fewest is a header without a name.
const fewest = `{"format":2,"start_ms":1}` + "\n"

// FuzzPseudonyms replaces the names in anything that is a recording: a header, and records. What
// comes out is one too, with as many records, and has pseudonyms.
func FuzzPseudonyms(f *testing.F) {
	for _, name := range []string{"format1.jsonl", "format2.jsonl"} {
		golden, err := os.ReadFile("../../trace/testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		lines := bytes.SplitAfter(golden, []byte("\n"))
		f.Add(lines[0], []byte{})
		for _, line := range lines[1 : len(lines)-1] { // alone, so that mutations reach every key
			_, rest, _ := bytes.Cut(line, []byte(","))
			f.Add([]byte(fewest), slices.Concat([]byte(`{"seq":1,`), rest))
		}
	}
	const records = `{"seq":1,"t_ms":1,"kind":"observation","body":{"source":"rm","at_ms":1,"fact":"nodes","body":{"nodes":[{"id":"a:1","host":"a","rack":"/r"},{"id":"a.b:1","host":"a.b","rack":"/r"},{"id":"c.b:1","host":"c.b"}]}}}
{"seq":2,"t_ms":1,"kind":"observation","body":{"source":"mapreduce","at_ms":1,"fact":"job_conf","body":{"app":"application_1_1","inputs":["/a/b","hdfs://n:1/a/../c","a"],"output":"s3://a/b"}}}
{"seq":3,"t_ms":1,"kind":"mark","body":{"mark":"restarted","header":{"start_ms":9,"topology":{"/r":["a"]}}}}
`
	f.Add([]byte(fewest), []byte(records))
	f.Add([]byte(`{"format":2,"policy":"capacity","params":{"Queues":{"root.a":{}},"queues":{"b":{}}},"settings":{"state":{"Table":{"a":"/b"}}},"topology":{"":["",".","a:1"]}}`+"\n"), []byte{})
	in := bufio.NewReaderSize(nil, 64<<10) // large enough to be used as it is: to make one takes long
	f.Fuzz(func(t *testing.T, header, records []byte) {
		if len(header)+len(records) > 16<<10 {
			return
		}
		data := slices.Concat(header, records)
		names := pseudonym.NewNames()
		count, err := eachRecord(in, data, names.AddHeader, names.Add)
		if err != nil {
			return
		}
		table, err := names.Table([]byte("key"))
		if err != nil {
			return // an OrderError
		}
		var out bytes.Buffer
		var w *trace.Writer
		_, err = eachRecord(in, data, func(h *trace.Header) (err error) {
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
		n, err := eachRecord(in, out.Bytes(), func(h *trace.Header) error {
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

func eachRecord(in *bufio.Reader, data []byte, header func(*trace.Header) error, record func(*trace.Record) error) (n int, err error) {
	in.Reset(bytes.NewReader(data))
	r, err := trace.NewReader(in, trace.ReadOptions{MaxLine: 1 << 20})
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

package trace_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"heddle/core/model"
	"heddle/core/trace"
)

func header() trace.Header {
	return trace.Header{
		Format: trace.Format, ToolVersion: "1.2.3", ConfigHash: "9f86d081", Policy: "shufflewatcher",
		Params: json.RawMessage(`{"alpha":0.5}`), Seed: 42, Start: 1763683200000,
		Topology: map[model.RackID][]string{"/rack2": {"dn3"}, "/rack1": {"dn1", "dn2"}},
	}
}

func note(at model.Time, text string) trace.Record {
	return trace.Record{At: at, Mark: &trace.Mark{Name: "note", Text: text}}
}

// write returns the bytes of a recording.
func write(tb testing.TB, records ...trace.Record) []byte {
	tb.Helper()
	var buf bytes.Buffer
	w, err := trace.NewWriter(&buf, header())
	if err != nil {
		tb.Fatal(err)
	}
	for _, r := range records {
		if _, err := w.Append(r); err != nil {
			tb.Fatal(err)
		}
	}
	return buf.Bytes()
}

// read returns every record and the error that ended them.
func read(data []byte, opts trace.ReadOptions) ([]trace.Record, error) {
	r, err := trace.NewReader(bytes.NewReader(data), opts)
	if err != nil {
		return nil, err
	}
	return collect(r)
}

func collect(r *trace.Reader) ([]trace.Record, error) {
	var all []trace.Record
	for rec, err := range r.Records() {
		if err != nil {
			return all, err
		}
		all = append(all, rec)
	}
	return all, nil
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(records(), 0, 5).Draw(t, "records")
		var buf bytes.Buffer
		w, err := trace.NewWriter(&buf, header())
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			seq, err := w.Append(want[i])
			if err != nil {
				t.Fatal(err)
			}
			want[i].Seq = uint64(i + 1)
			if seq != want[i].Seq {
				t.Fatalf("got seq %d, want %d", seq, want[i].Seq)
			}
		}
		r, err := trace.NewReader(&buf, trace.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(header(), r.Header()); diff != "" {
			t.Fatalf("header (-want +got):\n%s", diff)
		}
		got, err := collect(r)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("records (-want +got):\n%s", diff)
		}
	})
}

// Recordings of format 1 stay readable.
func TestFormat1(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/format1.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	r, err := trace.NewReader(bytes.NewReader(data), trace.ReadOptions{})
	if err != nil || r.Header().Format != 1 {
		t.Fatalf("%+v, %v", r.Header(), err)
	}
	if got, err := collect(r); err != nil || len(got) != bytes.Count(data, []byte("\n"))-1 {
		t.Errorf("%d records, %v", len(got), err)
	}
}

// TestFormat2 reads a committed recording and writes it again, to the same
// bytes: what is on disks stays readable, and a change of the format shows.
func TestFormat2(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/format2.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	r, err := trace.NewReader(bytes.NewReader(data), trace.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	w, err := trace.NewWriter(&again, r.Header())
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]bool{}
	for rec, err := range r.Records() {
		if err != nil {
			t.Fatal(err)
		}
		kinds[string(rec.Kind())] = true
		if rec.Observation != nil {
			kinds[rec.Observation.Fact.Kind()] = true
		}
		if _, err := w.Append(rec); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(data), again.String()); diff != "" {
		t.Errorf("read and written again (-want +got):\n%s", diff)
	}
	for _, f := range model.Facts() {
		if !kinds[f.Kind()] {
			t.Errorf("no record with the fact %q", f.Kind())
		}
	}
	for _, k := range []trace.Kind{trace.KindObservation, trace.KindDecision, trace.KindMark} {
		if !kinds[string(k)] {
			t.Errorf("no record of the kind %q", k)
		}
	}
}

func TestReaderStops(t *testing.T) {
	t.Parallel()
	const h = `{"format":1,"tool_version":"","config_hash":"","policy":"","seed":0,"start_ms":0,"pseudonymized":false}` + "\n"
	const first = `{"seq":1,"t_ms":5,"kind":"mark","body":{"mark":"note"}}` + "\n"
	const at0, at1, at2 = int64(0), int64(len(h)), int64(len(h) + len(first))
	second := func(s string) string { return h + first + s + "\n" }
	for _, tc := range []struct {
		name, data string
		record     uint64
		offset     int64
		want       error
		says       string
	}{
		{"empty", "", 0, at0, trace.ErrTruncated, "empty"},
		{"half a header", h[:40], 0, at0, trace.ErrTruncated, "40 bytes"},
		{"not JSON", "PK\x03\x04\n", 0, at0, trace.ErrGarbage, "invalid"},
		{"JSON, but no header", `{"nodes":[]}` + "\n", 0, at0, trace.ErrGarbage, "no format"},
		{"null for a header", "null\n", 0, at0, trace.ErrGarbage, "no format"},
		{"next format", `{"format":3,"new":true}` + "\n", 0, at0, trace.ErrFormat, "format 3: this version reads formats 1 to 2"},
		{"unknown field in the header", `{"format":1,"sed":7}` + "\n", 0, at0, trace.ErrGarbage, "sed"},
		{"first record is not 1", h + strings.Replace(first, `"seq":1`, `"seq":2`, 1), 1, at1, trace.ErrGap, "2 follows 0"},
		{"gap", second(`{"seq":3,"t_ms":5,"kind":"mark","body":{"mark":"note"}}`), 2, at2, trace.ErrGap, "3 follows 1"},
		{"twice", second(strings.TrimSpace(first)), 2, at2, trace.ErrGap, "1 follows 1"},
		{"no seq", second(`{"t_ms":5,"kind":"mark","body":{"mark":"note"}}`), 2, at2, trace.ErrGap, "0 follows 1"},
		{"unknown kind", second(`{"seq":2,"t_ms":5,"kind":"guess","body":{}}`), 2, at2, trace.ErrKind, `"guess"`},
		{"no kind", second(`{"seq":2,"t_ms":5,"body":{}}`), 2, at2, trace.ErrKind, `""`},
		{"no time", second(`{"seq":2,"kind":"mark","body":{"mark":"note"}}`), 2, at2, trace.ErrGarbage, "t_ms"},
		{"no body", second(`{"seq":2,"t_ms":5,"kind":"mark"}`), 2, at2, trace.ErrGarbage, "body"},
		{"null body", second(`{"seq":2,"t_ms":5,"kind":"decision","body":null}`), 2, at2, trace.ErrGarbage, "body"},
		{"unknown field", second(`{"seq":2,"t_ms":5,"kind":"mark","body":{"mark":"note"},"sum":1}`), 2, at2, trace.ErrGarbage, "sum"},
		{"two values", second(`{"seq":2,"t_ms":5,"kind":"mark","body":{"mark":"note"}} {}`), 2, at2, trace.ErrGarbage, "more than one"},
		{"blank line", second(``), 2, at2, trace.ErrGarbage, "EOF"},
		{"half a line", second(`{"seq":2,"t_ms":5,`), 2, at2, trace.ErrGarbage, "EOF"},
		{"no newline", h + first[:len(first)-1], 1, at1, trace.ErrTruncated, "ends after"},
		{"cut record", second(`{"seq":2,"t_ms":5,"kind":"mark","body":{"mark":"note"}}`)[:at2+9], 2, at2, trace.ErrTruncated, "9 bytes"},
		{"unknown fact", second(`{"seq":2,"t_ms":5,"kind":"observation","body":{"source":"rm","at_ms":5,"fact":"weather","body":{}}}`), 2, at2, trace.ErrGarbage, `unknown fact "weather"`},
		{"fact of another shape", second(`{"seq":2,"t_ms":5,"kind":"observation","body":{"source":"rm","at_ms":5,"fact":"nodes","body":[]}}`), 2, at2, trace.ErrGarbage, "nodes"},
		{"empty decision", second(`{"seq":2,"t_ms":5,"kind":"decision","body":{"seq":1}}`), 2, at2, trace.ErrGarbage, "one placement or one plan"},
		{"two decisions", second(`{"seq":2,"t_ms":5,"kind":"decision","body":{"plan":{},"placement":{}}}`), 2, at2, trace.ErrGarbage, "one placement or one plan"},
		{"mark without a name", second(`{"seq":2,"t_ms":5,"kind":"mark","body":{}}`), 2, at2, trace.ErrGarbage, "without a name"},
		{"continues in the middle", second(`{"seq":2,"t_ms":5,"kind":"mark","body":{"mark":"continues","after":1}}`), 2, at2, trace.ErrGarbage, "within a file"},
		{"continues another file", h + `{"seq":8,"t_ms":5,"kind":"mark","body":{"mark":"continues","after":7}}` + "\n", 1, at1, trace.ErrGap, "ends with record 7"},
		{"too long", second(`{"seq":2,"t_ms":5,"kind":"mark","body":{"mark":"note","text":"` + strings.Repeat("x", 4096) + `"}}`), 2, at2, trace.ErrTooLong, "4096"},
		{"endless line", h + strings.Repeat("[", 1<<20), 1, at1, trace.ErrTooLong, "4096"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := read([]byte(tc.data), trace.ReadOptions{MaxLine: 4096})
			var position *trace.PositionError
			if !errors.As(err, &position) || !errors.Is(err, tc.want) {
				t.Fatalf("got %v, want a PositionError of %v", err, tc.want)
			}
			if position.Record != tc.record || position.Offset != tc.offset {
				t.Errorf("at record %d, byte %d; want %d, %d", position.Record, position.Offset, tc.record, tc.offset)
			}
			if !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%q does not say %q", err, tc.says)
			}
			if want := max(int(tc.record)-1, 0); len(got) != want {
				t.Errorf("%d records before the error, want %d", len(got), want)
			}
		})
	}
}

// A recording that stops short gives the whole records before that, then ErrTruncated.
func TestTruncated(t *testing.T) {
	t.Parallel()
	whole := write(t, note(1, "a"), note(2, "b"), note(3, "c"))
	ends := map[int]int{} // length up to and with a line: records in it
	for i, lines := 0, -1; i < len(whole); i++ {
		if whole[i] == '\n' {
			lines++
			ends[i+1] = lines
		}
	}
	complete := 0
	for cut := bytes.IndexByte(whole, '\n') + 1; cut <= len(whole); cut++ {
		n, between := ends[cut]
		if between {
			complete = n
		}
		for _, tail := range []error{io.EOF, io.ErrUnexpectedEOF} { // a file that ends, a compressed one that breaks off
			src := io.MultiReader(bytes.NewReader(whole[:cut]), iotest.ErrReader(tail))
			r, err := trace.NewReader(src, trace.ReadOptions{})
			if err != nil {
				t.Fatalf("cut at %d: %v", cut, err)
			}
			got, err := collect(r)
			if len(got) != complete {
				t.Fatalf("cut at %d: %d records, want %d", cut, len(got), complete)
			}
			truncated := !between || errors.Is(tail, io.ErrUnexpectedEOF)
			if truncated && !errors.Is(err, trace.ErrTruncated) || !truncated && err != nil {
				t.Errorf("cut at %d: got %v; truncated is %t", cut, err, truncated)
			}
		}
	}
	if _, err := read(append(bytes.Clone(whole), "{}\n{}"...), trace.ReadOptions{}); !errors.Is(err, trace.ErrGarbage) {
		t.Errorf("garbage before the tail: %v", err)
	}
}

// A long line of nothing but objects, which would take a hundred times its length in memory, is
// refused; long lines of facts are not, not even of those with the shortest elements.
func TestCrowded(t *testing.T) {
	t.Parallel()
	const h = `{"format":1,"tool_version":"","config_hash":"","policy":"","seed":0,"start_ms":0,"pseudonymized":false}` + "\n"
	for name, element := range map[string]string{"objects": `{}`, "short objects": `{"host":"}"}`, "nulls": `null`, "spread objects": ` {       } `} {
		line := `{"seq":1,"t_ms":5,"kind":"observation","body":{"source":"rm","at_ms":5,"fact":"nodes","body":{"nodes":[` +
			strings.Repeat(element+",", 1<<20) + element + `]}}}` + "\n"
		var position *trace.PositionError
		_, err := read([]byte(h+line), trace.ReadOptions{})
		if !errors.Is(err, trace.ErrGarbage) || !errors.As(err, &position) || position.Record != 1 || !strings.Contains(err.Error(), "too many objects") {
			t.Errorf("%s: %v", name, err)
		}
	}
	const many = 60_000
	graph, tasks, uplink, cluster := model.GraphFact{}, model.TasksFact{}, model.UplinkFact{}, model.ClusterFact{}
	for range many {
		graph.Stages = append(graph.Stages, model.GraphStage{Name: strings.Repeat(`"{`, 60), InputAt: []model.RackBytes{{Rack: "/r"}}})
		tasks.Tasks = append(tasks.Tasks, model.Task{Host: `"{"n`})
		uplink.Samples = append(uplink.Samples, model.UplinkSample{})
		cluster.Queues = append(cluster.Queues, model.Queue{})
	}
	for _, f := range []model.Fact{graph, tasks, uplink, cluster} {
		data := write(t, trace.Record{Observation: &model.Observation{Fact: f}})
		if got, err := read(data, trace.ReadOptions{}); err != nil || len(got) != 1 || len(data) < 1<<20 {
			t.Errorf("%s: %d bytes, %v", f.Kind(), len(data), err)
		}
	}
}

func TestErrorsStay(t *testing.T) {
	t.Parallel()
	data := append(write(t, note(1, "a")), "garbage\n"+`{"seq":2,"t_ms":0,"kind":"mark","body":{"mark":"note"}}`+"\n"...)
	r, err := trace.NewReader(bytes.NewReader(data), trace.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, first := collect(r)
	got, second := collect(r)
	if first == nil || !errors.Is(second, first) || len(got) != 0 {
		t.Errorf("read on past an error: %d records, %v, then %v", len(got), first, second)
	}
	broken := errors.New("disk on fire")
	r, err = trace.NewReader(io.MultiReader(bytes.NewReader(write(t)), iotest.ErrReader(broken)), trace.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := collect(r); !errors.Is(err, broken) {
		t.Errorf("got %v, want the source's error", err)
	}
}

func TestIterationGoesOn(t *testing.T) {
	t.Parallel()
	r, err := trace.NewReader(bytes.NewReader(write(t, note(1, "a"), note(2, "b"))), trace.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for range r.Records() {
		break
	}
	got, err := collect(r)
	if err != nil || len(got) != 1 || got[0].Seq != 2 {
		t.Errorf("got %v, %v, want record 2", got, err)
	}
}

func TestRotate(t *testing.T) {
	t.Parallel()
	var one, two bytes.Buffer
	w, err := trace.NewWriter(&one, header())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if _, err := w.Append(note(model.Time(i), "")); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Rotate(&two, 9); err != nil {
		t.Fatal(err)
	}
	if seq, err := w.Append(note(10, "")); err != nil || seq != 5 || w.Seq() != 5 {
		t.Fatalf("seq %d, %v; want 5", seq, err)
	}
	got, err := read(two.Bytes(), trace.ReadOptions{After: 3})
	want := []trace.Record{{Seq: 4, At: 9, Mark: &trace.Mark{Name: trace.MarkContinues, After: 3}}, note(10, "")}
	want[1].Seq = 5
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("second file, error %v (-want +got):\n%s", err, diff)
	}
	for _, after := range []uint64{0, 2, 4} {
		if _, err := read(two.Bytes(), trace.ReadOptions{After: after}); !errors.Is(err, trace.ErrGap) {
			t.Errorf("after %d: %v, want a gap", after, err)
		}
	}
	if _, err := read(one.Bytes(), trace.ReadOptions{After: 3}); !errors.Is(err, trace.ErrGap) {
		t.Errorf("a file that continues nothing: %v, want a gap", err)
	}
}

func TestWriterRefuses(t *testing.T) {
	t.Parallel()
	var buf bytes.Buffer
	w, err := trace.NewWriter(&buf, header())
	if err != nil {
		t.Fatal(err)
	}
	before := buf.Len()
	uplinks := model.UplinkFact{Samples: []model.UplinkSample{{Out: model.BytesPerSecond(math.NaN())}}}
	for name, r := range map[string]trace.Record{
		"nothing":             {},
		"two things":          {Mark: &trace.Mark{Name: "note"}, Decision: &model.Decision{Plan: &model.Plan{}}},
		"no fact":             {Observation: &model.Observation{Source: model.SourceRM}},
		"not a number":        {Observation: &model.Observation{Fact: uplinks}},
		"empty decision":      {Decision: &model.Decision{}},
		"mark without a name": {Mark: &trace.Mark{Text: "x"}},
		"mark of the writer":  {Mark: &trace.Mark{Name: trace.MarkContinues}},
		"too long":            note(0, strings.Repeat("x", trace.MaxLine)),
	} {
		seq, err := w.Append(r)
		if err == nil || seq != 0 {
			t.Errorf("%s: seq %d, error %v; want it refused", name, seq, err)
		}
		if name == "too long" && !errors.Is(err, trace.ErrTooLong) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if buf.Len() != before {
		t.Errorf("%d bytes were written of records that were refused", buf.Len()-before)
	}
	if seq, err := w.Append(note(1, "fine")); err != nil || seq != 1 {
		t.Errorf("after that: seq %d, error %v; want 1", seq, err)
	}
}

// full accepts some bytes and then no more.
type full struct {
	room int
	buf  bytes.Buffer
}

func (f *full) Write(p []byte) (int, error) {
	n := min(f.room, len(p))
	f.room -= n
	f.buf.Write(p[:n])
	if n < len(p) {
		return n, errors.New("no space left")
	}
	return n, nil
}

func TestWriterAfterAnError(t *testing.T) {
	t.Parallel()
	start := len(write(t, note(1, "a")))
	disk := &full{room: start + 10}
	w, err := trace.NewWriter(disk, header())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Append(note(1, "a")); err != nil {
		t.Fatal(err)
	}
	_, first := w.Append(note(2, "b"))
	disk.room = 1 << 20 // room again, but half a line is there
	_, second := w.Append(note(3, "c"))
	if first == nil || !errors.Is(second, first) {
		t.Errorf("got %v, then %v; want the same error", first, second)
	}
	got, err := read(disk.buf.Bytes(), trace.ReadOptions{})
	if !errors.Is(err, trace.ErrTruncated) || len(got) != 1 {
		t.Errorf("%d records, %v; want 1", len(got), err)
	}
	if _, err := trace.NewWriter(&full{}, header()); err == nil {
		t.Error("a header that cannot be written is no error")
	}
}

func BenchmarkWrite(b *testing.B) {
	nodes := model.NodesFact{}
	for i := range 5000 {
		nodes.Nodes = append(nodes.Nodes, model.Node{
			ID: model.NodeID(fmt.Sprintf("dn%d:8041", i)), Host: fmt.Sprintf("dn%d", i), Rack: "/rack1",
			State: model.NodeRunning, Total: model.Resource{MemoryMiB: 8192, VCores: 8},
		})
	}
	w, err := trace.NewWriter(io.Discard, header())
	if err != nil {
		b.Fatal(err)
	}
	r := trace.Record{Observation: &model.Observation{Source: model.SourceRM, Fact: nodes}}
	for b.Loop() {
		if _, err := w.Append(r); err != nil {
			b.Fatal(err)
		}
	}
}

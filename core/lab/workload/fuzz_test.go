package workload_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"heddle/core/lab/workload"
)

// FuzzRead feeds the reader of heddle's format anything. It must not panic, a
// strict error must point into the input, and what it takes must be valid and
// survive another round.
func FuzzRead(f *testing.F) {
	golden, err := os.ReadFile("testdata/format1.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(golden, false, false)
	f.Add(golden[:len(golden)*2/3], false, true)
	_, jobs, _ := bytes.Cut(golden, []byte("\n"))
	f.Add(jobs, true, false)
	for line := range bytes.Lines(jobs) { // few bytes, so that mutations reach every key
		f.Add(bytes.Clone(line), true, true)
	}
	f.Add([]byte(job(`"tasks":1`, `"tasks":0`)+job("", "")), true, true)
	in := bufio.NewReaderSize(nil, bufferSize)
	f.Fuzz(func(t *testing.T, data []byte, headed, lenient bool) {
		if len(data) > 16<<10 {
			return
		}
		if headed {
			data = append([]byte(header), data...)
		}
		in.Reset(bytes.NewReader(data))
		w, err := workload.Read(in, workload.ReadOptions{File: "f", Lenient: lenient})
		if err != nil {
			pointsInto(t, data, err)
			return
		}
		survives(t, w, in)
	})
}

// bufferSize is what a reader takes as its buffer: to make one takes longer than to read.
const bufferSize = 64 << 10

// FuzzReadSWIM feeds the reader of SWIM traces anything.
func FuzzReadSWIM(f *testing.F) {
	golden, err := os.ReadFile("testdata/swim.tsv")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(golden, false, 0)
	f.Add(golden, true, 3)
	f.Add([]byte("a\t1\t1\t5\t0\t5\t/in/1\r\n\nb\t0\t1\t-5\t\t9007199254740992\n"), true, 1)
	f.Add([]byte("a\t1\t1\t5\t0\t5\t/in/1\t\t\n"), false, 1)
	f.Fuzz(func(t *testing.T, data []byte, lenient bool, nodes int) {
		opts := workload.DefaultSWIMOptions()
		opts.File, opts.Lenient, opts.Sizing.SWIMNodes = "f", lenient, nodes&0xfff
		w, err := workload.ReadSWIM(bytes.NewReader(data), opts)
		if err != nil {
			pointsInto(t, data, err)
			return
		}
		survives(t, w, bufio.NewReader(nil))
	})
}

func pointsInto(t *testing.T, data []byte, err error) {
	t.Helper()
	var at *workload.RecordError
	if !errors.As(err, &at) {
		if len(bytes.TrimSpace(data)) > 0 {
			t.Fatalf("error without a place: %v", err)
		}
		return
	}
	lines := bytes.Split(data, []byte("\n"))
	if at.Line < 1 || at.Line > len(lines) || at.Column < 1 || at.Column > len(lines[at.Line-1])+1 {
		t.Fatalf("%v: not within the input", err)
	}
}

func survives(t *testing.T, w *workload.Workload, in *bufio.Reader) {
	t.Helper()
	if err := w.Validate(); err != nil {
		t.Fatal(err)
	}
	for i := range w.Jobs {
		for k := range w.Jobs[i].Stages {
			w.Jobs[i].Stages[k].Split(0, workload.DefaultBlock)
		}
	}
	w.Describe()
	var out bytes.Buffer
	if err := workload.Write(&out, w); err != nil {
		t.Fatal(err)
	}
	in.Reset(&out)
	back, err := workload.Read(in, workload.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	back.Skipped = w.Skipped
	if reflect.DeepEqual(w, back) { // as nearly always: Diff takes longer than all else
		return
	}
	if diff := cmp.Diff(w, back, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("read, written and read again (-first +second):\n%s", diff)
	}
}

// failing returns an error after its text.
type failing struct{ text io.Reader }

func (f failing) Read(p []byte) (int, error) {
	n, err := f.text.Read(p)
	if errors.Is(err, io.EOF) {
		err = io.ErrClosedPipe
	}
	return n, err
}

// An error of the source is no record that could be left out.
func TestReadersReportTheSource(t *testing.T) {
	t.Parallel()
	opts := workload.DefaultSWIMOptions()
	opts.Lenient = true
	_, err := workload.ReadSWIM(failing{bytes.NewReader([]byte(goodRow))}, opts)
	if !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v", err)
	}
	_, err = workload.Read(failing{bytes.NewReader([]byte(header))}, workload.ReadOptions{Lenient: true})
	if !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v", err)
	}
}

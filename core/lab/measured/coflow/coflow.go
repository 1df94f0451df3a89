// Package coflow reads the traces of coflow-benchmark: shuffles between the racks of a
// cluster, one a line.
package coflow

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"heddle/core/lab/workload"
	"heddle/core/model"
)

// Trace is what a trace says.
type Trace struct {
	Racks    int // ports of the fabric
	Workload *workload.Workload
}

// Options say how a trace is read.
type Options struct {
	File     string // in errors
	Name     string // of the workload
	Anywhere bool   // drop the racks of mappers and reducers, so that the workload runs on any cluster
}

const (
	maxPorts   = 10_000 // as many racks as a simulated cluster may have
	maxCoflows = 1 << 20
	user       = "coflow"
)

// Error says where a trace is wrong.
type Error struct {
	File         string
	Line, Column int // from 1
	Err          error
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: %v", e.File, e.Line, e.Column, e.Err)
}

// Unwrap implements errors' unwrapping.
func (e *Error) Unwrap() error { return e.Err }

// Read reads a trace: a line with the number of ports and of coflows, then a coflow a line:
// its id, when it arrives in milliseconds, how many mappers it has and on which ports, how many
// reducers and on which ports with the MiB that each fetches. Ports are numbered from 0; port
// p is node 1 of rack p+1.
//
// Each coflow is a job with a map for each mapper and a reduce for each reducer, which
// compute for no time and read and write no files. Every reducer fetches as much from each
// mapper. The errors are *Error.
func Read(r io.Reader, o Options) (*Trace, error) {
	w := &words{src: bufio.NewReaderSize(r, 64<<10), file: o.File, line: 1, at: 1}
	ports, err := w.number("the number of ports", 1, maxPorts)
	if err != nil {
		return nil, err
	}
	count, err := w.number("the number of coflows", 1, maxCoflows)
	if err != nil {
		return nil, err
	}
	t := &Trace{Racks: int(ports), Workload: &workload.Workload{Name: o.Name}}
	seen := map[workload.JobID]bool{}
	for range count {
		if err := w.endLine(); err != nil {
			return nil, err
		}
		j, err := w.coflow(ports, o.Anywhere)
		switch {
		case err != nil:
			return nil, err
		case seen[j.ID]:
			return nil, w.fail(fmt.Errorf("an earlier coflow has the id %s too", j.ID))
		case len(t.Workload.Jobs) > 0 && j.Submit < t.Workload.Jobs[len(t.Workload.Jobs)-1].Submit:
			return nil, w.fail(fmt.Errorf("coflow %s arrives before the one above it", j.ID))
		}
		seen[j.ID] = true
		t.Workload.Jobs = append(t.Workload.Jobs, j)
	}
	if err := w.end(count); err != nil {
		return nil, err
	}
	return t, t.Workload.Validate()
}

// coflow reads a line.
func (w *words) coflow(ports int64, anywhere bool) (workload.Job, error) {
	id, err := w.word("the id of a coflow")
	if err != nil {
		return workload.Job{}, err
	}
	at, err := w.number("when it arrives, in milliseconds", 0, int64(workload.MaxTime))
	if err != nil {
		return workload.Job{}, err
	}
	size := workload.DefaultSizing().Container
	maps := workload.Stage{Name: model.StageMap, Container: size}
	reduces := workload.Stage{Name: model.StageReduce, Container: size, Edges: []workload.Edge{{From: 0, Kind: model.ScatterGather}}}
	on := func(port int64) workload.Node {
		if anywhere {
			return workload.Node{}
		}
		return workload.Node{Rack: int(port) + 1, Number: 1}
	}
	mappers, err := w.number("the number of mappers", 1, math.MaxInt32)
	if err != nil {
		return workload.Job{}, err
	}
	for range mappers {
		port, err := w.number("the port of a mapper", 0, ports-1)
		if err != nil {
			return workload.Job{}, err
		}
		maps.Measured = append(maps.Measured, workload.Measured{RanOn: on(port)})
	}
	reducers, err := w.number("the number of reducers", 1, math.MaxInt32)
	if err != nil {
		return workload.Job{}, err
	}
	for range reducers {
		port, bytes, err := w.reducer(ports)
		if err != nil {
			return workload.Job{}, err
		}
		if maps.Output += bytes; maps.Output > workload.MaxBytes {
			return workload.Job{}, w.fail(fmt.Errorf("the coflow has more than %d bytes", workload.MaxBytes))
		}
		reduces.Measured = append(reduces.Measured, workload.Measured{Shuffled: bytes, RanOn: on(port)})
	}
	maps.Tasks, reduces.Tasks = len(maps.Measured), len(reduces.Measured)
	for i := range maps.Measured {
		m := model.Bytes(mappers)
		share := maps.Output / m
		if model.Bytes(i) < maps.Output%m {
			share++
		}
		maps.Measured[i].Output = share
	}
	return workload.Job{ID: workload.JobID("coflow-" + id), User: user, Queue: workload.DefaultQueue, Submit: model.Time(at), Stages: []workload.Stage{maps, reduces}}, nil
}

// reducer reads a reducer, such as 12:34.5.
func (w *words) reducer(ports int64) (port int64, bytes model.Bytes, err error) {
	const what = "a reducer, as its port and the MiB it fetches, such as 12:34.5"
	word, err := w.word(what)
	if err != nil {
		return 0, 0, err
	}
	at, size, found := cut(word)
	if !found {
		return 0, 0, w.fail(fmt.Errorf("%q: want %s", word, what))
	}
	if port, err = w.whole(at, "the port of a reducer", 0, ports-1); err != nil {
		return 0, 0, err
	}
	mib, err := strconv.ParseFloat(size, 64)
	if err != nil || !(mib >= 0 && mib <= float64(workload.MaxBytes/model.MiB)) { // also refuses NaN
		return 0, 0, w.fail(fmt.Errorf("the MiB of a reducer: %q is no number from 0 to %d", size, workload.MaxBytes/model.MiB))
	}
	return port, model.Bytes(math.Round(mib * float64(model.MiB))), nil
}

// words reads the words of a trace.
type words struct {
	src      *bufio.Reader
	file     string
	line     int
	at       int // column of the next byte, from 1
	lastLine int // where the last word began
	lastAt   int
}

// maxWord is the most bytes of one word.
const maxWord = 256

// word returns the next word of the line.
func (w *words) word(what string) (string, error) {
	var word []byte
	w.lastLine, w.lastAt = w.line, w.at
	for {
		b, err := w.src.ReadByte()
		switch {
		case err != nil && !errors.Is(err, io.EOF):
			return "", w.fail(err)
		case err != nil || b == '\n':
			if len(word) == 0 {
				return "", w.fail(fmt.Errorf("the line ends before %s", what))
			}
			if err == nil {
				_ = w.src.UnreadByte() // it was just read
			}
			return string(word), nil
		case b == ' ' || b == '\t' || b == '\r':
			w.at++
			if len(word) > 0 {
				return string(word), nil
			}
			w.lastAt = w.at
		default:
			w.at++
			if word = append(word, b); len(word) > maxWord {
				return "", w.fail(fmt.Errorf("a word has more than %d bytes", maxWord))
			}
		}
	}
}

// endLine goes to the next line that is not empty; nothing but space may come before it.
func (w *words) endLine() error {
	ended := false
	for {
		b, err := w.src.ReadByte()
		w.lastLine, w.lastAt = w.line, w.at
		switch {
		case err != nil && !errors.Is(err, io.EOF):
			return w.fail(err)
		case err != nil:
			return w.fail(errors.New("the trace ends before the number of coflows that line 1 says"))
		case b == '\n':
			w.line, w.at, ended = w.line+1, 1, true
		case b == ' ' || b == '\t' || b == '\r':
			w.at++
		case !ended:
			return w.fail(errors.New("there is more on the line than it says"))
		default:
			return w.src.UnreadByte()
		}
	}
}

// end checks that nothing follows the last coflow.
func (w *words) end(count int64) error {
	for {
		b, err := w.src.ReadByte()
		w.lastLine, w.lastAt = w.line, w.at
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return w.fail(err)
		case b == '\n':
			w.line, w.at = w.line+1, 1
		case b == ' ' || b == '\t' || b == '\r':
			w.at++
		default:
			return w.fail(fmt.Errorf("there is more than the %d coflows that line 1 says", count))
		}
	}
}

// number reads a whole number.
func (w *words) number(what string, lo, top int64) (int64, error) {
	word, err := w.word(what)
	if err != nil {
		return 0, err
	}
	return w.whole(word, what, lo, top)
}

func (w *words) whole(word, what string, lo, top int64) (int64, error) {
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil || n < lo || n > top {
		return 0, w.fail(fmt.Errorf("%s: %q is no whole number from %d to %d", what, word, lo, top))
	}
	return n, nil
}

// fail makes an error at the last word.
func (w *words) fail(err error) error { return &Error{w.file, w.lastLine, w.lastAt, err} }

// cut splits a reducer at its colon.
func cut(word string) (port, size string, found bool) {
	for i := range len(word) {
		if word[i] == ':' {
			return word[:i], word[i+1:], true
		}
	}
	return word, "", false
}

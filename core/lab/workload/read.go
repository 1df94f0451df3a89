package workload

import (
	"errors"
	"fmt"
	"io"
	"slices"
)

// Format is the number of the only format of workloads there is.
const Format = 1

// formatKind tells a workload from other files of JSON lines.
const formatKind = "workload"

// ReadOptions say how a workload in heddle's own format is read.
type ReadOptions struct {
	File    string // in errors
	Lenient bool   // leave out records that are wrong, and count them; the header has to be right
}

// Read reads heddle's own format: JSON lines, a header and then a job a line.
// An unknown key, a number that is none, a reference to nothing is an error with
// file, line and column. Of a key that is there twice the last counts, as
// everywhere in encoding/json. Empty lines are passed over.
//
//	{"format":1,"kind":"workload","name":"two jobs"}
//	{"id":"a","user":"ann","submit_ms":0,"stages":[{"name":"map","tasks":1,"reads":[{"bytes":4096}],"output_bytes":10}]}
//	{"id":"b","user":"bob","submit_ms":5,"parents":["a"],"stages":[…]}
func Read(r io.Reader, opts ReadOptions) (*Workload, error) {
	src := newLines(r, opts.File)
	line, err := src.next()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s is empty; its first line is a header such as {\"format\":%d,\"kind\":%q}", src.name(), Format, formatKind)
	}
	if err != nil {
		return nil, err
	}
	w := &Workload{}
	if w.Name, err = readHeader(src, line); err != nil {
		return nil, err
	}
	jobs := jobReader{words: map[string]string{}}
	err = src.collect(w, opts.Lenient, func(line []byte, c *checker) (Job, error) {
		var l jobLine
		if err := src.decode(line, &l); err != nil {
			return Job{}, err
		}
		j, f := jobs.job(&l, c.ids)
		if f == nil {
			f = c.checkJob(&j)
		}
		if f != nil {
			return Job{}, src.fail(columnOf(line, f.path), f.reason, "%s", f)
		}
		return j, nil
	})
	if err != nil {
		return nil, err
	}
	return w, nil
}

// readHeader reads the first line and returns the workload's name.
func readHeader(src *lines, line []byte) (string, error) {
	var h headerLine
	headerKeys := []string{"format", "kind", "name"}
	err := src.decode(line, &h)
	var wrong *RecordError
	switch {
	case errors.As(err, &wrong) && wrong.Reason == ReasonKey:
		at := find(line, func(v value) bool { return v.key != "" && !slices.Contains(headerKeys, v.key) })
		return "", src.fail(at.column(), ReasonKey, "unknown key %q; want a header such as {\"format\":%d,\"kind\":%q,\"name\":\"…\"} and no other key", at.key, Format, formatKind)
	case err != nil:
		return "", err
	case h.Format != Format:
		return "", src.fail(columnOf(line, "format"), ReasonRange, "format %d; this version reads format %d", h.Format, Format)
	case h.Kind != formatKind:
		return "", src.fail(columnOf(line, "kind"), ReasonRange, "kind %q; want %q", h.Kind, formatKind)
	}
	return h.Name, nil
}

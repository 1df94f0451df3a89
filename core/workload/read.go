package workload

import (
	"errors"
	"fmt"
	"io"
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
// An unknown or repeated key, a number that is none, a reference to nothing is
// an error with file, line and column. Empty lines are passed over.
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
	words := map[string]string{}
	err = src.collect(w, opts.Lenient, func(line []byte, c *checker) (Job, error) {
		d := newDecoder(src, line, c.ids, words)
		j, err := d.job()
		if err != nil {
			return Job{}, err
		}
		f := c.job(&j)
		if f == nil {
			return j, nil
		}
		again := newDecoder(src, line, c.ids, words)
		again.where = map[string]int{}
		_, _ = again.job() // it was read without an error a moment ago
		return Job{}, src.fail(again.column(f.path), f.reason, "%s: %s", f.path, f.msg)
	})
	if err != nil {
		return nil, err
	}
	return w, nil
}

// readHeader reads the first line and returns the workload's name.
func readHeader(src *lines, line []byte) (string, error) {
	d := newDecoder(src, line, nil, nil)
	var name, kind string
	var format int64
	known := keys{required: []string{"format", "kind"}, optional: []string{"name"}}
	err := d.whole(func() error {
		return d.object(known, func(key string) error {
			at := d.start()
			switch key {
			case "format":
				err := d.integer(&format)
				if err == nil && format != Format {
					err = src.fail(at, ReasonRange, "format %d; this version reads format %d", format, Format)
				}
				return err
			case "kind":
				err := d.text(&kind)
				if err == nil && kind != formatKind {
					err = src.fail(at, ReasonRange, "kind %q; want %q", kind, formatKind)
				}
				return err
			}
			return d.text(&name)
		})
	})
	return name, err
}

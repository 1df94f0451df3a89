package fakehadoop

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

//go:embed testdata
var testdata embed.FS

// recording is what was recorded. It does not change.
type recording struct {
	answers map[string][]moment // by path and query, in time
	history map[string]string   // by path
	conf    map[string]string   // by job id
	inputs  map[string][]inputFile
	files   map[string]string // single answers by file name
	end     int64             // ms
}

// moment is an answer that held from a time on.
type moment struct {
	at   int64 // ms
	body string
}

// inputFile is one file of an input directory.
type inputFile struct {
	Name   string     `json:"name"`
	Length int64      `json:"length"`
	Blocks [][]string `json:"blocks"` // hosts of each block
}

// load reads the tape, once for all tests of a process.
var load = sync.OnceValues(func() (*recording, error) { //nolint:gochecknoglobals // it is read-only and large
	t := &recording{answers: map[string][]moment{}, history: map[string]string{}, conf: map[string]string{}, files: map[string]string{}}
	for _, read := range []func() error{t.readSequence, t.readHistory, t.readConf, t.readFiles} {
		if err := read(); err != nil {
			return nil, fmt.Errorf("recorded cluster: %w", err)
		}
	}
	return t, nil
})

// lines calls each for every line of a file of testdata.
func lines(name string, each func([]byte) error) error {
	data, err := testdata.ReadFile("testdata/" + name)
	if err != nil {
		return err
	}
	var from io.Reader = bytes.NewReader(data)
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		if from, err = gzip.NewReader(from); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	in := bufio.NewScanner(from)
	in.Buffer(nil, 4<<20)
	for in.Scan() {
		if err := each(in.Bytes()); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return in.Err()
}

func (t *recording) readSequence() error {
	return lines("sequence.jsonl.gz", func(line []byte) error {
		var l struct {
			TMS  int64           `json:"t_ms"`
			Path string          `json:"path"`
			Body json.RawMessage `json:"body"`
		}
		if err := json.Unmarshal(line, &l); err != nil {
			return err
		}
		t.answers[l.Path] = append(t.answers[l.Path], moment{l.TMS, string(l.Body)})
		t.end = max(t.end, l.TMS)
		return nil
	})
}

func (t *recording) readHistory() error {
	return lines("history.jsonl.gz", func(line []byte) error {
		var l struct {
			Path string          `json:"path"`
			Body json.RawMessage `json:"body"`
		}
		err := json.Unmarshal(line, &l)
		t.history[l.Path] = string(l.Body)
		return err
	})
}

func (t *recording) readConf() error {
	return lines("conf.jsonl", func(line []byte) error {
		var l struct {
			Job  string          `json:"job"`
			Body json.RawMessage `json:"body"`
		}
		err := json.Unmarshal(line, &l)
		t.conf[l.Job] = string(l.Body)
		return err
	})
}

func (t *recording) readFiles() error {
	entries, err := testdata.ReadDir("testdata")
	if err != nil {
		return err
	}
	for _, e := range entries {
		body, err := testdata.ReadFile("testdata/" + e.Name())
		if err != nil {
			return err
		}
		t.files[e.Name()] = string(body)
	}
	if err := json.Unmarshal([]byte(t.files["files.json"]), &t.inputs); err != nil {
		return fmt.Errorf("files.json: %w", err)
	}
	return nil
}

// file returns a single recorded answer.
func (t *recording) file(name string) string {
	body, ok := t.files[name]
	if !ok {
		panic("no recorded answer " + name)
	}
	return body
}

// until returns the answer of a path that held at a time.
func (t *recording) until(path string, at int64) (moment, bool) {
	var found moment
	ok := false
	for _, m := range t.answers[path] {
		if m.at > at {
			break
		}
		found, ok = m, true
	}
	return found, ok
}

// from returns the answer of a path that held at a time, or else its first.
func (t *recording) from(path string, at int64) (moment, bool) {
	if m, ok := t.until(path, at); ok {
		return m, true
	}
	if all := t.answers[path]; len(all) > 0 {
		return all[0], true
	}
	return moment{}, false
}

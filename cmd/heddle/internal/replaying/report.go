package replaying

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"heddle/core/lab/replay"
)

// The files of a report: one line for each application and policy, and the result.
const (
	jobsFile   = "applications.jsonl"
	resultFile = "replay.json"
)

// report writes a directory with the accounts of all applications. A nil report writes
// nothing.
type report struct {
	dir     string
	partial string // of jobsFile, until it is whole
	file    *os.File
	out     *bufio.Writer
	enc     *json.Encoder
	err     error
}

func newReport(dir string) (*report, error) {
	if dir == "" {
		return nil, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // a report is for others to read
		return nil, fmt.Errorf("--report: %w", err)
	}
	r := &report{dir: dir, partial: filepath.Join(dir, jobsFile+".tmp")}
	var err error
	if r.file, err = os.Create(r.partial); err != nil {
		return nil, fmt.Errorf("--report: %w", err)
	}
	r.out = bufio.NewWriter(r.file)
	r.enc = json.NewEncoder(r.out)
	return r, nil
}

func (r *report) job(a *replay.JobAccount) {
	if r != nil && r.err == nil {
		r.err = r.enc.Encode(a)
	}
}

// end completes the report.
func (r *report) end(res *replay.Result) error {
	if r == nil {
		return nil
	}
	err := errors.Join(r.err, r.out.Flush(), r.file.Close())
	if err != nil || res == nil {
		return err
	}
	data, err := json.MarshalIndent(res, "", "  ")
	if err != nil {
		return err
	}
	return errors.Join(os.Rename(r.partial, filepath.Join(r.dir, jobsFile)), os.WriteFile(r.path(), append(data, '\n'), 0o644)) //nolint:gosec // a report is for others to read
}

// remove leaves no partial file.
func (r *report) remove() {
	if r != nil {
		_ = os.Remove(r.partial)
	}
}

func (r *report) path() string {
	if r == nil {
		return ""
	}
	return filepath.Join(r.dir, resultFile)
}

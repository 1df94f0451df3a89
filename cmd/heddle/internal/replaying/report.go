package replaying

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"heddle/core/account"
	"heddle/core/lab/replay"
	"heddle/core/model"
)

// The files of a report: a line for each application and policy, the result, and the
// decisions of each policy.
const (
	jobsFile      = "applications.jsonl"
	resultFile    = "replay.json"
	decisionsFile = "decisions-%d-%s.jsonl" // by the policy's place and name
)

// report writes a directory with the accounts of all applications and all decisions. A nil
// report writes nothing.
type report struct {
	dir       string
	jobs      *lines
	decisions []*lines // by policy
}

// lines is a file of JSON lines that has another name until it is whole.
type lines struct {
	name string
	file *os.File
	out  *bufio.Writer
	enc  *json.Encoder
	err  error
}

func newLines(name string) (*lines, error) {
	f, err := os.Create(name + ".tmp") //nolint:gosec // in the folder the operator names
	if err != nil {
		return nil, err
	}
	out := bufio.NewWriter(f)
	return &lines{name: name, file: f, out: out, enc: json.NewEncoder(out)}, nil
}

func (l *lines) add(v any) {
	if l.err == nil {
		l.err = l.enc.Encode(v)
	}
}

// end completes the file, or leaves none.
func (l *lines) end(keep bool) error {
	err := errors.Join(l.err, l.out.Flush(), l.file.Close())
	if !keep || err != nil {
		return errors.Join(err, os.Remove(l.file.Name()))
	}
	return os.Rename(l.file.Name(), l.name)
}

func newReport(dir string, policies []replay.Policy) (*report, error) {
	if dir == "" {
		return nil, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // a report is for others to read
		return nil, fmt.Errorf("--report: %w", err)
	}
	r := &report{dir: dir}
	var err error
	if r.jobs, err = newLines(filepath.Join(dir, jobsFile)); err != nil {
		return nil, fmt.Errorf("--report: %w", err)
	}
	for i := range policies {
		l, err := newLines(filepath.Join(dir, fmt.Sprintf(decisionsFile, i+1, policies[i].Name)))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("--report: %w", err), r.end(nil))
		}
		r.decisions = append(r.decisions, l)
	}
	return r, nil
}

// show has a replay show the report what it keeps.
func (r *report) show(o *replay.Options) {
	if r == nil {
		return
	}
	o.Job = func(a *account.Job) { r.jobs.add(a) }
	o.Decision = func(policy int, d *model.Decision) { r.decisions[policy].add(d) }
}

// end completes the report; without a result it leaves no file.
func (r *report) end(res *replay.Result) error {
	if r == nil {
		return nil
	}
	err := r.jobs.end(res != nil)
	for _, l := range r.decisions {
		err = errors.Join(err, l.end(res != nil))
	}
	if err != nil || res == nil {
		return err
	}
	data, err := json.MarshalIndent(res, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(r.path(), append(data, '\n'), 0o644) //nolint:gosec // a report is for others to read
}

func (r *report) path() string {
	if r == nil {
		return ""
	}
	return filepath.Join(r.dir, resultFile)
}

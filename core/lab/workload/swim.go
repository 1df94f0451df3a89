package workload

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"unicode/utf8"

	"heddle/core/model"
)

// DefaultUsers is the number of users NAS gives FB-2010 (algorithms 3.3).
const DefaultUsers = 200

// SWIMOptions say how a SWIM trace becomes a workload.
type SWIMOptions struct {
	File    string // in errors
	Name    string // of the workload
	Users   int    // jobs are given to users at random; at least 1
	Seed    uint64 // of that draw
	Lenient bool   // leave out records that are wrong, and count them
	Sizing  Sizing
}

// DefaultSWIMOptions returns 200 users, seed 1, and the default sizing.
func DefaultSWIMOptions() SWIMOptions {
	return SWIMOptions{Users: DefaultUsers, Seed: 1, Sizing: DefaultSizing()}
}

// swimColumns are the columns of a SWIM trace. The first six are in every one;
// samples with paths add one or two, which say nothing about bytes, and may have
// tabs after them.
func swimColumns() []string {
	return []string{"job id", "submit time (s)", "gap (s)", "map input (bytes)", "shuffle (bytes)", "reduce output (bytes)", "input path", "output path"}
}

// swimNumbers is the number of columns every trace has.
const swimNumbers = 6

// ReadSWIM reads a trace of SWIM (SWIMProjectUCB/SWIM, workloadSuite): a job a
// line, columns separated by tabs, no header. Jobs without input are kept, with
// one map. The gap to the job before is checked to be a number and not used.
func ReadSWIM(r io.Reader, opts SWIMOptions) (*Workload, error) {
	if opts.Users < 1 {
		return nil, fmt.Errorf("users: want 1 or more, is %d", opts.Users)
	}
	if err := opts.Sizing.Validate(); err != nil {
		return nil, err
	}
	src := newLines(r, opts.File)
	users := newUserPool(opts.Users, opts.Seed)
	w := &Workload{Name: opts.Name}
	err := src.collect(w, opts.Lenient, func(line []byte, c *checker) (Job, error) {
		row, err := swimRow(src, line)
		if err != nil {
			return Job{}, err
		}
		j := row.job(&opts.Sizing, users.draw())
		if f := c.checkJob(&j); f != nil {
			return Job{}, row.fail(src, f)
		}
		return j, nil
	})
	if err != nil {
		return nil, err
	}
	if len(w.Jobs) == 0 && len(w.Skipped) == 0 {
		return nil, fmt.Errorf("%s has no job", src.name())
	}
	return w, nil
}

// swimRecord is one row of a trace.
type swimRecord struct {
	id      JobID
	numbers [swimNumbers]int64 // by column; the first is unused
	columns []int              // where each column starts, from 1
}

func swimRow(src *lines, line []byte) (swimRecord, error) {
	var row swimRecord
	cells := bytes.Split(line, []byte{'\t'})
	for len(cells) > len(swimColumns()) && len(bytes.TrimSpace(cells[len(cells)-1])) == 0 {
		cells = cells[:len(cells)-1]
	}
	if n := len(cells); n < swimNumbers || n > len(swimColumns()) {
		return row, src.fail(1, ReasonColumns, "%d columns; a SWIM trace has %s, separated by tabs", n, strings.Join(swimColumns(), ", "))
	}
	at := 1
	for i, cell := range cells {
		row.columns = append(row.columns, at)
		if !utf8.Valid(cell) {
			return row, src.fail(at, ReasonSyntax, "%s is not UTF-8", swimColumns()[i])
		}
		if i > 0 && i < swimNumbers {
			v, wrong := swimNumber(cell)
			if wrong != nil {
				return row, src.fail(at, wrong.reason, "%s %s", swimColumns()[i], wrong.msg)
			}
			row.numbers[i] = v
		}
		at += len(cell) + 1
	}
	row.id = JobID(cells[0])
	return row, nil
}

// swimNumber reads a number of a trace: bytes or seconds.
func swimNumber(cell []byte) (int64, *fault) {
	s := string(cell)
	v, err := strconv.ParseInt(s, 10, 64)
	switch {
	case s == "":
		return 0, &fault{reason: ReasonMissing, msg: "is empty"}
	case errors.Is(err, strconv.ErrRange), err == nil && v > int64(MaxBytes):
		return 0, &fault{reason: ReasonRange, msg: fmt.Sprintf("is %s; the largest number is %d", s, MaxBytes)}
	case err != nil:
		return 0, &fault{reason: ReasonNumber, msg: fmt.Sprintf("is %q, no whole number", s)}
	case v < 0:
		return 0, &fault{reason: ReasonNegative, msg: fmt.Sprintf("is %d, below zero", v)}
	}
	return v, nil
}

func (r *swimRecord) job(z *Sizing, user model.UserID) Job {
	input, shuffle, output := model.Bytes(r.numbers[3]), model.Bytes(r.numbers[4]), model.Bytes(r.numbers[5])
	return Job{
		ID:     r.id,
		User:   user,
		Queue:  DefaultQueue,
		Submit: model.Time(min(r.numbers[1], int64(MaxTime))) * model.Time(model.Second),
		Stages: z.MapReduce(z.Input(input), shuffle, output),
	}
}

// fail puts a broken rule where the row says what breaks it.
func (r *swimRecord) fail(src *lines, f *fault) *RecordError {
	column := 0
	switch {
	case f.path == "submit_ms":
		column = 1
	case strings.HasPrefix(f.path, "stages[0]"):
		column = 3
	case strings.HasPrefix(f.path, "stages[1]"):
		column = 4
	}
	return src.fail(r.columns[column], f.reason, "%s: %s", swimColumns()[column], f.msg)
}

// userPool draws the user of each job.
type userPool struct {
	names []model.UserID
	rand  *rand.Rand
}

func newUserPool(n int, seed uint64) *userPool {
	u := &userPool{rand: randFor(seed, "users")}
	for i := range n {
		u.names = append(u.names, model.UserID(fmt.Sprintf("user%03d", i+1)))
	}
	return u
}

func (u *userPool) draw() model.UserID { return u.names[u.rand.IntN(len(u.names))] }

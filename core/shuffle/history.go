package shuffle

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"heddle/core/model"
)

// JobKey names a recurring job: its runs are those of one user under one
// normalised name. The zero key names none.
type JobKey struct {
	User model.UserID
	Name string // as NormalName returns it
}

// KeyOf returns the key of a job. It is zero where the name says nothing.
func KeyOf(user model.UserID, name string) JobKey {
	if name = NormalName(name); name == "" || user == "" || len(user) > maxName {
		return JobKey{}
	}
	return JobKey{user, name}
}

// checkRun reports what of a run is out of range.
func checkRun(r *model.Run) error {
	switch {
	case r.App == "" || len(r.App) > maxName:
		return errors.New("no application")
	case r.Submitted < 0 || r.At < 0:
		return fmt.Errorf("%s: a time before 1970", r.App)
	case r.Input <= 0 || r.Shuffle < 0 || r.Output < model.Unknown:
		return fmt.Errorf("%s: bytes out of range", r.App)
	}
	return nil
}

// isAfter reports whether a run comes after another in a history.
func isAfter(r, o *model.Run) bool {
	return cmp.Or(cmp.Compare(r.Submitted, o.Submitted), cmp.Compare(r.App, o.App)) > 0
}

// Past is what the runs of a job let expect of the next.
type Past struct {
	Ratio  float64     // map output over map input
	Output float64     // job output over map input; negative until a run has reported it
	Input  model.Bytes // of the latest run
	At     model.Time  // when the latest run was measured
	Runs   int         // remembered, at most KeptRuns
}

// KeptRuns is how many runs of a job are remembered. The newest counts half, the
// one before it a quarter, and so on: the estimate follows a job that changed
// within two runs, and one odd run moves it by half at most. (The papers only
// say "a previous run": NAS §III-A, ShuffleWatcher §3.2.)
const KeptRuns = 4

// History remembers the runs of recurring jobs, so that a job's shuffle can be
// predicted before its first map is complete (NAS §III-A; algorithms.md 2.3.1).
// It is bounded: of too many jobs those go that have not been measured for
// longest. A nil History is empty and takes nothing.
type History struct {
	limit   int
	jobs    map[JobKey][]model.Run // runs by submit time, oldest first
	version uint64
}

// DefaultHistory is how many jobs a history remembers by default: some
// 5 MB in memory and 8 MB on disk.
const DefaultHistory = 10_000

// NewHistory makes an empty history of at most limit jobs.
func NewHistory(limit int) *History {
	return &History{limit: limit, jobs: map[JobKey][]model.Run{}}
}

// Record takes in what a run has been measured at. A later measure of the same
// application takes the place of the one before. Runs out of range are left out.
func (h *History) Record(key JobKey, r model.Run) {
	if h == nil || h.limit <= 0 || key == (JobKey{}) || checkRun(&r) != nil {
		return
	}
	runs := h.jobs[key]
	for i, old := range runs {
		if old.App != r.App {
			continue
		}
		if old.At = r.At; old == r { // the time alone is no change
			return
		}
		runs = slices.Delete(runs, i, i+1)
		break
	}
	at := len(runs)
	for at > 0 && isAfter(&runs[at-1], &r) {
		at--
	}
	if at == 0 && len(runs) == KeptRuns { // older than all that is kept
		return
	}
	runs = slices.Insert(runs, at, r)
	h.jobs[key] = slices.Delete(runs, 0, max(len(runs)-KeptRuns, 0))
	h.version++
	if len(h.jobs) > h.limit {
		h.evict()
	}
}

// evict forgets the tenth of the jobs that were measured longest ago, and what
// is above the limit.
func (h *History) evict() {
	keys := slices.Collect(maps.Keys(h.jobs)) // order-free: sorted below
	slices.SortFunc(keys, func(a, b JobKey) int {
		return cmp.Or(cmp.Compare(latestMeasure(h.jobs[a]), latestMeasure(h.jobs[b])), compareKeys(a, b))
	})
	for _, k := range keys[:len(keys)-(h.limit-h.limit/10)] {
		delete(h.jobs, k)
	}
}

// latestMeasure returns when the latest measure of runs was taken.
func latestMeasure(runs []model.Run) model.Time {
	at := model.Time(0)
	for i := range runs {
		at = max(at, runs[i].At)
	}
	return at
}

func compareKeys(a, b JobKey) int {
	return cmp.Or(cmp.Compare(a.User, b.User), cmp.Compare(a.Name, b.Name))
}

// Expect returns what the runs of a job let expect of the next; false without
// any.
func (h *History) Expect(key JobKey) (Past, bool) {
	if h == nil || len(h.jobs[key]) == 0 {
		return Past{}, false
	}
	runs := h.jobs[key]
	latest := &runs[len(runs)-1]
	p := Past{Output: -1, Input: latest.Input, At: latest.At, Runs: len(runs)}
	p.Ratio, _ = weightedRatio(runs, func(r *model.Run) model.Bytes { return r.Shuffle })
	if output, known := weightedRatio(runs, func(r *model.Run) model.Bytes { return r.Output }); known {
		p.Output = output
	}
	return p, true
}

// weightedRatio returns the mean of bytes over input of the runs that know them, a
// run counting twice as much as the one before it.
func weightedRatio(runs []model.Run, bytes func(*model.Run) model.Bytes) (mean float64, known bool) {
	sum, weights, weight := 0.0, 0.0, 1.0
	for i := len(runs) - 1; i >= 0; i-- {
		if b := bytes(&runs[i]); b >= 0 {
			sum += weight * float64(b) / float64(runs[i].Input)
			weights += weight
			weight /= 2
		}
	}
	if weights == 0 {
		return 0, false
	}
	return sum / weights, true
}

// Len returns how many jobs are remembered.
func (h *History) Len() int {
	if h == nil {
		return 0
	}
	return len(h.jobs)
}

// Version changes whenever what is remembered does.
func (h *History) Version() uint64 { return h.version }

// Clone returns a copy that shares nothing with h.
func (h *History) Clone() *History {
	c := &History{limit: h.limit, jobs: make(map[JobKey][]model.Run, len(h.jobs)), version: h.version}
	for k, runs := range h.jobs { // order-free: each goes to its own key
		c.jobs[k] = slices.Clone(runs)
	}
	return c
}

// HistoryFormat is the number of the only format Encode writes and DecodeHistory
// reads.
const HistoryFormat = 1

// MaxHistoryBytes is more than Encode writes for DefaultHistory jobs with names
// and applications of the greatest length.
const MaxHistoryBytes = 64 << 20

// ErrHistory says that what was read is not a history, or of another format.
var ErrHistory = errors.New("not a history of jobs that this version of heddle reads")

// historyJSON is the form of a history on disk.
type historyJSON struct {
	Format int             `json:"format"`
	Jobs   []model.JobRuns `json:"jobs"`
}

// Jobs returns what is remembered, by user and name.
func (h *History) Jobs() []model.JobRuns {
	jobs := make([]model.JobRuns, 0, len(h.jobs))
	for _, k := range slices.SortedFunc(maps.Keys(h.jobs), compareKeys) { // order-free: sorted
		jobs = append(jobs, model.JobRuns{User: k.User, Name: k.Name, Runs: slices.Clone(h.jobs[k])})
	}
	return jobs
}

// Recall takes in what Jobs of another history returned. Names are normalised
// anew, in case a later version folds more. The error names the first job that
// has no user, no name or a run out of range, and what came before it is taken in.
func (h *History) Recall(jobs []model.JobRuns) error {
	for i := range jobs {
		j := &jobs[i]
		key := KeyOf(j.User, j.Name)
		if key == (JobKey{}) {
			return fmt.Errorf("job %d has no user or name", i+1)
		}
		for k := range j.Runs {
			if err := checkRun(&j.Runs[k]); err != nil {
				return fmt.Errorf("job %d, %s: %w", i+1, key.Name, err)
			}
			h.Record(key, j.Runs[k])
		}
	}
	return nil
}

// Encode writes the history, equal histories to equal bytes.
func (h *History) Encode(w io.Writer) error {
	if err := json.NewEncoder(w).Encode(historyJSON{Format: HistoryFormat, Jobs: h.Jobs()}); err != nil {
		return fmt.Errorf("write the history of jobs: %w", err)
	}
	return nil
}

// DecodeHistory reads what Encode wrote into a history of at most limit jobs.
// The error is ErrHistory for anything that Encode does not write.
func DecodeHistory(r io.Reader, limit int) (*History, error) {
	limited := &io.LimitedReader{R: r, N: MaxHistoryBytes + 1}
	dec := json.NewDecoder(limited)
	dec.DisallowUnknownFields()
	var in historyJSON
	err := dec.Decode(&in)
	if err == nil {
		if _, more := dec.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("something follows it")
		}
	}
	switch {
	case limited.N <= 0:
		return nil, fmt.Errorf("%w: longer than %d bytes", ErrHistory, MaxHistoryBytes)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrHistory, err)
	case in.Format != HistoryFormat:
		return nil, fmt.Errorf("%w: format %d, want %d", ErrHistory, in.Format, HistoryFormat)
	}
	h := NewHistory(limit)
	if err := h.Recall(in.Jobs); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrHistory, err)
	}
	return h, nil
}

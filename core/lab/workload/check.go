package workload

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"heddle/core/model"
)

// What a workload may hold at most. The limits are far above anything a
// cluster runs; they keep sums within 64 bits and a wrong unit from passing.
const (
	MaxBytes = model.Bytes(1) << 53  // of one file or output: 8 PiB, the largest integer every JSON reader keeps
	MaxTasks = 1 << 26               // of one stage
	MaxTime  = model.Time(1) << 45   // submission: some 1,100 years
	MaxCost  = 1000 * 24 * 3_600_000 // of Cost.Fixed and Cost.PerGiB, in milliseconds: 1,000 days
	MaxSkew  = 8.0                   // above it the first partition gets all but 0.4 %
)

// shareSlack is how far the sum of File.Shares may be from 1.
const shareSlack = 1e-6

// fault is a rule that a job breaks, and the path of the value that breaks it
// ("stages[1].tasks").
type fault struct {
	reason Reason
	path   string
	msg    string
}

// String says what is wrong, and where unless it is the whole line.
func (f *fault) String() string {
	if f.path == "" {
		return f.msg
	}
	return f.path + ": " + f.msg
}

// checker holds what the rules need to know of the jobs before.
type checker struct {
	ids  map[JobID]int
	last model.Time // submission of the job before
}

func newChecker() *checker { return &checker{ids: map[JobID]int{}} }

// Validate checks all rules and returns the first that is broken.
func (w *Workload) Validate() error {
	c := newChecker()
	for i := range w.Jobs {
		if f := c.checkJob(&w.Jobs[i]); f != nil {
			return fmt.Errorf("job %d (%s): %s", i, w.Jobs[i].ID, f)
		}
		c.add(&w.Jobs[i])
	}
	return nil
}

// add makes a job that keeps the rules one of the jobs before.
func (c *checker) add(j *Job) {
	c.ids[j.ID] = len(c.ids)
	c.last = j.Submit
}

// checkJob returns the first rule that the next job breaks, nil if it keeps them.
func (c *checker) checkJob(j *Job) *fault {
	if f := c.checkIdentity(j); f != nil {
		return f
	}
	for k, p := range j.Parents {
		at := index("parents", k)
		if p < 0 || p >= len(c.ids) {
			return &fault{ReasonParent, at, "no earlier job; a parent stands before its children"}
		}
		if slices.Contains(j.Parents[:k], p) {
			return &fault{ReasonParent, at, "listed twice"}
		}
	}
	if j.AMRanOn != (Node{}) {
		if f := j.AMRanOn.check("am_ran_on"); f != nil {
			return f
		}
	}
	if f := checkRange("am_launched_ms", int64(j.AMLaunched), 0, int64(MaxTime)); f != nil {
		return f
	}
	if len(j.Stages) == 0 {
		return &fault{ReasonZeroTasks, "stages", "a job has at least one stage"}
	}
	for k := range j.Stages {
		if f := checkStage(j, k); f != nil {
			f.path = index("stages", k) + "." + f.path
			return f
		}
	}
	return nil
}

// checkIdentity checks what a job is called and when it comes.
func (c *checker) checkIdentity(j *Job) *fault {
	for _, s := range []struct{ path, value string }{
		{"id", string(j.ID)}, {"user", string(j.User)}, {"queue", string(j.Queue)},
	} {
		if s.value == "" {
			return &fault{ReasonMissing, s.path, "is empty"}
		}
	}
	for _, s := range []struct{ path, value string }{
		{"id", string(j.ID)}, {"user", string(j.User)}, {"queue", string(j.Queue)}, {"name", j.Name},
	} {
		if !utf8.ValidString(s.value) {
			return &fault{ReasonSyntax, s.path, "is not UTF-8"}
		}
	}
	if _, taken := c.ids[j.ID]; taken {
		return &fault{ReasonDuplicate, "id", fmt.Sprintf("an earlier job is called %q too", j.ID)}
	}
	if f := checkRange("submit_ms", int64(j.Submit), 0, int64(MaxTime)); f != nil {
		return f
	}
	if j.Submit < c.last {
		return &fault{ReasonOrder, "submit_ms", fmt.Sprintf("%d ms is before the job above at %d ms; sort jobs by submit time", j.Submit, c.last)}
	}
	return nil
}

func checkStage(j *Job, k int) *fault {
	s := &j.Stages[k]
	if s.Name == "" {
		return &fault{ReasonMissing, "name", "is empty"}
	}
	if !utf8.ValidString(string(s.Name)) {
		return &fault{ReasonSyntax, "name", "is not UTF-8"}
	}
	if slices.ContainsFunc(j.Stages[:k], func(o Stage) bool { return o.Name == s.Name }) {
		return &fault{ReasonDuplicate, "name", fmt.Sprintf("an earlier stage is called %q too", s.Name)}
	}
	if s.Tasks == 0 {
		return &fault{ReasonZeroTasks, "tasks", "a stage has at least one task"}
	}
	for _, n := range []struct {
		path           string
		value, lo, top int64
	}{
		{"tasks", int64(s.Tasks), 1, MaxTasks},
		{"output_bytes", int64(s.Output), 0, int64(MaxBytes)},
		{"fixed_ms", int64(s.Cost.Fixed), 0, MaxCost},
		{"per_gib_ms", int64(s.Cost.PerGiB), 0, MaxCost},
		{"start_ms", int64(s.Start), 0, MaxCost},
		{"memory_mib", s.Container.MemoryMiB, 1, math.MaxInt32},
		{"vcores", s.Container.VCores, 1, math.MaxInt32},
	} {
		if f := checkRange(n.path, n.value, n.lo, n.top); f != nil {
			return f
		}
	}
	if !(s.Skew >= 0 && s.Skew <= MaxSkew) { // also refuses NaN
		return &fault{ReasonRange, "skew", fmt.Sprintf("want 0 to %g, is %g", MaxSkew, s.Skew)}
	}
	if f := checkEdges(j, k); f != nil {
		return f
	}
	if f := checkReads(j, s); f != nil {
		return f
	}
	return checkMeasured(s)
}

func checkEdges(j *Job, k int) *fault {
	s := &j.Stages[k]
	for i, e := range s.Edges {
		at := index("edges", i)
		if e.From < 0 || e.From >= k {
			return &fault{ReasonEdge, at + ".from", "no earlier stage; stages stand in topological order"}
		}
		if !slices.Contains(model.EdgeKinds(), e.Kind) {
			return &fault{ReasonRange, at + ".kind", fmt.Sprintf("want one of %v, is %q", model.EdgeKinds(), e.Kind)}
		}
		if slices.ContainsFunc(s.Edges[:i], func(o Edge) bool { return o.From == e.From }) {
			return &fault{ReasonEdge, at + ".from", "a second edge from the same stage"}
		}
		if n := j.Stages[e.From].Tasks; e.Kind == model.OneToOne && n != s.Tasks {
			return &fault{ReasonEdge, at + ".kind", fmt.Sprintf("%s joins stages of as many tasks, not %d and %d", e.Kind, n, s.Tasks)}
		}
	}
	return nil
}

func checkReads(j *Job, s *Stage) *fault {
	if len(s.Reads) > s.Tasks {
		return &fault{ReasonRange, "reads", fmt.Sprintf("%d files for %d tasks; a task reads one file", len(s.Reads), s.Tasks)}
	}
	for i := range s.Reads {
		r := &s.Reads[i]
		f := checkRange("bytes", int64(r.Bytes), 0, int64(MaxBytes))
		if f == nil {
			f = r.checkPlace(j)
		}
		if f != nil {
			f.path = index("reads", i) + "." + f.path
			return f
		}
	}
	return nil
}

// checkPlace checks where a file lies, and that nothing is said that its place does not need.
func (r *File) checkPlace(j *Job) *fault {
	extra := r.Place != OnRacks && r.Racks != 0 || r.Place != OfParent && r.Parent != 0 ||
		r.Place != ByShares && len(r.Shares) > 0 || r.Place != OnNode && r.Node != Node{}
	switch {
	case extra || r.Place > OnNode:
		return &fault{ReasonRange, "place", "say racks, shares, parent or node, and only one of them"}
	case r.Place == OnRacks:
		return checkRange("racks", int64(r.Racks), 1, math.MaxInt32)
	case r.Place == OfParent && !slices.Contains(j.Parents, r.Parent):
		return &fault{ReasonParent, "parent", "is not among the job's parents"}
	case r.Place == ByShares:
		return checkShares(r.Shares)
	case r.Place == OnNode:
		return r.Node.check("node")
	}
	return nil
}

func checkShares(shares []float64) *fault {
	var sum float64
	for i, share := range shares {
		if !(share >= 0 && share <= 1) { // also refuses NaN
			return &fault{ReasonRange, index("shares", i), fmt.Sprintf("want 0 to 1, is %g", share)}
		}
		sum += share
	}
	if math.Abs(sum-1) > shareSlack {
		return &fault{ReasonRange, "shares", fmt.Sprintf("their sum is 1, not %g", sum)}
	}
	return nil
}

// checkRange checks a number against its bounds, both inclusive.
func checkRange(path string, v, lo, top int64) *fault {
	switch {
	case v < 0:
		return &fault{ReasonNegative, path, fmt.Sprintf("is %d, below zero", v)}
	case v < lo || v > top:
		return &fault{ReasonRange, path, fmt.Sprintf("want %d to %d, is %d", lo, top, v)}
	}
	return nil
}

func index(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

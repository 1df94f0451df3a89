package replay

import (
	"cmp"
	"encoding/json"
	"slices"

	"heddle/core/account"
	"heddle/core/model"
	"heddle/core/state/snapshot"
	"heddle/core/trace"
)

// Result is the object that scripts read (docs/offline.md).
type Result struct {
	Format    int     `json:"format"`
	Recording Summary `json:"recording"`
	// Runs are those of the policies in the order asked for. All count the same jobs.
	Runs []PolicyRun `json:"runs"`
}

// Summary is what was read.
type Summary struct {
	Records      int        `json:"records"`
	Observations int        `json:"observations"`
	Rounds       int        `json:"rounds"`         // in which plans were made
	Assumed      bool       `json:"rounds_assumed"` // the recording does not say when
	Dropped      uint64     `json:"dropped"`        // records that the recorder lost
	Restarts     int        `json:"restarts"`       // of the recorded service, after which it knew nothing
	Start        model.Time `json:"start_ms"`
	End          model.Time `json:"end_ms"`
	Racks        int        `json:"racks"` // at the end
	Jobs         int        `json:"jobs"`  // that count: their last facts came within the recording
	Unfinished   int        `json:"unfinished"`
}

func (s *Summary) add(rec *trace.Record) {
	if s.Records++; s.Records == 1 {
		s.Start = rec.At
	}
	s.End = max(s.End, rec.At)
	switch {
	case rec.Observation != nil && rec.Observation.Source != model.SourceService:
		s.Observations++
	case rec.Observation != nil:
		if _, is := rec.Observation.Fact.(model.RoundFact); is {
			s.Rounds++
		}
	case rec.Mark != nil && rec.Mark.Name == trace.MarkDropped:
		s.Dropped += rec.Mark.Count
	}
}

// PolicyRun is what one policy wanted, beside what happened.
type PolicyRun struct {
	Policy string          `json:"policy"`
	Params json.RawMessage `json:"params"`
	Counts
	account.Totals

	UplinkPeak Peaks                 `json:"uplink_peak_bytes_per_second"`
	Pairs      []Pair                `json:"pairs"`
	Top        []snapshot.JobAccount `json:"applications"` // those with the largest difference; --report has all
	Check      *Check                `json:"check,omitempty"`

	peaks  [2]peaks // as recorded, as wanted
	byPair map[rackPair]*Pair
}

// Counts are what was counted of a run.
type Counts struct {
	Decisions int `json:"decisions"`
	Failures  int `json:"failed_rounds"` // the policy panicked
}

// Peaks are the highest rates on any uplink in one direction, each job's shuffle spread
// evenly from its first reduce to its end.
type Peaks struct {
	Recorded float64      `json:"recorded"`
	Policy   float64      `json:"policy"`
	Rack     model.RackID `json:"rack"` // of the policy's
}

// Pair is what one rack sent, and would have sent, another.
type Pair struct {
	Src      model.RackID       `json:"src"`
	Dst      model.RackID       `json:"dst"`
	Recorded snapshot.CrossRack `json:"recorded"`
	Policy   snapshot.CrossRack `json:"policy"`
}

type rackPair struct{ src, dst model.RackID }

// topJobs is how many applications a PolicyRun names.
const topJobs = 20

// count enters a job's account into its branch's run.
func (r *replay) count(b *branch, acc *account.Job) {
	if acc.Ended < r.opts.Since {
		return
	}
	acc.Policy = b.policy.Label
	run := &b.run
	run.Add(acc)
	run.flows(acc)
	if run.peaks[0].added >= foldEvery || run.peaks[1].added >= foldEvery {
		before := b.FirstBegan()
		run.peaks[0].fold(before)
		run.peaks[1].fold(before)
	}
	run.Top = append(run.Top, acc.Row())
	if len(run.Top) >= 2*topJobs {
		run.trim()
	}
	if r.opts.Job != nil {
		r.opts.Job(acc)
	}
}

// flows adds a job's bytes by pair of racks, and to the uplinks' rates.
func (run *PolicyRun) flows(acc *account.Job) {
	if run.byPair == nil {
		run.byPair = map[rackPair]*Pair{}
	}
	for i, wanted := range []bool{false, true} {
		shuffle := map[direction]float64{}
		for _, f := range acc.Flows(wanted) {
			at := rackPair{f.Src, f.Dst}
			p := run.byPair[at]
			if p == nil {
				p = &Pair{Src: f.Src, Dst: f.Dst}
				run.byPair[at] = p
			}
			c := [...]*snapshot.CrossRack{&p.Recorded, &p.Policy}[i]
			if f.Kind == account.Shuffled {
				c.Add(model.Bytes(f.Bytes+0.5), 0)
				shuffle[direction{f.Src, false}] += f.Bytes
				shuffle[direction{f.Dst, true}] += f.Bytes
			} else {
				c.Add(0, model.Bytes(f.Bytes+0.5))
			}
		}
		run.peaks[i].add(acc.Began, acc.Ended, shuffle)
	}
}

// trim keeps the applications with the largest difference.
func (run *PolicyRun) trim() {
	abs := func(r snapshot.JobAccount) model.Bytes { return max(r.Recorded-r.Policy, r.Policy-r.Recorded) }
	slices.SortFunc(run.Top, func(x, y snapshot.JobAccount) int {
		return cmp.Or(cmp.Compare(abs(y), abs(x)), cmp.Compare(x.App, y.App))
	})
	run.Top = run.Top[:min(len(run.Top), topJobs)]
}

// closeEnded counts the jobs of a branch that have ended without last facts.
func (r *replay) closeEnded(b *branch) {
	for _, acc := range b.End() {
		r.count(b, acc)
	}
}

// finish closes jobs that have ended without last facts, and sums up.
func (r *replay) finish() *Result {
	res := r.result
	for i, b := range r.branches {
		r.closeEnded(b)
		run := &b.run
		run.trim()
		for _, p := range run.byPair { // order-free: sorted below
			run.Pairs = append(run.Pairs, *p)
		}
		slices.SortFunc(run.Pairs, func(a, b Pair) int { return cmp.Or(cmp.Compare(a.Src, b.Src), cmp.Compare(a.Dst, b.Dst)) })
		recorded, _ := run.peaks[0].end()
		wanted, rack := run.peaks[1].end()
		run.UplinkPeak = Peaks{Recorded: recorded, Policy: wanted, Rack: rack}
		run.Check = b.check.end()
		run.Params = b.policy.Params
		if i == 0 {
			res.Recording.Racks, res.Recording.Jobs, res.Recording.Unfinished = len(b.cluster.View().Racks()), run.Jobs, b.Unfinished()
		}
		res.Runs = append(res.Runs, *run)
	}
	return res
}

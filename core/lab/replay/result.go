package replay

import (
	"cmp"
	"encoding/json"
	"slices"

	"heddle/core/model"
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

	CrossRack  CrossRack `json:"cross_rack_bytes"`          // where the policy wanted the tasks
	Recorded   CrossRack `json:"recorded_cross_rack_bytes"` // where they ran
	Least      CrossRack `json:"least_cross_rack_bytes"`    // the least there is, each job on its own
	Regret     Regret    `json:"regret_bytes"`
	Moved      Moved     `json:"moved"`
	Busiest    Bytes     `json:"busiest_uplink_bytes"` // summed over jobs: the most loaded uplink of each job's shuffle
	UplinkPeak Peaks     `json:"uplink_peak_bytes_per_second"`
	Pairs      []Pair    `json:"pairs"`
	Top        []JobRow  `json:"applications"` // those with the largest difference; --report has all
	Check      *Check    `json:"check,omitempty"`

	peaks  [2]peaks // as recorded, as wanted
	byPair map[rackPair]*Pair
}

// Counts are what was counted of a run.
type Counts struct {
	Jobs      int `json:"jobs"`
	Planned   int `json:"planned_jobs"` // of them, those for a stage of which a plan named racks
	Decisions int `json:"decisions"`
	Failures  int `json:"failed_rounds"` // the policy panicked
}

// CrossRack is bytes across racks by kind.
type CrossRack struct {
	Shuffle model.Bytes `json:"shuffle"`
	MapRead model.Bytes `json:"map_read"`
	Total   model.Bytes `json:"total"`
}

func (c *CrossRack) add(shuffle, mapRead model.Bytes) {
	c.Shuffle += shuffle
	c.MapRead += mapRead
	c.Total += shuffle + mapRead
}

// Regret is the difference between what happened and what a policy wanted: the bytes
// saved in jobs where it wanted less, those lost where it wanted more, and the sum.
type Regret struct {
	Saved model.Bytes `json:"saved"`
	Lost  model.Bytes `json:"lost"`
	Net   model.Bytes `json:"net"` // saved less lost
}

func (b *Regret) add(difference model.Bytes) {
	b.Saved += max(difference, 0)
	b.Lost += max(-difference, 0)
	b.Net += difference
}

// Moved counts containers that the policy wanted on another rack.
type Moved struct {
	Maps, MapsOf       int
	Reduces, ReducesOf int
}

// MarshalJSON implements json.Marshaler.
func (m Moved) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]int{"maps": m.Maps, "maps_of": m.MapsOf, "reduces": m.Reduces, "reduces_of": m.ReducesOf})
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
	Src      model.RackID `json:"src"`
	Dst      model.RackID `json:"dst"`
	Recorded CrossRack    `json:"recorded"`
	Policy   CrossRack    `json:"policy"`
}

type rackPair struct{ src, dst model.RackID }

// JobRow is one application in a result.
type JobRow struct {
	App      model.AppID `json:"application"`
	Recorded model.Bytes `json:"recorded_bytes"`
	Policy   model.Bytes `json:"policy_bytes"`
	Least    model.Bytes `json:"least_bytes"`
}

// topJobs is how many applications a PolicyRun names.
const topJobs = 20

// close enters a job's account into its branch's run.
func (r *replay) close(b *branch, app model.AppID) {
	acc, ok := b.close(app)
	if !ok || acc.Ended < r.opts.Since {
		return
	}
	acc.Policy = b.policy.Label
	run := &b.run
	run.Jobs++
	if acc.Maps.Planned || acc.Reduces.Planned {
		run.Planned++
	}
	run.Recorded.add(acc.Shuffle.Recorded, acc.MapRead.Recorded)
	run.CrossRack.add(acc.Shuffle.Policy, acc.MapRead.Policy)
	run.Least.add(acc.Shuffle.Least, acc.MapRead.Least)
	recorded, wanted := acc.Shuffle.Recorded+acc.MapRead.Recorded, acc.Shuffle.Policy+acc.MapRead.Policy
	run.Regret.add(recorded - wanted)
	run.Busiest.add(acc.Busiest)
	run.Moved.Maps += acc.Maps.Moved
	run.Moved.Reduces += acc.Reduces.Moved
	run.Moved.MapsOf += total(acc.Maps.Allocated)
	run.Moved.ReducesOf += total(acc.Reduces.Allocated)
	run.flows(acc)
	if run.peaks[0].added >= foldEvery || run.peaks[1].added >= foldEvery {
		before := b.firstBegan()
		run.peaks[0].fold(before)
		run.peaks[1].fold(before)
	}
	run.Top = append(run.Top, JobRow{app, recorded, wanted, acc.Shuffle.Least + acc.MapRead.Least})
	if len(run.Top) >= 2*topJobs {
		run.trim()
	}
	if r.opts.Job != nil {
		r.opts.Job(acc)
	}
}

// flows adds a job's bytes by pair of racks, and to the uplinks' rates.
func (run *PolicyRun) flows(acc *JobAccount) {
	if run.byPair == nil {
		run.byPair = map[rackPair]*Pair{}
	}
	for i, flows := range acc.flows {
		shuffle := map[direction]float64{}
		for _, f := range flows {
			at := rackPair{f.src, f.dst}
			p := run.byPair[at]
			if p == nil {
				p = &Pair{Src: f.src, Dst: f.dst}
				run.byPair[at] = p
			}
			c := [...]*CrossRack{&p.Recorded, &p.Policy}[i]
			if f.kind == shuffled {
				c.add(model.Bytes(f.bytes+0.5), 0)
				shuffle[direction{f.src, false}] += f.bytes
				shuffle[direction{f.dst, true}] += f.bytes
			} else {
				c.add(0, model.Bytes(f.bytes+0.5))
			}
		}
		run.peaks[i].add(acc.began, acc.Ended, shuffle)
	}
}

// trim keeps the applications with the largest difference.
func (run *PolicyRun) trim() {
	abs := func(r JobRow) model.Bytes { return max(r.Recorded-r.Policy, r.Policy-r.Recorded) }
	slices.SortFunc(run.Top, func(x, y JobRow) int { return cmp.Or(cmp.Compare(abs(y), abs(x)), cmp.Compare(x.App, y.App)) })
	run.Top = run.Top[:min(len(run.Top), topJobs)]
}

// closeEnded closes the jobs of a branch that have ended without last facts.
func (r *replay) closeEnded(b *branch) {
	for _, app := range b.ended() {
		r.close(b, app)
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
			res.Recording.Racks, res.Recording.Jobs, res.Recording.Unfinished = len(b.cluster.View().Racks()), run.Jobs, b.unfinished()
		}
		res.Runs = append(res.Runs, *run)
	}
	return res
}

func total(counts map[model.RackID]int) int {
	n := 0
	for _, c := range counts { // order-free: a sum
		n += c
	}
	return n
}

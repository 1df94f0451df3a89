package shufflewatcher

import (
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/state"
)

// reduceChoice is what SARP chose for one job: PreferredReducesPerRack.
type reduceChoice struct {
	reason model.Reason
	counts []int     // reduces wanted by rack number; sums to the job's reduces, empty when nothing is known or SARP is off
	share  []float64 // before rounding; sums to 1
	output float64   // map output in bytes that they are shares of; 0 where only its proportions are known
	final  bool      // computed when the reduces were enabled, which the paper does once
	from   sarpFacts
}

// sarpFacts is everything a choice depends on.
type sarpFacts struct {
	reduces int
	maps    int // in all, running and completed ones
	running int
	done    int
	output  int // version of the map output
	choice  int // version of SAMP's choice
	racks   uint64
}

// reduceChoice returns SARP's choice for a job (Fig. 6): in proportion to the map
// output by rack.
//
// Fig. 6 takes the output of complete maps once more than MapCompletion of them are,
// and before that SAMP's tentative counts. A job's maps may have run elsewhere than
// SAMP prefers, and the first that are complete may be on racks with little of the
// output in the end. So by default what launched maps will leave counts where they run
// (from_launches), and tentative counts only until a map is launched. Counts are
// rounded for the busiest uplink, not by largest remainder.
//
// The paper computes it when the reduces are first enabled and not again
// (§3.3); so does SARPRefresh=false. A service that plans ahead would then keep
// the tentative counts of its first look for ever, so by default the choice
// follows the map output (algorithms.md 2.1.4).
func (r *rule) reduceChoice(v state.View, j *state.Job, enabled bool) *reduceChoice {
	m := r.mapChoice(v, j)
	c := &r.jobs.Of(j).reduces
	now := sarpFacts{
		reduces: j.Reduce.Tasks(), maps: j.Map.Tasks(), running: j.Map.Running, done: j.Map.Completed, output: j.Output.Version, choice: m.version, racks: r.racks,
	}
	if c.final {
		now.maps, now.running, now.done, now.output, now.choice = c.from.maps, c.from.running, c.from.done, c.from.output, c.from.choice
	}
	changed := c.from != now || c.reason == ""
	if changed || (enabled && !r.params.SARPRefresh && !c.final) {
		policy.Save(r.journal, c)
	}
	if changed {
		if r.journal.Asking() {
			c.counts, c.share = nil, nil
		}
		c.from = now
		r.place(v, j, m, c)
	}
	c.final = c.final || (enabled && !r.params.SARPRefresh)
	return c
}

// place computes the counts: fractions become integers so that the busiest uplink
// carries least. A rack that has no running node gets none, whatever it stores: it
// could not start them.
func (r *rule) place(v state.View, j *state.Job, m *mapChoice, c *reduceChoice) {
	c.share, c.output = resized(c.share, len(v.Racks())), 0
	if !r.params.SARP {
		c.reason, c.counts = model.ReasonRankOnly, c.counts[:0]
		return
	}
	c.reason = model.ReasonMapOutput
	sum := 0.0
	switch f := &r.forecast; {
	case r.params.FromLaunches:
		if j.ExpectOutput(f, len(v.Racks())) {
			sum = weigh(v, c.share, f.ByRack)
		}
		if f.Sized {
			c.output = sum
		}
	case j.Map.Fraction() > r.params.MapCompletion: // strictly more (Fig. 6 line 1)
		sum = weigh(v, c.share, j.Output.ByRack)
		c.output = sum
	}
	if sum <= 0 { // too few maps, or no output known of them (algorithms.md 2.1.4)
		c.reason = model.ReasonTentative
		if m.share == nil {
			c.reason = model.ReasonNoInput
		}
		sum = weigh(v, c.share, tentative(v, m))
	}
	if sum <= 0 {
		c.counts = c.counts[:0]
		return
	}
	for i, weight := range c.share {
		if weight != 0 { // most racks have none
			c.share[i] = weight / sum
		}
	}
	c.counts = r.leveling.Level(c.counts, c.share, c.from.reduces)
}

// weigh sets the weight of every rack that runs nodes and returns their sum.
func weigh[T float64 | model.Bytes](v state.View, share []float64, of []T) float64 {
	sum := 0.0
	clear(share)
	for r, weight := range of[:min(len(of), len(share))] {
		if weight != 0 && v.Racks()[r].Runs() { // most racks have none
			share[r] = float64(weight)
			sum += share[r]
		}
	}
	return sum
}

// unmet reports whether fewer reduces of the job run or ran on the rack than it
// prefers there (Fig. 3 lines 8 and 13).
func (r *rule) unmet(v state.View, j *state.Job, rack int) bool {
	c := r.reduceChoice(v, j, true)
	return rack < len(c.counts) && j.Reduce.Launched(rack) < c.counts[rack]
}

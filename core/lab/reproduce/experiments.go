package reproduce

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"heddle/core/lab/sim"
	"heddle/core/lab/workload"
	"heddle/core/model"
	"heddle/core/policy/builtin"
)

// variant is a policy on a load. It runs once with every seed.
type variant struct {
	name         string // within the paper
	load         string // which jobs, as lab.load knows them
	cluster      sim.Cluster
	policy       string
	params       string // JSON; "" is the policy's defaults
	mayBeRefused bool   // whether it may turn out not to be simulated
	// saturation is the share of an uplink at which it counts as saturated to policies; 0 is the simulator's own.
	saturation float64
	draws      uint64 // another number draws where blocks lie and in what order nodes have their heartbeats
}

// experiments runs a paper's variants in the simulator. A seed draws the jobs and all
// that a run draws, the same for every variant: they are compared seed by seed.
type experiments struct {
	inputs   *Inputs
	load     func(name string, seed int) (*workload.Workload, error)
	variants []variant
	window   float64 // seconds from the first submission within which a job's end counts for the throughput; 0 is all
	steady   float64 // the part of the jobs after whose end the throughput is not counted any more; 0 is all

	workloads map[string][]*workload.Workload // by load and seed
	results   map[string][]sim.Run            // by variant and seed
	refused   map[string]error                // by variant: why it is not simulated
}

// run runs everything.
func (l *experiments) run() error {
	l.workloads, l.results, l.refused = map[string][]*workload.Workload{}, map[string][]sim.Run{}, map[string]error{}
	seeds := l.inputs.seeds()
	for i := range l.variants {
		v := &l.variants[i]
		l.results[v.name] = make([]sim.Run, seeds)
		for seed := 1; seed <= seeds && len(l.workloads[v.load]) < seeds; seed++ {
			w, err := l.load(v.load, seed)
			if err != nil {
				return fmt.Errorf("%s: %w", v.name, err)
			}
			l.workloads[v.load] = append(l.workloads[v.load], w)
		}
	}
	refused := make([]error, len(l.variants)*seeds)
	err := l.inputs.runEach(len(refused), func(i int) error {
		v := &l.variants[i/seeds]
		r, refusal, err := l.runOne(v, i%seeds)
		l.results[v.name][i%seeds], refused[i] = r, refusal
		return err
	})
	for i, refusal := range refused {
		if refusal != nil {
			l.refused[l.variants[i/seeds].name] = refusal
		}
	}
	return err
}

// runOne runs a variant with a seed, counted from 0. What a variant may be refused
// for comes as refusal.
func (l *experiments) runOne(v *variant, seed int) (r sim.Run, refusal, err error) {
	wrap := func(err error) error { return fmt.Errorf("%s, seed %d: %w", v.name, seed+1, err) }
	var params json.RawMessage
	if v.params != "" {
		params = json.RawMessage(v.params)
	}
	pol, err := builtin.Registry().New(v.policy, params)
	if err != nil {
		return r, nil, wrap(err)
	}
	p := sim.DefaultParams()
	p.Seed = uint64(seed+1) + v.draws //nolint:gosec // small
	p.Saturation = cmp.Or(v.saturation, p.Saturation)
	s, err := sim.New(p, v.cluster, l.workloads[v.load][seed], v.policy, pol)
	if err != nil && v.mayBeRefused {
		return r, err, nil
	}
	if err != nil {
		return r, nil, wrap(err)
	}
	r, err = s.Run(func(sim.Progress) bool { return !l.inputs.stopped() })
	if err != nil {
		return r, nil, wrap(err)
	}
	l.countThroughput(l.workloads[v.load][seed], &r)
	return r, nil, nil
}

// countThroughput has a run's throughput counted as the paper does.
func (l *experiments) countThroughput(w *workload.Workload, r *sim.Run) {
	if l.window == 0 && l.steady == 0 {
		return
	}
	if l.steady > 0 {
		r.Throughput = throughputUpTo(w, r, l.steady)
		return
	}
	n, _ := slices.BinarySearch(slices.Sorted(slices.Values(endTimes(w, r))), l.window)
	r.Throughput = float64(n) / l.window
}

// throughputUpTo returns the jobs per second until a part of them has ended.
func throughputUpTo(w *workload.Workload, r *sim.Run, part float64) float64 {
	at := slices.Sorted(slices.Values(endTimes(w, r)))
	n := max(int(part*float64(len(at))+0.5), 1)
	return float64(n) / max(at[n-1], 1)
}

// changeUpTo compares two variants of one load by the jobs per second until a part of
// them has ended, as change does.
func (l *experiments) changeUpTo(name, base string, part float64) []float64 {
	var got []float64
	for seed, w := range l.workloads[l.variant(name).load] {
		now, was := throughputUpTo(w, &l.results[name][seed], part), throughputUpTo(w, &l.results[base][seed], part)
		got = append(got, 100*(now/was-1))
	}
	return got
}

// variant returns one by its name.
func (l *experiments) variant(name string) *variant {
	return &l.variants[slices.IndexFunc(l.variants, func(v variant) bool { return v.name == name })]
}

// endTimes returns when jobs end, in seconds from the first submission.
func endTimes(w *workload.Workload, r *sim.Run) []float64 {
	at := make([]float64, len(w.Jobs))
	for i := range w.Jobs {
		j := &w.Jobs[i]
		start := j.Submit.Sub(w.Jobs[0].Submit).Seconds()
		for _, p := range j.Parents { // earlier ones
			start = max(start, at[p])
		}
		at[i] = start + r.Responses[i]
	}
	return at
}

// figure is something a run is measured by.
type figure func(r *sim.Run) float64

func throughput(r *sim.Run) float64 { return r.Throughput }
func meanJCT(r *sim.Run) float64    { return r.JCT.Mean }

// crossRack is the bytes of shuffle and of maps that crossed racks, as the papers count them.
func crossRack(r *sim.Run) float64    { return float64(r.CrossRack.Shuffle + r.CrossRack.MapRead) }
func crossShuffle(r *sim.Run) float64 { return float64(r.CrossRack.Shuffle) }
func crossRead(r *sim.Run) float64    { return float64(r.CrossRack.MapRead) }
func onsets(r *sim.Run) float64       { return float64(r.Congestion.Onsets) }

// values returns a figure of a variant, seed by seed.
func (l *experiments) values(name string, of figure) []float64 {
	runs := l.results[name]
	out := make([]float64, len(runs))
	for i := range runs {
		out[i] = of(&runs[i])
	}
	return out
}

// change returns by how many percent a figure of a variant is above that of
// another, seed by seed.
func (l *experiments) change(name, base string, of figure) []float64 {
	got, was := l.values(name, of), l.values(base, of)
	for i := range got {
		if was[i] == 0 { // nothing to compare with
			got[i] = 0
			continue
		}
		got[i] = 100 * (got[i]/was[i] - 1)
	}
	return got
}

// median of values, of which there is one at least.
func median(values []float64) float64 {
	v := slices.Sorted(slices.Values(values))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// formatRange prints values of several seeds: the median, and in brackets the least
// and the most where they differ.
func formatRange(format string, values []float64) string {
	middle := fmt.Sprintf(format, median(values))
	least, most := fmt.Sprintf(format, slices.Min(values)), fmt.Sprintf(format, slices.Max(values))
	if least == most {
		return middle
	}
	return fmt.Sprintf("%s (%s to %s)", middle, least, most)
}

// claim is a change that a paper publishes, in percent.
type claim struct {
	what      string
	measured  []float64 // by seed
	published float64
}

// judge is the verdict on a change: every seed has the paper's sign, and the
// median is from half to twice the paper's. Otherwise it says what is wrong.
func (c *claim) judge() (Verdict, string) {
	for _, v := range c.measured {
		if v*c.published <= 0 {
			return No, "not the paper's sign with every seed"
		}
	}
	if m := median(c.measured) / c.published; m < 0.5 || m > 2 {
		return No, "the sign, not the size"
	}
	return Yes, ""
}

// claimRow is a row of changes that were measured in simulations.
func claimRow(id, what string, of ...claim) Row {
	r := Row{ID: id, What: what, Status: Shape, Verdict: Yes}
	var paper, ours, reasons, notes []string
	for i := range of {
		c := &of[i]
		v, why := c.judge()
		if v != Yes {
			r.Verdict = No
			if k := slices.Index(reasons, why); k >= 0 {
				notes[k] += ", " + c.what
			} else {
				reasons, notes = append(reasons, why), append(notes, why+": "+c.what)
			}
		}
		paper = append(paper, fmt.Sprintf("%s %+g %%", c.what, c.published))
		ours = append(ours, c.what+" "+formatRange("%+.1f %%", c.measured))
	}
	r.Paper, r.Ours, r.Note = strings.Join(paper, ", "), strings.Join(ours, ", "), strings.Join(notes, "; ")
	return r
}

// mainChanges says what came of a comparison in the three figures that the papers have
// most: throughput, mean job completion time, bytes across racks.
func (l *experiments) mainChanges(name, base string) string {
	var parts []string
	for _, what := range []string{"throughput", "completion time", "cross-rack bytes"} {
		parts = append(parts, what+" "+formatRange("%+.1f %%", l.measure(what, name, base)))
	}
	return strings.Join(parts, ", ")
}

// withNotes adds to a row's note.
func (r Row) withNotes(texts ...string) Row {
	for _, text := range texts {
		if r.Note != "" {
			r.Note += "; "
		}
		r.Note += text
	}
	return r
}

// sameResults says whether two variants came to the same in everything that is
// compared, with every seed.
func (l *experiments) sameResults(a, b string) bool {
	for _, of := range []figure{throughput, meanJCT, crossShuffle, crossRead} {
		if !slices.Equal(l.values(a, of), l.values(b, of)) {
			return false
		}
	}
	return true
}

// pointToTried has rows that did not come out in a simulation say at which row stands
// what was tried.
func pointToTried(rows []Row, at string) []Row {
	for i := range rows {
		if r := &rows[i]; r.Status == Shape && (r.Verdict == No || r.Verdict == Bounded) && !strings.Contains(r.Note, "tried ") {
			*r = r.withNotes("what was tried stands at " + at)
		}
	}
	return rows
}

// judgeOrder is what came of a row on the order of variants by a figure. ok judges the values of
// one seed, in the order of names.
func (l *experiments) judgeOrder(format string, of figure, names []string, ok func(v []float64) bool) outcome {
	o := outcome{verdict: Yes}
	columns := make([][]float64, len(names))
	parts := make([]string, len(names))
	for i, name := range names {
		columns[i] = l.values(name, of)
		parts[i] = name + " " + formatRange(format, columns[i])
	}
	for seed := range l.inputs.seeds() {
		v := make([]float64, len(names))
		for i := range v {
			v[i] = columns[i][seed]
		}
		if !ok(v) {
			o.verdict = No
		}
	}
	o.ours = strings.Join(parts, ", ")
	return o
}

// rising says whether every value is above the one before.
func rising(v []float64) bool {
	for i := 1; i < len(v); i++ {
		if v[i] <= v[i-1] {
			return false
		}
	}
	return true
}

func percent(of figure) figure { return func(r *sim.Run) float64 { return 100 * of(r) } }

// gbps is a rate in bytes per second.
func gbps(rate float64) model.BytesPerSecond { return model.BytesPerSecond(rate * 1e9 / 8) }

// byArrival has the policy fair take a user's jobs by arrival, as delay and
// shufflewatcher do: both are built upon it in the papers.
const byArrival = `{"schedulingPolicy":"fifo"}`

// racks is a cluster of like racks, with the rate of an uplink in Gbps.
type racks struct {
	racks, nodesPerRack int
	uplink              float64
}

func (r racks) nodes() int { return r.racks * r.nodesPerRack }

// scaledDown is a cluster of a part of the nodes, with the same rate of uplinks for
// each. As many racks as can stay with two nodes do, and four at least.
func (r racks) scaledDown(parts int) racks {
	nodes := max((r.nodes()+parts/2)/parts, 4)
	out := r
	out.racks = min(r.racks, max(nodes/2, 4))
	out.nodesPerRack = max(nodes/out.racks, 1)
	out.uplink = r.uplink * float64(out.nodesPerRack) / float64(r.nodesPerRack)
	return out
}

// cluster returns it with so many containers a node and interfaces of so many Gbps.
func (r racks) cluster(containers int, nic float64) sim.Cluster {
	return sim.Uniform(r.racks, r.nodesPerRack, containers, gbps(r.uplink), gbps(nic))
}

// String names it in a setting.
func (r racks) String() string {
	return fmt.Sprintf("%d racks of %d nodes, %.4g Gbps in and out of a rack", r.racks, r.nodesPerRack, r.uplink)
}

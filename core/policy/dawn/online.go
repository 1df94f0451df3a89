package dawn

import (
	"math"
	"slices"

	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/shuffle"
	"heddle/core/state"
)

// onlinePlan is the plan of all live jobs (§III-B), kept up to date at the cost of
// what changed: the jobs the cluster reports, and those that read the same as one
// of them.
//
// What a job's dependents will read from a sibling depends on where the sibling
// is planned, and the sibling's plan on where the job is. Arrival breaks the
// circle: a job sees the plans of those that came before it, and of those that
// came later only what they launched already.
type onlinePlan struct {
	params Params
	jobs   policy.Jobs[job]
	lists  []map[int][]*job // see listKey; by rack number, then by user, so that a rack nobody prefers costs no look-up

	mark     state.Revision       // up to where the jobs follow the cluster
	capacity state.Capacity       // that open follows
	open     []bool               // racks with running nodes, by rack number
	load     []float64            // how full a rack is, in tenths, so that it does not change with every container; see loads
	loadsAt  state.Capacity       // that load follows
	tied     map[model.AppID]bool // jobs whose choice the load decided
	forecast shuffle.Forecast     // of the map output of the job whose reduces are planned

	changed []*state.Job // of one call; no job is kept
	pending []*state.Job // to be planned, by arrival
}

// job is what is kept of one live job.
type job struct {
	id        model.AppID
	submitted model.Time

	maps, reduces, other choice
	mapsFrom             *state.Input   // that maps draws on; nil if it is not of known blocks, or racks changed
	reducesFrom          state.Revision // that reduces draws on, as Job.MapsChanged has it; zero if it draws on anything else, or racks changed
	lateReduces          bool           // reduces are to be planned once somebody asks for them: see choice
	output               int            // the rack where its output is planned, as far as others read it

	stage    model.Stage  // the one it is in, "" without anything to launch
	max, dep shuffle.Pick // where that is wanted while the network is saturated, and while it is not
	user     int          // the number by which the job is listed
}

// choice is where a stage of a job is wanted.
type choice struct {
	shuffle.Inflow              // what draws it
	most           []int        // the open racks that hold most of it
	max, dep       shuffle.Pick // max_r and dep_r; the same for a stage that is not the last
	tentative      bool         // what draws it is expected, nothing of it has been seen
	loses          bool         // dep_r sends more bytes across racks than the dependents save
}

// traffic is what the pending tasks of a stage read of what all of them do, in
// whole bytes.
func traffic(of float64, s *state.Stage) float64 {
	return math.Round(of * float64(s.Pending) / float64(max(s.Tasks(), s.Pending)))
}

// update brings the plan up to date.
func (o *onlinePlan) update(v state.View) {
	o.updateRacks(v)
	o.changed, o.mark = v.Changed(o.mark, o.changed[:0])
	for _, j := range o.changed {
		if k := o.jobs.Find(j); k != nil && (j.State.Final() || k.submitted != j.Submitted) {
			o.jobs.Drop(j)
		}
		if !j.State.Final() && o.jobs.Find(j) == nil {
			unplanned := shuffle.Pick{Rack: shuffle.None}
			*o.jobs.Of(j) = job{id: j.ID, submitted: j.Submitted, output: shuffle.None, max: unplanned, dep: unplanned}
		}
		o.replan(j)
		o.replanRelatives(v, j, false)
	}
	clear(o.changed)
	o.jobs.Prune(v)
	for i := 0; i < len(o.pending); i++ { // more may be added behind i
		o.plan(v, o.pending[i])
	}
	clear(o.pending)
	o.pending = o.pending[:0]
}

// updateRacks reads which racks run, and how full they are. Every job is
// planned again when the cluster gets larger or smaller, those whose choice the
// load decided when that changes.
func (o *onlinePlan) updateRacks(v state.View) {
	before, now := o.capacity, v.Capacity()
	o.capacity = now
	if now.Racks != before.Racks || now.Total != before.Total || len(o.open) != len(v.Racks()) {
		o.mark = state.Revision{}
		o.open = resized(o.open, len(v.Racks()))
		for r, rack := range v.Racks() {
			o.open[r] = rack.Runs()
		}
		for _, k := range o.jobs.All() {
			k.mapsFrom, k.reducesFrom = nil, state.Revision{}
		}
	}
	if len(o.tied) > 0 && o.loads(v) {
		for id := range o.tied { // order-free: replan sorts them
			o.replan(v.Job(id))
		}
	}
}

// loads brings load up to date, and reports whether it has changed. It looks at all racks, which few offers need.
func (o *onlinePlan) loads(v state.View) (changed bool) {
	if o.loadsAt.Revision == o.capacity.Revision && len(o.load) == len(v.Racks()) {
		return false
	}
	o.loadsAt = o.capacity
	o.load = resized(o.load, len(v.Racks()))
	for r, rack := range v.Racks() {
		load := 0.0
		if rack.Runs() {
			load = float64(rack.Used.MemoryMiB * 10 / rack.Total.MemoryMiB)
		}
		changed = changed || load != o.load[r]
		o.load[r] = load
	}
	return changed
}

// replan puts a job among those to be planned.
func (o *onlinePlan) replan(j *state.Job) {
	if j == nil || o.jobs.Find(j) == nil {
		return
	}
	i, found := slices.BinarySearchFunc(o.pending, j, state.CompareJobs)
	if !found {
		o.pending = slices.Insert(o.pending, i, j)
	}
}

// replanRelatives has the jobs planned again that count on a job's output, on what
// it will read or on its plan: its dependents, the other jobs these read, and those
// it reads; or only those of them that came later.
func (o *onlinePlan) replanRelatives(v state.View, j *state.Job, later bool) {
	replan := func(r *state.Job) {
		if r != nil && (!later || model.CompareApps(&j.App, &r.App) < 0) {
			o.replan(r)
		}
	}
	for _, d := range v.Dependents(j) {
		replan(d.Job)
		for _, p := range d.Others {
			replan(p.Job)
		}
	}
	for _, p := range v.Parents(j) {
		replan(p.Job)
	}
}

// plan chooses the racks of a job's stages.
func (o *onlinePlan) plan(v state.View, j *state.Job) {
	k := o.jobs.Find(j)
	if k == nil {
		return
	}
	o.planMaps(v, j, k)
	k.lateReduces = true
	output := shuffle.None
	if j.Graph != nil || len(v.Dependents(j)) > 0 {
		o.planReduces(v, j, k)
		output = k.reduces.dep.Rack
	}
	switch {
	case j.Graph != nil:
		output = o.planGraph(v, j, k).Rack
	case j.Reduce.Tasks() == 0: // maps write it
		output = k.maps.dep.Rack
	}
	o.setTied(k)
	if k.output != output {
		k.output = output
		o.replanRelatives(v, j, true) // those that came before do not count on it
	}
	o.setPreferred(v, j, k)
}

// choice returns where a stage of a job is wanted. The reduces of a job on which no other counts are planned when they are
// first asked for after the job has changed: that looks at all racks if its map output changed, and while a job launches
// maps nobody asks.
func (o *onlinePlan) choice(v state.View, j *state.Job, k *job, kind model.Stage) *choice {
	if kind == model.StageReduce && k.lateReduces {
		o.planReduces(v, j, k)
		o.setTied(k)
	}
	return k.choiceOf(kind)
}

// setTied notes whether the load decided any choice of a job.
func (o *onlinePlan) setTied(k *job) {
	tied := k.maps.max.Tied || k.other.max.Tied || k.other.dep.Tied || !k.lateReduces && (k.reduces.max.Tied || k.reduces.dep.Tied)
	if tied {
		o.tied[k.id] = true
	} else if len(o.tied) > 0 {
		delete(o.tied, k.id)
	}
}

func (o *onlinePlan) field(v state.View, s *state.Stage) shuffle.Field {
	o.loads(v)
	return shuffle.Field{Open: o.open, Load: o.load, Tasks: s.LaunchedByRack()}
}

// planMaps is the proactive task aggregation (eq. 1): the rack with most of the
// input. An input that is not known is what the job's parents put out.
func (o *onlinePlan) planMaps(v state.View, j *state.Job, k *job) {
	c := &k.maps
	if k.mapsFrom != j.Input {
		if c.tentative = len(j.Input.Blocks) == 0; c.tentative {
			k.mapsFrom = nil
			c.begin(len(o.open), nil)
			for _, p := range v.Parents(j) {
				o.addOutput(&c.Inflow, p.Job, j)
			}
		} else {
			k.mapsFrom = j.Input
			c.begin(len(o.open), j.Input.ByRack)
			c.Total = j.Input.Bytes
		}
		c.most = shuffle.Most(c.most, c.ByRack, o.open)
	}
	c.max = shuffle.PickOf(c.most, c.ByRack, c.Total, o.field(v, j.Map))
	c.dep = c.max
}

// planReduces is the dependency-aware task assignment (eqs. 2 to 5).
//
// Intermediate data counts as it will lie: the output of complete maps where it
// is, that of running ones where they run, that of the others as those were launched
// (algorithms.md 1.3; the paper plans reduces when all maps are done). Before the
// first launch it counts on the rack maps prefer.
func (o *onlinePlan) planReduces(v state.View, j *state.Job, k *job) {
	c := &k.reduces
	k.lateReduces = false
	if now := j.MapsChanged(); k.reducesFrom != now {
		o.forecastOutput(j, k)
		if k.reducesFrom = now; c.tentative || j.Graph != nil {
			k.reducesFrom = state.Revision{}
		}
	}
	f := o.field(v, j.Reduce)
	c.max = shuffle.PickOf(c.most, c.ByRack, c.Total, f)
	c.dep, c.loses = c.max, false
	if in, unplaced := o.inflows(v, j); len(in) > 0 {
		costs := shuffle.DependentCosts(nil, len(o.open), unplaced, in)
		c.dep = shuffle.LeastDependent(costs, c.ByRack, c.Total, c.max, f)
		if c.max.Rack != shuffle.None && c.dep.Rack != shuffle.None {
			c.loses = c.dep.Cost-c.max.Cost > costs[c.max.Rack]-costs[c.dep.Rack]
		}
	}
}

// forecastOutput sets what draws a job's reduces.
func (o *onlinePlan) forecastOutput(j *state.Job, k *job) {
	c := &k.reduces
	c.begin(len(o.open), nil)
	if c.tentative = !j.ExpectOutput(&o.forecast, len(o.open)); c.tentative {
		predicted := j.Predict()
		c.Total = j.Output.Unplaced + predicted.MapOutput()*model.Bytes(max(j.Map.Tasks(), j.Map.Completed))
		if k.maps.max.Rack != shuffle.None {
			c.ByRack[k.maps.max.Rack] += c.Total - j.Output.Unplaced
		}
	} else {
		for r, output := range o.forecast.ByRack {
			c.ByRack[r] = model.Bytes(output + 0.5)
			c.Total += c.ByRack[r]
		}
	}
	c.most = shuffle.Most(c.most, c.ByRack, o.open)
}

// planGraph chooses by the job's own graph of stages (§III-B3): maps are the
// stage that reads from outside, reduces the last one, what is neither the first
// stage in order that has tasks to come. If all asks are of maps and reduces, as
// the relay classifies vertices of Tez, reduces are the first stage in order that
// reads others and has tasks to come. It returns where the last stage is planned.
func (o *onlinePlan) planGraph(v state.View, j *state.Job, k *job) shuffle.Pick {
	g := j.Graph
	in, _ := o.inflows(v, j)
	picks := g.Plan(len(o.open), in, o.field(v, j.Other))
	order := g.Order()
	set := func(c *choice, x int) {
		p := &picks[x]
		c.ByRack, c.Total = append(c.ByRack[:0], p.From...), p.Total
		c.max, c.dep, c.tentative = p.Max, p.Dep, shuffle.Total(p.From) == 0
	}
	if len(j.Input.Blocks) == 0 {
		set(&k.maps, order[0])
	}
	last := order[len(order)-1]
	reduces := last
	if j.Other.Tasks() == 0 {
		for _, x := range order {
			if s := &g.Stages[x]; len(g.Reads(x)) > 0 && s.Completed < s.Tasks {
				reduces = x
				break
			}
		}
	}
	set(&k.reduces, reduces)
	if now := g.Now(); now != shuffle.None {
		set(&k.other, now)
	}
	return picks[last].Dep
}

// inflows returns, for each dependent of a job that has yet to read, what it reads
// besides the output that is still to be placed: what the others it reads put out,
// and what the job's own tasks put out where they run or ran. It also returns how
// much is to be placed.
func (o *onlinePlan) inflows(v state.View, j *state.Job) (in []shuffle.Inflow, unplaced model.Bytes) {
	dependents := v.Dependents(j)
	if len(dependents) == 0 {
		return nil, 0
	}
	own := j.Result(o.params.OutputRatio)
	unplaced = own.Total
	for r := range o.open {
		unplaced -= own.On(r)
	}
	for _, d := range dependents {
		if d.Began() {
			continue // it reads already
		}
		f := shuffle.Inflow{ByRack: make([]model.Bytes, len(o.open))}
		for _, p := range d.Others {
			o.addOutput(&f, p.Job, j)
		}
		own.AddTo(&f)
		in = append(in, f)
	}
	return in, max(unplaced, 0)
}

// addOutput adds a parent's output as a job sees it: what is written or being
// written, and the rest where it is planned if the parent came before the job.
func (o *onlinePlan) addOutput(to *shuffle.Inflow, parent, j *state.Job) {
	if parent == nil {
		return
	}
	r := parent.Result(o.params.OutputRatio)
	launched := r.AddTo(to)
	k := o.jobs.Find(parent)
	if k == nil || k.output == shuffle.None || k.output >= len(to.ByRack) || model.CompareApps(&parent.App, &j.App) >= 0 {
		return
	}
	rest := max(r.Total-launched, 0)
	to.ByRack[k.output] += rest
	to.Total += rest
}

// begin has a choice start from what lies on the racks.
func (c *choice) begin(racks int, byRack []model.Bytes) {
	c.ByRack, c.Total = resized(c.ByRack, racks), 0
	clear(c.ByRack[copy(c.ByRack, byRack):])
}

func resized[T any](s []T, n int) []T { return slices.Grow(s[:min(len(s), n)], n-min(len(s), n))[:n] }

func (k *job) choiceOf(kind model.Stage) *choice {
	switch kind {
	case model.StageReduce:
		return &k.reduces
	case model.StageOther:
		return &k.other
	case model.StageMap, model.StageAM:
	}
	return &k.maps
}

// pick returns the preferred rack under a state of the network: max_r while it
// is saturated, dep_r while it is not (§III-C).
func (c *choice) pick(saturated bool) shuffle.Pick {
	if saturated {
		return c.max
	}
	return c.dep
}

// reason says why a stage is wanted on a rack.
func (c *choice) reason(kind model.Stage, saturated bool) model.Reason {
	switch p := c.pick(saturated); {
	case p.Rack == shuffle.None:
		return model.ReasonNoInput
	case kind == model.StageMap:
		return model.ReasonMostInput
	case p.Rack != c.max.Rack:
		return model.ReasonDependents
	}
	return model.ReasonMostIntermediate
}

package dawn

import (
	"cmp"
	"slices"

	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/shuffle"
	"heddle/core/state"
)

// online is the plan of all live jobs (§III-B), kept up to date at the cost of
// what changed: the jobs the cluster says changed, and those that read the same
// as one of them. Line 2 of Algorithm 1 is follow.
//
// What a job's dependents will read from a sibling depends on where the sibling
// is planned, and the sibling's plan on where the job is. Arrival breaks the
// circle: a job sees the plans of those that came before it, and of those that
// came later only what they launched already.
type online struct {
	params Params
	jobs   policy.Jobs[job]
	tied   map[model.AppID]*job // whose choice the load of racks decided
	mark   state.Revision
	nodes  state.NodesRevision
	open   []bool     // racks with running nodes, by rack number
	total  []int64    // their memory, MiB: what they hold
	origin model.Time // of the starvation windows
	load   []float64  // how full a rack is, in tenths, so that it does not change with every container

	changed []*state.Job // of one call; no job is kept
	dirty   []*job       // to be planned, by arrival
	math    arithmetic
}

// job is what is kept of one live job.
type job struct {
	id        model.AppID
	submitted model.Time
	user      model.UserID
	dirty     bool
	tied      bool
	reads     bool       // its input, already
	at        *state.Job // of one call, while it is to be planned

	maps, reduces, other choice
	told                 outlook
	filed                filed
	rank                 int // of the last Plan
}

// outlook is what a job's relatives were told of its output.
type outlook struct {
	total model.Bytes
	on    []model.Bytes // by tasks that run or ran there
	rack  int           // where the rest is planned
}

// choice is where a stage of a job is wanted.
type choice struct {
	max, dep  shuffle.Pick  // max_r and dep_r; the same for a stage that is not the last
	from      []model.Bytes // what draws it, by rack
	total     model.Bytes
	tentative bool // from is expected, nothing of it has been seen
}

func compareJobs(a, b *job) int {
	if a.submitted != b.submitted {
		return cmp.Compare(a.submitted, b.submitted)
	}
	return cmp.Compare(a.id, b.id)
}

// follow brings the plan up to date, and returns the jobs that were planned
// anew; the slice is valid until the next call. Jobs that are gone leave the orders.
func (o *online) follow(v state.View) []*job {
	clear(o.dirty)
	o.dirty = o.dirty[:0]
	o.look(v)
	o.changed, o.mark = v.Changed(o.mark, o.changed[:0])
	for _, j := range o.changed {
		o.notice(v, j)
	}
	clear(o.changed)
	o.jobs.Prune(v)
	slices.SortFunc(o.dirty, compareJobs)
	for i := 0; i < len(o.dirty); i++ {
		k := o.dirty[i]
		k.dirty = false
		o.plan(v, k.at, k)
	}
	return o.dirty
}

// look takes note of what the racks can run, and how full they are. Every job is
// planned anew when a rack gets larger or smaller, those whose choice the load
// decided when that changes.
func (o *online) look(v state.View) {
	nodes := v.Capacity().Revision
	if nodes == o.nodes && o.origin == v.FirstSubmit() {
		return
	}
	o.nodes = nodes
	opened, loaded := o.origin != v.FirstSubmit(), false
	o.origin = v.FirstSubmit()
	for r, rack := range v.Racks() {
		if r == len(o.open) {
			o.open, o.load, o.total = append(o.open, false), append(o.load, 0), append(o.total, 0)
			opened = true
		}
		total := rack.Total.MemoryMiB
		if total != o.total[r] {
			o.total[r], o.open[r], opened = total, total > 0, true
		}
		load := 0.0
		if total > 0 {
			load = float64(rack.Used.MemoryMiB * 10 / total)
		}
		if load != o.load[r] {
			o.load[r], loaded = load, true
		}
	}
	if n := len(v.Racks()); n < len(o.open) { // another cluster
		o.open, o.load, o.total, opened = o.open[:n], o.load[:n], o.total[:n], true
	}
	switch {
	case opened:
		for id, k := range o.jobs.All() {
			o.again(k, v.Job(id))
		}
	case loaded:
		for id, k := range o.tied { // order-free: sorted before they are planned
			o.again(k, v.Job(id))
		}
	}
}

// again puts a job among those to be planned.
func (o *online) again(k *job, j *state.Job) {
	if k != nil && !k.dirty && j != nil {
		k.dirty, k.at = true, j
		o.dirty = append(o.dirty, k)
	}
}

// notice takes note of a job that changed.
func (o *online) notice(v state.View, j *state.Job) {
	k := o.jobs.Find(j)
	if j.State.Final() {
		o.jobs.Drop(j)
		o.relatives(v, j)
		o.parents(v, j)
		return
	}
	if k != nil && (k.submitted != j.Submitted || k.user != j.User) {
		o.jobs.Drop(j)
		k = nil
	}
	if k == nil {
		k = o.jobs.Of(j)
		k.id, k.submitted, k.user, k.told.rack = j.ID, j.Submitted, j.User, shuffle.None
		o.relatives(v, j)
		o.parents(v, j)
	}
	o.again(k, j)
	if reads := reading(j); reads != k.reads {
		k.reads = reads
		o.parents(v, j)
	}
	switch {
	case len(v.Dependents(j)) == 0: // nobody asks
		k.told.total, k.told.on = 0, k.told.on[:0]
	case k.told.change(j.Result(o.params.OutputRatio), len(o.open)):
		o.relatives(v, j)
	}
}

// left takes a job out of all that is kept, when it is forgotten.
func (p *Policy) left(k *job) {
	p.orders.remove(k)
	delete(p.online.tied, k.id)
	k.dirty, k.at = true, nil // whoever has it in a list does not plan it
	p.online.dirty = slices.DeleteFunc(p.online.dirty, func(d *job) bool { return d == k })
}

// relatives puts the jobs among those to be planned that count on a job's
// output: its dependents, and who else they read.
func (o *online) relatives(v state.View, j *state.Job) {
	for _, d := range v.Dependents(j) {
		if d.Job != nil {
			o.again(o.jobs.Find(d.Job), d.Job)
		}
		for _, p := range d.Others {
			if p.Job != nil {
				o.again(o.jobs.Find(p.Job), p.Job)
			}
		}
	}
}

// parents puts the jobs among those to be planned that count on a job to read
// their output.
func (o *online) parents(v state.View, j *state.Job) {
	for _, p := range v.Parents(j) {
		if p.Job != nil {
			o.again(o.jobs.Find(p.Job), p.Job)
		}
	}
}

// reading reports whether a job has begun to read its input, so that it is too
// late to bring more of it together.
func reading(j *state.Job) bool { return j.State.Final() || j.Map.Running+j.Map.Completed > 0 }

// change takes in a job's output as it is expected now, and reports whether
// that is news.
func (l *outlook) change(r state.Result, racks int) bool {
	news := l.total != r.Total
	l.total, l.on = r.Total, l.on[:min(len(l.on), racks)]
	for n := range racks {
		if n == len(l.on) {
			l.on = append(l.on, 0)
		}
		if b := r.On(n); b != l.on[n] {
			l.on[n], news = b, true
		}
	}
	return news
}

// plan chooses the racks of a job's stages.
func (o *online) plan(v state.View, j *state.Job, k *job) {
	o.planMaps(v, j, k)
	var last shuffle.Pick // where the output will lie
	switch {
	case j.Graph != nil:
		last = o.planGraph(v, j, k)
	case j.Reduce.Tasks() == 0: // maps write it
		o.planReduces(v, j, k)
		last = k.maps.dep
	default:
		o.planReduces(v, j, k)
		last = k.reduces.dep
	}
	if k.maps.max.Tied || k.reduces.max.Tied || k.reduces.dep.Tied || k.other.max.Tied || k.other.dep.Tied {
		if !k.tied {
			k.tied, o.tied[k.id] = true, k
		}
	} else if k.tied {
		k.tied = false
		delete(o.tied, k.id)
	}
	if k.told.rack == last.Rack {
		return
	}
	k.told.rack = last.Rack
	for _, d := range v.Dependents(j) { // those that came before do not count on it
		if d.Job != nil {
			o.later(k, o.jobs.Find(d.Job), d.Job)
		}
		for _, p := range d.Others {
			if p.Job != nil {
				o.later(k, o.jobs.Find(p.Job), p.Job)
			}
		}
	}
}

// later puts a job among those to be planned if it came after another one,
// which is being planned.
func (o *online) later(than, k *job, j *state.Job) {
	if k == nil || k.dirty || compareJobs(than, k) >= 0 {
		return
	}
	k.dirty, k.at = true, j
	i, _ := slices.BinarySearchFunc(o.dirty, k, compareJobs)
	o.dirty = slices.Insert(o.dirty, i, k)
}

func (o *online) field(s *state.Stage) shuffle.Field {
	return shuffle.Field{Open: o.open, Load: o.load, Tasks: s.LaunchedByRack()}
}

// planMaps is the proactive task aggregation (eq. 1): the rack with most of the
// input. Input nobody told of is what the job's parents put out.
func (o *online) planMaps(v state.View, j *state.Job, k *job) {
	c := &k.maps
	c.from, c.total, c.tentative = emptied(c.from, len(o.open)), 0, false
	if len(j.Input.Blocks) > 0 {
		copy(c.from, j.Input.ByRack)
		c.total = j.Input.Bytes
	} else {
		c.tentative = true
		for _, p := range v.Parents(j) {
			c.total += o.add(c.from, p.Job, k)
		}
	}
	c.max = shuffle.MostOn(c.from, c.total, o.field(j.Map))
	c.dep = c.max
}

// planReduces is the dependency-aware task assignment (eqs. 2 to 5).
//
// Intermediate data counts as it will lie: the output of complete maps where it
// is, that of running ones where they run, that of the others on the rack maps
// prefer (algorithms.md 1.3; the paper plans reduces when all maps are done).
func (o *online) planReduces(v state.View, j *state.Job, k *job) {
	c := &k.reduces
	c.from = emptied(c.from, len(o.open))
	copy(c.from, j.Output.ByRack)
	c.tentative = shuffle.Total(c.from) == 0
	predicted := j.Predict()
	perMap := predicted.MapOutput()
	rest := max(j.Map.Tasks(), j.Map.Completed)
	for r, n := range j.Map.LaunchedByRack() {
		if n == 0 || r >= len(c.from) {
			continue
		}
		rest -= n
		c.from[r] += perMap * model.Bytes(max(n-j.Map.CompletedIn(r), 0))
	}
	c.total = shuffle.Total(c.from) + j.Output.Unplaced
	if coming := perMap * model.Bytes(max(rest, 0)); coming > 0 {
		c.total += coming
		if k.maps.max.Rack != shuffle.None {
			c.from[k.maps.max.Rack] += coming
		}
	}
	f := o.field(j.Reduce)
	c.max = shuffle.MostOn(c.from, c.total, f)
	c.dep = c.max
	if in := o.inflows(v, j, k); len(in) > 0 {
		m := &o.math
		m.costs = shuffle.DependentCosts(m.costs, len(o.open), o.rest(k), o.spill(), in)
		c.dep = shuffle.LeastDependent(m.costs, c.from, c.total, c.max, f)
	}
}

// planGraph chooses by the job's own graph of stages (§III-B3): maps are the
// stage that reads from outside, reduces the last one, what is neither the first
// stage in order that has tasks to come. Where nothing is neither, whatever names
// no host is a reduce, as the relay tells vertices of Tez apart: reduces then are
// the first stage in order that reads others and has tasks to come. It returns
// where the last stage is planned.
func (o *online) planGraph(v state.View, j *state.Job, k *job) shuffle.Pick {
	g := j.Graph
	picks := g.Plan(len(o.open), o.spill(), o.inflows(v, j, k), o.field(j.Other))
	order := g.Order()
	take := func(c *choice, x int) {
		p := &picks[x]
		c.from = emptied(c.from, len(o.open))
		copy(c.from, p.From)
		c.max, c.dep, c.total, c.tentative = p.Max, p.Dep, p.Total, shuffle.Total(p.From) == 0
	}
	if len(j.Input.Blocks) == 0 {
		take(&k.maps, order[0])
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
	take(&k.reduces, reduces)
	if now := g.Now(); now != shuffle.None {
		take(&k.other, now)
	}
	return picks[last].Dep
}

// inflows returns, for each dependent of a job that has yet to read, what it
// reads besides the output that is still to be placed: what the others it reads
// put out, and what the job's own tasks put out where they run or ran.
func (o *online) inflows(v state.View, j *state.Job, k *job) []shuffle.Inflow {
	m := &o.math
	m.inflows = m.inflows[:0]
	for _, d := range v.Dependents(j) {
		if d.Job != nil && reading(d.Job) {
			continue
		}
		in := m.next(len(o.open))
		for _, p := range d.Others {
			in.Total += o.add(in.ByRack, p.Job, k)
		}
		in.Total += o.addOn(in.ByRack, k.told.on)
	}
	return m.inflows
}

// add adds a parent's output to what lies on each rack, as a job sees it: what
// is written or being written there, and the rest where it is planned if the
// parent came before the job. It returns how much that is.
func (o *online) add(byRack []model.Bytes, parent *state.Job, k *job) model.Bytes {
	if parent == nil {
		return 0
	}
	m := &o.math
	m.on = emptied(m.on, len(byRack))
	r := parent.Result(o.params.OutputRatio)
	for n := range m.on {
		m.on[n] = r.On(n)
	}
	at := o.jobs.Find(parent)
	if at != nil && at.told.rack != shuffle.None && at.told.rack < len(m.on) && compareJobs(at, k) < 0 {
		m.on[at.told.rack] += max(r.Total-shuffle.Total(m.on), 0)
	}
	return o.addOn(byRack, m.on)
}

// addOn adds an output that was or will be written where on says.
func (o *online) addOn(byRack, on []model.Bytes) model.Bytes {
	total, spill := shuffle.Total(on), o.spill()
	for r := range byRack {
		b := model.Bytes(0)
		if r < len(on) {
			b = on[r]
		}
		byRack[r] += b + model.Bytes(float64(total-b)*spill)
	}
	return total
}

// rest returns how much of a job's output is still to be placed.
func (o *online) rest(k *job) model.Bytes { return max(k.told.total-shuffle.Total(k.told.on), 0) }

// spill is the part of an output expected on each rack but the writer's: HDFS
// puts the second and third replica together on one other rack (algorithms.md 1.2).
func (o *online) spill() float64 {
	if o.params.Replicas != ReplicasAll || len(o.open) < 2 {
		return 0
	}
	return 1 / float64(len(o.open)-1)
}

// arithmetic holds what one plan is computed in.
type arithmetic struct {
	on      []model.Bytes
	costs   []model.Bytes
	inflows []shuffle.Inflow
}

// next returns one more, empty inflow.
func (m *arithmetic) next(racks int) *shuffle.Inflow {
	n := len(m.inflows)
	if n < cap(m.inflows) {
		m.inflows = m.inflows[:n+1]
	} else {
		m.inflows = append(m.inflows, shuffle.Inflow{})
	}
	in := &m.inflows[n]
	in.ByRack, in.Total = emptied(in.ByRack, racks), 0
	return in
}

func emptied(s []model.Bytes, n int) []model.Bytes {
	s = slices.Grow(s[:0], n)[:n]
	clear(s)
	return s
}

// stageOf returns the stage a job is in: maps while there are any to launch,
// then reduces (§III-B1: they run one after the other in the plan).
func stageOf(j *state.Job) *state.Stage {
	switch {
	case j.Map.Pending > 0:
		return j.Map
	case j.Reduce.Pending > 0 && j.ReducesDue():
		return j.Reduce
	case j.Graph != nil && j.Other.Pending > 0:
		return j.Other
	}
	return nil
}

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

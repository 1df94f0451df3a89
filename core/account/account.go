// Package account compares where the tasks of jobs ran with where the plans of a policy
// wanted them: what the jobs' data sent across racks, and would have sent. The service
// counts it of its policies as a replay does of a recording.
//
// Whenever a new container of a stage is seen, the plan in force says on which rack the
// policy wanted it. Bytes follow from that by the closed forms of package shuffle, with the
// map output where it was.
package account

import (
	"math"
	"slices"

	"heddle/core/model"
	"heddle/core/shuffle"
	"heddle/core/state"
	"heddle/core/state/snapshot"
	"heddle/core/topology"
)

// Job is what one job's data sent across racks where its tasks ran, and would
// have sent where a policy wanted them.
type Job struct {
	App     model.AppID `json:"application"`
	Policy  string      `json:"policy"`
	Ended   model.Time  `json:"ended_ms"`
	Maps    Stage       `json:"maps"`
	Reduces Stage       `json:"reduces"`
	Blocks  Blocks      `json:"blocks_in_rack"`
	MapRead Bytes       `json:"map_read_bytes"` // input read from another rack
	Shuffle Bytes       `json:"shuffle_bytes"`  // across racks
	Busiest Bytes       `json:"busiest_bytes"`  // of the shuffle, on the most loaded uplink in one direction

	Began model.Time `json:"-"` // of the first reduce, 0 without any

	view     state.View
	output   []model.Bytes // of the maps, by rack
	blocks   []state.InputBlock
	recorded placement
	policy   placement
	granted  snapshot.GrantedReduces
}

// placement is how many tasks of a job are on each rack.
type placement struct{ maps, reduces []int }

// Stage is where the containers of a stage were allocated and wanted.
type Stage struct {
	Allocated map[model.RackID]int `json:"allocated"`
	Wanted    map[model.RackID]int `json:"wanted"`
	Moved     int                  `json:"moved"`   // wanted on another rack than where they were allocated
	Planned   bool                 `json:"planned"` // a plan with racks was in force for one of them
}

// Bytes compares a figure as recorded with that of the policy and the least there is
// (algorithms.md 4.2).
type Bytes struct {
	Recorded model.Bytes `json:"recorded"`
	Policy   model.Bytes `json:"policy"`
	Least    model.Bytes `json:"least"`
}

// Add adds another figure.
func (b *Bytes) Add(o Bytes) {
	b.Recorded += o.Recorded
	b.Policy += o.Policy
	b.Least += o.Least
}

// Flow is what one rack sends another. Racks have their ids: after a restart of the
// service a number is another rack's.
type Flow struct {
	Kind     Kind
	Src, Dst model.RackID
	Bytes    float64
}

// Kind is what moves bytes.
type Kind int

// The kinds.
const (
	Shuffled Kind = iota
	MapRead
)

// stagePlaced follows the containers of one stage, by rack number.
type stagePlaced struct {
	seen, wanted []int
	moved        int
	planned      bool
}

// Accounts follow the jobs of a cluster under one policy.
type Accounts struct {
	view  state.View
	mark  state.Revision
	jobs  map[model.AppID]*jobPlaced
	dirty []*state.Job
	over  []overJob // that are not closed, by when they ended
	grants
}

// overJob is a job that ended.
type overJob struct {
	app model.AppID
	at  model.Time
}

// lastFactsWithin is how long a job that ended is waited for to be told of by the JobHistory
// server. The cluster forgets jobs some time after their end.
const lastFactsWithin = model.Minute

// jobPlaced follows one job.
type jobPlaced struct {
	maps, reduces stagePlaced
	began         model.Time // when a reduce was first seen
	granted       snapshot.GrantedReduces
	started       []int      // reduces by rack number when grants were last looked at
	namedSince    model.Time // when a plan of reduces first named racks, or was in force again; 0 while none is
	over, closed  bool
}

// New returns accounts of the jobs of a cluster.
func New(v state.View) Accounts { return Accounts{view: v, jobs: map[model.AppID]*jobPlaced{}} }

// Plans returns the newest plans of an application's stages; nil for a policy that has none.
type Plans func(model.AppID) []*model.Plan

// Observe takes note of what an observation changed that the cluster has applied, and returns
// the accounts of the jobs that are complete: their last facts have come, or are overdue.
func (a *Accounts) Observe(fact model.Fact, plans Plans) []*Job {
	a.follow(plans)
	var done []*Job
	complete := func(app model.AppID) {
		if j, ok := a.close(app); ok {
			done = append(done, j)
		}
	}
	if f, is := fact.(model.JobFact); is && f.Done {
		complete(f.App)
	}
	for _, app := range a.overdue() {
		complete(app)
	}
	return done
}

// End returns the accounts of the jobs that have ended and whose last facts have not come.
func (a *Accounts) End() []*Job {
	var done []*Job
	for _, app := range a.ended() {
		if j, ok := a.close(app); ok {
			done = append(done, j)
		}
	}
	return done
}

// follow takes note of the containers that were allocated since it was called last, at
// the newest plans.
func (a *Accounts) follow(plans Plans) {
	a.dirty, a.mark = a.view.Changed(a.mark, a.dirty[:0])
	if len(a.jobs) > 2*len(a.view.Jobs())+1000 {
		a.forget()
	}
	for _, j := range a.dirty {
		p := a.jobs[j.ID]
		if p == nil {
			if j.State.Final() {
				continue
			}
			p = &jobPlaced{}
			a.jobs[j.ID] = p
		}
		if p.closed {
			continue
		}
		a.allocated(&p.maps, j.Map, planOf(plans, j.ID, model.StageMap))
		plan := planOf(plans, j.ID, model.StageReduce)
		a.judge(p, a.view, j, plan)
		a.allocated(&p.reduces, j.Reduce, plan)
		if j.State.Final() && !p.over {
			p.over = true
			a.over = append(a.over, overJob{j.ID, a.view.Now()})
		}
		if p.began == 0 && sum(p.reduces.seen) > 0 {
			p.began = a.view.Now()
		}
	}
}

func planOf(plans Plans, app model.AppID, stage model.Stage) *model.Plan {
	if plans == nil {
		return nil
	}
	for _, p := range plans(app) {
		if p.Stage == stage {
			return p
		}
	}
	return nil
}

// allocated takes note of what was allocated to a stage since the last look. A container
// that was lost is taken off where it ran, or else where most are wanted.
func (a *Accounts) allocated(p *stagePlaced, s *state.Stage, plan *model.Plan) {
	for rack, n := range s.LaunchedByRack() {
		p.seen, p.wanted = topology.Extend(p.seen, rack), topology.Extend(p.wanted, rack)
		for ; p.seen[rack] < n; p.seen[rack]++ {
			to := a.wantedOn(p, s, plan, rack)
			p.wanted = topology.Extend(p.wanted, to)
			p.wanted[to]++
			if to != rack {
				p.moved++
			}
		}
		for ; p.seen[rack] > n; p.seen[rack]-- {
			from := rack
			if p.wanted[from] == 0 {
				from = slices.Index(p.wanted, slices.Max(p.wanted))
			}
			p.wanted[from]--
		}
	}
}

// wantedOn returns the rack on which a plan wants a container that was allocated on one: that
// rack while the plan wants more there, or has no racks, or has all it wants; else
// where most is missing.
func (a *Accounts) wantedOn(p *stagePlaced, s *state.Stage, plan *model.Plan, rack int) int {
	if plan == nil || len(plan.Racks) == 0 {
		return rack
	}
	p.planned = true
	best, most := rack, 0.0
	for i := range plan.Racks {
		t := &plan.Racks[i]
		r := a.view.RackOf(t.Rack)
		if r == nil {
			continue
		}
		count := float64(t.Count)
		if t.Count == 0 {
			count = t.Share * float64(s.Tasks())
		}
		missing := count - float64(topology.At(p.wanted, r.Index))
		if r.Index == rack && missing > 0 {
			return rack
		}
		if missing > most {
			best, most = r.Index, missing
		}
	}
	return best
}

// close returns the account of a job whose last facts have come; false if the job is
// not known or was closed before.
func (a *Accounts) close(app model.AppID) (*Job, bool) {
	j, p := a.view.Job(app), a.jobs[app]
	if j == nil || p == nil || p.closed {
		return nil, false
	}
	p.closed = true
	acc := &Job{
		App: app, Ended: a.view.Now(), Began: p.began, view: a.view, output: slices.Clone(j.Output.ByRack),
		recorded: placement{slices.Clone(j.Map.LaunchedByRack()), slices.Clone(j.Reduce.LaunchedByRack())},
		policy:   placement{p.maps.wanted, p.reduces.wanted}, // which nobody changes any more
		granted:  p.granted,
	}
	acc.Maps, acc.Reduces = a.stage(&p.maps, acc.recorded.maps), a.stage(&p.reduces, acc.recorded.reduces)
	if n := sum(acc.recorded.reduces); n > 0 {
		out, recorded, wanted := acc.output, acc.recorded.reduces, acc.policy.reduces
		acc.Shuffle = Bytes{shuffle.CrossRack(out, recorded), shuffle.CrossRack(out, wanted), shuffle.CrossRack(out, shuffle.FewestBytes(out, n))}
		acc.Busiest = Bytes{shuffle.Busiest(out, recorded), shuffle.Busiest(out, wanted), leastBusiest(out)}
	}
	if j.Input.Known && sum(acc.recorded.maps) > 0 {
		acc.blocks = located(j.Input.Blocks)
		acc.Blocks.All = len(acc.blocks)
		acc.Blocks.Recorded, acc.MapRead.Recorded = inRack(acc.blocks, acc.recorded.maps)
		acc.Blocks.Policy, acc.MapRead.Policy = inRack(acc.blocks, acc.policy.maps)
	}
	return acc, true
}

// overdue returns the jobs whose last facts have not come in time.
func (a *Accounts) overdue() []model.AppID {
	var out []model.AppID
	for len(a.over) > 0 && a.view.Now().Sub(a.over[0].at) >= lastFactsWithin {
		out = append(out, a.over[0].app)
		a.over = a.over[1:]
	}
	return out
}

// ended returns the jobs that have ended and were not closed, in order.
func (a *Accounts) ended() []model.AppID {
	var out []model.AppID
	for app, p := range a.jobs { // order-free: sorted below
		if j := a.view.Job(app); j != nil && j.State.Final() && !p.closed {
			out = append(out, app)
		}
	}
	slices.Sort(out)
	return out
}

// FirstBegan returns when the first reduce of any job began that is not closed, the latest
// time of all without any.
func (a *Accounts) FirstBegan() model.Time {
	first := model.Time(math.MaxInt64)
	for _, p := range a.jobs { // order-free: a minimum
		if !p.closed && p.began > 0 {
			first = min(first, p.began)
		}
	}
	return min(first, a.view.Now())
}

// Unfinished counts the jobs that have not ended.
func (a *Accounts) Unfinished() int {
	n := 0
	for _, p := range a.jobs { // order-free: a count
		if !p.closed {
			n++
		}
	}
	return n
}

// forget drops what is kept of jobs that the cluster has forgotten.
func (a *Accounts) forget() {
	for app := range a.jobs { // order-free: each on its own
		if a.view.Job(app) == nil {
			delete(a.jobs, app)
		}
	}
}

func (a *Accounts) stage(p *stagePlaced, allocated []int) Stage {
	return Stage{Allocated: a.byID(allocated), Wanted: a.byID(p.wanted), Moved: p.moved, Planned: p.planned}
}

func (a *Accounts) byID(counts []int) map[model.RackID]int {
	out := map[model.RackID]int{}
	racks := a.view.Racks()
	for r, n := range counts {
		if n != 0 && r < len(racks) {
			out[racks[r].ID] = n
		}
	}
	return out
}

// leastBusiest bounds shuffle.Busiest from below, for any number of reduces: reduces in
// exact proportion to the map output have max M_r (M - M_r) / M (algorithms.md 4.2b).
func leastBusiest(output []model.Bytes) model.Bytes {
	all := float64(shuffle.Total(output))
	if all == 0 {
		return 0
	}
	busiest := 0.0
	for _, m := range output {
		busiest = max(busiest, float64(m)*(all-float64(m))/all)
	}
	return model.Bytes(busiest)
}

// located returns the blocks of which somebody knows where they are.
func located(blocks []state.InputBlock) []state.InputBlock {
	unknown := func(b state.InputBlock) bool { return len(b.Racks) == 0 }
	if !slices.ContainsFunc(blocks, unknown) {
		return blocks
	}
	return slices.DeleteFunc(slices.Clone(blocks), unknown)
}

// assign gives blocks to maps, with so many maps on each rack, so that few are read from
// another rack: each block goes to the rack with a replica that has most maps left, those
// with the fewest replicas first. It returns the blocks that are left, and for how many
// blocks each rack has maps left. It costs O(blocks (log blocks + replicas)).
func assign(blocks []state.InputBlock, maps []int) (remote []int, left []float64) {
	if sum(maps) == 0 {
		return nil, nil
	}
	left = make([]float64, len(maps))
	per := float64(len(blocks)) / float64(sum(maps)) // blocks of a map
	for r, n := range maps {
		left[r] = float64(n) * per
	}
	order := make([]int, len(blocks))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return len(blocks[a].Racks) - len(blocks[b].Racks) })
	for _, i := range order {
		best := -1
		for _, r := range blocks[i].Racks {
			if topology.At(left, r) > 0 && (best < 0 || left[r] > left[best]) {
				best = r
			}
		}
		if best < 0 {
			remote = append(remote, i)
			continue
		}
		left[best]--
	}
	return remote, left
}

// inRack returns how many blocks are read within their rack, and the bytes of the others.
func inRack(blocks []state.InputBlock, maps []int) (count int, remote model.Bytes) {
	others, _ := assign(blocks, maps)
	for _, i := range others {
		remote += blocks[i].Length
	}
	return len(blocks) - len(others), remote
}

// Flows returns the bytes from rack to rack, of the shuffle with hash-uniform keys and of map
// reads: where the tasks ran, or where the policy wanted them. It costs as much as there are
// pairs of racks with map output and reduces.
func (j *Job) Flows(wanted bool) []Flow {
	at := &j.recorded
	if wanted {
		at = &j.policy
	}
	racks, n := j.view.Racks(), sum(at.reduces)
	var flows []Flow
	for src, m := range j.output {
		for dst, k := range at.reduces {
			if src != dst && m > 0 && k > 0 {
				flows = append(flows, Flow{Shuffled, racks[src].ID, racks[dst].ID, float64(m) * float64(k) / float64(n)})
			}
		}
	}
	remote, left := assign(j.blocks, at.maps)
	for _, i := range remote {
		b := &j.blocks[i]
		dst := slices.Index(left, slices.Max(left))
		left[dst]--
		flows = append(flows, Flow{MapRead, racks[b.Racks[0]].ID, racks[dst].ID, float64(b.Length)})
	}
	return flows
}

// Row returns the sums of the account.
func (j *Job) Row() snapshot.JobAccount {
	return snapshot.JobAccount{
		App: j.App, Ended: j.Ended, Recorded: j.Shuffle.Recorded + j.MapRead.Recorded,
		Policy: j.Shuffle.Policy + j.MapRead.Policy, Least: j.Shuffle.Least + j.MapRead.Least, Granted: j.granted,
	}
}

func sum(counts []int) int {
	n := 0
	for _, c := range counts {
		n += c
	}
	return n
}

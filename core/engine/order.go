package engine

import (
	"cmp"
	"slices"

	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/state"
)

const (
	// orderSlack is how much more than what is free is asked for, as part of what all nodes have: what becomes free between
	// two rounds.
	orderSlack = 0.1
	// claimFor is how long a job that could be given containers, and is given none, has others wait for it: the scheduler
	// may have a limit on it that is not known here.
	claimFor = 10 * model.Second
)

// order turns the ranks of plans into holds. In the order of ranks each stage may ask for all it waits for, until as much is
// asked for as is free, and a slack; the stages after that are held. Reduces are held until all maps of their job have been
// started. It costs O(P log P + N C) a round for P plans, N nodes and C sizes of containers.
type order struct {
	queue  []place // of the last round, by rank
	claims policy.Jobs[claim]
	at     model.Time // of the last round; 0 is none
	rooms  []room     // of the round at hand, by size of containers
}

// place is a stage in the order.
type place struct {
	rank   int
	index  int            // of its plan
	before model.Resource // what those before ask for
}

// claim is what is kept of one live job.
type claim struct {
	containers int            // it had when it was last looked at
	unmet      model.Duration // in which there was room for one more, since it was given one
	counted    model.Time     // when unmet last grew
	held       [3]model.Time  // since when its maps, reduces and other containers are held; 0 is not
}

// room is how many containers of a size there are.
type room struct {
	size        model.Resource
	free, total int
}

// round holds the stages whose turn it is not. The plans are all there are.
func (o *order) round(v state.View, plans []model.Plan, most model.Duration) {
	o.claims.Prune(v)
	o.rooms = o.rooms[:0]
	o.queue = o.queue[:0]
	for i := range plans {
		o.queue = append(o.queue, place{rank: plans[i].Rank, index: i})
	}
	slices.SortStableFunc(o.queue, func(a, b place) int { return cmp.Compare(a.rank, b.rank) })
	sinceRound := max(0, v.Now().Sub(o.at))
	if o.at == 0 {
		sinceRound = 0
	}
	o.at = max(v.Now(), 1)
	var asked model.Resource
	for i := range o.queue {
		at := &o.queue[i]
		at.before = asked
		p := &plans[at.index]
		j := v.Job(p.App)
		s := j.Stage(p.Stage)
		o.set(v, p, j, asked, most)
		n := due(p, s)
		if n > 0 && o.claims.Of(j).stands(v.Now(), sinceRound, j, o.roomFor(v, s).free > 0) {
			asked = asked.Add(s.Capability.Times(int64(n)))
		}
	}
}

// some holds plans of some jobs by the order of the last round.
func (o *order) some(v state.View, plans []model.Plan, most model.Duration) {
	o.rooms = o.rooms[:0]
	for i := range plans {
		p := &plans[i]
		var asked model.Resource
		at, _ := slices.BinarySearchFunc(o.queue, p.Rank, func(a place, rank int) int { return cmp.Compare(a.rank, rank) })
		if at < len(o.queue) {
			asked = o.queue[at].before
		}
		o.set(v, p, v.Job(p.App), asked, most)
	}
}

// isEarly reports whether a stage is reduces whose job has maps to start: they would keep containers that maps need.
func isEarly(j *state.Job, stage model.Stage) bool {
	return stage == model.StageReduce && j.Graph == nil && j.Map.Pending > 0
}

// due is how many containers more a stage is to have by its plan.
func due(p *model.Plan, s *state.Stage) int {
	if p.Hold {
		return min(s.Pending, max(0, p.MaxRunning-s.Running))
	}
	return s.Pending
}

// set holds a stage if those before it ask for all there is.
func (o *order) set(v state.View, p *model.Plan, j *state.Job, asked model.Resource, most model.Duration) {
	s, since := j.Stage(p.Stage), &o.claims.Of(j).held[stageOrder(p.Stage)]
	r := o.roomFor(v, s)
	turn := float64(r.free)+orderSlack*float64(r.total) > float64(containersOf(v, asked, s.Capability))
	if s.Pending == 0 || turn && !isEarly(j, p.Stage) {
		*since = 0
		return
	}
	now := v.Now()
	if *since == 0 || *since > now || now.Sub(*since) >= most {
		*since = max(now, 1)
	}
	if until := since.Add(most); until > now {
		p.Hold, p.MaxRunning, p.Until = true, 0, until
	}
}

// stands reports whether others wait for a job: not once it has been given nothing for long while there was room for it.
func (c *claim) stands(now model.Time, sinceRound model.Duration, j *state.Job, hasRoom bool) bool {
	n := 0
	for _, s := range [...]*state.Stage{j.Map, j.Reduce, j.Other} {
		n += s.Running + s.Completed
	}
	switch {
	case n > c.containers:
		c.unmet = 0
	case hasRoom && c.counted != now: // once a round for all its stages
		c.unmet += sinceRound
		c.counted = now
	}
	c.containers = n
	return c.unmet < claimFor
}

// roomFor counts the containers of a stage that nodes hold.
func (o *order) roomFor(v state.View, s *state.Stage) room {
	if i := slices.IndexFunc(o.rooms, func(r room) bool { return r.size == s.Capability }); i >= 0 {
		return o.rooms[i]
	}
	r := room{size: s.Capability}
	for _, n := range v.Nodes() {
		if n.State.Usable() {
			r.free += containersOf(v, n.Free, r.size)
			r.total += containersOf(v, n.Total, r.size)
		}
	}
	o.rooms = append(o.rooms, r)
	return r
}

// containersOf returns how many containers of a size resources hold.
func containersOf(v state.View, r, size model.Resource) int {
	const most = 1 << 20 // of a size that is not known
	n := int64(most)
	if size.MemoryMiB > 0 {
		n = min(n, r.MemoryMiB/size.MemoryMiB)
	}
	if state.CountsVCores(v) && size.VCores > 0 {
		n = min(n, r.VCores/size.VCores)
	}
	return int(max(n, 0))
}

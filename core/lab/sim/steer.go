package sim

import (
	"heddle/core/engine"
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/state"
)

// Steering is heddle's relay in front of the simulated scheduler: a policy's
// plans limit what the applications ask for to racks (docs/enforce.md).
//
// Simplified: what is pinned counts as local to the rack at once, where the relay
// widens to all hosts of a rack after a while; holds are not kept, as the
// relay's defaults have it.
type Steering struct {
	Name   string // of the policy
	Policy policy.Policy
	Every  model.Duration // between two rounds of plans
	Pin    model.Duration // after which reduces are asked for anywhere
	Trim   model.Duration // after which maps are
}

// steering keeps the limits.
type steering struct {
	Steering
	planner *engine.Engine
	next    model.Time
	now     model.Time
	limits  map[*state.Stage]*limit
}

// limit is what the relay has made of a stage's asks.
type limit struct {
	counts []int // by rack: of reduces how many in all; of maps any above 0 admits the rack
	kind   model.Stage
	until  model.Time
	bound  bool // the ask table of the job was last reported as limited
}

// Steer puts a relay in front of the scheduler, before Run.
func (s *Sim) Steer(attempt Steering) {
	opts := engine.Options{
		Name: attempt.Name, MaxOffers: s.cluster.Containers(),
		MaxHold: engine.DefaultOptions(attempt.Name).MaxHold, // a plan that holds says of racks what others do
	}
	s.steering = &steering{Steering: attempt, planner: engine.New(opts, attempt.Policy, s.state), limits: map[*state.Stage]*limit{}}
	s.engine.Limit(s.steering)
}

// Admits implements policy.Limits.
func (t *steering) Admits(s *state.Stage, rack int) bool {
	l := t.limits[s]
	switch {
	case l == nil || t.now >= l.until || l.counts == nil:
		return true
	case rack >= len(l.counts):
		return false
	case l.kind == model.StageMap:
		return l.admitsMap(s, rack)
	}
	return s.Launched(rack) < l.counts[rack]
}

// admitsMap reports whether a map may still be started on a rack: maps move between
// racks of their own only, and those with none in the plan keep theirs
// (docs/enforce.md, "trim"). Maps that name no rack are pinned to the plan's.
func (l *limit) admitsMap(s *state.Stage, rack int) bool {
	if s.Places() == 0 {
		return l.counts[rack] > 0
	}
	if l.counts[rack] > 0 || s.PendingIn(rack) == 0 {
		return s.PendingIn(rack) > 0
	}
	planned := 0 // a map with replicas on two of the plan's racks counts twice, and may hide one with none
	for r, n := range l.counts {
		if n > 0 {
			planned += s.PendingIn(r)
		}
	}
	return s.Pending > planned
}

// plan asks for plans when it is time, and at once for jobs that ask for something
// new: the relay lets no first ask go on without one.
func (t *steering) plan(v state.View, now model.Time) error {
	t.now = now
	jobs := t.newlyAsking(v.Jobs())
	if now >= t.next {
		t.next = now.Add(t.Every)
		jobs = v.Jobs()
	}
	if len(jobs) == 0 {
		return nil
	}
	plans, err := t.planner.PlanJobs(jobs)
	if err != nil {
		return err
	}
	for i := range plans {
		t.applyPlan(v, &plans[i])
	}
	return nil
}

// newlyAsking returns the jobs with a stage that asks for the first time, and
// marks the stage: it is limited to nothing until there is a plan.
func (t *steering) newlyAsking(jobs []*state.Job) []*state.Job {
	var out []*state.Job
	for _, j := range jobs {
		asks := false
		for _, s := range []*state.Stage{j.Map, j.Reduce} {
			if s.Pending > 0 && t.limits[s] == nil {
				t.limits[s] = &limit{}
				asks = true
			}
		}
		if asks {
			out = append(out, j)
		}
	}
	return out
}

// forget drops what is kept of a job that is over.
func (t *steering) forget(j *state.Job) {
	delete(t.limits, j.Map)
	delete(t.limits, j.Reduce)
}

// applyPlan takes a plan of racks. A plan that changes does not begin its deadline anew.
func (t *steering) applyPlan(v state.View, p *model.Plan) {
	s := v.Job(p.App).Stage(p.Stage)
	l := t.limits[s]
	if len(p.Racks) == 0 && l != nil {
		l.counts = nil // what was tied is untied
	}
	if len(p.Racks) == 0 || s.Pending == 0 {
		return
	}
	if l == nil || l.kind == "" {
		wait := t.Pin
		if p.Stage == model.StageMap {
			wait = t.Trim
		}
		l = &limit{kind: p.Stage, until: t.now.Add(wait)}
		t.limits[s] = l
	}
	l.counts = append(l.counts[:0], make([]int, len(v.Racks()))...)
	for _, r := range p.Racks {
		l.counts[v.RackOf(r.Rack).Index] = r.Count
	}
}

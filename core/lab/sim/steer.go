package sim

import (
	"heddle/core/asks"
	"heddle/core/engine"
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/state"
)

// Steering is heddle's relay in front of the simulated scheduler: a policy's
// plans become rows of what the applications ask for (docs/enforce.md). The asks
// of each job go through the ask table of the service; relayed.go has what the
// ApplicationMaster and the ResourceManager do with it.
type Steering struct {
	Name   string // of the policy
	Policy policy.Policy
	Every  model.Duration // between two rounds of plans, and two looks at the nodes
	// HoldByRank is engine.Options.HoldByRank.
	HoldByRank bool
	Limits     asks.Limits
}

// steering is the relay, with the ResourceManager's side of what goes through it.
type steering struct {
	Steering
	planner *engine.Engine
	next    model.Time
	names   map[string]place            // hosts and racks, as rows name them
	sent    map[*state.Stage]*askedRows // as the ResourceManager holds them
	rackOf  map[string]model.RackID
	free    map[string]model.Resource // by host, at the last look
	nodes   []*state.Node             // as the layout numbers them
	site    *asks.Site                // as last read
	rows    []asks.Row                // of the call at hand
	soft    bool                      // the scheduler is FairScheduler, whose headroom the relay does not go by
	jobs    []*job                    // whose ApplicationMasters ask
}

// Steer puts a relay in front of the scheduler, before Run.
func (s *Sim) Steer(attempt Steering) {
	opts := engine.Options{
		Name: attempt.Name, MaxOffers: s.cluster.Containers(), HoldByRank: attempt.HoldByRank,
		MaxHold: engine.DefaultOptions(attempt.Name).MaxHold, // a plan that holds says of racks what others do
	}
	t := &steering{
		Steering: attempt, planner: engine.New(opts, attempt.Policy, s.state),
		names: map[string]place{}, sent: map[*state.Stage]*askedRows{}, rackOf: map[string]model.RackID{}, free: map[string]model.Resource{},
	}
	for _, n := range s.state.View().Nodes() {
		t.rackOf[n.Host] = n.Rack.ID
		t.names[n.Host] = place{host: int(n.HostNumber()), rack: noNode}
		t.names[string(n.Rack.ID)] = place{host: noNode, rack: n.Rack.Index}
	}
	for i := range s.layout.nodes {
		t.nodes = append(t.nodes, s.state.View().Node(s.layout.nodes[i].id))
	}
	t.soft = s.engine.Name() == "fair" || s.engine.Name() == "drf"
	s.jobs.steering = t
	s.engine.Limit(t)
}

// Admits implements policy.Limits: what the ResourceManager was sent decides where a task may start.
func (t *steering) Admits(s *state.Stage, n *state.Node) bool {
	rows := t.sent[s]
	return rows != nil && rows.admit(n)
}

// Locality implements policy.Limits. A strict row for a host makes any task local there.
func (t *steering) Locality(s *state.Stage, n *state.Node) model.Locality {
	if rows := t.sent[s]; rows != nil && !rows.relaxed && rows.admit(n) {
		return model.NodeLocal
	}
	level, _ := s.Locality(n)
	return level
}

// steer makes plans when it is time, and at once for jobs that ask for something
// new, and then has every ApplicationMaster make its call.
func (t *steering) steer(s *Sim) error {
	jobs := t.asking(s)
	planned := newlyAsking(jobs)
	read := s.now >= t.next
	if read {
		t.next = s.now.Add(t.Every)
		t.readSite(s.state.View())
		planned = jobs
	}
	if len(planned) > 0 {
		planJobs := t.planner.PlanJobs
		if read {
			planJobs = t.planner.PlanRound
		}
		if err := t.plan(planned, planJobs); err != nil {
			return err
		}
	}
	for _, j := range jobs {
		t.allocate(s, j)
	}
	if read {
		reportBound(s, jobs)
	}
	return nil
}

// asking returns the jobs whose ApplicationMasters ask for tasks.
func (t *steering) asking(s *Sim) []*job {
	jobs := t.jobs[:0]
	for _, j := range s.jobs.live {
		if j.relayed != nil && !j.amLost && (j.relayed.of != nil || t.meet(j.relayed, s.state.View().Job(j.id))) {
			jobs = append(jobs, j)
		}
	}
	t.jobs = jobs
	return jobs
}

// newlyAsking returns the jobs with a stage that asks for the first time: the relay
// lets no first ask go on without a plan.
func newlyAsking(jobs []*job) []*job {
	var out []*job
	for _, j := range jobs {
		isNew := false
		for i := range j.relayed.stages {
			k := &j.relayed.stages[i]
			if k.of.Pending > 0 && !k.hasAsked {
				k.hasAsked, isNew = true, true
			}
		}
		if isNew {
			out = append(out, j)
		}
	}
	return out
}

// plan replaces the plans of some jobs.
func (t *steering) plan(jobs []*job, planJobs func([]*state.Job) ([]model.Plan, error)) error {
	list := make([]*state.Job, len(jobs))
	at := make(map[model.AppID]*relayed, len(jobs))
	for i, j := range jobs {
		list[i], at[j.id] = j.relayed.of, j.relayed
		for k := range j.relayed.stages {
			j.relayed.stages[k].isPlanned = false
		}
	}
	plans, err := planJobs(list)
	if err != nil {
		return err
	}
	for i := range plans {
		p := &plans[i]
		k := at[p.App].stage(p.Stage)
		k.isPlanned, k.target = true, asks.Target{Racks: p.Racks, Hold: p.Hold, MaxRunning: p.MaxRunning, Until: p.Until, Reason: p.Reason}
	}
	return nil
}

// readSite reads the nodes, as the service does from the ResourceManager now and then.
func (t *steering) readSite(v state.View) {
	t.site = &asks.Site{RackOf: t.rackOf, SoftHeadroom: t.soft}
	for _, r := range v.Racks() {
		rack := asks.Rack{ID: r.ID}
		for _, n := range r.Nodes {
			if n.State.Usable() {
				before := t.free[n.Host]
				t.free[n.Host] = n.Free
				rack.Hosts = append(rack.Hosts, asks.Host{Name: n.Host, Total: n.Total, Free: n.Free, Idle: asks.Idle(before, n.Free)})
			}
		}
		t.site.Racks = append(t.site.Racks, rack)
	}
}

// forget drops what is kept of a job that is over.
func (t *steering) forget(j *state.Job) {
	delete(t.sent, j.Map)
	delete(t.sent, j.Reduce)
}

// Package sim simulates a Hadoop cluster that runs a workload under one policy:
// discrete events in whole milliseconds and bytes, one goroutine, the same input
// and seed the same result.
//
// It drives the engine the service runs. All that a policy sees it sees through
// the View of a state.Cluster, which is told, heartbeat by heartbeat, what
// ResourceManager, ApplicationMasters and NameNode would tell (tell.go). A node's
// heartbeat is an offer. What is launched reads its block over the network where
// that is elsewhere, computes, leaves its output on its rack; reduces fetch their
// part of every rack's output as it appears, compute, and write with a copy on
// another rack (run.go, package network). HDFS lays files out by its default rule
// (hdfs.go), the ApplicationMaster asks for reduces by Hadoop's (job.go).
//
// Nodes may be lost on the way (loss.go). What is not simulated is in docs/simulator.md.
package sim

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"heddle/core/engine"
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/sim/network"
	"heddle/core/state"
	"heddle/core/topology"
	"heddle/core/workload"
)

// Sim is one run: the world, and the scheduler that is told of it and answers
// its heartbeats.
type Sim struct {
	world
	state  *state.Cluster
	engine *engine.Engine
	order  []int32 // nodes in the order of their heartbeats
	beats  *rand.Rand
	told   told

	steering *steering // nil without a relay
}

// world is the cluster, its jobs and what moves in it.
type world struct {
	params  Params
	cluster *Cluster
	work    *workload.Workload
	layout  layout
	hdfs    hdfs
	slow    *rand.Rand // which attempts straggle; nil where none does
	copies  *rand.Rand // where to what tasks write is copied
	net     *network.Fast

	now     model.Time
	events  queue
	running attempts
	moving  movers // what the network carries for whom
	jobs    jobTable
	desk    desk
	book    book
	faults  *faults // nil without
}

// New prepares a run of a workload on a cluster under a policy of a name.
func New(p Params, c Cluster, w *workload.Workload, name string, pol policy.Policy) (*Sim, error) {
	if err := errors.Join(p.Validate(), c.Validate(), p.fits(&c)); err != nil {
		return nil, err
	}
	if err := errors.Join(simulable(w, &p), there(w, &c), checkLosses(p.Losses, &c)); err != nil {
		return nil, err
	}
	net, err := newNetwork(&c, p.Network)
	if err != nil {
		return nil, err
	}
	l := newLayout(&c)
	s := &Sim{
		world: world{params: p, cluster: &c, work: w, layout: l, net: net, jobs: newJobTable(w), book: newBook(&c, w)},
		state: state.New(stateConfig(&c, &l, &p)),
	}
	s.faults = newFaults(p.Losses, &s.layout)
	s.jobs.free = c.places()
	s.hdfs = hdfs{layout: &s.layout, replication: c.Replication, seed: p.Seed}
	s.copies = rand.New(rand.NewPCG(p.Seed, 1))
	s.engine = engine.New(engine.Options{Name: name, Seed: p.Seed}, pol, s.state)
	for i := range s.layout.nodes {
		s.order = append(s.order, int32(i))
	}
	if p.Straggler > 0 {
		s.slow = rand.New(rand.NewPCG(p.Seed, 3))
	}
	s.beats = rand.New(rand.NewPCG(p.Seed, 2))
	s.beats.Shuffle(len(s.order), func(i, j int) { s.order[i], s.order[j] = s.order[j], s.order[i] })
	s.introduce()
	return s, nil
}

// simulable reports jobs whose form is not simulated where nodes are lost or
// attempts are speculated on.
func simulable(w *workload.Workload, p *Params) error {
	if len(p.Losses) == 0 && !p.Speculation {
		return nil
	}
	for i := range w.Jobs {
		j := &w.Jobs[i]
		for k := range j.Stages {
			if t := &j.Stages[k]; len(t.Edges) > 0 && t.Input() > 0 {
				return fmt.Errorf("job %s: stage %s reads files and stages, which is not simulated with lost nodes or speculation: give the files a stage of their own, with a broadcast edge", j.ID, t.Name)
			}
		}
	}
	return nil
}

// there reports a file on a node that the cluster does not have.
func there(w *workload.Workload, c *Cluster) error {
	for i := range w.Jobs {
		for k := range w.Jobs[i].Stages {
			for _, f := range w.Jobs[i].Stages[k].Reads {
				if f.Place == workload.OnNode && (f.Node.Rack > len(c.Racks) || f.Node.Number > c.Racks[f.Node.Rack-1].Nodes) {
					return fmt.Errorf("job %s: reads a file on node %d of rack %d, and the cluster has no such node", w.Jobs[i].ID, f.Node.Number, f.Node.Rack)
				}
			}
		}
	}
	return nil
}

func stateConfig(c *Cluster, l *layout, p *Params) state.Config {
	cfg := state.DefaultConfig()
	links := map[model.RackID]topology.Link{}
	for i, r := range c.Racks {
		links[rackID(i)] = r.Uplink
	}
	cfg.Uplinks = topology.Uplinks{Racks: links}
	cfg.UplinkMethod, cfg.Saturation.Threshold = state.MethodPrometheus, p.Saturation
	cfg.TaskDefault, cfg.Slots = c.Container, l.slotsOf(c)
	cfg.FinishedJobs, cfg.Decisions = 16, 16
	cfg.MaxTasks = 1 << 20
	cfg.NoTraffic = true
	return cfg
}

// Progress is how far a run has come.
type Progress struct {
	Now            model.Time
	Finished, Jobs int
}

// Run runs to the end, or until report returns false. It calls report, which may
// be nil, now and then.
func (s *Sim) Run(report func(Progress) bool) (Run, error) {
	for step := 0; s.advance(); step++ {
		if s.jobs.failed != nil {
			return Run{}, s.jobs.failed
		}
		if report != nil && step%64 == 0 && !report(Progress{s.now, s.jobs.finished, len(s.work.Jobs)}) {
			return Run{}, errors.New("stopped")
		}
	}
	r := s.result()
	return r, r.verify(s.book.slack())
}

// idle is how long no task may end before a run counts as stuck.
const idle = 30 * 24 * 60 * model.Minute

// advance goes on to the next heartbeat at which anything can happen; false when
// all is done.
func (s *Sim) advance() bool {
	next, ok := s.nextBeat()
	if !ok {
		return false
	}
	if s.now.Sub(s.book.stirred) > idle && len(s.jobs.live)+len(s.jobs.waiting) > 0 {
		s.jobs.failed = fmt.Errorf("from %.0f s on no task has ended for 30 days, and %d jobs wait: %s",
			s.book.stirred.Sub(0).Seconds(), len(s.jobs.live)+len(s.jobs.waiting), s.jobs.stuck())
		return true
	}
	s.faults.happen(s, next)
	s.happen(next)
	s.now = next
	s.submit()
	s.book.sample(&s.world)
	if s.params.Speculation {
		s.running.speculate(&s.world)
	}
	s.tell()
	if s.steering != nil {
		if err := s.steering.plan(s.state.View(), s.now); err != nil {
			s.jobs.failed = err
			return true
		}
	}
	s.offer()
	s.faults.bury(&s.world)
	s.yield()
	return true
}

// nextBeat returns the next heartbeat worth looking at.
func (s *Sim) nextBeat() (model.Time, bool) {
	beat := model.Time(s.params.Heartbeat)
	soon := s.now + beat - s.now%beat
	if s.desk.startable(&s.jobs.free) || len(s.jobs.waiting) > 0 && s.jobs.free.sum() > 0 {
		return soon, true
	}
	at, ok := s.events.next()
	if s.desk.demand.sum() > 0 && !ok { // reduces hold every container, until they yield
		return soon, true
	}
	if _, moving := s.net.Next(); moving { // its load is sampled every heartbeat
		return soon, true
	}
	if len(s.jobs.arrivals) > 0 {
		if t := s.work.Jobs[s.jobs.arrivals[0]].Submit; !ok || t < at {
			at, ok = t, true
		}
	}
	if s.params.Speculation {
		at, ok = s.jobs.wake(s.now, at, ok)
	}
	if t, left := s.faults.next(); left && (!ok || t < at) && s.jobs.left() {
		at, ok = t, true
	}
	if !ok {
		return 0, false
	}
	return max((at+beat-1)/beat*beat, soon), true
}

// happen runs everything up to and including a time.
func (s *Sim) happen(until model.Time) {
	for {
		at, ok := s.events.next()
		if moved, moving := s.net.Next(); moving && moved <= until && (!ok || moved <= at) {
			s.net.Advance(moved, s.arrived)
			continue
		}
		if !ok || at > until {
			break
		}
		s.net.Advance(at, s.arrived)
		e := s.events.pop()
		s.book.events++
		s.end(e.attempt, at)
	}
	s.net.Advance(until, s.arrived)
}

// offer gives every node that has room to the policy, as its heartbeat would.
func (s *Sim) offer() {
	// Heartbeats are spread over the second, and jobs come at any time in it: each round begins anywhere.
	first := s.beats.IntN(len(s.order))
	round := func(k int) int32 { return s.order[(first+k)%len(s.order)] }
	s.startMasters(round)
	if !s.desk.startable(&s.jobs.free) {
		return
	}
	for k := range s.order {
		i := round(k)
		n := &s.layout.nodes[i]
		for pool, kind := range s.layout.kinds {
			if n.used[pool] < n.total[pool] && s.desk.demand[pool] > 0 {
				s.heartbeat(int(i), n, pool, kind)
			}
		}
		if !s.desk.startable(&s.jobs.free) || s.jobs.failed != nil {
			break
		}
	}
}

// heartbeat offers a node's places of one kind until they are full or nothing is
// placed there; once, unless Params.Multiple.
func (s *Sim) heartbeat(i int, n *node, pool int, kind model.Stage) {
	for n.used[pool] < n.total[pool] {
		began := s.params.clock()
		placed, err := s.engine.Offer(policy.Offer{Node: s.state.View().Node(n.id), Kinds: kind})
		s.book.engine += s.params.clock() - began
		if err != nil {
			s.jobs.failed = err
		}
		if len(placed) == 0 {
			return
		}
		for _, p := range placed {
			j := s.jobs.byID[p.App]
			s.launch(j, &p, i)
			if s.jobs.failed == nil {
				s.tellLaunch(j)
			}
		}
		if !s.params.Multiple {
			return
		}
	}
}

// stuck says of the first job that waits what it waits for.
func (t *jobTable) stuck() string {
	if len(t.live) == 0 {
		return "all of them for the container of their ApplicationMaster"
	}
	j := t.live[0]
	m, r := j.count(model.StageMap), j.count(model.StageReduce)
	return fmt.Sprintf("%s has %d of %d maps and %d of %d reduces done, %d maps pending, %d reduces asked for",
		j.id, m.completed, m.total, r.completed, r.total, m.pending(), r.asked)
}

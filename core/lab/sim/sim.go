// Package sim simulates a Hadoop cluster that runs a workload under one policy:
// discrete events in whole milliseconds and bytes, one goroutine, the same input
// and seed the same result.
//
// It drives the engine the service runs. A policy sees the View of a state.Cluster
// alone, to which the simulator reports at every heartbeat what ResourceManager,
// ApplicationMasters and NameNode would report (report.go). A node's
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
	"heddle/core/lab/sim/network"
	"heddle/core/lab/workload"
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/state"
	"heddle/core/topology"
)

// Sim is one run: the world, and the scheduler that sees its reports and answers
// its heartbeats.
type Sim struct {
	world
	state          *state.Cluster
	engine         *engine.Engine
	heartbeatOrder []int32 // nodes in the order of their heartbeats
	heartbeatRand  *rand.Rand
	buffers        reportBuffers
}

// world is the cluster, its jobs and what moves in it.
type world struct {
	params        Params
	cluster       *Cluster
	work          *workload.Workload
	layout        layout
	hdfs          hdfs
	stragglerRand *rand.Rand // draws which attempts straggle; nil where none does
	copyRand      *rand.Rand // draws the rack of the copy of what a task writes
	net           *network.Fast

	now     model.Time
	events  queue
	running attempts
	owners  transferOwners // whose transfers the network carries
	jobs    jobTable
	updates pendingUpdates
	stats   runStats
	faults  *faults // nil without
}

// New prepares a run of a workload on a cluster under a policy of a name.
func New(p Params, c Cluster, w *workload.Workload, name string, pol policy.Policy) (*Sim, error) {
	if err := errors.Join(p.Validate(), c.Validate(), p.fits(&c), c.fitsHeartbeat(p.Heartbeat)); err != nil {
		return nil, err
	}
	if err := errors.Join(CheckSupported(w, &p), checkNodes(w, &c), checkLosses(p.Losses, &c)); err != nil {
		return nil, err
	}
	net, err := newNetwork(&c, p.Network)
	if err != nil {
		return nil, err
	}
	l := newLayout(&c)
	s := &Sim{
		world: world{params: p, cluster: &c, work: w, layout: l, net: net, events: newQueue(), jobs: newJobTable(w), stats: newBook(&c, w)},
		state: state.New(stateConfig(&c, &l, &p)),
	}
	s.layout.background = newBackground(&c, net)
	s.faults = newFaults(p.Losses, &s.layout)
	s.jobs.free = c.places()
	s.hdfs = hdfs{layout: &s.layout, replication: c.Replication, seed: p.Seed}
	s.copyRand = rand.New(rand.NewPCG(p.Seed, 1))
	s.engine = engine.New(engine.Options{Name: name}, pol, s.state)
	for i := range s.layout.nodes {
		s.heartbeatOrder = append(s.heartbeatOrder, int32(i))
	}
	if p.Straggler > 0 {
		s.stragglerRand = rand.New(rand.NewPCG(p.Seed, 3))
	}
	s.heartbeatRand = rand.New(rand.NewPCG(p.Seed, 2))
	s.heartbeatRand.Shuffle(len(s.heartbeatOrder), func(i, j int) { s.heartbeatOrder[i], s.heartbeatOrder[j] = s.heartbeatOrder[j], s.heartbeatOrder[i] })
	s.reportAllNodes()
	return s, nil
}

// CheckSupported reports jobs whose form is not simulated where nodes are lost or
// attempts are speculated on.
func CheckSupported(w *workload.Workload, p *Params) error {
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

// checkNodes reports a stage that names a node that the cluster does not have.
func checkNodes(w *workload.Workload, c *Cluster) error {
	for i := range w.Jobs {
		if n := w.Jobs[i].AMRanOn; n != (workload.Node{}) && !c.has(n) {
			return fmt.Errorf("job %s: its ApplicationMaster ran on node %d of rack %d, and the cluster has no such node", w.Jobs[i].ID, n.Number, n.Rack)
		}
		for k := range w.Jobs[i].Stages {
			if n, ok := w.Jobs[i].Stages[k].Beyond(c.has); ok {
				return fmt.Errorf("job %s: stage %s names node %d of rack %d, and the cluster has no such node", w.Jobs[i].ID, w.Jobs[i].Stages[k].Name, n.Number, n.Rack)
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
	cfg.TaskDefault, cfg.Slots = c.Container, l.slotsByNode(c)
	cfg.FinishedJobs = 16
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
	return r, r.verify(s.stats.roundingSlack())
}

// stuckAfter is the time without the end of any task after which a run is stuck.
const stuckAfter = 30 * 24 * 60 * model.Minute

// advance goes on to the next heartbeat at which anything can happen; false when
// all is done.
func (s *Sim) advance() bool {
	next, ok := s.nextHeartbeat()
	if !ok {
		return false
	}
	if s.now.Sub(s.stats.lastProgress) > stuckAfter && len(s.jobs.live)+len(s.jobs.waiting) > 0 {
		s.jobs.failed = fmt.Errorf("from %.0f s on no task has ended for 30 days, and %d jobs wait: %s",
			s.stats.lastProgress.Sub(0).Seconds(), len(s.jobs.live)+len(s.jobs.waiting), s.jobs.describeStuck())
		return true
	}
	s.stats.shares.samplesUntil(&s.world, next)
	s.layout.background.moveBefore(s, next)
	s.faults.applyUntil(s, next)
	s.runUntil(next)
	s.now = next
	s.submitDue()
	s.stats.sampleLinks(&s.world)
	if s.params.Speculation {
		s.running.speculate(&s.world)
	}
	s.reportChanges()
	if s.jobs.steering != nil {
		if err := s.jobs.steering.steer(s); err != nil {
			s.jobs.failed = err
			return true
		}
	}
	s.offer()
	s.faults.removeFailed(&s.world)
	s.preemptReduces()
	return true
}

// nextHeartbeat returns the next heartbeat at which a task may start, or something
// may end or arrive; false when the run is over.
func (s *Sim) nextHeartbeat() (model.Time, bool) {
	beat := model.Time(s.params.Heartbeat)
	soon := s.now + beat - s.now%beat
	if s.updates.canStart(&s.jobs.free) || len(s.jobs.waiting) > 0 && s.jobs.free.sum() > 0 {
		return soon, true
	}
	at, ok := s.events.next()
	if s.updates.demand.sum() > 0 && !ok { // reduces hold every container, until some are preempted
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
		at, ok = s.jobs.nextSpeculation(s.now, at, ok)
	}
	if t, left := s.faults.next(); left && (!ok || t < at) && s.jobs.anyLeft() {
		at, ok = t, true
	}
	if !ok {
		return 0, false
	}
	return max((at+beat-1)/beat*beat, soon), true
}

// runUntil runs all ends of attempts and transfers up to and including a time.
func (s *Sim) runUntil(until model.Time) {
	for {
		at, ok := s.events.next()
		if moved, moving := s.net.Next(); moving && moved <= until && (!ok || moved <= at) {
			s.net.Advance(moved, s.transferDone)
			continue
		}
		if !ok || at > until {
			break
		}
		s.net.Advance(at, s.transferDone)
		e := s.events.pop()
		s.stats.events++
		s.endAttempt(e.attempt, at)
	}
	s.net.Advance(until, s.transferDone)
}

// offer gives every node that has room to the policy, as its heartbeat would.
func (s *Sim) offer() {
	// Heartbeats are spread over the second, and jobs come at any time in it: each round begins anywhere.
	first := s.heartbeatRand.IntN(len(s.heartbeatOrder))
	round := func(k int) int32 { return s.heartbeatOrder[(first+k)%len(s.heartbeatOrder)] }
	s.startAppMasters(round)
	if !s.updates.canStart(&s.jobs.free) {
		return
	}
	for k := range s.heartbeatOrder {
		i := round(k)
		n := &s.layout.nodes[i]
		for pool, kind := range s.layout.offerKinds {
			if n.used[pool] < n.total[pool] && s.updates.demand[pool] > 0 {
				s.heartbeat(int(i), n, pool, kind)
			}
		}
		if !s.updates.canStart(&s.jobs.free) || s.jobs.failed != nil {
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
		s.stats.engineSeconds += s.params.clock() - began
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
				s.reportLaunch(j)
			}
		}
		if !s.params.Multiple {
			return
		}
	}
}

// describeStuck says of the first job that waits what it waits for.
func (t *jobTable) describeStuck() string {
	if len(t.live) == 0 {
		return "all of them for the container of their ApplicationMaster"
	}
	j := t.live[0]
	m, r := j.count(model.StageMap), j.count(model.StageReduce)
	return fmt.Sprintf("%s has %d of %d maps and %d of %d reduces done, %d maps pending, %d reduces asked for",
		j.id, m.completed, m.total, r.completed, r.total, m.pending(), r.asked)
}

package sim

import (
	"cmp"
	"slices"

	"heddle/core/lab/workload"
	"heddle/core/model"
	"heddle/core/policy"
)

// NewAsRan prepares a run of a workload of measured tasks in which each is started on the
// node it ran on, as soon as that has room and the task is asked for, and each node starts
// what it started in the order it was measured to. Tasks whose node is not known start on any.
// ApplicationMasters start where they ran, too.
func NewAsRan(p Params, c Cluster, w *workload.Workload) (*Sim, error) {
	of := &asRan{}
	s, err := New(p, c, w, AsRan, of)
	if err != nil {
		return nil, err
	}
	of.world, s.jobs.asRan = &s.world, newLaunchOrder(&s.world)
	return s, nil
}

// AsRan names the runs of NewAsRan in results.
const AsRan = "recorded"

// asRan answers offers by where tasks ran.
type asRan struct{ world *world }

// patience is how long a node waits for a task or an ApplicationMaster that it was measured to start
// before others, and how long a job, or its ApplicationMaster, waits for the nodes that its tasks ran on
// while nothing of it goes on: those that wait may wait for each other.
const patience = 30 * model.Second

// Place implements policy.Policy: of the tasks for the node a map before any other, and the first
// job by arrival.
func (a *asRan) Place(in *policy.Input) []model.Placement {
	node := a.world.layout.byID[in.Offer.Node.ID]
	for _, kind := range [...]model.Stage{model.StageMap, model.StageReduce} {
		for _, j := range a.world.jobs.live {
			i := j.startable(kind)
			if i < 0 || a.world.ranOn(node, j, i) < 0 {
				continue
			}
			of := in.View.Job(j.id)
			if of == nil {
				continue
			}
			if s := of.Stage(kind); s != nil && in.Admits(s) {
				return in.Launch(of, s, model.ReasonFIFO)
			}
		}
	}
	return nil
}

// launchOrder is what each node was measured to start, in that order. A nil order is of a
// run in which tasks start anywhere.
type launchOrder struct {
	nodes []nodeOrder
	jobs  []*job // by index in the workload; nil until submitted
}

// nodeOrder is what one node was measured to start.
type nodeOrder struct {
	launches []launch
	next     int        // all before it have started
	since    model.Time // launches[next] has waited to be asked for since then; noTime if it does not
}

// launch is the start of a task, or of an ApplicationMaster.
type launch struct {
	at               model.Time
	job, stage, task int // stage is amStage for an ApplicationMaster
}

const (
	amStage = -1
	noTime  = model.Time(-1)
)

// newLaunchOrder lists all of which it is known where and when it started.
func newLaunchOrder(s *world) *launchOrder {
	o := &launchOrder{nodes: make([]nodeOrder, len(s.layout.nodes)), jobs: make([]*job, len(s.work.Jobs))}
	add := func(on workload.Node, l launch) {
		if l.at > 0 && on != (workload.Node{}) {
			n := &o.nodes[s.layout.nodeAt(on)]
			n.launches = append(n.launches, l)
		}
	}
	for i := range s.work.Jobs {
		j := &s.work.Jobs[i]
		if s.params.AMStart > 0 { // else it has no container
			add(j.AMRanOn, launch{j.AMLaunched, i, amStage, 0})
		}
		for k := range j.Stages {
			for task := range j.Stages[k].Measured {
				m := &j.Stages[k].Measured[task]
				add(m.RanOn, launch{m.Launched, i, k, task})
			}
		}
	}
	for i := range o.nodes {
		n := &o.nodes[i]
		n.since = noTime
		slices.SortStableFunc(n.launches, func(a, b launch) int { return cmp.Compare(a.at, b.at) })
	}
	return o
}

// rewind has every node look again at what it has started: a task waits again.
func (o *launchOrder) rewind() {
	if o == nil {
		return
	}
	for i := range o.nodes {
		o.nodes[i].next = 0
	}
}

// due returns what a node starts next, nil if nothing: the first it has not started. Where nobody has
// asked for that while patience lasts, it is the first after it that is asked for.
func (o *launchOrder) due(node int, now model.Time) *launch {
	n := &o.nodes[node]
	for ; n.next < len(n.launches); n.next++ {
		if !o.hasStarted(&n.launches[n.next]) {
			break
		}
		n.since = noTime
	}
	for i := n.next; i < len(n.launches); i++ {
		l := &n.launches[i]
		if !o.hasStarted(l) && o.isAsked(l) {
			if i == n.next {
				n.since = noTime
			}
			return l
		}
		if n.since == noTime {
			n.since = now
		}
		if now.Sub(n.since) <= patience {
			return nil
		}
	}
	return nil
}

func (o *launchOrder) hasStarted(l *launch) bool {
	j := o.jobs[l.job]
	switch {
	case j == nil:
		return false
	case l.stage == amStage:
		return j.amNode != noNode
	}
	return j.stages[l.stage].state[l.task] != waiting
}

// isAsked reports whether something that has not started may: its ApplicationMaster asks for the task, or the job was submitted.
func (o *launchOrder) isAsked(l *launch) bool {
	j := o.jobs[l.job]
	if j == nil || l.stage == amStage {
		return j != nil
	}
	return j.isAsking && j.startable(j.stages[l.stage].kind) == l.stage
}

// nextAM takes the first waiting job whose ApplicationMaster may start on a node off the list: where
// jobs run as they ran one whose turn it is there, that nobody knows of, or that has waited long; else any.
func (s *world) nextAM(node int) *job {
	t := &s.jobs
	i := 0
	if t.asRan != nil {
		due := t.asRan.due(node, s.now)
		i = slices.IndexFunc(t.waiting, func(j *job) bool {
			switch {
			case due != nil && due.job == j.index && due.stage == amStage, s.now.Sub(max(j.amSince, j.spec.AMLaunched)) > patience:
				return true
			case j.spec.AMLaunched > 0:
				return false
			}
			on := j.spec.AMRanOn
			return on == (workload.Node{}) || s.layout.nodeAt(on) == node
		})
	}
	if i < 0 {
		return nil
	}
	j := t.waiting[i]
	t.waiting = slices.Delete(t.waiting, i, i+1)
	return j
}

// ranOn returns the waiting task of a stage that is to start on a node, -1 without: the one whose turn
// it is, one that ran there at a time that nobody knows, one of which nobody knows where it ran. Where it is
// no other's turn any will do that the job has waited for long.
func (s *world) ranOn(node int, j *job, stage int) int {
	t := &j.stages[stage]
	due := s.jobs.asRan.due(node, s.now)
	if due != nil && due.job == j.index && due.stage == stage {
		return due.task
	}
	if t.ranOnNode == nil {
		nowhere := len(s.layout.nodes)
		lists := newLists(nowhere+1, func(add func(place, task int)) {
			for task, state := range t.state {
				if state != waiting {
					continue
				}
				switch on, at := t.spec.RanOn(task); {
				case on == (workload.Node{}):
					add(nowhere, task)
				case at == 0:
					add(s.layout.nodeAt(on), task)
				}
			}
		})
		t.ranOnNode = &lists
	}
	task := t.ranOnNode.first(node, t.state)
	if task < 0 {
		task = t.ranOnNode.first(len(s.layout.nodes), t.state)
	}
	if task < 0 && due == nil && s.now.Sub(j.starvedSince) > patience {
		task = slices.Index(t.state, waiting)
		if _, launched := t.spec.RanOn(max(task, 0)); s.now.Sub(launched) <= patience {
			task = -1
		}
	}
	return task
}

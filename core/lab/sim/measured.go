package sim

import (
	"slices"

	"heddle/core/lab/workload"
	"heddle/core/model"
	"heddle/core/policy"
)

// has reports whether the cluster has a node.
func (c *Cluster) has(n workload.Node) bool {
	return n.Rack <= len(c.Racks) && n.Number <= c.Racks[n.Rack-1].Nodes
}

// nodeAt returns the number of a node that the cluster has.
func (l *layout) nodeAt(n workload.Node) int { return l.rackNodes[n.Rack-1][n.Number-1] }

// placeMeasured places what tasks were measured to read where it lay; on nodes that HDFS
// draws where that is not known.
func (s *world) placeMeasured(t *stage, h *hdfs) {
	var drawn func() int
	if len(t.spec.Reads) > 0 {
		drawn = h.writers(&t.spec.Reads[0])
	}
	var replicas []int32
	for task := range t.total {
		m := &t.spec.Measured[task]
		replicas = replicas[:0]
		for _, n := range m.Replicas {
			replicas = append(replicas, int32(s.layout.nodeAt(n))) //nolint:gosec // of the cluster's nodes
		}
		if len(replicas) == 0 && m.Read > 0 {
			replicas = h.replicas(replicas, drawn())
		}
		t.setBlock(task, m.Read, replicas)
	}
	t.listByPlace(&s.layout)
}

// mostReplicas returns how many replicas a block of a stage has at most: as many as measured, or
// dfs.replication.
func mostReplicas(s *workload.Stage, replication int) int {
	for i := range s.Measured {
		replication = max(replication, len(s.Measured[i].Replicas))
	}
	return replication
}

// NewAsRan prepares a run of a workload of measured tasks in which each is started on the
// node it ran on, as soon as that has room and the task is asked for. Tasks whose node is
// not known start on any. ApplicationMasters start where they ran, too.
func NewAsRan(p Params, c Cluster, w *workload.Workload) (*Sim, error) {
	of := &asRan{}
	s, err := New(p, c, w, AsRan, of)
	if err != nil {
		return nil, err
	}
	of.world, s.jobs.asRan = &s.world, true
	return s, nil
}

// AsRan names the runs of NewAsRan in results.
const AsRan = "recorded"

// asRan answers offers by where tasks ran.
type asRan struct{ world *world }

// patience is how long a job, or its ApplicationMaster, waits for the nodes that its tasks ran on
// while nothing of it goes on: those that wait for nodes may wait for each other.
const patience = 30 * model.Second

// Place implements policy.Policy: of the tasks for the node a map before any other, and the first
// job by arrival.
func (a *asRan) Place(in *policy.Input) []model.Placement {
	node := a.world.layout.byID[in.Offer.Node.ID]
	for _, kind := range [...]model.Stage{model.StageMap, model.StageReduce} {
		for _, j := range a.world.jobs.live {
			i := j.startable(kind)
			if i < 0 || a.world.ranOn(node, j, &j.stages[i]) < 0 {
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

// nextAM takes the first waiting job whose ApplicationMaster may start on a node off the list: where
// jobs run as they ran one that ran there, that nobody knows of, or that has waited long; else any.
func (s *world) nextAM(node int) *job {
	t := &s.jobs
	i := 0
	if t.asRan {
		i = slices.IndexFunc(t.waiting, func(j *job) bool {
			on := j.spec.AMRanOn
			return on == (workload.Node{}) || s.layout.nodeAt(on) == node || s.now.Sub(j.amSince) > patience
		})
	}
	if i < 0 {
		return nil
	}
	j := t.waiting[i]
	t.waiting = slices.Delete(t.waiting, i, i+1)
	return j
}

// ranOn returns the first waiting task of a stage that ran on a node, or of which nobody
// knows where it ran; -1 without. Any will do once the job has waited long.
func (s *world) ranOn(node int, j *job, t *stage) int {
	if t.ranOnNode == nil {
		nowhere := len(s.layout.nodes)
		lists := newLists(nowhere+1, func(add func(place, task int)) {
			for task, state := range t.state {
				if state != waiting {
					continue
				}
				if on := t.spec.RanOn(task); on == (workload.Node{}) {
					add(nowhere, task)
				} else {
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
	if task < 0 && s.now.Sub(j.starvedSince) > patience {
		task = slices.Index(t.state, waiting)
	}
	return task
}

// levelOn returns the locality of a task on a node.
func (s *source) levelOn(task, node int, l *layout) model.Locality {
	level := model.OffSwitch
	for _, n := range s.in.knownReplicas(task, l) {
		switch {
		case int(n) == node:
			return model.NodeLocal
		case l.nodes[n].rack == l.nodes[node].rack:
			level = model.RackLocal
		}
	}
	return level
}

package sim

import (
	"cmp"
	"slices"

	"heddle/core/lab/workload"
	"heddle/core/model"
)

// jobTable holds the jobs of the run: those to come, those that run, and what
// jobs that read others wait for.
type jobTable struct {
	arrivals   []int // indices of jobs that wait for nothing but their time, by submit time
	chains     chains
	waiting    []*job // for the container of their ApplicationMaster, by arrival
	appMasters int    // ApplicationMasters that have theirs
	live       []*job // by arrival
	byID       map[model.AppID]*job
	free       pools // containers or slots
	finished   int
	failed     error
	asRan      *launchOrder // by which tasks start on the nodes they ran on; nil where they start anywhere
	steering   *steering    // the relay that their asks go through; nil without one
}

// chains are the jobs that read each other's output. All slices are by job.
type chains struct {
	openParents []int        // parents that are not done
	released    []model.Time // when the last parent was done
	children    [][]int
	outputs     [][]int32 // nodes that hold its output, for its children
	rootOf      []int     // the first job of its workflow
	members     [][]int   // of a workflow, by its first job
}

// anyLeft reports whether any job has not ended.
func (t *jobTable) anyLeft() bool { return len(t.live)+len(t.waiting)+len(t.arrivals)+t.appMasters > 0 }

func newJobTable(w *workload.Workload) jobTable {
	n := len(w.Jobs)
	t := jobTable{byID: map[model.AppID]*job{}, chains: chains{
		openParents: make([]int, n), released: make([]model.Time, n), children: make([][]int, n), outputs: make([][]int32, n),
		rootOf: make([]int, n), members: make([][]int, n),
	}}
	c := &t.chains
	for i := range w.Jobs {
		c.rootOf[i] = i
		c.openParents[i] = len(w.Jobs[i].Parents)
		for _, parent := range w.Jobs[i].Parents {
			c.children[parent] = append(c.children[parent], i)
			c.join(i, parent)
		}
		if c.openParents[i] == 0 {
			t.arrivals = append(t.arrivals, i)
		}
	}
	for i := range w.Jobs {
		root := c.root(i)
		c.members[root] = append(c.members[root], i)
	}
	slices.SortStableFunc(t.arrivals, func(a, b int) int { return cmp.Compare(w.Jobs[a].Submit, w.Jobs[b].Submit) })
	return t
}

// root returns the first job of a job's workflow.
func (c *chains) root(i int) int {
	for c.rootOf[i] != i {
		c.rootOf[i] = c.rootOf[c.rootOf[i]]
		i = c.rootOf[i]
	}
	return i
}

func (c *chains) join(a, b int) {
	a, b = c.root(a), c.root(b)
	c.rootOf[max(a, b)] = min(a, b)
}

// finish ends a job, and lets those that read its output begin.
func (t *jobTable) finish(s *world, j *job, at model.Time) {
	t.leave(s, j, at)
	t.finished++
	s.stats.jobFinished(j, at)
	t.release(s.work, j.index, at, j.outputNodes)
}

// leave removes an ended job, with its attempts and what it asks for.
func (t *jobTable) leave(s *world, j *job, at model.Time) {
	busy := false
	for i := range j.stages {
		s.updates.demand[s.layout.pool(j.stages[i].kind)] -= j.stages[i].pending()
		busy = busy || j.stages[i].running > 0
	}
	if busy {
		s.running.stopAll(s, j, at)
	}
	t.live = slices.DeleteFunc(t.live, func(o *job) bool { return o == j })
	delete(t.byID, j.id)
	j.isAsking = false
	if j.amNode != noNode {
		t.appMasters--
		s.vacate(&s.layout.nodes[j.amNode], j, 0, at.Sub(j.amSince))
	}
	for i := range j.stages {
		for _, e := range j.stages[i].inputs {
			if e.shuffle != noID {
				s.net.RemoveJob(e.shuffle)
			}
		}
	}
	s.updates.endedJobs = append(s.updates.endedJobs, j)
}

// release adds the jobs that waited for a finished job alone to the arrivals.
func (t *jobTable) release(w *workload.Workload, done int, at model.Time, output []int32) {
	c := &t.chains
	if len(c.children[done]) > 0 {
		c.outputs[done] = output
	}
	for _, child := range c.children[done] {
		c.released[child] = max(c.released[child], at)
		if c.openParents[child]--; c.openParents[child] > 0 {
			continue
		}
		i, _ := slices.BinarySearchFunc(t.arrivals, w.Jobs[child].Submit, func(i int, at model.Time) int { return cmp.Compare(w.Jobs[i].Submit, at) })
		t.arrivals = slices.Insert(t.arrivals, i, child)
	}
}

// workflow returns what a job's configuration says of the jobs it belongs to, as
// Hive and Pig write it; nil for a job on its own.
func (t *jobTable) workflow(w *workload.Workload, i int) *model.Workflow {
	c := &t.chains
	members := c.members[c.root(i)]
	if len(members) < 2 {
		return nil
	}
	f := &model.Workflow{ID: string(w.Jobs[members[0]].ID), Node: string(w.Jobs[i].ID)}
	for _, m := range members {
		if len(c.children[m]) == 0 {
			continue
		}
		e := model.WorkflowEdges{Node: string(w.Jobs[m].ID)}
		for _, child := range c.children[m] {
			e.Next = append(e.Next, string(w.Jobs[child].ID))
		}
		f.Edges = append(f.Edges, e)
	}
	slices.SortFunc(f.Edges, func(a, b model.WorkflowEdges) int { return cmp.Compare(a.Node, b.Node) })
	return f
}

// outputNodes returns the nodes that hold the output of another job, none for other files.
func (c *chains) outputNodes(f *workload.File) []int32 {
	if f.Place != workload.OfParent {
		return nil
	}
	return c.outputs[f.Parent]
}

// Package policytest holds the conformance suite every registered policy has to
// pass, and the clusters it is run on.
//
// A Scene describes a cluster in plain values; the cluster state it becomes is
// built from observations alone, as a source would send them. Generate draws
// scenes, Run holds a registry to the suite. It is imported by tests only.
package policytest

import (
	"slices"

	"heddle/core/model"
	"heddle/core/state"
)

// Epoch is the time scenes are set at: far from zero, so that ages make sense.
const Epoch model.Time = 1_000_000_000

// Scene is a cluster at one moment.
type Scene struct {
	Nodes []model.Node
	Apps  []App
	// Loads are the uplink loads of the racks, of Capacity in each direction.
	Loads    []model.UplinkSample
	Capacity model.BytesPerSecond
	Config   state.Config // Uplinks and UplinkMethod are set by Cluster
}

// App is one application with what sources report of it.
type App struct {
	model.App
	Maps, Reduces []model.Task
	MapTask       model.Resource // size of a map
	ReduceTask    model.Resource
	Input         []model.Block
	Slowstart     float64
	Blacklist     []string
	// Rows reports pending maps by the ask table; otherwise each pending map names its preferred hosts itself.
	Rows bool
	// MapInput and MapOutput are the job counters, model.Unknown for counters that were not read.
	MapInput, MapOutput model.Bytes
	// Workflow is the chain of jobs it is of, nil for none; Written what it has written in all, reported if above 0.
	Workflow *model.Workflow
	Written  model.Bytes
	Fetched  model.Bytes // by reduces, of MapOutput; reported with the job counters if above 0
	Unasked  int         // of the pending reduces, those that are not asked for
}

// Count returns how many of the tasks are in a state.
func Count(tasks []model.Task, s model.TaskState) int {
	n := 0
	for i := range tasks {
		if tasks[i].State == s {
			n++
		}
	}
	return n
}

// Cluster builds the state by applying the scene's facts in the order sources report
// them.
func (s Scene) Cluster() *state.Cluster {
	cfg := s.Config
	cfg.Uplinks.Default.Out, cfg.Uplinks.Default.In = s.Capacity, s.Capacity
	cfg.UplinkMethod = state.MethodPrometheus
	facts := s.fromRM()
	for i := range s.Apps {
		facts = append(facts, s.Apps[i].observations()...)
	}
	if len(s.Loads) > 0 {
		facts = append(facts, observed(model.SourceUplink, model.UplinkFact{Method: state.MethodPrometheus, Samples: s.Loads}))
	}
	c := state.New(cfg)
	for _, o := range facts {
		c.Apply(o)
	}
	c.Advance(Epoch)
	return c
}

// fromRM is what the ResourceManager reports.
func (s *Scene) fromRM() []model.Observation {
	apps := make([]model.App, len(s.Apps))
	for i := range apps {
		apps[i] = s.Apps[i].App
	}
	return []model.Observation{
		observed(model.SourceRM, model.NodesFact{Nodes: s.Nodes}), observed(model.SourceRM, model.AppsFact{Apps: apps}),
		observed(model.SourceRM, model.PollFact{Result: model.PollOK}),
	}
}

func observed(src model.Source, f model.Fact) model.Observation {
	return model.Observation{Source: src, At: Epoch, Fact: f}
}

func (a *App) observations() []model.Observation {
	path := "/in/" + string(a.ID)
	tasks := a.Reduces
	if a.Rows {
		for i := range a.Maps {
			t := a.Maps[i]
			t.Preferred = nil
			tasks = append(slices.Clone(tasks), t)
		}
	} else {
		tasks = append(slices.Clone(tasks), a.Maps...)
	}
	out := []model.Observation{
		observed(model.SourceRM, model.AsksFact{App: a.ID, Rows: a.rows()}),
		observed(model.SourceRM, model.ContainersFact{App: a.ID, Blacklist: a.Blacklist}),
		observed(model.SourceMapReduce, model.JobConfFact{App: a.ID, Inputs: []string{path}, Slowstart: a.Slowstart, Workflow: a.Workflow}),
		observed(model.SourceHDFS, model.BlocksFact{Path: path, Files: 1, Blocks: a.Input}),
		observed(model.SourceMapReduce, model.JobFact{
			App:       a.ID,
			MapsTotal: len(a.Maps), MapsPending: Count(a.Maps, model.TaskPending), MapsRunning: Count(a.Maps, model.TaskRunning),
			MapsCompleted: Count(a.Maps, model.TaskSucceeded),
			ReducesTotal:  len(a.Reduces), ReducesPending: max(Count(a.Reduces, model.TaskPending)-a.Unasked, 0),
			ReducesRunning: Count(a.Reduces, model.TaskRunning), ReducesCompleted: Count(a.Reduces, model.TaskSucceeded),
		}),
		observed(model.SourceMapReduce, model.TasksFact{App: a.ID, Tasks: tasks}),
	}
	if a.MapOutput >= 0 {
		fetched, written := model.Unknown, model.Unknown
		if a.Fetched > 0 {
			fetched = a.Fetched
		}
		if a.Written > 0 {
			written = a.Written
		}
		out = append(out, observed(model.SourceMapReduce, model.CountersFact{
			App: a.ID, MapOutput: a.MapOutput, MapInput: a.MapInput,
			ReduceShuffle: fetched, HDFSWritten: written,
		}))
	}
	return out
}

// rows is the application's ask table, as RMContainerRequestor would build it:
// one row per host and per rack a pending map names, and one for any node.
func (a *App) rows() []model.AskRow {
	rows := []model.AskRow{{
		Priority: model.PriorityReduce, ResourceName: model.AnyName, Capability: a.ReduceTask,
		Count: Count(a.Reduces, model.TaskPending), RelaxLocality: true,
	}}
	row := func(name string) {
		for i := range rows {
			if rows[i].Priority == model.PriorityMap && rows[i].ResourceName == name {
				rows[i].Count++
				return
			}
		}
		rows = append(rows, model.AskRow{Priority: model.PriorityMap, ResourceName: name, Capability: a.MapTask, Count: 1, RelaxLocality: true})
	}
	for i := range a.Maps {
		t := &a.Maps[i]
		if t.State != model.TaskPending {
			continue
		}
		for _, host := range t.Preferred {
			row(host)
		}
		for _, rack := range a.racksOf(t) {
			row(string(rack))
		}
		row(model.AnyName)
	}
	return rows
}

// racksOf returns the distinct racks of a map's preferred hosts: those of the
// block it reads.
func (a *App) racksOf(t *model.Task) []model.RackID {
	if t.Index >= len(a.Input) {
		return nil
	}
	racks := slices.Clone(a.Input[t.Index].Racks)
	slices.Sort(racks)
	return slices.Compact(racks)
}

// Locality returns the best locality a pending map of the application has on a
// node by the scene alone; false if it has no pending map.
func (s Scene) Locality(a *App, n *model.Node) (model.Locality, bool) {
	best, found := model.OffSwitch, false
	for i := range a.Maps {
		t := &a.Maps[i]
		if t.State != model.TaskPending {
			continue
		}
		found = true
		switch {
		case slices.Contains(t.Preferred, n.Host):
			best = model.NodeLocal
		case slices.Contains(a.racksOf(t), n.Rack):
			best = min(best, model.RackLocal)
		}
	}
	return best, found
}

package account_test

import (
	"testing"

	"heddle/core/model"
	"heddle/core/state/snapshot"
)

// TestGrantedReduces: of a job with as much map output on rack 0 as on rack 1, reduces are judged by the rack they are
// granted on and the plan then in force.
func TestGrantedReduces(t *testing.T) {
	t.Parallel()
	one := model.Resource{MemoryMiB: 1024, VCores: 1}
	targets := func(counts ...int) *model.Plan {
		p := &model.Plan{App: app, Stage: model.StageReduce, Rank: 1, Reason: model.ReasonMapOutput}
		for r, n := range counts {
			if n > 0 {
				p.Racks = append(p.Racks, model.RackTarget{Rack: rack(r), Count: n})
			}
		}
		return p
	}
	dependents := targets(2)
	dependents.Reason = model.ReasonDependents
	for name, c := range map[string]struct {
		plan *model.Plan
		full bool // racks 0 and 1 have no room
		any  bool // the ResourceManager holds an ask that any rack may serve
		past bool // the job goes around the relay
		on   []int
		want snapshot.GrantedReduces
	}{
		"as planned":                       {targets(1, 1), false, false, false, []int{0, 1}, snapshot.GrantedReduces{OK: 2}},
		"a rack without output":            {targets(1, 1), false, false, false, []int{0, 2}, snapshot.GrantedReduces{OK: 1, NoOutput: 1}},
		"one, as those with it are full":   {targets(1, 1), true, false, false, []int{2, 2}, snapshot.GrantedReduces{OK: 2}},
		"a plan that loads one uplink":     {targets(2), false, false, false, []int{0, 1}, snapshot.GrantedReduces{Busier: 2}},
		"the same for jobs that read it":   {dependents, false, false, false, []int{0, 0}, snapshot.GrantedReduces{OK: 2}},
		"and where no output is":           {dependents, false, false, false, []int{0, 2}, snapshot.GrantedReduces{OK: 2}},
		"a plan of no racks, on any rack":  {targets(), false, false, false, []int{2, 2}, snapshot.GrantedReduces{}},
		"a plan that is not in force":      {targets(1, 1), false, true, false, []int{0, 2}, snapshot.GrantedReduces{}},
		"a job that goes around the relay": {targets(1, 1), false, false, true, []int{0, 2}, snapshot.GrantedReduces{}},
		"no plan":                          {nil, false, false, false, []int{2, 2}, snapshot.GrantedReduces{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newCluster()
			var nodes model.NodesFact
			for i := range 3 {
				n := model.Node{ID: model.NodeID(host(i) + ":1"), Host: host(i), Rack: rack(i), State: model.NodeRunning, Total: model.Resource{MemoryMiB: 8192, VCores: 8}}
				if c.full && i < 2 {
					n.Used = n.Total
				}
				nodes.Nodes = append(nodes.Nodes, n)
			}
			running := model.App{ID: app, User: "u", Queue: "root.q", Type: "MAPREDUCE", State: model.AppRunning, Submitted: 1}
			k.apply(nodes, model.AppsFact{Apps: []model.App{running}}, model.JobConfFact{App: app, Inputs: []string{"/in"}, MapTask: one, ReduceTask: one},
				model.JobFact{App: app, MapsTotal: 2, MapsCompleted: 2, ReducesTotal: 3, ReducesPending: 3},
				model.TasksFact{App: app, Tasks: []model.Task{task(model.StageMap, 0, 0, 1000), task(model.StageMap, 1, 1, 1000)}})
			if !c.past {
				relayed := model.AsksFact{App: app, Rows: []model.AskRow{{Priority: model.PriorityReduce, ResourceName: model.AnyName, Capability: one, Count: 3, RelaxLocality: true}}}
				k.state.Apply(model.Observation{Source: model.SourceRelay, At: k.at, Fact: relayed})
			}
			early := task(model.StageReduce, 2, 2, model.Unknown)
			if c.plan != nil {
				k.plans = []*model.Plan{c.plan}
				k.apply(model.TasksFact{App: app, Tasks: []model.Task{early}}) // granted before there was a plan: not judged
			}
			k.at += model.Time(5 * model.Second)
			if c.any {
				k.apply(model.AsksFact{App: app, Rows: []model.AskRow{{Priority: model.PriorityReduce, ResourceName: model.AnyName, Capability: one, Count: 2, RelaxLocality: true}}})
			}
			shown := []model.Container{{ID: "container_1_000009", Node: model.NodeID(host(2) + ":1"), Priority: model.PriorityReduce, Resource: one}}
			k.apply(model.ContainersFact{App: app, Containers: shown}) // of a reduce that is complete
			for i, on := range c.on {
				k.apply(model.TasksFact{App: app, Tasks: []model.Task{task(model.StageReduce, i, on, model.Unknown)}})
			}
			running.State = model.AppFinished
			k.apply(model.AppsFact{Apps: []model.App{running}}, model.JobFact{App: app, MapsTotal: 2, MapsCompleted: 2, ReducesTotal: 3, ReducesCompleted: 3, Done: true})
			if len(k.done) != 1 || k.done[0].Row().Granted != c.want {
				t.Fatalf("%d accounts, %+v, want %+v", len(k.done), k.done[0].Row().Granted, c.want)
			}
		})
	}
}

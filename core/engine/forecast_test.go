package engine_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/core/engine"
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/state"
)

// planned is a policy that places nothing and has the plans that are drawn when it is asked.
type planned func() []model.Plan

func (planned) Place(*policy.Input) []model.Placement { return nil }
func (p planned) Plan(*policy.Input) []model.Plan     { return p() }

// TestCostsFollowTheFacts: an engine that planned before gives a plan the costs that a new one does, whatever changed
// since: output, reduces that were launched, their number, racks that are open, or the plan.
func TestCostsFollowTheFacts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		draw := func(what string, lo, hi int) int { return rapid.IntRange(lo, hi).Draw(rt, what) }
		hosts := []string{"w11", "w21", "w31"}
		rack := func(i int) model.RackID { return model.RackID("/rack" + hosts[i][1:2]) }
		c := state.New(state.DefaultConfig())
		at := model.Time(10_000)
		apply := func(facts ...model.Fact) {
			for _, f := range facts {
				at += 100
				c.Apply(model.Observation{Source: model.SourceMapReduce, At: at, Fact: f})
			}
		}
		const all = 3
		size := model.Resource{MemoryMiB: 512, VCores: 1}
		nodes := func(down, used int) (f model.NodesFact) {
			for i, h := range hosts {
				n := model.Node{ID: model.NodeID(h + ":1"), Host: h, Rack: rack(i), State: model.NodeRunning, Total: size.Times(8), Used: size.Times(int64(used))}
				if i == down || down == all {
					n.State = model.NodeLost
				}
				f.Nodes = append(f.Nodes, n)
			}
			return f
		}
		task := func(stage model.Stage, i, on int, output model.Bytes) model.TasksFact {
			return model.TasksFact{App: id, Tasks: []model.Task{{
				Stage: stage, Index: i, State: model.TaskSucceeded, Host: hosts[on], Rack: rack(on), Input: model.Unknown, Output: output, Shuffled: model.Unknown,
			}}}
		}
		reduces, down := 4, -1
		apply(nodes(-1, 0), model.AppsFact{Apps: []model.App{{ID: id, User: "ann", Type: "MAPREDUCE", State: model.AppRunning, Submitted: 1000}}},
			model.JobConfFact{App: id, MapTask: size, ReduceTask: size},
			model.JobFact{App: id, MapsTotal: 6, MapsCompleted: 6, ReducesTotal: reduces, ReducesPending: reduces})
		for i := range 2 {
			apply(task(model.StageMap, i, i, 100))
		}
		counts := []int{2, 1, 1}
		plans := func(e *engine.Engine) []model.Plan {
			got, err := e.PlanJobs(c.View().Jobs())
			if err != nil {
				rt.Fatal(err)
			}
			return got
		}
		build := func() *engine.Engine {
			return engine.New(engine.DefaultOptions("test"), planned(func() []model.Plan {
				p := model.Plan{App: id, Stage: model.StageReduce, Rank: 1, Reason: model.ReasonMapOutput}
				for i, n := range counts {
					if n > 0 {
						p.Racks = append(p.Racks, model.RackTarget{Rack: rack(i), Count: n, Share: float64(n) / 4})
					}
				}
				return []model.Plan{p}
			}), c)
		}
		old := build()
		for range draw("steps", 1, 16) {
			switch draw("what", 0, 5) {
			case 0:
				apply(task(model.StageMap, draw("map", 0, 5), draw("on", 0, 2), model.Bytes(draw("output", 0, 1000))))
			case 1:
				apply(task(model.StageReduce, draw("reduce", 0, 3), draw("on", 0, 2), model.Unknown))
			case 2:
				reduces = draw("reduces", 4, 6)
				apply(model.JobFact{App: id, MapsTotal: 6, MapsCompleted: 6, ReducesTotal: reduces, ReducesPending: reduces})
			case 3:
				down = draw("down", -1, all)
				apply(nodes(down, 0))
			case 4:
				apply(nodes(down, rapid.SampledFrom([]int{0, 8}).Draw(rt, "used")))
			case 5:
				counts = slices.Clone(rapid.SampledFrom([][]int{{2, 1, 1}, {4, 0, 0}, {0, 2, 2}, {1, 1, 1}, {0, 0, 0}}).Draw(rt, "counts"))
			}
			if diff := cmp.Diff(plans(build()), plans(old)); diff != "" {
				rt.Fatalf("(-a new engine +one that planned before):\n%s", diff)
			}
		}
	})
}

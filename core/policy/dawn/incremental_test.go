package dawn_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/policy/dawn"
	"heddle/core/policy/policytest"
	"heddle/core/state"
)

// world changes a cluster at random.
type world struct {
	draw  policytest.Draw
	c     *state.Cluster
	scene policytest.Scene
	apps  []model.App
}

func (w *world) apply(src model.Source, f model.Fact) {
	w.c.Apply(model.Observation{Source: src, At: w.c.View().Now(), Fact: f})
}

// step makes one change.
func (w *world) step(p policy.Policy) {
	i := w.draw(0, max(len(w.apps)-1, 0))
	if len(w.apps) == 0 {
		return
	}
	app := &w.apps[i]
	a := &w.scene.Apps[i]
	rack := func() int { return w.draw(0, len(w.scene.Nodes)-1) }
	switch w.draw(0, 8) {
	case 0:
		a.Workflow = w.workflow()
		w.apply(model.SourceMapReduce, model.JobConfFact{App: app.ID, Inputs: []string{"/in/" + string(app.ID)}, Slowstart: a.Slowstart, Workflow: a.Workflow})
	case 1:
		w.apply(model.SourceMapReduce, model.CountersFact{
			App: app.ID, MapOutput: model.Bytes(w.draw(0, 900)), MapInput: model.Bytes(w.draw(1, 900)), HDFSWritten: model.Bytes(w.draw(-1, 500)), ReduceShuffle: -1,
		})
	case 2:
		app.State = []model.AppState{model.AppRunning, model.AppFinished, model.AppFailed}[w.draw(0, 2)]
		w.apply(model.SourceRM, model.AppsFact{Apps: slices.Clone(w.apps)})
	case 3:
		n := &w.scene.Nodes[rack()]
		n.Used.MemoryMiB = int64(w.draw(0, int(n.Total.MemoryMiB)))
		if w.draw(0, 5) == 0 {
			n.State = model.NodeLost
		}
		w.apply(model.SourceRM, model.NodesFact{Nodes: slices.Clone(w.scene.Nodes)})
	case 4:
		if len(a.Reduces) == 0 {
			return
		}
		t := &a.Reduces[w.draw(0, len(a.Reduces)-1)]
		n := &w.scene.Nodes[rack()]
		t.State, t.Host, t.Rack = []model.TaskState{model.TaskRunning, model.TaskSucceeded, model.TaskPending}[w.draw(0, 2)], n.Host, n.Rack
		w.apply(model.SourceMapReduce, model.TasksFact{App: app.ID, Tasks: []model.Task{*t}})
	case 5:
		b := []model.Block{{Length: model.Bytes(w.draw(1, 100)), Hosts: []string{w.scene.Nodes[rack()].Host}}}
		w.apply(model.SourceHDFS, model.BlocksFact{Path: "/in/" + string(app.ID), Files: 1, Blocks: b[:w.draw(0, 1)]})
	case 6:
		w.c.Advance(w.c.View().Now().Add(model.Duration(w.draw(0, 15)) * model.Minute))
	default:
		s := policytest.NewSession(p, w.scene) // its own cluster: the policy has to notice
		if w.draw(0, 3) == 0 {
			s.Ask(w.scene.Nodes[0].ID, "")
		}
		n := w.c.View().Node(w.scene.Nodes[rack()].ID)
		stage := []model.Stage{model.StageMap, model.StageReduce}[w.draw(0, 1)]
		if j := w.c.View().Job(app.ID); n != nil && !j.State.Final() && j.Stage(stage).Pending > 0 {
			level, _ := j.Stage(stage).Locality(n)
			w.c.Assume(model.Placement{App: app.ID, Stage: stage, Node: n.ID, Locality: level})
		}
	}
}

// workflow is a node of one of two chains of six.
func (w *world) workflow() *model.Workflow {
	return &model.Workflow{ID: fmt.Sprint("q", w.draw(0, 1)), Node: strconv.Itoa(w.draw(0, 5)), Edges: []model.WorkflowEdges{
		{Node: "0", Next: []string{"5", "6"}}, {Node: "1", Next: []string{"5"}}, {Node: "2", Next: []string{"6"}}, {Node: "3", Next: []string{"5", "6"}}, {Node: "4", Next: []string{"3"}},
	}}
}

// A policy that followed a cluster answers as one that sees it for the first time,
// whatever happened, and however often it was asked in between.
func TestIncrementalEqualsFromScratch(t *testing.T) {
	t.Parallel()
	depends, worlds := 0, 6000
	if testing.Short() {
		worlds = 600
	}
	for seed := range worlds {
		w := &world{draw: policytest.Seeded(uint64(seed))}
		params := dawn.DefaultParams()
		params.NodeDelay = policy.NoDelay // or the answers depend on earlier offers
		params.Among = []dawn.Among{dawn.AmongUser, dawn.AmongAll}[w.draw(0, 1)]
		params.WindowMode = []policy.WindowMode{policy.WindowStrict, policy.WindowTimeout}[w.draw(0, 1)]
		params.Waves = w.draw(0, 1)
		w.scene = policytest.Generate(w.draw, policytest.DefaultShape())
		for i := range w.scene.Apps {
			if w.draw(0, 3) > 0 {
				w.scene.Apps[i].Workflow = w.workflow()
				w.scene.Apps[i].Workflow.ID, w.scene.Apps[i].Workflow.Node = "q0", strconv.Itoa(i)
				w.scene.Apps[i].User = "ann"
			}
			w.apps = append(w.apps, w.scene.Apps[i].App)
		}
		w.c = w.scene.Cluster()
		kept, fresh := build(t, params), build(t, params)
		for range w.draw(1, 12) {
			w.step(kept)
			if w.draw(0, 2) > 0 {
				answers(kept, w.c.View())
			}
		}
		got, want := answers(kept, w.c.View()), answers(fresh, w.c.View())
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d: a policy that followed the cluster (+) answers otherwise than one from scratch (-):\n%s", seed, diff)
		}
		for _, p := range want.Plans {
			if p.Reason == model.ReasonDependents {
				depends++
			}
		}
	}
	if depends < 3 {
		t.Errorf("reduces were planned for their dependents %d times: the worlds are too plain", depends)
	}
}

func build(t *testing.T, params dawn.Params) policy.Policy {
	t.Helper()
	p, err := dawn.NewWith(params)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// answered is what a policy says of a cluster.
type answered struct {
	Plans  []model.Plan
	Offers map[model.NodeID][]model.Placement
}

// answers asks for all plans, and offers every node.
func answers(p policy.Policy, v state.View) answered {
	out := answered{p.(policy.Planner).Plan(&policy.Input{View: v, Jobs: v.Jobs()}), map[model.NodeID][]model.Placement{}}
	for _, n := range v.Nodes() {
		out.Offers[n.ID] = p.Place(&policy.Input{View: v, Offer: policy.Offer{Node: n}})
	}
	return out
}

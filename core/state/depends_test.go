package state_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/core/model"
	"heddle/core/state"
)

// chain feeds a cluster with applications that read each other.
type chain struct {
	c    *state.Cluster
	apps []model.App
}

func newChain(finished int) *chain {
	cfg := state.DefaultConfig()
	cfg.FinishedJobs = finished
	return &chain{c: state.New(cfg)}
}

func (f *chain) apply(fact model.Fact) {
	f.c.Apply(model.Observation{Source: model.SourceRM, At: 1_000_000, Fact: fact})
}

// app lists an application in a state, besides those listed before.
func (f *chain) app(id model.AppID, user model.UserID, submitted model.Time, st model.AppState) {
	a := model.App{ID: id, User: user, Submitted: submitted, State: st}
	if i := slices.IndexFunc(f.apps, func(a model.App) bool { return a.ID == id }); i >= 0 {
		f.apps[i] = a
	} else {
		f.apps = append(f.apps, a)
	}
	f.apply(model.AppsFact{Apps: slices.Clone(f.apps)})
}

func (f *chain) conf(id model.AppID, inputs, output string, w *model.Workflow) {
	f.apply(model.JobConfFact{App: id, Inputs: strings.Fields(inputs), Output: output, Workflow: w})
}

// relatives renders the jobs that a job reads and those that read it, with what
// else those read.
func relatives(v state.View, id model.AppID) []string {
	j := v.Job(id)
	if j == nil {
		return nil
	}
	out := []string{}
	who := func(name string, j *state.Job) string {
		if j == nil {
			return name + "?"
		}
		return name + "=" + string(j.ID)
	}
	for _, p := range v.Parents(j) {
		out = append(out, "reads "+who(p.Name, p.Job))
	}
	for _, d := range v.Dependents(j) {
		s := []string{"read by " + who(d.Name, d.Job)}
		for _, p := range d.Others {
			s = append(s, "with "+who(p.Name, p.Job))
		}
		out = append(out, strings.Join(s, ", "))
	}
	return out
}

func TestDependsByPath(t *testing.T) {
	t.Parallel()
	f := newChain(10)
	for i, id := range []model.AppID{"x", "z", "y", "late"} {
		f.app(id, "ann", model.Time(i+1), model.AppRunning)
	}
	f.conf("y", "hdfs://nn:8020/out/x/part-00000 /out/z /data/raw", "/out/y", nil)
	f.conf("x", "/data/raw", "hdfs://ha/out/x", nil)
	f.conf("z", "/data/raw", "/out/z/", nil)
	f.conf("late", "/elsewhere", "/out/z", nil) // writes where z wrote, after y read
	for id, want := range map[model.AppID][]string{
		"x":    {"read by y=y, with z=z"},
		"z":    {"read by y=y, with x=x"},
		"y":    {"reads x=x", "reads z=z"},
		"late": {},
	} {
		got := relatives(f.c.View(), id)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", id, diff)
		}
	}
	f.app("z", "ann", 2, model.AppFailed)
	if diff := cmp.Diff([]string{"read by y=y"}, relatives(f.c.View(), "x")); diff != "" {
		t.Errorf("x, when z has failed (-want +got):\n%s", diff)
	}
}

func TestPathsThatOnlyLookAlike(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		output, input string
		want          bool
	}{
		{"/out", "/out", true},
		{"/out", "/out/2026/*", true},
		{"/out", "/outer", false},
		{"/out/x", "/out", false}, // the reader names a folder above: what else is in it is not known
		{"hdfs://a/out", "/out", true},
		{"hdfs://a:8020/out//x/", "hdfs://ha/out/x", true},
		{"s3a://bucket/out", "/out", false},
		{"s3a://bucket/out", "s3a://bucket/out/x", true},
		{"s3a://bucket/out", "s3a://other/out/x", false},
		{"/", "/out", false},
		{"", "", false},
	} {
		f := newChain(10)
		f.app("w", "ann", 1, model.AppRunning)
		f.app("r", "ann", 2, model.AppRunning)
		f.conf("w", "", tc.output, nil)
		f.conf("r", tc.input, "", nil)
		if got := len(relatives(f.c.View(), "w")) > 0; got != tc.want {
			t.Errorf("%q reads %q: %t", tc.input, tc.output, got)
		}
	}
}

func TestDependsByWorkflow(t *testing.T) {
	t.Parallel()
	f := newChain(10)
	edges := []model.WorkflowEdges{{Node: "1", Next: []string{"3"}}, {Node: "2", Next: []string{"3"}}, {Node: "3", Next: []string{"0"}}}
	f.app("a", "ann", 1, model.AppRunning)
	f.conf("a", "", "", &model.Workflow{ID: "q", Node: "1", Edges: edges})
	if diff := cmp.Diff([]string{"read by 3?, with 2?"}, relatives(f.c.View(), "a")); diff != "" {
		t.Errorf("alone (-want +got):\n%s", diff)
	}
	f.app("b", "ann", 2, model.AppRunning)
	f.conf("b", "", "", &model.Workflow{ID: "q", Node: "2", Edges: edges})
	f.app("other", "bob", 2, model.AppRunning)
	f.conf("other", "", "", &model.Workflow{ID: "q", Node: "3", Edges: edges}) // another user's query of the same id
	if diff := cmp.Diff([]string{"read by 3?, with 2=b"}, relatives(f.c.View(), "a")); diff != "" {
		t.Errorf("with its sibling (-want +got):\n%s", diff)
	}
	f.app("c", "ann", 3, model.AppRunning)
	f.conf("c", "", "", &model.Workflow{ID: "q", Node: "3", Edges: edges})
	if diff := cmp.Diff([]string{"read by 3=c, with 2=b"}, relatives(f.c.View(), "a")); diff != "" {
		t.Errorf("with its dependent (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"reads 1=a", "reads 2=b", "read by 0?"}, relatives(f.c.View(), "c")); diff != "" {
		t.Errorf("the dependent (-want +got):\n%s", diff)
	}
}

func TestWorkflowWithACycle(t *testing.T) {
	t.Parallel()
	f := newChain(10)
	f.app("a", "ann", 1, model.AppRunning)
	f.conf("a", "", "", &model.Workflow{ID: "q", Node: "1", Edges: []model.WorkflowEdges{{Node: "1", Next: []string{"2"}}, {Node: "2", Next: []string{"1"}}}})
	if v := f.c.View(); len(relatives(v, "a")) > 0 {
		t.Errorf("%v of a workflow with a cycle", relatives(v, "a"))
	}
}

// A job that failed is nobody's parent any more. What else its dependents read
// still changes what is known of it.
func TestDependentsOfAFailedJobChange(t *testing.T) {
	t.Parallel()
	f := newChain(10)
	edges := []model.WorkflowEdges{{Node: "1", Next: []string{"2"}}}
	f.app("a", "ann", 1, model.AppRunning)
	f.conf("a", "", "", &model.Workflow{ID: "q", Node: "1", Edges: edges})
	f.app("b", "ann", 2, model.AppRunning)
	f.app("c", "ann", 3, model.AppRunning)
	f.conf("c", "/b", "", &model.Workflow{ID: "q", Node: "2", Edges: edges})
	f.app("a", "ann", 1, model.AppFailed)
	_, revision := f.c.View().Changed(state.Revision{}, nil)
	f.conf("b", "", "/b", nil)
	v := f.c.View()
	changed, _ := v.Changed(revision, nil)
	if got := relatives(v, "a"); !slices.Equal(got, []string{"read by 2=c, with b=b"}) || !slices.Contains(changed, v.Job("a")) {
		t.Errorf("a is %v; changed: %v", got, slices.Contains(changed, v.Job("a")))
	}
}

// However the facts come, in which order, how often, and who ends or is
// forgotten in between: what is known of dependencies is what a cluster that
// only ever saw the outcome knows, and a job for whom it changed is among those
// that changed.
func TestDependsAreKeptUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		draw := func(hi int, what string) int { return rapid.IntRange(0, hi).Draw(rt, what) }
		path := func() string { return []string{"", "/a", "/a/b", "/c", "hdfs://n/c/d"}[draw(4, "path")] }
		f := newChain(3)
		confs := map[model.AppID]model.JobConfFact{}
		seen := map[model.AppID][]string{}
		var revision state.Revision
		for range draw(20, "steps") {
			id := model.AppID(fmt.Sprintf("j%d", draw(5, "job")))
			switch draw(2, "step") {
			case 0:
				st := []model.AppState{model.AppRunning, model.AppRunning, model.AppFinished, model.AppFailed}[draw(3, "state")]
				f.app(id, "ann", model.Time(id[1]), st)
			default:
				c := model.JobConfFact{App: id, Inputs: []string{path(), path()}, Output: path()}
				if draw(1, "workflow") > 0 {
					c.Workflow = &model.Workflow{ID: "q", Node: fmt.Sprintf("j%d", draw(5, "node")), Edges: []model.WorkflowEdges{
						{Node: "j0", Next: []string{"j2", "j3"}}, {Node: "j1", Next: []string{"j3"}}, {Node: "j3", Next: []string{"j5"}},
					}}
				}
				if f.c.View().Job(id) != nil {
					confs[id] = c
				}
				f.apply(c)
			}
			v := f.c.View()
			var changed []*state.Job
			changed, revision = v.Changed(revision, nil)
			for i := range 6 {
				id := model.AppID(fmt.Sprintf("j%d", i))
				now := relatives(v, id)
				j := v.Job(id)
				if j != nil && !slices.Equal(now, seen[id]) && !slices.Contains(changed, j) {
					rt.Fatalf("%s was %v, is %v, and did not change", id, seen[id], now)
				}
				seen[id] = now
			}
		}
		again := newChain(100)
		v := f.c.View()
		for i := range 6 {
			id := model.AppID(fmt.Sprintf("j%d", i))
			j := v.Job(id)
			if j == nil {
				continue
			}
			again.app(id, "ann", j.Submitted, model.AppRunning)
			again.app(id, "ann", j.Submitted, j.State)
			if c, ok := confs[id]; ok && j.Conf.Output == c.Output && slices.Equal(j.Conf.Inputs, c.Inputs) && j.Conf.Workflow == c.Workflow {
				again.apply(c)
			}
		}
		for i := range 6 {
			id := model.AppID(fmt.Sprintf("j%d", i))
			if diff := cmp.Diff(relatives(again.c.View(), id), relatives(v, id)); diff != "" {
				rt.Fatalf("%s (-afresh +kept):\n%s", id, diff)
			}
		}
	})
}

func TestResult(t *testing.T) {
	t.Parallel()
	f := newChain(10)
	f.apply(model.NodesFact{Nodes: []model.Node{{ID: "a:1", Host: "a", Rack: "/r1", State: model.NodeRunning}, {ID: "b:1", Host: "b", Rack: "/r2", State: model.NodeRunning}}})
	f.app("x", "ann", 1, model.AppRunning)
	reduce := func(i int, host string, st model.TaskState) model.Task {
		return model.Task{Stage: model.StageReduce, Index: i, Host: host, State: st, Input: -1, Output: -1, Shuffled: -1}
	}
	f.apply(model.JobFact{App: "x", MapsTotal: 1, MapsCompleted: 1, ReducesTotal: 4, ReducesCompleted: 1, ReducesRunning: 1, ReducesPending: 2})
	f.apply(model.TasksFact{App: "x", Tasks: []model.Task{reduce(0, "a", model.TaskSucceeded), reduce(1, "b", model.TaskRunning)}})
	check := func(what string, total, on0, on1 model.Bytes, known bool) {
		t.Helper()
		r := f.c.View().Job("x").Result(.5)
		if r.Total != total || r.On(0) != on0 || r.On(1) != on1 || r.Known != known {
			t.Errorf("%s: %d in all, %d and %d, known %t; want %d, %d and %d, %t", what, r.Total, r.On(0), r.On(1), r.Known, total, on0, on1, known)
		}
	}
	f.apply(model.CountersFact{App: "x", MapOutput: 800, MapInput: 400, HDFSWritten: model.Unknown, ReduceShuffle: model.Unknown})
	check("before it wrote", 400, 100, 100, false) // half of the shuffle
	f.apply(model.CountersFact{App: "x", MapOutput: 800, MapOutputPlain: 2400, MapInput: 400, HDFSWritten: model.Unknown, ReduceShuffle: model.Unknown})
	check("the shuffle is compressed to a third", 1200, 300, 300, false)
	f.apply(model.CountersFact{App: "x", MapOutput: 800, MapOutputPlain: 780, MapInput: 400, HDFSWritten: model.Unknown, ReduceShuffle: model.Unknown})
	check("and is not", 400, 100, 100, false)
	f.apply(model.CountersFact{App: "x", MapOutput: 800, MapInput: 400, HDFSWritten: 150, ReduceShuffle: model.Unknown})
	check("one of four reduces is done", 600, 150, 150, true)
	f.apply(model.TasksFact{App: "x", Tasks: []model.Task{reduce(1, "b", model.TaskSucceeded), reduce(2, "b", model.TaskSucceeded), reduce(3, "b", model.TaskSucceeded)}})
	f.apply(model.CountersFact{App: "x", MapOutput: 800, MapInput: 400, HDFSWritten: 500, ReduceShuffle: model.Unknown})
	f.app("x", "ann", 1, model.AppFinished)
	check("ended", 500, 125, 375, true)
	f.app("x", "ann", 1, model.AppFailed)
	check("failed after all", 0, 0, 0, false)
}

func TestGraph(t *testing.T) {
	t.Parallel()
	f := newChain(10)
	f.apply(model.NodesFact{Nodes: []model.Node{{ID: "a:1", Host: "a", Rack: "/r1", State: model.NodeRunning}, {ID: "b:1", Host: "b", Rack: "/r2", State: model.NodeRunning}}})
	f.app("x", "ann", 1, model.AppRunning)
	fact := model.GraphFact{
		App: "x",
		Stages: []model.GraphStage{
			{Name: "m", Tasks: 2, Completed: 2, Input: 90, InputAt: []model.RackBytes{{Rack: "/r1", Bytes: 90}}, Output: 50, Placed: []model.RackBytes{{Rack: "/r2", Bytes: 50}}},
			{Name: "r", Tasks: 1, Output: model.Unknown},
		},
		Edges: []model.GraphEdge{{From: "m", To: "r", Kind: model.Broadcast}, {From: "gone", To: "r", Kind: model.OneToOne}},
	}
	f.apply(fact)
	g := f.c.View().Job("x").Graph
	if g == nil || g.Name(g.Now()) != "r" || len(g.Edges) != 1 || g.Edges[0].Kind != model.Broadcast || g.Stages[0].Placed[1] != 50 || g.Stages[0].Input.ByRack[0] != 90 {
		t.Fatalf("%+v", g)
	}
	fact.Edges = append(fact.Edges, model.GraphEdge{From: "r", To: "m"})
	f.apply(fact)
	if j := f.c.View().Job("x"); j.Graph != nil {
		t.Errorf("%+v of a graph with a cycle", j.Graph)
	}
}

// A reader that is too far behind sees every live job, and so does one of
// another cluster.
func TestChanged(t *testing.T) {
	t.Parallel()
	f := newChain(10)
	f.app("x", "ann", 1, model.AppRunning)
	f.app("y", "ann", 2, model.AppRunning)
	v := f.c.View()
	ids := func(jobs []*state.Job) (out []model.AppID) {
		for _, j := range jobs {
			out = append(out, j.ID)
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	_, revision := v.Changed(state.Revision{}, nil)
	if jobs, _ := v.Changed(revision, nil); len(jobs) > 0 {
		t.Errorf("nothing happened, and %v changed", ids(jobs))
	}
	f.apply(model.JobFact{App: "y", MapsTotal: 3})
	jobs, _ := v.Changed(revision, nil)
	if diff := cmp.Diff([]model.AppID{"y"}, ids(jobs)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for range 2000 {
		f.apply(model.JobFact{App: "y", MapsTotal: 3})
	}
	jobs, _ = v.Changed(revision, nil)
	if diff := cmp.Diff([]model.AppID{"x", "y"}, ids(jobs)); diff != "" {
		t.Errorf("far behind (-want +got):\n%s", diff)
	}
	_, foreign := newChain(1).c.View().Changed(state.Revision{}, nil)
	if jobs, _ = v.Changed(foreign, nil); len(ids(jobs)) != 2 {
		t.Errorf("of another cluster: %v", ids(jobs))
	}
}

// A job that is listed with another time of submission when it has ended stays in its place, and
// goes from there.
func TestDependsAfterAnotherTime(t *testing.T) {
	t.Parallel()
	f := newChain(10)
	ids := []model.AppID{"a", "b", "c", "d", "e"}
	for i, id := range ids {
		f.app(id, "ann", model.Time(i+1), model.AppRunning)
		f.conf(id, "/out", "/out", nil)
	}
	f.app("b", "ann", 9, model.AppFinished)
	f.conf("b", "", "", nil)
	for _, id := range ids {
		relatives(f.c.View(), id)
	}
	if got, want := relatives(f.c.View(), "c"), []string{"reads a=a", "read by d=d"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

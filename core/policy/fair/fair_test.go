package fair_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/core/model"
	"heddle/core/policy/fair"
	"heddle/core/policy/policytest"
	"heddle/core/state"
)

func one() model.Resource { return model.Resource{MemoryMiB: 1024, VCores: 1} }

func node(host, rack string, containers int64) model.Node {
	return model.Node{
		ID: model.NodeID(host + ":1"), Host: host, Rack: model.RackID(rack), State: model.NodeRunning,
		Total: model.Resource{MemoryMiB: 1024 * containers, VCores: containers},
	}
}

// tasks is how many maps of a job are done and how many reduces it has.
type tasks struct{ done, reduces int }

// app has pending maps that read from the hosts named, done maps, and pending reduces.
func app(id, user string, at int, has tasks, maps ...string) policytest.App {
	a := policytest.App{
		App:     model.App{ID: model.AppID(id), User: model.UserID(user), State: model.AppRunning, Submitted: policytest.Epoch.Add(model.Duration(at))},
		MapTask: one(), ReduceTask: one(), Slowstart: 0.05, MapOutput: model.Unknown,
	}
	task := func(stage model.Stage, i int, st model.TaskState) model.Task {
		return model.Task{Stage: stage, Index: i, State: st, Input: -1, Output: -1, Shuffled: -1}
	}
	for i, host := range maps {
		t := task(model.StageMap, i, model.TaskPending)
		t.Preferred = []string{host}
		a.Maps = append(a.Maps, t)
	}
	for range has.done {
		t := task(model.StageMap, len(a.Maps), model.TaskSucceeded)
		t.Host, t.Rack = "n1", "/r1"
		a.Maps = append(a.Maps, t)
	}
	for i := range has.reduces {
		a.Reduces = append(a.Reduces, task(model.StageReduce, i, model.TaskPending))
	}
	return a
}

// served offers a node n times and names what is placed.
func served(t *testing.T, params string, s policytest.Scene, n int) []string {
	t.Helper()
	p, err := fair.New([]byte(params))
	if err != nil {
		t.Fatal(err)
	}
	session := policytest.NewSession(p, s)
	var out []string
	for range n {
		for _, p := range session.Ask(s.Nodes[0].ID, "") {
			if p.Reason != model.ReasonFairShare || p.Task != model.AnyTask {
				t.Errorf("placement %+v", p)
			}
			out = append(out, string(p.App)+" "+string(p.Stage)+" "+p.Locality.String())
			session.Assume(p)
		}
	}
	return out
}

func TestOrder(t *testing.T) {
	t.Parallel()
	nodes := []model.Node{node("n1", "/r1", 9), node("n2", "/r1", 1), node("n3", "/r2", 1)}
	cfg := state.DefaultConfig()
	heavier := state.DefaultConfig()
	heavier.Weights = map[model.UserID]float64{"ann": 2}
	for _, tc := range []struct {
		name   string
		params string
		scene  policytest.Scene
		want   []string
	}{
		{
			"users take turns by usage, the earlier job's user first", "",
			policytest.Scene{Nodes: nodes, Config: cfg, Apps: []policytest.App{
				app("a", "ann", 1, tasks{}, "n1", "n1", "n1"), app("b", "bob", 0, tasks{}, "n1", "n1"),
			}},
			[]string{"b map NODE_LOCAL", "a map NODE_LOCAL", "b map NODE_LOCAL", "a map NODE_LOCAL", "a map NODE_LOCAL"},
		},
		{
			"a weight of two takes two for one", "",
			policytest.Scene{Nodes: nodes, Config: heavier, Apps: []policytest.App{
				app("a", "ann", 0, tasks{}, "n1", "n1", "n1", "n1"), app("b", "bob", 1, tasks{}, "n1", "n1"),
			}},
			[]string{"a map NODE_LOCAL", "b map NODE_LOCAL", "a map NODE_LOCAL", "a map NODE_LOCAL", "b map NODE_LOCAL"},
		},
		{
			"a user's jobs by usage, whatever their locality, and without delay", "",
			policytest.Scene{Nodes: nodes, Config: cfg, Apps: []policytest.App{
				app("late", "ann", 9, tasks{}, "n1", "n1"), app("early", "ann", 0, tasks{}, "n3", "n2", "n1"),
			}},
			[]string{"early map NODE_LOCAL", "late map NODE_LOCAL", "early map RACK_LOCAL", "late map NODE_LOCAL", "early map OFF_SWITCH"},
		},
		{
			"a user's jobs by arrival", `{"schedulingPolicy":"fifo"}`,
			policytest.Scene{Nodes: nodes, Config: cfg, Apps: []policytest.App{
				app("late", "ann", 9, tasks{}, "n1"), app("early", "ann", 0, tasks{}, "n3", "n2", "n1"),
			}},
			[]string{"early map NODE_LOCAL", "early map RACK_LOCAL", "early map OFF_SWITCH", "late map NODE_LOCAL"},
		},
		{
			"who is below the minimum share goes first, by how far below, and not beyond the demand",
			`{"minResources":{"bob":2048,"eve":4096,"dan":9000}}`,
			policytest.Scene{Nodes: nodes, Config: cfg, Apps: []policytest.App{
				app("a", "ann", 0, tasks{}, "n1", "n1"), app("b", "bob", 1, tasks{}, "n1", "n1", "n1"), app("e", "eve", 2, tasks{}, "n1", "n1"),
				app("d", "dan", 3, tasks{}),
			}},
			// bob and eve stand at 0; then bob at 1 of 2 GiB and eve, who wants 2 of her 4, at 0 of 2; then both at a half; then
			// nobody is below, and ann has the least.
			[]string{"b map NODE_LOCAL", "e map NODE_LOCAL", "b map NODE_LOCAL", "e map NODE_LOCAL", "a map NODE_LOCAL"},
		},
		{
			"reduces before maps once slowstart is passed", "",
			policytest.Scene{Nodes: nodes, Config: cfg, Apps: []policytest.App{app("a", "ann", 0, tasks{1, 1}, "n1")}},
			[]string{"a reduce OFF_SWITCH", "a map NODE_LOCAL"},
		},
		{
			"no reduce before slowstart", "",
			policytest.Scene{Nodes: nodes, Config: cfg, Apps: []policytest.App{app("a", "ann", 0, tasks{0, 1}, "n1")}},
			[]string{"a map NODE_LOCAL"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, served(t, tc.params, tc.scene, 5)); diff != "" {
				t.Errorf("served (-want +got):\n%s", diff)
			}
		})
	}
}

// 1.5: reduces are due at ceil(slowstart x maps) completed maps.
func TestReducesDue(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		slowstart   float64
		total, done int
		want        bool
	}{
		{0.05, 20, 0, false},
		{0.05, 20, 1, true},
		{0.05, 21, 1, false},
		{0.05, 21, 2, true},
		{0.05, 60, 3, true}, // 0.05 x 60 must not come out above 3
		{0.07, 100, 7, true},
		{0, 20, 0, true},
		{1, 20, 19, false},
		{1, 20, 20, true},
		{0.05, 0, 0, true}, // map counts not known: the ask itself says so
	} {
		j := &state.Job{Map: &state.Stage{Total: tc.total, Completed: tc.done}, Conf: state.Conf{Slowstart: tc.slowstart}}
		if got := j.ReducesDue(); got != tc.want {
			t.Errorf("slowstart %g, %d of %d maps: due %v, want %v", tc.slowstart, tc.done, tc.total, got, tc.want)
		}
	}
}

func TestScripts(t *testing.T) {
	t.Parallel()
	policytest.RunScripts(t, fair.New)
}

func TestParams(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		raw  string
		want []string
	}{
		{`{}`, nil},
		{`{"schedulingPolicy":"fifo","minResources":{"ann":1024},"locality.threshold.node":0.5,"locality.threshold.rack":1}`, nil},
		{`{"weight":2}`, []string{"weight"}},
		{
			`{"schedulingPolicy":"drf","minResources":{"ann":-1},"locality.threshold.node":-0.5,"locality.threshold.rack":2}`,
			[]string{"schedulingPolicy:", "minResources:", "locality.threshold.node:", "locality.threshold.rack:"},
		},
	} {
		p, err := fair.New([]byte(tc.raw))
		for _, w := range tc.want {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%s: error %v, want it to name %s", tc.raw, err, w)
			}
		}
		if (p != nil) != (len(tc.want) == 0) {
			t.Errorf("%s: %v, %v", tc.raw, p, err)
		}
	}
}

package drf_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/core/model"
	"heddle/core/policy/drf"
	"heddle/core/policy/policytest"
	"heddle/core/state"
)

// pool is one node, as in NSDI'11, and a user with one job for each demand,
// which has more pending maps than find a place.
func pool(total model.Resource, demands ...model.Resource) policytest.Scene {
	const endless = 200
	s := policytest.Scene{Config: state.DefaultConfig(), Nodes: []model.Node{
		{ID: "n1:1", Host: "n1", Rack: "/r1", State: model.NodeRunning, Total: total},
	}}
	for i, d := range demands {
		a := policytest.App{
			App:     model.App{ID: model.AppID(user(i)), User: model.UserID(user(i)), State: model.AppRunning, Submitted: policytest.Epoch},
			MapTask: d, MapOutput: model.Unknown,
		}
		for m := range endless {
			a.Maps = append(a.Maps, model.Task{Stage: model.StageMap, Index: m, State: model.TaskPending, Preferred: []string{"n1"}, Input: -1, Output: -1, Shuffled: -1})
		}
		s.Apps = append(s.Apps, a)
	}
	return s
}

func user(i int) string { return string(rune('A' + i)) }

// allocate offers the node until nothing is started and returns how many tasks
// each user has.
func allocate(t interface{ Fatal(args ...any) }, params drf.Params, s policytest.Scene) map[string]int {
	p, err := drf.New(fmt.Appendf(nil, `{"stop":%q,"compare":%q}`, params.Stop, params.Compare))
	if err != nil {
		t.Fatal(err)
	}
	session := policytest.NewSession(p, s)
	got := map[string]int{}
	for {
		placed := session.Ask("n1:1", "")
		if len(placed) == 0 {
			return got
		}
		for _, one := range placed {
			got[string(one.App)]++
			session.Assume(one)
		}
	}
}

// A.2, 2.5.5 (NSDI'11 §4.1): of 9 CPUs and 18 GB, A with <1, 4> gets 3 tasks and
// B with <3, 1> gets 2, and both have a dominant share of 2/3.
func TestPaperExample(t *testing.T) {
	t.Parallel()
	a, b := model.Resource{MemoryMiB: 4096, VCores: 1}, model.Resource{MemoryMiB: 1024, VCores: 3}
	for _, stop := range []drf.Stop{drf.StopPaper, drf.StopCluster} {
		for _, compare := range []drf.Compare{drf.CompareDominant, drf.CompareVector} {
			params := drf.Params{Stop: stop, Compare: compare}
			got := allocate(t, params, pool(model.Resource{MemoryMiB: 18 * 1024, VCores: 9}, a, b))
			if diff := cmp.Diff(map[string]int{"A": 3, "B": 2}, got); diff != "" {
				t.Errorf("%+v: tasks (-want +got):\n%s", params, diff)
			}
		}
	}
}

// Where the task of the user at its turn does not fit, the paper's rule stops
// and the cluster's goes on. Of 10 GB and 10 CPUs, A with <4 GB, 1> and B with
// <1 GB, 1>: A .4, B .1 to .4, and then it is A's turn (its name is first). 2 GB
// are left, too few for A and enough for two more of B.
func TestStop(t *testing.T) {
	t.Parallel()
	s := pool(model.Resource{MemoryMiB: 10 * 1024, VCores: 10}, model.Resource{MemoryMiB: 4096, VCores: 1}, model.Resource{MemoryMiB: 1024, VCores: 1})
	for stop, want := range map[drf.Stop]map[string]int{drf.StopPaper: {"A": 1, "B": 4}, drf.StopCluster: {"A": 1, "B": 6}} {
		if diff := cmp.Diff(want, allocate(t, drf.Params{Stop: stop, Compare: drf.CompareDominant}, s)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", stop, diff)
		}
	}
}

// Of 12 GB and 12 CPUs, A with <4 GB, 3> and B with <4 GB, 1> have a dominant
// share of a third each after one task. By the paper's comparison they are
// equal and A's name is first; by the other share B has less.
func TestCompare(t *testing.T) {
	t.Parallel()
	s := pool(model.Resource{MemoryMiB: 12 * 1024, VCores: 12}, model.Resource{MemoryMiB: 4096, VCores: 3}, model.Resource{MemoryMiB: 4096, VCores: 1})
	for compare, want := range map[drf.Compare]map[string]int{drf.CompareDominant: {"A": 2, "B": 1}, drf.CompareVector: {"A": 1, "B": 2}} {
		if diff := cmp.Diff(want, allocate(t, drf.Params{Stop: drf.StopCluster, Compare: compare}, s)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", compare, diff)
		}
	}
}

// market is a drawn pool with its users' demands.
type market struct {
	total   model.Resource
	demands []model.Resource
}

func drawMarket(t *rapid.T) market {
	size := rapid.Int64Range(20, 120)
	m := market{total: model.Resource{MemoryMiB: size.Draw(t, "memory"), VCores: size.Draw(t, "vcores")}}
	for range rapid.IntRange(2, 4).Draw(t, "users") {
		m.demands = append(m.demands, drawDemand(t))
	}
	return m
}

func drawDemand(t *rapid.T) model.Resource {
	return model.Resource{MemoryMiB: rapid.Int64Range(1, 6).Draw(t, "memory"), VCores: rapid.Int64Range(1, 6).Draw(t, "vcores")}
}

func (m market) allocate(t *rapid.T, stop drf.Stop) []int {
	got := allocate(t, drf.Params{Stop: stop, Compare: drf.CompareDominant}, pool(m.total, m.demands...))
	tasks := make([]int, len(m.demands))
	for i := range tasks {
		tasks[i] = got[user(i)]
	}
	return tasks
}

// share is the dominant share of one task.
func (m market) share(d model.Resource) float64 {
	return max(float64(d.MemoryMiB)/float64(m.total.MemoryMiB), float64(d.VCores)/float64(m.total.VCores))
}

// runs is how many tasks of a demand run on an allocation.
func runs(have, demand model.Resource) int64 {
	return min(have.MemoryMiB/demand.MemoryMiB, have.VCores/demand.VCores)
}

const hair = 1e-9

// A.3 (2.5.5), NSDI'11 §5. The paper shows the properties for tasks that can be
// divided. With whole tasks each holds up to the size of a task: while the
// shares are filled, nobody is ahead of another by more than the task that was
// started last, and the bounds below follow from that alone.
func TestProperties(t *testing.T) {
	t.Parallel()
	for name, check := range map[string]func(*rapid.T, market){
		"sharing incentive": sharingIncentive, "envy-free": envyFree, "Pareto efficient": paretoEfficient, "strategy-proof": strategyProof,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) { check(t, drawMarket(t)) })
		})
	}
}

// Nobody is worse off than with an n-th of the pool. When a task of the user at
// its turn does not fit, the n users' shares and that task are together more
// than the whole of a resource, and each is at most one task ahead of the user:
// n s + sum of tasks > 1.
func sharingIncentive(t *rapid.T, m market) {
	ahead := 0.0
	for _, d := range m.demands {
		ahead += m.share(d)
	}
	for _, stop := range []drf.Stop{drf.StopPaper, drf.StopCluster} {
		for i, n := range m.allocate(t, stop) {
			if s := float64(n) * m.share(m.demands[i]); s <= (1-ahead)/float64(len(m.demands))-hair {
				t.Fatalf("%s, %+v: %s has a dominant share of %g", stop, m, user(i), s)
			}
		}
	}
}

// Nobody would run more tasks on what another has, but for the one task the
// other may be ahead by.
func envyFree(t *rapid.T, m market) {
	tasks := m.allocate(t, drf.StopPaper)
	for i, mine := range m.demands {
		for k, theirs := range m.demands {
			if got := runs(theirs.Times(int64(tasks[k])), mine); float64(got) > float64(tasks[i])+m.share(theirs)/m.share(mine)+hair {
				t.Fatalf("%+v gives %v: %s would run %d tasks on what %s has", m, tasks, user(i), got, user(k))
			}
		}
	}
}

// Nobody can get more without another getting less: nothing that is asked for
// fits into what is left.
func paretoEfficient(t *rapid.T, m market) {
	left := m.total
	tasks := m.allocate(t, drf.StopCluster)
	for i, d := range m.demands {
		left = left.Sub(d.Times(int64(tasks[i])))
	}
	if left.MemoryMiB < 0 || left.VCores < 0 {
		t.Fatalf("%+v gives %v, more than there is", m, tasks)
	}
	for i, d := range m.demands {
		if runs(left, d) > 0 {
			t.Fatalf("%+v gives %v and leaves %+v: room for a task of %s", m, tasks, left, user(i))
		}
	}
}

// Nobody runs more of their own tasks by claiming another demand. If a liar ran
// T more, every other would have a dominant share of at least that of the
// liar less the claimed task, and the honest one is at most one task above the
// liar's: with T d > d' + max d everybody would have at least as much as before
// and the user who was stopped one task more, which did not fit.
func strategyProof(t *rapid.T, m market) {
	liar := rapid.IntRange(0, len(m.demands)-1).Draw(t, "liar")
	honest := m.allocate(t, drf.StopPaper)
	truth, claim := m.demands[liar], drawDemand(t)
	claimed := market{m.total, slices.Clone(m.demands)}
	claimed.demands[liar] = claim
	got := runs(claim.Times(int64(claimed.allocate(t, drf.StopPaper)[liar])), truth)
	slack := m.share(claim)
	largest := 0.0
	for _, d := range m.demands {
		largest = max(largest, m.share(d))
	}
	if slack = (slack + largest) / m.share(truth); float64(got) > float64(honest[liar])+slack+hair {
		t.Fatalf("%+v gives %v; by claiming %+v %s runs %d tasks", m, honest, claim, user(liar), got)
	}
}

// DRF is fair order where there is one resource: everybody wants as many vcores
// per MiB as there are.
func TestOneResourceIsFair(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := market{total: model.Resource{MemoryMiB: 64, VCores: 64}}
		for range rapid.IntRange(2, 4).Draw(t, "users") {
			n := rapid.Int64Range(1, 5).Draw(t, "size")
			m.demands = append(m.demands, model.Resource{MemoryMiB: n, VCores: n})
		}
		tasks := m.allocate(t, drf.StopPaper)
		used := map[string]int64{}
		for i, n := range tasks {
			used[user(i)] = int64(n) * m.demands[i].MemoryMiB
		}
		most, least := slices.Max(slices.Collect(maps.Values(used))), slices.Min(slices.Collect(maps.Values(used)))
		largest := int64(0)
		for _, d := range m.demands {
			largest = max(largest, d.MemoryMiB)
		}
		if most-least > largest {
			t.Fatalf("%+v gives %v", m, used)
		}
	})
}

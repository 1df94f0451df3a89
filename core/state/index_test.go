package state_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"heddle/core/model"
	"heddle/core/state"
	"heddle/core/state/snapshot"
)

// fingerprint is everything a reader can see of a cluster.
func fingerprint(t interface{ Fatal(...any) }, c *state.Cluster) string {
	s := c.Snapshot()
	s.Seq = 0
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var users strings.Builder
	for _, u := range c.View().Users() {
		fmt.Fprint(&users, u.ID, u.Usage, ";")
	}
	for _, j := range c.View().Jobs() {
		for _, n := range c.View().Nodes() {
			fmt.Fprint(&users, j.Map.PendingOn(n), j.Map.PendingIn(n.Rack.Index), j.Map.Running, n.Free)
		}
	}
	return string(b) + users.String()
}

// genFacts draws a history of a small cluster.
func genFacts(t *rapid.T) []model.Fact {
	facts := []model.Fact{nodes(rapid.IntRange(1, 3).Draw(t, "racks"), rapid.IntRange(1, 3).Draw(t, "hosts"))}
	var live []model.App
	for i := range rapid.IntRange(1, 12).Draw(t, "steps") {
		switch rapid.IntRange(0, 6).Draw(t, "kind") {
		case 0:
			live = append(live, app(i, rapid.SampledFrom([]string{"ann", "bob", "eve"}).Draw(t, "user"), model.Time(900_000+i)))
			facts = append(facts, apps(slices.Clone(live)...))
		case 1:
			if len(live) > 0 {
				live = live[1:]
			}
			facts = append(facts, apps(slices.Clone(live)...))
		case 2:
			n := nodes(3, 3)
			facts = append(facts, model.NodesFact{Nodes: n.Nodes[:rapid.IntRange(0, 9).Draw(t, "left")]})
		default:
			if len(live) > 0 {
				facts = append(facts, genJobFact(t, live[rapid.IntRange(0, len(live)-1).Draw(t, "app")].ID))
			}
		}
	}
	return facts
}

func genJobFact(t *rapid.T, id model.AppID) model.Fact {
	n := rapid.IntRange(0, 6).Draw(t, "n")
	switch rapid.IntRange(0, 4).Draw(t, "fact") {
	case 0:
		return model.JobFact{App: id, MapsTotal: 8, MapsPending: n, MapsCompleted: 8 - n, ReducesTotal: 3, ReducesPending: n % 4}
	case 1:
		return model.AsksFact{App: id, Rows: []model.AskRow{
			{Priority: 20, ResourceName: "*", Count: n},
			{Priority: 20, ResourceName: "w11", Count: n / 2},
			{Priority: 20, ResourceName: "/rack1", Count: n / 2},
			{Priority: 10, ResourceName: "*", Count: n},
		}}
	case 2:
		tasks := make([]model.Task, 0, n)
		for i := range n {
			tasks = append(tasks, mapDone(i, rapid.IntRange(1, 3).Draw(t, "rack"), model.Bytes(rapid.IntRange(-1, 50).Draw(t, "out"))))
		}
		return model.TasksFact{App: id, Tasks: tasks}
	case 3:
		return model.ContainersFact{App: id, Containers: []model.Container{{ID: "c", Node: "w11:45454", Priority: 20}}}
	}
	return counters(id, model.Bytes(100*n), 300, model.Bytes(10*n))
}

// TestIndexes checks, over random histories, that every index agrees with what
// it indexes and that nothing is negative.
func TestIndexes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := newFeed(state.DefaultConfig())
		for _, fact := range genFacts(t) {
			f.later(model.Second).apply(fact)
			checkIndexes(t, f.c.View())
		}
	})
}

func checkIndexes(t *rapid.T, v state.View) {
	if !slices.IsSortedFunc(v.Jobs(), func(a, b *state.Job) int { return model.CompareApps(&a.App, &b.App) }) {
		t.Fatal("jobs out of order")
	}
	seen := 0
	for i, u := range v.Users() {
		seen += len(u.Jobs())
		if i > 0 && v.Users()[i-1].Share() > u.Share() {
			t.Fatalf("user %s out of fair order", u.ID)
		}
		if len(u.Jobs()) == 0 || u.Usage.MemoryMiB < 0 {
			t.Fatalf("user %s has %d jobs and uses %v", u.ID, len(u.Jobs()), u.Usage)
		}
	}
	if seen != len(v.Jobs()) {
		t.Fatalf("%d jobs by user, %d live", seen, len(v.Jobs()))
	}
	inRacks := 0
	for _, r := range v.Racks() {
		inRacks += len(r.Nodes)
		for _, n := range r.Nodes {
			if n.Rack != r || v.Node(n.ID) != n {
				t.Fatalf("node %s is not where it says", n.ID)
			}
		}
		for _, j := range v.Jobs() {
			if j.Map.PendingIn(r.Index) < 0 || j.Map.Launched(r.Index) < 0 || j.Reduce.Launched(r.Index) < 0 {
				t.Fatalf("%s: a count below zero on %s", j.ID, r.ID)
			}
		}
	}
	if inRacks != len(v.Nodes()) {
		t.Fatalf("%d nodes in racks, %d in all", inRacks, len(v.Nodes()))
	}
}

// TestWithdraw: what-if assumptions leave no trace, in whatever order they are
// withdrawn.
func TestWithdraw(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := newFeed(state.DefaultConfig())
		for _, fact := range genFacts(t) {
			f.later(model.Second).apply(fact)
		}
		before := fingerprint(t, f.c)
		v := f.c.View()
		var assumed []model.Placement
		for range rapid.IntRange(0, 5).Draw(t, "assumptions") {
			if len(v.Jobs()) == 0 || len(v.Nodes()) == 0 {
				break
			}
			j := rapid.SampledFrom(v.Jobs()).Draw(t, "job")
			n := rapid.SampledFrom(v.Nodes()).Draw(t, "node")
			if level, ok := j.Map.Locality(n); ok {
				p := model.Placement{App: j.ID, Stage: model.StageMap, Task: model.AnyTask, Node: n.ID, Locality: level}
				f.c.Assume(p)
				assumed = append(assumed, p)
				if !slices.IsSortedFunc(v.Users(), func(a, b *state.User) int { return cmp.Compare(a.Share(), b.Share()) }) {
					t.Fatal("users are not in fair order")
				}
			}
		}
		for _, p := range rapid.Permutation(assumed).Draw(t, "order") {
			f.c.Withdraw(p)
		}
		if after := fingerprint(t, f.c); after != before {
			t.Fatalf("before\n%s\nafter\n%s", before, after)
		}
	})
}

// TestSnapshotsDoNotChange (I2): a published snapshot reads the same whatever
// is applied afterwards.
func TestSnapshotsDoNotChange(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := newFeed(state.DefaultConfig())
		type shot struct {
			s    *snapshot.Snapshot
			text string
		}
		var shots []shot
		for _, fact := range genFacts(t) {
			f.later(model.Second).apply(fact)
			f.c.Advance(f.at)
			s := f.c.Snapshot()
			b, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			shots = append(shots, shot{s, string(b)})
		}
		for _, s := range shots {
			b, err := json.Marshal(s.s)
			if err != nil {
				t.Fatal(err)
			}
			if string(b) != s.text {
				t.Fatalf("snapshot %d changed from\n%s\nto\n%s", s.s.Seq, s.text, b)
			}
		}
	})
}

// partial turns a list of everything into what is new, has changed or has ended
// since the list before it.
func partial(before, now model.Fact) model.Fact {
	switch now := now.(type) {
	case model.NodesFact:
		old, _ := before.(model.NodesFact)
		f := model.NodesFact{Partial: true}
		for _, n := range now.Nodes {
			if !slices.Contains(old.Nodes, n) {
				f.Nodes = append(f.Nodes, n)
			}
		}
		return f
	case model.AppsFact:
		old, _ := before.(model.AppsFact)
		f := model.AppsFact{Partial: true}
		for _, a := range old.Apps {
			if !slices.ContainsFunc(now.Apps, func(b model.App) bool { return a.ID == b.ID }) {
				a.State, a.Allocated, a.Containers = model.AppFinished, model.Resource{}, 0
				f.Apps = append(f.Apps, a)
			}
		}
		for _, a := range now.Apps {
			if !slices.Contains(old.Apps, a) {
				f.Apps = append(f.Apps, a)
			}
		}
		return f
	}
	return now
}

// What is listed in part leaves the cluster as the whole list does, in every order
// that has been read before, and leaves alone what it does not list.
func TestPartialLists(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		whole, parts := state.New(state.DefaultConfig()), state.New(state.DefaultConfig())
		var lists [2]model.Fact
		apps, at, known := []model.App{}, model.Time(1_000_000), 1
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			at += 1000
			k := rapid.IntRange(0, 1).Draw(t, "kind")
			var now model.Fact
			if k == 0 {
				n := nodes(3, 3)
				known = rapid.IntRange(known, len(n.Nodes)).Draw(t, "known")
				n.Nodes = n.Nodes[:known]
				for i := range n.Nodes {
					n.Nodes[i].Used = model.Resource{MemoryMiB: 1024, VCores: 1}.Times(int64(rapid.IntRange(0, 3).Draw(t, "used")))
					n.Nodes[i].State = rapid.SampledFrom([]model.NodeState{model.NodeRunning, model.NodeRunning, model.NodeLost}).Draw(t, "state")
				}
				now = n
			} else {
				apps = drawnApps(t, slices.Clone(apps))
				now = model.AppsFact{Apps: apps}
			}
			whole.Apply(model.Observation{Source: model.SourceRM, At: at, Fact: now})
			parts.Apply(model.Observation{Source: model.SourceRM, At: at, Fact: partial(lists[k], now)})
			lists[k] = now
			if a, b := ordered(t, whole), ordered(t, parts); a != b {
				t.Fatalf("after whole lists\n%s\nafter partial lists\n%s", a, b)
			}
		}
	})
}

// drawnApps adds an application, ends one, or changes what one has.
func drawnApps(t *rapid.T, apps []model.App) []model.App {
	if i := len(apps); i == 0 || rapid.IntRange(0, 2).Draw(t, "new") == 0 {
		return append(apps, app(rapid.IntRange(0, 99).Filter(func(n int) bool {
			return !slices.ContainsFunc(apps, func(a model.App) bool { return a.ID == app(n, "", 0).ID })
		}).Draw(t, "app"), rapid.SampledFrom([]string{"ann", "bob", "eve"}).Draw(t, "user"), model.Time(900_000+len(apps))))
	}
	i := rapid.IntRange(0, len(apps)-1).Draw(t, "which")
	if rapid.IntRange(0, 2).Draw(t, "ends") == 0 {
		return slices.Delete(apps, i, i+1)
	}
	apps[i].Containers = rapid.IntRange(0, 5).Draw(t, "containers")
	apps[i].Allocated = model.Resource{MemoryMiB: 1024, VCores: 1}.Times(int64(apps[i].Containers))
	return apps
}

// ordered is what a cluster shows, with the orders of users and of their jobs,
// which have to be orders, of all of them.
func ordered(t *rapid.T, c *state.Cluster) string {
	var b strings.Builder
	b.WriteString(fingerprint(t, c))
	for _, o := range []state.UserOrder{state.ByMemory, state.ByDominantShare, state.ByShares} {
		users, jobs := c.View().UsersBy(o), 0
		for _, u := range users {
			fmt.Fprint(&b, u.ID, " ", u.Share(), ":")
			list := u.JobsByUsage()
			for _, j := range list {
				fmt.Fprint(&b, " ", j.ID)
			}
			jobs += len(list)
			if !slices.IsSortedFunc(list, func(a, b *state.Job) int {
				return cmp.Or(cmp.Compare(a.Usage().MemoryMiB, b.Usage().MemoryMiB), model.CompareApps(&a.App, &b.App))
			}) {
				t.Fatalf("jobs of %s by usage: %s", u.ID, &b)
			}
		}
		shared := o == state.ByMemory || c.View().Capacity().Total.MemoryMiB > 0 // otherwise there are no shares
		if jobs != len(c.View().Jobs()) || shared && !slices.IsSortedFunc(users, func(a, b *state.User) int {
			return cmp.Or(cmp.Compare(a.Share(), b.Share()), cmp.Compare(a.Jobs()[0].Submitted, b.Jobs()[0].Submitted), cmp.Compare(a.ID, b.ID))
		}) { // memory and vcores go together here, so that all orders are the same
			t.Fatalf("%d jobs of users in order %d, of %d: %s", jobs, o, len(c.View().Jobs()), &b)
		}
	}
	for _, r := range c.View().Racks() {
		fmt.Fprint(&b, r.Total, r.Used, r.Runs())
	}
	capacity := c.View().Capacity()
	fmt.Fprint(&b, capacity.Total, capacity.Nodes, capacity.Racks)
	return b.String()
}

// A host that moved to another rack is looked for there from then on.
func TestHostMoves(t *testing.T) {
	t.Parallel()
	c := state.New(state.DefaultConfig())
	at := model.Time(1_000_000)
	apply := func(facts ...model.Fact) {
		for _, f := range facts {
			at += 1000
			c.Apply(model.Observation{Source: model.SourceRM, At: at, Fact: f})
		}
	}
	wants := func(id model.AppID) model.Fact {
		return model.TasksFact{App: id, Tasks: []model.Task{{Stage: model.StageMap, State: model.TaskPending, Preferred: []string{"w11"}}}}
	}
	first, second := app(1, "ann", 900_000), app(2, "ann", 900_001)
	before, after := nodes(2, 1), nodes(2, 1)
	after.Nodes[0].Rack = "/rack2"
	apply(before, apps(first, second), wants(first.ID), after, wants(second.ID))
	rack := c.View().RackOf("/rack2").Index
	if n := c.View().Job(second.ID).Map.PendingIn(rack); n != 1 {
		t.Errorf("%d maps pending in the rack that %s moved to, want 1", n, after.Nodes[0].Host)
	}
}

// Without traffic counters tell of the job, and of nothing that moved.
func TestNoTraffic(t *testing.T) {
	t.Parallel()
	for _, none := range []bool{false, true} {
		cfg := state.DefaultConfig()
		cfg.NoTraffic = none
		c := state.New(cfg)
		a := app(1, "ann", 1_000_000)
		for i, f := range []model.Fact{
			nodes(2, 1), apps(a),
			model.JobFact{App: a.ID, MapsTotal: 1, MapsCompleted: 1, ReducesTotal: 1, ReducesRunning: 1},
			model.TasksFact{App: a.ID, Tasks: []model.Task{mapDone(0, 1, 100), {Stage: model.StageReduce, State: model.TaskRunning, Host: "w21", Rack: "/rack2", Shuffled: model.Unknown}}},
			model.CountersFact{App: a.ID, MapInput: 50, MapOutput: 100, ReduceShuffle: 100},
		} {
			c.Apply(model.Observation{Source: model.SourceMapReduce, At: model.Time(1_001_000 + i), Fact: f})
		}
		moved := 0.0
		for _, row := range c.Snapshot().Traffic.Bytes[snapshot.TrafficShuffle] {
			for _, bytes := range row {
				moved += bytes
			}
		}
		if (moved > 0) == none || c.View().Job(a.ID).Ratio != 2 {
			t.Errorf("without traffic %v: %g bytes moved, ratio %g", none, moved, c.View().Job(a.ID).Ratio)
		}
	}
}

package state_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"heddle/core/model"
	"heddle/core/state"
)

// drawApps lists some of ten applications with what they have, of any queue,
// priority and user.
func drawApps(t *rapid.T) model.AppsFact {
	var f model.AppsFact
	for i := range 10 {
		if rapid.Bool().Draw(t, "listed") {
			continue
		}
		a := app(i, rapid.SampledFrom([]string{"ann", "bob", "eve"}).Draw(t, "user"), model.Time(900_000+i%3))
		a.Queue = rapid.SampledFrom([]model.QueueID{"root.a", "root.b", "root.c"}).Draw(t, "queue")
		a.Priority = rapid.IntRange(0, 2).Draw(t, "priority")
		a.Allocated = model.Resource{MemoryMiB: 1024 * rapid.Int64Range(0, 5).Draw(t, "memory"), VCores: rapid.Int64Range(0, 5).Draw(t, "vcores")}
		f.Apps = append(f.Apps, a)
	}
	return f
}

// TestOrders checks, over random histories with assumptions in between, that
// queues hold what their jobs have and that every order holds.
func TestOrders(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		cfg := state.DefaultConfig()
		cfg.Weights = map[model.UserID]float64{"bob": 2}
		f := newFeed(cfg)
		v := f.c.View()
		for range rapid.IntRange(1, 6).Draw(t, "steps") {
			if rapid.IntRange(0, 3).Draw(t, "kind") == 0 {
				n := nodes(rapid.IntRange(1, 3).Draw(t, "racks"), 2)
				n.Nodes[0].Total.VCores = rapid.Int64Range(0, 50).Draw(t, "vcores")
				if rapid.Bool().Draw(t, "lost") {
					n.Nodes[1].State = model.NodeLost
				}
				f.apply(n)
			} else {
				f.apply(drawApps(t))
			}
			checkOrders(t, v)
			assumed := assumeSome(t, f.c)
			checkOrders(t, v)
			for _, p := range assumed {
				f.c.Withdraw(p)
			}
			checkOrders(t, v)
		}
	})
}

func assumeSome(t *rapid.T, c *state.Cluster) (assumed []model.Placement) {
	v := c.View()
	if len(v.Jobs()) == 0 || len(v.Nodes()) == 0 {
		return nil
	}
	for _, j := range v.Jobs() {
		c.Apply(model.Observation{Source: model.SourceRM, At: v.Now(), Fact: model.AsksFact{App: j.ID, Rows: []model.AskRow{
			{Priority: model.PriorityMap, ResourceName: "*", Count: 9, Capability: model.Resource{MemoryMiB: 512, VCores: 2}},
			{Priority: model.PriorityReduce, ResourceName: "*", Count: 9, Capability: model.Resource{MemoryMiB: 2048, VCores: 1}},
		}}})
	}
	for range rapid.IntRange(0, 6).Draw(t, "assumed") {
		j := rapid.SampledFrom(v.Jobs()).Draw(t, "job")
		p := model.Placement{
			App: j.ID, Stage: rapid.SampledFrom([]model.Stage{model.StageMap, model.StageReduce}).Draw(t, "stage"),
			Task: model.AnyTask, Node: v.Nodes()[0].ID, Locality: model.OffSwitch,
		}
		c.Assume(p)
		assumed = append(assumed, p)
	}
	return assumed
}

func checkOrders(t *rapid.T, v state.View) {
	var total model.Resource
	running := 0
	for _, n := range v.Nodes() {
		if n.State.Usable() {
			total = total.Add(n.Total)
			running++
		}
	}
	if got := v.Capacity(); got.Total != total || got.Nodes != running {
		t.Fatalf("capacity %+v, want %+v of %d nodes", got, total, running)
	}
	checkUsers(t, v, total)
	checkQueues(t, v)
}

func checkUsers(t *rapid.T, v state.View, total model.Resource) {
	keys := map[state.UserOrder]func(u *state.User) []float64{
		state.ByMemory:        func(u *state.User) []float64 { return []float64{u.Share()} },
		state.ByDominantShare: func(u *state.User) []float64 { d, _ := u.Shares(total); return []float64{d} },
		state.ByShares:        func(u *state.User) []float64 { d, o := u.Shares(total); return []float64{d, o} },
	}
	want := map[model.UserID]model.Resource{}
	for _, j := range v.Jobs() {
		want[j.User] = want[j.User].Add(j.Usage())
	}
	for o, key := range keys {
		users := v.UsersBy(o)
		if len(users) != len(want) {
			t.Fatalf("order %d lists %d users of %d", o, len(users), len(want))
		}
		if !slices.IsSortedFunc(users, func(a, b *state.User) int {
			return cmp.Or(slices.Compare(key(a), key(b)), cmp.Compare(a.Jobs()[0].Submitted, b.Jobs()[0].Submitted), cmp.Compare(a.ID, b.ID))
		}) {
			t.Fatalf("order %d does not hold", o)
		}
	}
	for _, u := range v.Users() {
		if u.Usage != want[u.ID] {
			t.Fatalf("%s has %+v, jobs have %+v", u.ID, u.Usage, want[u.ID])
		}
		byUsage := u.JobsByUsage()
		if len(byUsage) != len(u.Jobs()) || !slices.IsSortedFunc(byUsage, func(a, b *state.Job) int {
			return cmp.Or(cmp.Compare(a.Usage().MemoryMiB, b.Usage().MemoryMiB), model.CompareApps(&a.App, &b.App))
		}) {
			t.Fatalf("jobs of %s by usage: the order does not hold", u.ID)
		}
	}
}

func checkQueues(t *rapid.T, v state.View) {
	want := map[string]model.Resource{}
	for _, j := range v.Jobs() {
		want["root"] = want["root"].Add(j.Usage())
		want[string(j.Queue)] = want[string(j.Queue)].Add(j.Usage())
		part := fmt.Sprint(j.Queue, " of ", j.User)
		want[part] = want[part].Add(j.Usage())
	}
	got := map[string]model.Resource{}
	list := func(name string, q *state.Queue) {
		got[name] = q.Usage
		if !slices.IsSortedFunc(q.Jobs(), func(a, b *state.Job) int {
			return cmp.Or(cmp.Compare(b.Priority, a.Priority), model.CompareApps(&a.App, &b.App))
		}) {
			t.Fatalf("jobs of queue %s are out of order", name)
		}
	}
	if len(v.Jobs()) > 0 {
		list("root", v.Root())
	}
	jobs := 0
	for _, q := range v.Root().Leaves() {
		list(string(q.ID), q)
		jobs += len(q.Jobs())
		for _, u := range q.Users() {
			got[fmt.Sprint(q.ID, " of ", u.ID)] = u.Used
			if q.User(u.ID) != u || !slices.Contains(v.Users(), u.User) {
				t.Fatalf("user %s of %s is not the user of that name", u.ID, q.ID)
			}
		}
	}
	if len(v.Root().Jobs()) != len(v.Jobs()) || jobs != len(v.Jobs()) {
		t.Fatalf("%d jobs in the root, %d in queues, %d live", len(v.Root().Jobs()), jobs, len(v.Jobs()))
	}
	for name := range got {
		if got[name] != want[name] {
			t.Fatalf("%s has %+v, jobs have %+v", name, got[name], want[name])
		}
	}
	if len(got) != len(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

// Places counts the hosts and racks a stage's tasks are asked for at.
func TestPlaces(t *testing.T) {
	t.Parallel()
	f := newFeed(state.DefaultConfig())
	f.apply(nodes(2, 2), apps(app(1, "ann", 900_000)))
	rows := []model.AskRow{{Priority: 20, ResourceName: "*", Count: 3}}
	j := f.c.View().Job("application_1_0001")
	for _, name := range []string{"w11", "w21", "/rack1", "/rack2"} {
		f.apply(model.AsksFact{App: j.ID, Rows: rows})
		if got, want := j.Map.Places(), len(rows)-1; got != want {
			t.Errorf("%d places, want %d", got, want)
		}
		rows = append(rows, model.AskRow{Priority: 20, ResourceName: name, Count: 1})
	}
}

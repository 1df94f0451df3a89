package state_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"heddle/core/model"
	"heddle/core/state"
)

// readable is everything a reader can see of a cluster but the revisions, which
// only grow.
func readable(t *rapid.T, c *state.Cluster) string {
	var b strings.Builder
	b.WriteString(ordered(t, c))
	v := c.View()
	fmt.Fprintln(&b, v.Now(), v.FirstSubmit(), v.Saturation())
	for _, r := range v.Racks() {
		fmt.Fprintf(&b, "%s %d %v %+v %d nodes\n", r.ID, r.Index, r.Link, r.Load, len(r.Nodes))
	}
	for _, n := range v.Nodes() {
		fmt.Fprintf(&b, "%s on %d: running", n.ID, n.Rack.Index)
		for _, m := range v.RunningMaps(n) {
			fmt.Fprint(&b, " ", m.Job.ID, m.Count)
		}
		fmt.Fprint(&b, "; local")
		for _, j := range v.MapsLocalTo(n) {
			fmt.Fprint(&b, " ", j.ID)
		}
		fmt.Fprintln(&b, " of", v.StagesLocalTo(n))
	}
	queue := func(q *state.Queue) {
		fmt.Fprintf(&b, "queue %q uses %v:", q.ID, q.Usage)
		for _, j := range q.Jobs() {
			fmt.Fprint(&b, " ", j.ID)
		}
		for _, u := range q.Users() {
			fmt.Fprint(&b, " ", u.ID, u.Used)
		}
		fmt.Fprintln(&b)
	}
	queue(v.Root())
	for _, q := range v.Root().Leaves() {
		queue(q)
	}
	for _, a := range c.Snapshot().Apps {
		j := v.Job(a.ID)
		fmt.Fprintf(&b, "%s number %d input %+v output %+v prediction %+v result %+v\n", j.ID, j.Number(), *j.Input, j.Output, j.Predict(), j.Result(1))
		for _, s := range []*state.Stage{j.Map, j.Reduce, j.Other} {
			fmt.Fprint(&b, s.Kind, s.Total, s.Completed, s.Running, s.Pending, s.Capability, s.LaunchedByRack(), s.Places(), s.Fraction())
			for _, n := range v.Nodes() {
				level, ok := s.Locality(n)
				first, has := c.TaskLocality(s, 0, n)
				fmt.Fprint(&b, " ", s.PendingOn(n), s.PendingIn(n.Rack.Index), s.OutputOn(n), s.CompletedByRack(), level, ok, first, has)
			}
			fmt.Fprintln(&b)
		}
		for _, p := range v.Parents(j) {
			fmt.Fprintln(&b, "reads", p.Name)
		}
		for _, d := range v.Dependents(j) {
			fmt.Fprintln(&b, "read by", d.Name, len(d.Others))
		}
	}
	fmt.Fprintln(&b, c.History().Len(), c.History().Version())
	return b.String()
}

// TestSupposedJobLeavesNoTrace: a what-if application is seen by its question only,
// also if its facts name hosts, racks and paths that other jobs use or that are unknown.
func TestSupposedJobLeavesNoTrace(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := newFeed(state.DefaultConfig())
		for _, fact := range genFacts(t) {
			f.later(model.Second).apply(fact)
		}
		for i, j := range f.c.View().Jobs() {
			f.apply(model.JobConfFact{App: j.ID, Inputs: []string{"/shared"}, Output: fmt.Sprint("/out", i)})
		}
		if rapid.Bool().Draw(t, "known path") {
			f.apply(model.BlocksFact{Path: "/shared", Blocks: []model.Block{{Length: 9, Hosts: []string{"w12"}, Racks: []model.RackID{"/rack1"}}}})
		}
		f.c.Snapshot() // what is derived at the first question is there
		before := readable(t, f.c)
		const id = "application_9_0001"
		user := rapid.SampledFrom([]model.UserID{"ann", "zoe"}).Draw(t, "user")
		host := rapid.SampledFrom([]string{"w11", "w12", "elsewhere"}).Draw(t, "host")
		rack := rapid.SampledFrom([]model.RackID{"/rack1", "/rack9", ""}).Draw(t, "rack")
		seen := false
		f.c.Suppose(model.App{ID: id, User: user, Queue: "root.what-if", State: model.AppRunning, Submitted: 5}, []model.Fact{
			model.JobFact{App: id, MapsTotal: 3, MapsPending: 1, MapsCompleted: 2, ReducesTotal: 4, ReducesPending: 4},
			model.JobConfFact{App: id, Inputs: []string{"/shared"}, Output: "/shared"},
			model.BlocksFact{Path: "/shared", Blocks: []model.Block{{Length: 5, Hosts: []string{host}, Racks: []model.RackID{rack}}}},
			model.AsksFact{App: id, Rows: []model.AskRow{{Priority: 20, ResourceName: "*", Count: 1}, {Priority: 20, ResourceName: host, Count: 1}, {Priority: 20, ResourceName: string(rack), Count: 1}}},
			model.TasksFact{App: id, Tasks: []model.Task{mapDone(0, 1, 70), mapDone(1, 7, 30), {Stage: model.StageMap, Index: 2, State: model.TaskPending, Preferred: []string{host, "nowhere"}}}},
			model.ContainersFact{App: id, Containers: []model.Container{{ID: "c", Node: "w11:45454", Priority: 20}, {ID: "d", Node: "lost:1", Priority: 20}}},
			model.CountersFact{App: id, MapOutput: 100, MapInput: 50, ReduceShuffle: model.Unknown},
		}, func(j *state.Job) {
			seen = j.Output.Total == 100 && j.Input.Bytes == 5 && j.Heavy && f.c.View().Job(id) == j
		})
		if !seen {
			t.Fatal("the question did not see the job")
		}
		if after := readable(t, f.c); after != before {
			t.Fatalf("before\n%s\nafter\n%s", before, after)
		}
	})
}

// What a job's map output follows from has changed when maps are assumed to run or to have stopped, or a source reports
// anything of the job, and not when other tasks are assumed.
func TestMapsChanged(t *testing.T) {
	t.Parallel()
	checked := 0
	rapid.Check(t, func(t *rapid.T) {
		f := newFeed(state.DefaultConfig())
		for _, fact := range genFacts(t) {
			f.later(model.Second).apply(fact)
		}
		for _, j := range f.c.View().Jobs() {
			for _, n := range f.c.View().Nodes() {
				placement := func(stage model.Stage) model.Placement {
					level, _ := j.Stage(stage).Locality(n)
					return model.Placement{App: j.ID, Stage: stage, Node: n.ID, Locality: level}
				}
				if j.Map.Pending <= 0 || j.Reduce.Pending <= 0 {
					continue
				}
				checked++
				before := j.MapsChanged()
				p := placement(model.StageReduce)
				f.c.Assume(p)
				f.c.Withdraw(p)
				if j.MapsChanged() != before {
					t.Fatalf("%s: a reduce is assumed, and the maps changed", j.ID)
				}
				p = placement(model.StageMap)
				f.c.Assume(p)
				assumed := j.MapsChanged()
				f.c.Withdraw(p)
				withdrawn := j.MapsChanged()
				f.apply(model.CountersFact{App: j.ID})
				if assumed == before || withdrawn == assumed || j.MapsChanged() == withdrawn {
					t.Fatalf("%s: maps changed at %v, at %v with one assumed, at %v without it, at %v with counters", j.ID, before, assumed, withdrawn, j.MapsChanged())
				}
			}
		}
	})
	if !testing.Short() && checked < 20 { // short runs draw few cases
		t.Errorf("%d jobs were looked at: the facts are too plain", checked)
	}
}

package state_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"heddle/core/model"
	"heddle/core/state"
)

// The jobs found by a node are those that have pending maps there.
func TestMapsLocalTo(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := newFeed(state.DefaultConfig())
		for _, fact := range genFacts(t) {
			f.apply(fact)
			v := f.c.View()
			for _, n := range v.Nodes() {
				var want []*state.Job
				for _, j := range v.Jobs() {
					if j.Map.PendingOn(n) > 0 {
						want = append(want, j)
					}
				}
				var got []*state.Job
				for number, j := range v.MapsLocalTo(n) {
					if number != j.Number() {
						t.Fatalf("%s has number %d, not %d", j.ID, j.Number(), number)
					}
					if !j.State.Final() {
						got = append(got, j)
					}
				}
				slices.SortFunc(got, func(a, b *state.Job) int { return model.CompareApps(&a.App, &b.App) })
				if !slices.Equal(got, want) {
					t.Fatalf("%s: %d jobs have maps there, %d were found", n.ID, len(want), len(got))
				}
			}
		}
	})
}

// A job that was listed as ended and comes back asks for what it asked for; one
// that is forgotten leaves nothing behind for the next with its number.
func TestDemandOutlivesAWrongEnd(t *testing.T) {
	t.Parallel()
	const node = model.NodeID("w11:45454")
	running, ended := app(1, "ann", 900_000), app(1, "ann", 900_000)
	ended.State = model.AppFinished
	cfg := state.DefaultConfig()
	cfg.FinishedJobs = 1
	f := newFeed(cfg).apply(nodes(2, 2), apps(running), model.AsksFact{App: running.ID, Rows: []model.AskRow{
		{Priority: 20, ResourceName: "*", Count: 3, Capability: model.Resource{MemoryMiB: 512, VCores: 1}},
		{Priority: 20, ResourceName: "w11", Count: 2},
	}})
	local := func(id model.AppID) int { return f.c.View().Job(id).Map.PendingOn(f.c.View().Node(node)) }
	f.apply(apps(ended), apps(running))
	if got := local(running.ID); got != 2 {
		t.Errorf("after it came back: %d maps local, want 2", got)
	}
	for i := 2; i <= 4; i++ { // each takes the number of one that is forgotten
		f.apply(apps(app(i, "ann", model.Time(900_000+i))))
		if got := local(app(i, "ann", 0).ID); got != 0 {
			t.Errorf("job %d begins with %d local maps of another", i, got)
		}
	}
}

package rmmodel_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"heddle/core/asks"
	"heddle/core/model"
	"heddle/integration/rmmodel"
)

// job is a MapReduce job of maps without local input and reduces, on three racks
// of two hosts with two slots.
func job(s rmmodel.Scheduler, maps, reduces int, plans ...rmmodel.Plan) *rmmodel.Scenario {
	sc := &rmmodel.Scenario{
		Scheduler: s, Racks: 3, Hosts: 2, Slots: 2, Limits: rmmodel.TestLimits(), Plans: plans, Poll: model.Second,
		App: rmmodel.App{SlowStart: 1},
	}
	for range maps {
		sc.App.Tasks = append(sc.App.Tasks, rmmodel.Task{
			Stage: model.StageMap, Key: asks.Key{Priority: 20, RequestID: -1}, Again: asks.Key{Priority: 5, RequestID: -1},
			Need: rmmodel.Slot(), Runs: 3 * model.Second,
		})
	}
	for range reduces {
		sc.App.Tasks = append(sc.App.Tasks, rmmodel.Task{
			Stage: model.StageReduce, Key: reduce(), Again: reduce(), Need: rmmodel.Slot(), Runs: 5 * model.Second,
		})
	}
	return sc
}

// on is a plan of all of a stage on one rack, from the start.
func on(stage model.Stage, rack, count int) rmmodel.Plan {
	return rmmodel.Plan{Stage: stage, Target: asks.Target{Racks: []model.RackTarget{{Rack: rmmodel.RackName(rack), Count: count}}}}
}

// TestFindsFaults: each way in which a relay can be wrong is found out.
func TestFindsFaults(t *testing.T) {
	t.Parallel()
	each := func(change func(r *asks.Row)) func([]asks.Row) []asks.Row {
		return func(rows []asks.Row) []asks.Row {
			for i := range rows {
				if rows[i].Key == reduce() {
					change(&rows[i])
				}
			}
			return rows
		}
	}
	tests := []struct {
		name   string
		tamper func([]asks.Row) []asks.Row
		want   string
	}{
		{"nothing wrong", nil, ""},
		{"too many", each(func(r *asks.Row) { r.Count += 2 }), "are asked for, and the application asks for"},
		{"negative", each(func(r *asks.Row) { r.Count -= 10 }), "has the count -"},
		{"no ANY", each(func(r *asks.Row) { r.Name = "/rack1" }), "has no * row"},
		{"label", each(func(r *asks.Row) { r.Labelled, r.Name = true, "w11" }), "carries a node label"},
		{"held for good", each(func(r *asks.Row) { r.Relax = false }), "never succeeded"},
		{"forgotten", func(rows []asks.Row) []asks.Row {
			return slices.DeleteFunc(rows, func(r asks.Row) bool { return r.Key == reduce() })
		}, "never succeeded"},
		{"one too few", each(func(r *asks.Row) { r.Count = max(0, r.Count-1) }), "never succeeded"},
		{"pinned where nobody wants it", func(rows []asks.Row) []asks.Row {
			for _, r := range slices.Clone(rows) {
				if r.Key == reduce() && r.Name == model.AnyName && r.Count > 0 {
					for _, name := range []string{"w31", "/rack3"} {
						local := r
						local.Name = name
						rows = append(rows, local)
					}
				}
			}
			return each(func(r *asks.Row) { r.Relax = r.Name != model.AnyName })(rows)
		}, "and the plan wants"},
		{"sizes mixed", func(rows []asks.Row) []asks.Row {
			for _, r := range slices.Clone(rows) {
				if r.Key == reduce() && r.Count > 0 {
					r.Name, r.Capability = "/rack3", r.Capability.Times(2)
					rows = append(rows, r)
				}
			}
			return rows
		}, "its other rows for"},
	}
	for _, tt := range tests {
		for _, s := range []rmmodel.Scheduler{rmmodel.Capacity, rmmodel.Fair} {
			t.Run(tt.name+"/"+string(s), func(t *testing.T) {
				t.Parallel()
				sc := job(s, 3, 4)
				relay := rmmodel.NewRelay(sc.Limits, sc.Plans)
				relay.Tamper = tt.tamper
				f := &failures{TB: t}
				sound(f, sc, rmmodel.Run(sc, relay), slack, slack)
				switch found := strings.Join(f.found, "\n"); {
				case tt.want == "" && found != "":
					t.Errorf("found %s, and nothing is wrong", found)
				case !strings.Contains(found, tt.want):
					t.Errorf("found %q, want %q", found, tt.want)
				}
			})
		}
	}
}

// failures collects what a check would have failed with.
type failures struct {
	rapid.TB
	found []string
}

func (f *failures) Error(args ...any) { f.found = append(f.found, args[0].(string)) }

func (f *failures) Errorf(format string, args ...any) {
	f.found = append(f.found, fmt.Sprintf(format, args...))
}

// TestPassThrough: with nothing planned, or advising, or passing, every call
// arrives as the application made it, to the byte and at the same time.
func TestPassThrough(t *testing.T) {
	t.Parallel()
	modes := map[string]func(sc *rmmodel.Scenario, r *rmmodel.Relay){
		"nothing planned": func(_ *rmmodel.Scenario, r *rmmodel.Relay) { r.Plans = nil },
		"advise":          func(_ *rmmodel.Scenario, r *rmmodel.Relay) { r.Advise = true },
		"stale": func(sc *rmmodel.Scenario, r *rmmodel.Relay) {
			r.Pass = true
			sc.Events = slices.DeleteFunc(sc.Events, func(e rmmodel.Event) bool { return e.Kind == rmmodel.Stale })
		},
	}
	for name, set := range modes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bothSchedulers(t, func(t *rapid.T, s rmmodel.Scheduler) {
				sc := rmmodel.Generate(draw(t), s)
				relay := rmmodel.NewRelay(sc.Limits, sc.Plans)
				set(&sc, relay)
				through := rmmodel.Run(&sc, relay)
				for i := range sc.Events { // a crash is a lost response without a relay
					if sc.Events[i].Kind == rmmodel.Crash {
						sc.Events[i].Kind = rmmodel.LoseResponse
					}
				}
				direct := rmmodel.Run(&sc, nil)
				for _, problem := range slices.Concat(direct.Problems, through.Problems) {
					t.Error(problem)
				}
				equalCalls(t, direct.Calls, through.Calls)
			})
		})
	}
}

func equalCalls(t *rapid.T, want, got []rmmodel.Call) {
	t.Helper()
	if len(want) != len(got) {
		t.Fatalf("%d calls, and %d without a relay", len(got), len(want))
	}
	same := func(a, b asks.Row) bool {
		return bytes.Equal(a.Raw, b.Raw) && a.Key == b.Key && a.Name == b.Name && a.Count == b.Count && a.Relax == b.Relax
	}
	for i := range want {
		if want[i].At != got[i].At || !slices.EqualFunc(want[i].Rows, got[i].Rows, same) {
			t.Fatalf("call %d at %d ms is %+v, and without a relay %+v at %d ms", i, got[i].At, got[i].Rows, want[i].Rows, want[i].At)
		}
	}
}

package rmmodel_test

import (
	"maps"
	"slices"
	"testing"

	"heddle/core/asks"
	"heddle/core/model"
	"heddle/integration/rmmodel"
)

// TestSteering: the plan is what happens, where there is room: without this, a
// table that passes everything would hold every property.
func TestSteering(t *testing.T) {
	t.Parallel()
	racks := func(counts ...int) []model.RackTarget {
		var targets []model.RackTarget
		for i, n := range counts {
			targets = append(targets, model.RackTarget{Rack: rmmodel.RackName(i + 1), Count: n})
		}
		return targets
	}
	tests := []struct {
		name  string
		plans []rmmodel.Plan
		want  map[model.RackID]int // of four reduces
		after model.Time           // no reduce before
	}{
		{"pin", []rmmodel.Plan{on(model.StageReduce, 2, 4)}, map[model.RackID]int{"/rack2": 4}, 0},
		{
			"quota",
			[]rmmodel.Plan{{Stage: model.StageReduce, Target: asks.Target{Racks: racks(3, 1)}}},
			map[model.RackID]int{"/rack1": 3, "/rack2": 1},
			0,
		},
		{
			"hold, then pin",
			[]rmmodel.Plan{{Stage: model.StageReduce, Target: asks.Target{Racks: racks(4), Hold: true, Until: 12000}}},
			map[model.RackID]int{"/rack1": 4},
			12000,
		},
	}
	for _, tt := range tests {
		for _, s := range []rmmodel.Scheduler{rmmodel.Capacity, rmmodel.Fair} {
			t.Run(tt.name+"/"+string(s), func(t *testing.T) {
				t.Parallel()
				for seed := range uint64(20) {
					sc := job(s, 3, 4, tt.plans...)
					sc.Seed = seed
					got := rmmodel.Run(sc, rmmodel.NewRelay(sc.Limits, sc.Plans))
					sound(t, sc, got, slack, 12*model.Second+slack)
					if !maps.Equal(got.ByRack[model.StageReduce], tt.want) {
						t.Errorf("reduces by rack: %v, want %v", got.ByRack[model.StageReduce], tt.want)
					}
					if got.Strict < 4 {
						t.Errorf("%d strict containers, want 4 and those the application released", got.Strict)
					}
					if got.Ended < tt.after {
						t.Errorf("over after %d ms, and reduces are held until %d", got.Ended, tt.after)
					}
				}
			})
		}
	}
}

// TestTrim: maps run on the preferred rack of those that have their input.
func TestTrim(t *testing.T) {
	t.Parallel()
	for _, s := range []rmmodel.Scheduler{rmmodel.Capacity, rmmodel.Fair} {
		t.Run(string(s), func(t *testing.T) {
			t.Parallel()
			sc := job(s, 4, 0, on(model.StageMap, 2, 4))
			for i := range sc.App.Tasks {
				sc.App.Tasks[i].Hosts = []string{"w11", "w21", "w31"}
			}
			got := rmmodel.Run(sc, rmmodel.NewRelay(sc.Limits, sc.Plans))
			sound(t, sc, got, slack, slack)
			if want := map[model.RackID]int{"/rack2": 4}; !maps.Equal(got.ByRack[model.StageMap], want) {
				t.Errorf("maps by rack: %v, want %v", got.ByRack[model.StageMap], want)
			}
		})
	}
}

// TestSample: a sample says where its strict asks are to be met.
func TestSample(t *testing.T) {
	t.Parallel()
	sc := job(rmmodel.Capacity, 3, 4, on(model.StageReduce, 2, 4))
	calls := rmmodel.Sample(sc, rmmodel.NewRelay(sc.Limits, sc.Plans))
	strict := slices.IndexFunc(calls, func(c rmmodel.Call) bool { return len(c.Racks[reduce()]) > 0 })
	if strict < 0 || !slices.Equal(calls[strict].Racks[reduce()], []model.RackID{"/rack2"}) {
		t.Errorf("no call of %d asks for reduces on /rack2", len(calls))
	}
}

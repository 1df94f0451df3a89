package rmmodel_test

import (
	"testing"

	"heddle/core/model"
	"heddle/integration/rmmodel"
)

// starved is a job of two reduces whose plan is a rack that others fill: they run
// only once the relay has restored the application's own rows, at their deadline
// of 15 s or, without one, when the plan goes. At a second a map is asked for too.
func starved(s rmmodel.Scheduler, seed uint64, deadline bool, second model.Time) *rmmodel.Scenario {
	sc := job(s, 1, 2, on(model.StageReduce, 1, 2))
	sc.Seed = seed
	sc.App.Tasks[0].At = second * 1000
	sc.App.SlowStart = 0
	sc.Events = []rmmodel.Event{{Kind: rmmodel.FillRack, Place: "/rack1", For: 300 * model.Second}}
	if !deadline {
		sc.Limits.PinDeadline = 300 * model.Second
		sc.Plans = append(sc.Plans, rmmodel.Plan{At: 15_000, Stage: model.StageReduce, None: true})
	}
	return sc
}

// TestRestoreIsNotLost: the call that restores the application's rows does not
// reach the ResourceManager, or repeats one that it has applied, which it ignores.
// Nobody else relaxes what is left then: the reduces would wait for good.
func TestRestoreIsNotLost(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		events  []rmmodel.Event // their times count from each second around the deadline
		rebuild bool            // an unanswered call is made again with the map
	}{
		{"request lost, repeated", []rmmodel.Event{{Kind: rmmodel.LoseRequest}}, false},
		{"request lost, made again", []rmmodel.Event{{Kind: rmmodel.LoseRequest}}, true},
		{"two requests lost, made again", []rmmodel.Event{{Kind: rmmodel.LoseRequest}, {Kind: rmmodel.LoseRequest, At: 1000}}, true},
		{"answer lost, repeated", []rmmodel.Event{{Kind: rmmodel.LoseResponse}}, false},
		{"answer lost, made again", []rmmodel.Event{{Kind: rmmodel.LoseResponse}}, true},
		{"answer and request lost, made again", []rmmodel.Event{{Kind: rmmodel.LoseResponse}, {Kind: rmmodel.LoseRequest, At: 1000}}, true},
		{"relay killed, repeated", []rmmodel.Event{{Kind: rmmodel.Crash}}, false},
		{"relay killed, made again", []rmmodel.Event{{Kind: rmmodel.Crash}}, true},
		{"relay restarted, then an answer lost, made again", []rmmodel.Event{{Kind: rmmodel.Restart}, {Kind: rmmodel.LoseResponse, At: 1000}}, true},
	}
	for _, tt := range tests {
		for _, s := range []rmmodel.Scheduler{rmmodel.Capacity, rmmodel.Fair} {
			t.Run(tt.name+"/"+string(s), func(t *testing.T) {
				t.Parallel()
				for i := range 2 * 6 * 6 {
					second, seed := model.Time(11+i/2%6), uint64(i/12)
					sc := starved(s, seed, i%2 == 0, second+1)
					sc.App.Rebuild = tt.rebuild
					for _, e := range tt.events {
						e.At += second * 1000
						sc.Events = append(sc.Events, e)
					}
					got := rmmodel.Run(sc, rmmodel.NewRelay(sc.Limits, sc.Plans))
					if sound(t, sc, got, 45*model.Second, 45*model.Second); t.Failed() {
						return
					}
				}
			})
		}
	}
}

// TestMoveIsNotLost: the call that moves a pin to another rack repeats one that
// the ResourceManager has applied, which it ignores. The rack that the plan has
// left gets nothing when it has room again.
func TestMoveIsNotLost(t *testing.T) {
	t.Parallel()
	for _, s := range []rmmodel.Scheduler{rmmodel.Capacity, rmmodel.Fair} {
		t.Run(string(s), func(t *testing.T) {
			t.Parallel()
			for i := range 6 * 6 {
				second := model.Time(11 + i%6)
				sc := starved(s, uint64(i/6), true, second+1)
				sc.App.Rebuild, sc.Limits.PinDeadline, sc.Limits.FullAfter = true, 300*model.Second, 300*model.Second
				moved := on(model.StageReduce, 2, 2)
				moved.At = 15_000
				sc.Plans = append(sc.Plans, moved)
				sc.Events = []rmmodel.Event{
					{Kind: rmmodel.FillRack, Place: "/rack1", For: 24 * model.Second},
					{Kind: rmmodel.FillRack, Place: "/rack2", For: 26 * model.Second},
					{Kind: rmmodel.LoseResponse, At: second * 1000},
				}
				got := rmmodel.Run(sc, rmmodel.NewRelay(sc.Limits, sc.Plans))
				sound(t, sc, got, 45*model.Second, 45*model.Second)
				if want := 2; got.ByRack[model.StageReduce]["/rack2"] != want {
					t.Errorf("reduces by rack: %v, want %d on /rack2", got.ByRack[model.StageReduce], want)
				}
				if t.Failed() {
					return
				}
			}
		})
	}
}

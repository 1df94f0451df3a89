package account_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"heddle/core/account"
	"heddle/core/guard"
	"heddle/core/model"
	"heddle/core/state"
	"heddle/core/topology"
)

// TestOutcomes: what is judged of a job that ended, by the facts of its life. Three racks, whose nodes hold four reduces each,
// have uplinks of 1 MB/s; 8 MB of map output are on the first.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	const second = model.Second
	reduces := func(on ...int) []int { return on }
	done := func(r ...model.Relayed) []model.Relayed { return r }
	base := guard.Application{
		ID: app, Queue: "root.q", Ended: 1_030_000, Took: 25 * second, Steered: true,
		Uplink: 0, Stock: 16.0 / 3, StockCrossRack: 16_000_000 / 3, Reference: 10*second + 5333 + 2*second,
	}
	with := func(edit func(*guard.Application)) *guard.Application { a := base; edit(&a); return &a }
	for name, c := range map[string]struct {
		relayed []model.Relayed
		on      []int // reduces by rack
		state   model.AppState
		untimed bool
		slow    bool // the last rack's uplink has 0.5 MB/s inwards
		want    *guard.Application
	}{
		"where the output is": {relayed: done(model.Relayed{Granted: 10, Steered: 6}), on: reduces(6, 0, 0), want: &base},
		"where none is": {relayed: done(model.Relayed{Granted: 10, Steered: 1}), on: reduces(0, 6, 0), want: with(func(a *guard.Application) {
			a.Uplink, a.CrossRack = 8, 8e6
		})},
		"behind a slower uplink": {slow: true, relayed: done(model.Relayed{Granted: 10, Steered: 1}), on: reduces(0, 0, 6), want: with(func(a *guard.Application) {
			a.Uplink, a.CrossRack = 16, 8e6 // stock's two there fetch 16/3 MB, no longer than what leaves the first
		})},
		"evenly": {relayed: done(model.Relayed{Granted: 10}), on: reduces(2, 2, 2), want: with(func(a *guard.Application) {
			a.Steered, a.Uplink, a.CrossRack = false, 16.0/3, 16_000_000/3
		})},
		"one reduce, which stock puts anywhere": {slow: true, relayed: done(model.Relayed{Granted: 5, Steered: 1}), on: reduces(1, 0, 0), want: with(func(a *guard.Application) {
			a.Stock, a.StockCrossRack, a.Reference = 8, 16_000_000/3, 20*second // the mean of 0, 8 and 16 s
		})},
		"more reduces than there is room for": {relayed: done(model.Relayed{Granted: 5, Steered: 1}), on: reduces(24, 0, 0), want: with(func(a *guard.Application) {
			a.Reference += 2 * second
		})},
		"it waited, twice the relay had to learn": {relayed: done(model.Relayed{Granted: 4, Steered: 2, Waited: 5000}, model.Relayed{Granted: 1, Waited: 0}, model.Relayed{Granted: 3, Waited: 700}, model.Relayed{Granted: 2, Waited: 100}), on: reduces(6, 0, 0), want: with(func(a *guard.Application) {
			a.Waited = 5800
		})},
		"task times unknown": {relayed: done(model.Relayed{Granted: 10, Steered: 6}), on: reduces(6, 0, 0), untimed: true, want: with(func(a *guard.Application) {
			a.Reference = 0
		})},
		"no relay":         {on: reduces(6, 0, 0)},
		"nothing granted":  {relayed: done(model.Relayed{}), on: reduces(6, 0, 0)},
		"it was killed":    {relayed: done(model.Relayed{Granted: 10, Steered: 6}), on: reduces(6, 0, 0), state: model.AppKilled},
		"it did not reply": {relayed: done(model.Relayed{Granted: 10, Steered: 6}), on: reduces(6, 0, 0), state: model.AppFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := state.DefaultConfig()
			cfg.Uplinks = topology.Uplinks{Default: topology.Link{Out: 1e6, In: 1e6}}
			if c.slow {
				cfg.Uplinks.Racks = map[model.RackID]topology.Link{rack(2): {Out: 1e6, In: 5e5}}
			}
			k := &cluster{state: state.New(cfg), at: 1_000_000}
			k.accounts = account.New(k.state.View())
			o := account.NewOutcomes(k.state.View())
			var got *guard.Application
			apply := func(facts ...model.Fact) {
				for _, f := range facts {
					k.apply(f)
					o.Observe(f)
					for _, j := range k.done {
						if a, ok := o.End(j); ok {
							got = &a
						}
					}
					k.done = nil
				}
			}
			var nodes model.NodesFact
			for i := range 3 {
				nodes.Nodes = append(nodes.Nodes, model.Node{ID: model.NodeID(host(i) + ":1"), Host: host(i), Rack: rack(i), State: model.NodeRunning, Total: model.Resource{MemoryMiB: 4096, VCores: 4}})
			}
			n := 0
			for _, on := range c.on {
				n += on
			}
			running := model.App{ID: app, User: "u", Queue: "root.q", Type: "MAPREDUCE", State: model.AppRunning, Submitted: 1_002_000}
			one := model.Resource{MemoryMiB: 1024, VCores: 1}
			maps := model.TasksFact{App: app}
			for i := range 2 {
				m := task("map", i, 0, 4e6)
				m.Launched, m.Finished = 1_000_000, 1_000_000+model.Time(8000+4000*i) // 10 s in the mean
				maps.Tasks = append(maps.Tasks, m)
			}
			ends := model.TasksFact{App: app}
			for r, on := range c.on {
				for range on {
					m := task("reduce", len(ends.Tasks), r, model.Unknown)
					m.Launched, m.Fetched, m.Finished = 1_010_000, 1_020_000, 1_022_000
					ends.Tasks = append(ends.Tasks, m)
				}
			}
			if c.untimed {
				for i := range maps.Tasks {
					maps.Tasks[i].Launched = 0
				}
			}
			apply(nodes, model.AppsFact{Apps: []model.App{running}}, model.JobConfFact{App: app, Inputs: []string{"/in"}, MapTask: one, ReduceTask: one},
				model.JobFact{App: app, MapsTotal: 2, MapsCompleted: 2, ReducesTotal: n, ReducesPending: n}, maps, model.CountersFact{App: app, MapOutput: 8e6, MapInput: 8e6})
			for _, r := range c.relayed {
				apply(model.AsksFact{App: app, Relayed: r})
			}
			k.at = 1_030_000
			running.State, running.Finished = model.AppFinished, 1_027_000
			if c.state != "" {
				running.State = c.state
			}
			apply(ends, model.AppsFact{Apps: []model.App{running}}, model.JobFact{App: app, MapsTotal: 2, MapsCompleted: 2, ReducesTotal: n, ReducesCompleted: n, Done: true})
			if diff := cmp.Diff(c.want, got, cmpopts.EquateApprox(0, 1e-6), cmp.Comparer(func(a, b model.Bytes) bool { return math.Abs(float64(a-b)) <= 2 }), cmp.Comparer(func(a, b model.Duration) bool { return a-b <= 1 && b-a <= 1 })); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if _, left := o.Of(app); left {
				t.Error("it is followed after its end")
			}
		})
	}
}

package rmmodel_test

import (
	"flag"
	"os"
	"testing"

	"pgregory.net/rapid"

	"heddle/core/model"
	"heddle/integration/rmmodel"
)

// slack is for how long an ask may be outstanding beside free room without any
// relay: a heartbeat of the application and of every node each way, the misses
// CapacityScheduler waits for, and a failover or a lost call on top.
const slack = 8 * model.Second

// TestMain has short runs draw the same scenarios every time. Others draw new ones.
func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		if err := flag.Set("rapid.seed", "12"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

func draw(t *rapid.T) rmmodel.Draw {
	return func(lo, hi int) int { return rapid.IntRange(lo, hi).Draw(t, "n") }
}

func bothSchedulers(t *testing.T, check func(t *rapid.T, s rmmodel.Scheduler)) {
	t.Helper()
	for _, s := range []rmmodel.Scheduler{rmmodel.Capacity, rmmodel.Fair} {
		t.Run(string(s), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) { check(t, s) })
		})
	}
}

// TestWithoutRelay: the models alone: every task runs, no call is refused, and
// nothing waits long beside free room.
func TestWithoutRelay(t *testing.T) {
	t.Parallel()
	bothSchedulers(t, func(t *rapid.T, s rmmodel.Scheduler) {
		sc := rmmodel.Generate(draw(t), s)
		sound(t, &sc, rmmodel.Run(&sc, nil), slack, slack)
	})
}

// TestTable holds the relay's ask table against the model, whatever is planned
// and whatever goes wrong.
func TestTable(t *testing.T) {
	t.Parallel()
	bothSchedulers(t, func(t *rapid.T, s rmmodel.Scheduler) {
		sc := rmmodel.Generate(draw(t), s)
		l := sc.Limits
		more := l.HoldMax + slack + unwatched(&sc)
		sound(t, &sc, rmmodel.Run(&sc, rmmodel.NewRelay(l, sc.Plans)), l.TrimDeadline+more, l.PinDeadline+more)
	})
}

// TestRestarts: a relay that loses what it knows again and again is as harmless
// as one that runs on.
func TestRestarts(t *testing.T) {
	t.Parallel()
	bothSchedulers(t, func(t *rapid.T, s rmmodel.Scheduler) {
		n := draw(t)
		sc := rmmodel.Generate(n, s)
		for second := n(1, 9); second < 60; second += n(1, 20) {
			kinds := []rmmodel.EventKind{rmmodel.Restart, rmmodel.Crash, rmmodel.Around}
			e := rmmodel.Event{At: model.Time(second * 1000), Kind: kinds[n(0, 2)], For: model.Second, Dead: true}
			sc.Events = append(sc.Events, e)
		}
		l := sc.Limits
		more := l.HoldMax + slack + unwatched(&sc)
		sound(t, &sc, rmmodel.Run(&sc, rmmodel.NewRelay(l, sc.Plans)), l.TrimDeadline+more, l.PinDeadline+more)
	})
}

// unwatched is for how long no deadline can end because the relay is dead, or,
// started again, waits for what the ResourceManager shows.
func unwatched(sc *rmmodel.Scenario) model.Duration {
	sum := model.Duration(0)
	for _, e := range sc.Events {
		switch e.Kind {
		case rmmodel.Around:
			sum += e.For + sc.Poll + 2*model.Second
		case rmmodel.Restart, rmmodel.Crash:
			sum += sc.Poll + 2*model.Second
		default:
		}
	}
	return sum
}

// sound checks what must hold of every run.
func sound(t rapid.TB, sc *rmmodel.Scenario, got *rmmodel.Result, maps, others model.Duration) {
	t.Helper()
	for _, problem := range got.Problems {
		t.Error(problem)
	}
	if got.Left > 0 {
		t.Errorf("%d of %d tasks never succeeded", got.Left, len(sc.App.Tasks))
	}
	if got.Excess > got.Injected {
		t.Errorf("%d containers too many, and the race explains %d", got.Excess, got.Injected)
	}
	for stage, waited := range got.Waited {
		bound := others
		if stage == model.StageMap {
			bound = maps
		}
		if waited > bound {
			t.Errorf("an ask of stage %s got nothing for %d ms beside free room, more than %d", stage, waited, bound)
		}
	}
	if t.Failed() {
		t.Logf("%+v", *sc)
		for _, call := range got.Calls[:min(len(got.Calls), 60)] {
			t.Log(call)
		}
	}
}

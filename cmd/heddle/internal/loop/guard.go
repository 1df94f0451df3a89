package loop

import (
	"math"

	"github.com/hashicorp/go-hclog"

	"heddle/core/account"
	"heddle/core/guard"
	"heddle/core/model"
	"heddle/core/state"
	"heddle/core/state/snapshot"
)

// guarding judges by the jobs that end whether steering pays, and says for which applications it is off.
type guarding struct {
	guard    *guard.Guard
	outcomes account.Outcomes
	view     state.View
	log      hclog.Logger
}

func newGuarding(p guard.Params, v state.View, log hclog.Logger) guarding {
	return guarding{guard: guard.New(p), outcomes: account.NewOutcomes(v), view: v, log: log}
}

// observe takes note of a fact that the cluster has applied, and of the jobs that are complete with it.
func (g *guarding) observe(fact model.Fact, done []*account.Job) {
	g.outcomes.Observe(fact)
	for _, job := range done {
		a, ok := g.outcomes.End(job)
		if !ok {
			continue
		}
		if off, turned := g.guard.Add(g.view.Now(), &a); turned {
			logOff(g.log, &off)
		}
	}
}

// addTo puts the guard into a snapshot that nobody reads yet.
func (g *guarding) addTo(s *snapshot.Snapshot) {
	for _, on := range g.guard.Advance(g.view.Now()) {
		g.log.Info("steering is on again for a queue", "queue", on.Queue, "times_off", on.Trips)
	}
	s.Guard = g.guard.Snapshot()
	if g.guard.Steers() {
		return
	}
	s.Guard.Unsteered = map[model.AppID]model.PassCause{}
	for _, a := range s.Apps[:s.Cluster.LiveApps] {
		if cause := g.guard.Cause(a.ID, a.Queue); cause != "" {
			s.Guard.Unsteered[a.ID] = cause
		}
	}
}

// logOff says why steering was turned off for a queue, with the figures.
func logOff(to hclog.Logger, off *guard.Change) {
	percent := func(part float64) float64 { return math.Round(part*1000) / 10 }
	to.Warn("steering is off for a queue, because it lost there", "queue", off.Queue, "signal", off.Why, "until_ms", off.Until, "times_off", off.Trips,
		"steered_applications", off.Steered, "unsteered_applications", off.Unsteered, "ran_seconds", math.Round(off.Ran),
		"uplink_seconds", math.Round(off.Uplink), "stock_uplink_seconds", math.Round(off.Stock), "waited_seconds", math.Round(off.Waited),
		"predicted_loss_percent", percent(off.Predicted), "measured_loss_percent", percent(off.Measured), "chance", off.Chance,
		"do", "GET /v1/shadow has the figures; see HeddleGuardOff in the runbook")
}

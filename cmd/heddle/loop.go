package main

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"heddle/core/engine"
	"heddle/core/model"
	"heddle/core/state"
)

// loop is the one goroutine that owns the cluster. Observations come in on one
// bounded channel; snapshots go out through one atomic pointer; questions that
// need the policy are put to it as functions.
type loop struct {
	cluster   *state.Cluster
	engine    *engine.Engine // nil in observe mode
	in        chan model.Observation
	questions chan func()
	snapshot  atomic.Pointer[state.Snapshot]
	recorder  recorder
	notes     loopMetrics
	log       hclog.Logger
	now       func() time.Time

	// published takes every snapshot; nil for nobody.
	published func(*state.Snapshot)

	publishEvery time.Duration
	sampleEvery  time.Duration
	decided      bool // there was fresh state to decide on at least once
	stale        bool // the last plan found the state too old; said once
	panicking    bool // the policy panicked in the last round; said once
	said         said // what the log was told of the last snapshot
}

// recorder takes what the loop saw and decided. It must not block.
type recorder interface {
	Observation(o model.Observation)
	Decision(d model.Decision)
}

// loopMetrics takes what the loop measures of itself.
type loopMetrics interface {
	Round(policy string, d time.Duration)
	QueueFull(queue string)
}

// noRecorder is the recorder of a service that records nothing.
type noRecorder struct{}

func (noRecorder) Observation(model.Observation) {}
func (noRecorder) Decision(model.Decision)       {}

// Snapshot returns the newest published snapshot, nil before the first.
func (l *loop) Snapshot() *state.Snapshot { return l.snapshot.Load() }

// modelTime returns the loop's clock in the unit of observations.
func modelTime(t time.Time) model.Time { return model.Time(t.UnixMilli()) }

// Run owns the cluster until ctx ends. What waits in the queue then is still
// applied and recorded.
func (l *loop) Run(ctx context.Context) error {
	publish := time.NewTicker(l.publishEvery)
	defer publish.Stop()
	sample := time.NewTicker(l.sampleEvery)
	defer sample.Stop()
	for {
		select {
		case <-ctx.Done():
			l.drain()
			return nil
		case o := <-l.in:
			l.take(o)
		case ask := <-l.questions:
			ask()
		case <-sample.C:
			l.cluster.Advance(modelTime(l.now()))
		case <-publish.C:
			l.decide()
			l.publish()
		}
	}
}

func (l *loop) drain() {
	for {
		select {
		case o := <-l.in:
			l.take(o)
		default:
			l.publish()
			return
		}
	}
}

func (l *loop) take(o model.Observation) {
	if len(l.in) >= cap(l.in)-1 { // it was full until this one was taken; who waited may be in its place already
		l.notes.QueueFull("observations")
	}
	l.cluster.Apply(o)
	l.recorder.Observation(o)
}

func (l *loop) decide() {
	if l.engine == nil {
		return
	}
	start := time.Now()
	decisions, err := l.engine.Plan(modelTime(l.now()))
	l.notes.Round(l.engine.Name(), time.Since(start))
	switch {
	case errors.Is(err, engine.ErrStale):
		if !l.stale && l.decided {
			l.log.Warn("no decisions: the ResourceManager's state is too old", "policy", l.engine.Name())
			l.stale = true
		}
		return
	case err != nil:
		if !l.panicking {
			l.log.Error("the policy panicked; its plans stay as they were", "policy", l.engine.Name(), "error", err)
			l.panicking = true
		}
		return
	case l.stale, l.panicking:
		l.log.Info("decisions are made again", "policy", l.engine.Name())
		l.stale, l.panicking = false, false
	}
	l.decided = true
	for i := range decisions {
		l.recorder.Decision(decisions[i])
	}
}

// decideFor plans for one application between two rounds and returns all its
// plans in force. It runs in the loop's goroutine.
func (l *loop) decideFor(app model.AppID) []*model.Plan {
	if l.engine == nil {
		return nil
	}
	decisions, err := l.engine.PlanApp(modelTime(l.now()), app)
	if err != nil {
		return nil // the next round finds the same, and says so
	}
	for i := range decisions {
		l.recorder.Decision(decisions[i])
	}
	j := l.cluster.View().Job(app)
	if j == nil {
		return nil
	}
	var plans []*model.Plan
	for _, stage := range []model.Stage{model.StageMap, model.StageReduce, model.StageOther} {
		if p := j.PlanOf(stage); p != nil {
			plans = append(plans, p)
		}
	}
	return plans
}

func (l *loop) publish() {
	s := l.cluster.Snapshot()
	l.snapshot.Store(s)
	if l.published != nil {
		l.published(s)
	}
	l.said.tell(l.log, s)
}

// ask runs question in the loop's goroutine and waits for it, or for ctx.
func (l *loop) ask(ctx context.Context, question func()) error {
	done := make(chan struct{})
	select {
	case l.questions <- func() { question(); close(done) }:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

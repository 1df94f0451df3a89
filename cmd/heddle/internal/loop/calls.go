package loop

import (
	"context"
	"errors"

	"heddle/core/engine"
	"heddle/core/guard"
	"heddle/core/model"
	"heddle/core/shuffle"
	"heddle/core/state"
)

// do runs call in the loop's goroutine, and returns when it is done or ctx ends. A
// call that has begun completes even if ctx ends.
func (l *Loop) do(ctx context.Context, call func()) error {
	done := make(chan struct{})
	select {
	case l.calls <- func() { call(); close(done) }:
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

// PlanApp applies what an application asks for, plans for it alone between two
// rounds, and hands all its plans in force to use, in the loop's goroutine.
func (l *Loop) PlanApp(ctx context.Context, asked model.Observation, app model.AppID, use func([]*model.Plan)) error {
	return l.do(ctx, func() {
		l.apply(asked)
		use(l.planApp(app))
	})
}

func (l *Loop) planApp(app model.AppID) []*model.Plan {
	if l.engine == nil {
		return nil
	}
	if err := l.step(model.RoundFact{App: app}); err != nil {
		return nil // the next round meets the same error and logs it
	}
	return l.engine.Log().Plans(app)
}

// ErrNoPolicy is the error of Suppose where nothing is decided.
var ErrNoPolicy = errors.New("no policy decides")

// Suppose returns what the policy would plan for an application made of facts.
// It leaves the cluster unchanged.
func (l *Loop) Suppose(ctx context.Context, app model.App, facts []model.Fact) (policy string, plans []model.Plan, err error) {
	// The call may outlive this function, so that they share no variable.
	type outcome struct {
		policy string
		plans  []model.Plan
		err    error
	}
	answered := make(chan outcome, 1)
	err = l.do(ctx, func() {
		if l.engine == nil {
			answered <- outcome{err: ErrNoPolicy}
			return
		}
		o := outcome{policy: l.engine.Name()}
		l.cluster.Suppose(app, facts, func(j *state.Job) {
			o.plans, o.err = l.engine.WhatIf([]*state.Job{j})
		})
		answered <- o
	})
	if err != nil {
		return "", nil, err
	}
	o := <-answered
	return o.policy, o.plans, o.err
}

// Policies are those of a configuration.
type Policies struct {
	Engine     *engine.Engine // nil decides nothing
	Shadows    []Shadow
	ShadowTime float64
	Guard      guard.Params // the guard goes on with what it knows
}

// Reconfigure replaces the policy, unless build returns no engine, the shadows, and the
// settings of NetSat. If build fails, nothing changes.
func (l *Loop) Reconfigure(ctx context.Context, to model.PolicyFact, build func(*state.Cluster) (Policies, error)) error {
	failed := make(chan error, 1)
	err := l.do(ctx, func() {
		built, err := build(l.cluster)
		if failed <- err; err != nil {
			return
		}
		e := built.Engine
		if e != nil {
			if l.engine != nil {
				e.Continue(l.engine)
			}
			l.engine = e
		}
		l.accounts.budget.share = built.ShadowTime
		l.compare(l.engine, built.Shadows)
		l.guarding.guard.Configure(built.Guard)
		_ = l.step(to) // plans nothing
	})
	if err != nil {
		return err
	}
	return <-failed
}

// History returns a copy of the history of recurring jobs.
func (l *Loop) History(ctx context.Context) (*shuffle.History, error) {
	copied := make(chan *shuffle.History, 1)
	if err := l.do(ctx, func() { copied <- l.cluster.History().Clone() }); err != nil {
		return nil, err
	}
	return <-copied, nil
}

// FinalHistory returns the history of recurring jobs once Run has returned.
func (l *Loop) FinalHistory() *shuffle.History { return l.cluster.History() }

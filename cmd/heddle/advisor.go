package main

import (
	"context"
	"errors"

	"heddle/core/model"
	"heddle/core/state"
	"heddle/yarnproxy/api"
)

// advisor answers POST /v1/placements in the loop's goroutine: the application
// asked about is put into the cluster, planned for, and taken out again.
type advisor struct{ loop *loop }

// Advise implements api.Advisor.
func (a advisor) Advise(ctx context.Context, r api.Request) (api.Advice, error) {
	// The loop may still be writing its own when ctx ends: nothing is shared with it.
	type outcome struct {
		advice api.Advice
		err    error
	}
	answered := make(chan outcome, 1)
	err := a.loop.ask(ctx, func() {
		if a.loop.engine == nil {
			answered <- outcome{err: api.ErrNoPolicy}
			return
		}
		var plans []model.Plan
		var err error
		a.loop.cluster.Suppose(r.App, r.Facts, func(j *state.Job) {
			plans, err = a.loop.engine.PlanJobs([]*state.Job{j})
		})
		answered <- outcome{api.Advice{Policy: a.loop.engine.Name(), Plans: plans}, err}
	})
	if err != nil {
		return api.Advice{}, err
	}
	select {
	case o := <-answered:
		return o.advice, o.err
	default:
		return api.Advice{}, errors.New("the question was not answered")
	}
}

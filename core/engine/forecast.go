package engine

import (
	"maps"
	"slices"

	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/shuffle"
	"heddle/core/state"
)

// jobForecasts keeps, by application, what is expected of a job's reduces. A round changes few jobs, and looks at all.
type jobForecasts struct {
	jobs    map[model.AppID]*jobForecast
	mark    state.Revision
	changed []*state.Job
}

// jobForecast is what is expected of the reduces of a job, as long as it and the racks that have nodes stay the same.
// Slices are by rack number.
type jobForecast struct {
	job      *state.Job // nil once it changed
	racks    uint64     // which racks have nodes: state.Capacity
	forecast shuffle.Forecast
	known    bool // there is a forecast
	out      []model.Bytes
	even     []int

	// Of the plan that was judged last:
	plan   []int
	judged bool
	busier model.Reason    // why its busiest uplink must not carry it, "" if it may
	costs  [2][]model.Cost // of a plan that pins nothing, and of one that pins
}

// follow takes note of the jobs that changed since it was called last.
func (k *jobForecasts) follow(v state.View) {
	k.changed, k.mark = v.Changed(k.mark, k.changed[:0])
	for _, j := range k.changed {
		if o := k.jobs[j.ID]; j.State.Final() {
			delete(k.jobs, j.ID)
		} else if o != nil {
			o.job = nil
		}
	}
	if len(k.jobs) > 2*len(v.Jobs())+planSlack {
		maps.DeleteFunc(k.jobs, func(app model.AppID, _ *jobForecast) bool { return v.Job(app) == nil })
	}
}

// of returns the forecast of a job as it is now.
func (k *jobForecasts) of(v state.View, j *state.Job) *jobForecast {
	o := k.jobs[j.ID]
	if o == nil {
		if k.jobs == nil {
			k.jobs = map[model.AppID]*jobForecast{}
		}
		o = &jobForecast{}
		k.jobs[j.ID] = o
	}
	if racks := v.Capacity().Racks; o.job != j || o.racks != racks {
		o.job, o.racks = j, racks
		o.known = j.Forecast(&o.forecast, len(v.Racks()))
		o.out = o.out[:0]
		for _, m := range o.forecast.ByRack {
			o.out = append(o.out, model.Bytes(m+0.5))
		}
		o.even, o.plan = policy.EvenSpread(v, j.Reduce.Tasks()), nil
	}
	return o
}

// judge makes a plan the one that is judged.
func (o *jobForecast) judge(plan []int) {
	if !slices.Equal(o.plan, plan) {
		o.plan, o.judged, o.costs = slices.Clone(plan), false, [2][]model.Cost{}
	}
}

// busierReason returns why the busiest uplink must not carry the plan: busier_uplink, or uncertain if it may only come to that.
func (o *jobForecast) busierReason() model.Reason {
	if o.judged {
		return o.busier
	}
	switch o.judged = true; {
	case o.forecast.Busier(policy.MaxBusier, o.plan, o.even):
		o.busier = model.ReasonBusierUplink
	case o.forecast.MayBeBusier(policy.MaxBusier, o.plan, o.even):
		o.busier = model.ReasonUncertain
	default:
		o.busier = ""
	}
	return o.busier
}

// costsOf returns what the plan and other ways to place the reduces cost. The slice must not be changed.
func (o *jobForecast) costsOf(j *state.Job, pins bool) []model.Cost {
	if pins {
		if o.costs[1] == nil {
			n := j.Reduce.Tasks()
			o.costs[1] = reduceCosts(o.out, []way{
				{"plan", o.plan},
				{"fewest_bytes", shuffle.FewestBytes(o.out, n)},
				{"proportional", shuffle.Proportional(o.out, n)},
				{"uniform", o.even},
				{"as_placed", j.Reduce.LaunchedByRack()},
			})
		}
		return o.costs[1]
	}
	if o.costs[0] == nil {
		o.costs[0] = reduceCosts(o.out, []way{{notPinned, o.plan}, {"uniform", o.even}})
	}
	return o.costs[0]
}

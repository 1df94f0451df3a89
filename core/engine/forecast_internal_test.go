package engine

import (
	"testing"

	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/state"
)

// anyRack plans the reduces of each job on any rack.
type anyRack struct{}

func (anyRack) Place(*policy.Input) []model.Placement { return nil }

func (anyRack) Plan(in *policy.Input) (plans []model.Plan) {
	for _, j := range in.Jobs {
		plans = append(plans, model.Plan{App: j.ID, Stage: model.StageReduce, Rank: 1, Reason: model.ReasonRankOnly})
	}
	return plans
}

// TestForecastsOfEndedJobsAreForgotten: the engine keeps nothing of a job that has ended, whose tasks it would keep in memory.
func TestForecastsOfEndedJobsAreForgotten(t *testing.T) {
	t.Parallel()
	c := state.New(state.DefaultConfig())
	e := New(DefaultOptions("test"), anyRack{}, c)
	job := model.App{ID: "application_1_0001", User: "ann", Type: "MAPREDUCE", State: model.AppRunning, Submitted: 1}
	for _, want := range []int{1, 0} {
		c.Apply(model.Observation{Source: model.SourceRM, At: 1000, Fact: model.AppsFact{Apps: []model.App{job}}})
		if _, err := e.PlanJobs(c.View().Jobs()); err != nil {
			t.Fatal(err)
		}
		if n := len(e.forecasts.jobs); n != want {
			t.Errorf("%s: %d jobs are kept, want %d", job.State, n, want)
		}
		job.State = model.AppFinished
	}
}

package engine_test

import (
	"fmt"
	"testing"

	"heddle/core/engine"
	"heddle/core/model"
	"heddle/core/policy"
)

// An engine that replaces another one continues its numbers, counts and plans,
// and what a snapshot was given stays as it was (I2).
func TestLogOutlivesItsEngine(t *testing.T) {
	t.Parallel()
	c := cluster()
	opts := engine.DefaultOptions("test")
	opts.Decisions = 2
	plan := model.Plan{App: id, Stage: model.StageReduce, Rank: 1, Reason: model.ReasonDependents}
	targets := func(rack model.RackID) []model.Plan {
		p := plan
		p.Racks = []model.RackTarget{{Rack: rack, Count: 10}}
		return []model.Plan{p, {App: "unknown", Stage: model.StageMap, Rank: 1}}
	}
	e := engine.New(opts, planner{plans: targets("/rack1")}, c)
	if got, err := e.Plan(10_000); err != nil || len(got) != 1 || got[0].Seq != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	first := published(e, c)
	for i, rack := range []model.RackID{"/rack2", "/rack1", "/rack2"} {
		next := engine.New(opts, planner{plans: targets(rack)}, c)
		next.Continue(e)
		if got, err := next.Plan(10_000); err != nil || len(got) != 1 || got[0].Seq != uint64(i+2) {
			t.Fatalf("decision %d: %+v, %v", i+2, got, err)
		}
		e = next
	}
	if last := published(e, c); len(last.Decisions) != 2 || last.Decisions[0].Seq != 3 || last.Plans[id][0].Racks[0].Rack != "/rack2" ||
		last.Counts.DecidedByReason[model.ReasonDependents] != 4 || last.Counts.RejectedByRule[model.RuleUnknownJob] != 4 {
		t.Errorf("decisions %+v, plans %v, counts %+v", last.Decisions, last.Plans, last.Counts)
	}
	if len(first.Decisions) != 1 || first.Decisions[0].Seq != 1 || first.Plans[id][0].Racks[0].Rack != "/rack1" || first.Counts.RejectedByRule[model.RuleUnknownJob] != 1 {
		t.Errorf("the first snapshot changed: %+v", first)
	}
}

// The plans of an application go with the application.
func TestPlansGoWithTheirApplication(t *testing.T) {
	t.Parallel()
	c := cluster()
	e := engine.New(engine.DefaultOptions("test"), planner{plans: []model.Plan{{App: id, Stage: model.StageReduce, Rank: 1, Reason: model.ReasonRankOnly}}}, c)
	if _, err := e.Plan(10_000); err != nil || len(e.Log().Plans(id)) != 1 {
		t.Fatalf("plans %v, %v", e.Log().Plans(id), err)
	}
	apps := model.AppsFact{}
	for i := range 600 { // more than are remembered once they have ended
		apps.Apps = append(apps.Apps, model.App{ID: model.AppID("application_2_" + string(rune('a'+i%26)) + string(rune('a'+i/26))), User: "ann", State: model.AppRunning, Submitted: 2000})
	}
	for _, f := range []model.AppsFact{apps, {}} {
		c.Apply(model.Observation{Source: model.SourceRM, At: 10_000, Fact: f})
	}
	published(e, c)
	if got := e.Log().Plans(id); c.View().Job(id) != nil || len(got) != 0 {
		t.Errorf("the application is known: %t, its plans: %v", c.View().Job(id) != nil, got)
	}
}

// everyJob plans the reduces of every job it is asked about.
type everyJob struct{ planner }

func (everyJob) Plan(in *policy.Input) []model.Plan {
	var plans []model.Plan
	for _, j := range in.Jobs {
		plans = append(plans, model.Plan{App: j.ID, Stage: model.StageReduce, Rank: 1, Reason: model.ReasonRankOnly})
	}
	return plans
}

// Plans are forgotten with their applications also where nobody publishes snapshots, as in a replay.
func TestPlansAreForgottenWithoutSnapshots(t *testing.T) {
	t.Parallel()
	c := cluster()
	e := engine.New(engine.DefaultOptions("test"), everyJob{}, c)
	const jobs = 6000
	for i := range jobs {
		app := model.App{ID: model.AppID(fmt.Sprintf("application_2_%05d", i)), User: "ann", State: model.AppRunning, Submitted: 2000}
		c.Apply(model.Observation{Source: model.SourceRM, At: 10_000, Fact: model.AppsFact{Apps: []model.App{app}}})
		if _, err := e.Plan(10_000); err != nil {
			t.Fatal(err)
		}
	}
	kept := 0
	for i := range jobs {
		if len(e.Log().Plans(model.AppID(fmt.Sprintf("application_2_%05d", i)))) > 0 {
			kept++
		}
	}
	if kept == 0 || kept > jobs/2 {
		t.Errorf("plans of %d of %d applications are kept", kept, jobs)
	}
}

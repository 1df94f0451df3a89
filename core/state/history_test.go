package state_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/core/model"
	"heddle/core/shuffle"
	"heddle/core/state"
)

// runs plays the runs of jobs on a cluster, one application at a time.
type runs struct {
	c  *state.Cluster
	at model.Time
}

// submit lists one application alone; the one before has ended with it.
func (r *runs) submit(id model.AppID, user model.UserID, name string) *state.Job {
	r.at = r.at.Add(model.Second)
	r.apply(model.AppsFact{Apps: []model.App{{ID: id, Name: name, User: user, State: model.AppRunning, Submitted: r.at}}})
	return r.c.View().Job(id)
}

func (r *runs) apply(f model.Fact) {
	r.c.Apply(model.Observation{Source: model.SourceRM, At: r.at, Fact: f})
}

// measure reports one of two maps, or with all both maps and the reduce, done.
func (r *runs) measure(id model.AppID, all bool, input, output, written model.Bytes) {
	f := model.JobFact{App: id, MapsTotal: 2, MapsCompleted: 1, ReducesTotal: 1}
	if all {
		f.MapsCompleted, f.ReducesCompleted, f.Done = 2, 1, true
	}
	r.apply(f)
	r.apply(model.CountersFact{App: id, MapInput: input, MapOutput: output, ReduceShuffle: model.Unknown, HDFSWritten: written})
}

// A job is known by the earlier ones of its user and name, whatever day is in
// it: by those that run as far as they have come, by those that ended also when
// their last counters come late, and by a history that was there before.
func TestRatioOfEarlierRuns(t *testing.T) {
	t.Parallel()
	r := &runs{c: state.New(state.DefaultConfig())}
	if j := r.submit("application_1_0001", "ann", "load 2024-01-05"); j.Earlier || j.Ratio != 1 {
		t.Errorf("the first: earlier %t, ratio %g", j.Earlier, j.Ratio)
	}
	r.measure("application_1_0001", false, 100, 250, 7)
	if past, known := r.c.History().Expect(shuffle.KeyOf("ann", "load 2024-01-05")); !known || past.Ratio != 2.5 || past.Output >= 0 {
		t.Errorf("while it runs: %+v", past)
	}
	second := r.submit("application_1_0002", "ann", "load 2024-01-06")
	if !second.Earlier || second.Predicted || second.Ratio != 2.5 || !second.Heavy {
		t.Errorf("the second: earlier %t, measured %t, ratio %g, heavy %t; want 2.5 of the one before", second.Earlier, second.Predicted, second.Ratio, second.Heavy)
	}
	r.measure("application_1_0001", true, 200, 400, 100) // the JobHistory server reports later
	want := shuffle.Past{Ratio: 2, Output: 0.5, Input: 200, At: r.at, Runs: 1}
	got, _ := r.c.History().Expect(shuffle.KeyOf(second.User, second.Name))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("after its end (-want +got):\n%s", diff)
	}
	for _, other := range []struct {
		user model.UserID
		name string
	}{{"bob", "load 2024-01-07"}, {"ann", "unload 2024-01-07"}, {"ann", "2024-01-07"}, {"ann", ""}} {
		if j := r.submit("application_1_0003", other.user, other.name); j.Earlier || j.Ratio != 1 {
			t.Errorf("%+v: earlier %t, ratio %g", other, j.Earlier, j.Ratio)
		}
	}

	cfg := state.DefaultConfig()
	cfg.FinishedJobs = 0 // a history outlives the jobs
	restarted := &runs{c: state.New(cfg), at: r.at}
	restarted.c.Apply(model.Observation{Source: model.SourceHistory, At: r.at, Fact: model.HistoryFact{Jobs: r.c.History().Jobs()}})
	if j := restarted.submit("application_1_0004", "ann", "load 2024-01-08"); !j.Earlier || j.Ratio != 2 {
		t.Errorf("after a restart: earlier %t, ratio %g", j.Earlier, j.Ratio)
	}
	restarted.measure("application_1_0004", true, 100, 500, 10)
	if j := restarted.submit("application_1_0005", "ann", "load 2024-01-09"); j.Ratio != (2*5+2)/3. {
		t.Errorf("of two runs: ratio %g, want the newer to count twice", j.Ratio)
	}
	if n := r.c.History().Len(); n != 1 {
		t.Errorf("the runs after a restart are in the history before it: %d jobs", n)
	}
}

// A supposed job adds no run to the history; its ratio comes from earlier runs.
func TestSupposedJobsLeaveNoHistory(t *testing.T) {
	t.Parallel()
	r := &runs{c: state.New(state.DefaultConfig())}
	r.submit("application_1_0001", "ann", "load 1")
	r.measure("application_1_0001", true, 100, 300, 0)
	version := r.c.History().Version()
	for range 2 {
		facts := []model.Fact{
			model.JobFact{App: "what-if", MapsTotal: 1, MapsCompleted: 1},
			model.CountersFact{App: "what-if", MapInput: 10, MapOutput: 90, ReduceShuffle: -1, HDFSWritten: -1},
			model.JobFact{App: "what-if", MapsTotal: 1, MapsCompleted: 1},
		}
		r.c.Suppose(model.App{ID: "what-if", Name: "load 2", User: "ann", State: model.AppRunning, Submitted: r.at}, facts, func(j *state.Job) {
			if !j.Earlier || !j.Predicted || j.Ratio != 9 {
				t.Errorf("supposed: earlier %t, measured %t, ratio %g", j.Earlier, j.Predicted, j.Ratio)
			}
		})
	}
	if v := r.c.History().Version(); v != version {
		t.Errorf("%d changes of the history by questions", v-version)
	}
	r.measure("application_1_0001", true, 100, 200, 0)
	if r.c.History().Version() == version {
		t.Error("after a question nothing is remembered")
	}
}

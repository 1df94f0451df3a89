package dispatch

import (
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/state"
)

// Targets are the racks on which a stage's tasks are wanted.
type Targets struct {
	Reason model.Reason
	Racks  []model.RackTarget // empty is any rack
	// Rank is the stage's place among all of its kind, where it does not follow from its job's Key; 0 if it does.
	Rank int
	// Limited says that the stage is to have at most MaxRunning tasks at a time for now, where policy.Input.HoldByRank is set.
	Limited    bool
	MaxRunning int
}

// limitFor is how long a limit of Targets lasts if no round of plans follows.
const limitFor = 30 * model.Second

// TargetWaits bounds how long the stages of jobs wait for their targets: for a
// time since the last launch of the stage, or since it first let an offer of
// another rack pass. Each launch begins it anew, so that a stage whose racks are
// taken goes on elsewhere, one task in that time.
//
// The papers confine tasks to racks and in the same figure run them anywhere as
// soon as a slot is free (ShuffleWatcher's lines 6, 9, 14 and 18, NAS's lines 6 to
// 8 of Algorithm 3), which undoes their own targets. A limit of 0 is the papers'.
type TargetWaits struct {
	Limit model.Duration
	jobs  policy.Jobs[[stages]policy.Wait] // On: it waits since Since
}

// Prune forgets jobs that left.
func (t *TargetWaits) Prune(v state.View) { t.jobs.Prune(v) }

// Since returns when a stage that is offered a node on none of its targets began to
// wait for them, and whether it did so before this offer. Without a limit none waits.
func (t *TargetWaits) Since(in *policy.Input, j *state.Job, s *state.Stage) (since model.Time, known bool) {
	now := in.View.Now()
	if t.Limit <= 0 {
		return now, false
	}
	w := &t.jobs.Of(j)[stageIndex(s.Kind)]
	if known = w.On && w.Since <= now; !known { // a clock that was set back starts the wait again
		*in.Journal.Edit(w) = policy.Wait{On: true, Since: now}
	}
	return w.Since, known
}

// Launched takes note of a launch.
func (t *TargetWaits) Launched(in *policy.Input, j *state.Job, s *state.Stage) {
	if t.Limit > 0 {
		*in.Journal.Edit(&t.jobs.Of(j)[stageIndex(s.Kind)]) = policy.Wait{On: true, Since: in.View.Now()}
	}
}

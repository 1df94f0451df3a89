package policy_test

import (
	"testing"

	"heddle/core/policy"
)

// A discarded checkpoint restores waits, and a discarded question restores whole
// values too, those that contain waits as well.
func TestJournal(t *testing.T) {
	t.Parallel()
	var kept struct {
		wait   policy.Wait
		active bool
	}
	var j policy.Journal
	offer := j.Begin(false)
	j.Edit(&kept.wait).Skips++
	j.Keep(offer)

	question := j.Begin(true)
	offer = j.Begin(false)
	j.Edit(&kept.wait).Skips++
	policy.Save(&j, &kept)
	kept.active = true
	j.Keep(offer)
	if kept.wait.Skips != 2 || !kept.active {
		t.Errorf("within the question: %+v", kept)
	}
	j.Discard(question)
	if kept.wait.Skips != 1 || kept.active {
		t.Errorf("after the question: %+v", kept)
	}

	refused := j.Begin(false)
	j.Edit(&kept.wait).Skips = 9
	j.Discard(refused)
	if kept.wait.Skips != 1 {
		t.Errorf("after a placement that was refused: %+v", kept)
	}
	var none *policy.Journal
	none.Edit(&kept.wait)
	policy.Save(none, &kept)
}

func TestJournalAllocatesNothing(t *testing.T) { // AllocsPerRun does not run beside others
	var j policy.Journal
	var kept policy.Wait
	if n := testing.AllocsPerRun(100, func() {
		c := j.Begin(false)
		j.Edit(&kept).Skips++
		policy.Save(&j, &kept)
		j.Keep(c)
	}); n > 0 {
		t.Errorf("an offer allocates %g times", n)
	}
}

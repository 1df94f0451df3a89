package asks

import "heddle/core/model"

// never is later than every time.
const never = model.Time(1<<63 - 1)

// alarm is when time alone will change something.
type alarm struct {
	now model.Time
	due model.Time
}

// wake sees to it that the keys are looked at again at a time.
func (a *alarm) wake(at model.Time) {
	if at > a.now {
		a.due = min(a.due, at)
	}
}

// stamp is the time, one that is not mistaken for none.
func (a *alarm) stamp() model.Time { return max(a.now, 1) }

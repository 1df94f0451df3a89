package sample

import "heddle/core/model"

// Relay is what a relay does at a step, from 1: three attempts, of which one is
// pinned and held, and counts that grow with every step.
func Relay(step int, at model.Time) *model.Relay {
	n := int64(step)
	buckets := make([]int64, len(model.RelayBuckets())+1)
	for i := range buckets {
		buckets[i] = n * int64(len(buckets)-i)
	}
	ask := func(priority, count int) []model.AskRow {
		return []model.AskRow{
			{Priority: priority, RequestID: -1, ResourceName: string(Rack(0)), Count: 1, RelaxLocality: true},
			{Priority: priority, RequestID: -1, ResourceName: model.AnyName, Count: count, RelaxLocality: true},
		}
	}
	key := func(priority, count int, action model.Action, since model.Duration) model.RelayKey {
		return model.RelayKey{Priority: priority, RequestID: -1, Asked: ask(priority, count), Action: action, Since: at.Add(-since), Deadline: at.Add(30 * model.Second)}
	}
	r := &model.Relay{
		At: at, Enforcing: true, Connections: 5, Blind: 1,
		Listeners: []model.RelayListener{{Address: "0.0.0.0:8030", Upstream: "rm1.example.com:8030"}},
		Attempts: []model.RelayAttempt{
			{App: App(), Attempt: 1, Connected: true, Keys: []model.RelayKey{
				key(10, 8, model.ActionPin, 12*model.Second), key(20, 3, model.ActionTrim, 2*model.Second), key(5, 2, model.ActionHold, 7*model.Second),
				key(11, 4, model.ActionPin, 1500), key(12, 0, model.ActionPin, model.Minute), // nothing is outstanding any more
			}},
			{App: App(), Attempt: 2, Keys: []model.RelayKey{key(10, 6, model.ActionFallBack, model.Minute), {Asked: ask(20, 5), Action: model.ActionTrim, Cause: model.PassAdvise}}},
			{App: "application_1700000000000_0002", Attempt: 1},
		},
		Counts: model.RelayCounts{
			Accepted: 4 + n, Allocates: 1000 * n, Rewritten: map[model.Action]int64{}, Passed: map[model.PassCause]int64{},
			Seconds: 0.25 * float64(n), Buckets: buckets, JournalLost: n / 2,
			Refused: 2 * n, Faults: n / 3, Forgotten: 5 * n,
		},
	}
	for i, a := range model.Actions() {
		r.Counts.Rewritten[a] = n * int64(20-2*i)
	}
	for i, c := range model.PassCauses() {
		r.Counts.Passed[c] = n * int64(i)
	}
	return r
}

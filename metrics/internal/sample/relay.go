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
	r := &model.Relay{
		At: at, Enforcing: true, Connections: 5, Blind: 1, Unauthenticated: 2,
		Listeners: []model.RelayListener{{Address: "0.0.0.0:8030", Upstream: "rm1.example.com:8030"}},
		Steering: model.RelaySteering{
			Attempts: 3, Containers: map[model.Action]int{model.ActionPin: 12, model.ActionTrim: 3, model.ActionHold: 2}, Since: at.Add(-12 * model.Second),
		},
		Counts: model.RelayCounts{
			Accepted: 4 + n, Allocates: 1000 * n, Rewritten: map[model.Action]int64{}, Passed: map[model.PassCause]int64{},
			Seconds: 0.25 * float64(n), Buckets: buckets,
			Refused: map[model.RefuseCause]int64{}, Faults: n / 3, Forgotten: 5 * n,
		},
	}
	for i, c := range model.RefuseCauses() {
		r.Counts.Refused[c] = n * int64(i+1)
	}
	for i, a := range model.Actions() {
		r.Counts.Rewritten[a] = n * int64(20-2*i)
	}
	for i, c := range model.PassCauses() {
		r.Counts.Passed[c] = n * int64(i)
	}
	return r
}

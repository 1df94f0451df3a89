package metrics

import (
	"heddle/core/model"
	"heddle/core/state/snapshot"
)

// causes attributes decisions and rejections to the policy in charge. The
// snapshot counts them by cause alone; what is new in it at a scrape belongs to
// the policy that is in charge then.
type causes struct {
	reasons  map[model.Reason]int64
	rules    map[model.Rule]int64
	byPolicy map[string]*causeCounts
}

// causeCounts counts what one policy did.
type causeCounts struct {
	reasons map[model.Reason]int64
	rules   map[model.Rule]int64
}

func newCauses() causes {
	return causes{reasons: map[model.Reason]int64{}, rules: map[model.Rule]int64{}, byPolicy: map[string]*causeCounts{}}
}

// add attributes what was counted since the last snapshot to the policy in charge now.
func (c *causes) add(snap *snapshot.Snapshot, policy string) {
	if policy == "" {
		return
	}
	t := c.byPolicy[policy]
	if t == nil {
		t = &causeCounts{map[model.Reason]int64{}, map[model.Rule]int64{}}
		c.byPolicy[policy] = t
	}
	addNew(t.reasons, c.reasons, snap.Counts.DecidedByReason)
	addNew(t.rules, c.rules, snap.Counts.RejectedByRule)
}

// addNew adds to sum what now counts beyond last, and makes last equal to now.
func addNew[K comparable](sum, last, now map[K]int64) {
	for k, n := range now { // order-free: sums
		sum[k] += max(n-last[k], 0)
		last[k] = n
	}
}

func (c *causes) collect(s sink) {
	for policy, t := range c.byPolicy { // order-free: the registry sorts
		for _, r := range model.Reasons() {
			s.put(decisions, float64(t.reasons[r]), policy, string(r))
		}
		for _, r := range model.Rules() {
			s.put(rejected, float64(t.rules[r]), policy, string(r))
		}
	}
}

package metrics

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"heddle/core/model"
)

// steering lists the actions that are in force for a while: those that make an
// ask wait for nodes the application did not insist on.
func steering() []model.Action {
	return []model.Action{model.ActionPin, model.ActionTrim, model.ActionHold, model.ActionWiden, model.ActionNextRack}
}

// putRelay sends what the relay does.
func (s sink) putRelay(r *model.Relay, now model.Time) {
	s.put(relayEnforcing, oneIf(r.Enforcing))
	s.put(relayConnections, float64(max(r.Connections-r.Blind, 0)), "plain")
	s.put(relayConnections, float64(r.Blind), "blind")
	s.put(relayAttempts, float64(len(r.Attempts)))
	c := &r.Counts
	s.put(relayAccepted, float64(c.Accepted))
	s.put(relayRefused, float64(c.Refused))
	s.put(relayJournal, float64(c.JournalLost))
	s.put(relayFaults, float64(c.Faults))
	s.put(relayForgotten, float64(c.Forgotten))
	for _, a := range model.Actions() {
		s.put(relayRewritten, float64(c.Rewritten[a]), string(a))
	}
	for _, p := range model.PassCauses() {
		s.put(relayPassed, float64(c.Passed[p]), string(p))
	}
	count := uint64(0) // not Allocates: a call that is under way has no latency yet
	for _, n := range c.Buckets {
		count += uint64(n) //nolint:gosec // a count
	}
	s.ch <- prometheus.MustNewConstHistogram(s.all[relayAllocate].desc, count, c.Seconds, cumulative(model.RelayBuckets(), c.Buckets))
	s.putSteered(r, now)
}

// putSteered sends how many outstanding containers each action is in force for, and
// since when the oldest is. A key with a cause is passed as asked: no action is in
// force for it.
func (s sink) putSteered(r *model.Relay, now model.Time) {
	containers, oldest := map[model.Action]int{}, now
	for i := range r.Attempts {
		for j := range r.Attempts[i].Keys {
			k := &r.Attempts[i].Keys[j]
			n := outstanding(k.Asked)
			if n == 0 || k.Cause != "" || !slices.Contains(steering(), k.Action) {
				continue
			}
			containers[k.Action] += n
			if k.Since != 0 {
				oldest = min(oldest, k.Since)
			}
		}
	}
	for _, a := range steering() {
		s.put(relaySteered, float64(containers[a]), string(a))
	}
	s.put(relayOldest, now.Sub(oldest).Seconds())
}

// outstanding returns how many containers the rows of a key still ask for: the
// row for any node counts them all (hadoop.md 5.2).
func outstanding(rows []model.AskRow) int {
	for i := range rows {
		if rows[i].ResourceName == model.AnyName {
			return rows[i].Count
		}
	}
	return 0
}

package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"heddle/core/model"
)

// putRelay sends what the relay does.
func (s sink) putRelay(r *model.Relay, now model.Time) {
	s.put(relayEnforcing, oneIf(r.Enforcing))
	s.put(relayConnections, float64(max(r.Connections-r.Blind, 0)), "plain")
	s.put(relayConnections, float64(r.Blind), "blind")
	s.put(relayAttempts, float64(r.Steering.Attempts))
	c := &r.Counts
	s.put(relayAccepted, float64(c.Accepted))
	for _, cause := range model.RefuseCauses() {
		s.put(relayRefused, float64(c.Refused[cause]), string(cause))
	}
	s.put(relayUnaccepted, float64(r.Unauthenticated))
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
// since when the oldest is.
func (s sink) putSteered(r *model.Relay, now model.Time) {
	for _, a := range model.Actions() {
		if a.Waits() {
			s.put(relaySteered, float64(r.Steering.Containers[a]), string(a))
		}
	}
	oldest := model.Duration(0)
	if r.Steering.Since != 0 {
		oldest = max(now.Sub(r.Steering.Since), 0)
	}
	s.put(relayOldest, oldest.Seconds())
}

// Package nas implements the Network-aware Scheduler (Li, Shen, Sarker: "A
// Network-aware Scheduler in Data-parallel Clusters for High Performance", and
// the slides on it).
//
// The rule in three sentences. MTS (§III-C, mts.go) launches a map only where
// its predicted output and that of the maps already running on the node stay
// below TrafficThreshold, the node's part of an average wave (threshold.go).
// CA-RTS (§III-D, carts.go) wants a job's reduces on each rack in proportion to
// the job's map output there, while the rack's uplink is below the congestion
// threshold. CR-RTS (§III-E, crrts.go) runs reduces of shuffle-light jobs alone
// while it is at or above the threshold, and lets the others pass for a while.
//
// What is changed, and why, beside each piece of code; the larger ones:
//   - YARN's containers are untyped, so a request asks for both: maps before
//     reduces above the threshold, below it what the user has whose turn it is
//     (type_order).
//   - YARN's asks name no task: every map of a job is taken for an average one.
//   - A user is passed over for 5 s, as on the paper's real cluster, and not for
//     135 offers, as in its simulation: how many offers there are a second
//     depends on who asks (skips=count gives the latter).
//   - A user without an eligible reduce does not end CA-RTS: the next is asked
//     (first_user_only gives the paper's).
//   - The reduces of a job wait until so many of its maps are complete that the
//     shuffle just fits into the rest of the map phase: the slides announce it
//     without a formula (completion.go).
//   - CR-RTS has MTS schedule no maps of medium and heavy jobs on a congested rack.
//     Here they wait their turn out, and then go by Algorithm 2 from step 1 on: where
//     only such jobs are left there is progress, with local maps first (map_gate).
//   - Proportional reduces keep the busiest uplink lowest. They do not send the
//     fewest bytes across racks, as §III-D claims: all of them on the rack with
//     most map output do (algorithms.md 0.3).
//
// Variants the paper measures (Fig. 3): MTS alone is ca_rts and cr_rts false, MTS
// with CA-RTS is cr_rts false, "w/o TT" is traffic_threshold off. "w/o both" is
// not explained; without cr_rts as well is what fits its place beside "w/o TT" and
// its count of congestions. What is switched off leaves delay scheduling by user
// for maps and fair order for reduces (plain.go).
//
// Place looks at the maps that run on the offered node and at the jobs of the
// users it visits: O(J) in the worst case, as the paper's rules demand (§III-F).
// Once a second it sums up all live jobs for TrafficThreshold. Plan costs
// O(J log J + racks per job). It trusts the predicted map output, the map output
// per rack and the uplinks' utilisation in the cluster state; each may be wrong
// or missing and costs balance, never progress.
package nas

import (
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/state"
)

// Name is the policy's key in configuration, metrics and recordings.
const Name = "nas"

// Policy is the Network-aware Scheduler.
type Policy struct {
	*common
	maps    mapScheduler
	reduces reduceScheduler
	holdMax model.Duration
	order   []ranked // of the last Plan, for its room
}

var (
	_ policy.Policy  = (*Policy)(nil)
	_ policy.Planner = (*Policy)(nil)
)

// common is what the mechanisms share.
type common struct {
	params  Params
	classes classes
	cluster overview
	jobs    policy.Jobs[jobState]
	users   policy.Users[userState]
	racks   uint64       // as state.Capacity tells racks apart
	mark    state.Mark   // up to where the users' counts follow the cluster
	changed []*state.Job // room for what changed since
}

// mapScheduler places maps: MTS, or delay scheduling in its place.
type mapScheduler struct {
	*common
	skip patience
}

// reduceScheduler places reduces: CA-RTS and CR-RTS, or fair order in their place.
type reduceScheduler struct {
	*common
	skip patience
}

// jobState is what is kept of one live job.
type jobState struct {
	spread    spread
	delayed   int  // reduces CR-RTS passed over and nobody has launched since
	early     hold // by map completion
	congested hold
	rank      int        // of the last Plan
	mapsOf    *userState // by whom it is counted while it has maps to start
	reducesOf *userState // while it has reduces that may start
	class     class      // when it last changed
}

// userState holds a user's two skip counters: D_i^m and D_i^r.
type userState struct {
	maps, reduces counter
	waiting       int // jobs with maps to start
	ready         int // jobs with reduces that may start
}

// Remembered returns how many jobs and users the policy keeps state of.
func (p *Policy) Remembered() int { return p.jobs.Len() + p.users.Len() }

// Place implements policy.Policy: Algorithm 1.
//
// Deviation: there is no request for a map or for a reduce in YARN. At or above
// the congestion threshold maps are tried first, because CR-RTS is to spare the
// network. Below it the user whose turn it is decides: reduces first, because
// CA-RTS is to use the bandwidth there is, but only if that user has one. With
// type_order=network reduces of any user go before all maps (algorithms.md
// 2.3.2): where containers are short those fill with reduces that wait for maps,
// and users whose jobs have maps alone are never served.
func (p *Policy) Place(in *policy.Input) []model.Placement {
	p.cluster.refresh(in.View)
	p.reduces.follow(in.View)
	if !in.Offer.Usable() {
		return nil
	}
	congested := p.congested(in.View, in.Offer.Node.Rack)
	if p.reducesFirst(in, congested) {
		if placed := p.placeReduce(in, congested); placed != nil {
			return placed
		}
		return p.placeMap(in, congested)
	}
	if placed := p.placeMap(in, congested); placed != nil {
		return placed
	}
	return p.placeReduce(in, congested)
}

func (p *Policy) reducesFirst(in *policy.Input, congested bool) bool {
	switch p.params.TypeOrder {
	case ByTurn:
		return !congested && p.turnOfReduce(in)
	case ReducesFirst:
		return true
	case MapsFirst:
		return false
	case ByNetwork:
	}
	return !congested
}

// turnOfReduce reports whether the first user in fair order with anything to
// launch has a reduce.
func (p *Policy) turnOfReduce(in *policy.Input) bool {
	for _, u := range in.View.Users() {
		if p.reduces.ready(u) {
			return true
		}
		for _, j := range u.Jobs() {
			if in.Admits(j.Map) {
				return false
			}
		}
	}
	return false
}

func (p *Policy) placeMap(in *policy.Input, congested bool) []model.Placement {
	if p.params.MTS {
		return p.maps.place(in, congested)
	}
	return p.maps.plain(in)
}

func (p *Policy) placeReduce(in *policy.Input, congested bool) []model.Placement {
	switch {
	case congested:
		return p.reduces.crRTS(in)
	case p.params.CARTS:
		return p.reduces.caRTS(in)
	}
	return p.reduces.plain(in)
}

// congested is NetState >= CongestionThreshold for a request from a rack. The
// paper reads the network's condition of that rack (Algorithm 1) and, in
// §III-D, "the cross-rack network load in the cluster": the scope says which.
// Without CR-RTS nothing is ever congested.
func (c *common) congested(v state.View, rack *state.Rack) bool {
	if !c.params.CRRTS {
		return false
	}
	limit := c.params.CongestionThreshold
	return c.params.Scope.Busy(v, rack, limit, func(r *state.Rack) bool { return r.Utilization >= limit })
}

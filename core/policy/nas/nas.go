// Package nas implements the Network-aware Scheduler (Li, Shen, Sarker: "A
// Network-aware Scheduler in Data-parallel Clusters for High Performance", and
// the slides on it).
//
// The rule in three sentences. MTS (§III-C, maps.go) launches a map only where
// its predicted output and that of the maps already running on the node stay
// below TrafficThreshold, the node's part of an average wave (threshold.go).
// CA-RTS (§III-D, reduces.go) wants a job's reduces on each rack in proportion to
// the job's map output there, while the rack's uplink is below the congestion
// threshold. CR-RTS (§III-E, reduces.go) runs reduces of shuffle-light jobs alone
// while it is at or above the threshold, and lets the others pass for a while.
//
// What is changed, and why, beside each piece of code; the larger ones:
//   - YARN's containers are untyped, so a request asks for both: maps before
//     reduces above the threshold, below it what the user has whose turn it is.
//   - YARN's asks name no task: every map of a job is taken for an average one.
//   - A user is passed over for 5 s, as on the paper's real cluster, and not for
//     135 offers, as in its simulation: how many offers there are a second
//     depends on who asks (skips=count gives the latter).
//   - A user without an eligible reduce does not end CA-RTS: the next is asked.
//   - Medium and heavy jobs wait for racks where ReduceNum is not reached for a
//     bounded time (wait_for_targets_s; 0 is the paper's), because lines 6 to 8 of
//     Algorithm 3 as printed exceed it at once.
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
// for maps and fair order for reduces.
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
	"heddle/core/policy/dispatch"
	"heddle/core/shuffle"
	"heddle/core/state"
)

// Name is the policy's key in configuration, metrics and recordings.
const Name = "nas"

// rule is what the paper says, for package dispatch.
type rule struct {
	*facts
	maps    mapRule
	reduces reduceRule

	mapPass, reducePass dispatch.Pass
	passes              []dispatch.Pass // of the present offer
}

// facts are what both kinds of task are placed by.
type facts struct {
	params  Params
	classes classes
	cluster overview
	jobs    policy.Jobs[jobState]
	journal *policy.Journal // of the present call

	forecast shuffle.Forecast // of the job whose reduces are spread
	leveling shuffle.Leveling

	// Of the present offer:
	congested bool        // the network, for the node's rack
	available model.Bytes // what the node's maps may still put out
}

// mapRule is MTS, or delay scheduling in its place.
type mapRule struct{ *facts }

// reduceRule is CA-RTS and CR-RTS, with what they follow: ReduceNum and the
// completion threshold.
type reduceRule struct{ *facts }

// jobState is what is kept of one live job.
type jobState struct {
	predicted state.Prediction // as of the job's last change; by Startable
	spread    spread
	delayed   policy.Wait // Skips are reduces CR-RTS passed over and nobody has launched since
}

// The waits of a user: D_i^m and D_i^r.
const (
	waitMaps = iota
	waitReduces
)

// Prepare implements dispatch.Rule.
func (r *rule) Prepare(in *policy.Input) {
	r.journal = in.Journal
	r.jobs.Prune(in.View)
	if in.Offer.Node == nil { // plans
		r.cluster.read(in)
	} else {
		r.cluster.refresh(in)
	}
}

// Startable implements dispatch.Rule: reduces start from the job's completion
// threshold on.
func (r *rule) Startable(v state.View, j *state.Job, s *state.Stage) bool {
	k := r.jobs.Of(j)
	k.predicted = predict(j)
	switch s.Kind {
	case model.StageMap:
		return true
	case model.StageReduce:
		return r.reduces.due(v, j, &k.predicted)
	case model.StageOther, model.StageAM:
	}
	return false
}

// Passes implements dispatch.Rule: Algorithm 1.
//
// Deviation: there is no request for a map or for a reduce in YARN. At or above
// the congestion threshold maps are tried first, because CR-RTS is to spare the
// network. Below it the user whose turn it is decides: reduces first, because
// CA-RTS is to use the bandwidth there is, but only if that user has one. If
// reduces of any user went before all maps, as in algorithms.md 2.3.2, containers
// would fill with reduces that wait for maps where they are short, and users whose
// jobs have maps alone would never be served.
func (r *rule) Passes(in *policy.Input) []dispatch.Pass {
	r.congested = r.isCongested(in.Offer.Node.Rack)
	r.available = unlimited
	if r.params.MTS {
		r.available = r.maps.availableOn(in.View, in.Offer.Node)
	}
	r.reducePass.Slack, r.reducePass.Waits = dispatch.Slack{}, !r.congested
	if r.congested {
		r.reducePass.Slack = r.slack(r.params.ReduceSkips, r.params.ReduceWaitS)
	}
	r.passes = append(r.passes[:0], r.mapPass, r.reducePass)
	if !r.congested && r.isTurnOfReduce(in) {
		r.passes[0], r.passes[1] = r.passes[1], r.passes[0]
	}
	return r.passes
}

// isTurnOfReduce reports whether the first user in fair order with anything to
// launch has a reduce.
func (r *rule) isTurnOfReduce(in *policy.Input) bool {
	for _, u := range in.View.Users() {
		maps := false
		for _, j := range u.Jobs() {
			if j.Reduce.Pending > 0 && r.reduces.due(in.View, j, &r.jobs.Of(j).predicted) {
				return true
			}
			maps = maps || in.Admits(j.Map)
		}
		if maps {
			return false
		}
	}
	return false
}

// isCongested is NetState >= CongestionThreshold for a request from a rack, whose
// network Algorithm 1 reads. (§III-D has "the cross-rack network load in the
// cluster".) Without CR-RTS nothing is ever congested.
func (r *rule) isCongested(rack *state.Rack) bool {
	return r.params.CRRTS && rack.Utilization >= r.params.CongestionThreshold
}

// Order implements dispatch.Rule.
func (r *rule) Order(in *policy.Input, c *dispatch.Candidate) bool {
	switch {
	case c.Stage.Kind == model.StageMap && r.params.MTS:
		return r.maps.mts(in, c)
	case c.Stage.Kind == model.StageMap:
		return r.maps.plain(in, c)
	case r.congested:
		return r.reduces.crRTS(in, c)
	case r.params.CARTS:
		return r.reduces.caRTS(in, c)
	}
	c.Key = dispatch.Key{Reason: model.ReasonFairShare, Good: true, Least: true}
	return true
}

// Wanted implements dispatch.Waiter: the racks where ReduceNum is not reached.
func (r *rule) Wanted(v state.View, j *state.Job, _ *state.Stage, racks []int) []int {
	spread := r.reduces.spreadOf(v, j, &r.jobs.Of(j).predicted)
	counts := r.reduces.counted(spread)
	for _, rack := range spread.racks {
		if j.Reduce.Launched(rack) < counts[rack] {
			racks = append(racks, rack)
		}
	}
	return racks
}

// Launched implements dispatch.Launcher: one delayed reduce less is left.
func (r *rule) Launched(in *policy.Input, j *state.Job, s *state.Stage) {
	if k := r.jobs.Find(j); s.Kind == model.StageReduce && k != nil && k.delayed.Skips > 0 {
		in.Journal.Edit(&k.delayed).Skips = min(k.delayed.Skips, s.Pending) - 1
	}
}

// slack is how long a user may be passed over: D^m or D^r, or the 5 s that stand
// for either on a real cluster (§IV-A).
func (r *rule) slack(skips int, waitS float64) dispatch.Slack {
	return dispatch.Slack{ByCount: r.params.Skips == ByCount, Count: skips, Time: policy.Seconds(waitS)}
}

package model

// Reason says why a placement or a plan is what it is. The set is closed: a
// reason is a metric label, a field of recordings and the text of an explain.
type Reason string

// Reasons of placements, in the order of ShuffleWatcher's Fig. 3 where the
// number in brackets is its line.
const (
	ReasonPreferredMapRack   Reason = "preferred_map_rack"   // a map on a rack SAMP prefers [4, 16]
	ReasonLocalMap           Reason = "local_map"            // a node- or rack-local map [5, 17]
	ReasonAnyMap             Reason = "any_map"              // a map that reads across racks [6, 18]
	ReasonLightReduce        Reason = "light_reduce"         // a reduce of a shuffle-light job [7, 15]
	ReasonPreferredReduce    Reason = "preferred_reduce"     // a reduce on a rack whose SARP count is not met [8, 13]
	ReasonHeavyReduce        Reason = "heavy_reduce"         // a reduce of a shuffle-heavy job [14]
	ReasonAnyReduce          Reason = "any_reduce"           // a reduce, whatever its job [9]
	ReasonWindow             Reason = "starvation_window"    // an older submission window goes first
	ReasonFairShare          Reason = "fair_share"           // the schedulable furthest below its share
	ReasonFIFO               Reason = "fifo"                 // the first job in line
	ReasonQueueCapacity      Reason = "queue_capacity"       // the queue that uses least of its capacity, and its first job
	ReasonDominantShare      Reason = "dominant_share"       // the user with the least dominant share
	ReasonDelayNodeLocal     Reason = "delay_node_local"     // delay scheduling: a node-local task
	ReasonDelayRackLocal     Reason = "delay_rack_local"     // delay scheduling: waited for a node, took the rack
	ReasonDelayExpired       Reason = "delay_expired"        // delay scheduling: waited long enough for any node
	ReasonMapOutput          Reason = "map_output"           // reduces follow the map output seen so far
	ReasonTentative          Reason = "tentative"            // reduces follow the maps' planned racks: too few maps are done
	ReasonInputRacks         Reason = "input_racks"          // maps go to the fewest racks that hold the input
	ReasonUnpredicted        Reason = "unpredicted"          // the job's shuffle size is not known: every rack will do
	ReasonNoInput            Reason = "no_input"             // the job's input is not known or empty: every rack will do
	ReasonHoldWhileSaturated Reason = "hold_while_saturated" // reduces wait while the uplinks are saturated
	ReasonRankOnly           Reason = "rank_only"            // the policy orders jobs and prefers no rack
	ReasonFewestRacks        Reason = "fewest_racks"         // executors go to the fewest racks that have room: nothing is known of their input
	ReasonShuffleQualified   Reason = "shuffle_qualified"    // NAS: a node-local map whose output the node's traffic threshold has room for
	ReasonMapWaited          Reason = "map_waited"           // NAS: the user was passed over for long enough: a map the threshold has room for, local or not
	ReasonOverThreshold      Reason = "over_threshold"       // NAS: the user was passed over for long enough and has no map the threshold has room for
	ReasonBelowReduceNum     Reason = "below_reduce_num"     // NAS: the rack has fewer of the job's reduces than of its map output
	ReasonReduceNumReached   Reason = "reduce_num_reached"   // NAS: the rack has its share of the job's reduces, and no job still wants it
	ReasonReduceWaited       Reason = "reduce_waited"        // NAS: a medium or heavy reduce on a congested rack, after waiting for a light one
	ReasonLeastRemaining     Reason = "least_remaining"      // the job with the least work left (MaxSRPT, SplitSRPT)
	ReasonFeedsNetwork       Reason = "feeds_network"        // NUM: the job whose map output keeps the network busy
	ReasonShuffleOrder       Reason = "shuffle_order"        // NUM: a reduce of the job that is first in the shuffle queue
	ReasonHoldForMaps        Reason = "hold_for_maps"        // reduces wait until so many maps are complete that the shuffle fits into the rest
	ReasonMostInput          Reason = "most_input"           // Dawn: maps go to the rack with most of the input
	ReasonMostIntermediate   Reason = "most_intermediate"    // Dawn: reduces go to the rack with most of the map output
	ReasonDependents         Reason = "dependents"           // reduces go where the jobs that read their output have least to fetch
	ReasonOffers             Reason = "offers"               // counted from virtual offers of every free container
	ReasonUncertain          Reason = "uncertain"            // what is known of the map output is too little for the plan to be sure of its racks (I12): every rack will do
	ReasonBusierUplink       Reason = "busier_uplink"        // the plan's busiest uplink would carry more than that of an even spread: every rack will do
)

// Reasons lists every reason in a fixed order.
func Reasons() []Reason {
	return []Reason{
		ReasonPreferredMapRack, ReasonLocalMap, ReasonAnyMap, ReasonLightReduce, ReasonPreferredReduce,
		ReasonHeavyReduce, ReasonAnyReduce, ReasonWindow, ReasonFairShare,
		ReasonFIFO, ReasonQueueCapacity, ReasonDominantShare, ReasonDelayNodeLocal, ReasonDelayRackLocal,
		ReasonDelayExpired, ReasonMapOutput, ReasonTentative, ReasonInputRacks, ReasonUnpredicted, ReasonNoInput,
		ReasonHoldWhileSaturated, ReasonRankOnly, ReasonFewestRacks, ReasonShuffleQualified,
		ReasonMapWaited, ReasonOverThreshold, ReasonBelowReduceNum, ReasonReduceNumReached, ReasonReduceWaited,
		ReasonHoldForMaps,
		ReasonLeastRemaining, ReasonFeedsNetwork, ReasonShuffleOrder,
		ReasonMostInput, ReasonMostIntermediate, ReasonDependents, ReasonOffers, ReasonUncertain, ReasonBusierUplink,
	}
}

// Unties reports whether the engine gave the reason for not tying tasks to the racks that the policy planned.
func (r Reason) Unties() bool { return r == ReasonUncertain || r == ReasonBusierUplink }

// Holds reports whether a policy gives the reason for holding a stage back. Stages whose turn has not come are held for others.
func (r Reason) Holds() bool { return r == ReasonHoldWhileSaturated || r == ReasonHoldForMaps }

// AnyTask is the task index of a placement that leaves the choice of the task
// to the application.
const AnyTask = -1

// Placement says "start one task of this stage on the offered node".
type Placement struct {
	App      AppID    `json:"app"`
	Stage    Stage    `json:"stage"`
	Task     int      `json:"task"` // index within the stage, or AnyTask
	Node     NodeID   `json:"node"`
	Locality Locality `json:"locality"` // as the policy sees it; the engine recomputes it (I7)
	Reason   Reason   `json:"reason"`
}

// RackTarget is what a plan wants of one rack.
type RackTarget struct {
	Rack  RackID  `json:"rack"`
	Count int     `json:"count"` // tasks of the stage wanted there, those that ran included
	Share float64 `json:"share"` // of the stage's tasks, 0..1, to four digits, before counts are rounded
	Bytes Bytes   `json:"bytes"` // what draws them: map output there for reduces, input there for maps
}

// Plan holds a stage's targets: on which racks and how many, whether to hold
// it back, and the job's rank among all jobs.
type Plan struct {
	App   AppID        `json:"app"`
	Stage Stage        `json:"stage"`
	Racks []RackTarget `json:"racks"` // by falling count, then by rack; empty when any rack will do
	// Hold says that the stage is to have at most MaxRunning containers at a time until Until, those that run
	// included: the rest of what it asks for is held back. 0 asks for none at all.
	Hold       bool `json:"hold"`
	MaxRunning int  `json:"max_running,omitempty"`
	// Until is when a hold, or the pin of Racks, ends by itself (I9). It is 0 for a plan that only advises.
	Until  Time   `json:"until_ms,omitempty"`
	Rank   int    `json:"rank"` // 1 is served first
	Reason Reason `json:"reason"`
	// Costs holds what the plan and its alternatives would send across racks.
	Costs []Cost `json:"costs,omitempty"`
}

// Cost is the cross-rack traffic of one way to place a stage.
type Cost struct {
	Name      string `json:"name"`                 // "plan", "fewest_bytes", "proportional", "uniform", "as_placed"; "not_pinned" is a plan that was not sure enough
	CrossRack Bytes  `json:"cross_rack_bytes"`     // sum over all uplinks
	Busiest   Bytes  `json:"busiest_uplink_bytes"` // the larger direction of the most loaded uplink
}

// Decision is one engine-verified outcome: a placement or a plan (I3).
type Decision struct {
	Seq       uint64     `json:"seq"`
	At        Time       `json:"at_ms"`
	Policy    string     `json:"policy"`
	Placement *Placement `json:"placement,omitempty"`
	Plan      *Plan      `json:"plan,omitempty"`
}

// Reason returns the reason of the placement or plan.
func (d *Decision) Reason() Reason {
	switch {
	case d.Placement != nil:
		return d.Placement.Reason
	case d.Plan != nil:
		return d.Plan.Reason
	}
	return ""
}

// Rule names a check of the engine that a proposal broke; a metric label.
type Rule string

// The engine's rules.
const (
	RuleUnknownJob   Rule = "unknown_job"
	RuleNoAsk        Rule = "no_ask"        // the stage has no outstanding ask (at that task or locality)
	RuleUnusableNode Rule = "unusable_node" // unknown, not running, or not the offered node
	RuleCapacity     Rule = "capacity"
	RuleBlacklisted  Rule = "blacklisted"
	RuleDuplicate    Rule = "duplicate"
	RuleLocality     Rule = "locality" // the label is not what the topology says (I7)
	RulePlan         Rule = "plan"     // counts below zero or above the stage's tasks, an unknown rack
	RulePanic        Rule = "panic"    // the policy panicked; the round was given up
)

// Rules lists every rule in a fixed order.
func Rules() []Rule {
	return []Rule{RuleUnknownJob, RuleNoAsk, RuleUnusableNode, RuleCapacity, RuleBlacklisted, RuleDuplicate, RuleLocality, RulePlan, RulePanic}
}

package nas

import (
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/policy/dispatch"
	"heddle/core/state"
)

// The lines of Algorithm 2: step 1, rule 2(a) by category, rule 2(b). While the
// gate is shut the maps of medium and heavy jobs come after all others, by the
// same lines.
const (
	lineLocal     = 0
	lineQualified = 1 // and the category
	lineLeast     = 5
	lineGated     = 10
)

// mts sets a map's key by Algorithm 2. All maps of a job count as average ones, so
// that a job has one candidate: its most local.
//
// Step 1 is the good hit: a node-local, shuffle-qualified map, the unpredicted
// jobs' first, then the one whose output is closest to the available space. What a
// user takes after D^m skips is by 2(a) the qualified maps by category and MapCost,
// then the closest output; by 2(b) node-local ones, then the least output.
//
// What it leaves open (algorithms.md 2.3.3): Delay scheduling counts a skip only
// for who could have launched something, so does this. The counter is set back in
// step 1 alone (map_reset=local), so a user for whom nothing good turns up is not
// slowed map by map.
func (m mapRule) mts(in *policy.Input, c *dispatch.Candidate) bool {
	predicted := &m.jobs.Of(c.Job).predicted
	gated := m.congested && m.params.MapGate == GateSoft && m.classes.of(predicted) != light
	output, level := predicted.MapOutput(), model.NodeLocal
	if !c.Local {
		level, _ = c.Stage.Locality(in.Offer.Node)
	}
	k := dispatch.Key{Resets: m.params.MapReset == ResetLaunch}
	switch {
	case level == model.NodeLocal && output <= m.available:
		k.Line, k.First, k.Second = lineLocal, 0, -float64(output)
		if predicted.Predicted {
			k.First = 1
		}
		k.Reason, k.Good, k.Resets = model.ReasonShuffleQualified, !gated, true
	case output <= m.available:
		k.Line, k.First, k.Second = lineQualified+m.classes.mapCategory(predicted), m.mapCost(level, predicted.MapInput()), -float64(output)
		k.Reason = model.ReasonMapWaited
	default:
		k.Line, k.First, k.Second = lineLeast, 1, float64(output)
		if level == model.NodeLocal {
			k.First = 0
		}
		k.Reason = model.ReasonOverThreshold
	}
	if gated {
		k.Line += lineGated
	}
	c.Key = k
	return true
}

// plain is what maps do without MTS: delay scheduling with the same skips by
// user. A user's earliest job with a node-local map launches it; once the user has
// been passed over for long enough, the earliest job with any.
func (m mapRule) plain(in *policy.Input, c *dispatch.Candidate) bool {
	local := c.Local
	if !local {
		level, _ := c.Stage.Locality(in.Offer.Node)
		local = level == model.NodeLocal
	}
	if local {
		c.Key = dispatch.Key{Reason: model.ReasonDelayNodeLocal, Good: true, Least: true}
		return true
	}
	c.Key = dispatch.Key{Line: 1, Reason: model.ReasonDelayExpired, Resets: m.params.MapReset == ResetLaunch}
	return true
}

// mapCost is MapCost = gamma x MapInputSize (§III-C).
func (m mapRule) mapCost(level model.Locality, input model.Bytes) float64 {
	gamma := m.params.GammaRemote
	switch level {
	case model.NodeLocal:
		gamma = 0
	case model.RackLocal:
		gamma = m.params.GammaRack
	case model.OffSwitch:
	}
	return gamma * float64(input)
}

// availableOn is what a node's maps may still put out: the threshold without the
// predicted output of the maps that run there. It is below zero after a launch
// that exceeded the threshold, until maps end.
func (m mapRule) availableOn(v state.View, n *state.Node) model.Bytes {
	avail := m.trafficThreshold(n)
	if avail == unlimited {
		return unlimited
	}
	for _, running := range v.RunningMaps(n) {
		predicted := predict(running.Job)
		avail -= predicted.MapOutput() * model.Bytes(running.Count)
	}
	return avail
}

package nas

import (
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/policy/dispatch"
	"heddle/core/state"
)

// Categories of Algorithm 3: those below reached have their ReduceNum not
// reached.
const (
	firstCategory = 1
	reached       = 4
)

// category returns the category of a class of job on a rack where its ReduceNum is reached, or not.
func category(c class, isReached bool) int {
	if isReached {
		return reached + int(c) // light, medium, heavy
	}
	return reached - 1 - int(c) // heavy, medium, light
}

// caRTS sets a reduce's key by Algorithm 3: category, delayed or complete, the
// larger shuffle while ReduceNum is not reached and the smaller from then on.
//
// Deviation: line 1 selects one user and no rule says what happens if that user
// has no reduce. The next is asked, or the node would stay idle
// (algorithms.md 2.3.5).
func (q reduceRule) caRTS(in *policy.Input, c *dispatch.Candidate) bool {
	predicted := &q.jobs.Of(c.Job).predicted
	full := !q.wanted(in.View, c.Job, predicted, in.Offer.Node.Rack.Index)
	of := q.classes.of(predicted)
	c.Key = dispatch.Key{
		Line: category(of, full), First: float64(q.priority(c.Job)), Second: -float64(predicted.Shuffle), Reason: model.ReasonBelowReduceNum,
		Good: true, Elsewhere: full && of != light,
	}
	if full {
		c.Second, c.Reason = -c.Second, model.ReasonReduceNumReached
	}
	return true
}

// priority is a job's place within a category: delayed ones first, then those
// whose maps are all complete (the text; Algorithm 3 has both alike).
func (q reduceRule) priority(j *state.Job) int {
	late, done := 1, 1
	if s := q.jobs.Find(j); s != nil && s.delayed.Skips > 0 {
		late = 0
	}
	if j.Map.Total > 0 && j.Map.Completed >= j.Map.Total {
		done = 0
	}
	return 2*late + done
}

// crRTS sets a reduce's key by Algorithm 4. A light job's reduce is the good hit;
// the others are delayed. After D^r skips the user launches any: one that wants the
// rack if there is one, else the earliest.
//
// What it leaves open (algorithms.md 2.3.6): a user without any reduce for the
// node is not skipped; a reduce that waited its turn out sets the counter back, or the user's medium and heavy reduces would all follow it at
// once. The third of the "three strategies" is taken to be that delayed reduces
// go first once the network is uncongested.
func (q reduceRule) crRTS(in *policy.Input, c *dispatch.Candidate) bool {
	predicted := &q.jobs.Of(c.Job).predicted
	of := q.classes.of(predicted)
	if c.Late {
		c.Key = dispatch.Key{Reason: model.ReasonReduceWaited, Resets: true, Least: true}
		if !q.wanted(in.View, c.Job, predicted, in.Offer.Node.Rack.Index) {
			c.Line, c.Elsewhere, c.Least = 1, of != light, false
		}
		return true
	}
	if of == light {
		c.Key = dispatch.Key{Reason: model.ReasonLightReduce, Good: true}
		return true
	}
	in.Journal.Edit(&q.jobs.Of(c.Job).delayed).Skips = c.Stage.Pending
	c.Key = dispatch.Key{Line: 1}
	return true
}

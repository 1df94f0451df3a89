// Package dawn implements Dawn (Wang, Zhou, Zhang, Jiang: "Network-Adaptive
// Scheduling of Data-Intensive Parallel Jobs with Dependencies in Clusters").
//
// The rule in three sentences. The online plan (§III-B, online.go) prefers, for
// a job's maps, the rack with most of its input (max_r), and for its reduces
// that with most of its map output (max_r) and that from which the jobs that
// will read its output have least to read across racks, with what the other
// jobs they depend on put out (dep_r). While the network is saturated a rack
// with free containers goes to the job that prefers it by max_r with the least
// traffic; while it is not, to the job that prefers it by dep_r with the most
// (§III-C, Algorithm 1, below). Of jobs with equal traffic the node's own data
// decides.
//
// What is changed, and why, beside each piece of code; the larger ones:
//   - The paper takes dependencies from the benchmarks' documentation. Here they
//     come from paths and from the workflow that Hive and Pig report
//     (state.View.Dependents), and the sizes of outputs from counters.
//   - Algorithm 1's loop runs off the list when nobody prefers the rack. Here the
//     offer passes for wait heartbeats (default 0), and then goes in fair order
//     with delay scheduling.
//   - The paper has no rule of fairness and none against starvation: users are
//     served in the queue's order, with ShuffleWatcher's window. A user none of
//     whose jobs prefers the rack is passed over for one who has such a job.
//   - A job may wait for the rack it prefers (wait_for_targets_s; 0 is the paper's).
//   - A job's traffic is that of the tasks it has yet to launch, in whole bytes and
//     not in blocks.
//   - Lines 21 to 25 add jobs of equal traffic whatever rack they prefer; the
//     text wants the same rack, and so does this.
//   - There is no concurrency floor in the paper: one rack is preferred for all
//     tasks of a stage, however many. Waves sets one; plans made ahead have one by
//     default, because a plan ties tasks to racks.
//
// Place costs O(U) for the users it asks, and for each job that changed since the last
// offer the racks that hold most of what its stage reads, which are few. It costs O(R)
// for one whose map output changed while its reduces are to be launched, or whose output
// other jobs read, and for those that read the same. And it looks at the user's jobs that
// prefer the rack; in the fallback at all jobs of the users. It allocates nothing in the steady state, but
// for jobs with dependents or a graph of stages. It trusts the inputs, the map
// output and the outputs by rack in the cluster state; each may be wrong and costs
// locality, never progress.
package dawn

import (
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/policy/dispatch"
	"heddle/core/shuffle"
	"heddle/core/state"
	"heddle/core/topology"
)

// Name is the policy's key in configuration, metrics and recordings.
const Name = "dawn"

// rule is what the paper says, for package dispatch.
type rule struct {
	params Params
	plan   onlinePlan
	levels *policy.LocalityWaits // delay scheduling, where nobody prefers the rack
	waited []*policy.Wait        // Skips are heartbeats since a preferring job was served, by rack number
	passes []dispatch.Pass

	// Of the present offer:
	saturated bool
	skipped   bool // the rack let it pass
}

// The passes: jobs that prefer the rack, and then any.
const (
	passPreferring = iota
	passFallback
)

// Prepare implements dispatch.Rule: line 2 of Algorithm 1.
func (r *rule) Prepare(in *policy.Input) {
	r.plan.update(in.View)
	r.levels.Begin(in.View)
}

// Startable implements dispatch.Rule.
func (r *rule) Startable(_ state.View, j *state.Job, s *state.Stage) bool {
	switch s.Kind {
	case model.StageReduce:
		return j.ReducesDue()
	case model.StageOther:
		return j.Graph != nil
	case model.StageMap, model.StageAM:
	}
	return true
}

// Passes implements dispatch.Rule. The paper gives no threshold for a saturated
// network: it is NetSat's (algorithms.md 2.4.5).
func (r *rule) Passes(in *policy.Input) []dispatch.Pass {
	rack := in.Offer.Node.Rack
	r.saturated, r.skipped = rack.Load.Saturated, false
	for len(r.waited) <= rack.Index {
		r.waited = append(r.waited, &policy.Wait{})
	}
	return r.passes
}

// Each implements dispatch.Index: the jobs that prefer the rack.
func (r *rule) Each(in *policy.Input, _ int, u *state.User, try func(*state.Job) bool) {
	user := everybody
	if u != nil {
		user = u.Number()
	}
	for _, k := range topology.At(r.plan.lists, in.Offer.Node.Rack.Index)[user] {
		if !try(in.View.Job(k.id)) {
			return
		}
	}
}

// Order implements dispatch.Rule.
func (r *rule) Order(in *policy.Input, c *dispatch.Candidate) bool {
	k := r.plan.jobs.Find(c.Job)
	if c.Pass == passPreferring {
		return r.preferring(in, c, k)
	}
	return r.fallback(in, c, k)
}

// preferring is lines 4 to 30 of Algorithm 1: while the network is saturated the
// least traffic goes first, else the most, and of equal ones that with the least or
// most across nodes.
func (r *rule) preferring(in *policy.Input, c *dispatch.Candidate, k *job) bool {
	wanted := k.preferred(r.saturated)
	if k.stage != c.Stage.Kind || wanted.Rack != in.Offer.Node.Rack.Index {
		return false
	}
	of := r.plan.choice(in.View, c.Job, k, c.Stage.Kind)
	c.Key = dispatch.Key{
		First: traffic(float64(wanted.Cost), c.Stage), Second: acrossNodes(c.Job, c.Stage, of.Total, in.Offer.Node),
		Reason: of.reason(c.Stage.Kind, r.saturated),
	}
	if !r.saturated {
		c.First, c.Second = -c.First, -c.Second
	}
	return true
}

// acrossNodes is the traffic across nodes if a job's remaining tasks ran on a
// node: what they read less what of it lies there, "the same principle as the
// rack-level selection" (§III-C). How much of a map's input lies on a host is
// known by the maps that would be local there.
func acrossNodes(j *state.Job, s *state.Stage, reads model.Bytes, n *state.Node) float64 {
	local := 0.0
	switch {
	case s.Kind == model.StageMap:
		local = float64(min(s.PendingOn(n), s.Pending)) / float64(s.Pending)
	case s.Kind == model.StageReduce && reads > 0:
		local = min(float64(j.Map.OutputOn(n))/float64(reads), 1)
	}
	return traffic(float64(reads)*(1-local), s)
}

// fallback serves a rack nobody prefers: nobody for so many heartbeats, and then a
// user's jobs by arrival, with delay scheduling for maps. The paper has none
// (algorithms.md 2.4.5). The wait is the rack's, starts over when a job that
// prefers the rack is served, and only counts heartbeats that somebody could use.
func (r *rule) fallback(in *policy.Input, c *dispatch.Candidate, k *job) bool {
	rack := in.Offer.Node.Rack.Index
	if w := r.waited[rack]; r.skipped || w.Skips < r.params.Wait {
		if !r.skipped {
			r.skipped = true
			in.Journal.Edit(w).Skips++
		}
		return false
	}
	reason, takes := model.ReasonFairShare, !in.Admits(c.Job.Map) // a job stays with its maps while there are any
	if c.Stage.Kind == model.StageMap {
		reason, takes = r.levels.Take(in, c.Job)
	}
	if !takes {
		return false
	}
	wanted := r.plan.choice(in.View, c.Job, k, c.Stage.Kind).pick(r.saturated).Rack
	c.Key = dispatch.Key{Reason: reason, Least: true, Elsewhere: wanted != shuffle.None && wanted != rack}
	return true
}

// Launched implements dispatch.Launcher: the rack's wait is over.
func (r *rule) Launched(in *policy.Input, j *state.Job, s *state.Stage) {
	rack := in.Offer.Node.Rack.Index
	if k := r.plan.jobs.Find(j); k.stage == s.Kind && k.preferred(r.saturated).Rack == rack {
		in.Journal.Edit(r.waited[rack]).Skips = 0
	}
}

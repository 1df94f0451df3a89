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
// (§III-C, Algorithm 1, orders.go). Of jobs with equal traffic the node's own
// data decides.
//
// What is changed, and why, beside each piece of code; the larger ones:
//   - The paper takes dependencies from the benchmarks' documentation. Here they
//     come from paths and from the workflow Hive and Pig tell (state.View.Dependents),
//     and the sizes of outputs from counters.
//   - Algorithm 1's loop runs off the list when nobody prefers the rack. Here the
//     offer passes for wait heartbeats (default 0), and then goes in fair order
//     with delay scheduling (fallback.go).
//   - The paper has no rule of fairness and none against starvation: users are
//     served in the queue's order, with ShuffleWatcher's window. A user none of
//     whose jobs prefers the rack is passed over for one who has such a job.
//   - A job's traffic is that of the tasks it has yet to launch, in bytes and not
//     in blocks.
//   - Lines 21 to 25 add jobs of equal traffic whatever rack they prefer; the
//     text wants the same rack, and so does this.
//   - There is no concurrency floor in the paper: one rack is preferred for all
//     tasks of a stage, however many. Waves sets one; plans made ahead have one by
//     default, because a plan ties tasks to racks.
//
// Place costs O(R + U) for the racks it looks at and the users whose turn it may
// be, O(log J) for each job that changed since the last offer and O(R) per job
// that reads the same as one of them; it looks at every job of equal traffic,
// as line 21 demands, and in the fallback at the jobs that have something to
// launch. It allocates nothing in the steady state, but for jobs that told a
// graph of stages. It trusts the inputs, the map output and the outputs by rack
// in the cluster state; each may be wrong or missing and costs locality, never
// progress.
package dawn

import (
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/state"
)

// Name is the policy's key in configuration, metrics and recordings.
const Name = "dawn"

// Policy is Dawn.
type Policy struct {
	params Params
	online online
	orders orders
	levels *policy.Levels // delay scheduling, where nobody prefers the rack
	waited []*policy.Wait // Skips are heartbeats since a preferring job was served, by rack number
	ranks  []*job         // of one Plan; no job is kept
}

var (
	_ policy.Policy  = (*Policy)(nil)
	_ policy.Planner = (*Policy)(nil)
)

// follow is line 2 of Algorithm 1: it brings the online plan and the orders up
// to date.
func (p *Policy) follow(v state.View) {
	w := policy.Windows(v, seconds(p.params.WindowS), p.params.WindowMode)
	anew := p.online.follow(v)
	p.orders.age(&w)
	for _, k := range anew {
		p.orders.file(v, k.at, k, &w)
		k.at = nil
	}
	p.levels.Prune(v)
}

func seconds(s float64) model.Duration { return model.Duration(s * float64(model.Second)) }

// Place implements policy.Policy: Algorithm 1.
func (p *Policy) Place(in *policy.Input) []model.Placement {
	p.follow(in.View)
	if !in.Offer.Usable() {
		return nil
	}
	rack := in.Offer.Node.Rack
	saturated := p.params.Scope.Saturated(in.View, rack) // the paper gives no threshold: it is NetSat's (algorithms.md 2.4.5)
	for _, u := range p.params.Fairness.Users(in.View) {
		q := p.orders.of(u)
		if q == nil {
			continue
		}
		if j, s, c := p.choose(in, q.prefer(rack.Index, saturated), saturated); j != nil {
			if rack.Index < len(p.waited) {
				in.Journal.Edit(p.waited[rack.Index]).Skips = 0
			}
			return in.Launch(j, s, c.reason(s.Kind, saturated))
		}
		if p.params.Among == AmongAll {
			break
		}
	}
	return p.fallback(in)
}

// choose is lines 8 to 30: of the jobs that prefer the rack the first that has a
// task for the offer, with those of equal traffic behind it; of these the one
// with the least traffic across nodes, while the network is not saturated the
// one with the most.
func (p *Policy) choose(in *policy.Input, list []*job, saturated bool) (*state.Job, *state.Stage, *choice) {
	var first, best *job
	var at float64
	for _, k := range list {
		if first != nil && !p.equal(first, k, saturated) {
			break
		}
		j := in.View.Job(k.id)
		if s := j.Stage(k.filed.stage); !in.Admits(s) || j.Blacklisted(in.Offer.Node.Host) {
			continue
		}
		cost := acrossNodes(j, k, in.Offer.Node)
		if first == nil {
			first = k
		} else if cost == at || (cost < at) != saturated {
			continue
		}
		best, at = k, cost
	}
	if best == nil {
		return nil, nil, nil
	}
	j := in.View.Job(best.id)
	return j, j.Stage(best.filed.stage), best.choiceOf(best.filed.stage)
}

// equal reports whether two jobs of one list are in one window and cause the
// same traffic.
func (p *Policy) equal(a, b *job, saturated bool) bool {
	x, y := a.filed.traffic(saturated), b.filed.traffic(saturated)
	return a.filed.window == b.filed.window && max(x-y, y-x) <= p.params.EqualTol*max(x, y)
}

// acrossNodes is the traffic across nodes if a job's remaining tasks ran on a
// node: what they read less what of it lies there, "the same principle as the
// rack-level selection" (§III-C). How much of a map's input lies on a host is
// known by the maps that would be local there.
func acrossNodes(j *state.Job, k *job, n *state.Node) float64 {
	s := j.Stage(k.filed.stage)
	c := k.choiceOf(s.Kind)
	local := 0.0
	switch s.Kind {
	case model.StageMap:
		local = float64(min(s.PendingOn(n), s.Pending)) / float64(s.Pending)
	case model.StageReduce:
		if c.total > 0 {
			local = min(float64(j.Map.OutputOn(n))/float64(c.total), 1)
		}
	case model.StageOther, model.StageAM:
	}
	return float64(c.total) * (1 - local) * float64(s.Pending) / float64(max(s.Tasks(), s.Pending))
}

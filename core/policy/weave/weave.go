// Package weave is heddle's own policy: it orders jobs by the work they have left, chooses the racks of a job's maps and
// reduces together, waits for a better rack as long as that is worth, and starts reduces in the order of jobs by what their
// uplinks still have to carry. It follows no paper; ShuffleWatcher's SAMP and SARP, SRPT orders as in NUM, and Dawn's eye on
// the network are where its parts come from.
//
//   - Order. The job with the least container time left goes first: (K - done - running/2) tm + (N - done - running/2) tr for
//     K maps and N reduces, where a task takes as long as its bytes and Params.TaskMiB more at Params.Rate.
//   - Shares. The jobs of a user that has gone without BehindS seconds of its share go before all others until it has caught
//     up (shares.go).
//   - Racks. For each number k of racks, those with most of the input first, the bytes that cross racks, the time the job
//     takes on them, and the delay its bytes put on others are added up; the least sum wins (racks.go).
//   - Patience. A task that costs more bytes on the offered rack than on another one lets the offer pass for as
//     long as the difference is worth, Params.PatienceS at most, counted from its stage's last launch (patience.go).
//   - Quotas. Reduces are divided over racks so that the busiest uplink carries least, and of these ways so that the
//     fewest bytes cross racks (quotas.go).
//   - Admission. A reduce is started once the uplinks it fetches over have little left to carry for the reduces that run of
//     its own job and of those before it in the order; AdmitMaxS after its job's last reduce in any case (backlog.go).
//
// Place costs O(J + R) for each job that changed since the offer before, O(A R) for the A jobs whose reduces fetch, and O(R)
// for each job that is looked at, of J live jobs and R racks, and allocates nothing but the share of a job's racks when they are chosen. It trusts the predicted shuffle of a job,
// the completed maps, the bytes fetched and the uplinks' capacity; each may be wrong and costs order or bytes, never progress:
// each wait has an end.
package weave

import (
	"cmp"
	"slices"

	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/policy/dispatch"
	"heddle/core/shuffle"
	"heddle/core/state"
)

// Name is the policy's key in configuration, metrics and recordings.
const Name = "weave"

// rule is weave for package dispatch.
type rule struct {
	params Params
	passes []dispatch.Pass

	jobs     policy.Jobs[entry]
	order    []*entry // by what is left of their jobs
	mark     state.Revision
	changed  []*state.Job
	cluster  cluster
	forecast shuffle.Forecast
	journal  *policy.Journal // of the present call

	accounts accounts
	choosing choosing
	division division
	weights  []float64 // of expect
	before   backlog   // of the jobs up to the one that is looked at
}

// entry is what is kept of one live job.
type entry struct {
	job      *state.Job
	size     size
	racks    choice
	quotas   quotas
	expected expected
	fetches  bool    // running reduces have bytes to fetch
	backlog  backlog // of these
	rank     int     // in the last plan

	mapWait, reduceWait, admission policy.Wait

	cheapest bool // of the candidate at hand: no rack costs it fewer bytes
}

// Prepare implements dispatch.Rule: it brings the order up to date with the jobs that changed, or with all when nodes came
// or went.
func (r *rule) Prepare(in *policy.Input) {
	v := in.View
	r.journal = in.Journal
	if r.cluster.update(v, r.params.Uplink) {
		r.mark = state.Revision{}
	}
	r.changed, r.mark = v.Changed(r.mark, r.changed[:0])
	for i, j := range r.changed {
		r.changed[i] = nil
		if j.State.Final() {
			r.jobs.Drop(j)
		} else {
			r.update(v, j)
		}
	}
	r.jobs.Prune(v)
	r.accounts.keep(in, r.params.BehindS)
	if in.Offer.Node == nil { // plans
		for i, e := range r.order {
			e.rank = i + 1
		}
	}
}

// update sizes a job and puts it where it belongs.
func (r *rule) update(v state.View, j *state.Job) {
	e := r.jobs.Of(j)
	if e.job != nil {
		r.remove(e)
	}
	e.job = j
	e.size.measure(j, &r.params)
	r.expect(v, e)
	e.fetches = e.backlog.set(e)
	at, _ := slices.BinarySearchFunc(r.order, e, compare)
	r.order = slices.Insert(r.order, at, e)
}

// remove takes a job out of the order.
func (r *rule) remove(e *entry) {
	if at, found := slices.BinarySearchFunc(r.order, e, compare); found {
		r.order = slices.Delete(r.order, at, at+1)
	}
}

// compare orders jobs by what is left of them, then by arrival.
func compare(a, b *entry) int {
	if a.size.left != b.size.left {
		return cmp.Compare(a.size.left, b.size.left)
	}
	return state.CompareJobs(a.job, b.job)
}

// Startable implements dispatch.Rule. Reduces of MapReduce wait until all maps have been started: before, they would hold
// containers that maps need.
func (r *rule) Startable(_ state.View, j *state.Job, s *state.Stage) bool {
	switch s.Kind {
	case model.StageMap:
		return true
	case model.StageReduce:
		return startsReduces(j)
	case model.StageOther, model.StageAM:
	}
	return false
}

func startsReduces(j *state.Job) bool {
	return j.ReducesDue() && (j.Graph != nil || j.Map.Pending == 0)
}

// The passes: the jobs of users that are behind their shares, then all.
const (
	passBehind = iota
	passAll
)

// Passes implements dispatch.Rule.
func (r *rule) Passes(*policy.Input) []dispatch.Pass { return r.passes }

// Each implements dispatch.Index: the jobs in order, with what the uplinks have to carry for those before.
func (r *rule) Each(in *policy.Input, pass int, _ *state.User, try func(*state.Job) bool) {
	if pass == passBehind && r.accounts.behind == 0 {
		return
	}
	r.before.reset(len(in.View.Racks()))
	for _, e := range r.order {
		if e.fetches {
			r.before.add(&e.backlog)
		}
		if e.job.Map.Pending+e.job.Reduce.Pending == 0 || (pass == passBehind && !r.accounts.isBehind(e.job.Owner)) {
			continue
		}
		if !try(e.job) {
			return
		}
	}
}

// Order implements dispatch.Rule: Each has put the jobs in order, and the first that takes the offer has it.
func (r *rule) Order(in *policy.Input, c *dispatch.Candidate) bool {
	e := r.jobs.Find(c.Job)
	c.Key = dispatch.Key{Least: true}
	if c.Stage.Kind == model.StageMap {
		c.Reason = r.takesMap(in, e)
	} else {
		c.Reason = r.takesReduce(in, e)
	}
	return c.Reason != ""
}

// Launched implements dispatch.Launcher: what costs no more than it must ends its stage's wait.
func (r *rule) Launched(in *policy.Input, j *state.Job, s *state.Stage) {
	e := r.jobs.Find(j)
	if s.Kind == model.StageReduce {
		*in.Journal.Edit(&e.admission) = policy.Wait{}
	}
	if w := e.waitOf(s); e.cheapest && w.On {
		*in.Journal.Edit(w) = policy.Wait{}
	}
}

func (e *entry) waitOf(s *state.Stage) *policy.Wait {
	if s.Kind == model.StageReduce {
		return &e.reduceWait
	}
	return &e.mapWait
}

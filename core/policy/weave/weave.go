// Package weave is heddle's own policy: it orders jobs by the work they have left, chooses the racks of a job's maps and
// reduces together, waits for a better rack as long as that is worth, and starts reduces in the order of jobs by what their
// uplinks still have to carry. It follows no paper; ShuffleWatcher's SAMP and SARP, SRPT orders as in NUM, and Dawn's eye on
// the network are where its parts come from.
//
//   - Order. The job with the least container time left goes first: (K - done - running/2) tm + (N - done - running/2) tr for
//     K maps and N reduces. A task takes as long as those of its job that are complete, and as its bytes with Params.TaskMiB
//     more at the rate of all complete maps (rates.go).
//   - Shares. The jobs of a user that has gone without BehindS seconds of its share of its queue go before others until it
//     has had all, and so do jobs that would be complete long since at an equal share; a part of the cluster, Spare, stays
//     in the plain order (shares.go).
//   - Racks. For each number k of racks, those with most of the input first, the bytes that cross racks, the time the job
//     takes on them, and the delay its bytes put on others are added up; the least sum wins (racks.go).
//   - Patience. A task that costs more bytes on the offered rack than on another one lets the offer pass for as
//     long as the difference is worth, Params.PatienceS at most, counted from its stage's last launch (patience.go).
//   - Quotas. Reduces are divided over racks so that the busiest uplink carries least, and of these ways so that the
//     fewest bytes cross racks (quotas.go). What later jobs read together with the output draws reduces as map output does
//     (dependents.go; Dawn §III-B2).
//   - Stages. Of a job that is a graph of stages the tasks of those that read others count as reduces. What each stage will
//     read, put out and take is predicted; the quotas are of the stages that are asked for or come next (stages.go).
//   - Admission. A reduce is started once the uplinks it fetches over have little left to carry for the reduces that run of
//     its own job and of those before it in the order; AdmitMaxS after its job's last reduce in any case (backlog.go).
//
// Place costs O(1) for each job that changed since the offer before, and O(1) for each job with tasks to start that is looked
// at, of which the first mostly takes the offer; O(R) for a reduce that is started, for R racks, and when what is known of the
// job looked at changed: a sixteenth of its maps was launched or completed. Every second, or as many as 10^6 pairs of a job with
// running reduces and a rack take, it goes through these pairs. It allocates nothing but the share of a job's racks when they are
// chosen. It trusts the predicted shuffle of a job,
// the completed maps, the bytes fetched and the uplinks' capacity; each may be wrong and costs order or bytes, never progress:
// each wait has an end.
package weave

import (
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
	asking   order // jobs with tasks to start
	fetching order // jobs whose running reduces fetch
	mark     state.Revision
	changed  []*state.Job
	cluster  cluster
	rates    rates
	forecast forecast
	journal  *policy.Journal // of the present call
	limits   bool            // plans may limit how many reduces run

	accounts accounts
	backlogs backlogs
	choosing choosing
	division division
}

// forecast is the memory of one forecast of map output.
type forecast struct {
	shuffle.Forecast
	weights []float64 // of racks
}

// entry is what is kept of one live job.
type entry struct {
	job       *state.Job
	revision  int // counts the changes of the job
	size      size
	racks     choice
	expected  expected
	quotas    quotas
	stages    stages // of a job with a graph
	gate      gate
	listings  [lists]listing
	executors dispatch.Executors
	account   *account // its user's, once there is one
	fair      progress

	times struct{ maps, reduces timer }
	best  struct{ maps, reduces best }
	waits struct{ maps, reduces, admission policy.Wait }

	cheapest bool // of the candidate at hand: no rack costs it fewer bytes
}

// Prepare implements dispatch.Rule: it brings the lists up to date with the jobs that changed, or with all when nodes came
// or went.
func (r *rule) Prepare(in *policy.Input) {
	v := in.View
	r.journal, r.limits = in.Journal, in.HoldByRank
	if r.cluster.update(v) {
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
	r.accounts.keep(in, &r.asking, &r.params)
	r.refresh(in)
}

// update sizes a job and puts it where it belongs.
func (r *rule) update(v state.View, j *state.Job) {
	e := r.jobs.Of(j)
	if e.job != j {
		r.remove(e)
		e.job = j
	}
	e.revision++
	e.measure(&r.rates, &r.params, v.Now())
	r.asking.set(e, j.Map.Pending+j.Reduce.Pending > 0)
	r.fetching.set(e, j.Reduce.Running > 0 && e.size.shuffle > 0)
}

// remove takes a job out of the lists.
func (r *rule) remove(e *entry) {
	r.asking.set(e, false)
	r.fetching.set(e, false)
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

// The passes: users that starve, then what is behind its share or late, then all.
const (
	passStarving = iota
	passFirst
	passAll
)

// Passes implements dispatch.Rule.
func (r *rule) Passes(*policy.Input) []dispatch.Pass { return r.passes }

// Each implements dispatch.Index: the jobs in order. While there is something to spare for others nobody goes first.
func (r *rule) Each(in *policy.Input, pass int, _ *state.User, try func(*state.Job) bool) {
	a := &r.accounts
	if pass == passStarving && a.starving == 0 || pass == passFirst && (a.first == 0 || a.spare > 0) {
		return
	}
	for i := range r.asking.rows {
		e := r.asking.rows[i].e
		if (pass == passAll || pass == passFirst && e.first() || e.starves()) && !letsPass(r, in, e) && !try(e.job) {
			return
		}
	}
}

// letsPass reports that a job lets an offer pass, as Order would find. It looks at jobs that wait already, so that nothing comes of
// looking: most jobs of a loaded cluster wait for other racks.
func letsPass(r *rule, in *policy.Input, e *entry) bool {
	j := e.job
	if j.Map.Pending > 0 && (!e.waits.maps.On || r.takesMap(in, e) != "") {
		return false
	}
	if j.Reduce.Pending == 0 || !startsReduces(j) {
		return true
	}
	return e.waits.reduces.On && e.waits.admission.On && r.takesReduce(in, e) == ""
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
	if r.accounts.first > 0 && !e.first() {
		policy.Save(in.Journal, &r.accounts.spare)
		r.accounts.spare -= e.size.seconds(s) * float64(s.Capability.MemoryMiB)
	}
	if s.Kind == model.StageReduce {
		*in.Journal.Edit(&e.waits.admission) = policy.Wait{}
		r.backlogs.started(in, e)
	}
	if w := e.waitOf(s); e.cheapest && w.On {
		*in.Journal.Edit(w) = policy.Wait{}
	}
}

func (e *entry) waitOf(s *state.Stage) *policy.Wait {
	if s.Kind == model.StageReduce {
		return &e.waits.reduces
	}
	return &e.waits.maps
}

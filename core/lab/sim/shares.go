package sim

import (
	"cmp"
	"slices"

	"heddle/core/lab/workload"
	"heddle/core/model"
)

// Shares is how far users and queues had their shares while they wanted more than they had (docs/simulator.md).
type Shares struct {
	Users  ShareWindows `json:"users"`
	Queues ShareWindows `json:"queues"`
}

// ShareWindows is over windows of ten minutes, in each of which a user of a queue, or a queue, wanted more than it had all
// the time: what it had over its share. All is 0 without windows.
type ShareWindows struct {
	Count        int     `json:"count"`       // users, or queues, with windows
	CountBelow   int     `json:"count_below"` // those with a window below ShareFloor
	Windows      int     `json:"windows"`
	WindowsBelow float64 `json:"windows_below"` // the part of the windows below ShareFloor
	Least        float64 `json:"least"`
	LeastOf      string  `json:"least_of"` // who had that
	P05          float64 `json:"p05"`
}

// ShareFloor is the part of its share that a user or queue counts as below.
const ShareFloor = 0.9

// The windows over which a share is measured: how long they are, by how much each begins after the one before, and how
// often what users have and want is sampled.
const (
	shareWindow = 10 * model.Minute
	shareStep   = model.Minute
	shareSample = 10 * model.Second
)

// JobShare is what a job's user had of its queue while the job lived, and its share of that time, in container-seconds.
type JobShare struct {
	Had, Share float64
}

// More reports whether the user had more than its share.
func (s JobShare) More() bool { return s.Had > s.Share*(1+1e-9) }

// shareStats are the shares of users and queues. A user is one for each queue.
type shareStats struct {
	accounts map[shareKey]*shareAccount
	active   []*shareAccount // those with jobs
	queues   map[model.QueueID]*claim
	next     model.Time // of the next sample
	sample   int        // its number
	jobs     []JobShare // by job, once it is done

	ofUsers, ofQueues windowStats
	activeQueues      []*claim // of one sample
}

type shareKey struct {
	queue model.QueueID
	user  model.UserID
}

// shareAccount is a user of a queue.
type shareAccount struct {
	claim
	queue *claim
	jobs  int // that have not ended
}

// jobAccount is the account of a job's user, and what that had when the job came.
type jobAccount struct {
	account   *shareAccount
	onArrival JobShare
}

// claim is what a user or a queue has and wants of the cluster, in containers, at a sample.
type claim struct {
	name         string
	has, pending int
	share        float64
	left         float64  // of a queue: what is not divided yet, and among how many users
	users        int      // the same
	sums         JobShare // so far
	sampled      int      // number of the sample after its last one
	windows      bool     // it had one
	below        bool     // and one below ShareFloor
	run          shareRun
}

// shareRun is the samples since a claim began to want more than it has.
type shareRun struct {
	samples int
	sums    JobShare
	steps   [shareWindow/shareStep + 1]JobShare // the sums at the ends of the last steps
}

// windowStats are the windows of all users, or of all queues.
type windowStats struct {
	ratios            []float64
	least             float64
	leastOf           string
	count, countBelow int // of claims
}

func newShareStats(w *workload.Workload) shareStats {
	return shareStats{accounts: map[shareKey]*shareAccount{}, queues: map[model.QueueID]*claim{}, jobs: make([]JobShare, len(w.Jobs))}
}

// jobArrived counts a job for its user.
func (b *shareStats) jobArrived(j *job) {
	key := shareKey{j.spec.Queue, j.spec.User}
	a := b.accounts[key]
	if a == nil {
		q := b.queues[key.queue]
		if q == nil {
			q = &claim{name: string(key.queue)}
			b.queues[key.queue] = q
		}
		a = &shareAccount{claim: claim{name: string(key.user) + " in " + string(key.queue)}, queue: q}
		b.accounts[key] = a
	}
	j.jobAccount = jobAccount{a, a.sums}
	if a.jobs++; a.jobs == 1 {
		b.active = append(b.active, a)
	}
}

// jobLeft takes an ended job off its user.
func (b *shareStats) jobLeft(j *job) {
	a := j.account
	b.jobs[j.index] = JobShare{a.sums.Had - j.onArrival.Had, a.sums.Share - j.onArrival.Share}
	if a.jobs--; a.jobs == 0 {
		b.active = slices.DeleteFunc(b.active, func(o *shareAccount) bool { return o == a })
	}
}

// samplesUntil takes the samples that are due before a time, up to which nothing changes any more.
func (b *shareStats) samplesUntil(s *world, until model.Time) {
	if b.next >= until {
		return
	}
	samples := int((until-1-b.next)/model.Time(shareSample)) + 1
	b.next += model.Time(samples) * model.Time(shareSample)
	first := b.sample
	b.sample += samples
	if len(b.active) == 0 || s.layout.typed() {
		return
	}
	b.divide(s.jobs.live, float64(s.faults.containers(&s.layout)))
	for _, a := range b.active {
		a.add(first, samples, &b.ofUsers)
	}
	for _, q := range b.activeQueues {
		q.add(first, samples, &b.ofQueues)
	}
}

// divide divides the containers of the cluster among queues, and what a queue gets among its users: to all alike, and to
// nobody more than it has and wants (max-min fairness).
func (b *shareStats) divide(live []*job, containers float64) {
	b.activeQueues = b.activeQueues[:0]
	for _, a := range b.active {
		a.pending = 0
		a.queue.users = 0
	}
	for _, j := range live {
		for i := range j.stages {
			j.account.pending += j.stages[i].pending()
		}
	}
	for _, a := range b.active {
		q := a.queue
		if q.users == 0 {
			q.has, q.pending = 0, 0
			b.activeQueues = append(b.activeQueues, q)
		}
		q.users++
		q.has += a.has
		q.pending += a.pending
	}
	slices.SortStableFunc(b.activeQueues, compareClaims)
	for i, q := range b.activeQueues {
		q.share = min(q.wants(), containers/float64(len(b.activeQueues)-i))
		containers -= q.share
		q.left = q.share
	}
	slices.SortStableFunc(b.active, func(a, b *shareAccount) int { return compareClaims(&a.claim, &b.claim) })
	for _, a := range b.active {
		a.share = min(a.wants(), a.queue.left/float64(a.queue.users))
		a.queue.left -= a.share
		a.queue.users--
	}
}

// wants returns how many containers a claim has and asks for.
func (c *claim) wants() float64 { return float64(c.has + c.pending) }

func compareClaims(a, b *claim) int { return cmp.Compare(a.has+a.pending, b.has+b.pending) }

// add adds so many like samples, of which the first has a number.
func (c *claim) add(first, samples int, to *windowStats) {
	each := JobShare{float64(c.has) * shareSample.Seconds(), c.share * shareSample.Seconds()}
	c.sums.Had += each.Had * float64(samples)
	c.sums.Share += each.Share * float64(samples)
	if c.run.samples > 0 && (c.sampled != first || c.pending == 0) {
		c.run = shareRun{}
	}
	if c.sampled = first + samples; c.pending == 0 {
		return
	}
	for range samples {
		if had, due, ok := c.run.add(each); ok && due > 0 {
			c.window(had/due, to)
		}
	}
}

// add adds a sample, and returns what was had in the window that ends with it, and what was due; false if none does.
func (r *shareRun) add(sample JobShare) (had, due float64, ok bool) {
	r.samples++
	r.sums.Had += sample.Had
	r.sums.Share += sample.Share
	if r.samples%int(shareStep/shareSample) != 0 {
		return 0, 0, false
	}
	step, steps := r.samples/int(shareStep/shareSample), len(r.steps)
	r.steps[step%steps] = r.sums
	if step < steps-1 {
		return 0, 0, false
	}
	from := &r.steps[(step+1)%steps]
	return r.sums.Had - from.Had, r.sums.Share - from.Share, true
}

// window counts a window of a claim.
func (c *claim) window(ratio float64, to *windowStats) {
	if !c.windows {
		c.windows = true
		to.count++
	}
	if ratio < ShareFloor && !c.below {
		c.below = true
		to.countBelow++
	}
	if len(to.ratios) == 0 || ratio < to.least {
		to.least, to.leastOf = ratio, c.name
	}
	to.ratios = append(to.ratios, ratio)
}

// result returns what a run's windows come to.
func (w *windowStats) result() ShareWindows {
	slices.Sort(w.ratios)
	below, _ := slices.BinarySearch(w.ratios, ShareFloor)
	return ShareWindows{
		Count: w.count, CountBelow: w.countBelow, Windows: len(w.ratios), WindowsBelow: ratio(float64(below), float64(len(w.ratios))),
		Least: w.least, LeastOf: w.leastOf, P05: quantile(w.ratios, 0.05),
	}
}

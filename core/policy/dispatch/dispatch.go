// Package dispatch makes both halves of a policy, Place and Plan, of what its
// paper says: a Rule answers which racks a stage is wanted on (Targets), what is
// started first among what could run (Order, Rank), and whether a stage waits
// (Hold). The Dispatcher owns the rest: users in fair order, starvation windows,
// which tasks may run on an offered node at all, how long a user lets offers pass
// for a better one, how long a stage waits for its targets, and when a hold ends.
package dispatch

import (
	"math"

	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/state"
)

// Rule is what a paper says.
type Rule interface {
	// Prepare brings what the rule derives from the cluster up to date. It is called first for each offer
	// and for each round of plans.
	Prepare(in *policy.Input)
	// Startable reports whether tasks of a stage may be started as far as the job alone says. It is asked when
	// the job or the racks change.
	Startable(v state.View, j *state.Job, s *state.Stage) bool
	Orderer
	Planner
}

// Orderer is the part of a Rule that answers offers.
type Orderer interface {
	// Passes lists what the offer is tried with, in order.
	Passes(in *policy.Input) []Pass
	// Order sets the whole Key of a candidate: a task that is startable, fits the offered node and is not refused
	// there. False is that it may not run now, or that its line would be above c.Found.
	Order(in *policy.Input, c *Candidate) bool
}

// Planner is the part of a Rule that plans are made of.
type Planner interface {
	// Targets returns the racks on which the tasks of a stage are wanted; false is no plan for the stage.
	Targets(v state.View, j *state.Job, s *state.Stage) (Targets, bool)
	// Hold reports whether a stage is not to ask now, why, and for how long at most.
	Hold(v state.View, j *state.Job, s *state.Stage) (Hold, bool)
	// Rank returns the key of a job among its user's in a plan. Equal keys go by arrival.
	Rank(v state.View, j *state.Job) Key
}

// Launcher is a Rule that takes note of what is started.
type Launcher interface {
	Launched(in *policy.Input, j *state.Job, s *state.Stage)
}

// Index is a Rule that knows which jobs may have a candidate in some of its passes,
// so that a search need not look at all of a user's.
type Index interface {
	// Each calls try with jobs in the order in which they are to be looked at, until that returns false. It is
	// asked in passes that are Indexed, which go by number; the user is nil in one that tries all users
	// together. Where there are starvation windows the order is by arrival.
	Each(in *policy.Input, pass int, u *state.User, try func(*state.Job) bool)
}

// Waiter is a Rule whose stages wait for their targets.
type Waiter interface {
	// Wanted appends the racks, by number, on which no candidate of a stage is Elsewhere, for as long as the job does
	// not change.
	Wanted(v state.View, j *state.Job, s *state.Stage, racks []int) []int
}

// Key orders candidates: by line, within a line by First and Second, then by
// arrival; the lower goes first.
type Key struct {
	Line          int
	First, Second float64
	Reason        model.Reason
	// Good is a hit that a user takes at once and that ends the user's wait. Any other is taken only once the
	// user has let offers pass for long enough.
	Good bool
	// Resets is a late hit that ends the user's wait too, so that the next late hit has to wait again.
	Resets bool
	// Elsewhere is that the stage has targets and the offered node is on none of them.
	Elsewhere bool
	// Least is that no key can be lower.
	Least bool
	// Everywhere is that the line does not depend on the node, nor does what has a lower one, so that a user whose best
	// candidate this is has none with a lower line on another node, unless its stage waits for that node's rack.
	Everywhere bool
}

func (k *Key) before(o *Key) bool {
	switch {
	case k.Line != o.Line:
		return k.Line < o.Line
	case k.First != o.First:
		return k.First < o.First
	}
	return k.Second < o.Second
}

// Candidate is a task that could run on the offered node: any one of a stage.
type Candidate struct {
	Job   *state.Job
	Stage *state.Stage
	Pass  int  // of Passes, by number
	Late  bool // the user has let offers pass for long enough
	Found int  // the line of the best candidate so far: a higher one cannot win
	Local bool // the key is that of a task which is node-local on the offered node, whether or not this one is
	Key
}

// Pass is one way of trying an offer: all users are asked in it before the next.
type Pass struct {
	Kinds []model.Stage // of tasks
	// Indexed has the rule say which jobs are looked at.
	Indexed bool
	// Waits is that a candidate Elsewhere is refused while its stage waits, whatever else is true of the offer: stages
	// that wait for other racks need not be looked at.
	Waits bool
	// Together has the jobs of all users tried at once. There is no slack in it.
	Together bool
	// Slack is how long users let offers pass in it for a good hit. The zero value is not at all.
	Slack Slack
	Wait  int // which of a user's waits counts that, below waits
	// Local is that only node-local maps are good hits, so that a user who waits is searched among the jobs with
	// maps on the node.
	Local bool
}

// Slack bounds how long a user lets offers pass: for a time since the first, or so
// many of them.
type Slack struct {
	Time  model.Duration
	Count int
	// ByCount has Count bound it, even if that is 0, in place of Time.
	ByCount bool
}

func (s Slack) none() bool { return s.Time <= 0 && !s.ByCount }

// over reports whether the user has let offers pass for long enough.
func (s Slack) over(w *policy.Wait, now model.Time) bool {
	if s.ByCount {
		return w.Skips >= s.Count
	}
	return s.Time <= 0 || (w.Skips > 0 && w.Since <= now && now.Sub(w.Since) >= s.Time)
}

// skip counts an offer that the user lets pass. A clock that was set back starts
// the wait anew.
func skip(in *policy.Input, w *policy.Wait) {
	in.Journal.Edit(w)
	if now := in.View.Now(); w.Skips == 0 || w.Since > now {
		w.Since = now
	}
	w.Skips++
}

// Settings are what the dispatcher does whatever the rule.
type Settings struct {
	// Fairness is the order of users. Empty is that users count for nothing: every pass is Together, and
	// Targets have the ranks.
	Fairness   policy.Fairness
	Window     model.Duration // starvation window; 0 is none
	WindowMode policy.WindowMode
	// TargetWait is how long a stage waits for its targets, counted from its last launch; 0 does not wait.
	TargetWait model.Duration
}

// The numbers of stages, of a user's waits and of a rule's causes of holds.
const (
	stages = 3
	waits  = 2
	causes = 2
)

// Dispatcher is a policy made of a rule.
type Dispatcher struct {
	rule     Rule
	launcher Launcher // the rule, nil if it takes no note of launches
	waiter   Waiter   // the rule, nil if no stage of it waits
	index    Index    // the rule, nil if it has none
	settings Settings
	targets  TargetWaits

	jobs  policy.Jobs[job]
	users policy.Users[user]

	racks     uint64         // as state.Capacity tells racks apart
	mark      state.Revision // up to where the jobs follow the cluster
	changed   []*state.Job
	candidate Candidate
	search    search
	try       func(*state.Job) bool // of search
	ranked    []ranked

	offer offer
}

var (
	_ policy.Policy  = (*Dispatcher)(nil)
	_ policy.Planner = (*Dispatcher)(nil)
)

// offer is how far the present offer has come.
type offer struct {
	skipWaiting bool          // stages that are known to wait for other racks are not looked at; a question looks at all
	mapsWait    bool          // maps let it pass because they wait for their targets
	leftOver    bool          // nobody else takes it
	onlyActive  bool          // none but the user's active jobs and those that wait for this rack can have a candidate
	windows     policy.Window // as they are now
	refused     bool          // the search met a startable task that another node may take, and that is not known to wait
}

// job is what is kept of one live job.
type job struct {
	of     *state.Job
	user   *user        // by whom its startable stages are counted, nil without any
	active [stages]bool // in which of the user's lists of active jobs it is
	open   [stages]bool
	waits  [stages]waiting
	holds  [causes]policy.Wait // On: the hold has begun, at Since for Spent
	rank   int                 // in the last plan
}

// user is what is kept of one user.
type user struct {
	waitIndex
	passing
	waits [waits]policy.Wait // Skips, and when the first was
	open  [stages]int        // jobs with a startable stage
}

// New makes a policy of a rule.
func New(r Rule, s Settings) *Dispatcher {
	d := &Dispatcher{rule: r, settings: s, targets: TargetWaits{Limit: s.TargetWait}}
	d.launcher, _ = r.(Launcher)
	d.index, _ = r.(Index)
	d.waiter, _ = r.(Waiter)
	d.try = d.tryJob
	d.jobs = policy.JobsLeaving(func(k *job) { k.count(nil, [stages]bool{}) })
	return d
}

// stageIndex returns the place of a kind of stage in arrays.
func stageIndex(kind model.Stage) int {
	switch kind {
	case model.StageMap:
		return 0
	case model.StageReduce:
		return 1
	case model.StageOther, model.StageAM:
	}
	return 2
}

// follow counts the startable stages of the jobs that changed, or of all when the
// racks did, and forgets what left.
//
// A question looks at the same changes again when it is over: whether a stage is
// startable may depend on more than the job.
func (d *Dispatcher) follow(in *policy.Input) {
	v := in.View
	d.rule.Prepare(in)
	policy.Save(in.Journal, &d.mark)
	policy.Save(in.Journal, &d.racks)
	if racks := v.Capacity().Racks; racks != d.racks {
		d.racks, d.mark = racks, state.Revision{}
	}
	d.changed, d.mark = v.Changed(d.mark, d.changed[:0])
	for i, j := range d.changed {
		d.changed[i] = nil
		if j.State.Final() {
			if k := d.jobs.Find(j); k != nil {
				k.count(nil, [stages]bool{})
			}
			continue
		}
		var open [stages]bool
		for _, s := range [...]*state.Stage{j.Map, j.Reduce, j.Other} {
			open[stageIndex(s.Kind)] = s.Pending > 0 && d.rule.Startable(v, j, s)
		}
		var u *user
		if d.settings.Fairness != "" {
			u = d.users.Of(j.Owner)
		}
		k := d.jobs.Of(j)
		if k.of != j {
			k.count(nil, [stages]bool{})
			k.of = j
		}
		k.count(u, open)
	}
	d.jobs.Prune(v)
	if d.settings.Fairness != "" { // else the cluster need not keep users in order
		d.users.Prune(v)
	}
	d.targets.Prune(v)
}

// count has a job's startable stages counted by a user, or by nobody.
func (k *job) count(u *user, open [stages]bool) {
	k.stopWaiting()
	for i := range open {
		if k.open[i] && k.user != nil {
			k.user.open[i]--
		}
		if open[i] && u != nil {
			u.open[i]++
		}
	}
	if k.user != u && k.user != nil {
		for stage := range k.active {
			k.setActive(stage, false)
		}
	}
	k.user, k.open = u, open
	k.follow()
}

// Place implements policy.Policy: users in fair order, and of the first who takes
// the offer the candidate with the least key.
func (d *Dispatcher) Place(in *policy.Input) []model.Placement {
	d.follow(in)
	if !in.Offer.Usable() {
		return nil
	}
	d.offer.leftOver = false
	d.offer.windows = policy.Windows(in.View, d.settings.Window, d.settings.WindowMode)
	placed := d.placeFirst(in)
	if placed == nil && d.offer.mapsWait {
		d.offer.leftOver = true
		placed = d.placeFirst(in)
	}
	return placed
}

// placeFirst launches what the first user takes who takes anything.
func (d *Dispatcher) placeFirst(in *policy.Input) []model.Placement {
	d.offer.mapsWait = false
	everybody := [...]*state.User{nil}
	passes := d.rule.Passes(in)
	for i := range passes {
		users := everybody[:]
		if !passes[i].Together {
			users = d.settings.Fairness.Users(in.View)
		}
		d.candidate.Pass = i
		for _, u := range users {
			placed := d.launch(in, d.ask(in, u, &passes[i]))
			d.forgetSearch()
			if placed != nil {
				return placed
			}
		}
	}
	return nil
}

// ask returns what a user takes of the offer in a pass, nil for nothing.
func (d *Dispatcher) ask(in *policy.Input, u *state.User, p *Pass) *hit {
	d.offer.onlyActive = false
	if p.Together {
		d.offer.skipWaiting = false
		return d.best(in, nil, p, true)
	}
	k := d.users.Find(u)
	if k == nil || !k.isOpen(p) {
		return nil
	}
	if d.offer.skipWaiting = p.Waits && d.waiter != nil && in.Offer.Kinds == "" && !in.Journal.Asking(); d.offer.skipWaiting && d.allWait(in, u, k, p) {
		return nil
	}
	if p.Slack.none() {
		return d.best(in, u, p, true)
	}
	w := &k.waits[p.Wait]
	late := p.Slack.over(w, in.View.Now())
	if !late && d.offer.stillPasses(in, k, w, p) {
		return nil
	}
	var h *hit
	if p.Local {
		if h = d.bestLocal(in, u); h == nil && !late {
			if d.hasCandidate(in, u, p) {
				d.offer.skip(in, w)
			}
			return nil
		}
	}
	if h == nil {
		h = d.best(in, u, p, late)
	}
	switch {
	case h == nil:
	case h.Good || (late && h.Resets):
		*in.Journal.Edit(w) = policy.Wait{}
	case !late:
		d.offer.skip(in, w)
		k.note(in, &d.offer, u, h, p)
		return nil
	}
	return h
}

// skip counts an offer that the user lets pass, once: an offer that is left over
// was counted when the user let it pass before.
func (o *offer) skip(in *policy.Input, w *policy.Wait) {
	if !o.leftOver || w.Skips == 0 {
		skip(in, w)
	}
}

func (k *user) isOpen(p *Pass) bool {
	for _, kind := range p.Kinds {
		if k.open[stageIndex(kind)] > 0 {
			return true
		}
	}
	return false
}

// launch starts what a user takes, if that is anything.
func (d *Dispatcher) launch(in *policy.Input, h *hit) []model.Placement {
	if h == nil {
		return nil
	}
	d.targets.Launched(in, h.Job, h.Stage)
	if d.launcher != nil {
		d.launcher.Launched(in, h.Job, h.Stage)
	}
	reason := h.Reason
	if h.overtook {
		reason = model.ReasonWindow
	}
	return in.Launch(h.Job, h.Stage, reason)
}

// hit is the candidate a search found.
type hit struct {
	Candidate
	overtook bool // the starvation window put it before a lower key of a later job
}

// search is the state of best while it goes through jobs.
type search struct {
	in           *policy.Input
	pass         *Pass
	windows      policy.Window
	chosen, best hit // chosen is the best of an earlier window
}

// best returns the user's candidate with the least key: of the earliest starvation
// window that has any, and of equal ones the earliest. Without a user it is that
// of all jobs.
func (d *Dispatcher) best(in *policy.Input, u *state.User, p *Pass, late bool) *hit {
	d.candidate = Candidate{Pass: d.candidate.Pass, Late: late, Found: math.MaxInt}
	d.offer.refused = false
	s := &d.search
	s.in, s.pass, s.windows = in, p, d.offer.windows
	switch {
	case p.Indexed:
		d.index.Each(in, d.candidate.Pass, u, d.try)
	case u == nil:
		d.tryAll(in.View.Jobs())
	case d.offer.onlyActive:
		d.tryActive(d.users.Find(u), p.Kinds, in.Offer.Node.Rack.Index)
	default:
		d.tryAll(u.Jobs())
	}
	switch {
	case s.chosen.Job != nil:
		return &s.chosen
	case s.best.Job != nil:
		return &s.best
	}
	return nil
}

// forgetSearch has nothing kept of jobs.
func (d *Dispatcher) forgetSearch() {
	s := &d.search
	s.in, s.windows = nil, policy.Window{}
	s.best.Job, s.best.Stage, s.chosen.Job, s.chosen.Stage = nil, nil, nil, nil
	d.candidate.Job, d.candidate.Stage = nil, nil
}

// tryAll tries jobs by arrival, so that windows follow each other.
func (d *Dispatcher) tryAll(jobs []*state.Job) {
	for _, j := range jobs {
		if !d.tryJob(j) {
			return
		}
	}
}

// tryActive tries a user's active jobs and those that wait for the offered rack, by
// arrival. One that turns out to wait leaves the active ones.
func (d *Dispatcher) tryActive(k *user, kinds []model.Stage, rack int) {
	m := k.merge(kinds, rack)
	for j := m.first(); j != nil && d.tryJob(j); j = m.first() {
		m.drop(j)
	}
}

// tryJob compares a job's candidates with the best so far, and reports whether a
// later job could change what was found.
func (d *Dispatcher) tryJob(j *state.Job) bool {
	s, c := &d.search, &d.candidate
	k := d.jobs.Find(j)
	if k == nil || (d.offer.skipWaiting && d.offer.hasNothing(s.in, k, s.pass)) {
		return true
	}
	if s.windows.Next(j) && s.best.Job != nil && s.chosen.Job == nil {
		s.chosen = s.best
	}
	for _, kind := range s.pass.Kinds {
		if !d.order(s.in, k, j, kind) || (s.best.Job != nil && !c.before(&s.best.Key)) {
			continue
		}
		s.best.Candidate = *c
		c.Found = c.Line
		if s.chosen.Job != nil {
			s.chosen.overtook = true
			return false
		}
	}
	return s.best.Job == nil || !s.best.Least
}

// order sets the candidate to a job's stage of a kind and its key. False is that
// none of its tasks may run on the offered node now.
func (d *Dispatcher) order(in *policy.Input, k *job, j *state.Job, kind model.Stage) bool {
	n, s := stageIndex(kind), j.Stage(kind)
	if !k.open[n] {
		return false
	}
	if !in.Admits(s) || j.Blacklisted(in.Offer.Node.Host) {
		d.offer.refused = true
		return false
	}
	if d.offer.skipWaiting && d.offer.isWaiting(in, k, n) {
		return false
	}
	c := &d.candidate
	c.Job, c.Stage, c.Elsewhere = j, s, false
	return d.rule.Order(in, c) && !d.waitsForTargets(in, k, c)
}

// waitsForTargets reports whether a candidate lets the offer pass because its stage waits for
// its targets. Maps do not wait for an offer that nobody else takes (§3.3 of
// ShuffleWatcher: "a free node is always assigned some work"). Reduces do: they
// would hold the container until the last map is complete, and the job's shuffle
// would cross racks for as long.
func (d *Dispatcher) waitsForTargets(in *policy.Input, k *job, c *Candidate) bool {
	isMap := c.Stage.Kind == model.StageMap
	if !c.Elsewhere || (isMap && d.offer.leftOver) {
		return false
	}
	since, known := d.targets.Since(in, c.Job, c.Stage)
	until := since.Add(d.targets.Limit)
	if in.View.Now() >= until {
		return false
	}
	d.offer.mapsWait = d.offer.mapsWait || isMap
	if d.offer.skipWaiting && known {
		w := &k.waits[stageIndex(c.Stage.Kind)]
		w.racks = d.waiter.Wanted(in.View, c.Job, c.Stage, w.racks[:0])
		k.startWaiting(stageIndex(c.Stage.Kind), since, until)
	} else {
		d.offer.refused = true
	}
	return true
}

// bestLocal returns the user's best good hit among the jobs with maps on the node:
// it looks at these or at the user's jobs, whichever are fewer. Whether a job has maps
// on the node is looked up last, because it costs most.
func (d *Dispatcher) bestLocal(in *policy.Input, u *state.User) *hit {
	best := &d.search.best
	n := in.Offer.Node
	d.candidate = Candidate{Pass: d.candidate.Pass, Found: math.MaxInt, Local: true}
	if len(u.Jobs()) <= in.View.StagesLocalTo(n) {
		for _, j := range u.Jobs() {
			if d.isBetter(in, j, best) && j.Map.PendingOn(n) > 0 {
				best.Candidate = d.candidate
			}
		}
	} else {
		for _, j := range in.View.MapsLocalTo(n) {
			if j.Owner == u && d.isBetter(in, j, best) {
				best.Candidate = d.candidate
			}
		}
	}
	if best.Job == nil {
		return nil
	}
	return best
}

// isBetter reports whether a job's maps on the node would be a good hit with a lower key than
// the best so far, or with the same and earlier.
func (d *Dispatcher) isBetter(in *policy.Input, j *state.Job, best *hit) bool {
	k := d.jobs.Find(j)
	if k == nil || !d.order(in, k, j, model.StageMap) || !d.candidate.Good {
		return false
	}
	c := &d.candidate
	return best.Job == nil || c.before(&best.Key) || (!best.before(&c.Key) && state.CompareJobs(j, best.Job) < 0)
}

// hasCandidate reports whether the user has any candidate.
func (d *Dispatcher) hasCandidate(in *policy.Input, u *state.User, p *Pass) bool {
	d.candidate = Candidate{Pass: d.candidate.Pass, Found: math.MaxInt}
	for _, j := range u.Jobs() {
		if k := d.jobs.Find(j); k != nil {
			for _, kind := range p.Kinds {
				if d.order(in, k, j, kind) {
					return true
				}
			}
		}
	}
	return false
}

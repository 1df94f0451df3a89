package loop

import (
	"errors"
	"maps"
	"slices"
	"time"

	"heddle/core/account"
	"heddle/core/engine"
	"heddle/core/model"
	"heddle/core/state"
	"heddle/core/state/snapshot"
)

// Shadow is a policy that makes plans of the loop's observations, and steers nothing.
type Shadow struct {
	Label  string
	Engine *engine.Engine
}

// Account keeps the account of one policy: the one that decides, or a shadow.
type Account struct {
	label   string
	engine  *engine.Engine
	jobs    account.Accounts
	view    state.View
	since   model.Time // the first observation
	totals  account.Totals
	recent  []snapshot.JobAccount // the newest last
	skipped int64
	granted snapshot.GrantedReduces
}

// NewAccount returns the account of a policy that begins now.
func NewAccount(label string, e *engine.Engine, v state.View) *Account {
	return &Account{label: label, engine: e, jobs: account.New(v), view: v}
}

// mostRecent is how many ended jobs each policy's account names.
const mostRecent = 100

// Observe enters what an observation changed, which the cluster has applied, and returns the accounts of the jobs that
// are complete with it.
func (a *Account) Observe(fact model.Fact) []*account.Job {
	if a.since == 0 {
		a.since = a.view.Now()
	}
	done := a.jobs.Observe(fact, a.engine.Log().Plans)
	for _, j := range done {
		a.totals.Add(j)
		row := j.Row()
		a.granted.Add(row.Granted)
		a.recent = append(a.recent, row)
		if over := len(a.recent) - mostRecent; over > 0 {
			a.recent = slices.Clone(a.recent[over:]) // snapshots share the list
		}
	}
	return done
}

// Snapshot returns what a snapshot shows of the policy.
func (a *Account) Snapshot(decides bool) snapshot.PolicyAccount {
	t := &a.totals
	return snapshot.PolicyAccount{
		Policy: a.label, Decides: decides, Since: a.since, Jobs: t.Jobs, Planned: t.Planned, Skipped: a.skipped,
		Recorded: t.Recorded, Wanted: t.CrossRack, Least: t.Least,
		Saved: t.Regret.Saved, Lost: t.Regret.Lost, Recent: slices.Clip(a.recent), Granted: a.granted,
	}
}

// accounts are those of all policies.
type accounts struct {
	decides *Account // nil in observe mode
	shadows []*Account
	budget  budget
	apps    []model.AppID       // put off: see later
	next    int                 // the shadow that plans first in the next round
	past    map[string]*Account // by label, those that a reload replaced: counters never fall
}

// compare makes policies those that have an account from now on. One that had one before under its
// label keeps its sums.
func (l *Loop) compare(decides *engine.Engine, shadows []Shadow) {
	all := &l.accounts
	had := map[string]*Account{}
	for _, a := range all.list() {
		had[a.label] = a
	}
	if all.past == nil {
		all.past = map[string]*Account{}
	}
	add := func(label string, e *engine.Engine) *Account {
		a := had[label]
		if a == nil {
			if a = all.past[label]; a == nil {
				a = NewAccount(label, e, l.cluster.View())
			}
			a.jobs = account.New(l.cluster.View())
		} else if a.engine != e {
			e.Continue(a.engine)
		}
		delete(had, label)
		delete(all.past, label)
		a.engine = e
		return a
	}
	all.decides, all.shadows = nil, nil
	if decides != nil {
		all.decides = add(decides.Name(), decides)
	}
	for _, s := range shadows {
		all.shadows = append(all.shadows, add(s.Label, s.Engine))
	}
	maps.Copy(all.past, had)
}

func (all *accounts) list() []*Account {
	if all.decides == nil {
		return all.shadows
	}
	return append([]*Account{all.decides}, all.shadows...)
}

// observe enters what an observation changed in all accounts, and returns those of the policy that decides of the jobs that
// are complete with it.
func (all *accounts) observe(fact model.Fact) (done []*account.Job) {
	if all.decides != nil {
		done = all.decides.Observe(fact)
	}
	if len(all.shadows) == 0 {
		return done
	}
	began := time.Now()
	for _, a := range all.shadows {
		a.Observe(fact)
	}
	all.budget.spend(time.Since(began))
	return done
}

// later has the shadows plan in a round of all applications now, and in one of a single application
// once whoever waits for its plans has them.
func (all *accounts) later(round model.RoundFact, now model.Time) {
	if round.App != "" {
		all.apps = append(all.apps, round.App)
		return
	}
	all.apps = all.apps[:0] // they are among all
	all.plan(round, now)
}

// planLater has the shadows plan for the applications that are put off.
func (all *accounts) planLater(now model.Time) {
	for _, app := range all.apps {
		all.plan(model.RoundFact{App: app}, now)
	}
	all.apps = all.apps[:0]
}

// plan has the shadows plan in a round, as long as their share of the time lasts.
func (all *accounts) plan(round model.RoundFact, now model.Time) {
	first := all.next
	for i := range all.shadows {
		at := (first + i) % len(all.shadows)
		a := all.shadows[at]
		began := time.Now()
		if !all.budget.allows(began) {
			a.skipped++
			continue
		}
		var err error
		if round.App != "" {
			_, err = a.engine.PlanApp(now, round.App)
		} else {
			_, err = a.engine.Plan(now)
		}
		if err != nil && !errors.Is(err, engine.ErrStale) {
			a.skipped++ // the policy panicked: a lost round
		}
		all.budget.spend(time.Since(began))
		all.next = at + 1 // those that had no time are first in the next round
	}
}

// addTo puts the accounts into a snapshot that nobody reads yet.
func (all *accounts) addTo(s *snapshot.Snapshot) {
	for _, a := range all.list() {
		s.Accounts = append(s.Accounts, a.Snapshot(a == all.decides))
	}
}

// budget bounds the share of the time that shadows take.
type budget struct {
	share float64
	left  time.Duration
	at    time.Time
}

// saved is the longest time of which an unused share is kept.
const saved = 10 * time.Second

// allows reports whether there is time left.
func (b *budget) allows(now time.Time) bool {
	most := time.Duration(b.share * float64(saved))
	if b.at.IsZero() {
		b.left = most
	} else {
		b.left = min(b.left+time.Duration(b.share*float64(now.Sub(b.at))), most)
	}
	b.at = now
	return b.left > 0
}

func (b *budget) spend(d time.Duration) { b.left -= d }

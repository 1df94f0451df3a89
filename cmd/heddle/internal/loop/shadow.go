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

// Follower keeps the account of one policy: the one that decides, or a shadow.
type Follower struct {
	label    string
	engine   *engine.Engine
	accounts account.Accounts
	view     state.View
	since    model.Time // the first observation
	totals   account.Totals
	recent   []snapshot.JobAccount // the newest last
	skipped  int64
}

// NewFollower returns the account of a policy that begins now.
func NewFollower(label string, e *engine.Engine, v state.View) *Follower {
	return &Follower{label: label, engine: e, accounts: account.New(v), view: v}
}

// mostRecent is how many ended jobs each policy's account names.
const mostRecent = 100

// Observe enters what an observation changed, which the cluster has applied.
func (f *Follower) Observe(fact model.Fact) {
	if f.since == 0 {
		f.since = f.view.Now()
	}
	for _, j := range f.accounts.Observe(fact, f.engine.Log().Plans) {
		f.totals.Add(j)
		f.recent = append(f.recent, snapshot.JobAccount{
			App: j.App, Ended: j.Ended, Recorded: j.Shuffle.Recorded + j.MapRead.Recorded, Policy: j.Shuffle.Policy + j.MapRead.Policy, Least: j.Shuffle.Least + j.MapRead.Least,
		})
		if over := len(f.recent) - mostRecent; over > 0 {
			f.recent = slices.Clone(f.recent[over:]) // snapshots share the list
		}
	}
}

// Account returns what a snapshot shows of the policy.
func (f *Follower) Account(decides bool) snapshot.PolicyAccount {
	t := &f.totals
	return snapshot.PolicyAccount{
		Policy: f.label, Decides: decides, Since: f.since, Jobs: t.Jobs, Planned: t.Planned, Skipped: f.skipped,
		Recorded: crossRack(t.Recorded), Wanted: crossRack(t.CrossRack), Least: crossRack(t.Least),
		Saved: t.Regret.Saved, Lost: t.Regret.Lost, Recent: slices.Clip(f.recent),
	}
}

func crossRack(c account.CrossRack) snapshot.CrossRack {
	return snapshot.CrossRack{Shuffle: c.Shuffle, MapRead: c.MapRead, Total: c.Total}
}

// followers are all policies with accounts.
type followers struct {
	decides *Follower // nil in observe mode
	shadows []*Follower
	budget  budget
	apps    []model.AppID        // put off: see later
	next    int                  // the shadow that plans first in the next round
	past    map[string]*Follower // by label, those that a reload replaced: counters never fall
}

// follow makes policies those that are followed from now on. One that was followed before under its
// label keeps its sums.
func (l *Loop) follow(decides *engine.Engine, shadows []Shadow) {
	fs := &l.followers
	had := map[string]*Follower{}
	for _, f := range fs.all() {
		had[f.label] = f
	}
	if fs.past == nil {
		fs.past = map[string]*Follower{}
	}
	add := func(label string, e *engine.Engine) *Follower {
		f := had[label]
		if f == nil {
			if f = fs.past[label]; f == nil {
				f = NewFollower(label, e, l.cluster.View())
			}
			f.accounts = account.New(l.cluster.View())
		} else if f.engine != e {
			e.Continue(f.engine)
		}
		delete(had, label)
		delete(fs.past, label)
		f.engine = e
		return f
	}
	fs.decides, fs.shadows = nil, nil
	if decides != nil {
		fs.decides = add(decides.Name(), decides)
	}
	for _, s := range shadows {
		fs.shadows = append(fs.shadows, add(s.Label, s.Engine))
	}
	maps.Copy(fs.past, had)
}

func (fs *followers) all() []*Follower {
	if fs.decides == nil {
		return fs.shadows
	}
	return append([]*Follower{fs.decides}, fs.shadows...)
}

// observe enters what an observation changed in all accounts.
func (fs *followers) observe(fact model.Fact) {
	if fs.decides != nil {
		fs.decides.Observe(fact)
	}
	for _, f := range fs.shadows {
		f.Observe(fact)
	}
}

// later has the shadows plan in a round of all applications now, and in one of a single application
// once whoever waits for its plans has them.
func (fs *followers) later(round model.RoundFact, now model.Time) {
	if round.App != "" {
		fs.apps = append(fs.apps, round.App)
		return
	}
	fs.apps = fs.apps[:0] // they are among all
	fs.plan(round, now)
}

// planLater has the shadows plan for the applications that are put off.
func (fs *followers) planLater(now model.Time) {
	for _, app := range fs.apps {
		fs.plan(model.RoundFact{App: app}, now)
	}
	fs.apps = fs.apps[:0]
}

// plan has the shadows plan in a round, as long as their share of the time lasts.
func (fs *followers) plan(round model.RoundFact, now model.Time) {
	first := fs.next
	for i := range fs.shadows {
		at := (first + i) % len(fs.shadows)
		f := fs.shadows[at]
		began := time.Now()
		if !fs.budget.allows(began) {
			f.skipped++
			continue
		}
		var err error
		if round.App != "" {
			_, err = f.engine.PlanApp(now, round.App)
		} else {
			_, err = f.engine.Plan(now)
		}
		if err != nil && !errors.Is(err, engine.ErrStale) {
			f.skipped++ // the policy panicked: a lost round
		}
		fs.budget.spend(time.Since(began))
		fs.next = at + 1 // those that had no time are first in the next round
	}
}

// addTo puts the accounts into a snapshot that nobody reads yet.
func (fs *followers) addTo(s *snapshot.Snapshot) {
	for _, f := range fs.all() {
		s.Accounts = append(s.Accounts, f.Account(f == fs.decides))
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

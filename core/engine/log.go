package engine

import (
	"maps"
	"slices"

	"heddle/core/model"
	"heddle/core/state"
	"heddle/core/state/snapshot"
)

// Log keeps the newest decisions, the newest plan of each stage, and
// counts of what was decided and dropped. What a snapshot was given is never
// written again (I2).
type Log struct {
	limit     int              // decisions kept
	decisions []model.Decision // oldest first
	last      uint64           // sequence number of the newest decision
	plans     map[model.AppID][]*model.Plan
	rejected  map[model.Rule]int64
	decided   map[model.Reason]int64
}

func newLog(limit int) *Log {
	return &Log{limit: limit, plans: map[model.AppID][]*model.Plan{}, rejected: map[model.Rule]int64{}, decided: map[model.Reason]int64{}}
}

// add numbers decisions and keeps them and their plans.
func (l *Log) add(decisions []model.Decision) {
	for i := range decisions {
		d := &decisions[i]
		l.last++
		d.Seq = l.last
		l.decided[d.Reason()]++
		if d.Plan != nil {
			l.setPlan(d.Plan)
		}
	}
	// Snapshots share the list: they see neither what is appended past their
	// length nor what is dropped from the front.
	l.decisions = append(l.decisions, decisions...)
	if over := len(l.decisions) - l.limit; over > 0 {
		l.decisions = l.decisions[over:]
	}
}

// setPlan makes a plan the newest of its stage. The plans of an application stay
// in the order of stageOrder.
func (l *Log) setPlan(p *model.Plan) {
	plans := slices.DeleteFunc(slices.Clone(l.plans[p.App]), func(old *model.Plan) bool { return old.Stage == p.Stage })
	plans = append(plans, p)
	slices.SortFunc(plans, func(a, b *model.Plan) int { return stageOrder(a.Stage) - stageOrder(b.Stage) })
	l.plans[p.App] = plans
}

func stageOrder(s model.Stage) int {
	return slices.Index([]model.Stage{model.StageMap, model.StageReduce, model.StageOther}, s)
}

// planOf returns the newest plan of a stage, nil without one.
func (l *Log) planOf(app model.AppID, stage model.Stage) *model.Plan {
	for _, p := range l.plans[app] {
		if p.Stage == stage {
			return p
		}
	}
	return nil
}

// Plans returns the newest plans of an application's stages, maps first. The
// slice must not be changed.
func (l *Log) Plans(app model.AppID) []*model.Plan { return l.plans[app] }

// Rejected returns how many proposals were dropped for each rule.
func (l *Log) Rejected() map[model.Rule]int64 { return maps.Clone(l.rejected) }

// AddTo puts the log into a snapshot that nobody reads yet.
func (l *Log) AddTo(s *snapshot.Snapshot) {
	maps.DeleteFunc(l.plans, func(app model.AppID, _ []*model.Plan) bool { return s.App(app) == nil })
	s.Decisions, s.Plans = l.decisions, maps.Clone(l.plans)
	s.Counts.RejectedByRule, s.Counts.DecidedByReason = l.Rejected(), maps.Clone(l.decided)
}

// prune forgets the plans of applications that the cluster has forgotten, once there are many: not
// everybody who plans publishes snapshots.
func (l *Log) prune(v state.View) {
	if len(l.plans) > 2*len(v.Jobs())+planSlack {
		maps.DeleteFunc(l.plans, func(app model.AppID, _ []*model.Plan) bool { return v.Job(app) == nil })
	}
}

// planSlack is how many applications beyond twice the live ones may have plans: more than a cluster
// remembers of those that ended, so that a pruning frees something.
const planSlack = 2000

// reject counts a proposal that breaks a rule.
func (l *Log) reject(rule model.Rule) { l.rejected[rule]++ }

// Package loop owns the cluster's state: one goroutine applies observations, asks
// the policy for plans, and publishes snapshots for readers.
package loop

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"heddle/core/engine"
	"heddle/core/guard"
	"heddle/core/model"
	"heddle/core/state"
	"heddle/core/state/snapshot"
)

// Recorder receives every applied observation and every decision. It must not block.
type Recorder interface {
	Observation(o model.Observation)
	Decision(d model.Decision)
}

// Metrics receives the loop's measurements.
type Metrics interface {
	Round(policy string, d time.Duration)
	QueueFull(queue string)
}

// Options configure a Loop. Only Engine may be nil.
type Options struct {
	Cluster      *state.Cluster // owned by the loop
	Engine       *engine.Engine // nil in observe mode
	Shadows      []Shadow       // compared with what happens
	ShadowTime   float64        // the share of the time that they may take, 0 to 1
	Guard        guard.Params   // of whether steering pays
	QueueLength  int            // the most observations that wait (I6)
	PublishEvery time.Duration  // between rounds, each followed by a snapshot
	SampleEvery  time.Duration  // between samples of the uplinks
	Metrics      Metrics
	Log          hclog.Logger
	Now          func() time.Time
}

// Loop is the one goroutine that owns the cluster. Observations come in on one
// bounded channel; snapshots go out through one atomic pointer; calls that need
// the cluster or the policy wait for their turn between two observations.
type Loop struct {
	opts     Options
	cluster  *state.Cluster
	engine   *engine.Engine // nil in observe mode
	in       chan model.Observation
	calls    chan func()
	snapshot atomic.Pointer[snapshot.Snapshot]
	recorder Recorder
	log      hclog.Logger

	subscriber func(*snapshot.Snapshot)
	warnings   warnings
	rounds     roundLog
	accounts   accounts
	guarding   guarding
}

// New returns a loop that has not begun.
func New(o Options) *Loop {
	l := &Loop{
		opts: o, cluster: o.Cluster, engine: o.Engine, log: o.Log,
		in: make(chan model.Observation, o.QueueLength), calls: make(chan func()), subscriber: func(*snapshot.Snapshot) {},
	}
	l.accounts.budget.share = o.ShadowTime
	l.compare(o.Engine, o.Shadows)
	l.guarding = newGuarding(o.Guard, o.Cluster.View(), o.Log)
	return l
}

// Subscribe calls a function with every published snapshot, in the loop's goroutine.
// Call Subscribe before Run.
func (l *Loop) Subscribe(to func(*snapshot.Snapshot)) { l.subscriber = to }

// Observations returns the queue for sources, which wait while it is full.
func (l *Loop) Observations() chan<- model.Observation { return l.in }

// Offer queues an observation, or drops and counts it if the queue is full.
func (l *Loop) Offer(o model.Observation) {
	select {
	case l.in <- o:
	default:
		l.opts.Metrics.QueueFull(observations)
	}
}

// observations is the queue's name in metrics.
const observations = "observations"

// Snapshot returns the newest published snapshot, nil before the first.
func (l *Loop) Snapshot() *snapshot.Snapshot { return l.snapshot.Load() }

func (l *Loop) now() model.Time { return model.Time(l.opts.Now().UnixMilli()) }

// Run owns the cluster until ctx ends, and records what it applies and decides. It
// applies and records the queued observations before it returns.
func (l *Loop) Run(ctx context.Context, rec Recorder) {
	l.recorder = rec
	publish := time.NewTicker(l.opts.PublishEvery)
	defer publish.Stop()
	sample := time.NewTicker(l.opts.SampleEvery)
	defer sample.Stop()
	for {
		select {
		case <-ctx.Done():
			l.drain()
			return
		case o := <-l.in:
			l.apply(o)
		case call := <-l.calls:
			call()
			l.accounts.planLater(l.now()) // whoever called has its answer
		case <-sample.C:
			_ = l.step(model.SampleFact{}) // samples nothing that can fail
		case <-publish.C:
			l.decide()
			l.publish()
		}
	}
}

func (l *Loop) drain() {
	for {
		select {
		case o := <-l.in:
			l.apply(o)
		default:
			l.publish()
			return
		}
	}
}

func (l *Loop) apply(o model.Observation) {
	if len(l.in) >= cap(l.in)-1 { // it was full before this receive; a waiting sender may have refilled it
		l.opts.Metrics.QueueFull(observations)
	}
	l.cluster.Apply(o)
	l.recorder.Observation(o)
	l.observe(o.Fact)
}

// observe enters a fact that the cluster has applied in all accounts.
func (l *Loop) observe(f model.Fact) { l.guarding.observe(f, l.accounts.observe(f)) }

// step has the loop itself do something now, and records that and what was decided.
func (l *Loop) step(f model.Fact) error {
	o := model.Observation{Source: model.SourceService, At: l.now(), Fact: f}
	l.recorder.Observation(o)
	decisions, err := engine.Step(l.cluster, l.engine, o)
	for i := range decisions {
		l.recorder.Decision(decisions[i])
	}
	if round, is := f.(model.RoundFact); is {
		l.accounts.later(round, o.At)
	}
	l.observe(f)
	return err
}

func (l *Loop) decide() {
	start := time.Now()
	err := l.step(model.RoundFact{})
	if l.engine == nil {
		return
	}
	l.opts.Metrics.Round(l.engine.Name(), time.Since(start))
	l.rounds.log(l.log, l.engine.Name(), err)
}

func (l *Loop) publish() {
	s := l.cluster.Snapshot()
	if l.engine != nil {
		l.engine.Log().AddTo(s)
	}
	l.accounts.addTo(s)
	l.guarding.addTo(s)
	l.snapshot.Store(s)
	l.subscriber(s)
	l.warnings.log(l.log, s)
}

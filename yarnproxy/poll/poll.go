// Package poll repeats the polls of one source. A Runner starts them at an
// interval, backs off with jitter while the source fails, sends a PollFact
// after the observations of each poll, and logs a failure and its end once.
// What a poll reads, and within which budget, is up to the source.
package poll

import (
	"cmp"
	"context"
	"time"

	"github.com/hashicorp/go-hclog"

	"heddle/core/model"
	"heddle/yarnproxy/rest"
)

// Config describes the polls of one source. Source, Service, Interval and Now
// are required; the zero value of each other field means its default.
type Config struct {
	Source  model.Source // of the observations
	Service string       // the service that is read, as log messages name it, such as "NameNode"

	Interval   time.Duration // from the start of one poll to the start of the next
	MinPause   time.Duration // from the end of one poll to the start of the next, at least; default 0
	MaxBackoff time.Duration // longest pause while the service fails; default 30 s, at least Interval

	Cost   func() rest.Usage             // requests and bytes spent so far; each poll reports what the one before did not; default 0
	Advice func(model.PollResult) string // what an operator can do about a failure; default: nothing is logged
	Now    func() time.Time              // stamps observations and times polls
	Log    hclog.Logger                  // default: none
}

// Outcome is how a poll went.
type Outcome struct {
	Result  model.PollResult
	Error   string // of the service, or of single answers; "" if there was none
	BackOff bool   // the service as a whole fails: the next poll waits for the back-off instead of the interval
	Partial bool   // the service answers, and Result is that of single answers, which the source logs itself
	Idle    bool   // there was nothing to ask, so that the poll is not reported
}

// Func polls the service once.
type Func func(context.Context, *Round) Outcome

// Runner repeats a poll. Make it with New. Its methods are called from one goroutine.
type Runner struct {
	cfg  Config
	poll Func

	reported rest.Usage // cost as of the last poll that was reported
	backoff  Backoff
	failures int       // failed polls in a row
	since    time.Time // end of the first of them
}

// New builds a runner.
func New(cfg Config, poll Func) *Runner {
	cfg.MaxBackoff = max(cmp.Or(max(cfg.MaxBackoff, 0), 30*time.Second), cfg.Interval)
	if cfg.Cost == nil {
		cfg.Cost = func() rest.Usage { return rest.Usage{} }
	}
	if cfg.Log == nil {
		cfg.Log = hclog.NewNullLogger()
	}
	return &Runner{cfg: cfg, poll: poll, reported: cfg.Cost()}
}

// Run polls until ctx ends and returns its error. Sending an observation waits
// for the receiver, and no request is sent meanwhile.
func (r *Runner) Run(ctx context.Context, out chan<- model.Observation) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		timer.Reset(r.Once(ctx, out))
	}
}

// Once polls once and returns how long to wait before the next poll. A poll
// that the end of ctx interrupts is not reported: it does not describe the service.
func (r *Runner) Once(ctx context.Context, out chan<- model.Observation) time.Duration {
	round := &Round{Start: r.cfg.Now(), cfg: &r.cfg, out: out}
	outcome := r.poll(ctx, round)
	if ctx.Err() != nil {
		return 0
	}
	regular := max(r.cfg.Interval-round.Elapsed(), r.cfg.MinPause)
	if outcome.Idle {
		return regular
	}
	cost := r.cfg.Cost()
	fact := model.PollFact{
		Result: outcome.Result, Error: outcome.Error, DurationMS: round.Elapsed().Milliseconds(),
		Requests: cost.Requests - r.reported.Requests, Bytes: cost.Bytes - r.reported.Bytes,
	}
	r.reported = cost
	end := r.cfg.Now()
	r.log(fact, outcome.Partial, end)
	round.Send(ctx, fact)
	if outcome.BackOff {
		return r.backoff.Fail(end, r.cfg.Interval, r.cfg.MaxBackoff)
	}
	r.backoff.Reset()
	return regular
}

// log reports when the service starts to fail and when it answers again. Other
// polls are details, also those that fail in another way: a restart passes through several.
func (r *Runner) log(fact model.PollFact, partial bool, now time.Time) {
	failed := !partial && fact.Result != model.PollOK && fact.Result != model.PollBudget
	source := []any{"source", string(r.cfg.Source)}
	switch {
	case failed && r.failures == 0:
		r.since = now
		details := append(source, "result", string(fact.Result), "error", fact.Error)
		if r.cfg.Advice != nil {
			details = append(details, "do", r.cfg.Advice(fact.Result))
		}
		r.cfg.Log.Warn(r.cfg.Service+" cannot be read; retrying", details...)
	case !failed && r.failures > 0:
		r.cfg.Log.Info(r.cfg.Service+" answers again", append(source,
			"after", max(now.Sub(r.since), 0).Round(time.Millisecond).String(), "failed_polls", r.failures)...)
	default:
		r.cfg.Log.Debug("poll", append(source, "result", string(fact.Result), "ms", fact.DurationMS,
			"requests", fact.Requests, "bytes", int64(fact.Bytes), "error", fact.Error)...)
	}
	if failed {
		r.failures++
	} else {
		r.failures = 0
	}
}

// Round is one poll in progress. Its methods are safe for concurrent use.
type Round struct {
	Start time.Time // of the poll
	cfg   *Config
	out   chan<- model.Observation
}

// Send hands a fact to the receiver, and drops it if ctx ends first.
func (r *Round) Send(ctx context.Context, fact model.Fact) {
	r.SendAt(ctx, r.cfg.Now(), fact)
}

// longestReading is how long the reading of one fact takes at most; a longer one shows that the clock was set.
const longestReading = 30 * time.Second

// SendAt sends a fact that was asked for at a time. If the clock was set since, it has the time that it is now.
func (r *Round) SendAt(ctx context.Context, asked time.Time, fact model.Fact) {
	at := r.cfg.Now()
	if took := at.Sub(asked); took >= 0 && took <= longestReading {
		at = asked
	}
	select {
	case r.out <- model.Observation{Source: r.cfg.Source, At: model.Time(at.UnixMilli()), Fact: fact}:
	case <-ctx.Done():
	}
}

// Now returns the time.
func (r *Round) Now() time.Time { return r.cfg.Now() }

// Elapsed returns the time since the start of the poll, 0 if the clock was set back.
func (r *Round) Elapsed() time.Duration { return max(r.cfg.Now().Sub(r.Start), 0) }

package poll_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"heddle/core/model"
	"heddle/yarnproxy/poll"
	"heddle/yarnproxy/rest"
)

// source is a service whose outcomes a test sets, on synctest's clock.
type source struct {
	outcome  poll.Outcome
	duration time.Duration // of one poll
	cost     rest.Usage
	starts   []time.Time
	facts    []model.Observation
	asked    func(now time.Time) time.Time // when a fact of its own was asked for; nil sends it as of now
	log      bytes.Buffer
	cfg      poll.Config
}

func newSource() *source {
	s := &source{outcome: poll.Outcome{Result: model.PollOK}}
	s.cfg = poll.Config{
		Source: model.SourceRM, Service: "ResourceManager", Interval: time.Second, MaxBackoff: 8 * time.Second,
		Cost: func() rest.Usage { return s.cost }, Advice: func(model.PollResult) string { return "start it" }, Now: time.Now,
		Log: hclog.New(&hclog.LoggerOptions{Output: &s.log, Level: hclog.Debug, DisableTime: true}),
	}
	return s
}

// poll sends one fact and costs two requests and ten bytes.
func (s *source) poll(ctx context.Context, round *poll.Round) poll.Outcome {
	s.starts = append(s.starts, round.Start)
	time.Sleep(s.duration)
	s.cost.Requests += 2
	s.cost.Bytes += 10
	if s.outcome.Result == model.PollOK {
		if s.asked == nil {
			round.Send(ctx, model.ClusterFact{Version: "3.4.3"})
		} else {
			round.SendAt(ctx, s.asked(round.Now()), model.ClusterFact{Version: "3.4.3"})
		}
	}
	return s.outcome
}

// run polls for a time and returns how far apart the polls of that time started.
func (s *source) run(t *testing.T, r *poll.Runner, span time.Duration) []time.Duration {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), span)
	defer cancel()
	s.starts = nil
	out, done := make(chan model.Observation), make(chan error)
	go func() { done <- r.Run(ctx, out) }()
	for {
		select {
		case o := <-out:
			s.facts = append(s.facts, o)
		case err := <-done:
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Run returned %v", err)
			}
			var apart []time.Duration
			for i := 1; i < len(s.starts); i++ {
				apart = append(apart, s.starts[i].Sub(s.starts[i-1]))
			}
			return apart
		}
	}
}

// polls returns the PollFacts that were sent, each of which must follow the
// other facts of its poll.
func (s *source) polls() (polls []model.PollFact) {
	for _, o := range s.facts {
		if f, ok := o.Fact.(model.PollFact); ok {
			polls = append(polls, f)
		}
	}
	return polls
}

func (s *source) lines(level string) (lines []string) {
	for line := range strings.Lines(s.log.String()) {
		if strings.HasPrefix(line, "["+level) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

func TestRunKeepsTheInterval(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		duration, minPause, want time.Duration
	}{
		"short polls": {300 * time.Millisecond, 0, time.Second},
		"long polls":  {3 * time.Second, 0, 3 * time.Second},
		"with a pause": {
			3 * time.Second, time.Second / 10,
			3100 * time.Millisecond,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSource()
				s.duration, s.cfg.MinPause = c.duration, c.minPause
				apart := s.run(t, poll.New(s.cfg, s.poll), 20*time.Second)
				if len(apart) < 5 {
					t.Fatalf("polls %v apart", apart)
				}
				for _, d := range apart {
					if d != c.want {
						t.Errorf("polls %v apart, want %v", d, c.want)
					}
				}
			})
		})
	}
}

// TestRunReportsEveryPoll: each poll sends its facts, then one PollFact with what it cost.
func TestRunReportsEveryPoll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		s.duration = 250 * time.Millisecond
		r := poll.New(s.cfg, s.poll)
		s.run(t, r, 1500*time.Millisecond)
		s.outcome = poll.Outcome{Result: model.PollBudget, Error: "one application cannot be read"}
		s.cost.Requests++ // by another user of the client
		s.run(t, r, 500*time.Millisecond)
		var kinds []string
		for _, o := range s.facts {
			kinds = append(kinds, o.Fact.Kind())
			if o.Source != model.SourceRM || o.At == 0 {
				t.Errorf("%s of %s at %d", o.Fact.Kind(), o.Source, o.At)
			}
		}
		if got := strings.Join(kinds, " "); got != "cluster poll cluster poll poll" {
			t.Errorf("sent %s", got)
		}
		ok := model.PollFact{Result: model.PollOK, DurationMS: 250, Requests: 2, Bytes: 10}
		want := []model.PollFact{ok, ok, {Result: model.PollBudget, Error: "one application cannot be read", DurationMS: 250, Requests: 3, Bytes: 10}}
		if diff := cmp.Diff(want, s.polls()); diff != "" {
			t.Error(diff)
		}
		if lines := s.lines("DEBUG"); len(lines) != 3 || strings.Count(s.log.String(), "\n") != 3 {
			t.Errorf("log: %s", &s.log)
		}
	})
}

// TestRunBacksOff: pauses double up to the longest, are spread at random, and
// end with the first poll that succeeds. One outage is logged once.
func TestRunBacksOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		r := poll.New(s.cfg, s.poll)
		s.outcome = poll.Outcome{Result: model.PollUnreachable, Error: "connection refused", BackOff: true}
		apart := s.run(t, r, 200*time.Second)
		s.outcome.Result = model.PollStandby
		s.run(t, r, 10*time.Second)
		seen := map[time.Duration]bool{}
		for i, pause := range apart {
			longest := min(time.Second<<min(i, 10), 8*time.Second)
			if pause < longest/2 || pause > longest+1 {
				t.Errorf("pause %d is %v, want %v to %v", i, pause, longest/2, longest)
			}
			seen[pause] = true
		}
		if len(apart) < 24 || len(seen) < len(apart)/2 {
			t.Errorf("%d pauses, %d different ones", len(apart), len(seen))
		}
		s.outcome = poll.Outcome{Result: model.PollOK}
		for _, pause := range s.run(t, r, 5*time.Second) {
			if pause != time.Second {
				t.Errorf("pause %v after a success", pause)
			}
		}
		s.outcome = poll.Outcome{Result: model.PollDenied, BackOff: true}
		if apart := s.run(t, r, 3*time.Second); apart[0] > time.Second {
			t.Errorf("first pause %v after a success", apart[0])
		}
		if got := s.lines("WARN"); len(got) != 2 || !strings.HasPrefix(got[0], "[WARN]  ResourceManager cannot be read; retrying: source=rm result=unreachable error=\"connection refused\" do=\"start it\"") {
			t.Errorf("warnings %q", got)
		}
		if got := s.lines("INFO"); len(got) != 1 || !strings.Contains(got[0], "ResourceManager answers again") || !strings.Contains(got[0], "failed_polls=") {
			t.Errorf("told %q", got)
		}
		if got := strings.Join(s.lines("DEBUG"), "\n"); !strings.Contains(got, "result=standby") {
			t.Errorf("details %q", got)
		}
	})
}

// TestRunWithoutBackOff: where single answers fail, the interval stays, and
// partial failures are not the runner's to log.
func TestRunWithoutBackOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		s.outcome = poll.Outcome{Result: model.PollDenied, Error: "/secret", Partial: true}
		r := poll.New(s.cfg, s.poll)
		for _, pause := range s.run(t, r, 9500*time.Millisecond) {
			if pause != time.Second {
				t.Errorf("pause %v", pause)
			}
		}
		if got := s.polls(); len(got) != 10 || got[9].Result != model.PollDenied || len(s.lines("WARN")) > 0 {
			t.Errorf("%d polls, log %s", len(got), &s.log)
		}
		s.outcome.Partial = false
		s.run(t, r, 10*time.Second)
		if got := s.lines("WARN"); len(got) != 1 {
			t.Errorf("warnings %q", got)
		}
	})
}

func TestRunReportsNoIdlePoll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		s.outcome = poll.Outcome{Idle: true}
		if apart := s.run(t, poll.New(s.cfg, s.poll), 5500*time.Millisecond); len(apart) != 5 || len(s.facts) != 0 {
			t.Errorf("polls %v apart sent %v", apart, s.facts)
		}
	})
}

// TestRunEndsAtOnce: whatever a runner waits for, the end of the context ends it.
func TestRunEndsAtOnce(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]*source{"while it sends": newSource(), "while it polls": newSource(), "while it pauses": newSource()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
				defer cancel()
				s.cfg.Interval = time.Minute
				run := s.poll
				switch name {
				case "while it polls":
					run = func(ctx context.Context, _ *poll.Round) poll.Outcome {
						<-ctx.Done()
						return poll.Outcome{Result: model.PollUnreachable, Error: ctx.Err().Error(), BackOff: true}
					}
				case "while it pauses":
					s.outcome.Idle = true
					run = func(context.Context, *poll.Round) poll.Outcome { return s.outcome }
				}
				start := time.Now()
				err := poll.New(s.cfg, run).Run(ctx, make(chan model.Observation))
				if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 90*time.Second || s.log.Len() > 0 {
					t.Errorf("ended with %v after %v, log %s", err, time.Since(start), &s.log)
				}
			})
		})
	}
}

// TestClockSetBack: a clock that goes back lengthens no pause.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	s := newSource()
	now := time.UnixMilli(1795218000000)
	s.cfg.Now = func() time.Time { return now }
	out := make(chan model.Observation, 4)
	pause := poll.New(s.cfg, func(context.Context, *poll.Round) poll.Outcome {
		now = now.Add(-time.Hour)
		return poll.Outcome{Result: model.PollOK}
	}).Once(t.Context(), out)
	if fact := (<-out).Fact.(model.PollFact); pause != time.Second || fact.DurationMS != 0 {
		t.Errorf("pause %v, %+v", pause, fact)
	}
}

func TestBackoff(t *testing.T) {
	t.Parallel()
	var b poll.Backoff
	now := time.UnixMilli(1795218000000)
	if !b.Due(now) || b.Failing() {
		t.Error("the zero value waits")
	}
	for i := range 100 {
		delay := b.Fail(now, time.Second, time.Minute)
		longest := min(time.Second<<min(i, 10), time.Minute)
		if delay < longest/2-1 || delay > longest+1 || !b.Failing() || b.Due(now.Add(delay-1)) || !b.Due(now.Add(delay)) {
			t.Errorf("failure %d: %v, want %v to %v", i, delay, longest/2, longest)
		}
	}
	b.PauseUntil(now.Add(time.Hour))
	if b.Failing() || b.Due(now.Add(time.Hour-1)) || !b.Due(now.Add(time.Hour)) {
		t.Errorf("%+v, want a pause of an hour", b)
	}
	b.Reset()
	if !b.Due(now) {
		t.Error("a success ends the pause")
	}
	if delay := b.Fail(now, time.Minute, time.Second); delay < 30*time.Second || delay > time.Minute {
		t.Errorf("%v where the longest delay is below the first", delay)
	}
}

// TestSendAt: a fact has the time at which it was asked for, and the present one if the clock was set since.
func TestSendAt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ ago, want time.Duration }{
		"asked for now":          {0, 0},
		"a slow answer":          {4 * time.Second, 4 * time.Second},
		"the clock was set back": {-time.Minute, 0},
		"the clock was set on":   {time.Hour, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSource()
				s.asked = func(now time.Time) time.Time { return now.Add(-c.ago) }
				s.run(t, poll.New(s.cfg, s.poll), time.Second/2)
				if at, want := s.facts[0].At, model.Time(time.Now().Add(-time.Second/2-c.want).UnixMilli()); at != want {
					t.Errorf("at %d, want %d", at, want)
				}
			})
		})
	}
}

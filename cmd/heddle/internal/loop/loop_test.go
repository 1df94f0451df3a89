package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"heddle/core/engine"
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/state"
	"heddle/core/state/snapshot"
)

// oneRack is a policy that wants every reduce on /r1, or panics.
type oneRack struct{ panics *atomic.Bool }

func (oneRack) Place(*policy.Input) []model.Placement { return nil }

func (p oneRack) Plan(in *policy.Input) []model.Plan {
	if p.panics.Load() {
		panic("index out of range")
	}
	var plans []model.Plan
	for i, j := range in.Jobs {
		plans = append(plans, model.Plan{App: j.ID, Stage: model.StageReduce, Rank: i + 1, Reason: model.ReasonMapOutput, Racks: []model.RackTarget{{Rack: "/r1", Count: 1, Share: 1}}})
	}
	return plans
}

// kept is a recorder and the loop's notes at once.
type kept struct {
	observations []model.Observation // of others
	done         []model.Observation // of what the loop did itself
	decisions    []model.Decision
	full         []string
	roundCount   int
}

func (k *kept) Observation(o model.Observation) {
	if o.Source == model.SourceService {
		k.done = append(k.done, o)
	} else {
		k.observations = append(k.observations, o)
	}
}
func (k *kept) Decision(d model.Decision)   { k.decisions = append(k.decisions, d) }
func (k *kept) Round(string, time.Duration) { k.roundCount++ }
func (k *kept) QueueFull(queue string)      { k.full = append(k.full, queue) }

// bench is a loop under test, on the clock of a synctest bubble.
type bench struct {
	*Loop
	kept
	log    *strings.Builder
	panics atomic.Bool
	stop   context.CancelFunc
	ended  chan struct{}
}

func newBench(t *testing.T, queue int) *bench {
	t.Helper()
	b := &bench{log: &strings.Builder{}, ended: make(chan struct{})}
	cluster := state.New(state.DefaultConfig())
	b.Loop = New(Options{
		Cluster: cluster, QueueLength: queue, Metrics: &b.kept, Now: time.Now, PublishEvery: time.Second, SampleEvery: time.Second,
		Engine: engine.New(engine.DefaultOptions("one-rack"), oneRack{&b.panics}, cluster),
		Log:    hclog.New(&hclog.LoggerOptions{Output: b.log, DisableTime: true}),
	})
	return b
}

func (b *bench) run(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	b.stop = cancel
	go func() { b.Run(ctx, &b.kept); close(b.ended) }()
}

// end stops the loop and waits for it.
func (b *bench) end(t *testing.T) {
	t.Helper()
	b.stop()
	<-b.ended
}

// poll is what one good poll of a ResourceManager with one node and one
// running application sends.
func poll() []model.Observation {
	var out []model.Observation
	for _, f := range []model.Fact{
		model.ClusterFact{Started: 1, Version: "3.4.3", HAState: "ACTIVE", Address: "rm:8088"},
		model.NodesFact{Nodes: []model.Node{{ID: "a:1", Host: "a", Rack: "/r1", State: model.NodeRunning, Total: model.Resource{MemoryMiB: 4096, VCores: 4}}}},
		model.AppsFact{Apps: []model.App{{ID: "application_1_0001", User: "u", Queue: "root.q", Type: "MAPREDUCE", State: model.AppRunning, Submitted: 1}}},
		model.JobFact{App: "application_1_0001", ReducesTotal: 4, ReducesPending: 4},
		model.PollFact{Result: model.PollOK},
	} {
		out = append(out, model.Observation{Source: model.SourceRM, At: model.Time(time.Now().UnixMilli()), Fact: f})
	}
	return out
}

func (b *bench) send(facts []model.Observation) {
	for _, o := range facts {
		b.in <- o
	}
}

func TestLoopDecidesAndPublishes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 16)
		if b.Snapshot() != nil {
			t.Error("a snapshot before the loop runs")
		}
		b.run(t)
		b.send(poll())
		time.Sleep(1500 * time.Millisecond)
		s := b.Snapshot()
		b.end(t)
		if s == nil || len(s.Apps) != 1 || len(s.Plans[s.Apps[0].ID]) != 1 || s.Plans[s.Apps[0].ID][0].Reason != model.ReasonUncertain { // no map is known
			t.Fatalf("snapshot %+v", s)
		}
		if len(b.done) != 2 || b.done[0].Fact != (model.SampleFact{}) && b.done[1].Fact != (model.SampleFact{}) || b.done[0].Fact == b.done[1].Fact {
			t.Errorf("recorded of itself: %+v, want a sample and a round", b.done)
		}
		if len(b.decisions) != 1 || b.roundCount != 1 || len(b.observations) != 5 {
			t.Errorf("%d decisions, %d rounds, %d observations", len(b.decisions), b.roundCount, len(b.observations))
		}
	})
}

// TestLoopQueueFull lets the loop be busy while sources send: they wait, which
// is counted, and nothing is lost.
func TestLoopQueueFull(t *testing.T) {
	t.Parallel()
	for _, queue := range []int{1, 2, 8} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, queue)
			b.run(t)
			busy := make(chan struct{})
			go func() { _ = b.do(t.Context(), func() { <-busy }) }()
			synctest.Wait()
			const sent = 20
			senders := make(chan struct{}, 4)
			for range cap(senders) {
				go func() {
					for range sent / cap(senders) {
						b.in <- model.Observation{Source: model.SourceRM, At: 1, Fact: model.PollFact{Result: model.PollOK}}
					}
					senders <- struct{}{}
				}()
			}
			synctest.Wait()
			if len(b.in) != queue {
				t.Errorf("%d in a queue of %d", len(b.in), queue)
			}
			close(busy)
			for range cap(senders) {
				<-senders
			}
			b.end(t)
			if len(b.observations) != sent {
				t.Errorf("%d of %d observations", len(b.observations), sent)
			}
			// The queue is full when the loop goes on; how long it stays so is up to the scheduler.
			if n := len(b.full); n < 1 || slices.ContainsFunc(b.full, func(q string) bool { return q != "observations" }) {
				t.Errorf("queue of %d: counted full %d times: %v", queue, n, b.full)
			}
		})
	}
}

// TestLoopQueueNotFull counts nothing while there is room.
func TestLoopQueueNotFull(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 8)
		b.run(t)
		for range 100 {
			b.in <- poll()[4]
			synctest.Wait()
		}
		b.end(t)
		if len(b.full) > 0 {
			t.Errorf("counted full %d times", len(b.full))
		}
	})
}

func TestLoopQuestion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		b.run(t)
		answer := 0
		if err := b.do(t.Context(), func() { answer = 42 }); err != nil || answer != 42 {
			t.Errorf("answer %d, error %v", answer, err)
		}

		busy := make(chan struct{})
		go func() { _ = b.do(t.Context(), func() { <-busy }) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := b.do(ctx, func() { t.Error("asked after its deadline") }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a question to a busy loop: %v", err)
		}
		close(busy)

		slow, cancelSlow := context.WithTimeout(t.Context(), time.Second)
		defer cancelSlow()
		if err := b.do(slow, func() { time.Sleep(time.Minute) }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a question that takes too long: %v", err)
		}
		b.end(t)
		ended, cancelEnded := context.WithTimeout(t.Context(), time.Second)
		defer cancelEnded()
		if err := b.do(ended, func() {}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a question to a loop that ended: %v", err)
		}
	})
}

// TestLoopSurvivesAPolicy lets the policy panic for some rounds and in a question.
func TestLoopSurvivesAPolicy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 16)
		b.run(t)
		feed := func(seconds int) {
			for range seconds {
				b.send(poll())
				time.Sleep(time.Second)
			}
		}
		feed(2)
		app := model.App{ID: "application_1_0099", User: "v", Queue: "root.q", State: model.AppRunning, Submitted: 2}
		if policy, plans, err := b.Suppose(t.Context(), app, nil); err != nil || len(plans) != 1 || policy != "one-rack" {
			t.Errorf("%s plans %+v, error %v", policy, plans, err)
		}
		b.panics.Store(true)
		feed(5)
		if _, plans, err := b.Suppose(t.Context(), app, nil); err == nil {
			t.Errorf("plans of a policy that panics: %+v", plans)
		}
		b.panics.Store(false)
		feed(2)
		s := b.Snapshot()
		if s.At < model.Time(time.Now().UnixMilli()).Add(-2*model.Second) || len(s.Apps) != 1 || len(s.Plans[s.Apps[0].ID]) != 1 {
			t.Errorf("the loop did not go on: %+v", s)
		}
		if n := s.Counts.RejectedByRule[model.RulePanic]; n < 5 {
			t.Errorf("%d panics counted", n)
		}
		b.end(t)
		if n := strings.Count(b.log.String(), "the policy panicked"); n != 1 {
			t.Errorf("said %d times", n)
		}
		if n := strings.Count(b.log.String(), "decisions are made again"); n != 1 {
			t.Errorf("its end said %d times", n)
		}
	})
}

// TestLoopStale stops the polls: decisions end when the state is too old, once
// said, and a start is no such case.
func TestLoopStale(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 16)
		b.run(t)
		time.Sleep(5 * time.Second)
		if got := b.log.String(); got != "" {
			t.Errorf("said at the start: %s", got)
		}
		for range 2 {
			b.send(poll())
			time.Sleep(time.Minute)
		}
		b.end(t)
		if n := strings.Count(b.log.String(), "no decisions"); n != 2 {
			t.Errorf("said %d times of 2:\n%s", n, b.log)
		}
		if n := strings.Count(b.log.String(), "made again"); n != 1 {
			t.Errorf("its end said %d times:\n%s", n, b.log)
		}
	})
}

// TestLoopDrains stops the loop while observations wait: they are applied,
// recorded and published.
func TestLoopDrains(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 16)
		b.send(poll())
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		b.Run(ctx, &b.kept)
		if s := b.Snapshot(); s == nil || len(s.Apps) != 1 || len(b.observations) != 5 {
			t.Errorf("%d observations, snapshot %+v", len(b.observations), s)
		}
	})
}

func TestLoopObserves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 16)
		b.engine = nil
		b.run(t)
		b.send(poll())
		time.Sleep(3 * time.Second)
		if _, _, err := b.Suppose(t.Context(), model.App{}, nil); !errors.Is(err, ErrNoPolicy) {
			t.Errorf("advice without a policy: %v", err)
		}
		b.end(t)
		if s := b.Snapshot(); len(s.Apps) != 1 || len(s.Plans) != 0 || b.roundCount != 0 {
			t.Errorf("%d rounds, %+v", b.roundCount, s.Apps)
		}
	})
}

// TestWarningsNameFewHosts bounds a line of the log.
func TestWarningsNameFewHosts(t *testing.T) {
	t.Parallel()
	snap := &snapshot.Snapshot{}
	for i := range 40 {
		snap.Nodes = append(snap.Nodes, model.Node{Host: fmt.Sprintf("w%02d", i), Rack: model.DefaultRack})
	}
	snap.Counts.HostsNoRack = len(snap.Nodes)
	log := &strings.Builder{}
	var known warnings
	for range 3 {
		known.log(hclog.New(&hclog.LoggerOptions{Output: log, DisableTime: true}), snap)
	}
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, `count=40 hosts="w00 w01 w02 w03 w04 …"`) {
		t.Error(got)
	}
}

package main

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
	"heddle/yarnproxy/api"
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
	observations []model.Observation
	decisions    []model.Decision
	full         []string
	rounds       int
}

func (k *kept) Observation(o model.Observation) { k.observations = append(k.observations, o) }
func (k *kept) Decision(d model.Decision)       { k.decisions = append(k.decisions, d) }
func (k *kept) Round(string, time.Duration)     { k.rounds++ }
func (k *kept) QueueFull(queue string)          { k.full = append(k.full, queue) }

// bench is a loop under test, on the clock of a synctest bubble.
type bench struct {
	*loop
	kept
	log    *buffer
	panics atomic.Bool
	stop   context.CancelFunc
	ended  chan error
}

func newBench(t *testing.T, queue int) *bench {
	t.Helper()
	b := &bench{log: &buffer{}, ended: make(chan error, 1)}
	cluster := state.New(state.DefaultConfig())
	b.loop = &loop{
		cluster: cluster, in: make(chan model.Observation, queue), questions: make(chan func()), recorder: &b.kept, notes: &b.kept,
		engine: engine.New(engine.DefaultOptions("one-rack"), oneRack{&b.panics}, cluster),
		log:    hclog.New(&hclog.LoggerOptions{Output: b.log, DisableTime: true}), now: time.Now,
		publishEvery: time.Second, sampleEvery: time.Second,
	}
	return b
}

func (b *bench) run(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	b.stop = cancel
	go func() { b.ended <- b.Run(ctx) }()
}

// end stops the loop and waits for it.
func (b *bench) end(t *testing.T) {
	t.Helper()
	b.stop()
	if err := <-b.ended; err != nil {
		t.Errorf("the loop ended with %v", err)
	}
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
		out = append(out, model.Observation{Source: model.SourceRM, At: modelTime(time.Now()), Fact: f})
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
		if s == nil || len(s.Apps) != 1 || len(s.Apps[0].Plans) != 1 || s.Apps[0].Plans[0].Racks[0].Rack != "/r1" {
			t.Fatalf("snapshot %+v", s)
		}
		if len(b.decisions) != 1 || b.rounds != 1 || len(b.observations) != 5 {
			t.Errorf("%d decisions, %d rounds, %d observations", len(b.decisions), b.rounds, len(b.observations))
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
			go func() { _ = b.ask(t.Context(), func() { <-busy }) }()
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
		if err := b.ask(t.Context(), func() { answer = 42 }); err != nil || answer != 42 {
			t.Errorf("answer %d, error %v", answer, err)
		}

		busy := make(chan struct{})
		go func() { _ = b.ask(t.Context(), func() { <-busy }) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := b.ask(ctx, func() { t.Error("asked after its deadline") }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a question to a busy loop: %v", err)
		}
		close(busy)

		slow, cancelSlow := context.WithTimeout(t.Context(), time.Second)
		defer cancelSlow()
		if err := b.ask(slow, func() { time.Sleep(time.Minute) }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a question that takes too long: %v", err)
		}
		b.end(t)
		ended, cancelEnded := context.WithTimeout(t.Context(), time.Second)
		defer cancelEnded()
		if err := b.ask(ended, func() {}); !errors.Is(err, context.DeadlineExceeded) {
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
		ask := api.Request{App: model.App{ID: "application_1_0099", User: "v", Queue: "root.q", State: model.AppRunning, Submitted: 2}}
		if a, err := (advisor{b.loop}).Advise(t.Context(), ask); err != nil || len(a.Plans) != 1 || a.Policy != "one-rack" {
			t.Errorf("advice %+v, error %v", a, err)
		}
		b.panics.Store(true)
		feed(5)
		if a, err := (advisor{b.loop}).Advise(t.Context(), ask); err == nil {
			t.Errorf("advice of a policy that panics: %+v", a)
		}
		b.panics.Store(false)
		feed(2)
		s := b.Snapshot()
		if s.At < modelTime(time.Now()).Add(-2*model.Second) || len(s.Apps) != 1 || len(s.Apps[0].Plans) != 1 {
			t.Errorf("the loop did not go on: %+v", s)
		}
		if n := s.Counts.RejectedByRule[model.RulePanic]; n < 5 {
			t.Errorf("%d panics counted", n)
		}
		b.end(t)
		if n := len(b.log.lines("the policy panicked")); n != 1 {
			t.Errorf("said %d times", n)
		}
		if n := len(b.log.lines("decisions are made again")); n != 1 {
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
		if n := len(b.log.lines("no decisions")); n != 2 {
			t.Errorf("said %d times of 2:\n%s", n, b.log)
		}
		if n := len(b.log.lines("made again")); n != 1 {
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
		if err := b.Run(ctx); err != nil {
			t.Error(err)
		}
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
		if _, err := (advisor{b.loop}).Advise(t.Context(), api.Request{}); !errors.Is(err, api.ErrNoPolicy) {
			t.Errorf("advice without a policy: %v", err)
		}
		b.end(t)
		if s := b.Snapshot(); len(s.Apps) != 1 || len(s.Apps[0].Plans) != 0 || b.rounds != 0 {
			t.Errorf("%d rounds, %+v", b.rounds, s.Apps)
		}
	})
}

// TestSaidNamesFewHosts bounds a line of the log.
func TestSaidNamesFewHosts(t *testing.T) {
	t.Parallel()
	snap := &state.Snapshot{}
	for i := range 40 {
		snap.Nodes = append(snap.Nodes, model.Node{Host: fmt.Sprintf("w%02d", i), Rack: model.DefaultRack})
	}
	snap.Counts.HostsNoRack = len(snap.Nodes)
	log := &buffer{}
	var s said
	for range 3 {
		s.tell(hclog.New(&hclog.LoggerOptions{Output: log, DisableTime: true}), snap)
	}
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, `count=40 hosts="w00 w01 w02 w03 w04 …"`) {
		t.Error(got)
	}
}

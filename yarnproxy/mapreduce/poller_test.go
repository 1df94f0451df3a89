package mapreduce

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/core/model"
	"heddle/yarnproxy/rest"
)

func TestNewChecksItsConfig(t *testing.T) {
	t.Parallel()
	client := rest.New(rest.Options{})
	full := Config{
		Proxy: client, ProxyBase: func() string { return "" }, Live: func() []model.App { return nil }, Now: time.Now,
	}
	if _, err := New(full); err != nil {
		t.Error(err)
	}
	_, err := New(Config{HistoryBase: "http://jhs"})
	wantErr(t, err, "not set: Proxy, ProxyBase, Live, Now, History")
	full.HistoryBase, full.History = "http://jhs", client
	_, err = New(full)
	wantErr(t, err, "a client each")
}

// TestFailedAttemptThenSuccess follows a map whose first attempt fails: the
// task is never where the failed attempt was, and has the second one's counters.
func TestFailedAttemptThenSuccess(t *testing.T) {
	t.Parallel()
	task := &fakeTask{state: "RUNNING", progress: 60, attempts: []fakeAttempt{{state: "RUNNING", host: "w11", rack: "/rack1", input: 5, output: 6, shuffled: -1}}}
	j := jobOf(1, 0)
	j.tasks[mapKey(0)] = task
	site := &fakeSite{jobs: []*fakeJob{j}}
	s := newStage(t, site, nil)
	want := func(what string, want model.Task) {
		t.Helper()
		s.round()
		want.Stage, want.Shuffled = model.StageMap, model.Unknown
		if diff := cmp.Diff(want, s.tasks[j.app][mapKey(0)]); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	want("first attempt", model.Task{State: model.TaskRunning, Progress: .6, Host: "w11", Rack: "/rack1", Input: -1, Output: -1})
	task.attempts[0].state, task.progress = "FAILED", 0
	task.attempts = append(task.attempts, fakeAttempt{state: "STARTING", shuffled: -1, input: 50, output: 60})
	want("between", model.Task{State: model.TaskRunning, Input: -1, Output: -1})
	task.attempts[1].state, task.attempts[1].host, task.attempts[1].rack, task.progress = "RUNNING", "w22", "/rack2", 10
	want("second attempt", model.Task{State: model.TaskRunning, Progress: .1, Host: "w22", Rack: "/rack2", Input: -1, Output: -1})
	task.attempts[1].state, task.state, task.progress, task.won = "SUCCEEDED", "SUCCEEDED", 100, 1
	want("success", model.Task{State: model.TaskSucceeded, Progress: 1, Host: "w22", Rack: "/rack2", Input: 50, Output: 60})
	if n := site.requests("m_000000_0/counters"); n != 0 {
		t.Errorf("counters of the failed attempt were asked for %d times", n)
	}
	// Its node is lost after the map succeeded: the map runs again elsewhere.
	task.state, task.progress = "SCHEDULED", 0
	want("output lost", model.Task{State: model.TaskPending, Input: -1, Output: -1})
	task.attempts[1].state = "KILLED"
	task.attempts = append(task.attempts, fakeAttempt{state: "SUCCEEDED", host: "w33", rack: "/rack3", shuffled: -1, input: 50, output: 61})
	task.state, task.progress, task.won = "SUCCEEDED", 100, 2
	want("again", model.Task{State: model.TaskSucceeded, Progress: 1, Host: "w33", Rack: "/rack3", Input: 50, Output: 61})
}

// TestUberizedMapOnlyJob has no reduces, and all its maps where its
// ApplicationMaster is; map-only attempts report no output.
func TestUberizedMapOnlyJob(t *testing.T) {
	t.Parallel()
	j := jobOf(2, 3)
	j.uberized = true
	for _, task := range j.tasks {
		task.attempts[0] = fakeAttempt{state: "SUCCEEDED", host: "w13", rack: "/rack1", input: 7, output: -1, shuffled: -1}
	}
	j.history = true
	site := &fakeSite{jobs: []*fakeJob{j}}
	s := newStage(t, site, nil)
	s.round()
	j.listed = model.AppFinished
	s.round()
	for i := range 3 {
		want := model.Task{Stage: model.StageMap, Index: i, State: model.TaskSucceeded, Progress: 1, Host: "w13", Rack: "/rack1", Input: 7, Output: -1, Shuffled: -1}
		if diff := cmp.Diff(want, s.tasks[j.app][mapKey(i)]); diff != "" {
			t.Error(diff)
		}
	}
	if diff := cmp.Diff(model.JobFact{App: j.app, MapsTotal: 3, MapsCompleted: 3, Done: true}, s.jobs[j.app]); diff != "" {
		t.Error(diff)
	}
	if n := site.requests("_0/counters"); n != 3 {
		t.Errorf("counters of 3 attempts were asked for %d times", n)
	}
}

// TestOnlyChangesAreSent looks at rounds in which nothing happens, and at the
// progress of a running reduce.
func TestOnlyChangesAreSent(t *testing.T) {
	t.Parallel()
	j := jobOf(3, 2)
	reduce := &fakeTask{state: "RUNNING", progress: 10, attempts: []fakeAttempt{{state: "RUNNING", host: "w21", rack: "/rack2", input: -1, output: -1, shuffled: 100}}}
	j.tasks[taskKey{model.StageReduce, 0}] = reduce
	j.tasks[taskKey{model.StageReduce, 1}] = &fakeTask{state: "SCHEDULED"}
	site := &fakeSite{jobs: []*fakeJob{j}}
	s := newStage(t, site, func(cfg *Config) { cfg.RefreshEvery = 4 })
	s.round()
	s.round() // the reduce's place is known now, and its counters are wanted
	before := s.sent(model.SourceMapReduce, "tasks")
	s.round()
	s.round()
	if after := s.sent(model.SourceMapReduce, "tasks"); after != before {
		t.Errorf("%d tasks facts in two rounds without a change", after-before)
	}
	reduce.progress, reduce.attempts[0].shuffled = 40, 900
	s.round()
	var last model.TasksFact
	for _, o := range s.facts {
		if tasks, ok := o.Fact.(model.TasksFact); ok {
			last = tasks
		}
	}
	if after := s.sent(model.SourceMapReduce, "tasks"); after != before+1 || len(last.Tasks) != 1 || last.Tasks[0].Progress != .4 {
		t.Errorf("after progress of one task: %d facts, %+v", after-before, last)
	}
	if got := s.tasks[j.app][taskKey{model.StageReduce, 0}].Shuffled; got != 100 {
		t.Errorf("shuffled %d before the next look", got)
	}
	s.round()
	if got := s.tasks[j.app][taskKey{model.StageReduce, 0}].Shuffled; got != 900 {
		t.Errorf("shuffled %d after the next look", got)
	}
	if n := site.requests("m_000001/attempts"); n != 1 {
		t.Errorf("attempts of a completed map were asked for %d times", n)
	}
}

// TestRedirectAtTheEnd ends a job that the ResourceManager still lists as
// running, and does not take it up again for that.
func TestRedirectAtTheEnd(t *testing.T) {
	t.Parallel()
	j := jobOf(4, 2)
	site := &fakeSite{jobs: []*fakeJob{j}}
	s := newStage(t, site, nil)
	s.round()
	j.master = "ended"
	s.round()
	s.round() // not in the JobHistory server yet
	if got := s.poll(model.SourceHistory); got.Result != model.PollOK {
		t.Errorf("waiting for the job: %+v", got)
	}
	if s.jobs[j.app].Done {
		t.Error("done before the JobHistory server had it")
	}
	j.history = true
	asked := site.requests(strings.Replace(string(j.app), "application", "job", 1))
	for range 4 {
		s.round()
	}
	if !s.jobs[j.app].Done || s.poll(model.SourceMapReduce).Result != model.PollOK {
		t.Errorf("job %+v, poll %+v", s.jobs[j.app], s.poll(model.SourceMapReduce))
	}
	if n := site.requests("/proxy/"+string(j.app)+"/ws/v1/mapreduce/jobs/"+strings.Replace(string(j.app), "application", "job", 1)) - 2; n != 0 {
		t.Errorf("the proxy was asked %d times about a job that ended", n)
	}
	if asked == 0 || len(s.hist.queue) != 0 || len(s.run.jobs) != 0 || s.log.Len() != 0 {
		t.Errorf("queue %d, jobs %d, log %s", len(s.hist.queue), len(s.run.jobs), s.log)
	}
	j.listed = model.AppFinished
	s.round()
	if len(s.run.endedJobs) != 0 {
		t.Error("an ended job is remembered after the ResourceManager's list has caught up")
	}
}

// TestEndWithoutRedirect ends jobs by the ResourceManager's list.
func TestEndWithoutRedirect(t *testing.T) {
	t.Parallel()
	final, missing, flicker := jobOf(5, 1), jobOf(6, 1), jobOf(7, 1)
	site := &fakeSite{jobs: []*fakeJob{final, missing, flicker}}
	s := newStage(t, site, nil)
	s.round()
	final.listed, missing.listed, flicker.listed = model.AppKilled, "", ""
	s.round()
	flicker.listed = model.AppRunning
	for range absentRounds - 1 {
		if len(s.run.jobs) != 2 {
			t.Errorf("%d jobs are followed, want the missing and the flickering one", len(s.run.jobs))
		}
		s.round()
	}
	if len(s.run.jobs) != 1 || s.run.jobs[flicker.app] == nil || len(s.hist.queue) != 2 {
		t.Errorf("followed %v, %d wait for the history", s.run.jobs, len(s.hist.queue))
	}
}

// TestHistoryGivesUp waits for a job that never appears, asks less and less
// often, and says so once.
func TestHistoryGivesUp(t *testing.T) {
	t.Parallel()
	j := jobOf(8, 1)
	site := &fakeSite{jobs: []*fakeJob{j}}
	s := newStage(t, site, func(cfg *Config) { cfg.HistoryWait = 2 * time.Minute })
	s.round()
	j.listed = model.AppFinished
	for range 90 {
		s.round()
	}
	if s.warnings("did not appear") != 1 || len(s.hist.queue) != 0 || s.jobs[j.app].Done {
		t.Errorf("queue %d, job %+v, log %s", len(s.hist.queue), s.jobs[j.app], s.log)
	}
	if n := site.requests("/ws/v1/history/mapreduce/jobs/job_1795215638925_0008"); n < 5 || n > 12 {
		t.Errorf("asked %d times in two minutes", n)
	}
}

// TestHistoryProbe asks an idle JobHistory server for a sign of life, not often.
func TestHistoryProbe(t *testing.T) {
	t.Parallel()
	site := &fakeSite{}
	s := newStage(t, site, nil)
	for range 31 { // a minute
		s.round()
	}
	if n := site.requests("/info"); n != 3 || len(s.polls[model.SourceHistory]) != 3 {
		t.Errorf("%d probes, %d polls", n, len(s.polls[model.SourceHistory]))
	}
	site.down = true
	for range 60 {
		s.round()
	}
	if got := s.poll(model.SourceHistory); got.Result != model.PollError || !strings.Contains(got.Error, "500") {
		t.Errorf("a server that answers 500: %+v", got)
	}
	site.down = false
	for range 60 {
		s.round()
	}
	if got := s.poll(model.SourceHistory); got.Result != model.PollOK || s.warnings("cannot be read; retrying") != 1 || s.warnings("answers again") != 1 {
		t.Errorf("after it came back: %+v, log %s", got, s.log)
	}
	if n := len(s.polls[model.SourceMapReduce]); n != 151 || s.poll(model.SourceMapReduce).Result != model.PollOK {
		t.Errorf("%d polls of no jobs, the last %+v", n, s.poll(model.SourceMapReduce))
	}
}

// TestNoREST leaves a job alone whose ApplicationMaster answers 404, and reads
// it from the JobHistory server at its end.
func TestNoREST(t *testing.T) {
	t.Parallel()
	one, two := jobOf(9, 2), jobOf(10, 2)
	one.master, two.master = "404", "404"
	site := &fakeSite{jobs: []*fakeJob{one, two}}
	s := newStage(t, site, nil)
	for range 60 {
		s.round()
	}
	got := s.poll(model.SourceMapReduce)
	if n := site.requests("/jobs/job_1795215638925_0009"); n != notFoundLimit || got.Result != model.PollError || !strings.Contains(got.Error, "without REST") {
		t.Errorf("asked %d times, poll %+v", n, got)
	}
	if s.warnings("MAPREDUCE-7530") != 1 || s.warnings("cannot be read; retrying") != 1 {
		t.Errorf("log: %s", s.log)
	}
	one.master = ""
	for range 300 { // ten minutes
		s.round()
	}
	if len(s.tasks[one.app]) != 2 || s.poll(model.SourceMapReduce).Result != model.PollOK {
		t.Errorf("tasks %v after its REST came", s.tasks[one.app])
	}
	two.listed, two.history = model.AppFinished, true
	s.round()
	s.round()
	if !s.jobs[two.app].Done || len(s.tasks[two.app]) != 2 || s.tasks[two.app][mapKey(1)].Output != 501 {
		t.Errorf("from the history: %+v %+v", s.jobs[two.app], s.tasks[two.app])
	}
}

// TestBadAnswers gives one bad answer after the other to a poller with one
// good job beside, and with none.
func TestBadAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		master string
		result model.PollResult
		err    string
	}{
		{"half", model.PollInvalid, "unexpected end"},
		{"page", model.PollInvalid, "content type"},
		{"404", model.PollError, "404"},
		{"none", model.PollOK, ""},
	} {
		t.Run(c.master, func(t *testing.T) {
			t.Parallel()
			bad, good := jobOf(11, 3), jobOf(12, 3)
			bad.master, good.listed = c.master, ""
			site := &fakeSite{jobs: []*fakeJob{bad, good}}
			s := newStage(t, site, nil)
			s.round()
			if got := s.poll(model.SourceMapReduce); got.Result != c.result {
				t.Errorf("alone: %+v", got)
			} else if !strings.Contains(got.Error, c.err) {
				t.Errorf("alone: error %q, want one with %q", got.Error, c.err)
			}
			if job, ok := s.jobs[bad.app]; ok != (c.master == "half") || (ok && job.MapsCompleted != 3) {
				t.Errorf("job object: %t %+v", ok, job)
			}
			good.listed = model.AppRunning
			s.round()
			if got := s.poll(model.SourceMapReduce); got.Result != model.PollOK || !strings.Contains(got.Error, c.err) {
				t.Errorf("beside a good job: %+v", got)
			}
			if len(s.tasks[good.app]) != 3 {
				t.Errorf("the good job's tasks: %v", s.tasks[good.app])
			}
			bad.master = ""
			for range 10 {
				s.round()
			}
			if len(s.tasks[bad.app]) != 3 || s.poll(model.SourceMapReduce).Error != "" {
				t.Errorf("after it recovered: %v, %+v", s.tasks[bad.app], s.poll(model.SourceMapReduce))
			}
		})
	}
}

// TestProxyDown asks one job and no more while nobody listens, and backs off.
func TestProxyDown(t *testing.T) {
	t.Parallel()
	site := &fakeSite{}
	for i := range 50 {
		site.jobs = append(site.jobs, jobOf(20+i, 1))
	}
	var refused atomic.Int64
	s := newStage(t, site, func(cfg *Config) {
		cfg.Workers = 1
		cfg.Proxy = rest.New(rest.Options{Base: refuse{&refused}})
	})
	s.round()
	if got := s.poll(model.SourceMapReduce); got.Result != model.PollUnreachable || refused.Load() != 1 {
		t.Errorf("%d requests, poll %+v", refused.Load(), got)
	}
	s.base = ""
	s.round()
	if got := s.poll(model.SourceMapReduce); got.Result != model.PollStandby || refused.Load() != 1 {
		t.Errorf("without an active ResourceManager: %+v", got)
	}
	for range 60 { // two minutes
		s.round()
	}
	if wait, n := s.next[0].Sub(s.now), len(s.polls[model.SourceMapReduce]); wait > maxBackoff || n < 6 || n > 12 || s.warnings("cannot be read; retrying") != 1 {
		t.Errorf("%d polls in two minutes, the next in %v, log %s", n, wait, s.log)
	}
}

type refuse struct{ n *atomic.Int64 }

func (r refuse) RoundTrip(*http.Request) (*http.Response, error) {
	r.n.Add(1)
	return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
}

// TestLimits follows no more jobs and tasks than it may, and says so.
func TestLimits(t *testing.T) {
	t.Parallel()
	site := &fakeSite{jobs: []*fakeJob{jobOf(70, 5), jobOf(71, 1)}}
	s := newStage(t, site, func(cfg *Config) { cfg.MaxJobs, cfg.MaxTasks, cfg.MaxDetails = 1, 3, 2 })
	for range 5 {
		s.round()
	}
	if len(s.run.jobs) != 1 || len(s.tasks[app(70)]) != 3 || len(s.tasks[app(71)]) != 0 {
		t.Errorf("jobs %d, tasks %v", len(s.run.jobs), s.tasks)
	}
	for key, task := range s.tasks[app(70)] {
		if task.Output == model.Unknown || task.Host == "" {
			t.Errorf("task %v: %+v", key, task)
		}
	}
	if diff := cmp.Diff([]string{FullJobs, FullTasks}, s.full[:2]); diff != "" || s.warnings("more tasks than are followed") != 1 || s.warnings("job is not followed") != 1 {
		t.Errorf("limits %v, log %s", s.full, s.log)
	}
	site.jobs[0].listed = model.AppFinished
	s.round()
	s.round()
	if len(s.tasks[app(71)]) != 1 {
		t.Error("the other job is not followed when there is room")
	}
}

// TestBudget runs the whole poller on a budget that is far too small, on fake
// time: it is never exceeded, attempts come before counters, no job starves,
// everything is read in the end, and nothing twice.
func TestBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const perSecond, maps = 6, 12
		site := &fakeSite{jobs: []*fakeJob{jobOf(80, maps), jobOf(81, maps)}}
		s := newStage(t, site, func(cfg *Config) {
			cfg.Proxy = rest.New(rest.Options{Base: inProcess{site}, Budget: rest.NewBudget(perSecond, 0)})
			cfg.Now, cfg.HistoryBase = time.Now, ""
			cfg.CountersEvery = 1000
		})
		ctx, cancel := context.WithCancel(t.Context())
		out := make(chan model.Observation)
		done := make(chan error)
		go func() { done <- s.p.Run(ctx, out) }()
		start, budgets, gap := time.Now(), 0, 0
		for time.Since(start) < time.Minute {
			s.take(<-out)
			known := [2]int{}
			for i := range known {
				for _, task := range s.tasks[app(80+i)] {
					if task.Host != "" {
						known[i]++
					}
				}
			}
			gap = max(gap, known[0]-known[1], known[1]-known[0])
			if n := s.requestsSoFar(); float64(n) > perSecond*(time.Since(start).Seconds()+1)+1 {
				t.Fatalf("%d requests in %v", n, time.Since(start))
			}
		}
		cancel()
		for over := false; !over; {
			select {
			case <-out:
			case err := <-done:
				over = true
				if !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			}
		}
		for _, poll := range s.polls[model.SourceMapReduce] {
			if poll.Result == model.PollBudget {
				budgets++
			} else if poll.Result != model.PollOK {
				t.Errorf("poll %+v", poll)
			}
		}
		if budgets == 0 || s.poll(model.SourceMapReduce).Result != model.PollOK {
			t.Errorf("%d rounds ran out of budget, the last poll %+v", budgets, s.poll(model.SourceMapReduce))
		}
		if gap > maps/2 {
			t.Errorf("one job was %d racks ahead of the other", gap)
		}
		checkBudgetOrder(t, site, maps)
		for i := range maps {
			if got := s.tasks[app(80)][mapKey(i)]; got.Output != model.Bytes(500+i) || got.Host == "" {
				t.Errorf("map %d: %+v", i, got)
			}
		}
	})
}

// TestManyJobs has more jobs than the budget lets be asked in one round: each
// is asked in its turn, and racks are learned all the same.
func TestManyJobs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const jobs = 60
		site := &fakeSite{}
		for i := range jobs {
			site.jobs = append(site.jobs, jobOf(100+i, 2))
		}
		s := newStage(t, site, func(cfg *Config) {
			cfg.Proxy = rest.New(rest.Options{Base: inProcess{site}, Budget: rest.NewBudget(10, 0)})
			cfg.Now, cfg.HistoryBase = time.Now, ""
		})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		out := make(chan model.Observation)
		go func() {
			_ = s.p.Run(ctx, out)
			close(out)
		}()
		for o := range out {
			s.take(o)
		}
		for i := range jobs {
			for key, task := range s.tasks[app(100+i)] {
				if task.Host == "" {
					t.Errorf("job %d: task %v is nowhere", i, key)
				}
			}
			if n := site.requests("/job_1795215638925_0" + strconv.Itoa(100+i)); n < 10 {
				t.Errorf("job %d was asked %d times in five minutes", i, n)
			}
		}
	})
}

func (s *stage) requestsSoFar() int {
	s.site.mu.Lock()
	defer s.site.mu.Unlock()
	return len(s.site.inOrder)
}

func checkBudgetOrder(t *testing.T, site *fakeSite, maps int) {
	t.Helper()
	for _, n := range []int{80, 81} {
		of := string(app(n))
		attempts := indexesOf(site.inOrder, func(p string) bool { return strings.Contains(p, of) && strings.HasSuffix(p, "/attempts") })
		counters := indexesOf(site.inOrder, func(p string) bool { return strings.Contains(p, of) && strings.HasSuffix(p, "_0/counters") })
		if len(attempts) != maps || len(counters) != maps || attempts[maps-1] > counters[0] {
			t.Errorf("attempts at %v, counters at %v", attempts, counters)
		}
	}
}

// TestNobodyListens sends no request while nobody takes what the last one told.
func TestNobodyListens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		site := &fakeSite{jobs: []*fakeJob{jobOf(90, 5)}}
		s := newStage(t, site, func(cfg *Config) { cfg.Now = time.Now })
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := s.p.Run(ctx, make(chan model.Observation)); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if n := s.requestsSoFar(); n != 2 { // the job object, and the probe of the history
			t.Errorf("%d requests: %v", n, site.inOrder)
		}
	})
}

// TestHungMaster does not let one ApplicationMaster that never answers keep
// the poller from the others.
func TestHungMaster(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		site := &fakeSite{jobs: []*fakeJob{jobOf(91, 1), jobOf(92, 2)}}
		s := newStage(t, site, func(cfg *Config) {
			cfg.Workers, cfg.Now, cfg.HistoryBase = 1, time.Now, ""
			cfg.Proxy = rest.New(rest.Options{Base: hang{inProcess{site}, string(app(91))}, Timeout: 5 * time.Second})
		})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		out := make(chan model.Observation)
		go func() {
			_ = s.p.Run(ctx, out)
			close(out)
		}()
		for o := range out {
			s.take(o)
		}
		answered, unreachable := 0, 0
		for _, poll := range s.polls[model.SourceMapReduce] {
			switch poll.Result {
			case model.PollOK, model.PollBudget:
				answered++
			case model.PollUnreachable:
				unreachable++
			default:
				t.Errorf("poll %+v", poll)
			}
		}
		if answered < 80 || unreachable > 1 || len(s.tasks[app(92)]) != 2 || s.tasks[app(92)][mapKey(1)].Output != 501 {
			t.Errorf("%d rounds answered, %d did not; tasks %v", answered, unreachable, s.tasks)
		}
	})
}

// hang answers everything but one application.
type hang struct {
	inProcess
	app string
}

func (h hang) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.Contains(r.URL.Path, h.app) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	return h.inProcess.RoundTrip(r)
}

package rm_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/core/model"
	"heddle/yarnproxy/rest"
	"heddle/yarnproxy/rm"
)

func settle(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestOneRound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		f.run(2)
		p := start(t, f, nil)
		settle(500 * time.Millisecond)
		facts := p.take()
		var kinds []string
		for _, o := range facts {
			kinds = append(kinds, o.Fact.Kind())
			if o.Source != model.SourceRM || o.At != model.Time(time.Now().Add(-500*time.Millisecond).UnixMilli()) {
				t.Errorf("%s from %s at %d", o.Fact.Kind(), o.Source, o.At)
			}
		}
		want := "cluster nodes cluster cluster apps asks containers asks containers poll"
		if got := strings.Join(kinds, " "); got != want {
			t.Errorf("facts %s, want %s", got, want)
		}
		clusters := only[model.ClusterFact](facts)
		base := model.ClusterFact{Started: 1795215638925, Version: "3.4.3", HAState: "ACTIVE", Address: "rm1:8088"}
		queues, localities := base, base
		queues.Scheduler, queues.Queues = "capacityScheduler", []model.Queue{{ID: "root.batch", Share: 0.4}, {ID: "root.default", Share: 0.60000004}}
		localities.Localities = &model.LocalityCounts{NodeLocal: 176, RackLocal: 14, OffSwitch: 154}
		if diff := cmp.Diff([]model.ClusterFact{base, queues, localities}, clusters); diff != "" {
			t.Error(diff)
		}
		asks, containers := only[model.AsksFact](facts), only[model.ContainersFact](facts)
		if len(asks[0].Rows) != 8 || string(asks[1].App) != appID(2) || len(containers[1].Containers) != 8 || !strings.HasPrefix(containers[1].Containers[0].ID, "container_1795215638925_0002_01_") {
			t.Errorf("%d rows of %s, containers %+v", len(asks[0].Rows), asks[1].App, containers[1])
		}
		poll := only[model.PollFact](facts)[0]
		// info, nodes, scheduler, jmx, apps, ended, 2 x (app, appattempts, containers)
		if poll.Result != model.PollOK || poll.Requests != 12 || poll.Bytes < 60000 || poll.Error != "" {
			t.Errorf("%+v", poll)
		}
		if p.ActiveBase() != "http://rm1:8088" {
			t.Errorf("active base %q", p.ActiveBase())
		}
		asked := f.takeAsked()
		if !slices.Contains(asked, "/ws/v1/cluster/apps?states=NEW,NEW_SAVING,SUBMITTED,ACCEPTED,RUNNING&deSelects=resourceRequests,timeouts,appNodeLabelExpression,amNodeLabelExpression,resourceInfo") {
			t.Errorf("asked %q", asked)
		}

		// Later rounds ask for what changes, and start a second apart.
		settle(9 * time.Second)
		if got := results(p.take()); len(got) != 9 {
			t.Errorf("results %v in 9 s", got)
		}
		count := map[string]int{}
		for _, path := range f.takeAsked() {
			switch {
			case strings.Contains(path, "finishedTimeBegin"):
				count["ended"]++
			case strings.HasSuffix(path, "appattempts"):
				count["appattempts"]++
			default:
				count[strings.Split(strings.TrimPrefix(path, "/ws/v1/cluster/"), "?")[0]]++
			}
		}
		for what, n := range map[string]int{"info": 9, "nodes": 9, "apps": 9, "ended": 1, "/jmx": 1, "scheduler": 0, "appattempts": 2, "apps/" + appID(1): 9} {
			if count[what] != n {
				t.Errorf("%s was asked %d times in 9 s, want %d", what, count[what], n)
			}
		}
		p.stop()
		if err := <-p.ended; !errors.Is(err, context.Canceled) {
			t.Errorf("ended with %v", err)
		}
		if lines := append(p.logged("WARN"), p.logged("ERROR")...); len(lines) > 0 {
			t.Errorf("logged %q", lines)
		}
	})
}

// TestAsksAreOfTheQuestion: the relay adopts what the ResourceManager held after a call, so that an application's asks have
// the time at which they were asked for, however late the answer comes.
func TestAsksAreOfTheQuestion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		f.run(1)
		f.latency = 200 * time.Millisecond
		p := start(t, f, nil)
		settle(5 * time.Second)
		facts := p.take()
		var answered model.Time // the fact before
		seen := 0
		for _, o := range facts {
			if _, is := o.Fact.(model.AsksFact); is {
				if seen++; o.At != answered {
					t.Errorf("asks at %d, want %d, when the answer before them came", o.At, answered)
				}
			}
			answered = o.At
		}
		if seen == 0 {
			t.Error("no asks were read")
		}
	})
}

// TestBudget: 60 applications need 120 requests a second; with 20 the rounds
// share them out, and no second sees more (I10).
func TestBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const perSecond, apps, seconds = 20, 60, 30
		f := newFake(t)
		f.run(apps)
		p := start(t, f, rest.NewBudget(perSecond, 0))
		begin := time.Now()
		settle(seconds * time.Second)
		facts := p.take()
		bySecond := map[int]int{}
		for _, at := range f.times {
			bySecond[int(at.Sub(begin)/time.Second)]++
		}
		for second, n := range bySecond {
			if second == 0 && n > 2*perSecond || second > 0 && n > perSecond+1 {
				t.Errorf("second %d: %d requests", second, n)
			}
		}
		if got := results(facts); len(got) < seconds-2 || slices.ContainsFunc(got, func(r model.PollResult) bool { return r != model.PollBudget }) {
			t.Errorf("results %v", got)
		}
		times := map[model.AppID]int{}
		for _, c := range only[model.ContainersFact](facts) {
			times[c.App]++
		}
		least, most := 1000, 0
		for n := 1; n <= apps; n++ {
			least, most = min(least, times[model.AppID(appID(n))]), max(most, times[model.AppID(appID(n))])
		}
		if least < 2 || most > least+1 {
			t.Errorf("the applications were read between %d and %d times: not in turn", least, most)
		}
		for _, poll := range only[model.PollFact](facts)[1:] {
			if poll.Requests > perSecond+1 || poll.Requests < 4 || poll.Bytes == 0 {
				t.Errorf("%+v", poll)
			}
		}
		if lines := p.logged("WARN"); len(lines) > 0 {
			t.Errorf("logged %q", lines)
		}
	})
}

// TestTinyBudget: where a round alone takes longer than the interval, every
// round still reads one application more.
func TestTinyBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		f.run(4)
		p := start(t, f, rest.NewBudget(2, 0))
		settle(60 * time.Second)
		facts := p.take()
		seen := map[model.AppID]int{}
		for _, c := range only[model.ContainersFact](facts) {
			seen[c.App]++
		}
		rounds := len(results(facts))
		if len(seen) != 4 || rounds < 10 || len(only[model.ContainersFact](facts)) < rounds {
			t.Errorf("%d rounds read %v", rounds, seen)
		}
	})
}

func TestByteBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const perSecond, seconds = 50_000, 60
		f := newFake(t)
		f.run(60)
		p := start(t, f, rest.NewBudget(0, perSecond))
		settle(seconds * time.Second)
		facts := p.take()
		var total, largest model.Bytes
		for _, poll := range only[model.PollFact](facts) {
			total += poll.Bytes
			largest = max(largest, poll.Bytes)
		}
		if total > perSecond*(seconds+1)+largest || total < perSecond*seconds/2 {
			t.Errorf("%d bytes in %d s at %d/s", total, seconds, perSecond)
		}
	})
}

// TestSlowResourceManager: without a budget, a slow one is not asked for more
// than fits the interval, and is left some air.
func TestSlowResourceManager(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		f.latency = 50 * time.Millisecond
		f.run(60)
		p := start(t, f, nil)
		settle(20 * time.Second)
		got := results(p.take())
		if len(got) < 15 || len(got) > 20 || slices.Contains(got, model.PollOK) {
			t.Errorf("%d rounds in 20 s: %v", len(got), got)
		}
	})
}

func TestOldResourceManagerWithoutDeselects(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for name, test := range map[string]struct {
			known []string
			want  string
			times int
		}{
			"2.9":  {[]string{"resourceRequests"}, "&deSelects=resourceRequests", 1},
			"none": {[]string{}, "", 2},
		} {
			f := newFake(t)
			f.known = test.known
			f.run(1)
			p := start(t, f, nil)
			settle(3500 * time.Millisecond)
			if got := results(p.take()); !slices.Equal(got, []model.PollResult{"ok", "ok", "ok", "ok"}) {
				t.Errorf("%s: %v", name, got)
			}
			refused := 0
			for _, path := range f.takeAsked() {
				if strings.HasPrefix(path, "/ws/v1/cluster/apps?states=NEW") && !strings.HasSuffix(path, "RUNNING"+test.want) {
					refused++
				}
			}
			if refused != test.times || len(p.logged("INFO")) != test.times {
				t.Errorf("%s: refused %d times, told %q", name, refused, p.logged("INFO"))
			}
			p.stop()
			<-p.ended
		}
	})
}

func TestEndedApplications(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		f.run(3)
		f.change(func() {
			f.apps[appID(9)] = &fakeApp{state: "FINISHED", started: 1795200000000, finished: 1795200001000} // long ago
		})
		p := start(t, f, nil)
		settle(2500 * time.Millisecond)
		for _, fact := range only[model.AppsFact](p.take()) {
			if n := len(fact.Apps); n != 3 && (n != 0 || !fact.Partial) {
				t.Errorf("%+v", fact)
			}
		}
		f.change(func() {
			f.apps[appID(1)].state, f.apps[appID(1)].finished = "FINISHED", 1795216400000
			f.apps[appID(2)].state = "GONE_FOR_NOW" // between the lists for two rounds
			f.apps[appID(4)] = &fakeApp{state: "FAILED", started: 1795216399000, finished: 1795216399007}
		})
		settle(2 * time.Second)
		f.change(func() { f.apps[appID(2)].state, f.apps[appID(2)].finished = "KILLED", 1795216317900 })
		settle(30 * time.Second)
		finals := map[model.AppID][]model.AppState{}
		for _, fact := range only[model.AppsFact](p.take()) {
			for _, a := range fact.Apps {
				if a.State.Final() {
					finals[a.ID] = append(finals[a.ID], a.State)
				} else if string(a.ID) != appID(3) {
					t.Errorf("%+v", a)
				}
			}
		}
		want := map[model.AppID][]model.AppState{
			model.AppID(appID(1)): {model.AppFinished}, model.AppID(appID(2)): {model.AppKilled}, model.AppID(appID(4)): {model.AppFailed},
		}
		if diff := cmp.Diff(want, finals); diff != "" {
			t.Errorf("final states, each once: %s", diff)
		}
	})
}

func TestApplicationMasterStartedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		f.run(3)
		p := start(t, f, nil)
		settle(1500 * time.Millisecond)
		f.change(func() {
			f.apps[appID(1)].attempt, f.apps[appID(1)].node = 2, "w11:45454"
			f.apps[appID(2)].attempt, f.apps[appID(2)].node = 2, "w32:45454" // on the same node: seen by what is missing
			f.apps[appID(3)].attempt, f.apps[appID(3)].forgets = 2, true
			f.apps[appID(1)].queue = "default"
		})
		f.takeAsked()
		settle(3 * time.Second)
		p.take()
		if asked := strings.Join(f.takeAsked(), " "); strings.Contains(asked, "_0001_000001/") {
			t.Errorf("asked for an old attempt though its ApplicationMaster moved: %s", asked)
		}
		settle(time.Second)
		facts := p.take()
		asked := strings.Join(f.takeAsked(), " ")
		for n := 1; n <= 3; n++ {
			if want := fmt.Sprintf("appattempt_1795215638925_%04d_000002/containers", n); !strings.Contains(asked, want) {
				t.Errorf("asked %s, not %s", asked, want)
			}
		}
		if got := only[model.ContainersFact](facts); len(got) != 3 || strings.Contains(asked, "appattempts ") {
			t.Errorf("%d facts of containers; asked %s", len(got), asked)
		}
		for _, a := range only[model.AppsFact](facts)[0].Apps {
			if a.Queue != "root.default" {
				t.Errorf("queue %s: the name of a leaf alone stands for its path", a.Queue)
			}
		}
	})
}

// TestAccepted: an application that waits for its ApplicationMaster has asks
// and no containers to ask for.
func TestAccepted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		f.run(2)
		f.change(func() {
			f.apps[appID(1)].state, f.apps[appID(1)].containers = "ACCEPTED", 0
			f.apps[appID(2)].state = "SUBMITTED"
		})
		p := start(t, f, nil)
		settle(500 * time.Millisecond)
		facts := p.take()
		want := []model.ContainersFact{{App: model.AppID(appID(1))}}
		if diff := cmp.Diff(want, only[model.ContainersFact](facts)); diff != "" || len(only[model.AsksFact](facts)) != 1 {
			t.Errorf("%s", diff)
		}
		if asked := strings.Join(f.takeAsked(), " "); strings.Contains(asked, "appattempt") || strings.Contains(asked, appID(2)) {
			t.Errorf("asked %s", asked)
		}
	})
}

// TestReceiverThatStops: sending waits, and ends with the context.
func TestReceiverThatStops(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		p, err := rm.New(rm.Config{Client: rest.New(rest.Options{Base: f}), Bases: []string{"http://rm1:8088"}, Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- p.Run(ctx, make(chan model.Observation)) }()
		settle(time.Minute)
		if asked := f.takeAsked(); len(asked) != 1 {
			t.Errorf("asked %q while nobody listened", asked)
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("ended with %v", err)
		}
	})
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	client := rest.New(rest.Options{})
	for name, config := range map[string]rm.Config{
		"no client":   {Bases: []string{"http://rm1:8088"}, Now: time.Now},
		"no clock":    {Client: client, Bases: []string{"http://rm1:8088"}},
		"no base":     {Client: client, Now: time.Now},
		"not a base":  {Client: client, Bases: []string{"rm1:8088"}, Now: time.Now},
		"bare scheme": {Client: client, Bases: []string{"http://"}, Now: time.Now},
	} {
		if _, err := rm.New(config); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestBlacklist: what an application refuses is read again now and then.
func TestBlacklist(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		f.run(1)
		p := start(t, f, nil)
		settle(500 * time.Millisecond)
		f.change(func() { f.apps[appID(1)].refuses = "w11, w12" })
		p.take()
		settle(6 * time.Second)
		facts := only[model.ContainersFact](p.take())
		if first, last := facts[0].Blacklist, facts[len(facts)-1].Blacklist; len(first) != 0 || !slices.Equal(last, []string{"w11", "w12"}) {
			t.Errorf("refused %q, then %q", first, last)
		}
	})
}

// TestQueueNames: a leaf's name alone stands for its path where only one leaf
// has it.
func TestQueueNames(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		f.run(4)
		f.change(func() {
			f.broken["/ws/v1/cluster/scheduler"] = answerWith(http.StatusOK, "application/json", `{"scheduler":{"schedulerInfo":{"type":"capacityScheduler","queueName":"root","queues":{"queue":[
				{"queueName":"a","queues":{"queue":[{"queueName":"x"},{"queueName":"y"}]}},{"queueName":"b","queues":{"queue":[{"queueName":"x"}]}}]}}}}`)
			for n, queue := range map[int]string{1: "x", 2: "y", 3: "root.b.x", 4: "gone"} {
				f.apps[appID(n)].queue = queue
			}
		})
		p := start(t, f, nil)
		settle(500 * time.Millisecond)
		var got []model.QueueID
		for _, a := range only[model.AppsFact](p.take())[0].Apps {
			got = append(got, a.Queue)
		}
		if diff := cmp.Diff([]model.QueueID{"x", "root.a.y", "root.b.x", "gone"}, got); diff != "" {
			t.Error(diff)
		}
	})
}

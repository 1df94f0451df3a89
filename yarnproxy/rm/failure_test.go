package rm_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"heddle/core/model"
)

func TestFailover(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		f.mode["rm2:8088"], f.started["rm2:8088"] = "standby", 1795215700000
		f.run(1)
		p := start(t, f, nil, "http://rm2:8088", "http://rm1:8088")
		settle(2500 * time.Millisecond)
		if got := results(p.take()); !slices.Equal(got, []model.PollResult{"ok", "ok", "ok"}) || p.ActiveBase() != "http://rm1:8088" {
			t.Fatalf("%v from %s", got, p.ActiveBase())
		}
		// The active one dies; the other needs five seconds to notice.
		f.change(func() { f.mode["rm1:8088"] = "down" })
		settle(5 * time.Second)
		during := results(p.take())
		if len(during) == 0 || len(during) > 4 || slices.ContainsFunc(during, func(r model.PollResult) bool { return r != model.PollStandby }) {
			t.Errorf("results without an active one: %v", during)
		}
		if p.ActiveBase() != "http://rm1:8088" {
			t.Errorf("active base %q, want the last one known", p.ActiveBase())
		}
		f.change(func() { f.mode["rm2:8088"] = "active" })
		settle(10 * time.Second) // after 5 s of failures the next attempt is at most 8 s away
		facts := p.take()
		if got := results(facts); len(got) == 0 || got[0] != model.PollOK || p.ActiveBase() != "http://rm2:8088" {
			t.Errorf("%v from %s after the failover", got, p.ActiveBase())
		}
		if c := only[model.ClusterFact](facts)[0]; c.Address != "rm2:8088" || c.Started != 1795215700000 {
			t.Errorf("%+v", c)
		}
		warned, told := p.logged("WARN"), p.logged("INFO")
		if len(warned) != 1 || !strings.Contains(warned[0], "result=standby") || !strings.Contains(warned[0], "getAllServiceState") {
			t.Errorf("warnings %q, want one", warned)
		}
		if len(told) != 2 || !strings.Contains(told[0], "another resource manager is active: address=rm2:8088 before=rm1:8088") || !strings.Contains(told[1], "answers again") {
			t.Errorf("told %q, want the change and the recovery", told)
		}
	})
}

func TestRestart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		f.run(1)
		p := start(t, f, nil)
		settle(1500 * time.Millisecond)
		p.take()
		f.change(func() { f.mode["rm1:8088"] = "down" })
		settle(60 * time.Second)
		attempts := only[model.PollFact](p.take())
		// The next round, then after half to all of 1, 2, 4, 8, 16, 30 and 30 s.
		if len(attempts) < 6 || len(attempts) > 8 {
			t.Errorf("%d attempts in a minute: %+v", len(attempts), attempts)
		}
		for _, a := range attempts {
			if a.Result != model.PollUnreachable || !strings.Contains(a.Error, "connection refused") || a.Requests != 1 {
				t.Errorf("%+v", a)
			}
		}
		f.change(func() {
			f.mode["rm1:8088"] = "active"
			f.started["rm1:8088"] = 1795219999000
			clear(f.apps) // without recovery
		})
		settle(62 * time.Second) // the longest pause, and the rounds that look for what ended
		facts := p.take()
		if c := only[model.ClusterFact](facts)[0]; c.Started != 1795219999000 {
			t.Errorf("%+v", c)
		}
		if apps := only[model.AppsFact](facts)[0]; len(apps.Apps) != 0 {
			t.Errorf("%+v", apps)
		}
		if c := only[model.ClusterFact](facts)[1]; c.Queues == nil {
			t.Errorf("the queues were not read again: %+v", c)
		}
		if got := p.logged("WARN"); len(got) != 1 || !strings.Contains(got[0], "result=unreachable") {
			t.Errorf("warnings %q, want one", got)
		}
		if got := p.logged("INFO"); len(got) != 2 || !strings.Contains(got[0], "was restarted") || !strings.Contains(got[1], "answers again") {
			t.Errorf("told %q", got)
		}
		// What is forgotten is not looked for for ever.
		f.takeAsked()
		settle(20 * time.Second)
		looked := 0
		for _, path := range f.takeAsked() {
			if strings.Contains(path, "finishedTimeBegin") {
				looked++
			}
		}
		if looked != 4 {
			t.Errorf("asked for what ended %d times in 20 s, want every fifth round", looked)
		}
	})
}

func TestBadAnswers(t *testing.T) {
	t.Parallel()
	const nodes, apps = "/ws/v1/cluster/nodes", "/ws/v1/cluster/apps"
	const js = "application/json"
	tests := map[string]struct {
		path   string
		answer http.HandlerFunc
		want   model.PollResult
		facts  string // what the round still sends
	}{
		"half the nodes":  {nodes, answerWith(200, js, `{"nodes":{"node":[{"id":"w1`), model.PollInvalid, "cluster apps asks containers poll"},
		"a login page":    {nodes, answerWith(200, "text/html", "<html>log in</html>"), model.PollInvalid, "cluster apps asks containers poll"},
		"another service": {"/ws/v1/cluster/info", answerWith(200, js, `{"status":"ok"}`), model.PollInvalid, "poll"},
		"nodes denied":    {nodes, answerWith(403, js, `{"RemoteException":{"exception":"AccessControlException","message":"no"}}`), model.PollDenied, "cluster apps asks containers poll"},
		"no such service": {"/ws/v1/cluster/info", answerWith(404, "text/html", "Not Found"), model.PollError, "poll"},
		"apps fail":       {apps, answerWith(500, "text/plain", "java.lang.NullPointerException"), model.PollError, "cluster nodes asks containers poll"},
		"apps damaged":    {apps, answerWith(200, js, `{"apps":{"app":[{"user":"x"}]}}`), model.PollInvalid, "cluster nodes asks containers poll"},
		"fails over midway": {nodes, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Refresh", "5;url=x")
			w.WriteHeader(http.StatusTemporaryRedirect)
			_, _ = w.Write([]byte("Can not find any active RM. Will retry in next 5 seconds.\n"))
		}, model.PollStandby, "cluster poll"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t)
				f.run(1)
				p := start(t, f, nil)
				settle(1500 * time.Millisecond)
				p.take()
				f.change(func() { f.broken[test.path] = test.answer })
				settle(700 * time.Millisecond)
				var kinds []string
				facts := p.take()
				for _, o := range facts {
					kinds = append(kinds, o.Fact.Kind())
				}
				poll := only[model.PollFact](facts)[0]
				if poll.Result != test.want || poll.Error == "" || strings.Join(kinds, " ") != test.facts {
					t.Errorf("%v, %+v; want %s and %s", kinds, poll, test.facts, test.want)
				}
				settle(20 * time.Second)
				if got := p.logged("WARN"); len(got) != 1 || !strings.Contains(got[0], "result="+string(test.want)) {
					t.Errorf("warnings %q, want one", got)
				}
				f.change(func() { clear(f.broken) })
				settle(31 * time.Second)
				facts = p.take()
				if got := results(facts); got[len(got)-1] != model.PollOK || len(p.logged("INFO")) != 1 {
					t.Errorf("%v, told %q", got, p.logged("INFO"))
				}
			})
		})
	}
}

// TestOneBadApplication: it is said once and keeps nothing else from being read.
func TestOneBadApplication(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		f.run(3)
		f.broken["/ws/v1/cluster/apps/"+appID(2)] = answerWith(500, "text/plain", "java.lang.NullPointerException")
		f.broken["/ws/v1/cluster/apps/"+appID(3)] = answerWith(404, "application/json", string(recorded(t, "app-unknown-404")))
		p := start(t, f, nil)
		settle(4500 * time.Millisecond)
		facts := p.take()
		if got := results(facts); len(got) != 5 || slices.ContainsFunc(got, func(r model.PollResult) bool { return r != model.PollOK }) {
			t.Errorf("%v", got)
		}
		if got := only[model.ContainersFact](facts); len(got) != 5 {
			t.Errorf("%d facts of containers, want those of the good one", len(got))
		}
		if got := p.logged("WARN"); len(got) != 1 || !strings.Contains(got[0], appID(2)) {
			t.Errorf("warnings %q, want one", got)
		}
	})
}

func TestOptionalParts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		f.broken["/jmx"] = answerWith(403, "text/html", "Unauthorized")
		f.broken["/ws/v1/cluster/scheduler"] = answerWith(200, "application/json", `{"scheduler":{}}`)
		p := start(t, f, nil)
		settle(70 * time.Second)
		if got := results(p.take()); len(got) != 71 || slices.ContainsFunc(got, func(r model.PollResult) bool { return r != model.PollOK }) {
			t.Errorf("%d rounds: %v", len(got), got)
		}
		if got := p.logged("WARN"); len(got) != 2 || !strings.Contains(got[0], "what=queues") || !strings.Contains(got[1], `what="locality counters"`) {
			t.Errorf("warnings %q, want one each", got)
		}
		f.change(func() { clear(f.broken) })
		settle(40 * time.Second)
		if got := p.logged("INFO"); len(got) != 2 {
			t.Errorf("told %q, want that both came back", got)
		}
	})
}

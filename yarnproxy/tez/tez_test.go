package tez

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"heddle/core/model"
	"heddle/yarnproxy/rest"
)

// timeline is a timeline server: answers by path and primary filter.
type timeline struct {
	answers map[string]string
	asked   map[string]int
	down    bool   // refuses connections
	page    string // content type of every answer, "" for JSON
}

func (s *timeline) RoundTrip(r *http.Request) (*http.Response, error) {
	if s.down {
		return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	}
	key := strings.TrimPrefix(r.URL.Path, root)
	if filter := r.URL.Query().Get("primaryFilter"); filter != "" {
		_, value, _ := strings.Cut(filter, ":")
		key += " " + value
	}
	s.asked[key]++
	rec := httptest.NewRecorder()
	rec.Header().Set("Content-Type", "application/json;charset=utf-8")
	if s.page != "" {
		rec.Header().Set("Content-Type", s.page)
	}
	body, ok := s.answers[key]
	switch {
	case ok:
		fmt.Fprint(rec, body)
	case strings.Contains(key, " "), key == "":
		fmt.Fprint(rec, `{"entities":[]}`)
	default:
		rec.WriteHeader(http.StatusNotFound)
		fmt.Fprint(rec, `{"exception":"NotFoundException"}`)
	}
	return rec.Result(), nil
}

// tell makes the server know a DAG and its vertices.
func (s *timeline) tell(app model.AppID, dags, plan, vertices string) {
	s.answers["/TEZ_DAG_ID "+string(app)] = dags
	dag := strings.Replace(string(app), "application_", "dag_", 1) + "_1"
	s.answers["/TEZ_DAG_EXTRA_INFO/"+dag] = plan
	s.answers["/TEZ_VERTEX_ID "+dag] = vertices
}

// bench is a poller and what it sent.
type bench struct {
	*Poller
	tb     testing.TB
	site   *timeline
	apps   []model.App
	log    *bytes.Buffer
	graphs []model.GraphFact // of the last round
	poll   model.PollFact
	full   []string
}

// newBench is a poller of the recorded application. Its clock is the bubble's.
func newBench(tb testing.TB, change func(*Config)) *bench {
	tb.Helper()
	b := &bench{tb: tb, log: &bytes.Buffer{}, site: &timeline{answers: map[string]string{}, asked: map[string]int{}}}
	b.run(recordedApp)
	b.site.tell(recordedApp, string(recorded(tb, "dags-running")), string(recorded(tb, "plan")), string(recorded(tb, "vertices-running")))
	cfg := Config{
		Client: rest.New(rest.Options{Base: b.site}), Base: "http://ats:8188/", Live: func() []model.App { return b.apps }, Now: time.Now,
		Full: func(limit string) { b.full = append(b.full, limit) }, Logger: hclog.New(&hclog.LoggerOptions{Output: b.log, Level: hclog.Info}),
	}
	if change != nil {
		change(&cfg)
	}
	p, err := New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	b.Poller = p
	return b
}

func (b *bench) run(ids ...model.AppID) {
	for _, id := range ids {
		b.apps = append(b.apps, model.App{ID: id, Type: "TEZ", State: model.AppRunning})
	}
}

// next runs a round and lets the interval pass.
func (b *bench) next() {
	b.tb.Helper()
	out := make(chan model.Observation, 16)
	b.runner.Once(b.tb.Context(), out)
	close(out)
	b.graphs = nil
	for o := range out {
		if o.Source != model.SourceTez || o.At == 0 {
			b.tb.Errorf("observation of %s at %d", o.Source, o.At)
		}
		switch fact := o.Fact.(type) {
		case model.GraphFact:
			b.graphs = append(b.graphs, fact)
		case model.PollFact:
			b.poll = fact
		}
	}
	time.Sleep(b.cfg.Interval)
}

func (b *bench) want(graphs int, result model.PollResult, text string) {
	b.tb.Helper()
	if len(b.graphs) != graphs || b.poll.Result != result || !strings.Contains(b.poll.Error, text) || (text == "") != (b.poll.Error == "") {
		b.tb.Errorf("%d graphs, poll %+v; want %d, %s, %q", len(b.graphs), b.poll, graphs, result, text)
	}
}

// TestLife follows the recorded application: it is unknown, submitted, runs and
// ends. Only what changed is sent, the plan is read once.
func TestLife(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		dag := "/TEZ_DAG_EXTRA_INFO/" + recordedDAG
		plan := b.site.answers[dag]
		clear(b.site.answers)
		b.next()
		b.want(0, model.PollOK, "")
		b.site.tell(recordedApp, string(recorded(t, "dags-submitted")), plan, `{"entities":[]}`)
		delete(b.site.answers, dag)
		b.next()
		b.want(0, model.PollOK, "") // the plan is on its way
		b.site.answers[dag] = plan
		for _, step := range []struct{ vertices, golden string }{
			{"dags-none", "dags-none"}, {"vertices-running", "vertices-running"}, {"vertices-ended", "vertices-ended"},
		} {
			b.site.answers["/TEZ_VERTEX_ID "+recordedDAG] = string(recorded(t, step.vertices))
			b.next()
			b.want(1, model.PollOK, "")
			if diff := cmp.Diff(graphOf(t, step.golden), b.graphs[0]); diff != "" {
				t.Errorf("%s (-want +got):\n%s", step.golden, diff)
			}
			b.next()
			b.want(0, model.PollOK, "")
		}
		if n := b.site.asked[dag]; n != 2 { // when it was on its way, and when it was there
			t.Errorf("the plan was asked for %d times, want 2", n)
		}
		b.site.answers["/TEZ_DAG_ID "+string(recordedApp)] = string(recorded(t, "dags-ended"))
		b.next()
		b.want(1, model.PollOK, "")
		if len(b.graphs[0].Stages) != 0 {
			t.Errorf("after the end of its DAG the application has the graph %+v", b.graphs[0])
		}
		b.apps = nil
		before := b.site.asked["/TEZ_DAG_ID "+string(recordedApp)]
		b.next()
		b.want(0, model.PollOK, "")
		if b.site.asked["/TEZ_DAG_ID "+string(recordedApp)] != before || len(b.Poller.apps) != 0 || b.site.asked[""] != 1 {
			t.Errorf("an application that ended is still asked for, or no sign of life was: %v", b.site.asked)
		}
	})
}

// TestTwoDAGs: the graph is that of the newest DAG, with a plan of its own.
func TestTwoDAGs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		b.next()
		b.want(1, model.PollOK, "")
		one, two := recordedDAG, strings.TrimSuffix(recordedDAG, "1")+"2"
		b.site.answers["/TEZ_DAG_ID "+string(recordedApp)] = `{"entities":[{"entity":"` + one + `","otherinfo":{"status":"RUNNING"}},{"entity":"` + two + `","otherinfo":{}}]}`
		b.next()
		b.want(1, model.PollOK, "") // of the old DAG nothing is to be said any more, of the new one nothing is known yet
		if len(b.graphs[0].Stages) != 0 {
			t.Errorf("graph %+v", b.graphs[0])
		}
		b.site.answers["/TEZ_DAG_EXTRA_INFO/"+two] = `{"entity":"` + two + `","otherinfo":{"dagPlan":{"vertices":[{"vertexName":"only"}]}}}`
		b.next()
		b.want(1, model.PollOK, "")
		want := []model.GraphStage{{Name: "only", Tasks: 1, Output: model.Unknown}}
		if diff := cmp.Diff(want, b.graphs[0].Stages); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestOldTez: up to 0.8 the plan is with the DAG.
func TestOldTez(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		b.site.tell(recordedApp, strings.Replace(`{"entities":[`+string(recorded(t, "plan"))+`]}`, "EXTRA_INFO", "ID", 1), "", `{"entities":[]}`)
		b.next()
		b.want(1, model.PollOK, "")
		if n := b.site.asked["/TEZ_DAG_EXTRA_INFO/"+recordedDAG]; n != 0 || len(b.graphs[0].Edges) != 2 {
			t.Errorf("asked %d times for the plan, graph %+v", n, b.graphs[0])
		}
	})
}

// TestServerDown: the source fails, says so once, is left alone for a while, and
// works again.
func TestServerDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		b.run("application_1_0002")
		b.site.down = true
		for range 4 {
			b.next()
			b.want(0, model.PollUnreachable, "connection refused")
		}
		b.site.down = false
		time.Sleep(time.Minute)
		b.next()
		b.want(1, model.PollOK, "")
		if log := b.log.String(); strings.Count(log, "cannot be read") != 1 || strings.Count(log, "answers again") != 1 {
			t.Errorf("log:\n%s", log)
		}
	})
}

// TestMalformedAnswers: one application's bad answer leaves the others theirs;
// where there is no other, the source fails.
func TestMalformedAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(*bench)
		want  string
	}{
		"half": {func(b *bench) { b.site.answers["/TEZ_DAG_ID application_1_0002"] = `{"entities":[{"ent` }, "unexpected end"},
		"other": {func(b *bench) {
			b.site.answers["/TEZ_DAG_ID application_1_0002"] = string(recorded(b.tb, "dags-running"))
		}, "is no DAG of it"},
		"huge": {func(b *bench) {
			b.site.answers["/TEZ_DAG_ID application_1_0002"] = strings.Repeat(" ", 1<<16)
		}, "answer larger than"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, nil)
				b.cfg.Client = rest.New(rest.Options{Base: b.site, MaxBytes: 1 << 15})
				b.run("application_1_0002")
				c.spoil(b)
				b.next()
				b.want(1, model.PollOK, c.want)
				b.apps = b.apps[1:]
				b.next()
				b.want(0, model.PollInvalid, c.want)
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		b.site.page = "text/html"
		b.next()
		b.want(0, model.PollInvalid, "content type")
	})
}

// TestLimits: applications and vertices beyond the limits are turned away and
// counted; a budget that is spent leaves the rest for the next round.
func TestLimits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(c *Config) { c.MaxApps, c.MaxVertices = 1, 2 })
		b.run("application_1_0002")
		b.next()
		b.want(0, model.PollOK, "")
		if diff := cmp.Diff([]string{FullApps, FullVertices}, b.full); diff != "" {
			t.Errorf("limits met (-want +got):\n%s", diff)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		b.apps[0], b.apps = model.App{ID: recordedApp, Type: "MAPREDUCE", State: model.AppRunning}, b.apps[:1]
		for i := range 20 {
			b.run(model.AppID(fmt.Sprintf("application_1_%04d", i)))
		}
		b.cfg.Client = rest.New(rest.Options{Base: b.site, Budget: rest.NewBudget(1, 0)})
		for range 5 {
			b.next()
			b.want(0, model.PollBudget, "")
		}
		for i := range 20 {
			if n := b.site.asked["/TEZ_DAG_ID "+string(b.apps[i+1].ID)]; n < 1 || n > 3 {
				t.Errorf("%s was asked for %d times", b.apps[i+1].ID, n)
			}
		}
	})
}

// TestRun: polls come an interval apart until the context ends.
func TestRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		ctx, cancel := context.WithTimeout(t.Context(), 22*time.Second)
		defer cancel()
		out := make(chan model.Observation, 100)
		if err := b.Run(ctx, out); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if n := b.site.asked["/TEZ_DAG_ID "+string(recordedApp)]; n != 5 {
			t.Errorf("asked %d times in 22 s, want 5", n)
		}
	})
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	if _, err := New(Config{}); err == nil {
		t.Error("a poller without a client")
	}
	if _, err := New(Config{Client: rest.New(rest.Options{}), Now: time.Now, Live: func() []model.App { return nil }}); err == nil || !strings.Contains(err.Error(), "timeline server") {
		t.Errorf("a poller without a server: %v", err)
	}
}

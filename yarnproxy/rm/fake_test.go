package rm_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"heddle/core/model"
	"heddle/yarnproxy/rest"
	"heddle/yarnproxy/rm"
)

// fakeRM is a set of ResourceManagers that answer in memory, so that they work
// on a fake clock, with the recorded answers of a real one.
type fakeRM struct {
	tb      testing.TB
	mu      sync.Mutex
	mode    map[string]string // by host:port: "active", "standby", "redirect", "down"
	started map[string]int64  // by host:port
	apps    map[string]*fakeApp
	broken  map[string]http.HandlerFunc // by path or its beginning: what to answer instead
	known   []string                    // names deSelects takes; nil takes all
	latency time.Duration
	asked   []string    // path and query of each request to an active one
	times   []time.Time // of every request
}

type fakeApp struct {
	state      string
	started    int64
	finished   int64
	containers int
	attempt    int
	node       string
	refuses    string // blacklistedNodes
	forgets    bool   // its old attempts are unknown
	queue      string
}

func newFake(tb testing.TB) *fakeRM {
	tb.Helper()
	return &fakeRM{
		tb: tb, mode: map[string]string{"rm1:8088": "active"}, started: map[string]int64{"rm1:8088": 1795215638925},
		apps: map[string]*fakeApp{}, broken: map[string]http.HandlerFunc{},
	}
}

// change runs f while no request is answered.
func (f *fakeRM) change(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

func appID(n int) string { return fmt.Sprintf("application_1795215638925_%04d", n) }

// run adds applications 1 to n, running with containers.
func (f *fakeRM) run(last int) {
	f.change(func() {
		for n := 1; n <= last; n++ {
			f.apps[appID(n)] = &fakeApp{state: "RUNNING", started: 1795216317838 + int64(n), containers: 8, attempt: 1, node: "w32:45454", queue: "root.default"}
		}
	})
}

// takeAsked returns the requests since the last call.
func (f *fakeRM) takeAsked() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	asked := f.asked
	f.asked = nil
	return asked
}

// RoundTrip implements http.RoundTripper.
func (f *fakeRM) RoundTrip(r *http.Request) (*http.Response, error) {
	if f.latency > 0 {
		select {
		case <-time.After(f.latency):
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.times = append(f.times, time.Now())
	w := httptest.NewRecorder()
	switch f.mode[r.URL.Host] {
	case "active":
		f.asked = append(f.asked, r.URL.RequestURI())
		f.active(w, r)
	case "standby", "redirect":
		f.standby(w, r)
	default:
		return nil, errors.New("connect: connection refused")
	}
	resp := w.Result()
	resp.Request = r
	return resp, nil
}

func (f *fakeRM) standby(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/ws/v1/cluster/info":
		f.info(w, r, "STANDBY")
	case f.mode[r.URL.Host] == "redirect":
		w.Header().Set("Location", "http://stranger:8088"+r.URL.RequestURI())
		w.WriteHeader(http.StatusTemporaryRedirect)
		_, _ = w.Write([]byte("This is standby RM. The redirect url is: " + r.URL.RequestURI() + "\n"))
	default:
		w.Header().Set("Refresh", "5;url=http://"+r.URL.Host+r.URL.RequestURI())
		w.WriteHeader(http.StatusTemporaryRedirect)
		_, _ = w.Write([]byte("Can not find any active RM. Will retry in next 5 seconds.\nHA Zookeeper Connection State: CONNECTED\n"))
	}
}

func (f *fakeRM) info(w http.ResponseWriter, r *http.Request, state string) {
	text := strings.ReplaceAll(string(recorded(f.tb, "info")), "1795215638925", strconv.FormatInt(f.started[r.URL.Host], 10))
	writeJSON(w, strings.Replace(text, `"haState":"ACTIVE"`, `"haState":"`+state+`"`, 1))
}

func (f *fakeRM) active(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	for _, prefix := range []string{path, path[:strings.LastIndexByte(path, '/')+1]} {
		if handler := f.broken[prefix]; handler != nil {
			handler(w, r)
			return
		}
	}
	switch path {
	case "/ws/v1/cluster/info":
		f.info(w, r, "ACTIVE")
	case "/ws/v1/cluster/nodes":
		writeJSON(w, string(recorded(f.tb, "nodes")))
	case "/ws/v1/cluster/scheduler":
		writeJSON(w, string(recorded(f.tb, "scheduler-capacity")))
	case "/jmx":
		writeJSON(w, strings.Replace(string(recorded(f.tb, "jmx-QueueMetrics-root-default")), `"root.default"`, `"root"`, 1))
	case "/ws/v1/cluster/apps":
		f.list(w, r)
	default:
		f.app(w, strings.Split(strings.TrimPrefix(path, "/ws/v1/cluster/apps/"), "/"))
	}
}

// object returns an application as a list shows it.
func (a *fakeApp) object(id string) map[string]any {
	containers := a.containers
	if a.state == "FINISHED" {
		containers = -1
	}
	return map[string]any{
		"id": id, "state": a.state, "queue": a.queue, "user": "root", "name": "TeraSort", "applicationType": "MAPREDUCE",
		"startedTime": a.started, "finishedTime": a.finished, "runningContainers": containers, "allocatedMB": containers * 512, "masterNodeId": a.node,
	}
}

func (f *fakeRM) list(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	for name := range strings.SplitSeq(q.Get("deSelects"), ",") {
		if f.known != nil && name != "" && !slices.Contains(f.known, name) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = fmt.Fprintf(w, `{"RemoteException":{"exception":"BadRequestException","message":"java.lang.Exception: Invalid deSelects string %s specified.","javaClassName":"org.apache.hadoop.yarn.webapp.BadRequestException"}}`, name)
			return
		}
	}
	states := strings.Split(q.Get("states"), ",")
	since, _ := strconv.ParseInt(q.Get("finishedTimeBegin"), 10, 64)
	list := []any{}
	for id, a := range f.apps {
		if slices.Contains(states, a.state) && a.finished >= since {
			list = append(list, a.object(id))
		}
	}
	if len(list) == 0 {
		writeJSON(w, `{"apps":{}}`)
		return
	}
	body, err := json.Marshal(map[string]any{"apps": map[string]any{"app": list}})
	if err != nil {
		f.tb.Error(err)
	}
	writeJSON(w, string(body))
}

// app answers what is under one application.
func (f *fakeRM) app(w http.ResponseWriter, path []string) {
	a := f.apps[path[0]]
	old := a != nil && len(path) > 2 && path[2] != fmt.Sprintf("appattempt_%s_%06d", strings.TrimPrefix(path[0], "application_"), a.attempt)
	if old && !a.forgets {
		writeJSON(w, `{}`) // the scheduler knows the current attempt alone
		return
	}
	if a == nil || old {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write(recorded(f.tb, "app-unknown-404"))
		return
	}
	name := map[int]string{1: "app-RUNNING", 2: "app-RUNNING-appattempts", 4: "app-RUNNING-containers"}[len(path)]
	body := strings.ReplaceAll(string(recorded(f.tb, name)), "1795215638925_0021", strings.TrimPrefix(path[0], "application_"))
	if name == "app-RUNNING-appattempts" {
		body = strings.Replace(body, `"id":1,`, fmt.Sprintf(`"id":%d,`, a.attempt), 1)
		body = strings.Replace(body, `"blacklistedNodes":""`, fmt.Sprintf(`"blacklistedNodes":%q`, a.refuses), 1)
	}
	writeJSON(w, body)
}

func writeJSON(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "application/json;charset=utf-8")
	_, _ = w.Write([]byte(body))
}

func answerWith(status int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

// running is a poller under test with what it sent and logged.
type running struct {
	*rm.Poller
	mu     sync.Mutex
	facts  []model.Observation
	log    *lockedBuffer
	stop   context.CancelFunc
	ended  chan error
	config rm.Config
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

// start runs a poller against the fake until stop or the end of the test. It
// is called within a synctest bubble.
func start(t *testing.T, f *fakeRM, budget *rest.Budget, bases ...string) *running {
	t.Helper()
	if bases == nil {
		bases = []string{"http://rm1:8088"}
	}
	p := &running{log: &lockedBuffer{}, ended: make(chan error, 1)}
	p.config = rm.Config{
		Client: rest.New(rest.Options{Base: f, Budget: budget, Allowed: rest.AllowBases(bases), Timeout: 5 * time.Second}),
		Bases:  bases, Now: time.Now,
		Logger: hclog.New(&hclog.LoggerOptions{Name: "heddle", Output: p.log, Level: hclog.Debug, DisableTime: true}),
	}
	poller, err := rm.New(p.config)
	if err != nil {
		t.Fatal(err)
	}
	p.Poller = poller
	ctx, cancel := context.WithCancel(t.Context())
	p.stop = cancel
	out := make(chan model.Observation, 4)
	go func() {
		p.ended <- poller.Run(ctx, out)
		close(out)
	}()
	go func() {
		for o := range out {
			p.mu.Lock()
			p.facts = append(p.facts, o)
			p.mu.Unlock()
		}
	}()
	t.Cleanup(cancel)
	return p
}

// take returns what was sent since the last call.
func (p *running) take() []model.Observation {
	p.mu.Lock()
	defer p.mu.Unlock()
	facts := p.facts
	p.facts = nil
	return facts
}

// logged returns the log's lines of a level since the start.
func (p *running) logged(level string) []string {
	p.log.mu.Lock()
	defer p.log.mu.Unlock()
	var lines []string
	for line := range strings.Lines(p.log.b.String()) {
		if strings.HasPrefix(line, "["+level) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// only returns the facts of one type.
func only[F model.Fact](observations []model.Observation) []F {
	var out []F
	for _, o := range observations {
		if f, ok := o.Fact.(F); ok {
			out = append(out, f)
		}
	}
	return out
}

// results returns the results of the finished rounds.
func results(observations []model.Observation) []model.PollResult {
	var out []model.PollResult
	for _, f := range only[model.PollFact](observations) {
		out = append(out, f.Result)
	}
	return out
}

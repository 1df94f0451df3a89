package mapreduce

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"heddle/core/model"
	"heddle/yarnproxy/poll"
	"heddle/yarnproxy/rest"
)

// fakeAttempt is an attempt of a fakeTask; a count below 0 is not reported.
type fakeAttempt struct {
	state, host, rack       string
	input, output, shuffled int64
}

type fakeTask struct {
	state    string
	progress float64
	attempts []fakeAttempt
	won      int // index of the attempt that succeeded, where state is SUCCEEDED
}

// fakeJob is a job as the ApplicationMaster or the JobHistory server tells it.
type fakeJob struct {
	app      model.AppID
	listed   model.AppState // by the ResourceManager; "" is not at all
	uberized bool
	tasks    map[taskKey]*fakeTask
	master   string // "" answers; "ended" and "none" redirect, "404" and "page" do that, "half" cuts the tasks list
	history  bool   // the JobHistory server has it
}

// fakeSite is a ResourceManager's proxy and a JobHistory server in one handler.
type fakeSite struct {
	mu      sync.Mutex
	jobs    []*fakeJob
	down    bool // answers 500
	asked   map[string]int
	inOrder []string
}

func (f *fakeSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.asked == nil {
		f.asked = map[string]int{}
	}
	f.asked[r.URL.Path]++
	f.inOrder = append(f.inOrder, r.URL.Path)
	w.Header().Set("Content-Type", "application/json;charset=utf-8")
	if f.down {
		http.Error(w, "down", http.StatusInternalServerError)
		return
	}
	if r.URL.Path == "/ws/v1/history/info" {
		fmt.Fprint(w, `{"historyInfo":{"startedOn":1}}`)
		return
	}
	for _, j := range f.jobs {
		id, _ := JobID(j.app)
		if rest, ok := strings.CutPrefix(r.URL.Path, "/proxy/"+string(j.app)+"/ws/v1/mapreduce/jobs/"+id); ok {
			j.viaProxy(w, r, id, rest)
			return
		}
		if rest, ok := strings.CutPrefix(r.URL.Path, "/ws/v1/history/mapreduce/jobs/"+id); ok && j.history {
			j.answer(w, r, id, rest)
			return
		}
	}
	w.WriteHeader(http.StatusNotFound)
	fmt.Fprint(w, `{"RemoteException":{"exception":"NotFoundException","message":"job is not found"}}`)
}

// viaProxy answers for the ApplicationMaster, or for the proxy without it.
func (j *fakeJob) viaProxy(w http.ResponseWriter, r *http.Request, id, path string) {
	switch j.master {
	case "ended":
		http.Redirect(w, r, "http://jhs:19888/jobhistory/job/"+id+"/ws/v1/mapreduce/jobs", http.StatusFound)
	case "none":
		http.Redirect(w, r, "http://rm:8088/cluster/app/"+string(j.app), http.StatusFound)
	case "404":
		http.NotFound(w, r)
	case "page":
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<html>Warning</html>")
	case "half":
		if path == "/tasks" {
			fmt.Fprint(w, `{"tasks":{"task":[{"startTime":17952163`)
			return
		}
		j.answer(w, r, id, path)
	default:
		j.answer(w, r, id, path)
	}
}

func (j *fakeJob) answer(w http.ResponseWriter, r *http.Request, id, path string) {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	var body any
	switch {
	case path == "":
		body = map[string]any{"job": j.object(id)}
	case path == "/tasks":
		body = map[string]any{"tasks": map[string]any{"task": j.list(id)}}
	case path == "/conf":
		body = map[string]any{"conf": map[string]any{"property": []any{map[string]any{"name": "mapred.input.dir", "value": "/in"}}}}
	case path == "/counters":
		body = map[string]any{"jobCounters": map[string]any{"id": id}}
	case len(parts) >= 3:
		key, err := parseTaskID(parts[1], id)
		t := j.tasks[key]
		if err != nil || t == nil {
			http.NotFound(w, r)
			return
		}
		body = t.answer(parts[1], parts[3:])
	}
	_ = json.NewEncoder(w).Encode(body)
}

func (j *fakeJob) object(id string) map[string]any {
	object := map[string]any{"id": id, "uberized": j.uberized}
	names := map[string][2]string{
		"NEW": {"mapsPending", "reducesPending"}, "SCHEDULED": {"mapsPending", "reducesPending"},
		"RUNNING": {"mapsRunning", "reducesRunning"}, "SUCCEEDED": {"mapsCompleted", "reducesCompleted"},
	}
	counts := map[string]int{}
	for key, t := range j.tasks {
		i := 0
		if key.stage == model.StageReduce {
			i = 1
		}
		counts[[]string{"mapsTotal", "reducesTotal"}[i]]++
		counts[names[t.state][i]]++
	}
	for name, n := range counts {
		object[name] = n
	}
	return object
}

func (j *fakeJob) list(id string) []any {
	list := []any{}
	for key, t := range j.tasks {
		won := ""
		if t.state == "SUCCEEDED" {
			won = fakeAttemptID(key.taskID(id), t.won)
		}
		list = append(list, map[string]any{"id": key.taskID(id), "state": t.state, "progress": t.progress, "successfulAttempt": won, "startTime": 1795216320537}) // of tasks that wait, too
	}
	return list
}

func fakeAttemptID(task string, n int) string {
	return fmt.Sprintf("attempt_%s_%d", strings.TrimPrefix(task, "task_"), n)
}

// answer gives the attempts of a task, or the counters of one.
func (t *fakeTask) answer(id string, rest []string) any {
	attempts := []any{}
	for i, a := range t.attempts {
		attemptID := fakeAttemptID(id, i)
		if len(rest) > 0 && rest[0] == attemptID {
			return map[string]any{"jobTaskAttemptCounters": a.counters(attemptID)}
		}
		m := map[string]any{"id": attemptID, "state": a.state, "progress": t.progress}
		if a.host != "" {
			m["nodeHttpAddress"], m["rack"] = a.host+":8042", a.rack
		}
		attempts = append(attempts, m)
	}
	return map[string]any{"taskAttempts": map[string]any{"taskAttempt": attempts}}
}

func (a *fakeAttempt) counters(id string) any {
	counter := func(name string, v int64) any { return map[string]any{"name": name, "value": v} }
	groups := []any{}
	add := func(group string, name string, v int64) {
		if v >= 0 {
			groups = append(groups, map[string]any{"counterGroupName": group, "counter": []any{counter(name, v)}})
		}
	}
	add(groupTask, "CPU_MILLISECONDS", 1)
	add(groupFile, counterHDFSRead, a.input)
	add(groupTask, counterMapOutput, a.output)
	add(groupTask, counterShuffle, a.shuffled)
	return map[string]any{"id": id, "taskAttemptCounterGroup": groups}
}

// requests returns how often paths with this end were asked for.
func (f *fakeSite) requests(end string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for path, asked := range f.asked {
		if strings.HasSuffix(path, end) {
			n += asked
		}
	}
	return n
}

func (f *fakeSite) live() []model.App {
	f.mu.Lock()
	defer f.mu.Unlock()
	apps := []model.App{{ID: "application_9_0001", Type: "SPARK", State: model.AppRunning}}
	for _, j := range f.jobs {
		if j.listed != "" {
			apps = append(apps, model.App{ID: j.app, Type: "MAPREDUCE", State: j.listed})
		}
	}
	return apps
}

// inProcess is a transport to a handler without a network.
type inProcess struct{ http.Handler }

func (h inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, r)
	return rec.Result(), nil
}

// stage is a poller between a fakeSite and a picture of what it sent.
type stage struct {
	tb    testing.TB
	site  *fakeSite
	cfg   Config
	now   time.Time
	log   *bytes.Buffer
	full  []string
	base  string
	p     *Poller
	run   *running
	hist  *history
	next  [2]time.Time // when each of the two polls again
	jobs  map[model.AppID]model.JobFact
	tasks map[model.AppID]map[taskKey]model.Task
	facts []model.Observation
	polls map[model.Source][]model.PollFact
}

func newStage(tb testing.TB, site *fakeSite, change func(*Config)) *stage {
	tb.Helper()
	s := &stage{
		tb: tb, site: site, now: time.UnixMilli(1795218000000), log: &bytes.Buffer{}, base: "http://rm1:8088/",
		jobs: map[model.AppID]model.JobFact{}, tasks: map[model.AppID]map[taskKey]model.Task{}, polls: map[model.Source][]model.PollFact{},
	}
	s.cfg = Config{
		Proxy:   rest.New(rest.Options{Base: inProcess{site}}),
		History: rest.New(rest.Options{Base: inProcess{site}}), HistoryBase: "http://jhs:19888/",
		ProxyBase: func() string { return s.base }, Live: site.live,
		Now:    func() time.Time { return s.now },
		Full:   func(limit string) { s.full = append(s.full, limit) },
		Logger: hclog.New(&hclog.LoggerOptions{Output: s.log, Level: hclog.Info}),
	}
	if change != nil {
		change(&s.cfg)
	}
	p, err := New(s.cfg)
	if err != nil {
		tb.Fatal(err)
	}
	s.p, s.run, s.hist = p, newRunning(p), newHistory(p)
	return s
}

// round polls with each loop that is due, then lets the interval pass.
func (s *stage) round() {
	s.tb.Helper()
	out := make(chan model.Observation)
	go func() {
		defer close(out)
		for i, runner := range []*poll.Runner{s.run.runner, s.hist.runner} {
			if !s.now.Before(s.next[i]) {
				s.next[i] = s.now.Add(runner.Once(context.Background(), out))
			}
		}
	}()
	for o := range out {
		s.take(o)
	}
	s.now = s.now.Add(s.p.cfg.Interval)
}

func (s *stage) take(o model.Observation) {
	s.facts = append(s.facts, o)
	switch fact := o.Fact.(type) {
	case model.JobFact:
		s.jobs[fact.App] = fact
	case model.TasksFact:
		if s.tasks[fact.App] == nil {
			s.tasks[fact.App] = map[taskKey]model.Task{}
		}
		for _, t := range fact.Tasks {
			s.tasks[fact.App][taskKey{t.Stage, t.Index}] = t
		}
	case model.PollFact:
		s.polls[o.Source] = append(s.polls[o.Source], fact)
	}
}

// poll returns the last poll of a source.
func (s *stage) poll(source model.Source) model.PollFact {
	s.tb.Helper()
	all := s.polls[source]
	if len(all) == 0 {
		s.tb.Fatalf("no poll of %s", source)
	}
	return all[len(all)-1]
}

// warnings counts the lines of the log with this text.
func (s *stage) warnings(text string) int { return strings.Count(s.log.String(), text) }

func (s *stage) sent(source model.Source, kind string) int {
	n := 0
	for _, o := range s.facts {
		if o.Source == source && o.Fact.Kind() == kind {
			n++
		}
	}
	return n
}

func app(n int) model.AppID { return model.AppID(fmt.Sprintf("application_1795215638925_%04d", n)) }

func mapKey(i int) taskKey { return taskKey{model.StageMap, i} }

// doneMap is a map that succeeded at once, in rack i modulo 3.
func doneMap(i int) *fakeTask {
	return &fakeTask{state: "SUCCEEDED", progress: 100, attempts: []fakeAttempt{{
		state: "SUCCEEDED", host: fmt.Sprintf("w%d%d", i%3+1, i%2+1), rack: fmt.Sprintf("/rack%d", i%3+1),
		input: int64(1000 + i), output: int64(500 + i), shuffled: -1,
	}}}
}

func jobOf(n, maps int) *fakeJob {
	j := &fakeJob{app: app(n), listed: model.AppRunning, tasks: map[taskKey]*fakeTask{}}
	for i := range maps {
		j.tasks[mapKey(i)] = doneMap(i)
	}
	return j
}

func indexesOf(paths []string, match func(string) bool) []int {
	var at []int
	for i, p := range paths {
		if match(p) {
			at = append(at, i)
		}
	}
	slices.Sort(at)
	return at
}

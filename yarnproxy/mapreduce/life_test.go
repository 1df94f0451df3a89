package mapreduce

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"heddle/core/model"
	"heddle/yarnproxy/rest"
)

// recordedAnswer is one line of a recorded sequence.
type recordedAnswer struct {
	TMS    int64           `json:"t_ms"`
	Path   string          `json:"path"`
	Status int             `json:"status"`
	Body   json.RawMessage `json:"body"`
}

func sequence(tb testing.TB, name string) []recordedAnswer {
	tb.Helper()
	var all []recordedAnswer
	lines := bufio.NewScanner(bytes.NewReader(recorded(tb, name)))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var a recordedAnswer
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			tb.Fatal(err)
		}
		all = append(all, a)
	}
	return all
}

// player answers as the recorded services did at time at.
type player struct {
	mu      sync.Mutex
	at      int64
	ends    int64 // the proxy redirects from here on
	appears int64 // the JobHistory server has the job from here on
	running []recordedAnswer
	history []recordedAnswer
	conf    []byte
	info    []byte
	asked   map[string]int
}

func (p *player) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	path := r.URL.Path
	p.asked[path]++
	w.Header().Set("Content-Type", "application/json;charset=utf-8")
	if path == "/ws/v1/history/info" {
		_, _ = w.Write(p.info)
		return
	}
	if strings.HasPrefix(path, "/proxy/") {
		if p.at >= p.ends {
			http.Redirect(w, r, "http://master:19888/jobhistory/job/job_1795215638925_0055/ws/v1/mapreduce/jobs", http.StatusFound)
			return
		}
		if strings.HasSuffix(path, "/conf") {
			_, _ = w.Write(p.conf)
			return
		}
		// The last answer so far; attempts may not have been asked for as early.
		var found *recordedAnswer
		for i := range p.running {
			if a := &p.running[i]; a.Path == path && (found == nil || a.TMS <= p.at) {
				found = a
			}
		}
		if found != nil {
			_, _ = w.Write(found.Body)
			return
		}
	} else if p.at >= p.appears {
		for _, a := range p.history {
			if a.Path == path {
				_, _ = w.Write(a.Body)
				return
			}
		}
	}
	w.WriteHeader(http.StatusNotFound)
	_, _ = w.Write(recordedNotFound)
}

var recordedNotFound = []byte(`{"RemoteException":{"exception":"NotFoundException","message":"java.lang.Exception: job, job_1_0001, is not found"}}`)

// wantTasks reads from the recorded history what is to be known of every task
// in the end, without the package's decoders.
func wantTasks(tb testing.TB, history []recordedAnswer) map[taskKey]model.Task {
	tb.Helper()
	want := map[taskKey]model.Task{}
	for _, a := range history {
		parts := strings.Split(a.Path, "/")
		if len(parts) < 10 {
			continue
		}
		id := parts[8]
		key := taskKey{stage: model.StageMap, index: int(id[len(id)-1] - '0')}
		if strings.Contains(id, "_r_") {
			key.stage = model.StageReduce
		}
		t, ok := want[key]
		if !ok {
			t = model.Task{Stage: key.stage, Index: key.index, State: model.TaskSucceeded, Progress: 1, Input: model.Unknown, Output: model.Unknown, Shuffled: model.Unknown}
		}
		if len(parts) == 10 {
			var body struct {
				TaskAttempts struct {
					TaskAttempt []struct {
						Rack, NodeHTTPAddress string
						FinishTime            model.Time
					}
				}
			}
			if err := json.Unmarshal(a.Body, &body); err != nil {
				tb.Fatal(err)
			}
			one := body.TaskAttempts.TaskAttempt[0]
			t.Finished = one.FinishTime
			t.Rack, t.Host = model.RackID(one.Rack), strings.TrimSuffix(one.NodeHTTPAddress, ":8042")
		} else {
			value := func(name string) model.Bytes {
				_, after, ok := strings.Cut(string(a.Body), `"name":"`+name+`","value":`)
				var n model.Bytes
				if !ok || json.NewDecoder(strings.NewReader(after)).Decode(&n) != nil {
					tb.Fatalf("%s has no %s", a.Path, name)
				}
				return n
			}
			if key.stage == model.StageMap {
				t.Input, t.Output = value("HDFS_BYTES_READ"), value("MAP_OUTPUT_MATERIALIZED_BYTES")
			} else {
				t.Shuffled = value("REDUCE_SHUFFLE_BYTES")
			}
		}
		want[key] = t
	}
	return want
}

// TestLifeOfAJob plays a recorded wordcount from its first scheduled task to
// the JobHistory server, over real sockets, one round per recorded second.
func TestLifeOfAJob(t *testing.T) {
	t.Parallel()
	const id = model.AppID("application_1795215638925_0055")
	p := &player{
		running: sequence(t, "running-0055.jsonl.gz"), history: sequence(t, "history-0055.jsonl.gz"),
		conf: recorded(t, "am/conf.json.gz"), info: recorded(t, "jhs/info.json"), ends: 73500, appears: 81000, asked: map[string]int{},
	}
	server := httptest.NewServer(p)
	defer server.Close()
	state := model.AppRunning
	s := newStage(t, &fakeSite{}, func(cfg *Config) {
		cfg.Proxy, cfg.History = rest.New(rest.Options{}), rest.New(rest.Options{})
		cfg.HistoryBase, cfg.Interval = server.URL, time.Second
		cfg.ProxyBase = func() string { return server.URL }
		cfg.Live = func() []model.App { return []model.App{{ID: id, Type: "MAPREDUCE", State: state}} }
	})
	defer s.cfg.Proxy.Close()
	defer s.cfg.History.Close()
	for at := int64(35250); at < 110000; at += 1000 {
		p.mu.Lock()
		p.at = at
		p.mu.Unlock()
		if at > 76000 { // the ResourceManager's list is behind the redirect
			state = model.AppFinished
		}
		s.round()
		if s.jobs[id].Done {
			break
		}
	}

	first, last, mapsDone := model.JobFact{}, s.jobs[id], 0
	for _, o := range s.facts {
		if job, ok := o.Fact.(model.JobFact); ok {
			if first == (model.JobFact{}) {
				first = job
			}
			if job.MapsCompleted < mapsDone {
				t.Errorf("maps completed fall from %d to %d", mapsDone, job.MapsCompleted)
			}
			mapsDone = job.MapsCompleted
		}
	}
	if diff := cmp.Diff(model.JobFact{App: id, MapsTotal: 6, MapsPending: 6, ReducesTotal: 3, ReducesPending: 3}, first); diff != "" {
		t.Errorf("the first job fact: %s", diff)
	}
	if diff := cmp.Diff(model.JobFact{App: id, MapsTotal: 6, MapsCompleted: 6, ReducesTotal: 3, ReducesCompleted: 3, Done: true}, last); diff != "" {
		t.Errorf("the last job fact: %s", diff)
	}
	want := wantTasks(t, p.history)
	// This history has no times but those of ends: the others are of what ran.
	if diff := cmp.Diff(want, s.tasks[id], cmp.AllowUnexported(taskKey{}), cmpopts.IgnoreFields(model.Task{}, "Launched", "Fetched")); diff != "" {
		t.Errorf("tasks in the end: %s", diff)
	}
	for key, task := range s.tasks[id] { // order-free: each on its own
		if task.Launched == 0 || task.Launched >= task.Finished || task.Fetched > 0 && (task.Fetched <= task.Launched || task.Fetched > task.Finished) {
			t.Errorf("%v: launched at %d, all fetched at %d, ended at %d", key, task.Launched, task.Fetched, task.Finished)
		}
	}
	if got := s.tasks[id][taskKey{model.StageReduce, 0}].Fetched; got != 1795218096772 {
		t.Errorf("reduce 0 had all map output at %d", got)
	}
	checkCounters(t, s, want)
	checkSpareness(t, p, s)
	for _, source := range []model.Source{model.SourceMapReduce, model.SourceHistory} {
		if got := s.poll(source); got.Result != model.PollOK || got.Error != "" {
			t.Errorf("last poll of %s: %+v", source, got)
		}
	}
	if s.log.Len() > 0 {
		t.Errorf("log: %s", s.log)
	}
}

// checkCounters compares the final job counters with the sum over the tasks.
func checkCounters(t *testing.T, s *stage, want map[taskKey]model.Task) {
	t.Helper()
	var output, input, shuffled model.Bytes
	for key, task := range want {
		if key.stage == model.StageMap {
			output, input = output+task.Output, input+task.Input
		} else {
			shuffled += task.Shuffled
		}
	}
	var last model.CountersFact
	for _, o := range s.facts {
		if c, ok := o.Fact.(model.CountersFact); ok {
			last = c
		}
	}
	if last.MapOutput != output || last.MapInput != input || last.ReduceShuffle != shuffled || last.CompletedMapsNow != 6 {
		t.Errorf("final counters %+v, want output %d, input %d, shuffled %d", last, output, input, shuffled)
	}
}

// checkSpareness looks for requests that were not needed.
func checkSpareness(t *testing.T, p *player, s *stage) {
	t.Helper()
	finals := map[string]int{}
	for path, n := range p.asked {
		switch {
		case strings.HasSuffix(path, "/conf") && n > 1:
			t.Errorf("the configuration was asked for %d times", n)
		case strings.Contains(path, "_m_") && strings.HasSuffix(path, "_0/counters"):
			finals[path[strings.Index(path, "/attempts/"):]] += n
		}
	}
	for path, n := range finals {
		if n != 1 {
			t.Errorf("%s was asked for %d times", path, n)
		}
	}
	if len(finals) != 6 {
		t.Errorf("counters of %d maps were asked for", len(finals))
	}
	if s.sent(model.SourceMapReduce, "job_conf") != 1 || s.sent(model.SourceHistory, "job_conf") != 0 {
		t.Error("the configuration was not sent once")
	}
	asked := int64(0)
	for _, n := range p.asked {
		asked += int64(n)
	}
	reported := int64(0)
	for _, polls := range s.polls {
		for _, poll := range polls {
			reported += poll.Requests
		}
	}
	if asked != reported {
		t.Errorf("%d requests arrived, %d are reported", asked, reported)
	}
}

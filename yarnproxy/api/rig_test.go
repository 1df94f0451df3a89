package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/hashicorp/go-hclog"

	"heddle/core/engine"
	"heddle/core/model"
	"heddle/core/policy/builtin"
	"heddle/core/state"
	"heddle/core/state/snapshot"
	"heddle/yarnproxy/api"
)

const (
	start    = model.Time(1_700_000_100_000)
	sorting  = model.AppID("application_1700000000000_0001") // maps done, 90 % of their output on rack1
	reading  = model.AppID("application_1700000000000_0002") // maps waiting, input on rack2
	finished = model.AppID("application_1700000000000_0003")
	policy   = "shufflewatcher"
)

// rig is an API over a real cluster state and a real policy, with the clock in
// the test's hands.
type rig struct {
	http.Handler
	opts    api.Options
	mu      sync.Mutex // of cluster and engine
	cluster *state.Cluster
	engine  *engine.Engine
	snap    atomic.Pointer[snapshot.Snapshot]
	now     atomic.Int64
	log     bytes.Buffer
}

// newRig builds the cluster; change adjusts the options first.
func newRig(tb testing.TB, change func(*api.Options)) *rig {
	tb.Helper()
	r := &rig{}
	r.now.Store(int64(start))
	cfg := state.DefaultConfig()
	cfg.Uplinks.Default.Out, cfg.Uplinks.Default.In = 125e6, 125e6
	r.cluster = state.New(cfg)
	p, err := builtin.Registry().New(policy, nil)
	if err != nil {
		tb.Fatal(err)
	}
	r.engine = engine.New(engine.Options{Name: policy, MaxHold: model.Minute, MaxOffers: 100, Decisions: 8}, p, r.cluster)
	r.observe(facts()...)
	r.publish(tb)
	r.opts = api.Options{
		Snapshot: r.snap.Load, Now: func() time.Time { return time.UnixMilli(r.now.Load()) },
		MaxAge: 30 * time.Second, MaxBody: 64 << 10, Timeout: 5 * time.Second, Concurrency: 8,
		Blocks: hdfs{}, Advisor: advisor{r}, Version: "0.1.0", Logger: hclog.New(&hclog.LoggerOptions{Output: &r.log}),
		Policies: func() []api.PolicyInfo {
			return []api.PolicyInfo{{Name: "fair", Summary: "s", Paper: "p", Params: map[string]any{}}, {Name: policy, Summary: "s", Paper: "p", Live: []string{"map racks", "holds"}, Active: true, Params: map[string]any{"scan": "full"}}}
		},
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; version=0.0.4")
			fmt.Fprintln(w, "heddle_build_info 1")
		}),
	}
	if change != nil {
		change(&r.opts)
	}
	r.Handler = api.New(r.opts)
	return r
}

func (r *rig) observe(facts ...model.Fact) {
	for _, f := range facts {
		r.cluster.Apply(model.Observation{Source: model.SourceRM, At: model.Time(r.now.Load()), Fact: f})
	}
}

// publish plans and publishes a snapshot.
func (r *rig) publish(tb testing.TB) {
	tb.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cluster.Advance(model.Time(r.now.Load()))
	if _, err := r.engine.Plan(model.Time(r.now.Load())); err != nil {
		tb.Fatal(err)
	}
	r.snap.Store(r.snapshot())
}

// snapshot returns the present state with what was decided in it.
func (r *rig) snapshot() *snapshot.Snapshot {
	s := r.cluster.Snapshot()
	r.engine.Log().AddTo(s)
	return s
}

// later moves the clock.
func (r *rig) later(d time.Duration) { r.now.Add(d.Milliseconds()) }

func host(rack, n int) string { return fmt.Sprintf("w%d%d.example.com", rack, n) }

func rackID(rack int) model.RackID { return model.RackID(fmt.Sprintf("/dc1/rack%d", rack)) }

// facts are of three racks of four nodes and three applications.
func facts() []model.Fact {
	var nodes model.NodesFact
	for rack := 1; rack <= 3; rack++ {
		for n := 1; n <= 4; n++ {
			nodes.Nodes = append(nodes.Nodes, model.Node{
				ID: model.NodeID(host(rack, n) + ":45454"), Host: host(rack, n), Rack: rackID(rack), State: model.NodeRunning,
				Total: model.Resource{MemoryMiB: 8192, VCores: 8}, Used: model.Resource{MemoryMiB: int64(1024 * n), VCores: int64(n)}, Containers: n,
				HTTPAddress: host(rack, n) + ":8042",
			})
		}
	}
	nodes.Nodes[3].State = model.NodeLost // w14
	app := func(id model.AppID, name, user string, at model.Time) model.App {
		return model.App{ID: id, Name: name, User: model.UserID(user), Queue: "root.default", Type: "MAPREDUCE", State: model.AppRunning, Submitted: at, Allocated: model.Resource{MemoryMiB: 2048, VCores: 2}, Containers: 2}
	}
	out := []model.Fact{
		model.PollFact{Result: model.PollOK, DurationMS: 12, Requests: 4, Bytes: 5000},
		model.ClusterFact{Started: 1_700_000_000_000, Version: "3.4.3", HAState: "ACTIVE", Address: "rm1:8088", Scheduler: "capacityScheduler", Localities: &model.LocalityCounts{NodeLocal: 1}, Queues: []model.Queue{{ID: "root.default", Share: 1}}},
		nodes,
		model.AppsFact{Apps: []model.App{app(sorting, "terasort", "ann", start-3000), app(reading, "wordcount", "bob", start-2000), app(finished, "grep", "ann", start-1000)}},
		model.AppsFact{Apps: []model.App{app(sorting, "terasort", "ann", start-3000), app(reading, "wordcount", "bob", start-2000)}},
		model.JobFact{App: sorting, MapsTotal: 10, MapsCompleted: 10, ReducesTotal: 10, ReducesPending: 8, ReducesRunning: 2},
	}
	var tasks []model.Task
	for i := range 10 {
		rack := 1
		if i == 9 {
			rack = 2
		}
		tasks = append(tasks, model.Task{Stage: model.StageMap, Index: i, State: model.TaskSucceeded, Progress: 1, Host: host(rack, 1), Input: model.GiB, Output: model.GiB + model.GiB/8, Shuffled: model.Unknown})
	}
	for i := range 2 {
		tasks = append(tasks, model.Task{Stage: model.StageReduce, Index: i, State: model.TaskRunning, Progress: 0.1, Host: host(1, 2), Input: model.Unknown, Output: model.Unknown, Shuffled: model.Unknown})
	}
	out = append(out,
		model.TasksFact{App: sorting, Tasks: tasks},
		model.CountersFact{App: sorting, MapOutput: 10*model.GiB + 10*model.GiB/8, MapInput: 10 * model.GiB, ReduceShuffle: 0, HDFSWritten: 0},
		model.CountersFact{App: sorting, MapOutput: 10*model.GiB + 10*model.GiB/8, MapInput: 10 * model.GiB, ReduceShuffle: 10 * model.MiB, HDFSWritten: model.MiB},
		model.JobConfFact{App: reading, Inputs: []string{"/data/in"}, Slowstart: 0.05},
		inputBlocks(),
		model.JobFact{App: reading, MapsTotal: 4, MapsPending: 3, MapsCompleted: 1, ReducesTotal: 2, ReducesPending: 2},
		model.TasksFact{App: reading, Tasks: []model.Task{{
			Stage: model.StageMap, Index: 0, State: model.TaskSucceeded, Progress: 1, Host: host(2, 1), Input: 128 * model.MiB, Output: 256 * model.MiB, Shuffled: model.Unknown,
		}}},
		model.CountersFact{App: reading, MapOutput: 256 * model.MiB, MapInput: 128 * model.MiB, ReduceShuffle: 0, HDFSWritten: 0},
	)
	return out
}

func inputBlocks() model.BlocksFact {
	f := model.BlocksFact{Path: "/data/in", Files: 1}
	for i := range 4 {
		f.Blocks = append(f.Blocks, model.Block{
			Offset: model.Bytes(i) * 128 * model.MiB, Length: 128 * model.MiB,
			Hosts: []string{host(2, 1+i%4), host(2, 1+(i+1)%4), host(3, 1)}, Racks: []model.RackID{rackID(2), rackID(2), rackID(3)},
		})
	}
	return f
}

// hdfs finds blocks by the name of the path.
type hdfs struct{}

func (hdfs) Blocks(ctx context.Context, path string) (model.BlocksFact, error) {
	switch path {
	case "/data/in":
		return inputBlocks(), nil
	case "/empty":
		return model.BlocksFact{Path: path}, nil
	case "/secret":
		return model.BlocksFact{}, fmt.Errorf("%s: user heddle may not read: %w", path, fs.ErrPermission)
	case "/bad[":
		return model.BlocksFact{}, fmt.Errorf("%s: %w", path, fs.ErrInvalid)
	case "/broken":
		return model.BlocksFact{}, fmt.Errorf("%s: nn1:9870: connection refused", path)
	case "/slow":
		<-ctx.Done()
		return model.BlocksFact{}, fmt.Errorf("%s: %w", path, ctx.Err())
	}
	return model.BlocksFact{}, fmt.Errorf("%s: no such file: %w", path, fs.ErrNotExist)
}

// advisor asks the real policy about a supposed application.
type advisor struct{ r *rig }

func (a advisor) Advise(_ context.Context, q api.Request) (api.Advice, error) {
	a.r.mu.Lock()
	defer a.r.mu.Unlock()
	out := api.Advice{Policy: policy}
	var err error
	a.r.cluster.Suppose(q.App, q.Facts, func(j *state.Job) { out.Plans, err = a.r.engine.WhatIf([]*state.Job{j}) })
	return out, err
}

// answer is one answer, checked against the document.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// into decodes the body.
func (a *answer) into(tb testing.TB, v any) {
	tb.Helper()
	if err := json.Unmarshal(a.body, v); err != nil {
		tb.Fatalf("decode %s: %v", a.body, err)
	}
}

// problem is an error answer.
type problem struct {
	Type   string `json:"type"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Hint   string `json:"hint"`
	ID     string `json:"request_id"`
	Errors []struct {
		Field  string `json:"field"`
		Detail string `json:"detail"`
	} `json:"errors"`
	Sources []struct {
		Source string `json:"source"`
		Fresh  bool   `json:"fresh"`
		AgeMS  int64  `json:"age_ms"`
		Error  string `json:"error"`
		Hint   string `json:"hint"`
	} `json:"sources"`
}

// problem checks that an answer is a problem of a kind.
func (a *answer) problem(tb testing.TB, status int, kind string) problem {
	tb.Helper()
	var p problem
	a.into(tb, &p)
	if a.status != status || p.Status != status || p.Type != "urn:heddle:problem:"+kind {
		tb.Errorf("status %d, problem %s (%d): %s; want %d %s", a.status, p.Type, p.Status, p.Detail, status, kind)
	}
	return p
}

// spec is the document, read once.
func spec(tb testing.TB) *openapi3.T {
	tb.Helper()
	doc, err := document()
	if err != nil {
		tb.Fatal(err)
	}
	return doc
}

var document = sync.OnceValues(func() (*openapi3.T, error) { return openapi3.NewLoader().LoadFromData(api.Document()) })

// get asks for target, a path and query of the route path.
func (r *rig) get(tb testing.TB, path, target string, header ...string) *answer {
	tb.Helper()
	return r.do(tb, path, request(http.MethodGet, target, "", header...))
}

// post sends a body to POST /v1/placements.
func (r *rig) post(tb testing.TB, body string) *answer {
	tb.Helper()
	return r.do(tb, "/v1/placements", request(http.MethodPost, "/v1/placements", body, "Content-Type", "application/json"))
}

func request(method, target, body string, header ...string) *http.Request {
	q := httptest.NewRequest(method, target, strings.NewReader(body))
	for i := 0; i < len(header); i += 2 {
		q.Header.Set(header[i], header[i+1])
	}
	return q
}

// do serves a request and holds the answer to the document.
func (r *rig) do(tb testing.TB, path string, q *http.Request) *answer {
	tb.Helper()
	w := httptest.NewRecorder()
	r.ServeHTTP(w, q)
	a := &answer{w.Code, w.Header(), w.Body.Bytes()}
	validate(tb, path, q, a)
	return a
}

// validate holds an answer to the document: its status, its headers, and its
// body by the schema.
func validate(tb testing.TB, path string, q *http.Request, a *answer) {
	tb.Helper()
	doc := spec(tb)
	item := doc.Paths.Value(path)
	if item == nil || item.GetOperation(q.Method) == nil {
		tb.Fatalf("%s %s is not in the document", q.Method, path)
	}
	op := item.GetOperation(q.Method)
	documented := op.Responses.Status(a.status)
	if documented == nil {
		tb.Fatalf("%s %s: status %d is not in the document: %s", q.Method, q.URL, a.status, a.body)
	}
	for name := range documented.Value.Headers {
		if a.header.Get(name) == "" && name != "Retry-After" && name != "ETag" {
			tb.Errorf("%s %s: %d: no header %s", q.Method, q.URL, a.status, name)
		}
	}
	in := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{
			Request: q, Route: &routers.Route{Spec: doc, Path: path, PathItem: item, Method: q.Method, Operation: op},
		},
		Status: a.status, Header: a.header, Options: &openapi3filter.Options{IncludeResponseStatus: true},
	}
	in.SetBodyBytes(a.body)
	if err := openapi3filter.ValidateResponse(context.Background(), in); err != nil {
		tb.Errorf("%s %s: the answer is not what the document says: %v", q.Method, q.URL, err)
	}
}

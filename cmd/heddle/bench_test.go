package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"heddle/cmd/heddle/internal/recording"
	"heddle/cmd/heddle/internal/replaying"
	"heddle/cmd/heddle/internal/service"
	"heddle/cmd/heddle/internal/settings"
	"heddle/cmd/heddle/internal/sources"

	"github.com/hashicorp/go-hclog"

	"heddle/configs"
	"heddle/core/model"
	"heddle/core/state"
	"heddle/integration/fakehadoop"
	"heddle/yarnproxy/rm"
)

// The cluster of the benchmarks, and what of it one poll can ask for within
// the default budget of 20 requests a second.
const (
	largeRacks   = 100
	largeNodes   = 5000
	largeApps    = 2000
	largeDetails = 9 // applications whose asks and containers are read in one poll
)

// large holds the answers of a large ResourceManager at two moments, made of
// recorded ones.
type large struct {
	info       []byte
	nodes      [2][]byte
	apps       [2][]byte
	app        []byte // of one application, with its asks
	containers []byte
}

func newLarge(b *testing.B) *large {
	b.Helper()
	site := fakehadoop.Start(b)
	site.At(40 * time.Second)
	get := func(path string) []byte {
		req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, site.RM.URL+"/ws/v1/cluster/"+path, http.NoBody)
		if err != nil {
			b.Fatal(err)
		}
		resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
		if err != nil {
			b.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			b.Fatal(err)
		}
		return body
	}
	var nodes struct {
		Nodes struct {
			Node []json.RawMessage `json:"node"`
		} `json:"nodes"`
	}
	var apps struct {
		Apps struct {
			App []json.RawMessage `json:"app"`
		} `json:"apps"`
	}
	l := &large{info: get("info"), app: get("apps/" + fakehadoop.TeraSort)}
	l.containers = get("apps/" + fakehadoop.TeraSort + "/appattempts/appattempt_1795215638925_0054_000001/containers")
	for body, doc := range map[string]any{"nodes": &nodes, "apps?states=RUNNING&deSelects=resourceRequests,timeouts,appNodeLabelExpression,amNodeLabelExpression,resourceInfo": &apps} {
		if err := json.Unmarshal(get(body), doc); err != nil {
			b.Fatal(err)
		}
	}
	node := nodes.Nodes.Node[0]
	var n struct {
		ID   string `json:"id"`
		Host string `json:"nodeHostName"`
		Rack string `json:"rack"`
		Used int    `json:"usedMemoryMB"`
	}
	if err := json.Unmarshal(node, &n); err != nil {
		b.Fatal(err)
	}
	app := apps.Apps.App[0]
	for moment := range 2 {
		list := make([][]byte, largeNodes)
		for i := range list {
			host := fmt.Sprintf("w%04d.example.com", i)
			one := bytes.ReplaceAll(node, fmt.Appendf(nil, "%q", n.Rack), fmt.Appendf(nil, `"/dc1/rack%03d"`, i%largeRacks))
			one = bytes.ReplaceAll(one, []byte(n.Host+":"), []byte(host+":"))
			one = bytes.ReplaceAll(one, fmt.Appendf(nil, "%q", n.Host), fmt.Appendf(nil, "%q", host))
			list[i] = bytes.Replace(one, fmt.Appendf(nil, `"usedMemoryMB":%d,`, n.Used), fmt.Appendf(nil, `"usedMemoryMB":%d,`, 512*((i+moment)%3)), 1)
		}
		l.nodes[moment] = slices.Concat([]byte(`{"nodes":{"node":[`), bytes.Join(list, []byte(",")), []byte(`]}}`))
		list = make([][]byte, largeApps)
		for i := range list {
			one := bytes.ReplaceAll(app, []byte("1795215638925_0054"), fmt.Appendf(nil, "1795215638925_%05d", i))
			one = bytes.ReplaceAll(one, []byte(`"user":"root"`), fmt.Appendf(nil, `"user":"u%02d"`, i%40))
			list[i] = bytes.Replace(one, []byte(`"allocatedMB":`), fmt.Appendf(nil, `"allocatedMB":%d`, moment+1), 1)
		}
		l.apps[moment] = slices.Concat([]byte(`{"apps":{"app":[`), bytes.Join(list, []byte(",")), []byte(`]}}`))
	}
	return l
}

// poll decodes what the nth poll of the large cluster answers.
func (l *large) poll(b *testing.B, n int, at model.Time) []model.Observation {
	b.Helper()
	cluster, err1 := rm.DecodeInfo(l.info)
	nodes, err2 := rm.DecodeNodes(l.nodes[n%2])
	apps, err3 := rm.DecodeApps(l.apps[n%2])
	if err1 != nil || err2 != nil || err3 != nil || len(nodes.Nodes) != largeNodes || len(apps.Apps) != largeApps {
		b.Fatal(err1, err2, err3, len(nodes.Nodes), len(apps.Apps))
	}
	cluster.Address = "rm1:8088"
	facts := []model.Fact{cluster, nodes, apps}
	for i := range largeDetails {
		id := apps.Apps[(n*largeDetails+i)%largeApps].ID
		_, asks, err1 := rm.DecodeApp(l.app)
		list, err2 := rm.DecodeContainers(l.containers)
		if err1 != nil || err2 != nil || len(asks.Rows) == 0 || len(list) == 0 {
			b.Fatal(err1, err2, len(asks.Rows), len(list))
		}
		asks.App = id
		for c := range list {
			list[c].Node = nodes.Nodes[(n+i*c)%largeNodes].ID
		}
		facts = append(facts, asks, model.ContainersFact{App: id, Containers: list})
	}
	facts = append(facts, model.PollFact{Result: model.PollOK, DurationMS: 300, Requests: 20, Bytes: 10 << 20})
	return observed(at, facts...)
}

func observed(at model.Time, facts ...model.Fact) []model.Observation {
	out := make([]model.Observation, len(facts))
	for i, f := range facts {
		out[i] = model.Observation{Source: model.SourceRM, At: at, Fact: f}
	}
	return out
}

// own copies the lists that the receiver of an observation owns.
func own(o model.Observation) model.Observation {
	switch f := o.Fact.(type) {
	case model.NodesFact:
		o.Fact = model.NodesFact{Nodes: slices.Clone(f.Nodes)}
	case model.AppsFact:
		o.Fact = model.AppsFact{Apps: slices.Clone(f.Apps)}
	}
	return o
}

// jobs is what else is known of the large cluster's applications: each has
// maps that are done and reduces that wait.
func jobs(apps model.AppsFact, at model.Time) []model.Observation {
	var out []model.Observation
	for i, a := range apps.Apps {
		tasks := make([]model.Task, 20)
		for t := range tasks {
			tasks[t] = model.Task{
				Stage: model.StageMap, Index: t, State: model.TaskSucceeded, Host: fmt.Sprintf("w%04d.example.com", (i*20+t)%largeNodes),
				Progress: 1, Input: 16 << 20, Output: 17 << 20, Shuffled: model.Unknown,
			}
		}
		out = append(out, observed(at,
			model.JobFact{App: a.ID, MapsTotal: 30, MapsPending: 10, MapsCompleted: 20, ReducesTotal: 12, ReducesPending: 12},
			model.TasksFact{App: a.ID, Tasks: tasks},
			model.CountersFact{App: a.ID, MapOutput: 20 * 17 << 20, MapInput: 20 * 16 << 20, CompletedMapsNow: 20})...)
	}
	return out
}

func observedNow(b *testing.B) model.Time {
	b.Helper()
	return model.Time(time.Now().UnixMilli())
}

// BenchmarkPollDecodeApplyPublish is one poll of 5,000 nodes and 2,000
// applications, of which half of the nodes and all applications changed: from
// the answers' bytes to the published snapshot.
func BenchmarkPollDecodeApplyPublish(b *testing.B) {
	l := newLarge(b)
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(l.nodes[0]) + len(l.apps[0]) + largeDetails*(len(l.app)+len(l.containers))))
		for n := 0; b.Loop(); n++ {
			l.poll(b, n, 1)
		}
	})
	fresh := func(b *testing.B) *state.Cluster {
		b.Helper()
		c := state.New(state.DefaultConfig())
		for _, o := range l.poll(b, 0, 1) {
			c.Apply(o)
		}
		apps, err := rm.DecodeApps(l.apps[0])
		if err != nil {
			b.Fatal(err)
		}
		for _, o := range jobs(apps, 1) {
			c.Apply(o)
		}
		c.Snapshot()
		return c
	}
	b.Run("apply+publish", func(b *testing.B) {
		c := fresh(b)
		polls := [2][]model.Observation{l.poll(b, 0, 1), l.poll(b, 1, 1)}
		b.ReportAllocs()
		n := 0
		for b.Loop() {
			n++
			for _, o := range polls[n%2] {
				o.At = model.Time(1000 * n)
				c.Apply(own(o))
			}
			if s := c.Snapshot(); len(s.Nodes) != largeNodes || s.Cluster.LiveApps != largeApps {
				b.Fatal("not all of it is in the snapshot")
			}
		}
	})
	b.Run("all", func(b *testing.B) {
		c := fresh(b)
		b.ReportAllocs()
		n := 0
		for b.Loop() {
			n++
			for _, o := range l.poll(b, n, model.Time(1000*n)) {
				c.Apply(o)
			}
			if s := c.Snapshot(); len(s.Nodes) != largeNodes || s.Cluster.LiveApps != largeApps {
				b.Fatal("not all of it is in the snapshot")
			}
		}
	})
}

// BenchmarkReadsWhilePolling sends 1,000 reads a second over HTTP to a service
// that decides for the large cluster and takes in a poll of it every second. A
// read's latency counts from when it was due, not from when it was sent.
func BenchmarkReadsWhilePolling(b *testing.B) {
	const perSecond, clients = 1000, 64
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	threadsForReaders()
	l := newLarge(b)
	loaded, err := configs.Load(configs.Options{KnownPolicy: settings.KnownPolicy, Flags: map[string]string{
		"mode": "advise", "resource_manager.urls": "http://large:8088", "hdfs.enabled": "false", "web.listen_address": "127.0.0.1:0",
		"advanced.web.concurrency": strconv.Itoa(2 * clients),
	}})
	if err != nil {
		b.Fatal(err)
	}
	polls := sources.Source{Names: []model.Source{model.SourceRM}, Run: func(ctx context.Context, out chan<- model.Observation) error {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for n := 0; ; n++ {
			facts := l.poll(b, n, observedNow(b))
			if apps, ok := facts[2].Fact.(model.AppsFact); ok && n == 0 {
				facts = append(facts, jobs(apps, facts[0].At)...)
			}
			for _, o := range facts {
				select {
				case out <- o:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}}
	s, err := service.New(service.Options{Loaded: loaded, Log: hclog.NewNullLogger(), Now: time.Now, Replayed: &sources.Set{Sources: []sources.Source{polls}}})
	if err != nil {
		b.Fatal(err)
	}
	listener, err := s.Open(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx, listener, (*recording.Recorder)(nil)) }()
	web := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	defer func() {
		cancel()
		web.CloseIdleConnections()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	}()
	read := func(path string) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+listener.Addr().String()+path, http.NoBody)
		if err != nil {
			return err
		}
		resp, err := web.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		n, err := io.Copy(io.Discard, resp.Body)
		if err == nil && (resp.StatusCode != http.StatusOK || n < 100) {
			err = fmt.Errorf("%s: %s, %d bytes", path, resp.Status, n)
		}
		return err
	}
	id := func(i int) string {
		return fmt.Sprintf("/v1/applications/application_1795215638925_%05d", i*7919%largeApps)
	}
	paths := func(i int) string {
		switch i % 10 {
		case 0, 1:
			return "/v1/racks"
		case 2, 3:
			return fmt.Sprintf("/v1/applications?limit=50&offset=%d", i*37%largeApps/50*50)
		case 4, 5:
			return id(i)
		}
		return id(i) + "/preferences?stage=reduce"
	}
	eventually(b, "preferences of the large cluster", func() error { return read(paths(9)) })

	latencies := make([]time.Duration, b.N)
	due := make(chan int, b.N)
	var wg sync.WaitGroup
	b.ResetTimer()
	begin := time.Now()
	at := func(i int) time.Time { return begin.Add(time.Duration(i) * time.Second / perSecond) }
	for range clients {
		wg.Go(func() {
			for i := range due {
				if err := read(paths(i)); err != nil {
					b.Error(err)
				}
				latencies[i] = time.Since(at(i))
			}
		})
	}
	for i := range b.N {
		time.Sleep(time.Until(at(i)))
		due <- i
	}
	close(due)
	wg.Wait()
	b.StopTimer()
	slices.Sort(latencies)
	ms := func(p float64) float64 { return latencies[int(p*float64(len(latencies)-1))].Seconds() * 1000 }
	b.ReportMetric(float64(b.N)/time.Since(begin).Seconds(), "reads/s")
	b.ReportMetric(ms(0.5), "p50-ms")
	b.ReportMetric(ms(0.99), "p99-ms")
	b.ReportMetric(ms(1), "max-ms")
}

// BenchmarkReplay replays a recording of a real cluster under one policy, from the file on.
//
//	go test -run '^$' -bench BenchmarkReplay -cpu 1 ./cmd/heddle
func BenchmarkReplay(b *testing.B) {
	var observations, spanMS float64
	for b.Loop() {
		o := replaying.Options{File: cluster, Policies: "shufflewatcher"}
		res, err := o.Run(b.Context(), io.Discard)
		if err != nil {
			b.Fatal(err)
		}
		observations += float64(res.Recording.Observations)
		spanMS += float64(res.Recording.End.Sub(res.Recording.Start))
	}
	b.ReportMetric(observations/b.Elapsed().Seconds(), "observations/s")
	b.ReportMetric(spanMS/1000/b.Elapsed().Seconds(), "x-real-time")
}

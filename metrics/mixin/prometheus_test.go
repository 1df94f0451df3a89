package mixin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"heddle/core/model"
	"heddle/core/state"
	"heddle/metrics"
	"heddle/metrics/internal/sample"
)

// TestRealPrometheus: a real Prometheus scrapes heddle's /metrics over a moving
// cluster, and the query of every panel and of every variable gives data. The
// rules are loaded too, and every one of them evaluates.
func TestRealPrometheus(t *testing.T) {
	t.Parallel()
	binary := tool(t, "prometheus", "HEDDLE_PROMETHEUS")
	heddle := serveSample(t)
	p := startPrometheus(t, binary, heddle)
	p.await(t, "eight seconds of scrapes", func() bool {
		// Twice the longest window of any query, and something in each.
		got, err := p.query(`min_over_time(up[8s:1s]) == 1 and on (job) count_over_time(up[8s]) > 12`)
		return err == nil && len(got) > 0
	})
	d := readDashboard(t)
	for _, panel := range d.Panels {
		for _, target := range panel.Targets {
			p.wantData(t, panel.Title, target.Expr)
		}
	}
	for _, v := range d.Templating.List {
		if v.Type != "query" {
			continue
		}
		series, label, err := variableSeries(v.Query)
		if err != nil {
			t.Errorf("variable %s: %v", v.Name, err)
			continue
		}
		var values []string
		p.get(t, "/api/v1/label/"+label+"/values?match[]="+url.QueryEscape(series), &values)
		if len(values) == 0 {
			t.Errorf("variable %s has no value", v.Name)
		}
	}
	p.checkRules(t)
}

// serveSample serves /metrics over a cluster that moves every 200 ms.
func serveSample(t *testing.T) string {
	t.Helper()
	var snap atomic.Pointer[state.Snapshot]
	reg := prometheus.NewRegistry()
	c, err := metrics.New(reg, metrics.Options{
		Snapshot: snap.Load, Now: time.Now, Policy: func() string { return sample.Policy }, ConfigHash: func() string { return "5f2a9c" },
		Version: "0.1.0", Revision: "abcdef0", Sources: []model.Source{model.SourceRM, model.SourceMapReduce, model.SourceHistory, model.SourceHDFS, model.SourceUplink},
		Queues: []string{"observations", "recorder"},
	})
	if err != nil {
		t.Fatal(err)
	}
	cluster := sample.New(model.Time(time.Now().UnixMilli()))
	step := func() {
		snap.Store(cluster.Step(model.Time(time.Now().UnixMilli())))
		c.Round(sample.Policy, 3*time.Millisecond)
		c.QueueFull("observations")
	}
	step()
	stop := make(chan struct{})
	var moving sync.WaitGroup
	moving.Go(func() {
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				step()
			}
		}
	})
	s := httptest.NewServer(metrics.Handler(reg, hclog.NewNullLogger()))
	t.Cleanup(func() {
		s.Close()
		close(stop)
		moving.Wait()
	})
	return strings.TrimPrefix(s.URL, "http://")
}

// server is a running Prometheus.
type server struct {
	url    string
	client http.Client
	log    *lockedBuffer
	exited chan struct{}
}

// lockedBuffer collects what a process writes while the test may read it.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// startPrometheus starts a Prometheus on the loopback that scrapes target twice
// a second, and stops it when the test ends.
func startPrometheus(t *testing.T, binary, target string) *server {
	t.Helper()
	dir := t.TempDir()
	rules, err := filepath.Abs("rules")
	if err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf("global: {scrape_interval: 500ms, scrape_timeout: 500ms, evaluation_interval: 1s}\nrule_files: ['%s/*.yml']\n"+
		"scrape_configs:\n  - job_name: heddle\n    static_configs: [{targets: ['%s']}]\n", rules, target)
	if err := os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	// Prometheus prints no port it chose itself, so one is chosen for it; where
	// somebody else takes it in between, another is tried.
	for range 3 {
		if s := launch(t, binary, dir); s != nil {
			return s
		}
	}
	t.Fatal("prometheus found no free port in three tries")
	return nil
}

// launch starts the process, and returns nil if its port was taken.
func launch(t *testing.T, binary, dir string) *server {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	s := &server{url: "http://" + addr, client: http.Client{Timeout: 10 * time.Second}, log: &lockedBuffer{}, exited: make(chan struct{})}
	cmd := exec.Command(binary, "--config.file="+filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+addr)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, s.log, s.log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = cmd.Wait()
		close(s.exited)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-s.exited:
		case <-time.After(10 * time.Second):
			_ = cmd.Process.Kill()
			<-s.exited
		}
		s.client.CloseIdleConnections()
	})
	deadline := time.Now().Add(30 * time.Second)
	for time.Now().Before(deadline) {
		select {
		case <-s.exited:
			if strings.Contains(s.log.String(), "address already in use") {
				return nil
			}
			t.Fatalf("prometheus ended:\n%s", s.log)
		case <-time.After(50 * time.Millisecond):
			if resp, err := s.client.Get(s.url + "/-/ready"); err == nil {
				resp.Body.Close()
				if resp.StatusCode == http.StatusOK {
					return s
				}
			}
		}
	}
	t.Fatalf("prometheus is not ready after 30 s:\n%s", s.log)
	return nil
}

// await waits until something holds.
func (s *server) await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(90 * time.Second)
	for !holds() {
		select {
		case <-s.exited:
			t.Fatalf("prometheus ended:\n%s", s.log)
		case <-time.After(250 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s\n%s", what, s.log)
		}
	}
}

// call asks the HTTP API and decodes the data of its answer.
func (s *server) call(path string, data any) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+path, nil)
	if err != nil {
		return err
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	answer := struct {
		Status string `json:"status"`
		Error  string `json:"error"`
		Data   any    `json:"data"`
	}{Data: data}
	if err := json.Unmarshal(body, &answer); err != nil {
		return fmt.Errorf("%s: %w: %s", path, err, body)
	}
	if answer.Status != "success" {
		return fmt.Errorf("%s: %s", path, answer.Error)
	}
	return nil
}

func (s *server) get(t *testing.T, path string, data any) {
	t.Helper()
	if err := s.call(path, data); err != nil {
		t.Fatal(err)
	}
}

// series is one series of an answer to a query.
type series struct {
	Metric map[string]string `json:"metric"`
	Value  [2]any            `json:"value"`
}

func (s *server) query(expr string) ([]series, error) {
	var data struct {
		Result []series `json:"result"`
	}
	err := s.call("/api/v1/query?query="+url.QueryEscape(expr), &data)
	return data.Result, err
}

// wantData demands that a query gives series with figures.
func (s *server) wantData(t *testing.T, title, expr string) {
	t.Helper()
	got, err := s.query(substitute(expr))
	if err != nil {
		t.Errorf("panel %q: %v", title, err)
		return
	}
	figures := 0
	for _, g := range got {
		switch v := fmt.Sprint(g.Value[1]); v {
		case "NaN": // a quantile of nothing: a source that was never polled has none
		case "+Inf", "-Inf":
			t.Errorf("panel %q: %v is %s", title, g.Metric, v)
		default:
			figures++
		}
	}
	if figures == 0 {
		t.Errorf("panel %q has no data: %s", title, expr)
	}
}

// checkRules demands that every rule evaluates, and that every recording rule
// with a window that is over by now gives data.
func (s *server) checkRules(t *testing.T) {
	t.Helper()
	var data struct {
		Groups []struct {
			Rules []struct {
				Name      string `json:"name"`
				Type      string `json:"type"`
				Health    string `json:"health"`
				LastError string `json:"lastError"`
			} `json:"rules"`
		} `json:"groups"`
	}
	s.get(t, "/api/v1/rules", &data)
	recording, alerts := readRules(t)
	n := 0
	for _, g := range data.Groups {
		for _, r := range g.Rules {
			n++
			if r.Health != "ok" {
				t.Errorf("rule %s: %s %s", r.Name, r.Health, r.LastError)
			}
			if r.Type == "recording" {
				s.wantData(t, r.Name, r.Name)
			}
		}
	}
	if want := len(recording) + len(alerts); n != want {
		t.Errorf("prometheus runs %d rules, there are %d", n, want)
	}
}

package mixin_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"heddle/core/model"
	"heddle/core/state/snapshot"
	"heddle/metrics"
	"heddle/metrics/internal/sample"
)

// tool finds a program of Prometheus', by its environment variable or on the
// PATH, and skips the test without it.
func tool(t *testing.T, variable, name string) string {
	t.Helper()
	if path := os.Getenv(variable); path != "" {
		if _, err := os.Stat(path); err != nil {
			t.Fatalf("%s: %v", variable, err)
		}
		return path
	}
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("no %s on the PATH or in %s: make ops has the rules checked by the real one", name, variable)
	}
	return path
}

func TestPromtool(t *testing.T) {
	t.Parallel()
	promtool := tool(t, "HEDDLE_PROMTOOL", "promtool")
	dump, err := os.ReadFile("../testdata/metrics.prom")
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"check", "rules", "--lint=all", "--lint-fatal", "rules.yml", "alerts.yml"},
		{"test", "rules", "tests.yml"},
		{"check", "metrics"},
	} {
		t.Run(strings.Join(args[:2], " "), func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), promtool, args...)
			cmd.Stdin = bytes.NewReader(dump)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
			}
		})
	}
}

// How long things may take on a machine that is busy with other tests.
const (
	startLimit = time.Minute
	dataLimit  = 2 * time.Minute
	stopLimit  = 10 * time.Second
)

// TestRealPrometheus has a real Prometheus scrape a running heddle, and waits
// until every query of the dashboard and every recording rule has given data.
// The demo has no relay, and no guard that knows of a queue: a second target exports made-up ones. Prometheus takes
// seconds to its first scrape, and the demo lasts a few: so it starts second.
func TestRealPrometheus(t *testing.T) {
	t.Parallel()
	program := tool(t, "HEDDLE_PROMETHEUS", "prometheus")
	binary := heddle(t)
	address := freeAddress(t)
	s := startPrometheus(t, program, address, startRelay(t))
	startDemo(t, binary, address)
	s.checkQueries(t)
	s.checkVariables(t)
	s.checkRules(t)
}

// freeAddress returns a loopback address nobody listens on, for programs that
// have to be told of each other before they start.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// heddle returns the program: that of HEDDLE_BINARY, or one built now.
func heddle(t *testing.T) string {
	t.Helper()
	if binary := os.Getenv("HEDDLE_BINARY"); binary != "" {
		return binary
	}
	binary := filepath.Join(t.TempDir(), "heddle")
	build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", binary, "heddle/cmd/heddle")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build heddle: %v\n%s", err, out)
	}
	return binary
}

// startDemo runs heddle's demo on an address, and returns when it serves.
func startDemo(t *testing.T, binary, address string) {
	t.Helper()
	out := start(t, exec.Command(binary, "demo", "--web.listen-address", address, "--speed", "10"))
	found := make(chan bool, 1)
	go func() {
		defer close(found)
		lines := bufio.NewScanner(out)
		for lines.Scan() { // to the end, or the demo would wait for its reader
			if strings.HasSuffix(lines.Text(), "Open http://"+address) {
				found <- true
			}
		}
	}()
	select {
	case ok := <-found:
		if !ok {
			t.Fatal("heddle demo ended without saying where it listens")
		}
	case <-time.After(startLimit):
		t.Fatalf("heddle demo did not say within %s where it listens", startLimit)
	}
}

// startRelay serves the metrics of a heddle that reads no cluster and whose relay
// does more with every scrape, and returns its address.
func startRelay(t *testing.T) string {
	t.Helper()
	registry, step := prometheus.NewRegistry(), 0
	guarded := snapshot.Snapshot{Guard: snapshot.Guard{Enabled: true, Queues: []snapshot.GuardedQueue{
		{Queue: "root.batch", Off: true, Trips: 1, Steered: 12, Predicted: 0.1, Measured: 0.2, Chance: 0.01},
	}}}
	_, err := metrics.New(registry, metrics.Options{
		Snapshot: func() *snapshot.Snapshot { return &guarded }, Now: time.Now, Policy: func() string { return "" }, ConfigHash: func() string { return "relay" },
		Version: "0.1.0", Revision: "abcdef0",
		Relay: func() *model.Relay { // one scrape at a time: the collector sees to that
			step++
			return sample.Relay(step, model.Time(time.Now().UnixMilli()))
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(metrics.Handler(registry, hclog.NewNullLogger()))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// start starts a program in a clean environment and returns its standard
// output. It is stopped at the test's end; what it wrote to standard error is
// shown if the test failed.
func start(t *testing.T, cmd *exec.Cmd) *os.File {
	t.Helper()
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = in, stderr
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
	err = cmd.Start()
	in.Close()
	if err != nil {
		t.Fatalf("start %s: %v", cmd.Path, err)
	}
	t.Cleanup(func() {
		ended := make(chan struct{})
		go func() { cmd.Wait(); close(ended) }()
		cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(stopLimit):
			t.Errorf("%s did not stop within %s", cmd.Path, stopLimit)
			cmd.Process.Kill()
			<-ended
		}
		out.Close()
		if t.Failed() {
			t.Logf("%s said:\n%s", filepath.Base(cmd.Path), stderr)
		}
	})
	return out
}

// server is a running Prometheus.
type server struct{ base string }

// startPrometheus runs Prometheus with the rules of this folder, and returns when
// it tries to scrape the addresses, as job heddle.
func startPrometheus(t *testing.T, binary, address, relay string) server {
	t.Helper()
	dir := t.TempDir()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf(`global: {scrape_interval: 500ms, scrape_timeout: 500ms, evaluation_interval: 500ms}
rule_files: [%q, %q]
scrape_configs:
  - job_name: heddle
    static_configs: [{targets: [%q, %q]}]
`, filepath.Join(here, "rules.yml"), filepath.Join(here, "alerts.yml"), address, relay)
	file := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	listen := freeAddress(t)
	out := start(t, exec.Command(binary, "--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+listen, "--log.level=warn"))
	go func() { // Prometheus writes nothing there; should it, it must not wait
		for lines := bufio.NewScanner(out); lines.Scan(); {
		}
	}()
	s := server{"http://" + listen}
	s.poll(t, startLimit, "Prometheus does not scrape", func(ctx context.Context) (string, bool) {
		up, err := s.query(ctx, `up{job="heddle"}`)
		return fmt.Sprint(err), len(up) == 2
	})
	return s
}

// get reads one answer of Prometheus' API; into is its "data".
func (s server) get(ctx context.Context, path string, query url.Values, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+path+"?"+query.Encode(), nil)
	if err != nil {
		return err
	}
	resp, err := (&http.Client{Timeout: stopLimit}).Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var answer struct {
		Status, Error string
		Data          json.RawMessage
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return fmt.Errorf("GET %s: %w", path, err)
	}
	if answer.Status != "success" {
		return fmt.Errorf("GET %s: %s", path, answer.Error)
	}
	return json.Unmarshal(answer.Data, into)
}

// poll calls done until it returns true, and fails the test with what it said
// last when that takes too long.
func (s server) poll(t *testing.T, limit time.Duration, what string, done func(context.Context) (state string, ok bool)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	last := ""
	for {
		state, ok := done(ctx)
		if ok {
			return
		}
		if ctx.Err() == nil {
			last = state
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s after %s:\n%s", what, limit, last)
		case <-tick.C:
		}
	}
}

// series is one series of an instant query's answer.
type series struct {
	Metric map[string]string `json:"metric"`
	Value  [2]any            `json:"value"`
}

// query returns the series of an instant query whose value is a number.
func (s server) query(ctx context.Context, expr string) ([]series, error) {
	var answer struct{ Result []series }
	if err := s.get(ctx, "/api/v1/query", url.Values{"query": {expr}}, &answer); err != nil {
		return nil, err
	}
	var out []series
	for _, r := range answer.Result {
		text, _ := r.Value[1].(string)
		if v, err := strconv.ParseFloat(text, 64); err == nil && v == v {
			out = append(out, r)
		}
	}
	return out, nil
}

// question is one query that must give data, and the labels its series need.
type question struct {
	where, expr string
	labels      []string
}

// questions returns the queries of all panels with Grafana's variables filled
// in, and the names of all recording rules.
func questions(t *testing.T) []question {
	t.Helper()
	variables := strings.NewReplacer("$__rate_interval", "5s", "$__range", "1m", "$job", "heddle", "$instance", ".+", "$rack", ".+")
	label := regexp.MustCompile(`\{\{([a-z_]+)\}\}`)
	var out []question
	d := loadDashboard(t)
	for _, p := range d.flat() {
		for _, target := range p.Targets {
			q := question{where: fmt.Sprintf("panel %q %s", p.Title, target.RefID), expr: variables.Replace(target.Expr)}
			for _, m := range label.FindAllStringSubmatch(target.LegendFormat, -1) {
				q.labels = append(q.labels, m[1])
			}
			if strings.Contains(q.expr, "$") {
				t.Errorf("%s: a variable nobody sets: %s", q.where, q.expr)
			}
			out = append(out, q)
		}
	}
	for _, name := range recordedNames(t) {
		out = append(out, question{where: "recording rule " + name, expr: name})
	}
	return out
}

// checkQueries waits until each query has given data once.
func (s server) checkQueries(t *testing.T) {
	t.Helper()
	open := questions(t)
	s.poll(t, dataLimit, "queries that gave no data", func(ctx context.Context) (string, bool) {
		var empty []question
		var missing strings.Builder
		for _, q := range open {
			found, err := s.query(ctx, q.expr)
			if err != nil && ctx.Err() == nil {
				t.Errorf("%s: %v\n%s", q.where, err, q.expr)
				continue
			}
			if len(found) == 0 {
				empty = append(empty, q)
				fmt.Fprintf(&missing, "%s: %s\n", q.where, q.expr)
				continue
			}
			for _, l := range q.labels {
				if found[0].Metric[l] == "" {
					t.Errorf("%s: the legend wants a label %s, the series has %v", q.where, l, found[0].Metric)
				}
			}
		}
		open = empty
		return missing.String(), len(open) == 0
	})
}

// checkVariables: the dashboard's variables have values to choose from.
func (s server) checkVariables(t *testing.T) {
	t.Helper()
	form := regexp.MustCompile(`^label_values\((.+), ([a-z]+)\)$`)
	for _, v := range loadDashboard(t).Templating.List {
		if v.Type != "query" {
			continue
		}
		m := form.FindStringSubmatch(v.Definition)
		if m == nil {
			t.Errorf("variable %s: %s is no label_values(selector, label)", v.Name, v.Definition)
			continue
		}
		var values []string
		selector := strings.NewReplacer("$job", "heddle", "$instance", ".+").Replace(m[1])
		if err := s.get(t.Context(), "/api/v1/label/"+m[2]+"/values", url.Values{"match[]": {selector}}, &values); err != nil || len(values) == 0 {
			t.Errorf("variable %s has no values: %v", v.Name, err)
		}
	}
}

// checkRules: Prometheus evaluates every rule without an error.
func (s server) checkRules(t *testing.T) {
	t.Helper()
	want := len(loadRules(t, "rules.yml")) + len(loadRules(t, "alerts.yml"))
	s.poll(t, startLimit, "rules that are not evaluated", func(ctx context.Context) (string, bool) {
		var answer struct {
			Groups []struct {
				Rules []struct{ Name, Health, LastError string }
			}
		}
		if err := s.get(ctx, "/api/v1/rules", nil, &answer); err != nil {
			return err.Error(), false
		}
		var missing strings.Builder
		n := 0
		for _, g := range answer.Groups {
			for _, r := range g.Rules {
				n++
				switch {
				case r.LastError != "":
					t.Errorf("rule %s: %s", r.Name, r.LastError)
				case r.Health != "ok":
					fmt.Fprintf(&missing, "%s: %s\n", r.Name, r.Health)
				}
			}
		}
		if n != want {
			t.Fatalf("Prometheus has %d rules, want %d", n, want)
		}
		return missing.String(), missing.Len() == 0 || t.Failed()
	})
}

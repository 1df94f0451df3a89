//go:build linux

package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"heddle/core/model"
	"heddle/core/state/snapshot"
	"heddle/integration/hadoop"
)

// service is a running heddle that watches the cluster, with the binary a user would start and the
// addresses from Hadoop's own configuration: serve, and with a relay in its settings the relay beside it.
type service struct {
	process
	relay    *process // nil without one
	enforces bool     // its plans are put into asks
}

// process is a heddle of the suite.
type process struct {
	t      *testing.T
	url    string
	args   []string
	env    []string
	cmd    *exec.Cmd
	log    *syncBuffer // of the process that runs
	done   chan error
	killed bool // killed by the test
}

// syncBuffer is a log that is read while it is written.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// binary builds heddle once, unless HEDDLE_BINARY names one that was built.
var binary = sync.OnceValues(func() (string, error) {
	if path := os.Getenv("HEDDLE_BINARY"); path != "" {
		return path, nil
	}
	dir, err := os.MkdirTemp("", "heddle-binary")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "heddle")
	out, err := exec.Command("go", "build", "-o", path, "heddle/cmd/heddle").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build heddle: %w\n%s", err, out)
	}
	return path, nil
})

// baseSettings is the configuration all services of the suite begin with. Polls are
// quick, because jobs here last seconds.
const baseSettings = `
mode: advise
uplinks: {capacity: 100Mbps}
resource_manager: {poll_interval: 500ms, requests_per_second: 60}
mapreduce: {poll_interval: 500ms, requests_per_second: 120}
hdfs: {interval: 2s, user: root}
advanced: {state: {publish_interval: 200ms}}
`

// startService starts heddle, with more environment, and waits until it is ready. It is stopped when the test ends, and must exit with 0.
func startService(t *testing.T, c *hadoop.Cluster, env ...string) *service {
	t.Helper()
	return startConfigured(t, c, baseSettings, env...)
}

// startConfigured is startService with a configuration of the test's own.
func startConfigured(t *testing.T, c *hadoop.Cluster, settings string, env ...string) *service {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(t.TempDir(), "heddle.yml")
	if err := os.WriteFile(config, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	env = append([]string{"HADOOP_CONF_DIR=" + c.ConfDir(), "PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}, env...)
	s := &service{process: process{t: t, args: []string{path, "serve", "--config", config, "--web.listen-address", "127.0.0.1:0"}, env: env}}
	if strings.Contains(settings, "\nrelay:") {
		s.env = append(s.env, "RUNTIME_DIRECTORY="+t.TempDir())
		s.enforces = strings.Contains(settings, "mode: enforce")
		s.relay = &process{t: t, args: []string{path, "relay", "--config", config, "--web.listen-address", "127.0.0.1:0"}, env: s.env}
	}
	s.launch()
	t.Cleanup(s.stop)
	eventually(t, 20*time.Second, "heddle is ready", s.ready)
	return s
}

// launch starts heddle and waits for its addresses.
func (s *service) launch() {
	s.t.Helper()
	if s.relay != nil {
		s.relay.launch()
	}
	s.process.launch()
}

// kill ends heddle as kill -9 does. launch starts the next one.
func (s *service) kill() {
	s.t.Helper()
	if s.relay != nil {
		s.relay.kill()
	}
	s.process.kill()
}

// stop ends heddle in order.
func (s *service) stop() {
	s.t.Helper()
	if s.enforces && !s.killed {
		s.checkGrants()
	}
	s.process.stop()
	if s.relay != nil {
		s.relay.stop()
	}
}

// checkGrants: while a plan named racks, no reduce of a job that ended was granted where none of its map output was
// expected and other racks had room, and none under a plan that loads an uplink more than an even spread.
func (s *service) checkGrants() {
	s.t.Helper()
	counts := map[string]float64{}
	for range 5 { // the last facts of a job come from the JobHistory server
		for _, verdict := range []string{"ok", "no_output", "busier_uplink"} {
			n, err := s.metric(context.Background(), "heddle_granted_reduces_total", fmt.Sprintf("verdict=%q", verdict))
			if err != nil { // the service decides nothing, or ended
				return
			}
			counts[verdict] = n
		}
		if counts["ok"] > 0 {
			break
		}
		time.Sleep(time.Second)
	}
	s.t.Logf("reduces granted while a plan named racks, by what the closed form said then: %v", counts)
	if counts["no_output"]+counts["busier_uplink"] > 0 {
		s.t.Errorf("of reduces granted under a plan %.0f went to racks without map output while others had room, %.0f had a plan with a busier uplink than an even spread",
			counts["no_output"], counts["busier_uplink"])
		_, jobs, err := s.fetch(context.Background(), "/v1/shadow")
		s.t.Logf("of which jobs: %s, %v", jobs, err)
	}
}

// launch starts the process and waits for its address.
func (s *process) launch() {
	s.t.Helper()
	s.log, s.done, s.killed = &syncBuffer{}, make(chan error, 1), false
	s.cmd = exec.Command(s.args[0], s.args[1:]...)
	s.cmd.Stderr, s.cmd.Stdout = s.log, s.log
	s.cmd.Env = s.env
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	cmd, done := s.cmd, s.done
	go func() { done <- cmd.Wait() }()
	eventually(s.t, 20*time.Second, "heddle's address", func(context.Context) error {
		_, rest, ok := strings.Cut(s.log.String(), "url=http://")
		if !ok {
			return fmt.Errorf("the log of heddle %s has no address:\n%s", s.args[1], s.log)
		}
		s.url = "http://" + strings.Fields(rest)[0]
		return nil
	})
}

// kill ends the process as kill -9 does. launch starts the next one.
func (s *process) kill() {
	s.t.Helper()
	if s.killed {
		return
	}
	if err := s.cmd.Process.Kill(); err != nil {
		s.t.Fatal(err)
	}
	<-s.done
	s.killed = true
}

// ready reports why heddle is not ready.
func (s *service) ready(ctx context.Context) error {
	status, body, err := s.fetch(ctx, "/readyz")
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%d: %s", status, body)
	}
	if err == nil && s.relay != nil {
		err = s.knownToRelay(ctx)
	}
	return err
}

// knownToRelay reports why the relay does not know the cluster.
func (s *service) knownToRelay(ctx context.Context) error {
	var h struct {
		Linked bool `json:"serve_linked"`
		Fresh  bool `json:"view_fresh"`
	}
	if err := s.relay.get(ctx, "/healthz", &h); err != nil {
		return err
	}
	if !h.Linked || !h.Fresh {
		return fmt.Errorf("the relay: %+v", h)
	}
	return nil
}

func (s *process) stop() {
	s.t.Helper()
	if s.killed {
		return
	}
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-s.done:
		if err != nil {
			s.t.Errorf("heddle ended badly: %v\n%s", err, s.log)
		}
	case <-time.After(20 * time.Second):
		_ = s.cmd.Process.Kill()
		s.t.Errorf("heddle did not stop within 20 s of SIGTERM\n%s", s.log)
	}
	s.killed = true
	if s.t.Failed() {
		s.t.Logf("heddle's log:\n%s", s.log)
	}
}

func (s *process) fetch(ctx context.Context, path string) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+path, http.NoBody)
	if err != nil {
		return 0, nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, body, err
}

// get fetches JSON; a status other than 200 is an error.
func (s *process) get(ctx context.Context, path string, v any) error {
	status, body, err := s.fetch(ctx, path)
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return fmt.Errorf("GET %s: %d: %s", path, status, body)
	}
	if err := json.Unmarshal(body, v); err != nil {
		return fmt.Errorf("GET %s: %w", path, err)
	}
	return nil
}

// post sends a JSON body; a status other than 200 is an error.
func (s *process) post(ctx context.Context, path string, body []byte, v any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		return fmt.Errorf("POST %s: %d: %s: %w", path, resp.StatusCode, answer, err)
	}
	return json.Unmarshal(answer, v)
}

// app is an application as heddle sees it.
func (s *service) app(ctx context.Context, job string) (*application, error) {
	var answer struct{ Application application }
	err := s.get(ctx, "/v1/applications/"+appOfJob(job), &answer)
	return &answer.Application, err
}

// application is what GET /v1/applications/{id} says of one.
type application struct {
	snapshot.App
	Plans []*model.Plan `json:"plans"`
}

// appOfJob is the application of a MapReduce job.
func appOfJob(job string) string { return strings.Replace(job, "job_", "application_", 1) }

// metric is the sum of a metric's series whose labels hold all of these.
func (s *service) metric(ctx context.Context, name string, labels ...string) (float64, error) {
	of := &s.process
	if s.relay != nil && strings.HasPrefix(name, "heddle_relay_") {
		of = s.relay
	}
	status, body, err := of.fetch(ctx, "/metrics")
	if err != nil || status != http.StatusOK {
		return 0, fmt.Errorf("GET /metrics: %d: %w", status, err)
	}
	sum, found := 0.0, false
	for line := range strings.Lines(string(body)) {
		series, value, ok := strings.Cut(strings.TrimSpace(line), " ")
		if base, _, _ := strings.Cut(series, "{"); !ok || base != name || !containsAll(series, labels) {
			continue
		}
		var v float64
		if _, err := fmt.Sscan(value, &v); err != nil {
			return 0, fmt.Errorf("%s: %w", line, err)
		}
		sum, found = sum+v, true
	}
	if !found {
		return 0, fmt.Errorf("no series of %s with %v", name, labels)
	}
	return sum, nil
}

func containsAll(s string, parts []string) bool {
	for _, p := range parts {
		if !strings.Contains(s, p) {
			return false
		}
	}
	return true
}

// runJob starts a job of the examples jar and returns when it has ended.
func runJob(t *testing.T, c *hadoop.Cluster, args ...string) string {
	t.Helper()
	job, err := c.Job(withTimeout(t, 4*time.Minute), args...)
	if err != nil {
		t.Fatal(err)
	}
	return job
}

// completeApp returns a job as heddle sees it, and an error until heddle has its last facts.
func (s *service) completeApp(ctx context.Context, job string) (a *application, err error) {
	a, err = s.app(ctx, job)
	if err != nil {
		return nil, err
	}
	if !a.State.Final() || a.Reduce.Completed != a.Reduce.Total || a.MapOutput.Reported < a.MapOutput.Total || a.MapOutput.Total <= 0 {
		return nil, fmt.Errorf("%s: state %s, %d of %d reduces, map output %+v", job, a.State, a.Reduce.Completed, a.Reduce.Total, a.MapOutput)
	}
	return a, nil
}

// byRack sums a counter of the attempts of one type over racks.
func byRack(attempts []hadoop.Attempt, kind, counter string) map[model.RackID]model.Bytes {
	sums := map[model.RackID]model.Bytes{}
	for _, a := range attempts {
		if a.Type == kind {
			sums[model.RackID(a.Rack)] += model.Bytes(a.Counters[counter])
		}
	}
	return sums
}

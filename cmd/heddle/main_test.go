package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	"heddle/cmd/heddle/internal/service"
	"heddle/cmd/heddle/internal/settings"
	"heddle/configs"
	"heddle/core/state/snapshot"
	"heddle/integration/fakehadoop"
)

// asHeddle makes the test binary be heddle, for tests of the process itself.
const asHeddle = "TEST_BINARY_IS_HEDDLE"

func TestMain(m *testing.M) {
	for _, env := range os.Environ() { // what is a setting here is none of a test's
		if name, _, _ := strings.Cut(env, "="); strings.HasPrefix(name, configs.EnvPrefix) || strings.HasPrefix(name, "HADOOP_") || name == "YARN_CONF_DIR" {
			_ = os.Unsetenv(name)
		}
	}
	if os.Getenv(asHeddle) != "" {
		main()
	}
	if address := os.Getenv(asScheduler); address != "" {
		runScheduler(address)
	}
	goleak.VerifyTestMain(m)
}

// buffer is a log that is read while it is written.
type buffer struct {
	mu   sync.Mutex
	b    bytes.Buffer
	mark int // lines looks at what comes after it
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// forget lets lines look only at what is logged from now on.
func (b *buffer) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mark = b.b.Len()
}

// lines returns the log's lines that hold a text.
func (b *buffer) lines(text string) []string {
	b.mu.Lock()
	whole := b.b.String()[b.mark:]
	b.mu.Unlock()
	var found []string
	for line := range strings.Lines(whole) {
		if strings.Contains(line, text) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

// eventually calls ok every so often until it returns nil.
func eventually(tb testing.TB, what string, ok func() error) {
	tb.Helper()
	deadline := time.NewTimer(5 * time.Minute) // far off, for a busy machine
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ok()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			tb.Fatalf("%s: %v", what, err)
		}
	}
}

// fast is how services of tests poll a fake cluster: as often as they may, and
// with no budget that would hold them up.
const fast = `
mode: advise
uplinks: {capacity: 100Mbps}
resource_manager: {urls: ["%s"], poll_interval: 100ms, requests_per_second: 10000, bytes_per_second: 100GB/s}
mapreduce: {history_server: "%s", poll_interval: 300ms, requests_per_second: 10000, bytes_per_second: 100GB/s}
hdfs: {name_nodes: ["%s"], interval: 1s, requests_per_second: 10000, bytes_per_second: 100GB/s}
advanced: {state: {publish_interval: 20ms}, resource_manager: {max_answer: 4MiB, timeout: 20s}, mapreduce: {timeout: 20s}, hdfs: {timeout: 20s}}
web: {listen_address: "127.0.0.1:0"}
`

// fastConfig returns the configuration for a site, with more keys of one
// section each merged by the caller's replacements.
func fastConfig(site *fakehadoop.Site, replace ...string) string {
	text := fmt.Sprintf(fast, site.RM.URL, site.History.URL, site.NameNode.URL)
	return strings.NewReplacer(replace...).Replace(text)
}

func load(tb testing.TB, yaml string) *configs.Loaded {
	tb.Helper()
	loaded, err := configs.Load(configs.Options{File: writeFile(tb, "heddle.yml", yaml), KnownPolicy: settings.KnownPolicy})
	if err != nil {
		tb.Fatal(err)
	}
	return loaded
}

func writeFile(tb testing.TB, name, text string) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// running is a service in this process.
type running struct {
	*service.Service
	t    testing.TB
	url  string
	log  *buffer
	skew atomic.Int64 // of the service's clock, ns
	web  *http.Client
	stop func() // may be called again
}

// start runs a service with a configuration until the test ends; it must then
// have stopped without an error.
func start(tb testing.TB, yaml string) *running {
	tb.Helper()
	return startWith(tb, load(tb, yaml))
}

func startWith(tb testing.TB, loaded *configs.Loaded) *running {
	tb.Helper()
	r := &running{t: tb, log: &buffer{}, web: &http.Client{Transport: &http.Transport{}, Timeout: 20 * time.Second}}
	var err error
	r.Service, err = service.New(service.Options{
		Loaded: loaded, Log: hclog.New(&hclog.LoggerOptions{Name: "heddle", Output: r.log, Level: hclog.Info, DisableTime: true}),
		Now: func() time.Time { return time.Now().Add(time.Duration(r.skew.Load())) }, Resume: true,
	})
	if err != nil {
		tb.Fatal(err)
	}
	l, err := r.Open(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	rec, err := r.OpenRecording()
	if err != nil {
		tb.Fatal(err)
	}
	r.url = "http://" + l.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- errors.Join(r.Run(ctx, l, rec), rec.Close()) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		r.web.CloseIdleConnections()
		select {
		case err := <-ended:
			if err != nil {
				tb.Errorf("the service ended with %v", err)
			}
		case <-time.After(30 * time.Second):
			tb.Error("the service did not stop")
		}
		if tb.Failed() {
			tb.Logf("log of the service:\n%s", r.log)
		}
	})
	tb.Cleanup(r.stop)
	return r
}

// advance moves the service's clock, forward or back.
func (r *running) advance(d time.Duration) { r.skew.Add(int64(d)) }

// get fetches a path and returns status and body.
func (r *running) get(path string) (int, string, error) {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, r.url+path, http.NoBody)
	if err != nil {
		return 0, "", err
	}
	resp, err := r.web.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body), err
}

// read fetches JSON, and wants status 200.
func (r *running) read(path string, v any) error {
	status, body, err := r.get(path)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("status %d: %s", status, body)
	}
	if err == nil {
		err = json.Unmarshal([]byte(body), v)
	}
	return err
}

// ready returns an error with what /readyz says, unless it says 200.
func (r *running) ready() error {
	status, body, err := r.get("/readyz")
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("status %d: %s", status, body)
	}
	return err
}

// metric returns a series of /metrics by its whole name, labels included.
func (r *running) metric(series string) (float64, error) {
	_, body, err := r.get("/metrics")
	if err != nil {
		return 0, err
	}
	m := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(series) + ` (\S+)$`).FindStringSubmatch(body)
	if m == nil {
		return 0, errors.New("no series " + series)
	}
	var v float64
	_, err = fmt.Sscan(m[1], &v)
	return v, err
}

// shows returns an error unless a series has a value.
func (r *running) shows(series string, want float64) error {
	got, err := r.metric(series)
	if err == nil && got != want {
		err = fmt.Errorf("%s is %v, want %v", series, got, want)
	}
	return err
}

// app returns an application of the newest snapshot, nil if there is none.
func (r *running) app(id string) *snapshot.App {
	s := r.Snapshot()
	if s == nil {
		return nil
	}
	for _, a := range s.Apps {
		if string(a.ID) == id {
			return a
		}
	}
	return nil
}

//go:build linux

package integration

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"heddle/integration/hadoop"
)

// scene is work that is recorded and then simulated with every task where it ran.
type scene struct {
	name  string
	mode  string // of heddle; "" is observe
	mbits int    // of every uplink
	input func(context.Context, *hadoop.Cluster) error
	jobs  []sceneJob
}

// sceneJob is a job of a scene, started so long after the first.
type sceneJob struct {
	after time.Duration
	args  []string
}

// scenes are jobs of different kinds on different uplinks.
func scenes() []scene {
	const mb = 1_000_000
	sort := func(reduces int, in, out string) []string {
		return []string{"terasort", "-Dmapreduce.job.reduces=" + strconv.Itoa(reduces), "-Dmapreduce.terasort.output.replication=1", in, out}
	}
	tera := func(dir string, rack string, perHost int, size int64) func(context.Context, *hadoop.Cluster) error {
		return func(ctx context.Context, c *hadoop.Cluster) error {
			hosts := c.Hosts()
			if rack != "" {
				hosts = c.HostsOf(rack)
			}
			return c.TeraInput(ctx, dir, hosts, perHost, size)
		}
	}
	return []scene{
		{"concentrated", "", 20, tera("/cf/a", "/rack1", 3, 33*mb), []sceneJob{{0, sort(4, "/cf/a", "/cf/a-out")}}},
		{"even", "", 50, tera("/cf/b", "", 2, 16*mb), []sceneJob{{0, sort(6, "/cf/b", "/cf/b-out")}}},
		{"remote-reads", "", 20, tera("/cf/c", "/rack1", 8, 12*mb), []sceneJob{{0, []string{"wordmean", "/cf/c", "/cf/c-out"}}}},
		{"pair", "", 30, func(ctx context.Context, c *hadoop.Cluster) error {
			return errors.Join(tera("/cf/d1", "", 2, 16*mb)(ctx, c), tera("/cf/d2", "/rack2", 2, 33*mb)(ctx, c))
		}, []sceneJob{{0, []string{"wordmean", "/cf/d1", "/cf/d1-out"}}, {2 * time.Second, sort(3, "/cf/d2", "/cf/d2-out")}}},
		{"mix", "", 100, func(ctx context.Context, c *hadoop.Cluster) error {
			return errors.Join(tera("/cf/e1", "", 1, 24*mb)(ctx, c), tera("/cf/e2", "/rack3", 2, 24*mb)(ctx, c))
		}, []sceneJob{
			{0, sort(4, "/cf/e1", "/cf/e-1")}, {3 * time.Second, []string{"wordmean", "/cf/e2", "/cf/e-2"}}, {6 * time.Second, sort(2, "/cf/e2", "/cf/e-3")},
			{9 * time.Second, []string{"wordmean", "/cf/e1", "/cf/e-4"}}, {12 * time.Second, sort(3, "/cf/e1", "/cf/e-5")},
		}},
	}
}

// counted is what the interfaces of the racks' uplinks counted while a scene was recorded, in bytes
// of frames.
type counted struct {
	Mbits   int                       `json:"uplink_mbit_s"`
	Uplinks map[string]hadoop.Traffic `json:"uplink_bytes"`
}

// TestCounterfactual records jobs that stock Hadoop placed, on shaped uplinks, and simulates each
// recording with every task where it ran. Times and bytes across racks are near those of the
// cluster. With HEDDLE_VALIDATION_OUT the recordings are kept in that directory.
func TestCounterfactual(t *testing.T) {
	c := cluster(t)
	dir := os.Getenv("HEDDLE_VALIDATION_OUT")
	if dir == "" {
		dir = t.TempDir()
	}
	for _, s := range scenes() {
		t.Run(s.name, func(t *testing.T) {
			if err := s.input(withTimeout(t, 5*time.Minute), c); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dir, s.name+".jsonl.zst")
			writeCounted(t, file+".uplinks.json", counted{s.mbits, s.record(t, c, file)})
			checkCounterfactual(t, file)
		})
	}
}

// record records a scene, and returns what the uplinks counted beside it.
func (s *scene) record(t *testing.T, c *hadoop.Cluster, file string) map[string]hadoop.Traffic {
	t.Helper()
	if err := c.Shape(s.mbits); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Shape(0) }()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(t.TempDir(), "heddle.yml")
	if err := os.WriteFile(config, fmt.Appendf(nil, "mode: %s\nuplinks: {capacity: %dMbps}\nhdfs: {user: root}\n", cmp.Or(s.mode, "observe"), s.mbits), 0o600); err != nil {
		t.Fatal(err)
	}
	rec := exec.CommandContext(t.Context(), path, "record", "--config", config, "--out", file)
	rec.Stderr, rec.Stdout = os.Stderr, os.Stdout
	rec.Env = []string{"HADOOP_CONF_DIR=" + c.ConfDir(), "PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
	if err := rec.Start(); err != nil {
		t.Fatal(err)
	}
	before, err := c.UplinkBytes()
	if err != nil {
		t.Fatal(err)
	}
	var jobs sync.WaitGroup
	for _, j := range s.jobs {
		jobs.Go(func() {
			time.Sleep(j.after)
			runJob(t, c, j.args...)
		})
	}
	jobs.Wait()
	sent, err := c.UplinkBytesSince(before)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(10 * time.Second) // the last facts come from the JobHistory server
	if err := errors.Join(rec.Process.Signal(syscall.SIGTERM), rec.Wait()); err != nil {
		t.Fatal(err)
	}
	return sent
}

// writeCounted writes what was counted beside a recording.
func writeCounted(t *testing.T, file string, of counted) {
	t.Helper()
	data, err := json.MarshalIndent(of, "", "  ")
	if err == nil {
		err = os.WriteFile(file, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// checkCounterfactual simulates a recording with every task where it ran.
func checkCounterfactual(t *testing.T, file string) {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), path, "replay", file, "--counterfactual", "--policies", "recorded", "-o", "json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var res struct {
		Runs []struct {
			CrossRack struct{ Total float64 } `json:"cross_rack_bytes"`
		}
		Recording struct {
			Jobs int
			Left []any `json:"left_out"`
			As   struct {
				Mean  float64
				Worst float64 `json:"worst_absolute"`
			} `json:"as_recorded"`
		}
	}
	if err := json.Unmarshal(out, &res); err != nil || len(res.Runs) != 1 {
		t.Fatalf("%v: %s", err, out)
	}
	var of counted
	data, err := os.ReadFile(file + ".uplinks.json")
	if err == nil {
		err = json.Unmarshal(data, &of)
	}
	if err != nil {
		t.Fatal(err)
	}
	bytes := 0.0
	for _, u := range of.Uplinks { // order-free: a sum
		bytes += float64(u.Out)
	}
	t.Logf("%d jobs; mean completion time off by %+.0f %%, a job by %.0f %% at most; %.1f MB across racks simulated, %.1f MB of frames left the racks",
		res.Recording.Jobs, 100*res.Recording.As.Mean, 100*res.Recording.As.Worst, res.Runs[0].CrossRack.Total/1e6, bytes/1e6)
	if e := res.Recording.As; e.Mean < -0.3 || e.Mean > 0.3 || e.Worst > 0.5 {
		t.Errorf("completion times: %+v", e)
	}
	if got := res.Runs[0].CrossRack.Total; got > bytes || got < 0.6*bytes {
		t.Errorf("%.0f bytes across racks simulated, %.0f counted with frames, RPC and job files", got, bytes)
	}
}

//go:build linux

package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/core/model"
	"heddle/core/shuffle"
	"heddle/core/state/snapshot"
	"heddle/integration/hadoop"
)

// The tests of this file compare heddle's answers with Hadoop's own tools and
// the interface counters of the rack uplinks.

// Stated errors of heddle's figures against the cluster's own.
const (
	// spreadError bounds how far map output by rack, spread over completed maps
	// from the job counter alone, is off: the largest difference of a rack's
	// share, of terasort's even splits.
	spreadError = 0.10
	// uplinkError bounds how far cross-rack bytes are from what the interface
	// counters of the uplinks saw. Those also carry RPC, job files and headers.
	uplinkError = 0.25
)

// TestHeddleFollowsTerasort: heddle's figures of a job equal Hadoop's counters
// once it has ended.
func TestHeddleFollowsTerasort(t *testing.T) {
	c := cluster(t)
	const rows, reduces = 1_500_000, 5
	runJob(t, c, "teragen", "-Dmapreduce.job.maps=4", strconv.Itoa(rows), "/sort/in")
	s := startService(t, c)
	coarse := startService(t, c, "HEDDLE_MAPREDUCE_REQUESTS_PER_SECOND=6")
	before, err := c.UplinkBytes()
	if err != nil {
		t.Fatal(err)
	}
	job := runJob(t, c, "terasort", "-Dmapreduce.job.reduces="+strconv.Itoa(reduces), "-Dmapreduce.job.reduce.slowstart.completedmaps=1.0",
		"-Dmapreduce.input.fileinputformat.split.maxsize=10000000", "/sort/in", "/sort/out")
	var seen *application
	eventually(t, 3*time.Minute, "the job's last facts", func(ctx context.Context) (err error) {
		seen, err = s.completeApp(ctx, job)
		return err
	})
	after, err := c.UplinkBytes()
	if err != nil {
		t.Fatal(err)
	}
	attempts, err := c.Attempts(withTimeout(t, time.Minute), job)
	if err != nil {
		t.Fatal(err)
	}
	output := byRack(attempts, "MAP", "MAP_OUTPUT_MATERIALIZED_BYTES")
	if diff := cmp.Diff(output, seen.MapOutput.ByRack); diff != "" {
		t.Errorf("map output by rack (-JobHistory +heddle):\n%s", diff)
	}
	checkReducePlan(t, c, seen, output, reduces)
	checkPlacements(t, c, s, output, reduces)
	checkSpread(t, coarse, job, attempts, output)
	checkUplinks(t, s, before, after)
}

// checkReducePlan checks that the job's preferences are the closed form of its map
// output: reduces in proportion, by largest remainder. The plan was made while
// the job ran, of the map output known then, which may differ from the counters
// of the end by the stated error.
func checkReducePlan(t *testing.T, c *hadoop.Cluster, a *application, output map[model.RackID]model.Bytes, reduces int) {
	t.Helper()
	racks := c.Racks()
	for _, p := range a.Plans {
		if p.Stage != model.StageReduce {
			continue
		}
		t.Logf("reduce plan: %s, %+v", p.Reason, p.Racks)
		got, seen := make([]int, len(racks)), make([]float64, len(racks))
		for _, r := range p.Racks {
			i := slices.Index(racks, string(r.Rack))
			got[i], seen[i] = r.Count, float64(r.Bytes)
		}
		if diff := cmp.Diff(shuffle.Apportion(seen, reduces), got); diff != "" {
			t.Errorf("reduces by rack (-closed form +heddle):\n%s", diff)
		}
		known, total := 0.0, 0.0
		for i, r := range racks {
			known, total = known+seen[i], total+float64(output[model.RackID(r)])
		}
		for i, r := range racks {
			if off := math.Abs(seen[i]/known - float64(output[model.RackID(r)])/total); off > spreadError {
				t.Errorf("the plan took %.2f of the map output to be on %s, off by %.3f", seen[i]/known, r, off)
			}
		}
		return
	}
	t.Error("heddle has no plan for the job's reduces")
}

// checkPlacements asks where the reduces of a job with just this map output
// should run: the answer is the closed form of the counters, to the task.
func checkPlacements(t *testing.T, c *hadoop.Cluster, s *service, output map[model.RackID]model.Bytes, reduces int) {
	t.Helper()
	racks, weights, total := c.Racks(), make([]float64, len(c.Racks())), model.Bytes(0)
	for i, r := range racks {
		weights[i] = float64(output[model.RackID(r)])
		total += output[model.RackID(r)]
	}
	question, err := json.Marshal(map[string]any{
		"asks":             []any{map[string]any{"stage": "reduce", "count": reduces, "capability": model.Resource{MemoryMiB: 512, VCores: 1}}},
		"map_output_bytes": output, "map_input_bytes": total,
	})
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Placements []struct{ Racks []model.RackTarget }
	}
	if err := s.post(withTimeout(t, time.Minute), "/v1/placements", question, &answer); err != nil {
		t.Fatal(err)
	}
	if len(answer.Placements) != 1 {
		t.Fatalf("%d placements", len(answer.Placements))
	}
	got := make([]int, len(racks))
	for _, r := range answer.Placements[0].Racks {
		got[slices.Index(racks, string(r.Rack))] = r.Count
	}
	if diff := cmp.Diff(shuffle.Apportion(weights, reduces), got); diff != "" {
		t.Errorf("reduces by rack (-closed form of the counters +heddle):\n%s", diff)
	}
}

// checkSpread measures how far off map output by rack is when it is spread over
// the completed maps from the job counter alone.
func checkSpread(t *testing.T, s *service, job string, attempts []hadoop.Attempt, output map[model.RackID]model.Bytes) {
	t.Helper()
	maps, all, total := map[model.RackID]int{}, 0, model.Bytes(0)
	for _, a := range attempts {
		if a.Type == "MAP" {
			maps[model.RackID(a.Rack)]++
			all++
		}
	}
	for _, b := range output {
		total += b
	}
	worst := 0.0
	for rack, b := range output {
		worst = math.Max(worst, math.Abs(float64(b)/float64(total)-float64(maps[rack])/float64(all)))
	}
	t.Logf("spread over %d completed maps: the worst rack's share is off by %.4f", all, worst)
	if worst > spreadError {
		t.Errorf("the spread is off by %.3f of the job's map output, stated is %.2f", worst, spreadError)
	}
	var seen *application
	eventually(t, 2*time.Minute, "the job seen with a small budget", func(ctx context.Context) (err error) {
		seen, err = s.app(ctx, job)
		if err == nil && seen.MapOutput.Total != total {
			err = fmt.Errorf("map output %+v, want %d in all", seen.MapOutput, total)
		}
		return err
	})
	t.Logf("small budget: %d of %d bytes known from attempts, %d on no rack", seen.MapOutput.Reported, total, seen.MapOutput.Unplaced)
	placed := total - seen.MapOutput.Unplaced
	for rack, b := range output {
		if placed == 0 {
			break
		}
		off := math.Abs(float64(b)/float64(total) - float64(seen.MapOutput.ByRack[rack])/float64(placed))
		t.Logf("small budget: %s has %d, heddle says %d", rack, b, seen.MapOutput.ByRack[rack])
		if off > spreadError*2 {
			t.Errorf("with a small budget the share of %s is off by %.3f", rack, off)
		}
	}
}

// checkUplinks holds heddle's cross-rack bytes against the interface counters,
// once heddle has the job's last counters: the JobHistory server has them a
// while after the job is seen to have ended.
func checkUplinks(t *testing.T, s *service, before, after map[string]hadoop.Traffic) {
	t.Helper()
	eventually(t, time.Minute, "cross-rack bytes as the uplinks saw them", func(ctx context.Context) error {
		wire, said, text := 0.0, 0.0, &strings.Builder{}
		for _, rack := range slices.Sorted(maps.Keys(after)) {
			out := float64(after[rack].Out - before[rack].Out)
			heddle, err := s.metric(ctx, "heddle_cross_rack_bytes_total", `src_rack="`+rack+`"`)
			if err != nil {
				return err
			}
			wire, said = wire+out, said+heddle
			fmt.Fprintf(text, "%s: %.1f MB left by the interface, %.1f MB by heddle; ", rack, out/1e6, heddle/1e6)
		}
		off := math.Abs(said-wire) / wire
		fmt.Fprintf(text, "all: %.1f and %.1f MB, off by %.1f %%", wire/1e6, said/1e6, 100*off)
		if off > uplinkError {
			return fmt.Errorf("%s, stated is %.0f %%", text, 100*uplinkError)
		}
		t.Log(text)
		return nil
	})
}

// expectOneLogLine checks that exactly one line of the log contains all parts.
func (s *service) expectOneLogLine(t *testing.T, parts ...string) {
	t.Helper()
	n := 0
	for line := range strings.Lines(s.log.String()) {
		if containsAll(line, parts) {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d lines of the log hold %q, want one:\n%s", n, parts, s.log)
	}
}

// TestHeddleOutlivesRestarts: a NameNode restart, a ResourceManager restart
// under a running job and a lost NodeManager. heddle recovers by itself, says
// so once, and no counter goes back.
func TestHeddleOutlivesRestarts(t *testing.T) {
	c := cluster(t)
	s := startService(t, c)
	counters := s.watchCounters(t)

	if err := c.StopDaemon(hadoop.NameNode, hadoop.Master); err != nil {
		t.Fatal(err)
	}
	s.waitMetric(t, time.Minute, "heddle_source_up", 0, `source="hdfs"`)
	if err := c.StartDaemon(hadoop.NameNode, hadoop.Master); err != nil {
		t.Fatal(err)
	}
	s.waitMetric(t, 2*time.Minute, "heddle_source_up", 1, `source="hdfs"`)
	s.expectOneLogLine(t, "NameNode cannot be read")
	s.expectOneLogLine(t, "NameNode answers again")

	job := s.surviveResourceManager(t, c)
	if n, err := s.metric(withTimeout(t, time.Minute), "heddle_resourcemanager_restarts_total"); err != nil || n != 1 {
		t.Errorf("heddle counts %v ResourceManager restarts, %v; want 1", n, err)
	}
	s.expectOneLogLine(t, "ResourceManager cannot be read")
	s.expectOneLogLine(t, "ResourceManager answers again")
	if a, err := s.app(withTimeout(t, time.Minute), job); err != nil || a.State != model.AppFinished {
		t.Errorf("the job that ran over the restart: %+v, %v", a, err)
	}

	lost := c.Hosts()[len(c.Hosts())-1]
	rack := `rack="` + c.RackOf(lost) + `"`
	if err := c.KillDaemon(hadoop.NodeManager, lost); err != nil {
		t.Fatal(err)
	}
	s.waitMetric(t, 2*time.Minute, "heddle_rack_nodes", 1, rack, `state="lost"`)
	if err := c.StartDaemon(hadoop.NodeManager, lost); err != nil {
		t.Fatal(err)
	}
	s.waitMetric(t, time.Minute, "heddle_rack_nodes", perRack, rack, `state="running"`)
	counters()
}

// surviveResourceManager kills the ResourceManager under a running job and
// starts it again; the job ends well, and heddle sees it all.
func (s *service) surviveResourceManager(t *testing.T, c *hadoop.Cluster) string {
	t.Helper()
	done := make(chan jobResult, 1)
	ctx := withTimeout(t, 3*time.Minute)
	go func() {
		job, err := c.SleepJob(ctx, "-m", "2", "-r", "1", "-mt", "25000", "-rt", "1000")
		done <- jobResult{job, err}
	}()
	eventually(t, time.Minute, "heddle sees two maps run", func(ctx context.Context) error {
		var answer struct{ Applications []snapshot.App }
		if err := s.get(ctx, "/v1/applications?state=RUNNING", &answer); err != nil {
			return err
		}
		if len(answer.Applications) != 1 || answer.Applications[0].Map.Running != 2 {
			return fmt.Errorf("running applications %+v", answer.Applications)
		}
		return nil
	})
	if err := c.KillDaemon(hadoop.ResourceManager, hadoop.Master); err != nil {
		t.Fatal(err)
	}
	s.waitMetric(t, time.Minute, "heddle_source_up", 0, `source="rm"`)
	if err := c.StartDaemon(hadoop.ResourceManager, hadoop.Master); err != nil {
		t.Fatal(err)
	}
	s.waitMetric(t, 2*time.Minute, "heddle_source_up", 1, `source="rm"`)
	f := <-done
	if f.err != nil {
		t.Fatal(f.err)
	}
	eventually(t, time.Minute, "heddle sees the job's end", func(ctx context.Context) error {
		a, err := s.app(ctx, f.job)
		if err == nil && !a.State.Final() {
			err = fmt.Errorf("state %s", a.State)
		}
		return err
	})
	return f.job
}

// waitMetric waits until a metric has a value.
func (s *service) waitMetric(t *testing.T, d time.Duration, name string, want float64, labels ...string) {
	t.Helper()
	eventually(t, d, fmt.Sprintf("%s%v is %v", name, labels, want), func(ctx context.Context) error {
		got, err := s.metric(ctx, name, labels...)
		if err == nil && got != want {
			err = fmt.Errorf("it is %v", got)
		}
		return err
	})
}

// watchCounters reads every counter; the function it returns checks that none of
// them has decreased since.
func (s *service) watchCounters(t *testing.T) func() {
	t.Helper()
	read := func() map[string]float64 {
		status, body, err := s.fetch(withTimeout(t, time.Minute), "/metrics")
		if err != nil || status != 200 {
			t.Fatalf("GET /metrics: %d %v", status, err)
		}
		all := map[string]float64{}
		for line := range strings.Lines(string(body)) {
			series, value, ok := strings.Cut(strings.TrimSpace(line), " ")
			name, _, _ := strings.Cut(series, "{")
			if v, err := strconv.ParseFloat(value, 64); ok && err == nil && strings.HasPrefix(name, "heddle_") && strings.HasSuffix(name, "_total") {
				all[series] = v
			}
		}
		return all
	}
	before := read()
	return func() {
		t.Helper()
		after := read()
		for series, v := range before {
			if now, ok := after[series]; !ok || now < v {
				t.Errorf("%s went from %v to %v (still there: %v)", series, v, now, ok)
			}
		}
	}
}

//go:build linux

package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"heddle/core/lab/replay"
	"heddle/core/policy/builtin"
	"heddle/integration/hadoop"
)

// TestReplayDecidesTheSame records a service of every policy through a job on the real
// cluster. A replay of each recording takes each decision again (I5), and all recordings
// give the same job, within the stated error, the same bytes across racks.
func TestReplayDecidesTheSame(t *testing.T) {
	c := cluster(t)
	const rows, reduces = 400_000, 4
	runJob(t, c, "teragen", "-Dmapreduce.job.maps=2", strconv.Itoa(rows), "/replay/in")
	dir := t.TempDir()
	names := builtin.Registry().Names()
	services := map[string]*service{}
	for _, policy := range names {
		// Thirteen services ask the ApplicationMaster: less often than the others of the suite.
		services[policy] = startConfigured(t, c, baseSettings+fmt.Sprintf("policy: {name: %s}\nrecord: {file: %s}\n", policy, recordingOf(dir, policy)),
			"HEDDLE_MAPREDUCE_POLL_INTERVAL=2s", "HEDDLE_RESOURCE_MANAGER_POLL_INTERVAL=2s")
	}
	job := runJob(t, c, "terasort", "-Dmapreduce.job.reduces="+strconv.Itoa(reduces), "-Dmapreduce.job.reduce.slowstart.completedmaps=1.0",
		"-Dmapreduce.input.fileinputformat.split.maxsize=5000000", "/replay/in", "/replay/out")
	attempts, err := c.Attempts(withTimeout(t, time.Minute), job)
	if err != nil {
		t.Fatal(err)
	}
	crossed := crossRack(attempts)
	for _, policy := range names {
		s := services[policy]
		eventually(t, 3*time.Minute, "the job's last facts", func(ctx context.Context) error {
			_, err := s.completeApp(ctx, job)
			return err
		})
		s.stop()
		run, err := replayed(t, recordingOf(dir, policy))
		if err != nil {
			t.Errorf("%s: %v", policy, err)
			continue
		}
		if run.Check.Differs != "" || run.Check.Equal != run.Check.Decisions {
			t.Errorf("%s: %d of %d decisions as recorded; then %s", policy, run.Check.Equal, run.Check.Decisions, run.Check.Differs)
		}
		if got := float64(run.Recorded.Shuffle); run.Jobs != 1 || got < 0.9*crossed || got > 1.1*crossed {
			t.Errorf("%s: %d jobs, %.0f bytes of shuffle across racks by the replay, %.0f by the JobHistory server's counters", policy, run.Jobs, got, crossed)
		}
		t.Logf("%s: %d decisions, %d bytes of shuffle across racks, %d where it wanted the tasks", policy, run.Check.Decisions, run.Recorded.Shuffle, run.CrossRack.Shuffle)
	}
}

func recordingOf(dir, policy string) string { return filepath.Join(dir, policy+".jsonl.zst") }

// replayed replays a recording under the policy that was recorded.
func replayed(t *testing.T, file string) (*replay.PolicyRun, error) {
	t.Helper()
	path, err := binary()
	if err != nil {
		return nil, err
	}
	out, err := exec.CommandContext(t.Context(), path, "replay", file, "--policies", replay.Recorded, "-o", "json").Output()
	if err != nil {
		if failed, is := errors.AsType[*exec.ExitError](err); is {
			err = fmt.Errorf("%w: %s", err, failed.Stderr)
		}
		return nil, err
	}
	var res replay.Result
	if err := json.Unmarshal(out, &res); err != nil {
		return nil, err
	}
	if len(res.Runs) != 1 || res.Runs[0].Check == nil {
		return nil, fmt.Errorf("%s", out)
	}
	return &res.Runs[0], nil
}

// crossRack is what a shuffle with hash-uniform keys sends across racks with the attempts
// of a job where they ran.
func crossRack(attempts []hadoop.Attempt) float64 {
	output, reduces := byRack(attempts, "MAP", "MAP_OUTPUT_MATERIALIZED_BYTES"), map[string]float64{}
	n := 0.0
	for _, a := range attempts {
		if a.Type == "REDUCE" {
			reduces[a.Rack]++
			n++
		}
	}
	crossed := 0.0
	for rack, bytes := range output {
		crossed += float64(bytes) * (1 - reduces[string(rack)]/n)
	}
	return crossed
}

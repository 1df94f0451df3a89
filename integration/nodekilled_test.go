//go:build linux

package integration

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"heddle/integration/hadoop"
)

// nodeKill is what came of a job one of whose NodeManagers was killed.
type nodeKill struct {
	took      time.Duration
	succeeded bool
}

// TestNodeKilled kills a NodeManager under jobs through the relay and under jobs without it in turn, at the same phase:
// three seconds after it began to run a reduce of a job whose master and map are elsewhere; beside each, the same job
// undisturbed. All reduces fit on one rack, and limits are as by default. HEDDLE_RUNS kills each way.
// HEDDLE_NODE_WAIT is yarn.client.nodemanager-connect.max-wait-ms, for which an ApplicationMaster waits for the dead node:
// 5000 here, 180000 in Hadoop.
func TestNodeKilled(t *testing.T) {
	if os.Getenv("HEDDLE_EXPERIMENT") == "" {
		t.Skip("HEDDLE_EXPERIMENT is not set: a kill takes a minute and more")
	}
	c := cluster(t)
	s := startConfigured(t, c, strings.Replace(relaySettings(t, c, "enforce"), "pin_deadline: 3m, trim_deadline: 1m, ", "", 1))
	wait := os.Getenv("HEDDLE_NODE_WAIT")
	if wait == "" {
		wait = "5000"
	}
	ways := []struct {
		name string
		with hadoop.Settings
		kill bool
	}{
		{"stock", hadoop.Settings{}, false},
		{"enforced", throughRelay(c), false},
		{"stock, killed", hadoop.Settings{}, true},
		{"enforced, killed", throughRelay(c), true},
	}
	kills := map[string][]nodeKill{}
	for n := range repetitions(t, 3) {
		for i, way := range ways {
			with := tagged(allOf(way.with, hadoop.Settings{"yarn.client.nodemanager-connect.max-wait-ms": wait}), fmt.Sprintf("node-%d-%d", i, n))
			k, host := killNode(t, c, with, way.kill)
			if host == "" {
				continue
			}
			kills[way.name] = append(kills[way.name], k)
			t.Logf("%s (%s): the job took %.1f s, succeeded %v", way.name, host, k.took.Seconds(), k.succeeded)
		}
	}
	if r := s.relayStatus(withTimeout(t, 10*time.Second)); r.Counts.Accepted == 0 {
		t.Error("no job came through the relay")
	}
	for _, way := range ways {
		var took []time.Duration
		failed := 0
		for _, k := range kills[way.name] {
			took = append(took, k.took)
			if !k.succeeded {
				failed++
			}
		}
		slices.Sort(took)
		t.Logf("%s: %d jobs, %d failed, seconds %s", way.name, len(took), failed, inSeconds(took))
	}
}

// killNode runs a job and, if so told, kills the NodeManager of a host that runs one of its reduces and neither its master nor its map,
// and starts it again after the job. Without such a host it returns "".
func killNode(t *testing.T, c *hadoop.Cluster, with hadoop.Settings, kill bool) (k nodeKill, host string) {
	t.Helper()
	done, attempt := startTagged(t, c, with, "sleep", "-m", "1", "-r", "3", "-mt", "1000", "-rt", "12000")
	var cluster, number, n int64
	if _, err := fmt.Sscanf(attempt, "appattempt_%d_%d_%d", &cluster, &number, &n); err != nil {
		t.Fatal(err)
	}
	app := fmt.Sprintf("application_%d_%04d", cluster, number)
	eventually(t, 2*time.Minute, "a reduce runs on a host of its own", func(context.Context) error {
		all, err := c.Containers(app)
		if err != nil {
			return err
		}
		for _, h := range c.Hosts() {
			if len(all[h]) > 0 && hostIsFree(all[h]) {
				host = h
				return nil
			}
		}
		if len(done) > 0 {
			return nil
		}
		return errors.New("not yet")
	})
	if host == "" {
		waitSucceeded(t, c, done, "all tasks ran beside the master or the map")
		return k, ""
	}
	time.Sleep(3 * time.Second) // its reduces run, and are to run for as long again
	if kill {
		if err := c.KillDaemon(hadoop.NodeManager, host); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := c.StartDaemon(hadoop.NodeManager, host); err != nil {
				t.Error(err)
			}
			eventually(t, time.Minute, "the cluster works again", c.Health)
		}()
	}
	<-done
	ended, err := c.Ended(withTimeout(t, time.Minute), app)
	if err != nil {
		t.Fatal(err)
	}
	return nodeKill{ended.Took(), ended.FinalStatus == "SUCCEEDED"}, host
}

// hostIsFree reports whether containers are neither an ApplicationMaster nor its first task.
func hostIsFree(containers []string) bool {
	return !slices.ContainsFunc(containers, func(id string) bool {
		return hadoop.IsAM(id) || len(id) > 7 && id[len(id)-7:] == "_000002"
	})
}

//go:build linux

package integration

import (
	"context"
	"os"
	"testing"
	"time"

	"heddle/integration/hadoop"
)

// TestRelayFailover: two ResourceManagers and a real ZooKeeper. The active one is
// killed under a steered job, with heddle there and with heddle gone.
func TestRelayFailover(t *testing.T) {
	hadoop.Require(t)
	if err := closeShared(); err != nil {
		t.Fatalf("close the cluster all other tests share: %v", err)
	}
	c, err := hadoop.Start(withTimeout(t, 5*time.Minute), hadoop.Options{Racks: 2, HostsPerRack: 2, RMs: 2, Log: os.Stdout})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	s := startConfigured(t, c, relaySettings(t, c, "enforce"))
	with := s.clientConfig(t)
	_, plain := waitSucceeded(t, c, startJob(t, c, with, "sleep", slowJob()...), "undisturbed")

	done := startJob(t, c, with, "sleep", slowJob()...)
	s.waitPinned(t)
	failOver(t, c)
	_, took := waitSucceeded(t, c, done, "the active ResourceManager killed")
	t.Logf("failover under a steered job: %+.1f s", (took - plain).Seconds())
	checkDelay(t, took, plain)

	done = startJob(t, c, with, "sleep", slowJob()...)
	s.waitPinned(t)
	s.kill()
	failOver(t, c)
	_, took = waitSucceeded(t, c, done, "heddle and the active ResourceManager killed")
	t.Logf("failover with heddle gone: %+.1f s", (took - plain).Seconds())
	checkDelay(t, took, plain)
}

// failOver kills the active ResourceManager, waits for the other one to take
// over, and starts the killed one again.
func failOver(t *testing.T, c *hadoop.Cluster) {
	t.Helper()
	active, err := c.ActiveRM(withTimeout(t, time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.KillDaemon(hadoop.ResourceManager, active); err != nil {
		t.Fatal(err)
	}
	eventually(t, 2*time.Minute, "the other ResourceManager is active", func(ctx context.Context) error {
		_, err := c.ActiveRM(ctx)
		return err
	})
	if err := c.StartDaemon(hadoop.ResourceManager, active); err != nil {
		t.Fatal(err)
	}
}

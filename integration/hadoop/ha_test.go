//go:build linux

package hadoop

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"
)

// TestFailover kills the active ResourceManager of two while an application
// runs, and the application succeeds.
func TestFailover(t *testing.T) {
	c := start(t, Options{Racks: 1, HostsPerRack: 2, RMs: 2})
	ctx := within(t, 5*time.Minute)
	first, err := c.ActiveRM(ctx)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := c.JobWith(ctx, Settings{"mapreduce.job.tags": "survivor"}, "sleep", "-m", "2", "-r", "0", "-mt", "10000")
		ended <- err
	}()
	var app App
	err = poll(ctx, func(ctx context.Context) error {
		apps, err := c.AppsTagged(ctx, "survivor")
		if err != nil || len(apps) != 1 {
			return fmt.Errorf("%d applications, %w", len(apps), err)
		}
		app = apps[0]
		workers, err := c.Workers(app.ID)
		if err != nil || len(workers) == 0 {
			return fmt.Errorf("containers %v, %w", workers, err)
		}
		return nil
	})
	if err != nil {
		t.Fatalf("wait for the application's first task: %v", err)
	}
	if err := c.KillDaemon(ResourceManager, first); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	var second string
	if err := poll(ctx, func(ctx context.Context) (err error) { second, err = c.ActiveRM(ctx); return err }); err != nil {
		t.Fatal(err)
	}
	took := time.Since(killed)
	if second == first || c.PID(ResourceManager, second) == 0 {
		t.Fatalf("%s is active after %s was killed", second, first)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	after, err := c.App(ctx, app.ID)
	if err != nil || after.FinalStatus != "SUCCEEDED" {
		t.Errorf("%+v, %v", after, err)
	}
	// The second took up what the first had left: nothing had to start again.
	all, err := c.Containers(app.ID)
	if err != nil {
		t.Fatal(err)
	}
	if ids := slices.Concat(slices.Collect(maps.Values(all))...); len(ids) != 3 {
		t.Errorf("containers %v, want an ApplicationMaster and two maps", all)
	}
	if err := c.StartDaemon(ResourceManager, first); err != nil {
		t.Fatal(err)
	}
	if err := c.WaitHealthy(ctx); err != nil {
		t.Fatal(err)
	}
	if now, err := c.ActiveRM(ctx); now != second || err != nil {
		t.Errorf("%s is active, %v; want %s still", now, err, second)
	}
	if n := len(c.RMURLs()); n != 2 {
		t.Errorf("%d ResourceManagers have addresses", n)
	}
	t.Logf("%s took over from %s after %v; the application took %v", second, first, took, after.Took())
}

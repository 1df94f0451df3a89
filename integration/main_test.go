//go:build linux

package integration

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"heddle/integration/hadoop"
)

// The cluster that all tests of this package share.
const (
	racks   = 3
	perRack = 2
)

// boot starts the shared cluster when the first test asks for it.
var boot = sync.OnceValues(func() (*hadoop.Cluster, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	start := time.Now()
	c, err := hadoop.Start(ctx, hadoop.Options{Racks: racks, HostsPerRack: perRack, Log: os.Stdout})
	if err != nil {
		fmt.Println("hadoop:", err)
		return nil, errors.New("the cluster did not start, the first test's output says why")
	}
	fmt.Printf("hadoop: %d racks of %d hosts are up after %.1f s\n", racks, perRack, time.Since(start).Seconds())
	atEnd = c.Close
	return c, nil
})

// atEnd closes the shared cluster once there is one.
var atEnd = func() error { return nil }

func TestMain(m *testing.M) {
	code := hadoop.Main(m, hadoop.Spark, hadoop.Tez)
	if err := atEnd(); err != nil {
		fmt.Println("close the cluster:", err)
		code = 1
	}
	os.Exit(code)
}

// cluster is the shared cluster, in which everything works, and is to work
// again when the test ends. The test is skipped where there can be no cluster.
// Tests of one cluster do not run in parallel.
func cluster(t *testing.T) *hadoop.Cluster {
	t.Helper()
	hadoop.Need(t)
	c, err := boot()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		if err := c.WaitHealthy(ctx); err != nil {
			t.Errorf("the test leaves the cluster broken: %v", err)
		}
	})
	return c
}

// within is a context for a step that takes seconds when it works.
func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// eventually calls ok every so often until it returns nil.
func eventually(t *testing.T, d time.Duration, what string, ok func(context.Context) error) {
	t.Helper()
	ctx := within(t, d)
	tick := time.NewTicker(300 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ok(ctx)
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s: not within %v: %v", what, d, err)
		}
	}
}

//go:build linux

package integration

import (
	"context"
	"errors"
	"flag"
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
	closeCluster = c.Close
	return c, nil
})

// closeCluster closes the shared cluster once there is one.
var closeCluster = func() error { return nil }

func TestMain(m *testing.M) {
	flag.Parse()
	var extras []hadoop.Extra
	if !testing.Short() { // the tour runs MapReduce alone
		extras = []hadoop.Extra{hadoop.Spark, hadoop.Tez}
	}
	code := hadoop.Main(m, extras...)
	if err := closeCluster(); err != nil {
		fmt.Println("close the cluster:", err)
		code = 1
	}
	os.Exit(code)
}

// cluster returns the shared cluster, in which everything works, and checks that
// everything works again when the test ends. The test is skipped where there can be no cluster.
// Tests of one cluster do not run in parallel.
func cluster(t *testing.T) *hadoop.Cluster {
	t.Helper()
	hadoop.Require(t)
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

// withTimeout returns a context that ends with the test, and after d.
func withTimeout(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// eventually calls ok every so often until it returns nil.
func eventually(t *testing.T, d time.Duration, what string, ok func(context.Context) error) {
	t.Helper()
	ctx := withTimeout(t, d)
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

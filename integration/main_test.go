//go:build linux

package integration

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"heddle/integration/hadoop"
)

// The cluster that all tests of this package share.
const (
	racks   = 3
	perRack = 2
)

// shared is the cluster of all tests, nil until one asks for it and after
// [closeShared]. Tests ask for it one after the other.
var shared *hadoop.Cluster

// errBoot is why the shared cluster did not start; no other test tries again.
var errBoot error

// boot returns the shared cluster, and starts it if there is none.
func boot() (*hadoop.Cluster, error) {
	if shared != nil || errBoot != nil {
		return shared, errBoot
	}
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	start := time.Now()
	c, err := hadoop.Start(ctx, hadoop.Options{Racks: racks, HostsPerRack: perRack, Log: os.Stdout})
	if err != nil {
		fmt.Println("hadoop:", err)
		errBoot = errors.New("the cluster did not start, the first test's output says why")
		return nil, errBoot
	}
	fmt.Printf("hadoop: %d racks of %d hosts are up after %.1f s\n", racks, perRack, time.Since(start).Seconds())
	shared = c
	return c, nil
}

// closeShared closes the shared cluster if there is one: a sandbox holds one
// cluster at a time. The next test that asks for it gets a new one.
func closeShared() error {
	if shared == nil {
		return nil
	}
	c := shared
	shared = nil
	return c.Close()
}

func TestMain(m *testing.M) {
	flag.Parse()
	var extras []hadoop.Extra
	if !testing.Short() { // the tour runs MapReduce alone
		extras = []hadoop.Extra{hadoop.Spark, hadoop.Tez}
	}
	code := hadoop.Main(m, extras...)
	if err := closeShared(); err != nil {
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

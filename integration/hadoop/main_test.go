//go:build linux

package hadoop

import (
	"context"
	"os"
	"testing"
	"time"
)

func TestMain(m *testing.M) { os.Exit(Main(m, Spark, Tez)) }

// within is a context for a step that takes seconds when it works.
func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// start starts a cluster that ends with the test.
func start(t *testing.T, o Options) *Cluster {
	t.Helper()
	Need(t)
	o.Log = os.Stdout
	begin := time.Now()
	c, err := Start(within(t, 4*time.Minute), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("up after %.1f s", time.Since(begin).Seconds())
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

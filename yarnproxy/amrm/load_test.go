package amrm

import (
	"context"
	"flag"
	"slices"
	"sync"
	"testing"
	"time"

	"heddle/yarnproxy/amrm/wire"
)

// The load generator, for comparing ways to the ResourceManager that run outside
// of this process. One test binary is the ResourceManager,
//
//	amrm.test -test.run TestLoadUpstream -load.upstream 127.0.0.1:9030 -load.for 1h
//
// another one calls it through whatever is in between:
//
//	amrm.test -test.v -test.run TestLoad$ -load.address 127.0.0.1:9031 -load.conns 1000 -load.for 30s
var (
	loadUpstream = flag.String("load.upstream", "", "be a ResourceManager on this address")
	loadAddress  = flag.String("load.address", "", "send allocate calls to this address")
	loadConns    = flag.Int("load.conns", 200, "how many applications at once")
	loadFor      = flag.Duration("load.for", 10*time.Second, "for how long")
	loadEvery    = flag.Duration("load.every", time.Second, "from one call of an application to the next")
	loadAsk      = flag.Bool("load.ask", false, "every call asks for containers, instead of for nothing")
)

func noDeadline() time.Time { return time.Time{} }

// TestLoadUpstream is the other end of the load.
func TestLoadUpstream(t *testing.T) {
	if *loadUpstream == "" {
		t.Skip("without -load.upstream")
	}
	rm := newFakeRM(t, *loadUpstream)
	rm.set(func(rm *fakeRM) { rm.forgetful = true })
	time.Sleep(*loadFor)
}

// TestLoad prints what calls took.
func TestLoad(t *testing.T) {
	address := *loadAddress
	if address == "" {
		t.Skip("without -load.address")
	}
	took := load(t, address, *loadConns, *loadEvery, *loadFor)
	t.Logf("%d calls of %d applications: p50 %v, p90 %v, p99 %v, max %v", len(took), *loadConns,
		quantile(took, 0.5), quantile(took, 0.9), quantile(took, 0.99), took[len(took)-1])
}

func quantile(sorted []time.Duration, q float64) time.Duration {
	return sorted[int(q*float64(len(sorted)-1))]
}

// load has n applications each make a call every so often, spread evenly over
// that time, and returns how long the calls took, sorted.
func load(tb testing.TB, address string, n int, every, during time.Duration) []time.Duration {
	tb.Helper()
	ams := make([]*fakeAM, n)
	cluster := time.Now().UnixMilli() // so that the ResourceManager has not seen these applications
	for i := range ams {
		ams[i] = connect(tb, address, wire.Attempt{Cluster: cluster, App: int32(i + 1), Attempt: 1})
		ams[i].conn.SetDeadline(noDeadline())
		ams[i].register()
	}
	ctx, cancel := context.WithTimeout(context.Background(), during)
	defer cancel()
	var mu sync.Mutex
	var all []time.Duration
	var wg sync.WaitGroup
	for i, am := range ams {
		wg.Go(func() {
			took := calls(ctx, am, time.Duration(i)*every/time.Duration(n), every)
			mu.Lock()
			defer mu.Unlock()
			all = append(all, took...)
		})
	}
	wg.Wait()
	for _, am := range ams {
		am.conn.Close()
	}
	if len(all) == 0 {
		tb.Fatal("no call came back")
	}
	slices.Sort(all)
	return all
}

// calls makes one application's calls until ctx ends.
func calls(ctx context.Context, am *fakeAM, first, every time.Duration) (took []time.Duration) {
	select {
	case <-time.After(first):
	case <-ctx.Done():
		return nil
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	count := int32(3)
	for {
		start := time.Now()
		var err error
		if *loadAsk {
			count = 7 - count
			_, err = am.tryAllocate(ask(10, "*", count))
		} else {
			_, err = am.tryAllocate()
		}
		if err != nil {
			am.t.Errorf("%s: %v", am.id, err)
			return took
		}
		took = append(took, time.Since(start))
		select {
		case <-tick.C:
		case <-ctx.Done():
			return took
		}
	}
}

package api_test

import (
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"heddle/core/model"
	"heddle/core/state"
	"heddle/core/state/snapshot"
	"heddle/yarnproxy/api"
)

// TestReadsWhileSnapshotsAreReplaced: 1,000 reads from eight readers while the
// cluster moves and publishes. Each answer is of one snapshot: what it says of
// its number and what it holds agree, and numbers never go back for a reader.
func TestReadsWhileSnapshotsAreReplaced(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *api.Options) { o.Concurrency = 16 })
	targets := []string{
		"/v1/cluster", "/v1/racks", "/v1/nodes?limit=3", "/v1/applications", "/v1/traffic", "/v1/decisions",
		preferences(sorting, "?stage=reduce"), "/v1/applications/" + string(sorting) + "/explain", "/v1/racks/dc1/rack2", "/readyz",
	}
	stop := make(chan struct{})
	var publisher sync.WaitGroup
	publisher.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			r.now.Add(1)
			// In every snapshot as many maps wait as its number says.
			r.mu.Lock()
			r.observe(model.JobFact{App: reading, MapsTotal: 1_000_000, MapsPending: int(r.snap.Load().Seq) + 1, ReducesTotal: 2, ReducesPending: 2})
			r.mu.Unlock()
			r.publish(t)
		}
	})
	var readers sync.WaitGroup
	for n := range 8 {
		readers.Go(func() {
			last := uint64(0)
			for i := range 125 {
				target := targets[(n+i)%len(targets)]
				w := serve(r, request(http.MethodGet, target, ""))
				if w.Code != http.StatusOK {
					t.Errorf("%s: %d %s", target, w.Code, w.Body)
					return
				}
				if target == "/readyz" {
					continue
				}
				var got struct {
					Snapshot struct {
						Seq uint64 `json:"seq"`
					} `json:"snapshot"`
					Applications []struct {
						ID  model.AppID `json:"id"`
						Map struct {
							Pending uint64 `json:"pending"`
						} `json:"map"`
					} `json:"applications"`
				}
				a := answer{w.Code, w.Header(), w.Body.Bytes()}
				a.into(t, &got)
				if got.Snapshot.Seq < last {
					t.Errorf("%s: snapshot %d after %d", target, got.Snapshot.Seq, last)
				}
				last = got.Snapshot.Seq
				for _, x := range got.Applications {
					if x.ID == reading && last > 1 && x.Map.Pending != last {
						t.Errorf("snapshot %d holds what is of snapshot %d", last, x.Map.Pending)
					}
				}
			}
		})
	}
	readers.Wait()
	close(stop)
	publisher.Wait()
}

// big is a cluster of 5,000 nodes on 100 racks and 2,000 applications, one of
// which has plans.
type big struct {
	cluster *state.Cluster
	polls   [2][]model.Fact
	plans   map[model.AppID][]*model.Plan
	at      model.Time
}

func newBig() *big {
	b := &big{cluster: state.New(state.DefaultConfig()), plans: map[model.AppID][]*model.Plan{}, at: start}
	for odd := range b.polls {
		nodes, apps := make([]model.Node, 0, 5000), make([]model.App, 0, 2000)
		for i := range 5000 {
			h := fmt.Sprintf("node%04d.example.com", i)
			nodes = append(nodes, model.Node{
				ID: model.NodeID(h + ":45454"), Host: h, Rack: model.RackID(fmt.Sprintf("/dc1/rack%02d", i/50)), State: model.NodeRunning, Containers: i%40 + odd,
				Total: model.Resource{MemoryMiB: 65536, VCores: 32}, Used: model.Resource{MemoryMiB: int64(1024 * (i%40 + odd)), VCores: int64(i % 30)}, HTTPAddress: h + ":8042",
			})
		}
		for i := range 2000 {
			apps = append(apps, model.App{
				ID: bigApp(i), Name: fmt.Sprintf("job %d", i), User: model.UserID(fmt.Sprintf("user%02d", i%50)), Queue: "root.default", Type: "MAPREDUCE", State: model.AppRunning,
				Submitted: start - 10_000 + model.Time(i), Allocated: model.Resource{MemoryMiB: int64(1024 * (i%70 + odd))}, Containers: i%70 + odd,
			})
		}
		b.polls[odd] = []model.Fact{model.PollFact{Result: model.PollOK}, model.NodesFact{Nodes: nodes}, model.AppsFact{Apps: apps}}
	}
	b.step(0)
	for i := range 2000 {
		plan := &model.Plan{App: bigApp(i), Stage: model.StageReduce, Rank: i + 1, Reason: model.ReasonMapOutput}
		for k := range 10 {
			plan.Racks = append(plan.Racks, model.RackTarget{Rack: model.RackID(fmt.Sprintf("/dc1/rack%02d", (i+k)%100)), Count: 10 - k, Share: 0.1, Bytes: model.GiB})
		}
		b.plans[plan.App] = []*model.Plan{plan}
	}
	return b
}

func bigApp(i int) model.AppID { return model.AppID(fmt.Sprintf("application_1700000000000_%04d", i)) }

// step applies the next poll and returns the snapshot after it.
func (b *big) step(i int) *snapshot.Snapshot {
	b.at += 1000
	for _, f := range b.polls[i%2] {
		b.cluster.Apply(model.Observation{Source: model.SourceRM, At: b.at, Fact: f})
	}
	s := b.cluster.Snapshot()
	s.Plans = maps.Clone(b.plans)
	return s
}

func (b *big) serve(r *rig) {
	r.now.Store(int64(b.at))
	r.snap.Store(b.step(1))
}

// bigTarget is the i-th read of a mix: half of them preferences of one of many
// applications, the rest lists.
func bigTarget(i int) string {
	switch i % 8 {
	case 0:
		return "/v1/racks"
	case 2:
		return fmt.Sprintf("/v1/applications?limit=100&offset=%d", i%20*100)
	case 4:
		return fmt.Sprintf("/v1/nodes?limit=100&offset=%d", i%50*100)
	case 6:
		return "/v1/applications/" + string(bigApp(i*7%2000))
	}
	return preferences(bigApp(i*13%2000), "?stage=reduce")
}

func BenchmarkReads(b *testing.B) {
	big := newBig()
	r := newRig(b, nil)
	big.serve(r)
	for name, target := range map[string]string{
		"preferences": preferences(bigApp(77), "?stage=reduce"), "racks": "/v1/racks",
		"applications": "/v1/applications?limit=100&offset=900", "nodes": "/v1/nodes?limit=100&offset=900", "traffic": "/v1/traffic",
		"application": "/v1/applications/" + string(bigApp(77)),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if w := serve(r, request(http.MethodGet, target, "")); w.Code != http.StatusOK {
					b.Fatal(w.Body)
				}
			}
		})
	}
	b.Run("racks of a new snapshot", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			next := *r.snap.Load()
			r.snap.Store(&next)
			serve(r, request(http.MethodGet, "/v1/racks", ""))
		}
	})
}

// pace reads the mix at a rate for a time, while polls go on once a second, and
// returns how long reads took, from when they were due: a read that waited for
// another is late.
func pace(r *rig, b *big, perSecond, reads int) []time.Duration {
	stop := make(chan struct{})
	var polls sync.WaitGroup
	polls.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-tick.C:
				r.snap.Store(b.step(i))
				r.now.Store(int64(b.at))
			}
		}
	})
	took := make([]time.Duration, reads)
	var readers sync.WaitGroup
	begin := time.Now()
	const lanes = 8
	for lane := range lanes {
		readers.Go(func() {
			for i := lane; i < reads; i += lanes {
				due := begin.Add(time.Duration(i) * time.Second / time.Duration(perSecond))
				time.Sleep(time.Until(due))
				w := serve(r, request(http.MethodGet, bigTarget(i), ""))
				took[i] = time.Since(due)
				if w.Code != http.StatusOK {
					panic(fmt.Sprintf("%s: %d %s", bigTarget(i), w.Code, w.Body))
				}
			}
		})
	}
	readers.Wait()
	close(stop)
	polls.Wait()
	slices.Sort(took)
	return took
}

// BenchmarkPace reports the latencies of 1,000 reads a second at 5,000 nodes and
// 2,000 applications while polls go on; the target is a p99 of 5 ms.
func BenchmarkPace(b *testing.B) {
	big := newBig()
	r := newRig(b, func(o *api.Options) { o.Concurrency = 64 })
	big.serve(r)
	for b.Loop() {
		took := pace(r, big, 1000, 5000)
		b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
		b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
		b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "max-ms")
	}
}

// TestReadCost holds the processor time of a read at 5,000 nodes and 2,000
// applications to a millisecond, so that one core serves 1,000 a second.
// Processor time does not depend on what else runs on the machine;
// BenchmarkPace has the latencies.
func TestReadCost(t *testing.T) { // not parallel: the time is the process's
	if testing.Short() || raced {
		t.Skip("builds a large cluster, and measures time: not with -short, nor with the race detector")
	}
	big := newBig()
	r := newRig(t, func(o *api.Options) { o.Concurrency = 64 })
	big.serve(r)
	const reads = 1000
	runtime.GC()
	before := processorTime(t)
	for i := range reads {
		if i%100 == 0 { // a new snapshot, of which nothing is kept yet
			r.snap.Store(big.step(i))
			r.now.Store(int64(big.at))
		}
		if w := serve(r, request(http.MethodGet, bigTarget(i), "")); w.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", bigTarget(i), w.Code, w.Body)
		}
	}
	cost := (processorTime(t) - before) / reads
	t.Logf("%v of processor time a read", cost)
	if cost > time.Millisecond {
		t.Errorf("a read costs %v of processor time, want at most 1 ms", cost)
	}
}

// processorTime returns what the process has used so far.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestBodiesKeptAreBounded: however many pages are asked for, few are kept, and
// those beyond are answered all the same.
func TestBodiesKeptAreBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	h := api.New(r.opts)
	for i := range 1000 {
		if w := serve(h, request(http.MethodGet, fmt.Sprintf("/v1/nodes?offset=%d", i), "")); w.Code != http.StatusOK {
			t.Fatal(w.Body)
		}
	}
	if n, most := api.KeptBodies(h); n == 0 || n > most {
		t.Errorf("%d bodies are kept, want at most %d", n, most)
	}
	for range 3 {
		r.get(t, "/v1/nodes", "/v1/nodes?limit=x").problem(t, http.StatusBadRequest, "bad-request")
	}
}

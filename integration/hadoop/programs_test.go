//go:build linux

package hadoop

import (
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestPrograms runs each kind of program on a cluster of two racks.
func TestPrograms(t *testing.T) {
	c := start(t, Options{Racks: 2, HostsPerRack: 2, NodeMemory: 2048})
	p := programs{c}
	t.Run("memory of nodes", p.memory)
	t.Run("terasort of skewed input", p.skewed)
	t.Run("even input", p.even)
	t.Run("a client on a worker", p.onWorker)
	t.Run("MapReduce through the gateway", p.mapReduce)
	t.Run("Spark client", func(t *testing.T) { p.spark(t, SparkClient) })
	t.Run("Spark cluster", func(t *testing.T) { p.spark(t, SparkCluster) })
	t.Run("Tez", p.tez)
}

// programs are the parts of [TestPrograms].
type programs struct{ *Cluster }

func (p programs) memory(t *testing.T) {
	var answer struct {
		ClusterMetrics struct{ TotalMB, ActiveNodes int }
	}
	if err := p.GetJSON(within(t, time.Minute), p.RMURL()+"/ws/v1/cluster/metrics", &answer); err != nil {
		t.Fatal(err)
	}
	if m := answer.ClusterMetrics; m.TotalMB != 4*2048 || m.ActiveNodes != 4 {
		t.Errorf("%+v, want 4 nodes of 2048 MB", m)
	}
}

// replicas are the hosts of the only replica of the only block of each file.
func replicas(t *testing.T, c *Cluster, dir string, size int64) map[string]int {
	t.Helper()
	files, err := c.Fsck(within(t, time.Minute), dir)
	if err != nil {
		t.Fatal(err)
	}
	byAddr := make(map[string]string)
	for _, h := range c.Hosts() {
		byAddr[c.Addr(h)] = h
	}
	hosts := make(map[string]int)
	for _, f := range files {
		if f.Size != size || len(f.Blocks) != 1 || len(f.Blocks[0].Replicas) != 1 {
			t.Errorf("%+v, want %d bytes in one block with one replica", f, size)
			continue
		}
		addr, _, _ := strings.Cut(f.Blocks[0].Replicas[0].Addr, ":")
		hosts[byAddr[addr]]++
	}
	return hosts
}

func (p programs) skewed(t *testing.T) {
	const size = 1_000_000
	begin := time.Now()
	if err := p.TeraInput(within(t, 2*time.Minute), "/skewed", p.HostsOf("/rack2"), 3, size+99); err != nil {
		t.Fatal(err)
	}
	t.Logf("6 files in %v", time.Since(begin))
	if diff := cmp.Diff(map[string]int{"w21": 3, "w22": 3}, replicas(t, p.Cluster, "/skewed", size)); diff != "" {
		t.Fatal(diff)
	}
	before, err := p.UplinkBytes()
	if err != nil {
		t.Fatal(err)
	}
	ctx := within(t, 5*time.Minute)
	job, err := p.JobWith(ctx, Settings{
		"mapreduce.job.reduces": "2", "mapreduce.job.queuename": "batch", "mapreduce.job.tags": "heddle-Skewed,other",
	}, "terasort", "/skewed", "/sorted")
	if err != nil {
		t.Fatal(err)
	}
	crossed, err := p.UplinkBytesSince(before)
	if err != nil {
		t.Fatal(err)
	}
	apps, err := p.AppsTagged(ctx, "heddle-Skewed")
	if err != nil || len(apps) != 1 {
		t.Fatalf("tagged: %+v, %v", apps, err)
	}
	app, err := p.Ended(ctx, job)
	if err != nil || app.ID != apps[0].ID {
		t.Errorf("%+v by its id, %v; %+v by its tag", app, err, apps[0])
	}
	if app.ID != AppID(job) || app.Queue != "root.batch" || app.FinalStatus != "SUCCEEDED" || app.Type != "MAPREDUCE" || app.Took() <= 0 {
		t.Errorf("%+v of %s", app, job)
	}
	attempts, err := p.Attempts(ctx, job)
	if err != nil {
		t.Fatal(err)
	}
	maps, reduces := AttemptsByRack(attempts, "MAP"), AttemptsByRack(attempts, "REDUCE")
	if n := maps["/rack1"] + maps["/rack2"]; n != 6 || reduces["/rack1"]+reduces["/rack2"] != 2 {
		t.Errorf("maps %v and reduces %v, want 6 and 2", maps, reduces)
	}
	workers, err := p.Workers(job)
	if err != nil {
		t.Fatal(err)
	}
	for rack, n := range p.ByRack(workers) {
		if n != maps[rack]+reduces[rack] {
			t.Errorf("%d containers on %s, and maps %v, reduces %v", n, rack, maps, reduces)
		}
	}
	t.Logf("took %v, maps %v, reduces %v, crossed %v", app.Took(), maps, reduces, crossed)
}

func (p programs) even(t *testing.T) {
	if err := p.TeraInput(within(t, 2*time.Minute), "/even", p.Hosts(), 1, 100_000); err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"w11": 1, "w12": 1, "w21": 1, "w22": 1}
	if diff := cmp.Diff(want, replicas(t, p.Cluster, "/even", 100_000)); diff != "" {
		t.Error(diff)
	}
}

func (p programs) onWorker(t *testing.T) {
	const blocks, block = 8, 64 << 10
	local := t.TempDir() + "/f"
	if err := os.WriteFile(local, make([]byte, blocks*block), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx := within(t, time.Minute)
	_, _, err := p.RunOn(ctx, "w12", "org.apache.hadoop.fs.FsShell", "-Ddfs.replication=1", "-Ddfs.blocksize="+strconv.Itoa(block), "-put", local, "/local")
	if err != nil {
		t.Fatal(err)
	}
	files, err := p.Fsck(ctx, "/local")
	if err != nil || len(files) != 1 || len(files[0].Blocks) != blocks {
		t.Fatalf("%+v, %v; want one file of %d blocks", files, err, blocks)
	}
	for _, b := range files[0].Blocks {
		if len(b.Replicas) != 1 || !strings.HasPrefix(b.Replicas[0].Addr, p.Addr("w12")+":") {
			t.Errorf("%+v, want one replica on w12", b)
		}
	}
}

// passage listens where ApplicationMasters reach the test process and passes
// everything on to the ResourceManager's scheduler port.
type passage struct {
	addr string
	mu   sync.Mutex
	from []string // IP addresses of who came
}

func newPassage(t *testing.T, c *Cluster) *passage {
	t.Helper()
	l, err := net.Listen("tcp4", net.JoinHostPort(c.GatewayAddr(), "0"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	p := &passage{addr: l.Addr().String()}
	go func() {
		for {
			down, err := l.Accept()
			if err != nil {
				return
			}
			from, _, _ := net.SplitHostPort(down.RemoteAddr().String())
			p.mu.Lock()
			p.from = append(p.from, from)
			p.mu.Unlock()
			go pass(down)
		}
	}()
	return p
}

func pass(down net.Conn) {
	defer down.Close()
	up, err := net.Dial("tcp4", net.JoinHostPort(Master, "8030"))
	if err != nil {
		return
	}
	go func() {
		_, _ = io.Copy(up, down)
		_ = up.Close()
	}()
	_, _ = io.Copy(down, up)
}

// check is a test of whether exactly the application's ApplicationMaster came through.
func (p *passage) check(t *testing.T, c *Cluster, app string) {
	t.Helper()
	all, err := c.Containers(app)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for h, ids := range all {
		if slices.ContainsFunc(ids, IsAM) {
			want = append(want, c.Addr(h))
		}
	}
	p.mu.Lock()
	got := slices.Compact(slices.Sorted(slices.Values(p.from)))
	p.mu.Unlock()
	if len(want) != 1 || !slices.Equal(got, want) {
		t.Errorf("%v came through the gateway, the ApplicationMaster is on %v", got, want)
	}
}

func (p programs) mapReduce(t *testing.T) {
	relay := newPassage(t, p.Cluster)
	job, err := p.JobWith(within(t, 3*time.Minute), Settings{"yarn.resourcemanager.scheduler.address": relay.addr},
		"sleep", "-m", "2", "-r", "1", "-mt", "10", "-rt", "10")
	if err != nil {
		t.Fatal(err)
	}
	relay.check(t, p.Cluster, job)
}

func (p programs) spark(t *testing.T, mode SparkMode) {
	t.Helper()
	Need(t, Spark)
	relay := newPassage(t, p.Cluster)
	ctx := within(t, 5*time.Minute)
	begin := time.Now()
	id, err := p.SparkJob(ctx, mode, Settings{
		"spark.executor.instances": "4", "spark.yarn.tags": "heddle-spark-" + string(mode), "spark.yarn.queue": "batch",
		"spark.hadoop.yarn.resourcemanager.scheduler.address": relay.addr,
	}, SparkShuffle{Maps: 4, Reduces: 3, Rows: 20000})
	if err != nil {
		t.Fatal(err)
	}
	took := time.Since(begin)
	apps, err := p.AppsTagged(ctx, "heddle-spark-"+string(mode))
	if err != nil || len(apps) != 1 || apps[0].ID != id {
		t.Fatalf("%s: %+v, %v", id, apps, err)
	}
	app, err := p.Ended(ctx, id)
	if err != nil || app.FinalStatus != "SUCCEEDED" || app.Type != "SPARK" || app.Queue != "root.batch" {
		t.Errorf("%+v, %v", app, err)
	}
	executors, err := p.Workers(id)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for k := range maps.Values(executors) {
		n += k
	}
	if n != 4 {
		t.Errorf("executors %v, want 4", executors)
	}
	relay.check(t, p.Cluster, id)
	t.Logf("client %v, application %v, executors %v", took, app.Took(), executors)
}

func (p programs) tez(t *testing.T) {
	Need(t, Tez)
	relay := newPassage(t, p.Cluster)
	ctx := within(t, 5*time.Minute)
	words := make(map[string]int)
	var text strings.Builder
	for i := range 5000 {
		word := "word" + strconv.Itoa(i*i%17)
		words[word]++
		text.WriteString(word + "\n")
	}
	if err := p.Write(ctx, File{Path: "/tez/in put", Host: "w11"}, strings.NewReader(text.String())); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	id, err := p.TezJob(ctx, Settings{"yarn.resourcemanager.scheduler.address": relay.addr, "tez.queue.name": "batch"},
		"orderedwordcount", "/tez/in put", "/tez/out", "2")
	if err != nil {
		t.Fatal(err)
	}
	took := time.Since(begin)
	app, err := p.Ended(ctx, id)
	if err != nil || app.FinalStatus != "SUCCEEDED" || app.Type != "TEZ" || app.Queue != "root.batch" {
		t.Errorf("%s: %+v, %v", id, app, err)
	}
	out, err := p.FS(ctx, "-cat", "/tez/out/part-*")
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]int)
	for line := range strings.Lines(out) {
		var word string
		var n int
		if _, err := fmt.Sscan(line, &word, &n); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		got[word] = n
	}
	if diff := cmp.Diff(words, got); diff != "" {
		t.Error(diff)
	}
	relay.check(t, p.Cluster, id)
	workers, err := p.Workers(id)
	if err != nil || len(workers) == 0 {
		t.Errorf("containers %v, %v", workers, err)
	}
	t.Logf("client %v, application %v, containers %v", took, app.Took(), workers)
}

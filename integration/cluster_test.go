//go:build linux

package integration

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/core/model"
	"heddle/core/state"
	"heddle/integration/hadoop"
)

// The tests of this file check the cluster itself with Hadoop's own tools.

// rmNode is what is compared of a node of the ResourceManager.
type rmNode struct {
	Rack            string
	State           string
	NodeHostName    string
	NodeHTTPAddress string
	AvailMemoryMB   int
	UsedMemoryMB    int
}

// rmNodes is the ResourceManager's nodes by host name.
func rmNodes(ctx context.Context, c *hadoop.Cluster) (map[string]rmNode, error) {
	var answer struct {
		Nodes struct{ Node []rmNode }
	}
	if err := c.GetJSON(ctx, c.RMURL()+"/ws/v1/cluster/nodes", &answer); err != nil {
		return nil, err
	}
	nodes := make(map[string]rmNode)
	for _, n := range answer.Nodes.Node {
		nodes[n.NodeHostName] = n
	}
	return nodes, nil
}

func TestNodesAreOnTheirRacks(t *testing.T) {
	c := cluster(t)
	ctx := within(t, time.Minute)
	nodes, err := rmNodes(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := slices.Sorted(maps.Keys(nodes)), c.Hosts(); !slices.Equal(got, want) {
		t.Fatalf("nodes %v, want %v", got, want)
	}
	for host, n := range nodes {
		if n.State != "RUNNING" || n.Rack != c.RackOf(host) || n.AvailMemoryMB+n.UsedMemoryMB != 1024 {
			t.Errorf("%s: %+v, want RUNNING on %s with 1024 MB", host, n, c.RackOf(host))
		}
		// The test process reaches a node by the name that the ResourceManager gives it.
		var info struct{ NodeInfo struct{ NodeHostName string } }
		if err := c.GetJSON(ctx, "http://"+n.NodeHTTPAddress+"/ws/v1/node/info", &info); err != nil {
			t.Error(err)
		} else if info.NodeInfo.NodeHostName != host {
			t.Errorf("%s answers that it is %s", host, info.NodeInfo.NodeHostName)
		}
		if addrs, err := net.DefaultResolver.LookupHost(ctx, host); err != nil || !slices.Equal(addrs, []string{c.Addr(host)}) {
			t.Errorf("%s is at %v, %v; want %s", host, addrs, err, c.Addr(host))
		}
	}
}

// put writes a local file of this content into HDFS.
func put(t *testing.T, c *hadoop.Cluster, path string, content []byte, options ...string) {
	t.Helper()
	local := filepath.Join(t.TempDir(), "content")
	if err := os.WriteFile(local, content, 0o600); err != nil {
		t.Fatal(err)
	}
	// Options such as -Ddfs.blocksize go before the command.
	if _, err := c.FS(within(t, time.Minute), append(options, "-put", local, path)...); err != nil {
		t.Fatal(err)
	}
}

func TestBlocksAreOnSeveralRacks(t *testing.T) {
	c := cluster(t)
	const blocks, size = 10, 1 << 20
	put(t, c, "/blocks", make([]byte, blocks*size), "-Ddfs.blocksize="+strconv.Itoa(size), "-Ddfs.replication=3")
	files, err := c.Fsck(within(t, time.Minute), "/blocks")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 1 || files[0].Path != "/blocks" || files[0].Size != blocks*size || len(files[0].Blocks) != blocks {
		t.Fatalf("fsck sees %+v, want /blocks of %d bytes in %d blocks", files, blocks*size, blocks)
	}
	rackOf := make(map[string]string)
	for _, h := range c.Hosts() {
		rackOf[c.Addr(h)] = c.RackOf(h)
	}
	for _, b := range files[0].Blocks {
		seen := make(map[string]bool)
		for _, r := range b.Replicas {
			ip, _, err := net.SplitHostPort(r.Addr)
			if err != nil || rackOf[ip] != r.Rack {
				t.Errorf("%s: replica %+v, but %s is on %s (%v)", b.ID, r, ip, rackOf[ip], err)
			}
			seen[r.Rack] = true
		}
		// HDFS wants two racks, and takes a third when a node of the second is busy.
		if b.Len != size || len(b.Replicas) != 3 || len(seen) < 2 {
			t.Errorf("%+v: want 3 replicas of %d bytes on 2 racks or more", b, size)
		}
	}
}

func TestWordcount(t *testing.T) {
	c := cluster(t)
	want := make(map[string]int)
	var text strings.Builder
	for i := range 20000 {
		word := fmt.Sprintf("word%02d", i*i%37)
		want[word]++
		text.WriteString(word + " \n"[i%10/9:][:1])
	}
	put(t, c, "/words", []byte(text.String()), "-Ddfs.blocksize=65536")
	job, err := c.Job(within(t, 3*time.Minute), "wordcount", "-Dmapreduce.job.reduces=2", "/words", "/counts")
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.FS(within(t, time.Minute), "-cat", "/counts/part-r-*")
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]int)
	for line := range strings.Lines(out) {
		word, n, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if got[word], err = strconv.Atoi(n); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	counters := jobCounters(t, c, job)
	if n := counters["TaskCounter"]["MAP_OUTPUT_RECORDS"].Map; n != 20000 {
		t.Errorf("%d map output records, want 20000", n)
	}
}

func jobCounters(t *testing.T, c *hadoop.Cluster, job string) (all map[string]map[string]hadoop.Counter) {
	t.Helper()
	eventually(t, 30*time.Second, "counters of "+job, func(ctx context.Context) (err error) {
		all, err = c.JobCounters(ctx, job)
		return err
	})
	return all
}

func TestTerasortShufflesAcrossRacks(t *testing.T) {
	c := cluster(t)
	const rows, rowBytes, maps, reduces = 400_000, 100, 6, 3
	gen, err := c.Job(within(t, 3*time.Minute), "teragen", "-Dmapreduce.job.maps="+strconv.Itoa(maps), strconv.Itoa(rows), "/unsorted")
	if err != nil {
		t.Fatal(err)
	}
	if n := jobCounters(t, c, gen)["TaskCounter"]["MAP_OUTPUT_RECORDS"].Total; n != rows {
		t.Errorf("teragen wrote %d rows, want %d", n, rows)
	}
	before, err := c.UplinkBytes()
	if err != nil {
		t.Fatal(err)
	}
	job, err := c.Job(within(t, 3*time.Minute), "terasort", "-Dmapreduce.job.reduces="+strconv.Itoa(reduces), "/unsorted", "/sorted")
	if err != nil {
		t.Fatal(err)
	}
	after, err := c.UplinkBytes()
	if err != nil {
		t.Fatal(err)
	}
	counters := jobCounters(t, c, job)
	task, sched := counters["TaskCounter"], counters["JobCounter"]
	if n := task["REDUCE_INPUT_RECORDS"].Reduce; n != rows {
		t.Errorf("the reduces read %d rows, want %d", n, rows)
	}
	if n := task["REDUCE_SHUFFLE_BYTES"].Reduce; n < rows*rowBytes {
		t.Errorf("%d bytes shuffled, want at least %d", n, rows*rowBytes)
	}
	local := sched["DATA_LOCAL_MAPS"].Total + sched["RACK_LOCAL_MAPS"].Total + sched["OTHER_LOCAL_MAPS"].Total
	if launched := sched["TOTAL_LAUNCHED_MAPS"].Total; launched == 0 || local != launched {
		t.Errorf("%d maps launched, %d with a locality", launched, local)
	}
	attempts, err := c.Attempts(within(t, time.Minute), job)
	if err != nil {
		t.Fatal(err)
	}
	shuffle := crossRack(attempts)
	for _, rack := range c.Racks() {
		got := hadoop.Traffic{Out: after[rack].Out - before[rack].Out, In: after[rack].In - before[rack].In}
		// Beside the shuffle the uplinks carry map input read from afar, job
		// files and RPC; they cannot carry less than the shuffle, but for
		// the unevenness of the reduces' ranges.
		if slack := int64(rows * rowBytes / 50); got.Out < shuffle[rack].Out-slack || got.In < shuffle[rack].In-slack {
			t.Errorf("the uplink of %s carried %+v bytes, the shuffle alone is %+v", rack, got, shuffle[rack])
		}
		t.Logf("%s: uplink %+v, of that shuffle %+v", rack, got, shuffle[rack])
	}
}

// crossRack is what the shuffle of a finished job took out of and into each
// rack: each reduce fetches its share of every map's output.
func crossRack(attempts []hadoop.Attempt) map[string]hadoop.Traffic {
	var total int64 // fetched by all reduces
	for _, a := range attempts {
		total += a.Counters["REDUCE_SHUFFLE_BYTES"]
	}
	racks := make(map[string]hadoop.Traffic)
	for _, r := range attempts {
		for _, m := range attempts {
			if m.Type != "MAP" || r.Type != "REDUCE" || m.Rack == r.Rack {
				continue
			}
			n := int64(float64(m.Counters["MAP_OUTPUT_MATERIALIZED_BYTES"]) * float64(r.Counters["REDUCE_SHUFFLE_BYTES"]) / float64(total))
			out, in := racks[m.Rack], racks[r.Rack]
			out.Out += n
			in.In += n
			racks[m.Rack], racks[r.Rack] = out, in
		}
	}
	return racks
}

func TestShapedUplinksAreSlow(t *testing.T) {
	c := cluster(t)
	const size, mbit = 4 << 20, 16
	put(t, c, "/slow", make([]byte, size))
	read := func() time.Duration {
		t.Helper()
		start := time.Now()
		req, err := http.NewRequestWithContext(within(t, time.Minute), http.MethodGet, c.NNURL()+"/webhdfs/v1/slow?op=OPEN", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if n, err := io.Copy(io.Discard, resp.Body); n != size || err != nil {
			t.Fatalf("read %d bytes of %d: %v", n, size, err)
		}
		return time.Since(start)
	}
	if err := c.Shape(mbit); err != nil {
		t.Fatal(err)
	}
	slow := read()
	if err := c.Shape(0); err != nil {
		t.Fatal(err)
	}
	fast := read()
	// 4 MiB less the bucket of 256 KiB at 2 MB/s.
	if least := 1900 * time.Millisecond; slow < least || fast >= slow {
		t.Errorf("%d bytes took %v at %d Mbit/s and %v without a limit, want at least %v and less", size, slow, mbit, fast, least)
	}
}

// runningMaps is the application that runs, and how many of its maps do. The
// ApplicationMaster tells, through the ResourceManager's proxy.
func runningMaps(ctx context.Context, c *hadoop.Cluster) (app string, maps int, err error) {
	var answer struct {
		Apps struct{ App []struct{ ID string } }
	}
	if err := c.GetJSON(ctx, c.RMURL()+"/ws/v1/cluster/apps?states=RUNNING", &answer); err != nil {
		return "", 0, err
	}
	if n := len(answer.Apps.App); n != 1 {
		return "", 0, fmt.Errorf("%d applications run", n)
	}
	app = answer.Apps.App[0].ID
	var jobs struct {
		Jobs struct {
			Job []struct{ RunningMapAttempts int }
		}
	}
	if err := c.GetJSON(ctx, c.RMURL()+"/proxy/"+app+"/ws/v1/mapreduce/jobs", &jobs); err != nil {
		return "", 0, err
	}
	if len(jobs.Jobs.Job) == 1 {
		maps = jobs.Jobs.Job[0].RunningMapAttempts
	}
	return app, maps, nil
}

// finished is a job's id and how its client ended.
type finished struct {
	job string
	err error
}

func TestRunningJobSurvivesResourceManagerRestart(t *testing.T) {
	c := cluster(t)
	done := make(chan finished, 1)
	ctx := within(t, 3*time.Minute)
	go func() {
		job, err := c.SleepJob(ctx, "-m", "2", "-r", "1", "-mt", "20000", "-rt", "1000")
		done <- finished{job, err}
	}()
	var app string
	eventually(t, time.Minute, "a running job", func(ctx context.Context) error {
		id, maps, err := runningMaps(ctx, c)
		if err == nil && maps != 2 {
			return fmt.Errorf("%d maps run", maps)
		}
		app = id
		return err
	})
	if err := c.KillDaemon(hadoop.ResourceManager, hadoop.Master); err != nil {
		t.Fatal(err)
	}
	if err := c.StartDaemon(hadoop.ResourceManager, hadoop.Master); err != nil {
		t.Fatal(err)
	}
	end := <-done
	if end.err != nil {
		t.Fatal(end.err)
	}
	if want := strings.Replace(end.job, "job_", "application_", 1); app != want {
		t.Errorf("%s ran before the restart, %s after", app, want)
	}
	var attempts struct {
		AppAttempts struct{ AppAttempt []struct{ ID int } }
	}
	if err := c.GetJSON(ctx, c.RMURL()+"/ws/v1/cluster/apps/"+app+"/appattempts", &attempts); err != nil {
		t.Fatal(err)
	}
	if n := len(attempts.AppAttempts.AppAttempt); n != 1 {
		t.Errorf("the application needed %d attempts, want 1", n)
	}
	if n := jobCounters(t, c, end.job)["JobCounter"]["TOTAL_LAUNCHED_MAPS"].Total; n != 2 {
		t.Errorf("%d maps were launched, want 2: work was lost", n)
	}
}

func TestKilledNodeManagerIsLostAndComesBack(t *testing.T) {
	c := cluster(t)
	const host = "w32"
	if err := c.KillDaemon(hadoop.NodeManager, host); err != nil {
		t.Fatal(err)
	}
	becomes := func(state string) {
		t.Helper()
		eventually(t, time.Minute, host+" becomes "+state, func(ctx context.Context) error {
			nodes, err := rmNodes(ctx, c)
			if err == nil && nodes[host].State != state {
				return fmt.Errorf("it is %s", nodes[host].State)
			}
			return err
		})
	}
	becomes("LOST")
	if err := c.StartDaemon(hadoop.NodeManager, host); err != nil {
		t.Fatal(err)
	}
	becomes("RUNNING")
}

func TestNameNodeRestartKeepsTheFiles(t *testing.T) {
	c := cluster(t)
	put(t, c, "/kept", []byte("some bytes"))
	before, err := c.Fsck(within(t, time.Minute), "/kept")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.StopDaemon(hadoop.NameNode, hadoop.Master); err != nil {
		t.Fatal(err)
	}
	if resp, err := http.Get(c.NNURL() + "/jmx"); err == nil {
		_ = resp.Body.Close()
		t.Error("a stopped NameNode answers")
	}
	if err := c.StartDaemon(hadoop.NameNode, hadoop.Master); err != nil {
		t.Fatal(err)
	}
	if err := c.WaitHealthy(within(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
	after, err := c.Fsck(within(t, time.Minute), "/kept")
	if err != nil {
		t.Fatal(err)
	}
	byAddr := cmp.Transformer("byAddr", func(rs []hadoop.FsckReplica) map[hadoop.FsckReplica]bool {
		set := make(map[hadoop.FsckReplica]bool)
		for _, r := range rs {
			set[r] = true
		}
		return set
	})
	if diff := cmp.Diff(before, after, byAddr); diff != "" {
		t.Error(diff)
	}
}

func TestFairScheduler(t *testing.T) {
	c := cluster(t)
	ctx := within(t, 4*time.Minute)
	if err := c.SetScheduler(ctx, hadoop.Fair); err != nil {
		t.Fatal(err)
	}
	var sched struct {
		Scheduler struct{ SchedulerInfo struct{ Type string } }
	}
	if err := c.GetJSON(ctx, c.RMURL()+"/ws/v1/cluster/scheduler", &sched); err != nil {
		t.Fatal(err)
	}
	if sched.Scheduler.SchedulerInfo.Type != "fairScheduler" {
		t.Errorf("the scheduler is %+v", sched)
	}
	s := startService(t, c)
	job, err := c.SleepJob(ctx, "-Dmapreduce.job.queuename=root.batch", "-m", "1", "-r", "1", "-mt", "100", "-rt", "100")
	if err != nil {
		t.Fatal(err)
	}
	var app struct {
		App struct{ Queue, FinalStatus string }
	}
	url := c.RMURL() + "/ws/v1/cluster/apps/" + strings.Replace(job, "job_", "application_", 1)
	if err := c.GetJSON(ctx, url, &app); err != nil {
		t.Fatal(err)
	}
	if app.App.Queue != "root.batch" || app.App.FinalStatus != "SUCCEEDED" {
		t.Errorf("the job ended as %+v, want SUCCEEDED in root.batch", app.App)
	}
	eventually(t, time.Minute, "heddle sees the same", func(ctx context.Context) error {
		var seen state.ClusterView
		if err := s.get(ctx, "/v1/cluster", &seen); err != nil {
			return err
		}
		a, err := s.app(ctx, job)
		if err == nil && (seen.Scheduler != "fairScheduler" || len(seen.Queues) != 2 || a.Queue != "root.batch" || a.State != model.AppFinished) {
			err = fmt.Errorf("cluster %+v, application %+v", seen, a.App)
		}
		return err
	})
	if err := c.SetScheduler(ctx, hadoop.Capacity); err != nil {
		t.Fatal(err)
	}
}

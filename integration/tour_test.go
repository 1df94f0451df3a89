//go:build linux

package integration

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/core/model"
	"heddle/core/state/snapshot"
	"heddle/integration/hadoop"
)

// TestTour checks every promise of heddle once, against one cluster and with one
// heddle in mode enforce, in a few minutes: what `make test` runs of this
// package. The other tests of the package try the same promises harder.
func TestTour(t *testing.T) {
	c := cluster(t)
	s := startConfigured(t, c, relaySettings(t, c, "enforce"))
	t.Run("heddle sees the cluster", func(t *testing.T) { seesCluster(t, c, s) })
	t.Run("blocks equal fsck", func(t *testing.T) { blocksEqualFsck(t, c, s) })
	t.Run("a terasort is steered and followed", func(t *testing.T) { steersAndFollows(t, c, s) })
	t.Run("the relay is killed", func(t *testing.T) { survivesKills(t, c, s, 2) })
}

// seesCluster checks that nodes, memory, vcores and containers per rack equal
// the ResourceManager's.
func seesCluster(t *testing.T, c *hadoop.Cluster, s *service) {
	t.Helper()
	type load struct{ nodes, memory, vcores, containers int }
	var answer struct {
		Nodes struct {
			Node []struct {
				Rack                                                         string
				UsedMemoryMB, AvailMemoryMB, UsedVirtualCores, NumContainers int
				AvailableVirtualCores                                        int
			}
		}
	}
	eventually(t, 20*time.Second, "heddle's racks equal the ResourceManager's", func(ctx context.Context) error {
		if err := c.GetJSON(ctx, c.RMURL()+"/ws/v1/cluster/nodes", &answer); err != nil {
			return err
		}
		want, got := map[string]load{}, map[string]load{}
		for _, n := range answer.Nodes.Node {
			l := want[n.Rack]
			want[n.Rack] = load{l.nodes + 1, l.memory + n.UsedMemoryMB + n.AvailMemoryMB, l.vcores + n.UsedVirtualCores + n.AvailableVirtualCores, l.containers + n.NumContainers}
		}
		var racks struct{ Racks []snapshot.Rack }
		if err := s.get(ctx, "/v1/racks", &racks); err != nil {
			return err
		}
		for _, r := range racks.Racks {
			all := 0
			for _, n := range r.Containers {
				all += n
			}
			got[string(r.ID)] = load{r.Nodes[model.NodeRunning], int(r.Total.MemoryMiB), int(r.Total.VCores), all}
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(load{})); diff != "" {
			return fmt.Errorf("(-ResourceManager +heddle):\n%s", diff)
		}
		return nil
	})
}

// blocksEqualFsck checks that block locations and racks equal those that
// fsck -files -blocks -locations -racks prints, block by block.
func blocksEqualFsck(t *testing.T, c *hadoop.Cluster, s *service) {
	t.Helper()
	put(t, c, "/located", make([]byte, 7<<20), "-Ddfs.blocksize="+strconv.Itoa(1<<20), "-Ddfs.replication=3")
	files, err := c.Fsck(withTimeout(t, time.Minute), "/located")
	if err != nil || len(files) != 1 {
		t.Fatalf("fsck: %d files, %v", len(files), err)
	}
	var answer struct{ Blocks []model.Block }
	if err := s.get(withTimeout(t, time.Minute), "/v1/blocks?path=/located", &answer); err != nil {
		t.Fatal(err)
	}
	host := map[string]string{}
	for _, h := range c.Hosts() {
		host[c.Addr(h)] = h
	}
	var want, got [][]string
	for _, b := range files[0].Blocks {
		one := []string{strconv.FormatInt(b.Len, 10)}
		for _, r := range b.Replicas {
			ip, _, _ := net.SplitHostPort(r.Addr)
			if r.Rack != c.RackOf(host[ip]) {
				t.Errorf("%s: replica %+v, but %s is on %s", b.ID, r, host[ip], c.RackOf(host[ip]))
			}
			one = append(one, r.Rack+"/"+host[ip])
		}
		slices.Sort(one[1:])
		want = append(want, one)
	}
	for _, b := range answer.Blocks {
		one := []string{strconv.FormatInt(int64(b.Length), 10)}
		for i := range b.Hosts {
			one = append(one, string(b.Racks[i])+"/"+b.Hosts[i])
		}
		slices.Sort(one[1:])
		got = append(got, one)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-fsck +heddle):\n%s", diff)
	}
}

// steersAndFollows sends a terasort of input on one rack through the relay. Its
// reduces must run where the policy planned them, and heddle's map output by rack
// must equal that of the JobHistory server.
func steersAndFollows(t *testing.T, c *hadoop.Cluster, s *service) {
	t.Helper()
	if err := c.TeraInput(withTimeout(t, time.Minute), "/toured", c.HostsOf("/rack2"), 2, 4_000_000); err != nil {
		t.Fatal(err)
	}
	job := runThroughRelay(t, c, "terasort", []string{"-Dmapreduce.job.reduces=3", "/toured", "OUT"}, 0)
	if l := reducesOf(t, c, s, job); l.total != 3 || l.asPlanned != l.total {
		t.Errorf("%d of %d reduces ran on the rack planned for them, want 3 of 3", l.asPlanned, l.total)
	}
	if r := s.relayStatus(withTimeout(t, 10*time.Second)); r.Counts.Rewritten[model.ActionPin] == 0 || r.Counts.Rewritten[model.ActionTrim] == 0 {
		t.Errorf("the relay rewrote %v, want pins and trims", r.Counts.Rewritten)
	}
	var seen *application
	eventually(t, 2*time.Minute, "the job's last facts", func(ctx context.Context) (err error) {
		seen, err = s.completeApp(ctx, job)
		return err
	})
	attempts, err := c.Attempts(withTimeout(t, time.Minute), job)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(byRack(attempts, "MAP", "MAP_OUTPUT_MATERIALIZED_BYTES"), seen.MapOutput.ByRack); diff != "" {
		t.Errorf("map output by rack (-JobHistory +heddle):\n%s", diff)
	}
}

// survivesKills kills heddle with kill -9 and starts it again, so many times,
// under jobs that know nothing but the relay. All of them must succeed. It
// returns how long the slowest took.
func survivesKills(t *testing.T, c *hadoop.Cluster, s *service, kills int) (longest time.Duration) {
	t.Helper()
	for killed := 0; killed < kills; {
		done := startJob(t, c, throughRelay(c), "sleep", slowJob()...)
		s.waitPinned(t)
		for len(done) == 0 && killed < kills {
			s.kill()
			killed++
			time.Sleep(time.Duration(200+rand.IntN(800)) * time.Millisecond) // down for a moment
			s.launch()
			time.Sleep(time.Duration(1500+rand.IntN(2500)) * time.Millisecond) // up, for a heartbeat or three
		}
		_, took := waitSucceeded(t, c, done, fmt.Sprintf("after %d kills", killed))
		longest = max(longest, took)
	}
	return longest
}

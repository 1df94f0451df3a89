//go:build linux

package integration

import (
	"context"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/integration/hadoop"
)

// The tests of this file check what only the lab can get wrong: racks, names,
// input where it was asked for, and the rate of uplinks. That Hadoop works is
// seen by every other test.

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
	ctx := withTimeout(t, time.Minute)
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
	if _, err := c.FS(withTimeout(t, time.Minute), append(options, "-put", local, path)...); err != nil {
		t.Fatal(err)
	}
}

// TestInputLiesWhereAsked: files that a test writes have one block with one
// replica, on the host that the test names.
func TestInputLiesWhereAsked(t *testing.T) {
	c := cluster(t)
	const size = 1_000_000
	if err := c.TeraInput(withTimeout(t, 2*time.Minute), "/placed", c.HostsOf("/rack2"), 3, size+99); err != nil {
		t.Fatal(err)
	}
	files, err := c.Fsck(withTimeout(t, time.Minute), "/placed")
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]int)
	for _, f := range files {
		if f.Size != size || len(f.Blocks) != 1 || len(f.Blocks[0].Replicas) != 1 {
			t.Errorf("%+v, want %d bytes in one block with one replica", f, size)
			continue
		}
		addr, _, _ := net.SplitHostPort(f.Blocks[0].Replicas[0].Addr)
		got[addr]++
	}
	if diff := cmp.Diff(map[string]int{c.Addr("w21"): 3, c.Addr("w22"): 3}, got); diff != "" {
		t.Errorf("files by address (-want +got):\n%s", diff)
	}
}

func TestShapedUplinksAreSlow(t *testing.T) {
	c := cluster(t)
	const size, mbit = 4 << 20, 16
	put(t, c, "/slow", make([]byte, size))
	read := func() time.Duration {
		t.Helper()
		start := time.Now()
		req, err := http.NewRequestWithContext(withTimeout(t, time.Minute), http.MethodGet, c.NNURL()+"/webhdfs/v1/slow?op=OPEN", nil)
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
	fast := min(read(), read(), read()) // a busy machine may make one of them slow
	// 4 MiB less the bucket of 256 KiB at 2 MB/s.
	if least := 1900 * time.Millisecond; slow < least || fast >= slow {
		t.Errorf("%d bytes took %v at %d Mbit/s and %v without a limit, want at least %v and less", size, slow, mbit, fast, least)
	}
}

// jobResult is a job's id and how its client ended.
type jobResult struct {
	job string
	err error
}

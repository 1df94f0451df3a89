//go:build linux

package integration

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/core/model"
	"heddle/hdfsclient"
	"heddle/integration/hadoop"
)

// The test of this file reads block locations from a real NameNode in three
// ways, holds them against each other and takes the time of each.

// tree is the files of one directory, all of them with three replicas.
type tree struct {
	dir    string
	files  int // most of them in one subdirectory, whose listing has several pages where they are many
	blocks int // of each file
}

// listingBlock is the size of a block in bytes, the least that the cluster takes.
const listingBlock = 64 << 10

// listingTrees are those of the suite, and larger ones where runs are asked for.
func listingTrees() []tree {
	if os.Getenv("HEDDLE_RUNS") == "" {
		return []tree{{"/listings/small", 400, 1}, {"/listings/large", 2, 50}}
	}
	return []tree{{"/listings/small", 2000, 1}, {"/listings/large", 4, 400}}
}

// write makes the tree below a local directory. Neighbours differ in length,
// so that blocks under another file's name are noticed.
func (tr tree) write(t *testing.T, local string) {
	t.Helper()
	content := make([]byte, tr.blocks*listingBlock)
	for i := range tr.files {
		below := filepath.Join(local, filepath.Base(tr.dir), fmt.Sprintf("d%02d", i/(tr.files*7/8)))
		if err := os.MkdirAll(below, 0o750); err != nil {
			t.Fatal(err)
		}
		size := (tr.blocks-1)*listingBlock + 1 + i%997
		if err := os.WriteFile(filepath.Join(below, fmt.Sprintf("part-%05d", i)), content[:size], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(local, filepath.Base(tr.dir), "d00", "without"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestListings: a walk that reads blocks with the listings over Hadoop RPC, one
// over WebHDFS and one of Hadoop's own client find the same blocks, which are
// those of fsck. The first takes no request for each file. What each takes is logged.
func TestListings(t *testing.T) {
	c := cluster(t)
	hadoop.Require(t, hadoop.Spark)
	local := t.TempDir()
	trees := listingTrees()
	for _, tr := range trees {
		tr.write(t, local)
	}
	began := time.Now()
	put := []string{"-Ddfs.replication=3", fmt.Sprintf("-Ddfs.blocksize=%d", listingBlock), "-put", "-d", "-t", "8", local, "/listings"}
	if _, err := c.FS(withTimeout(t, 10*time.Minute), put...); err != nil {
		t.Fatal(err)
	}
	written := time.Since(began)
	java, err := c.StartLister(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := java.Close(); err != nil {
			t.Error(err)
		}
	}()
	reported := fsckBlocks(t, c, "/listings")
	t.Logf("%d blocks written in %.1f s, checked in %.1f s", len(reported), written.Seconds(), (time.Since(began) - written).Seconds())
	for _, tr := range trees {
		t.Run(filepath.Base(tr.dir), func(t *testing.T) {
			w := listingWalks{tree: tr, java: java, rpc: locator(t, c, hdfsclient.WalkRPC), web: locator(t, c, hdfsclient.WalkWebHDFS)}
			w.equal(t, reported)
			w.measure(t)
		})
	}
}

// locator is a client of the cluster's NameNode whose cache holds nothing.
func locator(t *testing.T, c *hadoop.Cluster, walk string) *hdfsclient.Client {
	t.Helper()
	client, err := hdfsclient.New(hdfsclient.Config{
		NameNodes: []string{c.NNURL()}, RPCAddresses: []string{net.JoinHostPort(hadoop.Master, "8020")},
		User: "root", Walk: walk, CacheBlocks: 1, Interval: time.Hour,
	}, hdfsclient.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return client
}

// listingWalks are the ways to read one tree.
type listingWalks struct {
	tree
	java     *hadoop.Lister
	rpc, web *hdfsclient.Client
}

// equal fails unless all ways find the blocks of the tree that fsck reports.
func (w listingWalks) equal(t *testing.T, reported []hadoop.ListedBlock) {
	t.Helper()
	want, err := w.java.Show(w.dir)
	if err != nil {
		t.Fatal(err)
	}
	reported = slices.DeleteFunc(slices.Clone(reported), func(b hadoop.ListedBlock) bool { return !strings.HasPrefix(b.Path, w.dir+"/") })
	if len(reported) != w.files*w.blocks {
		t.Fatalf("fsck finds %d blocks, want %d", len(reported), w.files*w.blocks)
	}
	if diff := cmp.Diff(reported, want); diff != "" {
		t.Fatalf("(-fsck +Hadoop's client):\n%s", diff)
	}
	byPath := make(map[string][]hadoop.ListedBlock)
	for i := range want {
		want[i].ID = "" // heddle keeps none
		byPath[want[i].Path] = append(byPath[want[i].Path], want[i])
	}
	for name, client := range map[string]*hdfsclient.Client{"RPC": w.rpc, "WebHDFS": w.web} {
		before := client.Usage().Requests
		fact, err := client.Blocks(withTimeout(t, time.Minute), w.dir)
		if err != nil {
			t.Fatal(name, err)
		}
		if fact.Files != w.files+1 || fact.Truncated { // with the empty one
			t.Errorf("%s: %d files, truncated %v, want all %d", name, fact.Files, fact.Truncated, w.files+1)
		}
		if asked := client.Usage().Requests - before; client == w.rpc && w.files > 100 && asked > int64(w.files)/10 {
			t.Errorf("%s: %d requests for %d files: their locations did not come with the listings", name, asked, w.files)
		}
		// A walk gives blocks in the order of the names, without the names.
		got := listed(fact.Blocks)
		for i := range min(len(got), len(want)) {
			got[i].Path = want[i].Path
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-Hadoop's client +heddle):\n%s", name, diff)
		}
		for i := 0; i < len(want); i += max(1, len(want)/50) {
			path := want[i].Path
			blocks, err := client.BlockLocations(withTimeout(t, time.Minute), path)
			if err != nil {
				t.Fatal(name, err)
			}
			got := listed(blocks)
			for i := range got {
				got[i].Path = path
			}
			if diff := cmp.Diff(byPath[path], got); diff != "" {
				t.Fatalf("%s of %s (-Hadoop's client +heddle):\n%s", name, path, diff)
			}
		}
	}
}

// listed is blocks in the form of Hadoop's client, without path and id.
func listed(blocks []model.Block) []hadoop.ListedBlock {
	all := make([]hadoop.ListedBlock, len(blocks))
	for i, b := range blocks {
		all[i] = hadoop.ListedBlock{Offset: int64(b.Offset), Len: int64(b.Length)}
		for j := range b.Hosts {
			all[i].Hosts = append(all[i].Hosts, string(b.Racks[j])+"/"+b.Hosts[j])
		}
		slices.Sort(all[i].Hosts)
	}
	return all
}

// fsckBlocks is the blocks below a directory that fsck reports, by path, when each
// has its three replicas: the last ones are reported after a file is closed.
func fsckBlocks(t *testing.T, c *hadoop.Cluster, dir string) (all []hadoop.ListedBlock) {
	t.Helper()
	host := map[string]string{}
	for _, h := range c.Hosts() {
		host[c.Addr(h)] = h
	}
	eventually(t, 2*time.Minute, "three replicas of every block", func(ctx context.Context) error {
		files, err := c.Fsck(ctx, dir)
		all = nil
		for _, f := range files {
			var offset int64
			for _, b := range f.Blocks {
				if len(b.Replicas) != 3 {
					return fmt.Errorf("%s: %+v", f.Path, b)
				}
				one := hadoop.ListedBlock{Path: f.Path, ID: b.ID, Offset: offset, Len: b.Len}
				for _, r := range b.Replicas {
					ip, _, _ := net.SplitHostPort(r.Addr)
					one.Hosts = append(one.Hosts, r.Rack+"/"+host[ip])
				}
				slices.Sort(one.Hosts)
				all = append(all, one)
				offset += b.Len
			}
		}
		slices.SortStableFunc(all, func(a, b hadoop.ListedBlock) int { return strings.Compare(a.Path, b.Path) })
		return err
	})
	return all
}

// listingRuns is how many walks are measured in each way, unless HEDDLE_RUNS
// says otherwise; as many go before that to warm up.
const listingRuns = 3

// measure logs what a walk of the tree takes in each way, in turns.
func (w listingWalks) measure(t *testing.T) {
	t.Helper()
	timed := func(client *hdfsclient.Client) func() (hadoop.Listed, error) {
		return func() (hadoop.Listed, error) {
			began := time.Now()
			fact, err := client.Blocks(t.Context(), w.dir)
			return hadoop.Listed{Took: time.Since(began), Files: fact.Files, Blocks: len(fact.Blocks)}, err
		}
	}
	ways := []struct {
		name string
		walk func() (hadoop.Listed, error)
	}{
		{"heddle RPC", timed(w.rpc)},
		{"heddle WebHDFS", timed(w.web)},
		{"Hadoop's client", func() (hadoop.Listed, error) { return w.java.Walk(w.dir) }},
	}
	rounds := repetitions(t, listingRuns)
	took := make([][]float64, len(ways)) // ms
	for round := range 2 * rounds {
		for i := range ways {
			way := (i + round) % len(ways) // who comes after whom changes
			one, err := ways[way].walk()
			if err != nil {
				t.Fatal(ways[way].name, err)
			}
			if one.Files != w.files+1 || one.Blocks != w.files*w.blocks {
				t.Fatalf("%s: %d files and %d blocks, want %d and %d", ways[way].name, one.Files, one.Blocks, w.files+1, w.files*w.blocks)
			}
			if round >= rounds {
				took[way] = append(took[way], 1000*one.Took.Seconds())
			}
		}
	}
	var b bytes.Buffer
	for i := range ways {
		against := make([]float64, rounds)
		for k := range against {
			against[k] = took[i][k] / took[0][k]
		}
		fmt.Fprintf(&b, "| %s | %d | %s | %.0f | %.2f |\n", ways[i].name, rounds, spread(took[i]), 1000*float64(w.files*w.blocks)/median(took[i]), median(against))
	}
	t.Logf("%d files of %d blocks:\n| way | walks | ms: median (least to most) | blocks/s | time against RPC, median of the rounds |\n|:--|--:|:--|--:|--:|\n%s",
		w.files, w.blocks, &b)
}

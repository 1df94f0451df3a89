package hdfsclient

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"heddle/core/model"
	"heddle/core/state"
)

// serveWalk serves a directory of files with so many blocks each, as recorded,
// from answers made beforehand, on loopback.
func serveWalk(b *testing.B, op string, files, blocks int) string {
	b.Helper()
	f := newFake(b)
	for i := range files {
		f.put(fmt.Sprintf("/d/part-m-%05d", i), blocks)
	}
	if op == "GET_BLOCK_LOCATIONS" {
		f.unknown = []string{"GETFILEBLOCKLOCATIONS"}
	}
	body := f.locations(op, 0, int64(blocks))
	f.override = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Get("op") != op {
			return false
		}
		reply(w, 200, body)
		return true
	}
	server := httptest.NewServer(f)
	b.Cleanup(server.Close)
	return server.URL
}

// BenchmarkWalk100kBlocks walks a directory, reads the locations of its 100,000
// blocks over loopback, makes the observation of them and applies it to a
// cluster state in which a job reads that directory, with nothing in the
// client's cache. The server runs in the same process and its time counts too.
func BenchmarkWalk100kBlocks(b *testing.B) {
	for _, bb := range []struct {
		op            string
		files, blocks int
	}{
		{"GETFILEBLOCKLOCATIONS", 100, 1000},
		{"GETFILEBLOCKLOCATIONS", 2000, 50},
		{"GET_BLOCK_LOCATIONS", 100, 1000},
	} {
		b.Run(fmt.Sprintf("%s/%dx%d", strings.ToLower(bb.op), bb.files, bb.blocks), func(b *testing.B) {
			url := serveWalk(b, bb.op, bb.files, bb.blocks)
			b.ReportAllocs()
			for b.Loop() {
				c, err := New(Config{NameNodes: []string{url}}, Options{})
				if err != nil {
					b.Fatal(err)
				}
				fact, err := c.Blocks(b.Context(), "/d")
				if err != nil || len(fact.Blocks) != bb.files*bb.blocks {
					b.Fatal(len(fact.Blocks), err)
				}
				cluster := readingJob()
				cluster.Apply(model.Observation{Source: model.SourceHDFS, At: 2000, Fact: fact})
				if err := c.Close(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(bb.files*bb.blocks*b.N)/b.Elapsed().Seconds(), "blocks/s")
		})
	}
}

// readingJob is a cluster state with one job that reads /d.
func readingJob() *state.Cluster {
	c := state.New(state.DefaultConfig())
	job := model.AppID("application_1_0001")
	for _, fact := range []model.Fact{
		model.AppsFact{Apps: []model.App{{ID: job, Type: "MAPREDUCE", State: model.AppRunning}}},
		model.JobConfFact{App: job, Inputs: []string{"/d"}},
	} {
		c.Apply(model.Observation{Source: model.SourceRM, At: 1000, Fact: fact})
	}
	return c
}

// BenchmarkDecode reads one answer of 1,000 blocks.
func BenchmarkDecode(b *testing.B) {
	for _, op := range []string{"GETFILEBLOCKLOCATIONS", "GET_BLOCK_LOCATIONS"} {
		b.Run(strings.ToLower(op), func(b *testing.B) {
			body := newFake(b).locations(op, 0, 1000)
			d := newDecoder()
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if blocks, err := d.decode(body); err != nil || len(blocks) != 1000 {
					b.Fatal(len(blocks), err)
				}
			}
			b.ReportMetric(float64(1000*b.N)/b.Elapsed().Seconds(), "blocks/s")
		})
	}
}

// BenchmarkCachedPath copies the fact of 100,000 blocks out of the cache.
func BenchmarkCachedPath(b *testing.B) {
	c, err := New(Config{NameNodes: []string{serveWalk(b, "GETFILEBLOCKLOCATIONS", 100, 1000)}}, Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Close() })
	if _, err := c.Blocks(b.Context(), "/d"); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if fact, err := c.Blocks(b.Context(), "/d"); err != nil || len(fact.Blocks) != 100_000 {
			b.Fatal(len(fact.Blocks), err)
		}
	}
}

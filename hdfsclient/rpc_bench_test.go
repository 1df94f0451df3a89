package hdfsclient

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"syscall"
	"testing"
	"time"

	"heddle/yarnproxy/rest"
)

// keepAnswers makes each answer of a NameNode once.
func keepAnswers(f *fakeNameNode) http.Handler {
	var mu sync.Mutex
	kept := map[string][]byte{}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := r.URL.String()
		mu.Lock()
		body, ok := kept[key]
		mu.Unlock()
		if !ok {
			answer := httptest.NewRecorder()
			f.ServeHTTP(answer, r)
			body = answer.Body.Bytes()
			mu.Lock()
			kept[key] = body
			mu.Unlock()
		}
		reply(w, http.StatusOK, body)
	})
}

// processorTime is what this process has used of the processors, which other work on
// the machine changes less than the time on the clock.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkWalks reads all blocks of a directory over loopback with nothing
// cached, over RPC and over WebHDFS, from answers made beforehand. The servers
// run in the same process and their time counts too.
func BenchmarkWalks(b *testing.B) {
	for _, bb := range []struct{ files, blocks int }{{100, 1000}, {2000, 50}, {10_000, 1}, {100_000, 1}} {
		for _, way := range []string{WalkRPC, WalkWebHDFS} {
			b.Run(fmt.Sprintf("%dx%d/%s", bb.files, bb.blocks, way), func(b *testing.B) {
				f := newFake(b)
				for i := range bb.files {
					f.put(fmt.Sprintf("/d/part-m-%06d", i), bb.blocks)
				}
				n := newRPCNameNode(b, f)
				n.limit, n.kept = 1000, map[string][]byte{} // dfs.ls.limit
				server := httptest.NewServer(keepAnswers(f))
				b.Cleanup(server.Close)
				cfg := Config{
					NameNodes: []string{server.URL}, Walk: way, User: "heddle", RPCAddresses: []string{n.listener.Addr().String()},
					Timeout: time.Minute, MaxFiles: bb.files,
				}
				var usage rest.Usage
				walk := func() {
					c, err := New(cfg, Options{})
					if err != nil {
						b.Fatal(err)
					}
					fact, err := c.Blocks(b.Context(), "/d")
					if err != nil || len(fact.Blocks) != bb.files*bb.blocks {
						b.Fatal(len(fact.Blocks), err)
					}
					usage = c.Usage()
					if err := c.Close(); err != nil {
						b.Fatal(err)
					}
				}
				walk() // makes the answers
				b.ReportAllocs()
				began := processorTime(b)
				for b.Loop() {
					walk()
				}
				b.ReportMetric((processorTime(b)-began).Seconds()/float64(b.N), "cpu-s")
				b.ReportMetric(float64(bb.files*bb.blocks*b.N)/b.Elapsed().Seconds(), "blocks/s")
				b.ReportMetric(float64(usage.Requests), "requests")
				b.ReportMetric(float64(usage.Bytes)/1e6, "MB-received")
			})
		}
	}
}

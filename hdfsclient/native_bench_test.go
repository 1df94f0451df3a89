package hdfsclient

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"
)

// BenchmarkNativeDecode reads the same 1,000 blocks in each of the three forms
// they come in: as a listing over native RPC, and as the two of WebHDFS. The
// forms take turns and medians are reported, so that what else the machine does
// meets all of them alike.
func BenchmarkNativeDecode(b *testing.B) {
	f := newFake(b)
	f.put("/d/f", 1000)
	listing := bytesField(nil, 1, newNativeNameNode(b, f).list("/d", "", true))
	newer, older := f.locations("GETFILEBLOCKLOCATIONS", 0, 1000), f.locations("GET_BLOCK_LOCATIONS", 0, 1000)
	forms := []struct {
		name   string
		decode func(*decoder) (int, error)
	}{
		{"getlisting", func(d *decoder) (int, error) {
			p, err := d.listing(listing, "/d")
			if err != nil || len(p.entries) != 1 {
				return 0, err
			}
			return len(p.entries[0].located), nil
		}},
		{"getfileblocklocations", func(d *decoder) (int, error) { return decodeJSON(d, newer) }},
		{"get_block_locations", func(d *decoder) (int, error) { return decodeJSON(d, older) }},
	}
	took := make([][]time.Duration, len(forms))
	d := newDecoder()
	for b.Loop() {
		for i, form := range forms {
			began := time.Now()
			if n, err := form.decode(d); err != nil || n != 1000 {
				b.Fatal(n, err)
			}
			took[i] = append(took[i], time.Since(began))
		}
	}
	for i, form := range forms {
		slices.Sort(took[i])
		b.ReportMetric(1000/took[i][len(took[i])/2].Seconds(), form.name+"-blocks/s")
	}
	b.ReportMetric(float64(len(listing))/1000, "getlisting-B/block")
	b.ReportMetric(float64(len(newer))/1000, "getfileblocklocations-B/block")
	b.ReportMetric(float64(len(older))/1000, "get_block_locations-B/block")
}

func decodeJSON(d *decoder, body []byte) (int, error) {
	blocks, err := d.decode(body)
	return len(blocks), err
}

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

// BenchmarkNativeWalk reads all blocks of a directory over loopback with
// nothing cached, natively and over WebHDFS, from answers made beforehand. The
// servers run in the same process and their time counts too.
func BenchmarkNativeWalk(b *testing.B) {
	for _, bb := range []struct{ files, blocks int }{{100, 1000}, {2000, 50}, {10_000, 1}} {
		for _, way := range []string{WalkNative, WalkWebHDFS} {
			b.Run(fmt.Sprintf("%dx%d/%s", bb.files, bb.blocks, way), func(b *testing.B) {
				f := newFake(b)
				for i := range bb.files {
					f.put(fmt.Sprintf("/d/part-m-%05d", i), bb.blocks)
				}
				n := newNativeNameNode(b, f)
				n.limit, n.kept = 1000, map[string][]byte{} // dfs.ls.limit
				server := httptest.NewServer(keepAnswers(f))
				b.Cleanup(server.Close)
				cfg := Config{NameNodes: []string{server.URL}, Walk: way, User: "heddle", RPCAddresses: []string{n.listener.Addr().String()}, Timeout: time.Minute}
				walk := func() {
					c, err := New(cfg, Options{})
					if err != nil {
						b.Fatal(err)
					}
					fact, err := c.Blocks(b.Context(), "/d")
					if err != nil || len(fact.Blocks) != bb.files*bb.blocks {
						b.Fatal(len(fact.Blocks), err)
					}
					if err := c.Close(); err != nil {
						b.Fatal(err)
					}
				}
				walk() // makes the answers
				b.ReportAllocs()
				for b.Loop() {
					walk()
				}
				b.ReportMetric(float64(bb.files*bb.blocks*b.N)/b.Elapsed().Seconds(), "blocks/s")
			})
		}
	}
}

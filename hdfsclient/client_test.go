package hdfsclient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"heddle/core/model"
	"heddle/yarnproxy/rest"
)

var _ BlockLocator = (*Client)(nil)

func TestBlockLocations(t *testing.T) {
	t.Parallel()
	for _, unknown := range []string{"", "GETFILEBLOCKLOCATIONS"} {
		f := newFake(t)
		f.put("/data/x10", 10)
		f.put("/data/empty", 0)
		f.unknown = []string{unknown}
		c := client(t, Config{User: "heddle"}, f)
		file := "GETFILEBLOCKLOCATIONS-x10.json"
		if unknown != "" {
			file = "GET_BLOCK_LOCATIONS-x10.json"
		}
		want, err := newDecoder().decode(recording(t, file))
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			got, err := c.BlockLocations(t.Context(), "hdfs://nn1/data/x10")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("without %q (-want +got):\n%s", unknown, diff)
			}
		}
		if got, err := c.BlockLocations(t.Context(), "/data/empty"); err != nil || len(got) != 0 {
			t.Errorf("an empty file: %v, %v", got, err)
		}
		if n := f.count("GETFILEBLOCKLOCATIONS"); unknown != "" && n != 1 {
			t.Errorf("an unknown operation was tried %d times", n)
		}
		if n := f.count("GET_BLOCK_LOCATIONS"); unknown == "" && n != 0 {
			t.Errorf("the older operation was asked %d times for no reason", n)
		}
	}
}

func TestBlockLocationsOperationUnknownEverywhere(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.put("/x", 1)
	f.unknown = []string{"GETFILEBLOCKLOCATIONS", "GET_BLOCK_LOCATIONS"}
	_, err := client(t, Config{}, f).BlockLocations(t.Context(), "/x")
	if !isUnknownOperation(err) || pollResult(err) != model.PollError {
		t.Errorf("got %v, %s", err, pollResult(err))
	}
}

// TestTypedErrors maps each answer of the NameNode to its error.
func TestTypedErrors(t *testing.T) {
	t.Parallel()
	is := func(target error) func(error) bool {
		return func(err error) bool { return errors.Is(err, target) }
	}
	tests := []struct {
		name   string
		status int
		body   string
		result model.PollResult
		is     func(error) bool
		says   string
	}{
		{"permission denied", 403, string(recording(t, "LISTSTATUS-forbidden-403.json")), model.PollDenied, func(err error) bool {
			var e *PermissionError
			return errors.As(err, &e) && e.Path == "/p" && strings.Contains(e.Message, "user=alice") && errors.Is(err, fs.ErrPermission)
		}, "give heddle's user"},
		{"missing", 404, string(recording(t, "GETFILESTATUS-missing-404.json")), model.PollOK, func(err error) bool {
			var e *NotFoundError
			return errors.As(err, &e) && e.Path == "/p" && errors.Is(err, fs.ErrNotExist)
		}, "/p"},
		{"directory", 404, string(recording(t, "GETFILEBLOCKLOCATIONS-directory.json")), model.PollOK, func(err error) bool {
			var e *NotFileError
			return errors.As(err, &e) && e.Path == "/p"
		}, "is a directory"},
		{"safe mode", 403, safeModeAnswer, model.PollError, func(err error) bool {
			var e *SafeModeError
			return errors.As(err, &e) && strings.Contains(e.Message, "Zero blocklocations")
		}, "safe mode"},
		{"safe mode without high availability", 403, `{"RemoteException":{"exception":"SafeModeException","message":"Zero blocklocations for /p. Name node is in safe mode."}}`, model.PollError, func(err error) bool {
			var e *SafeModeError
			return errors.As(err, &e)
		}, "safe mode"},
		{"starting", 403, startupAnswer, model.PollError, func(err error) bool {
			var e *SafeModeError
			return errors.As(err, &e)
		}, "startup mode"},
		{"standby", 403, standbyAnswer, model.PollStandby, is(rest.ErrStandby), "not the active one"},
		{"another exception", 403, `{"RemoteException":{"exception":"IOException","message":"disk"}}`, model.PollDenied, func(err error) bool {
			var e *rest.StatusError
			return errors.As(err, &e) && e.Exception == "IOException"
		}, "disk"},
		{"an error within", 500, `{"RemoteException":{"exception":"NullPointerException","message":"null"}}`, model.PollError, func(error) bool { return true }, "500"},
		{"half an answer", 200, `{"BlockLocations":{"BlockLocation":[{"offset":`, model.PollInvalid, func(error) bool { return true }, "ends too early"},
		{"another answer", 200, `{"boolean":true}`, model.PollInvalid, func(error) bool { return true }, "neither"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			f.override = func(w http.ResponseWriter, _ *http.Request) bool {
				reply(w, tt.status, []byte(tt.body))
				return true
			}
			_, err := client(t, Config{}, f).BlockLocations(t.Context(), "/p")
			if err == nil || !tt.is(err) || pollResult(err) != tt.result || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v (%s), want %s with %q", err, pollResult(err), tt.result, tt.says)
			}
		})
	}
}

// TestUnusableAnswers come over a real connection.
func TestUnusableAnswers(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"a page": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<html>log in</html>")
		},
		"300 MB": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			chunk := bytes.Repeat([]byte(" "), 1<<20)
			for range 300 {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		},
		"cut off": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, `{"BlockLocations":{"BlockLocation":[`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(answer)
			t.Cleanup(server.Close)
			c, err := New(Config{NameNodes: []string{server.URL}, MaxBytes: 4 * model.MiB}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Close() })
			if _, err = c.BlockLocations(t.Context(), "/p"); pollResult(err) != model.PollInvalid {
				t.Errorf("%v is %s, want invalid", err, pollResult(err))
			}
			if _, err = c.DataNodes(t.Context()); pollResult(err) != model.PollInvalid {
				t.Errorf("%v is %s, want invalid", err, pollResult(err))
			}
			if _, err = c.Blocks(t.Context(), "/p"); pollResult(err) != model.PollInvalid {
				t.Errorf("%v is %s, want invalid", err, pollResult(err))
			}
		})
	}
}

func TestFailover(t *testing.T) {
	t.Parallel()
	first, second := newFake(t), newFake(t)
	first.put("/x", 1)
	second.put("/x", 2)
	c := client(t, Config{}, first, second)
	blocks := func() int {
		t.Helper()
		got, err := c.BlockLocations(t.Context(), "/x")
		if err != nil {
			t.Fatal(err)
		}
		return len(got)
	}
	if n := blocks(); n != 1 {
		t.Fatalf("%d blocks from the first", n)
	}
	first.set(func() { first.standby = true })
	if n := blocks(); n != 2 {
		t.Fatalf("%d blocks after failover, want the second's", n)
	}
	asked := first.locationRequests()
	if blocks(); first.locationRequests() != asked {
		t.Error("the standby was asked again")
	}
	second.set(func() { second.standby = true })
	_, err := c.BlockLocations(t.Context(), "/x")
	if !errors.Is(err, rest.ErrStandby) {
		t.Errorf("two standbys: %v", err)
	}
}

// TestFailoverFromStartingNameNode: a NameNode that loads its namespace is not
// a standby yet, and must not hide the one that is active.
func TestFailoverFromStartingNameNode(t *testing.T) {
	t.Parallel()
	first, second := newFake(t), newFake(t)
	second.put("/x", 2)
	first.override = func(w http.ResponseWriter, _ *http.Request) bool {
		reply(w, 403, []byte(startupAnswer))
		return true
	}
	c := client(t, Config{}, first, second)
	for range 2 {
		if got, err := c.BlockLocations(t.Context(), "/x"); err != nil || len(got) != 2 {
			t.Fatalf("%d blocks, %v; want the second NameNode's", len(got), err)
		}
	}
	second.set(func() { second.standby = true })
	_, err := c.BlockLocations(t.Context(), "/x")
	if _, ok := errors.AsType[*SafeModeError](err); !ok {
		t.Errorf("one starts, one stands by: %v", err)
	}
}

func TestNoNameNode(t *testing.T) {
	t.Parallel()
	_, err := client(t, Config{}, nil, nil).BlockLocations(t.Context(), "/x")
	if err == nil || pollResult(err) != model.PollUnreachable || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("got %v (%s)", err, pollResult(err))
	}
}

func TestBlocksCache(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		for i := range 3 {
			f.put(fmt.Sprintf("/d/f%d", i), 2)
		}
		c := client(t, Config{CacheAge: time.Minute}, f)
		read := func(wantBlocks, wantRequests int) model.BlocksFact {
			t.Helper()
			before := f.locationRequests()
			got, err := c.Blocks(t.Context(), "/d")
			if err != nil {
				t.Fatal(err)
			}
			if n := f.locationRequests() - before; len(got.Blocks) != wantBlocks || n != wantRequests {
				t.Fatalf("%d blocks in %d requests, want %d in %d", len(got.Blocks), n, wantBlocks, wantRequests)
			}
			return got
		}
		first := read(6, 3)
		lists := f.count("LISTSTATUS_BATCH")
		second := read(6, 0)
		if diff := cmp.Diff(first, second); diff != "" || f.count("LISTSTATUS_BATCH") != lists {
			t.Fatalf("the cache asked, or answered otherwise:\n%s", diff)
		}
		want0 := fmt.Sprint(first)
		second.Blocks[0].Hosts[0], second.Blocks[0].Racks[0] = "changed", "/changed" // the receiver owns a fact
		if got := fmt.Sprint(read(6, 0)); got != want0 {
			t.Fatalf("a receiver reached into the cache: %s, want %s", got, want0)
		}

		time.Sleep(time.Minute)
		read(6, 0) // listed again, nothing changed
		if f.count("LISTSTATUS_BATCH") != lists+1 {
			t.Fatal("an expired path was not listed again")
		}
		time.Sleep(time.Minute)
		f.set(func() {
			f.files["/d/f0"] = fakeFile{length: 3 * fakeBlock, modified: 1000} // grown
			f.files["/d/f1"] = fakeFile{length: 2 * fakeBlock, modified: 1001} // written anew
		})
		f.put("/d/f3", 1)
		read(8, 3)
		time.Sleep(time.Minute)
		f.set(func() { delete(f.files, "/d/f2") })
		read(6, 0)

		want := CacheStats{Hits: 2, Misses: 1, Revalidated: 3, FilesKept: 3 + 1 + 3, Located: 3 + 3, Paths: 1, Blocks: 6}
		if diff := cmp.Diff(want, c.Stats()); diff != "" {
			t.Errorf("stats (-want +got):\n%s", diff)
		}

		time.Sleep(relocateAfter * time.Minute)
		read(6, 3) // replicas may have moved meanwhile

		time.Sleep(relocateAfter * time.Minute)
		f.set(func() {
			f.override = func(_ http.ResponseWriter, r *http.Request) bool {
				if r.URL.Query().Get("op") == "GETFILEBLOCKLOCATIONS" {
					f.set(func() { delete(f.files, "/d/f0") })
				}
				return false
			}
		})
		read(3, 3) // f0, of three blocks, is deleted after the listing
	})
}

func TestCacheLimit(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	for _, name := range []string{"/a", "/b", "/c"} {
		f.put(name, 8)
	}
	f.put("/large", 40)
	c := client(t, Config{CacheBlocks: 20}, f) // two files of 8 blocks, each with its path
	for _, name := range []string{"/a", "/b", "/a", "/c", "/large", "/a", "/c", "/b"} {
		if _, err := c.Blocks(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	got := c.Stats()
	want := CacheStats{Hits: 3, Misses: 5, Located: 5, Evicted: 2, TooLarge: 1, Paths: 2, Blocks: 16}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("stats (-want +got):\n%s", diff)
	}
}

// TestClockSetBack: an entry of the future is not believed for as long as it
// takes to come true.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.put("/a", 1)
	var now atomic.Int64
	now.Store(1e12)
	c, err := New(Config{NameNodes: []string{"http://nn1"}}, Options{
		Base: inMemory{"nn1": f}, Now: func() time.Time { return time.UnixMilli(now.Load()) },
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := c.Blocks(t.Context(), "/a"); err != nil {
			t.Fatal(err)
		}
		now.Add(-time.Hour.Milliseconds())
	}
	if s := c.Stats(); s.Revalidated != 1 || s.Hits != 0 {
		t.Errorf("got %+v, want the path to be listed again", s)
	}
}

// TestBlocksInterrupted: what was located before the time was over is kept.
func TestBlocksInterrupted(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	for i := range 20 {
		f.put(fmt.Sprintf("/d/f%02d", i), 1)
	}
	c := client(t, Config{Concurrency: 2}, f)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	f.override = func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/f10") {
			cancel()
		}
		return false
	}
	if _, err := c.Blocks(ctx, "/d"); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want the end of the context", err)
	}
	f.set(func() { f.override = nil })
	before := f.locationRequests()
	got, err := c.Blocks(t.Context(), "/d")
	if err != nil || got.Files != 20 || len(got.Blocks) != 20 {
		t.Fatalf("got %d files and %d blocks, %v", got.Files, len(got.Blocks), err)
	}
	if again := f.locationRequests() - before; before < 10 || again > 12 {
		t.Errorf("%d requests, then %d for the rest of 20 files", before, again)
	}
}

func TestBlocksConcurrencyIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		for i := range 30 {
			f.put(fmt.Sprintf("/d/f%02d", i), 1)
		}
		var underway atomic.Int32
		gate := make(chan struct{})
		f.override = func(_ http.ResponseWriter, r *http.Request) bool {
			if strings.Contains(r.URL.RawQuery, "BLOCKLOCATIONS") {
				underway.Add(1)
				<-gate
				underway.Add(-1)
			}
			return false
		}
		c := client(t, Config{Concurrency: 3}, f)
		done := make(chan error)
		for range 4 {
			go func() {
				_, err := c.Blocks(t.Context(), "/d")
				done <- err
			}()
		}
		synctest.Wait() // nothing moves any more
		if n := underway.Load(); n != 3 {
			t.Errorf("%d requests for locations at once, want 3 of all walks together", n)
		}
		close(gate)
		for range 4 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	})
}

// TestBlocksWhileFilesChange: a file that goes away between the listing and
// the question is left out, one that may not be read is an error.
func TestBlocksWhileFilesChange(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.put("/d/a", 1)
	f.put("/d/b", 1)
	f.override = func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/d/b") {
			reply(w, 404, recording(t, "GETFILESTATUS-missing-404.json"))
			return true
		}
		return false
	}
	c := client(t, Config{}, f)
	got, err := c.Blocks(t.Context(), "/d")
	if err != nil || got.Files != 1 || len(got.Blocks) != 1 {
		t.Errorf("got %+v, %v; want the file that is left", got, err)
	}
	f.set(func() { f.override, f.forbid = nil, []string{"/e/x"} })
	f.put("/e/x/y", 1)
	_, err = c.Blocks(t.Context(), "/e")
	var denied *PermissionError
	if !errors.As(err, &denied) || denied.Path != "/e/x" {
		t.Errorf("got %v, want permission denied on /e/x", err)
	}
	if _, err := c.Blocks(t.Context(), "s3a://b/x"); pollResult(err) != model.PollOK {
		t.Errorf("a path on another file system is %s", pollResult(err))
	}
}

// TestSafeModeIsNotWalked: replicas that have not reported would be missing.
func TestSafeModeIsNotWalked(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.put("/d/a", 1)
	f.state = bytes.Replace(f.state, []byte(`"Operational"`), []byte(`"safeMode"`), 1)
	f.info = bytes.Replace(f.info, []byte(`"Safemode" : ""`), []byte(`"Safemode" : "Safe mode is ON.\nThe reported blocks 0 needs additional 234 blocks"`), 1)
	c := client(t, Config{}, f)
	var safeMode *SafeModeError
	if _, err := c.Blocks(t.Context(), "/d"); !errors.As(err, &safeMode) {
		t.Errorf("blocks: %v", err)
	}
	if _, err := c.DataNodes(t.Context()); !errors.As(err, &safeMode) || safeMode.Message != "Safe mode is ON." {
		t.Errorf("data nodes: %v", err)
	}
	if f.locationRequests() != 0 {
		t.Error("blocks were asked for in safe mode")
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	if err := (Config{NameNodes: []string{"http://nn:9870", "https://nn2:9871/"}}).Validate(); err != nil {
		t.Error(err)
	}
	err := Config{
		NameNodes: []string{"nn:9870", "http://nn/webhdfs/v1"}, Walk: "ftp", MaxFiles: -1, MaxBlocks: -1, MaxBytes: -1,
		Concurrency: 1000, CacheBlocks: -1, CacheAge: -1, Timeout: -1, Interval: -1, DataNodeInterval: -1, RoundTime: -1, MaxBackoff: -1, PathsPerRound: -1,
	}.Validate()
	if err == nil {
		t.Fatal("no error")
	}
	for _, field := range []string{
		"NameNodes[0]", "NameNodes[1]", "Walk", "MaxFiles", "MaxBlocks", "MaxBytes", "Concurrency", "CacheBlocks", "CacheAge",
		"Timeout", "Interval", "DataNodeInterval", "RoundTime", "MaxBackoff", "PathsPerRound",
	} {
		if !strings.Contains("\n"+err.Error(), "\n"+field+":") {
			t.Errorf("%s is not reported in:\n%v", field, err)
		}
	}
	for name, cfg := range map[string]Config{
		"NameNodes:": {},
		"no User":    {NameNodes: []string{"http://nn"}, RPCAddresses: []string{"nn:8020"}},
	} {
		if _, err := New(cfg, Options{}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDataNodes(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	got, err := client(t, Config{}, f).DataNodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(got.DataNodes) != 9 || f.count("/topology") != 0 {
		t.Fatalf("%d DataNodes, /topology asked %d times", len(got.DataNodes), f.count("/topology"))
	}
	want := model.DataNode{Host: "w11", Rack: "/rack1", Blocks: 58, Capacity: 270553174016, Used: 153960295, Live: true}
	if got.DataNodes[0] != want {
		t.Errorf("got %+v, want %+v", got.DataNodes[0], want)
	}

	// Before 3.3.1 there is no location, and a node may be dead or unknown to the topology.
	f.info = bytes.ReplaceAll(f.info, []byte(`\"location\"`), []byte(`\"elsewhere\"`))
	f.info = bytes.Replace(f.info, []byte(`"DeadNodes" : "{}"`),
		[]byte(`"DeadNodes" : "{\"w99:9866\":{\"lastContact\":652,\"decommissioned\":false,\"adminState\":\"In Service\",\"xferaddr\":\"10.77.9.9:9866\"}}"`), 1)
	f.topo = bytes.Replace(f.topo, []byte(`{"ip":"10.77.3.13:9866","hostname":"w33"}`), []byte(`{"ip":"10.77.3.13:9866"}`), 1)
	f.topo = bytes.Replace(f.topo, []byte(`,{"ip":"10.77.3.12:9866","hostname":"w32"}`), nil, 1)
	old, err := client(t, Config{}, f).DataNodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got.DataNodes[7].Rack = model.DefaultRack // w32
	got.DataNodes = append(got.DataNodes, model.DataNode{Host: "w99", Rack: model.DefaultRack})
	if diff := cmp.Diff(got, old, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("racks from /topology (-want +got):\n%s", diff)
	}

	f.override = func(w http.ResponseWriter, r *http.Request) bool { // older than /topology too
		if r.URL.Path == "/topology" {
			w.WriteHeader(http.StatusNotFound)
		}
		return r.URL.Path == "/topology"
	}
	none, err := client(t, Config{}, f).DataNodes(t.Context())
	if err != nil || none.DataNodes[0].Rack != model.DefaultRack {
		t.Errorf("without /topology: %v, %v", none.DataNodes, err)
	}
}

func FuzzNameNodeInfo(f *testing.F) {
	seed(f, "jmx-*.json", "topology.json")
	f.Add([]byte(`{"beans":[{"LiveNodes":"{\"[::1]:9866\":{\"capacity\":-1}}","DeadNodes":null,"Safemode":"on"}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		nodes, _, err := decodeNameNodeInfo(body)
		if err == nil {
			for _, n := range nodes {
				if n.Host == "" || n.Blocks < 0 || n.Capacity < 0 || n.Used < 0 {
					t.Fatalf("bad node %+v", n)
				}
			}
		}
		if racks, err := decodeTopology(body); err == nil && racks[""] != "" {
			t.Fatal("a rack for no name")
		}
		_, _ = decodeSafeMode(body)
	})
}

// TestErrorsSayWhatTheyAre: what a caller got wrong is told apart from what
// HDFS refuses, by the standard library's errors.
func TestErrorsSayWhatTheyAre(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]error{
		&NotFoundError{}: fs.ErrNotExist, &PermissionError{}: fs.ErrPermission, &PathError{}: fs.ErrInvalid, &NotFileError{}: fs.ErrInvalid,
	} {
		if !errors.Is(err, want) {
			t.Errorf("%T is not %v", err, want)
		}
	}
}

package hdfsclient

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func recording(tb testing.TB, name string) []byte {
	tb.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// The answers of a NameNode that is not active, starts, or is in safe mode, in
// the form JsonUtil.toJsonString(Exception) gives them.
const (
	standbyAnswer  = `{"RemoteException":{"exception":"StandbyException","javaClassName":"org.apache.hadoop.ipc.StandbyException","message":"Operation category READ is not supported in state standby. Visit https://s.apache.org/sbnn-error"}}`
	startupAnswer  = `{"RemoteException":{"exception":"RetriableException","javaClassName":"org.apache.hadoop.ipc.RetriableException","message":"Namenode is in startup mode"}}`
	safeModeAnswer = `{"RemoteException":{"exception":"RetriableException","javaClassName":"org.apache.hadoop.ipc.RetriableException","message":"org.apache.hadoop.hdfs.server.namenode.SafeModeException: Zero blocklocations for /data/a. Name node is in safe mode.\nThe reported blocks 0 needs additional 234 blocks to reach the threshold 0.9990 of total blocks 234."}}`
)

// fakeFile is one file of a fakeNameNode; its blocks are those of the recorded
// x10, over and over.
type fakeFile struct {
	length, modified int64
}

const fakeBlock = 1 << 20 // block size of every fake file

// fakeNameNode answers as the recorded NameNode does, for a tree of its own.
type fakeNameNode struct {
	t      testing.TB
	blocks []map[string]any // BlockLocation elements of the recording
	old    []map[string]any // locatedBlocks elements of the recording
	denied []byte
	info   []byte
	state  []byte
	topo   []byte

	mu       sync.Mutex
	files    map[string]fakeFile
	dirs     map[string]bool
	override func(w http.ResponseWriter, r *http.Request) bool // answers in place of the rest when it returns true
	unknown  []string                                          // operations this version does not know
	forbid   []string                                          // paths that may not be read
	pageSize int
	standby  bool
	asked    map[string]int // requests by operation, or by path outside WebHDFS
}

func newFake(tb testing.TB) *fakeNameNode {
	tb.Helper()
	f := &fakeNameNode{
		t: tb, files: map[string]fakeFile{}, dirs: map[string]bool{"/": true}, asked: map[string]int{}, pageSize: 1000,
		denied: recording(tb, "LISTSTATUS-forbidden-403.json"),
		info:   recording(tb, "jmx-NameNodeInfo.json"),
		state:  recording(tb, "jmx-FSNamesystemState.json"),
		topo:   recording(tb, "topology.json"),
	}
	var answer struct {
		BlockLocations struct{ BlockLocation []map[string]any }
	}
	if err := json.Unmarshal(recording(tb, "GETFILEBLOCKLOCATIONS-x10.json"), &answer); err != nil {
		tb.Fatal(err)
	}
	f.blocks = answer.BlockLocations.BlockLocation
	var older struct {
		LocatedBlocks struct{ LocatedBlocks []map[string]any }
	}
	if err := json.Unmarshal(recording(tb, "GET_BLOCK_LOCATIONS-x10.json"), &older); err != nil {
		tb.Fatal(err)
	}
	f.old = older.LocatedBlocks.LocatedBlocks
	return f
}

// put adds a file of so many blocks, and the directories above it.
func (f *fakeNameNode) put(name string, blocks int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.files[name] = fakeFile{length: int64(blocks) * fakeBlock, modified: 1000}
	for dir := path.Dir(name); !f.dirs[dir]; dir = path.Dir(dir) {
		f.dirs[dir] = true
	}
}

func (f *fakeNameNode) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

func (f *fakeNameNode) count(op string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked[op]
}

func (f *fakeNameNode) locationRequests() int {
	return f.count("GETFILEBLOCKLOCATIONS") + f.count("GET_BLOCK_LOCATIONS")
}

// ServeHTTP implements http.Handler.
func (f *fakeNameNode) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	op := r.URL.Query().Get("op")
	if op == "" {
		op = r.URL.Path
	}
	f.asked[op]++
	override := f.override
	f.mu.Unlock()
	if override != nil && override(w, r) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch r.URL.Path {
	case "/jmx":
		body := f.info
		if strings.HasSuffix(r.URL.Query().Get("qry"), "FSNamesystemState") {
			body = f.state
		}
		reply(w, 200, body)
	case "/topology":
		reply(w, 200, f.topo)
	default:
		f.webhdfs(w, r, op)
	}
}

func reply(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json;charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

func remote(w http.ResponseWriter, status int, exception, message string) {
	body, _ := json.Marshal(map[string]any{"RemoteException": map[string]string{"exception": exception, "message": message}})
	reply(w, status, body)
}

func (f *fakeNameNode) webhdfs(w http.ResponseWriter, r *http.Request, op string) {
	name := path.Clean("/" + strings.TrimPrefix(r.URL.Path, "/webhdfs/v1"))
	file, isFile := f.files[name]
	switch {
	case f.standby:
		reply(w, 403, []byte(standbyAnswer))
	case slices.Contains(f.unknown, op):
		reply(w, 400, bytes.ReplaceAll(recording(f.t, "unknown-op-400.json"), []byte("NOSUCH"), []byte(op)))
	case slices.Contains(f.forbid, name):
		reply(w, 403, f.denied)
	case !isFile && !f.dirs[name]:
		remote(w, 404, "FileNotFoundException", "File does not exist: "+name)
	case op == "GETFILESTATUS":
		body, _ := json.Marshal(map[string]any{"FileStatus": f.status(name, "")})
		reply(w, 200, body)
	case op == "LISTSTATUS", op == "LISTSTATUS_BATCH":
		f.list(w, r, name, op == "LISTSTATUS_BATCH")
	case !isFile:
		remote(w, 404, "FileNotFoundException", "Path is not a file: "+name)
	case op == "GETFILEBLOCKLOCATIONS", op == "GET_BLOCK_LOCATIONS":
		q := r.URL.Query()
		from, _ := strconv.ParseInt(q.Get("offset"), 10, 64)
		length, err := strconv.ParseInt(q.Get("length"), 10, 64)
		if err != nil {
			length = file.length
		}
		reply(w, 200, f.locations(op, from/fakeBlock, min((from+length+fakeBlock-1)/fakeBlock, file.length/fakeBlock)))
	default:
		f.t.Errorf("unexpected request %s", r.URL)
	}
}

func (f *fakeNameNode) status(name, suffix string) map[string]any {
	s := map[string]any{
		"pathSuffix": suffix, "type": "DIRECTORY", "length": 0, "blockSize": 0, "modificationTime": 1795216010826, "owner": "root", "replication": 0,
	}
	if file, ok := f.files[name]; ok {
		s["type"], s["length"], s["blockSize"], s["modificationTime"], s["replication"] = "FILE", file.length, fakeBlock, file.modified, 3
	}
	return s
}

func (f *fakeNameNode) list(w http.ResponseWriter, r *http.Request, dir string, batch bool) {
	var names []string
	for name := range f.files {
		names = append(names, name)
	}
	for name := range f.dirs {
		names = append(names, name)
	}
	names = slices.DeleteFunc(names, func(n string) bool { return n == "/" || path.Dir(n) != dir })
	slices.Sort(names)
	statuses := []map[string]any{}
	if _, isFile := f.files[dir]; isFile {
		statuses = append(statuses, f.status(dir, ""))
	}
	remaining := 0
	for i, name := range names {
		if batch && path.Base(name) <= r.URL.Query().Get("startAfter") {
			continue
		}
		if batch && len(statuses) == f.pageSize {
			remaining = len(names) - i
			break
		}
		statuses = append(statuses, f.status(name, path.Base(name)))
	}
	list := map[string]any{"FileStatuses": map[string]any{"FileStatus": statuses}}
	if batch {
		list = map[string]any{"DirectoryListing": map[string]any{"partialListing": list, "remainingEntries": remaining}}
	}
	body, _ := json.Marshal(list)
	reply(w, 200, body)
}

// locations answers with blocks from to below to, in the form of the operation.
func (f *fakeNameNode) locations(op string, from, to int64) []byte {
	list := []map[string]any{}
	for i := from; i < to; i++ {
		var b map[string]any
		if op == "GET_BLOCK_LOCATIONS" {
			b = maps.Clone(f.old[int(i)%len(f.old)])
			block, _ := b["block"].(map[string]any)
			block = maps.Clone(block)
			block["numBytes"] = fakeBlock
			b["startOffset"], b["block"] = i*fakeBlock, block
		} else {
			b = maps.Clone(f.blocks[int(i)%len(f.blocks)])
			b["offset"], b["length"] = i*fakeBlock, fakeBlock
		}
		list = append(list, b)
	}
	answer := map[string]any{"BlockLocations": map[string]any{"BlockLocation": list}}
	if op == "GET_BLOCK_LOCATIONS" {
		answer = map[string]any{"LocatedBlocks": map[string]any{"fileLength": to * fakeBlock, "locatedBlocks": list}}
	}
	body, err := json.Marshal(answer)
	if err != nil {
		f.t.Error(err)
	}
	return body
}

// inMemory carries requests to handlers by host, without a connection, so that
// tests run on synctest's clock.
type inMemory map[string]http.Handler

// RoundTrip implements http.RoundTripper.
func (m inMemory) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	h := m[r.URL.Host]
	if h == nil {
		return nil, fmt.Errorf("dial tcp %s: connect: connection refused", r.URL.Host)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return w.Result(), nil
}

// client builds a client of NameNodes in memory, named nn1, nn2 and so on.
func client(tb testing.TB, cfg Config, nameNodes ...*fakeNameNode) *Client {
	tb.Helper()
	base := inMemory{}
	for i, f := range nameNodes {
		host := fmt.Sprintf("nn%d:9870", i+1)
		cfg.NameNodes = append(cfg.NameNodes, "http://"+host)
		if f != nil {
			base[host] = f
		}
	}
	c, err := New(cfg, Options{Base: base})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := c.Close(); err != nil {
			tb.Error(err)
		}
	})
	return c
}

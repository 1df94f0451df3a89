package hdfsclient

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/colinmarc/hdfs/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
	krb "github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/config"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"heddle/core/model"
	"heddle/yarnproxy/ipc"
	"heddle/yarnproxy/ipc/ipctest"
	"heddle/yarnproxy/rest"
)

// TestRPCFindsTheSame: RPC and WebHDFS, in both of its forms, answer alike
// about the same files, however long a page is, and with directories RPC takes
// no request for a file.
func TestRPCFindsTheSame(t *testing.T) {
	t.Parallel()
	for _, size := range []struct{ page, limit int }{{1000, 1 << 30}, {2, 1 << 30}, {1, 1 << 30}, {1000, 4}} {
		f := newFake(t)
		tree(f)
		for i := range 2 * firstEntries {
			f.put(fmt.Sprintf("/in/2026/12/part-%03d", i), i%3)
		}
		f.put("/in/2026/11/link", 3)
		f.pageSize = size.page
		n := newRPCNameNode(t, f)
		n.limit, n.links = size.limit, []string{"/in/2026/11/link"}
		for _, unknown := range []string{"", "GETFILEBLOCKLOCATIONS"} {
			f.set(func() { f.unknown = []string{unknown} })
			overRPC, web := rpcClient(t, Config{}, f, n), client(t, Config{}, f)
			for _, p := range []string{"/in/2026", "/one", "/in/*/{11,12}/[a-b]*", "/odd", "/one/*", "/nope", "/in/2026/empty", "/"} {
				f.set(func() { delete(f.files, "/in/2026/11/link") }) // a link on one side, left out on both
				want, wantErr := web.Blocks(t.Context(), p)
				f.put("/in/2026/11/link", 3)
				before, listed := f.locationRequests(), f.count("LISTSTATUS_BATCH")
				got, err := overRPC.Blocks(t.Context(), p)
				if fmt.Sprint(err) != fmt.Sprint(wantErr) {
					t.Errorf("%s: %v, %v over WebHDFS", p, err, wantErr)
				}
				if unknown == "" { // recorded apart, with the replicas in another order
					sortReplicas(want.Blocks)
					sortReplicas(got.Blocks)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%+v: %s: WebHDFS against RPC:\n%s", size, p, diff)
				}
				if p != "/one" && f.locationRequests() != before || f.count("LISTSTATUS_BATCH") != listed {
					t.Errorf("%s: WebHDFS was asked for what RPC brings", p)
				}
			}
			usage, overHTTP := overRPC.Usage(), overRPC.web.http.Usage()
			if usage.Requests <= overHTTP.Requests || usage.Bytes <= overHTTP.Bytes {
				t.Errorf("usage %+v leaves RPC out", usage)
			}
		}
	}
}

// sortReplicas orders the replicas of each block by host.
func sortReplicas(blocks []model.Block) {
	for _, b := range blocks {
		rackOf := make(map[string]model.RackID, len(b.Hosts))
		for i, host := range b.Hosts {
			rackOf[host] = b.Racks[i]
		}
		slices.Sort(b.Hosts)
		for i, host := range b.Hosts {
			b.Racks[i] = rackOf[host]
		}
	}
}

// TestRPCLimits: files and blocks beyond the limits are left out as they
// are over WebHDFS, and the fact has the mark of it.
func TestRPCLimits(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	for i := range 6 {
		f.put(fmt.Sprintf("/d/f%d", i), 10)
	}
	f.unknown = []string{"GETFILEBLOCKLOCATIONS"} // the other form was recorded with the same order of replicas
	n := newRPCNameNode(t, f)
	for _, cfg := range []Config{{MaxBlocks: 25}, {MaxFiles: 4}, {MaxBlocks: 1}, {MaxBlocks: 60, MaxFiles: 6}} {
		want, err := client(t, cfg, f).Blocks(t.Context(), "/d")
		if err != nil {
			t.Fatal(err)
		}
		got, err := rpcClient(t, cfg, f, n).Blocks(t.Context(), "/d")
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%+v: %v (-WebHDFS +RPC):\n%s", cfg, err, diff)
		}
	}
}

// TestRPCReadsInParts: a directory takes hardly more requests than it has pages, and
// of larger files only as many are read at once as a call may receive. Of files so
// large that each takes a page, the first come over RPC and the rest over WebHDFS.
func TestRPCReadsInParts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ files, blocks, pages, overHTTP int }{{2000, 1, 6, 0}, {120, 120, 40, 0}, {32, 500, 16, 16}} {
		f := newFake(t)
		for i := range tt.files {
			f.put(fmt.Sprintf("/d/f%05d", i), tt.blocks)
		}
		n := newRPCNameNode(t, f)
		n.limit = 1000 // dfs.ls.limit
		c := rpcClient(t, Config{MaxBytes: 2 * readBytes}, f, n)
		got, err := c.Blocks(t.Context(), "/d")
		if err != nil || len(got.Blocks) != tt.files*tt.blocks || f.locationRequests() != tt.overHTTP {
			t.Errorf("%+v: %d blocks, %d requests for files, %v", tt, len(got.Blocks), f.locationRequests(), err)
		}
		if asked := n.count("getListing"); asked > tt.pages+5 {
			t.Errorf("%+v: %d requests", tt, asked)
		}
	}
}

// logged builds a client that lists over RPC at the addresses and logs into a text,
// with a clock that can be put forward.
func logged(t *testing.T, cfg Config, f *fakeNameNode, ahead *time.Duration, addresses ...string) (*Client, *bytes.Buffer) {
	t.Helper()
	var lines bytes.Buffer
	cfg.NameNodes, cfg.User, cfg.RPCAddresses = []string{"http://nn1:9870"}, "heddle", addresses
	c, err := New(cfg, Options{
		Base: inMemory{"nn1:9870": f}, Now: func() time.Time { return time.Now().Add(*ahead) },
		Log: hclog.New(&hclog.LoggerOptions{Output: &lines, Level: hclog.Info}),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c, &lines
}

// TestRPCDoesNotServe: where the RPC port is closed, silent, ends logins or speaks
// something else, WebHDFS serves. The log has one line when that begins and one when
// it ends, and RPC is left alone in between.
func TestRPCDoesNotServe(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	tree(f)
	want, err := client(t, Config{}, f).Blocks(t.Context(), "/in/2026")
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*rpcNameNode){
		"closed":   func(n *rpcNameNode) { n.stop() },
		"silent":   func(n *rpcNameNode) { n.silent = make(chan struct{}) },
		"hangs up": func(n *rpcNameNode) { n.hangUp = 1 << 30 },
		"starts": func(n *rpcNameNode) {
			n.exception, n.message = "org.apache.hadoop.ipc.RetriableException", "Namenode is in startup mode"
		},
		"stands by":       func(n *rpcNameNode) { n.exception = "org.apache.hadoop.ipc.StandbyException" },
		"speaks HTTP":     func(n *rpcNameNode) { n.wrap = func([]byte) []byte { return []byte("HTTP/1.1 404 Not Found\r\n\r\n") } },
		"answers too few": func(n *rpcNameNode) { n.answer = func(b []byte) []byte { return b[:len(b)-3] } },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newRPCNameNode(t, f)
			change(n)
			if n.silent != nil {
				t.Cleanup(func() { close(n.silent) })
			}
			var ahead time.Duration
			c, lines := logged(t, Config{Timeout: 100 * time.Millisecond, CacheAge: 1, CacheBlocks: 1}, f, &ahead, n.listener.Addr().String())
			for range 3 {
				got, err := c.Blocks(t.Context(), "/in/2026")
				if diff := cmp.Diff(want, got); diff != "" || err != nil {
					t.Fatalf("%v (-want +got):\n%s", err, diff)
				}
			}
			asked := n.count("getFileInfo")
			if warned := strings.Count(lines.String(), "WARN"); warned != 1 || strings.Count(lines.String(), "\n") != 1 || asked > 2 {
				t.Errorf("asked %d times, logged\n%s", asked, lines)
			}
			if name == "silent" { // the deadlines of its connection are ahead, too
				return
			}
			ahead = c.cfg.MaxBackoff + time.Second
			if _, err := c.Blocks(t.Context(), "/in/2026"); err != nil || strings.Count(lines.String(), "\n") != 1 {
				t.Errorf("%v, logged\n%s", err, lines)
			}
			if name != "closed" && n.count("getFileInfo") == asked {
				t.Error("was not asked again after a while")
			}
		})
	}
	t.Run("serves again", func(t *testing.T) {
		t.Parallel()
		n := newRPCNameNode(t, f)
		n.hangUp = 1
		var ahead time.Duration
		c, lines := logged(t, Config{Timeout: time.Second, CacheAge: 1, CacheBlocks: 1}, f, &ahead, n.listener.Addr().String())
		for range 2 {
			if _, err := c.Blocks(t.Context(), "/in/2026"); err != nil {
				t.Fatal(err)
			}
			ahead += c.cfg.MaxBackoff + time.Second
		}
		if text := lines.String(); strings.Count(text, "\n") != 2 || !strings.Contains(text, "can be read over RPC again") {
			t.Errorf("logged\n%s", text)
		}
	})
}

// TestRPCTooLong: what would be too long an answer comes in parts over WebHDFS, and
// RPC goes on to serve the rest. That holds for pages without end, too.
func TestRPCTooLong(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.put("/d/large", 500)
	f.put("/d/small", 1)
	f.put("/e/small", 1)
	n := newRPCNameNode(t, f)
	want, err := client(t, Config{}, f).Blocks(t.Context(), "/d")
	if err != nil {
		t.Fatal(err)
	}
	limit := len(f.locations("GETFILEBLOCKLOCATIONS", 0, 500))
	if overRPC := len(n.list("/d", "", true)); overRPC < limit+100 {
		t.Fatalf("%d bytes in JSON, %d in protobuf: too short for this test", limit, overRPC)
	}
	var ahead time.Duration
	c, lines := logged(t, Config{MaxBytes: model.Bytes(limit)}, f, &ahead, n.listener.Addr().String())
	got, err := c.Blocks(t.Context(), "/d")
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	before := f.locationRequests()
	if got, err := c.Blocks(t.Context(), "/e"); err != nil || len(got.Blocks) != 1 || f.locationRequests() != before || lines.Len() > 0 {
		t.Errorf("another path: %d blocks, %v, logged\n%s", len(got.Blocks), err, lines)
	}
	n.set(func() { n.answer = func([]byte) []byte { return bytesField(nil, 1, varint(nil, 2, 5)) } })
	f.put("/empty/pages", 1)
	if got, err := c.Blocks(t.Context(), "/empty"); err != nil || len(got.Blocks) != 1 || n.count("getListing") > 100 {
		t.Errorf("empty pages: %d blocks after %d requests, %v", len(got.Blocks), n.count("getListing"), err)
	}
}

// TestRPCErrors: what a NameNode answers of a path is the result, and WebHDFS is not asked.
func TestRPCErrors(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.put("/d/a", 1)
	n := newRPCNameNode(t, f)
	c := rpcClient(t, Config{}, f, n)
	if _, err := c.Blocks(t.Context(), "/d"); err != nil { // finds the active one
		t.Fatal(err)
	}
	for _, tt := range []struct {
		exception, message string
		want               model.PollResult
	}{
		{"org.apache.hadoop.hdfs.server.namenode.SafeModeException", "Name node is in safe mode.", model.PollError},
		{"org.apache.hadoop.ipc.RetriableException", "too busy", model.PollError},
		{"java.io.IOException", "disk", model.PollError},
		{"java.io.FileNotFoundException", "File does not exist", model.PollOK},
		{"org.apache.hadoop.security.AccessControlException", "Permission denied: user=heddle", model.PollDenied},
	} {
		n.set(func() { n.exception, n.message = tt.exception, tt.message })
		before := f.count("GETFILESTATUS")
		_, err := c.Blocks(t.Context(), "/other")
		if pollResult(err) != tt.want || err == nil || strings.Contains(err.Error(), "\n") || f.count("GETFILESTATUS") != before {
			t.Errorf("%s: %v (%s), want %s", tt.exception, err, pollResult(err), tt.want)
		}
	}
	n.set(func() { n.exception = "" })
	for name, entry := range map[string][]byte{
		"the parent":       hdfsStatus("..", false, fakeFile{}),
		"no name":          hdfsStatus("", true, fakeFile{}),
		"a length below 0": hdfsStatus("a", true, fakeFile{length: -1}),
		"a block below 0":  bytesField(hdfsStatus("a", true, fakeFile{length: 1}), 12, located(block(1<<63, 1))),
	} {
		n.set(func() {
			n.answer = func([]byte) []byte { return bytesField(nil, 1, varint(bytesField(nil, 1, entry), 2, 0)) }
		})
		f.put("/"+name+"/x", 1)
		if _, err := c.Blocks(t.Context(), "/"+name); pollResult(err) != model.PollInvalid {
			t.Errorf("%s: %v (%s)", name, err, pollResult(err))
		}
	}
}

// block is LocatedBlockProto; located is LocatedBlocksProto.
func block(offset, length uint64, nodes ...[]byte) []byte {
	id := varint(varint(varint(bytesField(nil, 1, []byte("pool")), 2, 1), 3, 1), 4, length)
	m := varint(bytesField(nil, 1, id), 2, offset)
	for _, n := range nodes {
		m = bytesField(m, 3, n)
	}
	return bytesField(varint(m, 4, 1), 5, []byte{0x0a, 0, 0x12, 0, 0x1a, 0, 0x22, 0})
}

func located(blocks ...[]byte) []byte {
	m := varint(varint(nil, 1, 5), 3, 0)
	for _, b := range blocks {
		m = bytesField(m, 2, b)
	}
	return varint(m, 5, 1)
}

// TestLocated: hosts without a name have an address, and racks without a name are the default.
func TestLocated(t *testing.T) {
	t.Parallel()
	node := func(host, ip, rack string) []byte {
		id := bytesField(bytesField(bytesField(nil, 1, []byte(ip)), 2, []byte(host)), 3, nil)
		for i := range 3 {
			id = varint(id, protowire.Number(4+i), 9866)
		}
		return bytesField(bytesField(nil, 8, []byte(rack)), 1, id)
	}
	read := func(blocks ...[]byte) ([]model.Block, error) {
		var status hdfs.FileStatus
		if err := proto.Unmarshal(bytesField(hdfsStatus("f", true, fakeFile{length: 5}), 12, located(blocks...)), &status); err != nil {
			t.Fatal(err)
		}
		return newDecoder().located(&status)
	}
	got, err := read(block(0, 5, node("h", "1.1.1.1", "/r"), node("", "1.1.1.2", ""), node("g", "1.1.1.3", "r")))
	want := []model.Block{{Length: 5, Corrupt: true, Hosts: []string{"h", "1.1.1.2", "g"}, Racks: []model.RackID{"/r", model.DefaultRack, model.DefaultRack}}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for name, b := range map[string][]byte{
		"offset below 0":      block(1<<63, 5),
		"length below 0":      block(0, 1<<63),
		"a host without name": block(0, 5, node("", "", "/r")),
	} {
		if got, err := read(b); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func FuzzRPCStatus(f *testing.F) {
	fake := newFake(f)
	tree(fake)
	n := newRPCNameNode(f, fake)
	f.Add(n.fileStatus("a", "/d/a", true, fakeFile{length: 2 * fakeBlock}, true))
	f.Add(n.fileStatus("d", "/d/d", false, fakeFile{}, true))
	f.Add(bytesField(hdfsStatus("a", true, fakeFile{length: 5}), 12, located(block(0, 1<<63))))
	f.Fuzz(func(t *testing.T, body []byte) {
		var status hdfs.FileStatus
		if proto.Unmarshal(body, &status) != nil {
			return
		}
		d := newDecoder()
		blocks, err := d.located(&status)
		if err != nil {
			return
		}
		for _, b := range blocks {
			if b.Offset < 0 || b.Length < 0 || len(b.Hosts) != len(b.Racks) || slices.Contains(b.Hosts, "") {
				t.Fatalf("bad block %+v", b)
			}
		}
		if again, err := d.located(&status); err != nil || !reflect.DeepEqual(blocks, again) {
			t.Fatalf("read twice: %+v and %+v, %v", blocks, again, err)
		}
	})
}

// TestRPCFailover: the active NameNode is found, and asked first by the next walk.
func TestRPCFailover(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.put("/d/a", 1)
	one, two := newRPCNameNode(t, f), newRPCNameNode(t, f)
	c := rpcClient(t, Config{CacheBlocks: 1}, f, one, two)
	expect := func(when string, first, second int) {
		t.Helper()
		beforeOne, beforeTwo, listed := one.count("getFileInfo"), two.count("getFileInfo"), f.count("LISTSTATUS_BATCH")
		if _, err := c.Blocks(t.Context(), "/d"); err != nil {
			t.Fatal(err)
		}
		if a, b := one.count("getFileInfo")-beforeOne, two.count("getFileInfo")-beforeTwo; a != first || b != second || f.count("LISTSTATUS_BATCH") != listed {
			t.Errorf("%s: asked %d and %d times, want %d and %d", when, a, b, first, second)
		}
	}
	expect("at first", 2, 0) // of the path, and of the directory
	one.set(func() { one.exception, one.message = "org.apache.hadoop.ipc.StandbyException", "standby" })
	expect("failed over", 1, 2)
	expect("after that", 0, 2)
	one.set(func() { one.exception = "" })
	two.stop()
	expect("the other is gone", 2, 0)
}

// TestRPCKerberosRefused: New wants the service principal, and WebHDFS serves where a login fails.
func TestRPCKerberosRefused(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.put("/d/a", 1)
	cfg := Config{
		NameNodes: []string{"http://nn1:9870"}, Timeout: time.Second,
		RPCAddresses: []string{newRPCNameNode(t, f).listener.Addr().String()},
	}
	login := func() (*krb.Client, error) {
		return krb.NewWithPassword("heddle", "EXAMPLE.COM", "secret", config.New()), nil
	}
	if _, err := New(cfg, Options{Kerberos: login}); err == nil || !strings.Contains(err.Error(), "no RPCPrincipal") {
		t.Errorf("without a service principal: %v", err)
	}
	cfg.RPCPrincipal = "nn/_HOST"
	for name, login := range map[string]func() (*krb.Client, error){
		"SASL handshake": login,
		"no ticket":      func() (*krb.Client, error) { return nil, errors.New("no ticket") },
	} {
		var lines bytes.Buffer
		c, err := New(cfg, Options{
			Kerberos: login, Base: inMemory{"nn1:9870": f}, Log: hclog.New(&hclog.LoggerOptions{Output: &lines}),
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		if got, err := c.Blocks(t.Context(), "/d"); err != nil || len(got.Blocks) != 1 || !strings.Contains(lines.String(), name) {
			t.Errorf("%s: %+v, %v, logged\n%s", name, got, err, &lines)
		}
	}
}

// TestRPCConn splits a stream of packets in every way and refuses what a call may not receive.
func TestRPCConn(t *testing.T) {
	t.Parallel()
	first, second := strings.Repeat("a", shortAnswer+3), strings.Repeat("b", shortAnswer)
	stream := []byte("\x00\x00\x10\x03" + first + "\x00\x00\x00\x00" + "\x00\x00\x10\x00" + second + "\x00\x00\x00\x06ijklmn")
	kept := len(stream) - 10
	for size := 1; size <= len(stream)+1; size += 1 + size/7 {
		s := (&rpcReader{now: time.Now, timeout: time.Second}).session()
		s.allowed.Store(3*shortAnswer + 3)
		c := &rpcConn{Conn: pipeConn{Reader: bytes.NewReader(stream)}, session: s}
		var got []byte
		buf := make([]byte, size)
		var err error
		for err == nil {
			var n int
			n, err = c.Read(buf)
			got = append(got, buf[:n]...)
		}
		if !errors.Is(err, errTooLong) || len(got) > kept+4 || !bytes.HasPrefix(stream, got) {
			t.Fatalf("by %d bytes: read %d of %d, %v", size, len(got), kept, err)
		}
	}
}

// pipeConn is a net.Conn that reads from memory.
type pipeConn struct {
	net.Conn
	io.Reader
}

func (c pipeConn) Read(p []byte) (int, error)      { return c.Reader.Read(p) }
func (c pipeConn) SetReadDeadline(time.Time) error { return nil }
func (c pipeConn) Close() error                    { return nil }

// TestNeedLocation: of all frames only a getListing without locations changes, in its
// last byte, and in a copy.
func TestNeedLocation(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		method := rapid.SampledFrom([]string{"getListing", "getFileInfo", "renewLease"}).Draw(rt, "method")
		id := rapid.SampledFrom([]int32{0, 7, 1 << 30, ipc.CallContext, ipc.CallSASL}).Draw(rt, "call")
		request := bytesField(nil, 1, []byte(rapid.String().Draw(rt, "path")))
		request = bytesField(request, 2, []byte(rapid.String().Draw(rt, "after")))
		need := rapid.Uint64Range(0, 1).Draw(rt, "need")
		request = varint(request, 3, need)
		call := ipc.Call{Method: []byte(method), Protocol: []byte(clientProtocol), Version: 1}
		frame := ipc.AppendRequest(nil, ipctest.CallHeader(id, make([]byte, 16)), &call, request)
		if rapid.Bool().Draw(rt, "noise") {
			frame = rapid.SliceOf(rapid.Byte()).Draw(rt, "frame")
		}
		before := bytes.Clone(frame)
		wanted := rapid.Bool().Draw(rt, "wanted")
		changed, isCall := needLocation(frame, wanted)
		if !bytes.Equal(frame, before) {
			rt.Fatal("the frame given was changed")
		}
		h, rest, err := ipc.ParseRequest(frame[min(4, len(frame)):])
		if isCall != (len(frame) >= 4 && err == nil && h.CallID >= 0) {
			rt.Fatalf("call %v: %v", isCall, h)
		}
		want := bytes.Clone(before)
		if c, body, err := ipc.ParseCall(rest); isCall && wanted && err == nil && string(c.Method) == "getListing" && number(body, 3) == 0 && len(body) > 1 {
			want[len(want)-1] |= 1
		}
		if !bytes.Equal(changed, want) {
			rt.Fatalf("got %x, want %x", changed, want)
		}
	})
}

// TestRPCBudget: requests over RPC spend the budget that requests over HTTP do, of
// requests and of bytes, and so do those that one call sends after its first.
func TestRPCBudget(t *testing.T) {
	t.Parallel()
	for name, budget := range map[string]*rest.Budget{"requests": rest.NewBudget(0.01, 0), "bytes": rest.NewBudget(0, 20)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			tree(f)
			c, err := New(Config{
				NameNodes: []string{"http://nn1:9870"}, User: "heddle", RPCAddresses: []string{newRPCNameNode(t, f).listener.Addr().String()},
			}, Options{Base: inMemory{"nn1:9870": f}, Budget: budget})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Close() })
			ctx := rest.AdmitWithin(t.Context(), time.Second)
			s := c.rpc.session()
			err = s.list(ctx, "/in/2026", func([]fileStatus) error { return nil })
			s.close()
			if !errors.Is(err, rest.ErrBudget) || pollResult(err) != model.PollBudget || c.Usage().Requests != 2 {
				t.Errorf("%v, after %d requests", err, c.Usage().Requests)
			}
		})
	}
}

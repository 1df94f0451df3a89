package hdfsclient

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	krb "github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/config"
	"google.golang.org/protobuf/encoding/protowire"

	"heddle/core/model"
	"heddle/yarnproxy/rest"
)

// rpcNameNode speaks as much of Hadoop RPC 9 and ClientProtocol as a walk
// needs, for the tree of a fakeNameNode.
type rpcNameNode struct {
	t        *testing.T
	tree     *fakeNameNode
	listener net.Listener
	wg       sync.WaitGroup

	mu        sync.Mutex
	conns     []net.Conn
	exception string // answers every call but the lease's
	message   string
	calls     map[string]int
	drop      int    // calls to hang up on
	raw       []byte // sent in place of an answer
}

func newRPCNameNode(t *testing.T, tree *fakeNameNode) *rpcNameNode {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &rpcNameNode{t: t, tree: tree, listener: l, calls: map[string]int{}}
	n.wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			n.set(func() { n.conns = append(n.conns, conn) })
			n.wg.Go(func() { n.serve(conn) })
		}
	})
	t.Cleanup(n.stop)
	return n
}

func (n *rpcNameNode) set(change func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change()
}

func (n *rpcNameNode) stop() {
	_ = n.listener.Close()
	n.set(func() {
		for _, c := range n.conns {
			_ = c.Close()
		}
	})
	n.wg.Wait()
}

func (n *rpcNameNode) serve(conn net.Conn) {
	defer conn.Close()
	header := make([]byte, 7)
	if _, err := io.ReadFull(conn, header); err != nil {
		return
	}
	if string(header[:4]) != "hrpc" || header[4] != 9 {
		n.t.Errorf("connection header %x", header)
	}
	if header[6] != 0 {
		return // no SASL here
	}
	if _, err := readPacket(conn); err != nil { // connection context
		return
	}
	for {
		parts, err := readPacket(conn)
		if err != nil {
			return
		}
		call := protowire.DecodeZigZag(number(parts[0], 3))
		method := string(field(parts[1], 1))
		hangUp := false
		n.set(func() {
			n.calls[method]++
			if n.drop > 0 && method != "renewLease" {
				n.drop--
				hangUp = true
			}
		})
		if hangUp {
			return
		}
		if _, err := conn.Write(n.answer(call, method, parts[2])); err != nil {
			return
		}
	}
}

// readPacket reads one packet and splits it into its messages.
func readPacket(r io.Reader) ([][]byte, error) {
	var size uint32
	if err := binary.Read(r, binary.BigEndian, &size); err != nil {
		return nil, err
	}
	packet := make([]byte, size)
	if _, err := io.ReadFull(r, packet); err != nil {
		return nil, err
	}
	var parts [][]byte
	for len(packet) > 0 {
		part, n := protowire.ConsumeBytes(packet)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		parts = append(parts, part)
		packet = packet[n:]
	}
	return parts, nil
}

func each(msg []byte, visit func(protowire.Number, []byte, uint64)) {
	for len(msg) > 0 {
		num, typ, n := protowire.ConsumeTag(msg)
		msg = msg[n:]
		switch typ {
		case protowire.BytesType:
			b, n := protowire.ConsumeBytes(msg)
			visit(num, b, 0)
			msg = msg[n:]
		default:
			v, n := protowire.ConsumeVarint(msg)
			visit(num, nil, v)
			msg = msg[n:]
		}
	}
}

func field(msg []byte, want protowire.Number) (found []byte) {
	each(msg, func(num protowire.Number, b []byte, _ uint64) {
		if num == want {
			found = b
		}
	})
	return found
}

func number(msg []byte, want protowire.Number) (found uint64) {
	each(msg, func(num protowire.Number, _ []byte, v uint64) {
		if num == want {
			found = v
		}
	})
	return found
}

func bytesField(msg []byte, num protowire.Number, b []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(msg, num, protowire.BytesType), b)
}

func varint(msg []byte, num protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(msg, num, protowire.VarintType), v)
}

func (n *rpcNameNode) answer(call int64, method string, request []byte) []byte {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.raw != nil {
		return n.raw
	}
	header := varint(nil, 1, uint64(uint32(call)))
	var body []byte
	exception, message := n.exception, n.message
	if method != "renewLease" && exception == "" {
		body, exception = n.call(method, request)
		message = exception
	}
	var packet []byte
	if exception != "" && method != "renewLease" {
		header = varint(header, 2, 1)
		header = bytesField(header, 4, []byte(exception))
		header = bytesField(header, 5, []byte(message))
		packet = protowire.AppendBytes(nil, header)
	} else {
		packet = protowire.AppendBytes(protowire.AppendBytes(nil, varint(header, 2, 0)), body)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(packet))), packet...)
}

// call answers getFileInfo and getListing.
func (n *rpcNameNode) call(method string, request []byte) (body []byte, exception string) {
	f := n.tree
	f.mu.Lock()
	defer f.mu.Unlock()
	name := string(field(request, 1))
	if slices.Contains(f.forbid, name) {
		return nil, "org.apache.hadoop.security.AccessControlException"
	}
	file, isFile := f.files[name]
	switch method {
	case "getFileInfo":
		if isFile || f.dirs[name] {
			body = bytesField(body, 1, hdfsStatus("", isFile, file))
		}
		return body, ""
	case "getListing":
		var names []string
		for child := range f.files {
			names = append(names, child)
		}
		for child := range f.dirs {
			names = append(names, child)
		}
		names = slices.DeleteFunc(names, func(c string) bool {
			return c == "/" || path.Dir(c) != name || path.Base(c) <= string(field(request, 2))
		})
		slices.Sort(names)
		var list []byte
		for _, child := range names[:min(len(names), f.pageSize)] {
			file, isFile := f.files[child]
			list = bytesField(list, 1, hdfsStatus(path.Base(child), isFile, file))
		}
		list = varint(list, 2, uint64(max(len(names)-f.pageSize, 0)))
		return bytesField(nil, 1, list), ""
	}
	return nil, "java.lang.UnsupportedOperationException"
}

// hdfsStatus is an HdfsFileStatusProto.
func hdfsStatus(name string, isFile bool, file fakeFile) []byte {
	kind := uint64(1)
	if isFile {
		kind = 2
	}
	m := varint(nil, 1, kind)
	m = bytesField(m, 2, []byte(name))
	m = varint(m, 3, uint64(file.length))
	m = bytesField(m, 4, varint(nil, 1, 0o755))
	m = bytesField(m, 5, []byte("root"))
	m = bytesField(m, 6, []byte("supergroup"))
	m = varint(m, 7, uint64(file.modified))
	m = varint(m, 8, 0)
	return varint(m, 11, fakeBlock)
}

// rpcClient walks over RPC and locates over HTTP.
func rpcClient(t *testing.T, f *fakeNameNode, nodes ...*rpcNameNode) *Client {
	t.Helper()
	cfg := Config{Walk: WalkRPC, User: "heddle", Timeout: 2 * time.Second}
	for _, n := range nodes {
		cfg.RPCAddresses = append(cfg.RPCAddresses, n.listener.Addr().String())
	}
	return client(t, cfg, f)
}

// TestRPCWalk: both ways of walking find the same.
func TestRPCWalk(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	tree(f)
	f.pageSize = 2
	n := newRPCNameNode(t, f)
	overRPC, overWeb := rpcClient(t, f, n), client(t, Config{}, f)
	for _, p := range []string{"/in/2026", "/one", "/in/*/{11,12}/[a-b]*", "/odd", "/one/*", "/"} {
		want, wantErr := overWeb.Blocks(t.Context(), p)
		before := f.count("GETFILESTATUS") + f.count("LISTSTATUS_BATCH")
		got, err := overRPC.Blocks(t.Context(), p)
		if fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Errorf("%s: %v over RPC, %v over WebHDFS", p, err, wantErr)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: WebHDFS against RPC:\n%s", p, diff)
		}
		if after := f.count("GETFILESTATUS") + f.count("LISTSTATUS_BATCH"); after > before+1 { // one finds the active
			t.Errorf("%s: the walk went over WebHDFS", p)
		}
	}
	usage := overRPC.Usage()
	if overRPC.web.http.Usage().Requests >= usage.Requests || overRPC.web.http.Usage().Bytes >= usage.Bytes {
		t.Errorf("usage %+v leaves RPC out", usage)
	}
}

func TestRPCErrors(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.put("/d/a", 1)
	f.forbid = []string{"/secret"}
	n := newRPCNameNode(t, f)
	c := rpcClient(t, f, n)
	stat := func(path string) error {
		_, err := c.rpc.stat(t.Context(), path)
		return err
	}
	var missing *NotFoundError
	if err := stat("/nope"); !errors.As(err, &missing) || missing.Path != "/nope" {
		t.Errorf("missing: %v", err)
	}
	var denied *PermissionError
	if err := stat("/secret"); !errors.As(err, &denied) || denied.Path != "/secret" {
		t.Errorf("denied: %v", err)
	}
	for _, tt := range []struct {
		exception, message string
		want               model.PollResult
	}{
		{"org.apache.hadoop.hdfs.server.namenode.SafeModeException", "Name node is in safe mode.", model.PollError},
		{"org.apache.hadoop.ipc.RetriableException", "Namenode is in startup mode", model.PollError},
		{"java.io.IOException", "disk", model.PollError},
		{"org.apache.hadoop.ipc.StandbyException", "Operation category READ is not supported in state standby", model.PollStandby},
	} {
		n.set(func() { n.exception, n.message = tt.exception, tt.message })
		err := stat("/d")
		if pollResult(err) != tt.want || !strings.Contains(err.Error(), tt.exception[strings.LastIndexByte(tt.exception, '.')+1:]) &&
			!strings.Contains(err.Error(), tt.message) {
			t.Errorf("%s: %v (%s), want %s", tt.exception, err, pollResult(err), tt.want)
		}
	}
	n.set(func() { n.exception, n.raw = "", []byte{0xff, 0xff, 0xff, 0xff} })
	if err := stat("/d"); err == nil || !strings.Contains(err.Error(), "the limit is") {
		t.Errorf("a packet of 4 GB: %v", err)
	}
	n.set(func() { n.raw = nil })
	if err := stat("/d"); err != nil {
		t.Errorf("after all that: %v", err)
	}
}

// TestRPCSilence: a NameNode that takes the call and says nothing does not
// hold the walk beyond two timeouts.
func TestRPCSilence(t *testing.T) {
	t.Parallel()
	n := newRPCNameNode(t, newFake(t))
	n.raw = []byte{}
	c := client(t, Config{Walk: WalkRPC, User: "heddle", Timeout: 50 * time.Millisecond, RPCAddresses: []string{n.listener.Addr().String()}}, newFake(t))
	_, err := c.rpc.stat(t.Context(), "/")
	if err == nil || pollResult(err) != model.PollUnreachable || !strings.Contains(err.Error(), "timeout") {
		t.Errorf("%v (%s)", err, pollResult(err))
	}
}

// TestRPCKerberosRefused: a NameNode that ends the handshake denied the login.
func TestRPCKerberosRefused(t *testing.T) {
	t.Parallel()
	n := newRPCNameNode(t, newFake(t))
	cfg := Config{
		NameNodes: []string{"http://nn1:9870"}, Walk: WalkRPC, Timeout: time.Second,
		RPCAddresses: []string{n.listener.Addr().String()},
	}
	login := krb.NewWithPassword("heddle", "EXAMPLE.COM", "secret", config.New())
	if _, err := New(cfg, Options{Kerberos: login}); err == nil || !strings.Contains(err.Error(), "no RPCPrincipal") {
		t.Errorf("without a service principal: %v", err)
	}
	cfg.RPCPrincipal = "nn/_HOST"
	c, err := New(cfg, Options{Kerberos: login})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_, err = c.rpc.stat(t.Context(), "/")
	if pollResult(err) != model.PollDenied {
		t.Errorf("%v (%s)", err, pollResult(err))
	}
}

func TestRPCFailover(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.put("/d/a", 1)
	first, second := newRPCNameNode(t, f), newRPCNameNode(t, f)
	c := rpcClient(t, f, first, second)
	stat := func() {
		t.Helper()
		if _, err := c.rpc.stat(t.Context(), "/d/a"); err != nil {
			t.Fatal(err)
		}
	}
	served := func(n *rpcNameNode) int {
		n.mu.Lock()
		defer n.mu.Unlock()
		return n.calls["getFileInfo"]
	}
	stat()
	if served(first) != 1 {
		t.Fatal("the first was not asked")
	}
	first.set(func() { first.exception = "org.apache.hadoop.ipc.StandbyException" })
	stat()
	if served(second) != 1 {
		t.Fatal("no failover from a standby")
	}
	second.set(func() { second.drop = 1 }) // hangs up within a call
	first.set(func() { first.exception = "" })
	stat()
	second.set(func() {
		second.exception, second.message = "org.apache.hadoop.ipc.RetriableException", "Namenode is in startup mode"
	})
	first.set(func() {
		first.exception, first.message = "org.apache.hadoop.ipc.RetriableException", "Namenode is in startup mode"
	})
	_, err := c.rpc.stat(t.Context(), "/d/a")
	if _, ok := errors.AsType[*SafeModeError](err); !ok {
		t.Errorf("both start: %v", err)
	}
	first.set(func() { first.exception = "" })
	stat() // whichever of the two comes first
	if got, err := rpcClient(t, f, second, first).rpc.stat(t.Context(), "/d/a"); err != nil || got.length != fakeBlock {
		t.Errorf("one starts, the other is active: %+v, %v", got, err)
	}
	first.stop()
	second.stop()
	_, err = c.rpc.stat(t.Context(), "/d/a")
	if err == nil || errors.Is(err, rest.ErrStandby) || pollResult(err) != model.PollUnreachable {
		t.Errorf("both down: %v (%s)", err, pollResult(err))
	}
}

// TestRPCConn splits a stream of packets in every way and refuses a large one.
func TestRPCConn(t *testing.T) {
	t.Parallel()
	stream := []byte("\x00\x00\x00\x03abc\x00\x00\x00\x00\x00\x00\x00\x05defgh")
	for size := 1; size <= len(stream)+1; size++ {
		c := newTestConn(append(slices.Clone(stream), "\x00\x00\x00\x06ijklmn"...), 5)
		var got []byte
		buf := make([]byte, size)
		var err error
		for err == nil {
			var n int
			n, err = c.Read(buf)
			got = append(got, buf[:n]...)
		}
		if !strings.Contains(err.Error(), "limit is 5") || len(got) > len(stream)+4 || !bytes.HasPrefix(stream, got[:min(len(got), len(stream))]) {
			t.Fatalf("by %d bytes: read %q, %v", size, got, err)
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

func newTestConn(stream []byte, limit model.Bytes) *rpcConn {
	return &rpcConn{Conn: pipeConn{Reader: bytes.NewReader(stream)}, limit: limit, now: time.Now, received: new(atomic.Int64)}
}

// TestRPCBudget: requests over RPC, in both ways, spend the budget that requests
// over HTTP do, of requests and of bytes.
func TestRPCBudget(t *testing.T) {
	t.Parallel()
	for _, walk := range []string{WalkRPC, WalkNative} {
		for name, budget := range map[string]*rest.Budget{"requests": rest.NewBudget(0.01, 0), "bytes": rest.NewBudget(0, 20)} {
			t.Run(walk+"/"+name, func(t *testing.T) {
				t.Parallel()
				f := newFake(t)
				tree(f)
				address := newRPCNameNode(t, f).listener.Addr().String()
				if walk == WalkNative {
					address = newNativeNameNode(t, f).listener.Addr().String()
				}
				cfg := Config{NameNodes: []string{"http://nn1:9870"}, Walk: walk, User: "heddle", RPCAddresses: []string{address}, Timeout: 5 * time.Second}
				c, err := New(cfg, Options{Base: inMemory{"nn1:9870": f}, Budget: budget})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { c.Close() })
				ctx := rest.AdmitWithin(t.Context(), time.Second)
				names := namespace(c.rpc)
				if walk == WalkNative {
					names = c.native
				}
				if err := names.list(ctx, "/in/2026", func([]fileStatus) error { return nil }); err != nil && !errors.Is(err, rest.ErrBudget) {
					t.Fatal(err)
				}
				spent := c.Usage().Requests
				err = names.list(ctx, "/in/2026", func([]fileStatus) error { return nil })
				if !errors.Is(err, rest.ErrBudget) || pollResult(err) != model.PollBudget || c.Usage().Requests != spent || spent != 1 {
					t.Errorf("%v, after %d requests %d", err, spent, c.Usage().Requests)
				}
			})
		}
	}
}

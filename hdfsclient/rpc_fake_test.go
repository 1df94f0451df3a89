package hdfsclient

import (
	"context"
	"net"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"heddle/yarnproxy/ipc"
	"heddle/yarnproxy/ipc/ipctest"
)

const clientProtocol = "org.apache.hadoop.hdfs.protocol.ClientProtocol"

// rpcNameNode answers getFileInfo and getListing as a NameNode of 3.4.3
// does, for the tree of a fakeNameNode, with the blocks of its recording.
type rpcNameNode struct {
	t        testing.TB
	tree     *fakeNameNode
	listener net.Listener
	wg       sync.WaitGroup
	blocks   [][]byte // LocatedBlockProto of the recording, without offset

	mu        sync.Mutex
	conns     []net.Conn
	calls     map[string]int
	located   int // listings asked for with locations
	exception string
	message   string
	status    ipc.Status          // of exception
	links     []string            // paths that are symbolic links
	limit     int                 // replicas in a page; dfs.ls.limit
	hangUp    int                 // calls to hang up on
	answer    func([]byte) []byte // changes the answers to getListing
	silent    chan struct{}       // answers wait for its end; nil is none
	kept      map[string][]byte   // answers by call, made once; nil makes each anew
	// login lets a client in that speaks SASL; nil lets none in.
	login func(conn net.Conn, frames *ipc.Reader) bool
	wrap  func(answer []byte) []byte // protects answers after login; nil is none
}

func newRPCNameNode(tb testing.TB, tree *fakeNameNode) *rpcNameNode {
	tb.Helper()
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	n := &rpcNameNode{t: tb, tree: tree, listener: l, calls: map[string]int{}, limit: 1 << 30, status: ipc.StatusError}
	for _, b := range tree.old {
		n.blocks = append(n.blocks, locatedBlockProto(b))
	}
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
	tb.Cleanup(n.stop)
	return n
}

func (n *rpcNameNode) set(change func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change()
}

func (n *rpcNameNode) count(method string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.calls[method]
}

func (n *rpcNameNode) stop() {
	_ = n.listener.Close()
	n.hangUpNow()
	n.wg.Wait()
}

// hangUpNow closes every connection.
func (n *rpcNameNode) hangUpNow() {
	n.set(func() {
		for _, c := range n.conns {
			_ = c.Close()
		}
		n.conns = nil
	})
}

func (n *rpcNameNode) serve(conn net.Conn) {
	defer conn.Close()
	frames := ipc.NewReader(conn, 1<<20)
	preamble, err := frames.ReadPreamble()
	if err != nil {
		return
	}
	p, err := ipc.ParsePreamble(preamble)
	if err != nil || p.Version != 9 {
		n.t.Errorf("preamble %+v, %v", p, err)
	}
	if p.Auth != ipc.AuthNone && (n.login == nil || !n.login(conn, frames)) {
		return
	}
	if err := n.hello(frames); err != nil {
		n.t.Errorf("connection context: %v", err)
		return
	}
	for {
		frame, err := frames.Next()
		if err != nil {
			return
		}
		h, rest, err := ipc.ParseRequest(frame[4:])
		if err != nil {
			n.t.Error(err)
			return
		}
		call, request, err := ipc.ParseCall(rest)
		if err != nil || string(call.Protocol) != clientProtocol || call.Version != 1 {
			n.t.Errorf("%+v, %v", call, err)
			return
		}
		header, body, ok := n.reply(string(call.Method), request)
		header.CallID, header.ClientID = h.CallID, h.ClientID
		if !ok {
			return
		}
		answer := ipctest.AppendResponse(nil, header, body)
		if n.wrap != nil {
			answer = n.wrap(answer)
		}
		if _, err := conn.Write(answer); err != nil {
			return
		}
	}
}

func (n *rpcNameNode) hello(frames *ipc.Reader) error {
	frame, err := frames.Next()
	if err != nil {
		return err
	}
	h, rest, err := ipc.ParseRequest(frame[4:])
	if err != nil {
		return err
	}
	body, err := ipc.ParseParam(rest)
	if err != nil {
		return err
	}
	c, err := ipctest.ParseContext(body)
	if h.CallID != ipc.CallContext || !strings.HasPrefix(string(c.User), "heddle") || string(c.Protocol) != clientProtocol {
		n.t.Errorf("context %+v %q %q", h, c.User, c.Protocol)
	}
	return err
}

// reply answers one call, or hangs up.
func (n *rpcNameNode) reply(method string, request []byte) (h ipc.ResponseHeader, body []byte, ok bool) {
	if n.silent != nil {
		<-n.silent
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.calls[method]++
	if n.hangUp > 0 && method != "renewLease" {
		n.hangUp--
		return h, nil, false
	}
	exception, message := n.exception, n.message
	if exception == "" {
		body, exception = n.call(method, request)
		message = "about " + method
	}
	if exception != "" {
		return ipc.ResponseHeader{Status: n.status, Exception: []byte(exception), Message: []byte(message + "\n\tat org.apache")}, nil, true
	}
	if n.answer != nil && method == "getListing" {
		body = n.answer(body)
	}
	return h, body, true
}

func (n *rpcNameNode) call(method string, request []byte) (body []byte, exception string) {
	key := method + string(request)
	if kept, ok := n.kept[key]; ok {
		return kept, ""
	}
	if n.kept != nil {
		defer func() { n.kept[key] = body }()
	}
	f := n.tree
	f.mu.Lock()
	defer f.mu.Unlock()
	name := string(field(request, 1))
	file, isFile := f.files[name]
	switch {
	case slices.Contains(f.forbid, name):
		return nil, "org.apache.hadoop.security.AccessControlException"
	case !isFile && !f.dirs[name]:
		return []byte{}, ""
	case method == "getFileInfo":
		return bytesField(nil, 1, n.fileStatus("", name, isFile, file, false)), ""
	case method != "getListing":
		return nil, "org.apache.hadoop.ipc.RpcNoSuchMethodException"
	}
	return bytesField(nil, 1, n.list(name, string(field(request, 2)), number(request, 3) == 1)), ""
}

// list is DirectoryListingProto (FSDirStatAndListingOp.getListing).
func (n *rpcNameNode) list(dir, after string, locations bool) []byte {
	if locations {
		n.located++
	}
	f := n.tree
	if file, isFile := f.files[dir]; isFile {
		return varint(bytesField(nil, 1, n.fileStatus("", dir, true, file, locations)), 2, 0)
	}
	var names []string
	for name := range f.files {
		names = append(names, name)
	}
	for name := range f.dirs {
		names = append(names, name)
	}
	names = slices.DeleteFunc(names, func(c string) bool { return c == "/" || path.Dir(c) != dir || path.Base(c) <= after })
	slices.Sort(names)
	var list []byte
	replicas, listed := 0, 0
	for _, name := range names {
		if listed == f.pageSize || replicas >= n.limit {
			break
		}
		file, isFile := f.files[name]
		list = bytesField(list, 1, n.fileStatus(path.Base(name), name, isFile, file, locations))
		if locations {
			replicas += 3 * int(file.length/fakeBlock)
		}
		listed++
	}
	return varint(list, 2, uint64(len(names)-listed))
}

// fileStatus is HdfsFileStatusProto.
func (n *rpcNameNode) fileStatus(name, full string, isFile bool, file fakeFile, locations bool) []byte {
	if slices.Contains(n.links, full) {
		return varint(hdfsStatus(name, true, file), 1, 3)
	}
	m := hdfsStatus(name, isFile, file)
	m = varint(m, 10, 3)
	if isFile && locations {
		m = bytesField(m, 12, n.locatedBlocks(file.length))
	}
	return varint(varint(m, 13, 16400), 14, 0)
}

func (n *rpcNameNode) locatedBlocks(length int64) []byte {
	m := varint(nil, 1, uint64(length))
	for at := int64(0); at < length; at += fakeBlock {
		block := slices.Clone(n.blocks[int(at/fakeBlock)%len(n.blocks)])
		m = bytesField(m, 2, varint(block, 2, uint64(at)))
	}
	return varint(varint(m, 3, 0), 5, 1)
}

// locatedBlockProto is LocatedBlockProto of a locatedBlocks element of WebHDFS,
// with all fields that 3.4.3 writes, its offset aside (PBHelperClient).
func locatedBlockProto(j map[string]any) []byte {
	text := func(m map[string]any, key string) []byte { s, _ := m[key].(string); return []byte(s) }
	num := func(m map[string]any, key string) uint64 { f, _ := m[key].(float64); return uint64(int64(f)) }
	b, _ := j["block"].(map[string]any)
	id := bytesField(nil, 1, text(b, "blockPoolId"))
	id = varint(varint(varint(id, 2, num(b, "blockId")), 3, num(b, "generationStamp")), 4, fakeBlock)
	m := bytesField(nil, 1, id)
	locations, _ := j["locations"].([]any)
	for _, l := range locations {
		l, _ := l.(map[string]any)
		node := bytesField(bytesField(bytesField(nil, 1, text(l, "ipAddr")), 2, text(l, "hostName")), 3, text(l, "storageID"))
		for i, key := range []string{"xferPort", "infoPort", "ipcPort", "infoSecurePort"} {
			node = varint(node, protowire.Number(4+i), num(l, key))
		}
		info := bytesField(nil, 1, node)
		for i, key := range []string{"capacity", "dfsUsed", "remaining", "blockPoolUsed", "lastUpdate", "xceiverCount"} {
			info = varint(info, protowire.Number(2+i), num(l, key))
		}
		info = bytesField(info, 8, text(l, "networkLocation"))
		for i, key := range []string{"nonDfsUsed", "adminStateNormal", "cacheCapacity", "cacheUsed", "lastUpdateMonotonic"} {
			info = varint(info, protowire.Number(9+i), num(l, key))
		}
		info = varint(varint(info, 15, num(l, "lastBlockReportTime")), 16, num(l, "lastBlockReportMonotonic"))
		m = bytesField(m, 3, varint(info, 17, 58))
	}
	corrupt, _ := j["isCorrupt"].(bool)
	m = varint(m, 4, protowire.EncodeBool(corrupt))
	m = bytesField(m, 5, []byte{0x0a, 0, 0x12, 0, 0x1a, 0, 0x22, 0})
	m = bytesField(m, 6, make([]byte, len(locations)))
	for range locations {
		m = varint(m, 7, 1)
	}
	for range locations {
		m = bytesField(m, 8, []byte("DS-9f2953f2-4d60-45b5-bc4d-7046d344db03"))
	}
	return m
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

// rpcClient lists over RPC; readiness comes over HTTP.
func rpcClient(tb testing.TB, cfg Config, f *fakeNameNode, nodes ...*rpcNameNode) *Client {
	tb.Helper()
	cfg.User = "heddle"
	if cfg.Timeout == 0 {
		cfg.Timeout = 5 * time.Second
	}
	for _, n := range nodes {
		cfg.RPCAddresses = append(cfg.RPCAddresses, n.listener.Addr().String())
	}
	return client(tb, cfg, f)
}

package amrm

import (
	"bytes"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/yarnproxy/ipc"
	"heddle/yarnproxy/ipc/ipctest"
)

// rawRig is a relay in front of a socket that the test speaks for.
func rawRig(t *testing.T, path string) (g *rig, change func(*Options), upstream net.Listener) {
	t.Helper()
	upstream, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { upstream.Close() })
	change = withSocket(path, func(o *Options) { o.Listeners[0].Upstream = upstream.Addr().String() })
	g = newRig(t, nil)
	g.stop()
	g.quick(change)
	return g, change, upstream
}

// quick starts a relay that waits for half a frame only briefly.
func (g *rig) quick(change func(*Options)) {
	g.t.Helper()
	r := g.build(change)
	r.times.halt, r.times.linger = 300*time.Millisecond, 10*time.Second
	g.run(r)
}

// TestHandoverHalves cuts what both sides say at any place, and hands over there:
// within the preamble, SASL, calls, frames that are too long to be looked at, and
// what is no Hadoop RPC.
func TestHandoverHalves(t *testing.T) {
	t.Parallel()
	am := &fakeAM{id: attemptID(1), client: []byte("0123456789abcdef")}
	answer := func(id int32, body []byte) []byte {
		return ipctest.AppendResponse(nil, ipc.ResponseHeader{CallID: id, ClientID: am.client}, body)
	}
	calls := slices.Concat(hello(am, "auth"), am.frame("registerApplicationMaster", []byte{}),
		am.frame("allocate", allocateBody(0, ask(10, "*", 4))), am.frame("allocate", appendMessage(allocateBody(1), 99, make([]byte, 50_000))))
	answers := slices.Concat(success(), answer(1, []byte{}), answer(2, []byte{2 << 3, 1}), answer(3, appendMessage([]byte{2 << 3, 2}, 99, make([]byte, 30_000))))
	long := make([]byte, largeFrame+100)
	for name, say := range map[string][2][]byte{
		"calls":   {calls, answers},
		"no hrpc": {[]byte("GET / HTTP/1.1\r\nHost: somewhere\r\n\r\n"), []byte("HTTP/1.1 404 Not Found\r\n\r\n")},
		"wrapped": {append(hello(am, "auth-conf"), long[:20_000]...), append(success(), long[:20_000]...)},
		"long":    {append(hello(am, "auth"), frameOf(long)...), append(success(), frameOf(long)...)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			draw := rand.New(rand.NewPCG(1, uint64(len(name))))
			g, change, upstream := rawRig(t, socketPath(t))
			client, err := net.Dial("tcp", g.addr)
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			rm, err := upstream.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer rm.Close()
			heard := [2]chan []byte{collect(rm), collect(client)}
			said := [2]int{}
			for range 5 {
				for i, end := range []net.Conn{client, rm} {
					n := draw.IntN(len(say[i])-said[i]) / 2
					if _, err := end.Write(say[i][said[i] : said[i]+n]); err != nil {
						t.Fatal(err)
					}
					said[i] += n
				}
				before := g.ended
				g.quick(change)
				<-before
			}
			for i, end := range []net.Conn{client, rm} {
				if _, err := end.Write(say[i][said[i]:]); err != nil {
					t.Fatal(err)
				}
				end.(*net.TCPConn).CloseWrite()
			}
			for i := range heard {
				if got := <-heard[i]; !bytes.Equal(got, say[i]) {
					t.Errorf("direction %d: %d bytes arrived, or others, want %d", i, len(got), len(say[i]))
				}
			}
			eventually(t, "the connection is gone", func() bool { s := g.relay.Status(); return s.Connections == 0 && s.Blind == 0 })
		})
	}
}

func frameOf(b []byte) []byte {
	return append([]byte{byte(len(b) >> 24), byte(len(b) >> 16), byte(len(b) >> 8), byte(len(b))}, b...)
}

// collect reads a connection to its end.
func collect(c net.Conn) chan []byte {
	heard := make(chan []byte, 1)
	go func() {
		c.SetReadDeadline(time.Now().Add(20 * time.Second))
		b, _ := io.ReadAll(c)
		heard <- b
	}()
	return heard
}

// TestHandoverOwed hands over while a client takes no bytes: what it was not
// given is owed to it.
func TestHandoverOwed(t *testing.T) {
	t.Parallel()
	g, change, upstream := rawRig(t, socketPath(t))
	client, err := net.Dial("tcp", g.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	rm, err := upstream.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer rm.Close()
	collect(rm) // what is not read when it closes would end everything
	am := &fakeAM{id: attemptID(1)}
	if _, err := client.Write(hello(am, "auth")); err != nil {
		t.Fatal(err)
	}
	said := success()
	for i := range 4 {
		said = append(said, frameOf(bytes.Repeat([]byte{byte(i)}, 6<<20))...)
	}
	go func() {
		rm.Write(said)
		rm.Close()
	}()
	for range 3 {
		before, log := g.ended, g.log
		defer func() {
			if t.Failed() {
				t.Logf("log:\n%s", log)
			}
		}()
		r := g.build(change)
		r.times.halt = 2 * time.Second // all that is owed has to be put together meanwhile
		g.run(r)
		<-before
	}
	if got := <-collect(client); !bytes.Equal(got, said) {
		t.Errorf("%d bytes arrived, or others, want %d", len(got), len(said))
	}
}

// TestHandoverListeners changes the addresses with the handover: one stays, one
// goes, one comes. Connections through the one that goes stay.
func TestHandoverListeners(t *testing.T) {
	t.Parallel()
	path := socketPath(t)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	kept := free.Addr().String()
	free.Close()
	g := newRig(t, func(o *Options) {
		o.HandoverSocket = path
		o.Listeners = append(o.Listeners, Listener{RM: "rm2", Address: kept, Upstream: o.Listeners[0].Upstream})
	})
	gone := g.addr
	ams := []*fakeAM{connect(t, gone, attemptID(1)), connect(t, kept, attemptID(2))}
	for _, am := range ams {
		am.register()
	}
	before := g.ended
	r := g.build(func(o *Options) {
		o.HandoverSocket = path
		o.MaxConns = 3
		o.Listeners = []Listener{
			{RM: "rm2", Address: kept, Upstream: o.Listeners[0].Upstream}, {RM: "rm3", Address: "localhost:0", Upstream: o.Listeners[0].Upstream},
		}
	})
	g.run(r)
	<-before
	for _, am := range ams {
		am.allocate()
	}
	if _, err := net.Dial("tcp", gone); err == nil {
		t.Error("an address that is not configured any more takes connections")
	}
	list := g.relay.Status().Listeners
	if len(list) != 2 || list[0].Address != kept || list[0].RM != "rm2" || list[1].RM != "rm3" {
		t.Errorf("listeners %+v", list)
	}
	connect(t, list[1].Address, attemptID(3)).register()
	if c, err := net.Dial("tcp", kept); err != nil || !closed(c) {
		t.Errorf("a fourth connection of three, %v", err)
	}

	log := g.log
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	err = g.build(func(o *Options) { o.HandoverSocket, o.Listeners[0].Address = path, taken.Addr().String() }).Listen(t.Context())
	if err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("an address that is taken: %v", err)
	}
	for _, am := range ams {
		am.allocate()
	}
	eventually(t, "the running one says why", func() bool { return strings.Contains(log.String(), "address already in use") })
}

// FuzzHandover reads any message, and has a relay go on with what it says.
func FuzzHandover(f *testing.F) {
	id := attemptID(1)
	add := func(kind messageKind, v any) {
		b, err := json.Marshal(v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(byte(kind), b)
		f.Add(byte(kind), b[:len(b)/2])
	}
	add(sayHello, helloMsg{Version: 1})
	add(sayListeners, []listenerMsg{{RM: "rm1", Address: "127.0.0.1:7930", Upstream: "rm1:8030"}})
	add(sayAttempts, []attemptMsg{{ID: id, Table: json.RawMessage(`{"format":1,"keys":[{"priority":10,"id":-1}]}`), Standing: live}})
	add(sayConns, []connMsg{{
		Phase: phaseCalls, Token: id, Named: true, Tokens: 1, Calls: []callMsg{{ID: 3, Method: methodAllocate, Edited: true}}, Attempt: &id,
		Up: pendingMsg{Ahead: []byte{0, 0, 0, 9, 1}}, Down: pendingMsg{Owed: []byte("owed"), Left: 7},
	}})
	add(sayConns, []connMsg{{Phase: phaseBlind, Up: pendingMsg{Left: -1}, Down: pendingMsg{Left: -1}}})
	add(sayEnd, endMsg{Attempts: 1, Conns: 1})
	f.Fuzz(func(t *testing.T, kind byte, body []byte) {
		c := inside(t, newFakeGuide())
		if list, err := decodeConns(body, 2); err == nil {
			client, rm := &scripted{says: []byte("more"), piece: 3}, &scripted{piece: 1}
			got := c.relay.imported(&list[0], client, rm)
			again := got.export()
			if len(again.Calls) != len(list[0].Calls) || again.Phase != list[0].Phase || !bytes.Equal(again.Up.Ahead, list[0].Up.Ahead) {
				t.Errorf("%+v became %+v", list[0], again)
			}
			got.requests(t.Context())
			got.responses()
		}
		if list, err := decodeAttempts(body); err == nil {
			for i := range list {
				c.relay.attempts.install(&list[i])
			}
			for _, a := range c.relay.attempts.list() {
				if _, err := a.export(); err != nil {
					t.Error(err)
				}
			}
		}
		tk := taker{relay: c.relay}
		if messageKind(kind) != sayConns { // without sockets
			_ = tk.add(&message{kind: messageKind(kind), body: body})
		}
	})
}

// FuzzChannel receives any bytes as messages.
func FuzzChannel(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0, 0, 2, '{', '}'})
	f.Add([]byte{8, 0, 0, 0, 0, 0, 8, 0})
	f.Add([]byte{3, 1, 0, 0, 0, 0})
	f.Add([]byte{1, 0, 0xff, 0xff, 0xff, 0xff, 1})
	path := f.TempDir() + "/s"
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { l.Close() })
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		to, err := l.AcceptUnix()
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			to.Write(b)
			to.Close()
		}()
		for {
			m, err := (channel{c}).receive()
			if err != nil {
				break
			}
			if len(m.files) > 0 || len(m.body) > len(b) {
				t.Errorf("%+v out of %x", m, b)
			}
		}
	})
}

// TestChannelSockets sends sockets, and takes care of those it does not want.
func TestChannelSockets(t *testing.T) {
	t.Parallel()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: t.TempDir() + "/s", Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.DialUnix("unix", nil, l.Addr().(*net.UnixAddr))
	if err != nil {
		t.Fatal(err)
	}
	to, err := l.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	from, ch := channel{c}, channel{to}
	if err := from.send(sayListeners, []listenerMsg{{RM: "rm1"}}, int(w.Fd())); err != nil {
		t.Fatal(err)
	}
	if err := from.send(sayReady, nil); err != nil {
		t.Fatal(err)
	}
	w.Close()
	m, err := ch.receive()
	if err != nil || m.kind != sayListeners || len(m.files) != 1 {
		t.Fatalf("%+v, %v", m, err)
	}
	m.files[0].Write([]byte("x"))
	m.close()
	if b, err := io.ReadAll(r); string(b) != "x" || err != nil {
		t.Errorf("through the pipe came %q, %v", b, err)
	}
	if m, err := ch.receive(); err != nil || m.kind != sayReady || m.body == nil && len(m.files) > 0 {
		t.Errorf("%+v, %v", m, err)
	}
	if err := from.send(sayConns, nil, make([]int, messageFiles+1)...); err == nil {
		t.Error("too many sockets are sent")
	}
	c.Close()
	if _, err := ch.receive(); err == nil {
		t.Error("a message after the end")
	}
}

// TestHandoverState: what a process was told and did, the next one knows, without
// a journal: what is asked for, by whom, and what the ResourceManager was sent
// instead.
func TestHandoverState(t *testing.T) {
	t.Parallel()
	path := socketPath(t)
	g := newRig(t, withSocket(path))
	g.plan(reducesOn("/rack1"))
	id := attemptID(1)
	am := connect(t, g.addr, id)
	am.register()
	am.allocate(ask(10, "*", 4))
	am.allocate()
	asked := g.relay.Status().Attempts
	g.replace(withSocket(path))
	now := g.relay.Status().Attempts
	now[0].LastCall = asked[0].LastCall // or when the connection came
	if d := cmp.Diff(asked, now); d != "" {
		t.Error(d)
	}
	am.allocate()
	g.wantRows(id, 2)
	am.finish()
	am.conn.Close()

	other := attemptID(2)
	am = connect(t, g.addr, other)
	am.register()
	am.allocate(ask(10, "*", 4))
	g.guide.set(func(f *fakeGuide) { clear(f.targets) })
	g.replace(withSocket(path))
	am.allocate()
	g.wantRows(other, 1, "10 * 4", "10 /rack1 0", "10 w11 0", "10 w12 0")

	failed := g.rm.calls(other)[0]
	again := connect(t, g.addr, attemptID(3))
	again.register()
	g.plan(reducesOn("/rack1"))
	again.allocate(ask(10, "*", 4))
	again.responseID = 0 // the answer did not arrive
	again.call = 500
	g.replace(withSocket(path))
	g.plan(reducesOn("/rack2"))
	again.allocate(ask(10, "*", 4))
	g.rm.mu.Lock()
	came := g.rm.attempts[again.id].came
	g.rm.mu.Unlock()
	if len(came) != 2 || !bytes.Equal(came[0], came[1]) || !bytes.Equal(came[0], failed.body) {
		t.Errorf("a repetition after the handover: %x", came)
	}
}

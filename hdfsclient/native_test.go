package hdfsclient

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	krb "github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/config"

	"heddle/core/model"
	"heddle/yarnproxy/rest"
)

// TestNativeFindsTheSame: the native way and WebHDFS, in both of its forms,
// answer alike about the same files, however long a page is.
func TestNativeFindsTheSame(t *testing.T) {
	t.Parallel()
	for _, size := range []struct{ page, limit int }{{1000, 1 << 30}, {2, 1 << 30}, {1, 1 << 30}, {1000, 4}} {
		f := newFake(t)
		tree(f)
		f.put("/in/2026/11/link", 3)
		f.pageSize = size.page
		n := newNativeNameNode(t, f)
		n.limit, n.links = size.limit, []string{"/in/2026/11/link"}
		for _, unknown := range []string{"", "GETFILEBLOCKLOCATIONS"} {
			f.set(func() { f.unknown = []string{unknown} })
			native, web := nativeClient(t, Config{}, f, n), client(t, Config{}, f)
			for _, p := range []string{"/in/2026", "/one", "/in/*/{11,12}/[a-b]*", "/odd", "/one/*", "/nope", "/in/2026/empty", "/"} {
				f.set(func() { delete(f.files, "/in/2026/11/link") }) // a link on one side, left out on both
				want, wantErr := web.Blocks(t.Context(), p)
				f.put("/in/2026/11/link", 3)
				before := f.locationRequests()
				got, err := native.Blocks(t.Context(), p)
				if fmt.Sprint(err) != fmt.Sprint(wantErr) {
					t.Errorf("%s: %v, %v over WebHDFS", p, err, wantErr)
				}
				if unknown == "" { // recorded apart, with the replicas in another order
					sortReplicas(want.Blocks)
					sortReplicas(got.Blocks)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%+v: %s: WebHDFS against native:\n%s", size, p, diff)
				}
				if f.locationRequests() != before {
					t.Errorf("%s: locations were asked for over WebHDFS", p)
				}
			}
			usage, overHTTP := native.Usage(), native.web.http.Usage()
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

func TestNativeBlockLocations(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.put("/data/x10", 10)
	f.put("/data/empty", 0)
	f.forbid = []string{"/secret"}
	n := newNativeNameNode(t, f)
	c := nativeClient(t, Config{}, f, n)
	want, err := newDecoder().decode(recording(t, "GET_BLOCK_LOCATIONS-x10.json"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.BlockLocations(t.Context(), "hdfs://nn1/data/x10")
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if got, err := c.BlockLocations(t.Context(), "/data/empty"); err != nil || len(got) != 0 {
		t.Errorf("an empty file: %v, %v", got, err)
	}
	if n.count("getListing") != 2 || n.count("getFileInfo") != 0 {
		t.Errorf("%v, want one call for each file", n.calls)
	}
	var directory *NotFileError
	if _, err := c.BlockLocations(t.Context(), "/data"); !errors.As(err, &directory) {
		t.Errorf("a directory: %v", err)
	}
	var missing *NotFoundError
	if _, err := c.BlockLocations(t.Context(), "/nope"); !errors.As(err, &missing) {
		t.Errorf("a missing file: %v", err)
	}
	var denied *PermissionError
	if _, err := c.BlockLocations(t.Context(), "/secret"); !errors.As(err, &denied) || denied.Path != "/secret" {
		t.Errorf("a forbidden file: %v", err)
	}
}

// TestNativeLimits: files and blocks beyond the limits are left out as they
// are over WebHDFS, and said to be.
func TestNativeLimits(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	for i := range 6 {
		f.put(fmt.Sprintf("/d/f%d", i), 10)
	}
	f.unknown = []string{"GETFILEBLOCKLOCATIONS"} // the other form was recorded with the same order of replicas
	n := newNativeNameNode(t, f)
	for _, cfg := range []Config{{MaxBlocks: 25}, {MaxFiles: 4}, {MaxBlocks: 1}, {MaxBlocks: 60, MaxFiles: 6}} {
		want, err := client(t, cfg, f).Blocks(t.Context(), "/d")
		if err != nil {
			t.Fatal(err)
		}
		got, err := nativeClient(t, cfg, f, n).Blocks(t.Context(), "/d")
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%+v: %v (-WebHDFS +native):\n%s", cfg, err, diff)
		}
	}
}

// TestNativeLongAnswer: a page that is longer than an answer may be is read
// without locations, and those come in parts over WebHDFS.
func TestNativeLongAnswer(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.put("/d/large", 500)
	f.put("/d/small", 1)
	n := newNativeNameNode(t, f)
	want, err := client(t, Config{}, f).Blocks(t.Context(), "/d")
	if err != nil {
		t.Fatal(err)
	}
	sortReplicas(want.Blocks)
	limit := len(f.locations("GETFILEBLOCKLOCATIONS", 0, 500))
	if native := len(n.list("/d", "", true)); native < limit+100 {
		t.Fatalf("%d bytes in JSON, %d in protobuf: too short for this test", limit, native)
	}
	c := nativeClient(t, Config{MaxBytes: model.Bytes(limit)}, f, n)
	for _, p := range []string{"/d", "/d/large"} {
		before := f.locationRequests()
		got, err := c.Blocks(t.Context(), p)
		sortReplicas(got.Blocks)
		if err != nil || p == "/d" && !cmp.Equal(want, got) || p != "/d" && len(got.Blocks) != 500 {
			t.Errorf("%s: %d blocks, %v", p, len(got.Blocks), err)
		}
		if f.locationRequests() == before {
			t.Errorf("%s: the answer was not too long", p)
		}
	}
	_, err = c.BlockLocations(t.Context(), "/d/large")
	if pollResult(err) != model.PollInvalid || !strings.Contains(err.Error(), "the limit is") {
		t.Errorf("one file: %v (%s)", err, pollResult(err))
	}
}

func TestNativeErrors(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.put("/d/a", 1)
	n := newNativeNameNode(t, f)
	c := nativeClient(t, Config{}, f, n)
	for _, tt := range []struct {
		exception, message string
		fatal              bool
		want               model.PollResult
	}{
		{"org.apache.hadoop.hdfs.server.namenode.SafeModeException", "Name node is in safe mode.", false, model.PollError},
		{"org.apache.hadoop.ipc.RetriableException", "Namenode is in startup mode", false, model.PollError},
		{"org.apache.hadoop.ipc.RetriableException", "too busy", false, model.PollError},
		{"java.io.IOException", "disk", false, model.PollError},
		{"java.io.FileNotFoundException", "File does not exist", false, model.PollOK},
		{"org.apache.hadoop.security.AccessControlException", "Permission denied: user=heddle", false, model.PollDenied},
		{"org.apache.hadoop.security.AccessControlException", "SIMPLE authentication is not enabled.  Available:[TOKEN, KERBEROS]", true, model.PollDenied},
		{"org.apache.hadoop.ipc.StandbyException", "Operation category READ is not supported in state standby", false, model.PollStandby},
	} {
		n.set(func() {
			n.exception, n.message, n.status = tt.exception, tt.message, 1
			if tt.fatal {
				n.status = 2
			}
		})
		_, err := c.native.stat(t.Context(), "/d")
		if pollResult(err) != tt.want || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v (%s), want %s", tt.exception, err, pollResult(err), tt.want)
		}
		if _, login := errors.AsType[*rest.AuthError](err); login != tt.fatal {
			t.Errorf("%s: %T", tt.exception, err)
		}
	}
	n.set(func() { n.exception = "" })
	if _, err := c.native.stat(t.Context(), "/d"); err != nil {
		t.Errorf("after all that: %v", err)
	}
	for name, change := range map[string]func([]byte) []byte{
		"cut off": func(b []byte) []byte { return b[:len(b)-3] },
		"does not go on": func([]byte) []byte {
			return bytesField(nil, 1, varint(bytesField(nil, 1, hdfsStatus("a", false, fakeFile{})), 2, 5))
		},
		"bad name": func([]byte) []byte {
			return bytesField(nil, 1, bytesField(nil, 1, hdfsStatus("a/b", false, fakeFile{})))
		},
	} {
		n.set(func() { n.answer = change })
		err := c.native.list(t.Context(), "/d", func([]fileStatus) error { return nil })
		if pollResult(err) != model.PollInvalid {
			t.Errorf("%s: %v (%s)", name, err, pollResult(err))
		}
	}
	login := krb.NewWithPassword("heddle", "EXAMPLE.COM", "secret", config.New())
	if _, err := New(Config{NameNodes: []string{"http://nn1"}, Walk: WalkNative, User: "u", RPCAddresses: []string{"nn1:8020"}}, Options{Kerberos: login}); err == nil || !strings.Contains(err.Error(), "Kerberos") {
		t.Errorf("with Kerberos: %v", err)
	}
}

// TestNativeFailover: the active NameNode is found, remembered, and looked for
// again when it stands by, starts, hangs up or is gone.
func TestNativeFailover(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.put("/d/a", 1)
	one, two := newNativeNameNode(t, f), newNativeNameNode(t, f)
	c := nativeClient(t, Config{}, f, one, two)
	stat := func() (int, int) {
		t.Helper()
		first, second := one.count("getListing"), two.count("getListing")
		if _, err := c.native.BlockLocations(t.Context(), "/d/a"); err != nil {
			t.Fatal(err)
		}
		return one.count("getListing") - first, two.count("getListing") - second
	}
	expect := func(when string, first, second int) {
		t.Helper()
		if a, b := stat(); a != first || b != second {
			t.Errorf("%s: asked %d and %d times, want %d and %d", when, a, b, first, second)
		}
	}
	expect("at first", 1, 0)
	one.set(func() { one.exception, one.message = "org.apache.hadoop.ipc.StandbyException", "standby" })
	expect("failed over", 1, 1)
	expect("after that", 0, 1)
	two.set(func() { two.hangUp = 1 })
	expect("hung up within a call, the other stands by", 1, 2)
	two.hangUpNow()
	stat() // on a new connection, whichever of the two notices first
	two.set(func() {
		two.exception, two.message = "org.apache.hadoop.ipc.RetriableException", "Namenode is in startup mode"
	})
	if _, err := c.native.stat(t.Context(), "/d/a"); err == nil {
		t.Error("nobody is active, and there is an answer")
	} else if _, starting := errors.AsType[*SafeModeError](err); !starting {
		t.Errorf("one starts, one stands by: %v", err)
	}
	one.set(func() { one.exception = "" })
	stat()
	two.stop()
	stat()
	one.stop()
	_, err := c.native.stat(t.Context(), "/d/a")
	if pollResult(err) != model.PollUnreachable || errors.Is(err, rest.ErrStandby) {
		t.Errorf("both down: %v (%s)", err, pollResult(err))
	}
}

// TestNativeSilence: a NameNode that says nothing holds a walk for two
// timeouts at most.
func TestNativeSilence(t *testing.T) {
	t.Parallel()
	n := newNativeNameNode(t, newFake(t))
	end := make(chan struct{})
	n.silent = func(string) { <-end }
	t.Cleanup(func() { close(end) })
	c := nativeClient(t, Config{Timeout: 50 * time.Millisecond}, newFake(t), n)
	_, err := c.native.stat(t.Context(), "/")
	if pollResult(err) != model.PollUnreachable {
		t.Errorf("%v (%s)", err, pollResult(err))
	}
}

// TestNativeDecode: what 3.4.3 may send beyond the usual.
func TestNativeDecode(t *testing.T) {
	t.Parallel()
	node := func(host, ip, rack string) []byte {
		id := bytesField(nil, 1, []byte(ip))
		if host != "" {
			id = bytesField(id, 2, []byte(host))
		}
		return bytesField(bytesField(nil, 8, []byte(rack)), 1, id) // in another order
	}
	block := func(offset, length uint64, nodes ...[]byte) []byte {
		m := varint(nil, 2, offset)
		for _, n := range nodes {
			m = bytesField(m, 3, n)
		}
		return bytesField(varint(m, 4, 1), 1, varint(nil, 4, length))
	}
	listing := func(blocks ...[]byte) []byte {
		var located []byte
		for _, b := range blocks {
			located = bytesField(located, 2, b)
		}
		return bytesField(nil, 1, bytesField(nil, 1, bytesField(hdfsStatus("f", true, fakeFile{length: 5}), 12, located)))
	}
	d := newDecoder()
	p, err := d.listing(listing(block(0, 5, node("h", "1.1.1.1", "/r"), node("", "1.1.1.2", ""), node("g", "1.1.1.3", "r"))), "/d")
	want := []model.Block{{Length: 5, Corrupt: true, Hosts: []string{"h", "1.1.1.2", "g"}, Racks: []model.RackID{"/r", model.DefaultRack, model.DefaultRack}}}
	if err != nil || len(p.entries) != 1 || !cmp.Equal(p.entries[0].located, want) {
		t.Errorf("%+v, %v", p, err)
	}
	for name, body := range map[string][]byte{
		"offset below 0":      listing(block(1<<63, 5)),
		"length below 0":      listing(block(0, 1<<63)),
		"a host without name": listing(block(0, 5, node("", "", "/r"))),
		"file length below 0": bytesField(nil, 1, bytesField(nil, 1, varint(nil, 3, 1<<63))),
		"remaining for ever":  bytesField(nil, 1, varint(nil, 2, 1)),
		"broken block":        listing([]byte{0x0a}),
		"broken block id":     listing([]byte{0x0a, 1, 0x20}),
		"broken node":         listing(block(0, 5, []byte{0x0a})),
		"broken node id":      listing(block(0, 5, []byte{0x0a, 1, 0x0a})),
		"text for a number":   listing([]byte{0x12, 0}),
		"a number for text":   {0x08, 1},
	} {
		if p, err := d.listing(body, "/d"); err == nil {
			t.Errorf("%s: %+v", name, p)
		}
	}
	if p, err := d.listing(listing(block(0, 5, node("h", "", "/r"))), "/d"); err != nil || len(p.entries[0].located) != 1 {
		t.Errorf("after errors: %+v, %v", p, err)
	}
	two := append(listing(block(0, 5)), listing(block(0, 5))...) // protobuf: the last one counts
	if p, err := d.listing(two, "/d"); err != nil || len(p.entries) != 1 || len(p.entries[0].located) != 1 {
		t.Errorf("two listings: %+v, %v", p, err)
	}
}

func FuzzNativeListing(f *testing.F) {
	fake := newFake(f)
	tree(fake)
	n := newNativeNameNode(f, fake)
	f.Add(bytesField(nil, 1, n.list("/in/2026/12", "", true)))
	f.Add(bytesField(nil, 1, n.list("/in", "", false)))
	f.Add(bytesField(nil, 1, n.list("/one", "", true)))
	f.Add(bytesField(nil, 1, n.fileStatus("", "/one", true, fakeFile{length: 2 * fakeBlock}, true)))
	f.Add([]byte{0x0a, 4, 0x0a, 2, 0x62, 0})
	f.Fuzz(func(t *testing.T, body []byte) {
		d := newDecoder()
		if s, err := d.status(body, "/d"); err == nil && s != nil && (s.length < 0 || s.blockSize < 0 || s.path != "/d") {
			t.Fatalf("bad status %+v", s)
		}
		p, err := d.listing(body, "/d")
		if err != nil {
			return
		}
		for _, e := range p.entries {
			if !strings.HasPrefix(e.path, "/d/") || e.length < 0 {
				t.Fatalf("bad entry %+v", e)
			}
			for _, b := range e.located {
				if b.Offset < 0 || b.Length < 0 || len(b.Hosts) != len(b.Racks) || slices.Contains(b.Hosts, "") {
					t.Fatalf("bad block %+v", b)
				}
			}
		}
		again, err := d.listing(bytes.Clone(body), "/d")
		if err != nil || !reflect.DeepEqual(p, again) {
			t.Fatalf("read twice: %+v and %+v, %v", p, again, err)
		}
	})
}

// TestNativeLeavesOnce: calls that fail together turn to the next NameNode, not
// past it.
func TestNativeLeavesOnce(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	n := nativeClient(t, Config{}, f, newNativeNameNode(t, f), newNativeNameNode(t, f)).native
	for range 2 {
		n.switchNameNode(t.Context(), 0)
	}
	if _, active, err := n.connection(t.Context()); active != 1 || err != nil {
		t.Errorf("NameNode %d, %v", active, err)
	}
}

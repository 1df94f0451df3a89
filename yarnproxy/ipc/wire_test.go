package ipc_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"testing"

	"heddle/yarnproxy/ipc"
	"heddle/yarnproxy/ipc/ipctest"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"
)

// unhex reads bytes written in hexadecimal with spaces.
func unhex(tb testing.TB, s string) []byte {
	tb.Helper()
	b, err := hex.DecodeString(string(bytes.ReplaceAll([]byte(s), []byte(" "), nil)))
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

const attempt = "mr_appmaster_appattempt_1795216000000_0001_000001"

// TestBytesOfHadoop holds builders and parsers to what a MapReduce
// ApplicationMaster and a ResourceManager of 3.4.3 put on the wire.
func TestBytesOfHadoop(t *testing.T) {
	t.Parallel()
	h := ipc.SASLHeader()
	h.CallerContext = []byte(attempt)
	frame := ipc.AppendRequest(nil, h, nil, ipc.AppendSASL(nil, ipc.SASL{State: ipc.SASLNegotiate}))
	want := append(unhex(t, "0000 0043 3f 08 02 10 00 18 41 22 00 28 01 3a 33 0a 31"), attempt...)
	want = append(want, unhex(t, "02 10 01")...)
	if diff := cmp.Diff(want, frame); diff != "" {
		t.Errorf("SASL frame (-want +got):\n%s", diff)
	}
	id := unhex(t, "00112233 44556677 8899aabb ccddeeff")
	response := ipctest.AppendResponse(nil, ipc.ResponseHeader{CallID: 10, ClientID: id}, []byte{})
	want = unhex(t, "0000001c 1a 08 0a 10 00 18 09 3a 10 00112233 44556677 8899aabb ccddeeff 40 00 00")
	if diff := cmp.Diff(want, response); diff != "" {
		t.Errorf("response (-want +got):\n%s", diff)
	}
	got, body, err := ipc.ParseResponse(unhex(t, "0e 08 dfffffff0f 10 00 18 09 3a 00 40 01 02 10 00"))
	if err != nil || got.CallID != ipc.CallSASL || got.Status != ipc.StatusSuccess || !bytes.Equal(body, []byte{0x10, 0}) {
		t.Errorf("SASL response: %+v %x %v", got, body, err)
	}
	context := ipctest.AppendContext(nil, ipc.Context{Protocol: []byte("P")})
	if diff := cmp.Diff(unhex(t, "12 00 1a 01 50"), context); diff != "" {
		t.Errorf("context with a token (-want +got):\n%s", diff)
	}
}

func anyBytes(limit int) *rapid.Generator[[]byte] { return rapid.SliceOfN(rapid.Byte(), 0, limit) }

func TestRequestRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := ipc.RequestHeader{
			Kind: rapid.Int32Range(0, 3).Draw(t, "kind"), Op: rapid.Int32Range(0, 2).Draw(t, "op"), CallID: rapid.Int32().Draw(t, "call"),
			ClientID: anyBytes(20).Draw(t, "client"), RetryCount: rapid.Int32().Draw(t, "retry"),
		}
		if rapid.Bool().Draw(t, "with context") {
			h.CallerContext = anyBytes(200).Draw(t, "context")
		}
		c := ipc.Call{Method: rapid.SliceOfN(rapid.Byte(), 1, 40).Draw(t, "method"), Protocol: anyBytes(60).Draw(t, "protocol"), Version: rapid.Uint64().Draw(t, "version")}
		body, other := anyBytes(300).Draw(t, "body"), anyBytes(300).Draw(t, "other")
		before := anyBytes(9).Draw(t, "before")
		frame := ipc.AppendRequest(bytes.Clone(before), h, &c, body)[len(before):]
		read := func(frame []byte, want []byte) []byte {
			if n := binary.BigEndian.Uint32(frame); int(n) != len(frame)-4 {
				t.Fatalf("length %d of a frame of %d bytes", n, len(frame))
			}
			gotHeader, rest, err := ipc.ParseRequest(frame[4:])
			if err != nil {
				t.Fatal(err)
			}
			gotCall, gotBody, err := ipc.ParseCall(rest)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]any{h, c, want}, []any{gotHeader, gotCall, gotBody}); diff != "" {
				t.Fatalf("(-want +got):\n%s", diff)
			}
			return gotBody
		}
		old := read(frame, body)
		replaced := ipc.ReplaceBody(bytes.Clone(before), frame, old, other)[len(before):]
		read(replaced, other)
		if kept := len(frame) - len(body) - protowire.SizeVarint(uint64(len(body))); !bytes.Equal(frame[4:kept], replaced[4:kept]) {
			t.Fatal("header bytes changed")
		}
		if !bytes.Equal(ipc.ReplaceBody(nil, frame, old, old), frame) {
			t.Fatal("the same body makes another frame")
		}
	})
}

func TestResponseRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := ipc.ResponseHeader{CallID: rapid.Int32().Draw(t, "call"), Status: ipc.Status(rapid.Int32Range(0, 2).Draw(t, "status")), ClientID: anyBytes(16).Draw(t, "client")}
		var body []byte
		if h.Status != ipc.StatusSuccess {
			h.Exception, h.Message = anyBytes(60).Draw(t, "class"), anyBytes(400).Draw(t, "message")
		} else if rapid.Bool().Draw(t, "with body") {
			body = anyBytes(300).Draw(t, "body")
		}
		got, gotBody, err := ipc.ParseResponse(ipctest.AppendResponse(nil, h, body)[4:])
		if diff := cmp.Diff([]any{h, body}, []any{got, gotBody}); diff != "" || err != nil {
			t.Fatalf("%v (-want +got):\n%s", err, diff)
		}
	})
}

func TestSASLAndContextRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := ipc.SASL{State: ipc.SASLState(rapid.Int32Range(0, 5).Draw(t, "state"))}
		if rapid.Bool().Draw(t, "with token") {
			s.Token = anyBytes(400).Draw(t, "token")
		}
		for range rapid.IntRange(0, 3).Draw(t, "auths") {
			s.Auths = append(s.Auths, ipc.SASLAuth{anyBytes(9).Draw(t, "method"), anyBytes(9).Draw(t, "mechanism"), anyBytes(9).Draw(t, "protocol"), anyBytes(9).Draw(t, "server"), anyBytes(300).Draw(t, "challenge")})
		}
		got, err := ipc.ParseSASL(ipc.AppendSASL(nil, s))
		if diff := cmp.Diff(s, got); diff != "" || err != nil {
			t.Fatalf("%v (-want +got):\n%s", err, diff)
		}
		c := ipc.Context{User: anyBytes(20).Draw(t, "user"), RealUser: anyBytes(20).Draw(t, "real"), Protocol: anyBytes(60).Draw(t, "protocol")}
		gotContext, err := ipctest.ParseContext(ipctest.AppendContext(nil, c))
		if diff := cmp.Diff(c, gotContext); diff != "" || err != nil {
			t.Fatalf("%v (-want +got):\n%s", err, diff)
		}
	})
}

// TestStrict: what Hadoop does not write is an error, so that a relay passes it on.
func TestStrict(t *testing.T) {
	t.Parallel()
	request := func(b []byte) error {
		_, rest, err := ipc.ParseRequest(b)
		if err == nil {
			_, _, err = ipc.ParseCall(rest)
		}
		return err
	}
	response := func(b []byte) error { _, _, err := ipc.ParseResponse(b); return err }
	sasl := func(b []byte) error { _, err := ipc.ParseSASL(b); return err }
	context := func(b []byte) error { _, err := ipctest.ParseContext(b); return err }
	const header, call = "08 08 02 10 00 18 02 22 00 ", "03 0a 01 61 "
	for name, c := range map[string]struct {
		parse func([]byte) error
		bytes string
		ok    bool
	}{
		"request":                         {request, header + call + "00", true},
		"request, long varints":           {request, "8800 08 02 10 00 18 02 22 00 8300 0a 01 61 8000", true},
		"unknown fields":                  {request, "0b 08 02 10 00 18 02 22 00 d00f 01 " + call + "00", true},
		"no kind":                         {request, "06 10 00 18 02 22 00 " + call + "00", false},
		"no op":                           {request, "06 08 02 18 02 22 00 " + call + "00", false},
		"no call id":                      {request, "06 08 02 10 00 22 00 " + call + "00", false},
		"call id as bytes":                {request, "08 08 02 10 00 1a 00 22 00 " + call + "00", false},
		"client id as a number":           {request, "08 08 02 10 00 18 02 20 00 " + call + "00", false},
		"broken caller context":           {request, "0b 08 02 10 00 18 02 22 00 3a 01 0a " + call + "00", false},
		"header beyond the frame":         {request, "20 08 02 10 00 18 02 22 00 " + call + "00", false},
		"field number 0":                  {request, "08 00 02 10 00 18 02 22 00 " + call + "00", false},
		"group without an end":            {request, "09 08 02 10 00 18 02 22 00 53 " + call + "00", false},
		"no method":                       {request, header + "03 12 01 61 00", false},
		"method as a number":              {request, header + "02 08 01 00", false},
		"no body":                         {request, header + call, false},
		"body cut off":                    {request, header + call + "02 00", false},
		"bytes after the body":            {request, header + call + "00 00", false},
		"nothing":                         {request, "", false},
		"a length without end":            {request, "ffffffffffffffffffff01", false},
		"response":                        {response, "04 08 02 10 00 01 00", true},
		"response without a body":         {response, "04 08 02 10 00", true},
		"response without status":         {response, "02 08 02 00", false},
		"response without call id":        {response, "02 10 00 00", false},
		"status unknown":                  {response, "04 08 02 10 03", false},
		"status negative":                 {response, "0d 08 02 10 ffffffffffffffffff01", false},
		"error":                           {response, "04 08 02 10 01", true},
		"error with a body":               {response, "04 08 02 10 01 00", false},
		"bytes after a response's body":   {response, "04 08 02 10 00 00 00", false},
		"exception class as a number":     {response, "06 08 02 10 01 20 01", false},
		"SASL":                            {sasl, "10 01 1a 00", true},
		"SASL without state":              {sasl, "1a 00", false},
		"SASL state unknown":              {sasl, "10 06", false},
		"SASL token as a number":          {sasl, "10 01 18 00", false},
		"SASL auth broken":                {sasl, "10 01 22 01 0a", false},
		"SASL auth with a number":         {sasl, "10 01 22 02 08 00", false},
		"connection context":              {context, "12 03 0a 01 61 1a 01 50", true},
		"connection context, broken user": {context, "12 01 0a", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := c.parse(unhex(t, c.bytes))
			if (err == nil) != c.ok {
				t.Fatalf("got %v", err)
			}
			if _, typed := errors.AsType[*ipc.ParseError](err); err != nil && !typed {
				t.Errorf("%T is no ParseError", err)
			}
		})
	}
	many := []byte{0x10, 1}
	for range 33 { // Hadoop knows five
		many = append(many, 0x22, 0)
	}
	if sasl(many) == nil {
		t.Error("any number of ways to authenticate")
	}
}

func TestPreamble(t *testing.T) {
	t.Parallel()
	p := ipc.Preamble{Version: 9, ServiceClass: 3, Auth: ipc.AuthSASL}
	if got, err := ipc.ParsePreamble(ipc.AppendPreamble(nil, p)); err != nil || got != p {
		t.Errorf("%+v %v", got, err)
	}
	if _, err := ipc.ParsePreamble([]byte("GET /ws")); !errors.Is(err, ipc.ErrHTTP) {
		t.Errorf("HTTP: %v", err)
	}
	for _, s := range []string{"", "hrpc", "hrpc\x09\x00", "hrpc\x09\x00\x00\x00", "hrpd\x09\x00\x00"} {
		if _, err := ipc.ParsePreamble([]byte(s)); err == nil || errors.Is(err, ipc.ErrHTTP) {
			t.Errorf("%q: %v", s, err)
		}
	}
}

// TestReplaceBodyOfAnother: a body that is not the frame's changes nothing.
func TestReplaceBodyOfAnother(t *testing.T) {
	t.Parallel()
	frame := ipc.AppendRequest(nil, ipctest.CallHeader(1, []byte("0123456789abcdef")), &ipc.Call{Method: []byte("allocate")}, []byte("abc"))
	long := ipc.AppendRequest(nil, ipctest.CallHeader(1, []byte("0123456789abcdef")), nil, []byte("abc"))
	for _, f := range [][]byte{frame, long, frame[:3], frame[:20], {}} {
		if got := ipc.ReplaceBody(nil, f, []byte("ab"), []byte("xyz")); !bytes.Equal(got, f) {
			t.Errorf("%x became %x", f, got)
		}
	}
}

package ipc_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"heddle/yarnproxy/ipc"
	"heddle/yarnproxy/ipc/ipctest"

	"google.golang.org/protobuf/encoding/protowire"
)

func FuzzReader(f *testing.F) {
	f.Add(append(frameOf(3, 1), frameOf(5000, 2)...), 7)
	f.Add([]byte{0xFF, 0xFF, 0xFF, 0xFF, 1}, 1)
	f.Add([]byte{0, 1, 0, 0, 1, 2, 3}, 3)
	f.Add([]byte("hrpc\x09\x00\xdf\x00\x00\x00\x00"), 2)
	f.Fuzz(func(t *testing.T, stream []byte, cut int) {
		r := ipc.NewReader(&cutter{stream, max(cut, 1)}, 1<<20)
		var seen, rest []byte
		for {
			frame, err := r.Next()
			if err != nil {
				_, refused := errors.AsType[*ipc.FrameError](err)
				if !refused && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Fatal(err)
				}
				if errors.Is(err, io.ErrUnexpectedEOF) {
					rest = bytes.Clone(r.Buffered())
				}
				break
			}
			seen = append(seen, frame...)
		}
		var err error
		if rest == nil {
			var all bytes.Buffer
			_, err = r.Copy(&all, -1)
			rest = all.Bytes()
		}
		if rest != nil && err != nil && !errors.Is(err, io.EOF) || !bytes.Equal(append(seen, rest...), stream) {
			t.Fatalf("%d bytes in frames and %d after them of %d, %v", len(seen), len(rest), len(stream), err)
		}
	})
}

// cutter reads so many bytes at once.
type cutter struct {
	b   []byte
	cut int
}

func (c *cutter) Read(p []byte) (int, error) {
	if len(c.b) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), c.cut)], c.b)
	c.b = c.b[n:]
	return n, nil
}

func FuzzRequest(f *testing.F) {
	h := ipctest.CallHeader(10, []byte("0123456789abcdef"))
	h.CallerContext = []byte(attempt)
	call := ipc.Call{Method: []byte("allocate"), Protocol: []byte("org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB"), Version: 1}
	f.Add(ipc.AppendRequest(nil, h, &call, []byte{0x20, 1})[4:], []byte("new"))
	f.Add(ipc.AppendRequest(nil, ipc.SASLHeader(), nil, ipc.AppendSASL(nil, ipc.SASL{}))[4:], []byte{})
	f.Add(ipc.AppendRequest(nil, ipctest.ContextHeader(nil), nil, ipctest.AppendContext(nil, ipc.Context{User: []byte("u")}))[4:], []byte{})
	f.Add(ipc.AppendRequest(nil, ipctest.CallHeader(ipc.CallPing, nil), nil, nil)[4:], []byte{})
	f.Add([]byte{0x88, 0, 8, 2, 0x10, 0, 0x18, 2, 0x22, 0, 0x83, 0, 0x0a, 1, 0x61, 0x80, 0}, []byte{1})
	f.Fuzz(func(t *testing.T, payload, newBody []byte) {
		h, rest, err := ipc.ParseRequest(payload)
		if err != nil {
			return
		}
		if param, err := ipc.ParseParam(rest); err == nil {
			_, _ = ipctest.ParseContext(param)
		}
		c, body, err := ipc.ParseCall(rest)
		if err != nil {
			return
		}
		frame := append([]byte{0, 0, 0, 0}, payload...)
		_, gotRest, err := ipc.ParseRequest(ipc.ReplaceBody(nil, frame, body, newBody)[4:])
		if err != nil {
			t.Fatal(err)
		}
		got, gotBody, err := ipc.ParseCall(gotRest)
		if err != nil || !bytes.Equal(gotBody, newBody) || !bytes.Equal(got.Method, c.Method) {
			t.Fatalf("replaced: %+v %x, %v", got, gotBody, err)
		}
		again, _, err := ipc.ParseRequest(ipc.AppendRequest(nil, h, &c, body)[4:])
		if err != nil || again.CallID != h.CallID || again.RetryCount != h.RetryCount || !bytes.Equal(again.CallerContext, h.CallerContext) {
			t.Fatalf("written again: %+v of %+v, %v", again, h, err)
		}
	})
}

func FuzzResponse(f *testing.F) {
	f.Add(ipctest.AppendResponse(nil, ipc.ResponseHeader{CallID: ipc.CallSASL}, ipc.AppendSASL(nil, ipc.SASL{State: ipc.SASLSuccess, Token: []byte("rspauth=00")}))[4:])
	f.Add(ipctest.AppendResponse(nil, ipc.ResponseHeader{CallID: 3, Status: ipc.StatusError, Exception: []byte("a.B"), Message: []byte("m")}, nil)[4:])
	f.Add([]byte{4, 8, 2, 0x10, 0})
	f.Fuzz(func(t *testing.T, payload []byte) {
		h, body, err := ipc.ParseResponse(payload)
		if err != nil {
			return
		}
		if h.Status != ipc.StatusSuccess && body != nil {
			t.Fatalf("an error with a body: %+v %x", h, body)
		}
		again, gotBody, err := ipc.ParseResponse(ipctest.AppendResponse(nil, h, body)[4:])
		if err != nil || again.CallID != h.CallID || again.Status != h.Status || !bytes.Equal(again.Message, h.Message) || !bytes.Equal(body, gotBody) {
			t.Fatalf("%+v became %+v, %v", h, again, err)
		}
	})
}

func FuzzSASL(f *testing.F) {
	f.Add(ipc.AppendSASL(nil, ipc.SASL{State: ipc.SASLNegotiate, Auths: []ipc.SASLAuth{{Method: []byte("TOKEN"), Mechanism: []byte("DIGEST-MD5"), ServerID: []byte("default"), Challenge: []byte(`realm="default"`)}}}))
	f.Add([]byte{0x10, 1, 0x22, 0})
	f.Add([]byte{0x10, 5, 0x1a, 2, 1, 2})
	f.Fuzz(func(t *testing.T, body []byte) {
		s, err := ipc.ParseSASL(body)
		if err != nil {
			return
		}
		again, err := ipc.ParseSASL(ipc.AppendSASL(nil, s))
		if err != nil || again.State != s.State || !bytes.Equal(again.Token, s.Token) || len(again.Auths) != len(s.Auths) {
			t.Fatalf("%+v became %+v, %v", s, again, err)
		}
	})
}

func FuzzDigest(f *testing.F) {
	for _, s := range []string{
		`charset=utf-8,username="AAE=",realm="default",nonce="b64+/==",nc=00000001,cnonce="x==",digest-uri="/default",maxbuf=65536,response=0123456789abcdef0123456789abcdef,qop=auth`,
		`realm="default",nonce="n",qop="auth-conf,auth-int",charset=utf-8,cipher="3des,rc4",algorithm=md5-sess`,
		`username="a\"b\\c" , response = x`, `a=`, `="`, `a="\`, ",,, \t", `qop=" ,, auth"`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, token []byte) {
		if d, err := ipc.ParseDigest(token); err == nil {
			again, err := ipc.ParseDigest(ipctest.AppendDigest(nil, &d))
			if err != nil || again != d {
				t.Fatalf("%+v became %+v, %v", d, again, err)
			}
		}
		if c, err := ipc.ParseChallenge(token); err == nil && (c.Nonce == "" || len(c.QOP) == 0 && bytes.IndexByte(token, 'q') < 0) {
			t.Fatalf("%+v", c)
		}
	})
}

// FuzzFields holds the short way through a field to the long one.
func FuzzFields(f *testing.F) {
	f.Add(unhex(f, "08 02 12 03 61 62 63 1d 01000000 21 0100000000000000 8001 8001 8201 01 00 5b 08 01 5c"))
	f.Add([]byte{0x0a, 0x05, 1})
	f.Add([]byte{0x00, 0x01})
	f.Add([]byte{0x80, 0x80, 0x80, 0x80, 0x10, 0x01}) // field 2^29
	f.Fuzz(func(t *testing.T, message []byte) {
		rest, got := message, ipc.NewFields("message", message)
		for got.Next() {
			num, typ, n := protowire.ConsumeField(rest)
			if n < 0 || int(num) != got.Num {
				t.Fatalf("field %d, want %d (%d)", got.Num, num, n)
			}
			switch typ {
			case protowire.VarintType:
				if want, _ := protowire.ConsumeVarint(rest[tagLen(rest):]); got.Uint64() != want {
					t.Fatalf("%d, want %d", got.Uint64(), want)
				}
			case protowire.BytesType:
				if want, _ := protowire.ConsumeBytes(rest[tagLen(rest):]); !bytes.Equal(got.Bytes(), want) {
					t.Fatalf("%x, want %x", got.Bytes(), want)
				}
			default: // not read
			}
			rest = rest[n:]
		}
		num, _, n := protowire.ConsumeField(rest)
		if (got.Err() == nil) != (len(rest) == 0) || n >= 0 && len(rest) > 0 && num <= protowire.MaxValidNumber {
			t.Fatalf("%v with %x left", got.Err(), rest)
		}
	})
}

func tagLen(b []byte) int { _, _, n := protowire.ConsumeTag(b); return n }

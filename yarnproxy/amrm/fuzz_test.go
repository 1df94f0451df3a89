package amrm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"heddle/core/asks"
	"heddle/yarnproxy/ipc"
	"heddle/yarnproxy/ipc/ipctest"
)

// scripted is an end of a connection that says what it is told to, in pieces,
// and keeps what it hears. Between pieces a reader meets a deadline, as it does
// while the connection pauses.
type scripted struct {
	net.Conn
	says  []byte
	piece int
	pause bool // the next read is interrupted
	heard bytes.Buffer
}

func (s *scripted) Read(b []byte) (int, error) {
	if s.pause {
		s.pause = false
		return 0, os.ErrDeadlineExceeded
	}
	if len(s.says) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), s.piece)], s.says)
	s.says = s.says[n:]
	return n, nil
}

func (s *scripted) Write(b []byte) (int, error)      { return s.heard.Write(b) }
func (s *scripted) Close() error                     { return nil }
func (s *scripted) CloseWrite() error                { return nil }
func (s *scripted) SetReadDeadline(time.Time) error  { return nil }
func (s *scripted) SetWriteDeadline(time.Time) error { return nil }
func (s *scripted) RemoteAddr() net.Addr             { return &net.TCPAddr{} }

// hello is what a client of an attempt says up to its context.
func hello(am *fakeAM, qop string) []byte {
	b := ipc.AppendPreamble(nil, ipc.Preamble{Version: 9, Auth: ipc.AuthSASL})
	b = append(b, am.sasl(ipc.SASL{State: ipc.SASLNegotiate})...)
	token := ipctest.AppendDigest(nil, &ipc.Digest{Username: tokenOf(am.id), Nonce: "n", CNonce: "c", NC: "1", URI: "/default", QOP: qop, Response: "r"})
	b = append(b, am.sasl(ipc.SASL{State: ipc.SASLInitiate, Token: token})...)
	return append(b, ipc.AppendRequest(nil, ipctest.ContextHeader(am.client), nil, ipctest.AppendContext(nil, ipc.Context{Protocol: []byte(protocol)}))...)
}

// success is what a ResourceManager says to it.
func success() []byte {
	h := ipc.ResponseHeader{CallID: ipc.CallSASL, ClientID: []byte{}}
	b := ipctest.AppendResponse(nil, h, ipc.AppendSASL(nil, ipc.SASL{State: ipc.SASLNegotiate}))
	return append(b, ipctest.AppendResponse(nil, h, ipc.AppendSASL(nil, ipc.SASL{State: ipc.SASLSuccess, Token: []byte("rspauth=x")}))...)
}

// FuzzConn gives both directions of a connection any bytes: with nothing planned,
// each peer hears exactly what the other one said, however it comes in pieces, up to a frame
// that is too long before authentication.
// The ResourceManager speaks first, second or in turns with the client.
func FuzzConn(f *testing.F) {
	am := &fakeAM{id: attemptID(1), client: []byte("0123456789abcdef")}
	up := slices.Concat(hello(am, "auth"), am.frame("registerApplicationMaster", []byte{}),
		am.frame("allocate", allocateBody(0, ask(10, "*", 4), ask(20, "w11", 1))), am.frame("allocate", allocateBody(1)), am.frame("finishApplicationMaster", nil))
	answer := func(id int32, body []byte) []byte {
		return ipctest.AppendResponse(nil, ipc.ResponseHeader{CallID: id, ClientID: am.client}, body)
	}
	down := slices.Concat(success(), answer(1, []byte{}), answer(2, []byte{2 << 3, 1}), answer(3, []byte{2 << 3, 2}), answer(4, []byte{1 << 3, 1}))
	f.Add(up, down, uint16(7), uint16(5), uint8(2))
	f.Add(up, down, uint16(4000), uint16(4000), uint8(1))
	for order := range uint8(3) {
		f.Add(up[len(hello(am, "auth")):], down[len(success()):], uint16(9), uint16(6), 8+order)
	}
	f.Add(hello(am, "auth-conf"), success(), uint16(64), uint16(64), uint8(1))
	f.Add(hello(am, "auth-conf"), success(), uint16(64), uint16(64), uint8(0))
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"), []byte("HTTP/1.1 404 Not Found\r\n"), uint16(3), uint16(3), uint8(0))
	f.Add(append(hello(am, "auth"), 0xff, 0xff, 0xff, 0xff, 1), append(success(), 0x7f, 0, 0, 0), uint16(50), uint16(50), uint8(2))
	f.Add(append(hello(am, "auth"), 0x00, 0x80, 0x00, 0x01, 1), append(success(), 0, 0, 0, 2, 0xff, 0xff), uint16(50), uint16(50), uint8(2))
	f.Fuzz(func(t *testing.T, up, down []byte, pieceUp, pieceDown uint16, order uint8) {
		r, err := New(Options{
			Listeners: []Listener{{Address: ":0", Upstream: "rm:8030"}}, Guide: newFakeGuide(), Enforce: true,
			Stages: []StageRule{{Type: "MAPREDUCE", Stage: "reduce"}}, Limits: asks.Limits{MaxKeys: 10, MaxRows: 100}, Logger: hclog.NewNullLogger(),
		})
		if err != nil {
			t.Fatal(err)
		}
		client := &scripted{says: slices.Clone(up), piece: int(pieceUp%5000) + 1}
		rm := &scripted{says: slices.Clone(down), piece: int(pieceDown%5000) + 1, pause: order&4 != 0}
		c := newConn(r, client)
		defer c.finish()
		c.connect(rm)
		if order&8 != 0 { // after SASL
			c.authenticate()
			c.session.enter(phaseCalls)
			c.session.attach(r.attempts.join(attemptID(1)))
		} else if preamble, err := c.up.in.ReadPreamble(); err != nil {
			if len(up) >= ipc.PreambleLen || rm.heard.Len() > 0 {
				t.Errorf("%x is no whole preamble: %v; the ResourceManager heard %x", up, err, rm.heard.Bytes())
			}
			return
		} else if err := c.begin(preamble); err != nil {
			t.Fatal(err)
		}
		errs := relayInTurn(t, c, order%3)
		for i, said := range [2][]byte{up, down} {
			heard := [2]*scripted{rm, client}[i].heard.Bytes()
			if errors.Is(errs[i], errLongFrame) { // nothing of the frame is passed on
				if !hasLongFrame(said, heard) {
					t.Errorf("direction %d ended at a frame that is not too long: said was %x, heard %x", i, said, heard)
				}
				continue
			}
			if errs[i] != nil {
				t.Errorf("direction %d ended in %v", i, errs[i])
			}
			if !bytes.Equal(heard, said) {
				t.Errorf("direction %d: heard %x, said was %x", i, heard, said)
			}
		}
	})
}

// hasLongFrame reports whether what was said goes on, after what was heard of it, with a frame that is too long for a client
// that has not authenticated.
func hasLongFrame(said, heard []byte) bool {
	rest, ok := bytes.CutPrefix(said, heard)
	return ok && len(rest) >= prefixLen && binary.BigEndian.Uint32(rest) > maxUnauthenticatedFrame
}

// relayInTurn runs both directions of a connection to their ends: one after the
// other, or in parallel.
func relayInTurn(t *testing.T, c *conn, order uint8) [2]error {
	t.Helper()
	var errs [2]error
	up := func() { errs[0] = c.requests(t.Context()) }
	down := func() {
		if errs[1] = c.responses(); os.IsTimeout(errs[1]) { // interrupted, and nobody pauses: it goes on
			errs[1] = c.responses()
		}
	}
	switch order {
	case 0:
		up()
		down()
	case 1:
		down()
		up()
	default:
		done := make(chan struct{})
		go func() { defer close(done); down() }()
		up()
		<-done
	}
	return errs
}

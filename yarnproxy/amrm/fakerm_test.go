package amrm

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"heddle/yarnproxy/amrm/wire"
	"heddle/yarnproxy/ipc"
	"heddle/yarnproxy/ipc/ipctest"
)

// fakeRM is the scheduler port of a ResourceManager: DIGEST-MD5, the calls of
// ApplicationMasterProtocol, and response ids as ApplicationMasterService keeps them.
type fakeRM struct {
	l  net.Listener
	wg sync.WaitGroup

	mu       sync.Mutex
	qop      string
	attempts map[wire.Attempt]*rmAttempt
	conns    map[net.Conn]struct{}
	// grant returns what is appended to the answer to an allocate call, or the exception it ends in.
	grant func(a *rmAttempt, req *wire.Request) (more []byte, exception string)
	// forgetful keeps no calls.
	forgetful bool
	// running are the containers of earlier attempts.
	running []wire.Container
	// before is called with every call before it is done; false closes the connection.
	before func(method string) bool
}

// rmAttempt is what a ResourceManager keeps of an attempt.
type rmAttempt struct {
	registered bool
	responseID int32
	last       []byte // the last answer
	calls      []seen
	came       [][]byte // bodies of all allocate calls, carried out or not
	registers  int
}

// seen is an allocate call that was carried out.
type seen struct {
	body []byte
	req  wire.Request
}

// rows are the asks of a call in words.
func (s *seen) rows() []string {
	var out []string
	for _, r := range s.req.Asks {
		text := fmt.Sprintf("%d %s %d", r.Priority, r.Name, r.Count)
		if !r.Relax {
			text += " strict"
		}
		out = append(out, text)
	}
	slices.Sort(out)
	return out
}

func newFakeRM(tb testing.TB, address string) *fakeRM {
	tb.Helper()
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", address)
	if err != nil {
		tb.Fatal(err)
	}
	rm := &fakeRM{l: l, qop: "auth", attempts: map[wire.Attempt]*rmAttempt{}, conns: map[net.Conn]struct{}{}}
	rm.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			rm.mu.Lock()
			rm.conns[c] = struct{}{}
			rm.mu.Unlock()
			rm.wg.Go(func() {
				defer c.Close()
				if err := rm.serve(c); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
					tb.Logf("fake ResourceManager: %v", err)
				}
			})
		}
	})
	tb.Cleanup(rm.stop)
	return rm
}

func (rm *fakeRM) addr() string { return rm.l.Addr().String() }

// stop closes the listener and every connection.
func (rm *fakeRM) stop() {
	rm.l.Close()
	rm.hangUp()
	rm.wg.Wait()
}

// hangUp closes every connection.
func (rm *fakeRM) hangUp() {
	rm.mu.Lock()
	defer rm.mu.Unlock()
	for c := range rm.conns {
		c.Close()
	}
	clear(rm.conns)
}

// set changes what the ResourceManager does.
func (rm *fakeRM) set(do func(*fakeRM)) {
	rm.mu.Lock()
	defer rm.mu.Unlock()
	do(rm)
}

// calls returns what an attempt's allocate calls said.
func (rm *fakeRM) calls(id wire.Attempt) []seen {
	rm.mu.Lock()
	defer rm.mu.Unlock()
	if a := rm.attempts[id]; a != nil {
		return slices.Clone(a.calls)
	}
	return nil
}

func password(username string) string { return "password of " + username }

// authenticate does the server's part of SASL and returns whose token it was.
func (rm *fakeRM) authenticate(c net.Conn, in *ipc.Reader) (wire.Attempt, error) {
	const nonce = "a nonce"
	challenge := ipctest.AppendChallenge(nil, &ipc.Challenge{Realms: []string{"default"}, Nonce: nonce, QOP: []string{rm.qop}})
	say := func(m ipc.SASL) error {
		_, err := c.Write(ipctest.AppendResponse(nil, ipc.ResponseHeader{CallID: ipc.CallSASL, ClientID: []byte{}}, ipc.AppendSASL(nil, m)))
		return err
	}
	for {
		frame, err := in.Next()
		if err != nil {
			return wire.Attempt{}, err
		}
		_, rest, err := ipc.ParseRequest(frame[4:])
		if err != nil {
			return wire.Attempt{}, err
		}
		body, err := ipc.ParseParam(rest)
		if err != nil {
			return wire.Attempt{}, err
		}
		m, err := ipc.ParseSASL(body)
		if err != nil {
			return wire.Attempt{}, err
		}
		if m.State == ipc.SASLNegotiate {
			auth := ipc.SASLAuth{Method: []byte("TOKEN"), Mechanism: []byte("DIGEST-MD5"), Protocol: []byte{}, ServerID: []byte("default"), Challenge: challenge}
			if err := say(ipc.SASL{State: ipc.SASLNegotiate, Auths: []ipc.SASLAuth{auth}}); err != nil {
				return wire.Attempt{}, err
			}
			continue
		}
		d, err := ipc.ParseDigest(m.Token)
		if err != nil {
			return wire.Attempt{}, err
		}
		rspauth := []byte("rspauth=of a protected exchange")
		if !d.Protected() {
			if rspauth, err = ipctest.ServerDigest(&d, nonce, password(d.Username)); err != nil {
				c.Write(ipctest.AppendResponse(nil, ipc.ResponseHeader{
					CallID: ipc.CallSASL, Status: ipc.StatusFatal, ClientID: []byte{},
					Exception: []byte("org.apache.hadoop.security.token.SecretManager$InvalidToken"),
				}, nil))
				return wire.Attempt{}, err
			}
		}
		identifier, err := base64.StdEncoding.DecodeString(d.Username)
		if err != nil {
			return wire.Attempt{}, err
		}
		id, _, err := wire.ParseAttempt(identifier)
		if err != nil {
			return wire.Attempt{}, err
		}
		return id, say(ipc.SASL{State: ipc.SASLSuccess, Token: rspauth})
	}
}

func (rm *fakeRM) serve(c net.Conn) error {
	in := ipc.NewReader(c, ipc.MaxFrame)
	b, err := in.ReadPreamble()
	if err != nil {
		return err
	}
	if p, err := ipc.ParsePreamble(b); err != nil || p.Auth != ipc.AuthSASL {
		return fmt.Errorf("preamble %q: %w", b, err)
	}
	id, err := rm.authenticate(c, in)
	if err != nil {
		return err
	}
	for {
		frame, err := in.Next()
		if err != nil {
			return err
		}
		h, rest, err := ipc.ParseRequest(frame[4:])
		if err != nil {
			return err
		}
		if h.CallID == ipc.CallSASL { // wrapped: given back as it came
			if _, err := c.Write(frame); err != nil {
				return err
			}
			continue
		}
		if h.CallID < 0 {
			continue
		}
		call, body, err := ipc.ParseCall(rest)
		if err != nil {
			return err
		}
		rm.mu.Lock()
		before := rm.before
		rm.mu.Unlock()
		if before != nil && !before(string(call.Method)) {
			return nil
		}
		answer, exception := rm.do(id, string(call.Method), body)
		head := ipc.ResponseHeader{CallID: h.CallID, ClientID: h.ClientID}
		if exception != "" {
			head.Status, head.Exception, head.Message = ipc.StatusError, []byte(exception), []byte("it failed")
		}
		if _, err := c.Write(ipctest.AppendResponse(nil, head, answer)); err != nil {
			return err
		}
	}
}

const yarnExceptions = "org.apache.hadoop.yarn.exceptions."

// do carries out a call. What is answered is never nil without an exception.
func (rm *fakeRM) do(id wire.Attempt, method string, body []byte) (answer []byte, exception string) {
	rm.mu.Lock()
	defer rm.mu.Unlock()
	a := rm.attempts[id]
	if a == nil {
		a = &rmAttempt{}
		rm.attempts[id] = a
	}
	switch method {
	case "registerApplicationMaster":
		if a.registered {
			return nil, yarnExceptions + "InvalidApplicationMasterRequestException"
		}
		a.registered, a.responseID = true, 0
		a.registers++
		answer = []byte{}
		for i := range rm.running {
			answer = appendContainer(answer, 4, &rm.running[i])
		}
		return answer, ""
	case "finishApplicationMaster":
		a.registered = false
		return []byte{1 << 3, 1}, ""
	}
	s := seen{body: slices.Clone(body)}
	if !rm.forgetful {
		a.came = append(a.came, s.body)
	}
	if !a.registered {
		return nil, yarnExceptions + "ApplicationMasterNotRegisteredException"
	}
	if err := s.req.Parse(s.body); err != nil {
		return nil, "java.io.IOException"
	}
	switch s.req.ResponseID {
	case a.responseID - 1:
		return a.last, ""
	case a.responseID:
	default:
		return nil, yarnExceptions + "InvalidApplicationMasterRequestException"
	}
	var more []byte
	if rm.grant != nil {
		if more, exception = rm.grant(a, &s.req); exception != "" {
			return nil, exception
		}
	}
	if !rm.forgetful {
		a.calls = append(a.calls, s)
	}
	a.responseID++
	a.last = append(appendNumber(nil, 2, int64(a.responseID)), more...)
	return a.last, ""
}

func appendNumber(dst []byte, num protowire.Number, n int64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(dst, num, protowire.VarintType), uint64(n))
}

func appendMessage(dst []byte, num protowire.Number, m []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(dst, num, protowire.BytesType), m)
}

func appendAttempt(id wire.Attempt) []byte {
	app := appendNumber(appendNumber(nil, 1, int64(id.App)), 2, id.Cluster)
	return appendNumber(appendMessage(nil, 1, app), 2, int64(id.Attempt))
}

// appendContainer appends a ContainerProto.
func appendContainer(dst []byte, num protowire.Number, k *wire.Container) []byte {
	id := appendNumber(appendMessage(nil, 2, appendAttempt(wire.Attempt{Cluster: 1, App: 1, Attempt: k.ID.Attempt})), 3, k.ID.ID)
	m := appendMessage(nil, 1, id)
	m = appendMessage(m, 2, appendNumber(appendMessage(nil, 1, k.Host), 2, 45454))
	m = appendMessage(m, 4, appendNumber(appendNumber(nil, 1, k.Memory), 2, int64(k.VCores)))
	m = appendMessage(m, 5, appendNumber(nil, 1, int64(k.Priority)))
	return appendMessage(dst, num, m)
}

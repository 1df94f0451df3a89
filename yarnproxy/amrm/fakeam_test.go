package amrm

import (
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"heddle/yarnproxy/amrm/wire"
	"heddle/yarnproxy/ipc"
	"heddle/yarnproxy/ipc/ipctest"
)

// fakeAM is an ApplicationMaster's end of a connection.
type fakeAM struct {
	t          testing.TB
	id         wire.Attempt
	conn       net.Conn
	in         *ipc.Reader
	client     []byte
	call       int32
	responseID int32
}

func tokenOf(id wire.Attempt) string {
	identifier := appendNumber(appendMessage(nil, 1, appendAttempt(id)), 2, 77)
	return base64.StdEncoding.EncodeToString(identifier)
}

// connect dials an address and authenticates as an attempt.
func connect(tb testing.TB, address string, id wire.Attempt) *fakeAM {
	tb.Helper()
	am, err := tryConnect(tb, address, id, "auth")
	if err != nil {
		tb.Fatal(err)
	}
	return am
}

func tryConnect(tb testing.TB, address string, id wire.Attempt, qop string) (*fakeAM, error) {
	tb.Helper()
	c, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(context.Background(), "tcp", address)
	if err != nil {
		return nil, err
	}
	tb.Cleanup(func() { c.Close() })
	return authenticate(tb, c, id, qop)
}

// authenticate makes a connection one of an attempt.
func authenticate(tb testing.TB, c net.Conn, id wire.Attempt, qop string) (*fakeAM, error) {
	tb.Helper()
	am := &fakeAM{t: tb, id: id, conn: c, in: ipc.NewReader(c, ipc.MaxFrame), client: []byte("0123456789abcdef"), call: 9}
	c.SetDeadline(time.Now().Add(20 * time.Second))
	hello := ipc.AppendPreamble(nil, ipc.Preamble{Version: 9, Auth: ipc.AuthSASL})
	if _, err := c.Write(append(hello, am.sasl(ipc.SASL{State: ipc.SASLNegotiate})...)); err != nil {
		return nil, err
	}
	m, err := am.nextSASL()
	if err != nil {
		return nil, err
	}
	ch, err := ipc.ParseChallenge(m.Auths[0].Challenge)
	if err != nil {
		return nil, err
	}
	var token []byte
	secret := ipctest.Secret{Username: tokenOf(id), Password: password(tokenOf(id))}
	if qop == "auth" {
		if token, _, err = ipctest.ClientDigest(&ch, secret, "/default", "c nonce"); err != nil {
			return nil, err
		}
	} else {
		token = ipctest.AppendDigest(nil, &ipc.Digest{
			Username: secret.Username, Realm: "default", Nonce: ch.Nonce, CNonce: "c", NC: "00000001",
			URI: "/default", QOP: qop, Response: "00112233445566778899aabbccddeeff",
		})
	}
	auth := m.Auths[0]
	auth.Challenge = nil
	if _, err := c.Write(am.sasl(ipc.SASL{State: ipc.SASLInitiate, Token: token, Auths: []ipc.SASLAuth{auth}})); err != nil {
		return nil, err
	}
	if m, err = am.nextSASL(); err != nil || m.State != ipc.SASLSuccess {
		return nil, fmt.Errorf("no success: %v, %w", m.State, err)
	}
	if qop == "auth" {
		_, err = c.Write(ipc.AppendRequest(nil, ipctest.ContextHeader(am.client), nil, ipctest.AppendContext(nil, ipc.Context{Protocol: []byte(protocol)})))
	}
	return am, err
}

func (am *fakeAM) sasl(m ipc.SASL) []byte {
	h := ipc.SASLHeader()
	h.CallerContext = []byte("mr_appmaster_" + am.id.String())
	return ipc.AppendRequest(nil, h, nil, ipc.AppendSASL(nil, m))
}

func (am *fakeAM) nextSASL() (ipc.SASL, error) {
	frame, err := am.in.Next()
	if err != nil {
		return ipc.SASL{}, err
	}
	h, body, err := ipc.ParseResponse(frame[4:])
	if err != nil {
		return ipc.SASL{}, err
	}
	if h.Status != ipc.StatusSuccess {
		return ipc.SASL{}, fmt.Errorf("refused: %s", h.Exception)
	}
	return ipc.ParseSASL(slices.Clone(body))
}

// frame builds a call.
func (am *fakeAM) frame(method string, body []byte) []byte {
	am.call++
	h := ipctest.CallHeader(am.call, am.client)
	h.CallerContext = []byte("mr_appmaster_" + am.id.String())
	return ipc.AppendRequest(nil, h, &ipc.Call{Method: []byte(method), Protocol: []byte(protocol), Version: 1}, body)
}

// remoteError is an error the ResourceManager answered.
type remoteError string

func (e remoteError) Error() string { return string(e) }

// receive reads one answer.
func (am *fakeAM) receive() ([]byte, error) {
	frame, err := am.in.Next()
	if err != nil {
		return nil, err
	}
	h, body, err := ipc.ParseResponse(frame[4:])
	switch {
	case err != nil:
		return nil, err
	case h.CallID != am.call:
		return nil, fmt.Errorf("an answer to call %d, want %d", h.CallID, am.call)
	case h.Status != ipc.StatusSuccess:
		return nil, remoteError(h.Exception)
	}
	return slices.Clone(body), nil
}

func (am *fakeAM) try(method string, body []byte) ([]byte, error) {
	if _, err := am.conn.Write(am.frame(method, body)); err != nil {
		return nil, err
	}
	return am.receive()
}

func (am *fakeAM) register() {
	am.t.Helper()
	if _, err := am.try("registerApplicationMaster", appendMessage(nil, 1, []byte("w11"))); err != nil {
		am.t.Fatalf("register: %v", err)
	}
	am.responseID = 0
}

func (am *fakeAM) finish() {
	am.t.Helper()
	if _, err := am.try("finishApplicationMaster", []byte{}); err != nil {
		am.t.Fatalf("finish: %v", err)
	}
}

// ask is an ask row.
func ask(priority int32, name string, count int32) wire.NewRow {
	return wire.NewRow{Priority: priority, RequestID: -1, Name: name, Count: count, Relax: true, Memory: 512, VCores: 1}
}

// allocateBody is an allocate call as MapReduce writes it.
func allocateBody(responseID int32, rows ...wire.NewRow) []byte {
	var body []byte
	for i := range rows {
		body = wire.AppendNewRow(body, &rows[i])
	}
	body = append(body, 0x1a, 0) // an empty blacklist_request
	body = appendNumber(body, 4, int64(responseID))
	return protowire.AppendFixed32(protowire.AppendTag(body, 5, protowire.Fixed32Type), 0x3f000000)
}

// allocate makes one call and takes over the response id of its answer.
func (am *fakeAM) allocate(rows ...wire.NewRow) wire.Response {
	am.t.Helper()
	r, err := am.tryAllocate(rows...)
	if err != nil {
		am.t.Fatalf("allocate %d: %v", am.responseID, err)
	}
	return r
}

func (am *fakeAM) tryAllocate(rows ...wire.NewRow) (wire.Response, error) {
	var r wire.Response
	body, err := am.try("allocate", allocateBody(am.responseID, rows...))
	if err != nil {
		return r, err
	}
	if err := r.Parse(body); err != nil {
		return r, err
	}
	am.responseID = r.ResponseID
	return r, nil
}

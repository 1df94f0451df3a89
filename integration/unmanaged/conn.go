package unmanaged

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"heddle/yarnproxy/ipc"
	"heddle/yarnproxy/ipc/ipctest"
)

// The protocols of the ResourceManager's ports.
const (
	schedulerProtocol = "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB" // ApplicationMasters speak it on the scheduler port
	clientProtocol    = "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB"
)

// conn is a connection to the ResourceManager, for the calls of one protocol. It makes one call at a time.
type conn struct {
	address  string
	protocol string
	net      net.Conn
	in       *ipc.Reader
	client   [16]byte
	call     int32
}

// dial connects and authenticates with an attempt's token, as an ApplicationMaster does.
func dial(ctx context.Context, address string, secret ipctest.Secret) (*conn, error) {
	return open(ctx, address, schedulerProtocol, func(c *conn) error { return c.authenticate(secret) })
}

// dialAs connects a user by simple authentication.
func dialAs(ctx context.Context, address, user string) (*conn, error) {
	return open(ctx, address, clientProtocol, func(c *conn) error {
		return c.begin(ipc.AppendPreamble(nil, ipc.Preamble{Version: 9, Auth: ipc.AuthNone}), []byte(user))
	})
}

func open(ctx context.Context, address, protocol string, begin func(*conn) error) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	n, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", address, err)
	}
	c := &conn{address: address, protocol: protocol, net: n, in: ipc.NewReader(n, maxAnswer), call: 9} // as MapReduce's, which is not at 0
	_, _ = rand.Read(c.client[:])                                                                      // never fails
	if err := c.bounded(ctx, func() error { return begin(c) }); err != nil {
		_ = n.Close()
		return nil, fmt.Errorf("authenticate at %s: %w", address, err)
	}
	return c, nil
}

// begin sends the connection context after what is before it.
func (c *conn) begin(before, user []byte) error {
	context := ipctest.AppendContext(nil, ipc.Context{User: user, Protocol: []byte(c.protocol)})
	if _, err := c.net.Write(ipc.AppendRequest(before, ipctest.ContextHeader(c.client[:]), nil, context)); err != nil {
		return fmt.Errorf("send the connection context: %w", err)
	}
	return nil
}

// bounded runs an exchange, which ends with an error when ctx does.
func (c *conn) bounded(ctx context.Context, exchange func() error) error {
	if err := c.net.SetDeadline(time.Time{}); err != nil {
		return fmt.Errorf("use the connection: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = c.net.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	err := exchange()
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	return err
}

// authenticate is the SASL exchange: NEGOTIATE, the server's challenge, INITIATE, SUCCESS.
func (c *conn) authenticate(secret ipctest.Secret) error {
	hello := ipc.AppendPreamble(nil, ipc.Preamble{Version: 9, Auth: ipc.AuthSASL})
	offered, err := c.sasl(hello, ipc.SASL{State: ipc.SASLNegotiate})
	if err != nil {
		return err
	}
	if offered.State != ipc.SASLNegotiate || len(offered.Auths) == 0 || string(offered.Auths[0].Method) != "TOKEN" {
		return fmt.Errorf("the server offers %+v, not a token", offered)
	}
	auth := offered.Auths[0]
	challenge, err := ipc.ParseChallenge(auth.Challenge)
	if err != nil {
		return fmt.Errorf("read the challenge: %w", err)
	}
	token, want, err := ipctest.ClientDigest(&challenge, secret, "/"+string(auth.ServerID), rand.Text())
	if err != nil {
		return fmt.Errorf("answer the challenge: %w", err)
	}
	auth.Challenge = nil
	done, err := c.sasl(nil, ipc.SASL{State: ipc.SASLInitiate, Token: token, Auths: []ipc.SASLAuth{auth}})
	if err != nil {
		return err
	}
	if done.State != ipc.SASLSuccess || !bytes.Equal(done.Token, want) {
		return errors.New("the server does not prove that it knows the token's password")
	}
	return c.begin(nil, nil)
}

// sasl sends a SASL message after what is before it, and reads the answer, which
// stays good when the next one is read.
func (c *conn) sasl(before []byte, m ipc.SASL) (ipc.SASL, error) {
	if _, err := c.net.Write(ipc.AppendRequest(before, ipc.SASLHeader(), nil, ipc.AppendSASL(nil, m))); err != nil {
		return ipc.SASL{}, fmt.Errorf("send SASL message %d: %w", m.State, err)
	}
	body, err := c.answer(ipc.CallSASL)
	if err != nil {
		return ipc.SASL{}, fmt.Errorf("answer to SASL message %d: %w", m.State, err)
	}
	return ipc.ParseSASL(body)
}

// invoke makes a call and returns its answer's message, which is the caller's.
func (c *conn) invoke(ctx context.Context, method string, request []byte) (body []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	c.call++
	call := ipc.Call{Method: []byte(method), Protocol: []byte(c.protocol), Version: 1}
	frame := ipc.AppendRequest(nil, ipctest.CallHeader(c.call, c.client[:]), &call, request)
	err = c.bounded(ctx, func() error {
		if _, err := c.net.Write(frame); err != nil {
			return fmt.Errorf("send the call: %w", err)
		}
		body, err = c.answer(c.call)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s at %s: %w", method, c.address, err)
	}
	return body, nil
}

// RemoteError is the answer of a server that a call failed.
type RemoteError struct {
	Class   string // of the exception, in Java's full spelling
	Message string
}

// Error implements error. Only the first line of the message is in it: the rest is Java's stack.
func (e *RemoteError) Error() string {
	line, _, _ := strings.Cut(e.Message, "\n")
	return e.Class + ": " + line
}

// answer reads the answer to a call. A refusal is a *RemoteError.
func (c *conn) answer(call int32) ([]byte, error) {
	frame, err := c.in.Next()
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	h, body, err := ipc.ParseResponse(frame[4:]) // after its length
	switch {
	case err != nil:
		return nil, err
	case h.Status != ipc.StatusSuccess:
		return nil, &RemoteError{Class: string(h.Exception), Message: string(h.Message)}
	case h.CallID != call:
		return nil, fmt.Errorf("the answer is to call %d, not to %d", h.CallID, call)
	}
	return bytes.Clone(body), nil
}

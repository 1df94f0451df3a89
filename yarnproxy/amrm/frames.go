package amrm

import (
	"context"
	"encoding/base64"
	"errors"

	"heddle/core/model"
	"heddle/yarnproxy/amrm/wire"
	"heddle/yarnproxy/ipc"
)

// protocol is what an ApplicationMaster calls on the scheduler port (ApplicationMasterProtocolPB.java).
const protocol = "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB"

// prefixLen is the length of a frame's length.
const prefixLen = 4

func methodOf(c *ipc.Call) method {
	if string(c.Protocol) != protocol {
		return methodOther
	}
	switch string(c.Method) {
	case "allocate":
		return methodAllocate
	case "registerApplicationMaster":
		return methodRegister
	case "finishApplicationMaster":
		return methodFinish
	}
	return methodOther
}

// begin sends on what a client sends first. What is not SASL of Hadoop RPC version 9 goes on unread: it may be a later
// version, and is for the ResourceManager to refuse. It counts as unauthenticated for as long as it is open.
func (c *conn) begin(hello []byte) error {
	p, err := ipc.ParsePreamble(hello)
	if err == nil && p.Version == 9 && p.Auth == ipc.AuthSASL {
		c.session.enter(phaseSASL)
		return c.up.write(hello)
	}
	c.relay.counts.pass(model.PassDecode)
	c.unread.Store(true)
	c.goBlind()
	return c.up.write(hello)
}

// request sends a frame of the client on.
func (c *conn) request(ctx context.Context, frame []byte) error {
	switch c.session.phase() {
	case phaseSASL:
		if err := c.identify(frame[prefixLen:]); err != nil {
			c.relay.counts.pass(model.PassDecode)
			c.relay.log.Warn("authentication of a client was not understood; its calls go on as they come",
				"client", c.up.src.RemoteAddr(), "error", err)
		}
	case phaseCalls:
		if a := c.session.owner(); a != nil {
			return c.call(ctx, a, frame)
		}
	case phasePreamble, phaseBlind:
	}
	return c.up.write(frame)
}

// Why it is not believed whose calls a connection brings.
var (
	errTwoAttempts = errors.New("the token and the caller context name different attempts")
	errTwoTokens   = errors.New("the client presents a second token")
)

// identify reads from a frame of the client whose token it presents. Whether the
// token is good is for the ResourceManager to say.
func (c *conn) identify(payload []byte) error {
	h, rest, err := ipc.ParseRequest(payload)
	if err != nil || h.CallID != ipc.CallSASL {
		return err
	}
	body, err := ipc.ParseParam(rest)
	if err != nil {
		return err
	}
	m, err := ipc.ParseSASL(body)
	if err != nil || len(m.Token) == 0 || m.State != ipc.SASLInitiate && m.State != ipc.SASLResponse {
		return err
	}
	if !c.session.present() {
		return errTwoTokens
	}
	d, err := ipc.ParseDigest(m.Token)
	if err != nil {
		return err
	}
	c.session.protect(d.Protected())
	identifier, err := base64.StdEncoding.DecodeString(d.Username)
	if err != nil {
		return err
	}
	token, _, err := wire.ParseAttempt(identifier)
	if err != nil {
		return err
	}
	if says, ok := wire.ParseContext(h.CallerContext); ok && says != token {
		return errTwoAttempts
	}
	c.session.name(token)
	return nil
}

// call sends a call of an attempt on.
func (c *conn) call(ctx context.Context, a *attempt, frame []byte) error {
	start := c.relay.clock()
	h, rest, err := ipc.ParseRequest(frame[prefixLen:])
	var k ipc.Call
	var body []byte
	if err == nil && h.CallID >= 0 {
		k, body, err = ipc.ParseCall(rest)
	}
	if err != nil {
		c.relay.steering.unread(a, "a call", err)
		return c.up.write(frame)
	}
	switch m := methodOf(&k); m {
	case methodAllocate:
		s := c.relay.steering.scratch()
		defer c.relay.steering.putScratch(s)
		out, edited := c.relay.steering.request(ctx, a, frame, body, s)
		c.session.remember(call{id: h.CallID, method: m, edited: edited}, &c.relay.counts.forgotten)
		if err := c.up.write(out); err != nil {
			return err
		}
		c.session.sent(h.CallID, c.relay.clock().Sub(start))
		c.relay.steering.afterSend(a)
		return nil
	case methodRegister, methodFinish:
		c.session.remember(call{id: h.CallID, method: m}, &c.relay.counts.forgotten)
	case methodOther:
	}
	return c.up.write(frame)
}

// response sends a frame of the ResourceManager on. What it says is known here
// before the client can act on it.
func (c *conn) response(frame []byte) error {
	switch c.session.phase() {
	case phaseSASL:
		c.accepted(frame[prefixLen:])
	case phaseCalls:
		if a := c.session.owner(); a != nil {
			return c.answer(a, frame)
		}
	case phasePreamble, phaseBlind:
	}
	return c.down.write(frame)
}

// accepted looks for the ResourceManager's word that a token is good.
func (c *conn) accepted(payload []byte) {
	h, body, err := ipc.ParseResponse(payload)
	if err != nil || h.CallID != ipc.CallSASL || h.Status != ipc.StatusSuccess {
		return
	}
	if m, err := ipc.ParseSASL(body); err != nil || m.State != ipc.SASLSuccess {
		return
	}
	c.authenticate()
	token, named, protected := c.session.claim()
	if named && c.session.owner() == nil {
		c.session.attach(c.relay.attempts.join(token))
	}
	if protected {
		c.relay.counts.pass(model.PassPrivacy)
		c.goBlind()
		return
	}
	c.session.enter(phaseCalls)
}

// answer sends the answer to a call of an attempt on.
func (c *conn) answer(a *attempt, frame []byte) error {
	start := c.relay.clock()
	h, body, err := ipc.ParseResponse(frame[prefixLen:])
	if err != nil {
		c.relay.steering.unread(a, "an answer", err)
		return c.down.write(frame)
	}
	k := c.session.recall(h.CallID)
	if k.method == methodOther {
		return c.down.write(frame)
	}
	s := c.relay.steering.scratch()
	defer c.relay.steering.putScratch(s)
	switch {
	case h.Status != ipc.StatusSuccess:
		c.relay.steering.failed(a, k, &h)
	case k.method == methodAllocate:
		c.relay.steering.answered(a, body, s)
	case k.method == methodRegister:
		c.relay.steering.registered(a, body, s)
	case k.method == methodFinish:
		c.relay.steering.finished(a, body)
	}
	if err := c.down.write(frame); err != nil {
		return err
	}
	if k.method == methodAllocate {
		c.relay.counts.added(k.spent + c.relay.clock().Sub(start))
	}
	c.relay.steering.afterSend(a)
	return nil
}

package amrm

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// conn is one connection of an ApplicationMaster and its own connection to the
// ResourceManager. Two goroutines serve it, one for each direction; neither
// waits for the other.
type conn struct {
	relay   *Relay
	up      lane // what the client sends
	down    lane // what the ResourceManager sends
	session session
	// draining is when half a frame, an answer and a peer that takes no bytes are given up; nil while the relay runs.
	draining atomic.Pointer[time.Time]
}

func newConn(r *Relay, client, rm net.Conn) *conn {
	c := &conn{relay: r}
	c.up, c.down = newLane(c, client, rm), newLane(c, rm, client)
	return c
}

// run relays until both directions have ended, and closes both sockets.
func (c *conn) run(ctx context.Context) {
	var both sync.WaitGroup
	both.Go(func() { c.ended(&c.down, c.responses()) })
	c.ended(&c.up, c.requests(ctx))
	both.Wait()
	c.close()
	if a := c.session.attach(nil); a != nil {
		a.leave(c.relay.opts.now())
	}
	if c.session.phase() == phaseBlind {
		c.relay.blind.Add(-1)
	}
}

// ended does what the end of one lane means for the other.
func (c *conn) ended(l *lane, err error) {
	other := &c.down
	if l == other {
		other = &c.up
	}
	switch {
	case err == nil: // the peer has said everything: so has the relay
		half, ok := l.dst.(interface{ CloseWrite() error })
		if !ok || half.CloseWrite() != nil {
			c.close()
			return
		}
		other.stop(c.relay.clock().Add(c.relay.times.linger))
	case errors.Is(err, errDrained):
	default:
		c.close()
		return
	}
	until := c.draining.Load()
	switch {
	case until == nil:
	case other == &c.down && c.session.waiting() > 0:
		other.stop(*until)
	default:
		other.stop(longAgo())
	}
}

func (c *conn) close() {
	_ = c.up.src.Close() // nothing is left to be said on either
	_ = c.up.dst.Close()
}

// drain has both lanes end at the end of a frame: up at once, down when no answer is missing.
func (c *conn) drain(until time.Time) {
	c.draining.Store(&until)
	c.up.stop(longAgo())
	_ = c.up.dst.SetWriteDeadline(until) // a closed socket has stopped already
	_ = c.up.src.SetWriteDeadline(until)
}

// requests relays what the client sends until it ends: nil at the end of the stream.
func (c *conn) requests(ctx context.Context) error {
	var err error
	if c.session.phase() == phasePreamble {
		err = c.preamble()
	}
	for err == nil {
		if c.session.phase() == phaseBlind {
			err = c.up.copy(-1)
			break
		}
		var frame []byte
		if frame, err = c.up.next(); err == nil {
			err = c.request(ctx, frame)
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// responses relays what the ResourceManager sends, as requests does.
func (c *conn) responses() error {
	var err error
	for err == nil {
		if c.session.phase() == phaseBlind {
			err = c.down.copy(-1)
			break
		}
		var frame []byte
		if frame, err = c.down.next(); err == nil {
			err = c.response(frame)
		}
		if err == nil && c.draining.Load() != nil && c.session.waiting() == 0 && len(c.down.in.Buffered()) == 0 {
			err = errDrained
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// goBlind stops looking at the connection.
func (c *conn) goBlind() {
	if c.session.enter(phaseBlind) {
		c.relay.blind.Add(1)
	}
}

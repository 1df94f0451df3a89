package amrm

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"heddle/yarnproxy/ipc"
)

// conn is one connection of an ApplicationMaster and its own connection to the
// ResourceManager. Two goroutines serve it, one for each direction; neither
// waits for the other.
type conn struct {
	relay   *Relay
	up      lane // what the client sends
	down    lane // what the ResourceManager sends
	session session
	pausing atomic.Pointer[pause] // nil while it relays
}

// pause is for both lanes of connections to stop at the end of a frame.
type pause struct {
	// until is when half a frame, an answer and a peer that takes no bytes are given up.
	until time.Time
	// over is closed when it is decided what becomes of the connection; nil: it ends here.
	over chan struct{}
	// given says, once over is closed, that another process has the sockets.
	given bool
}

func newConn(r *Relay, client, rm net.Conn) *conn {
	c := &conn{relay: r}
	c.up, c.down = newLane(c, client, rm, pending{}), newLane(c, rm, client, pending{})
	c.up.in, c.down.in = ipc.NewReader(&c.up, largeFrame), ipc.NewReader(&c.down, largeFrame)
	return c
}

// run relays until both directions have ended or another process has them, and
// closes both sockets.
func (c *conn) run(ctx context.Context) {
	for c.relays(ctx) && c.waits() {
	}
	c.close()
	if a := c.session.attach(nil); a != nil {
		a.leave(c.relay.opts.now())
	}
	if c.session.phase() == phaseBlind {
		c.relay.blind.Add(-1)
	}
}

// relays runs both lanes to where they stop, and reports whether that is a
// pause: neither has failed, and not both have ended.
func (c *conn) relays(ctx context.Context) (paused bool) {
	var up, down error
	var both sync.WaitGroup
	both.Go(func() {
		down = c.responses()
		c.ended(&c.down, down)
	})
	up = c.requests(ctx)
	c.ended(&c.up, up)
	both.Wait()
	sound := func(err error) bool { return err == nil || errors.Is(err, errPaused) }
	return sound(up) && sound(down) && (up != nil || down != nil)
}

// waits holds a connection that pauses until it is decided what becomes of it,
// and reports whether it goes on here.
func (c *conn) waits() bool {
	p := c.pausing.Load()
	if p == nil || p.over == nil {
		return false
	}
	c.relay.conns.park(c, true)
	defer c.relay.conns.park(c, false)
	<-p.over
	if p.given {
		return false
	}
	if !c.pausing.CompareAndSwap(p, nil) { // the end has come
		return true
	}
	return c.up.src.SetReadDeadline(time.Time{}) == nil && c.down.src.SetReadDeadline(time.Time{}) == nil
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
	case errors.Is(err, errPaused):
	default:
		c.close()
		return
	}
	p := c.pausing.Load()
	switch {
	case p == nil:
	case other == &c.down && c.session.waiting() > 0:
		other.stop(p.until)
	default:
		other.stop(longAgo())
	}
}

func (c *conn) close() {
	_ = c.up.src.Close() // nothing is left to be said on either
	_ = c.up.dst.Close()
}

// pause has both lanes stop at the end of a frame: up at once, down when no
// answer is missing.
func (c *conn) pause(p *pause) {
	c.pausing.Store(p)
	c.up.stop(longAgo())
	_ = c.up.dst.SetWriteDeadline(p.until) // a closed socket has stopped already
	_ = c.up.src.SetWriteDeadline(p.until)
}

// requests relays what the client sends until it ends: nil at the end of the stream.
func (c *conn) requests(ctx context.Context) error {
	err := c.up.goOn()
	if err == nil && c.session.phase() == phasePreamble {
		err = c.preamble()
	}
	for err == nil {
		if c.session.phase() == phaseBlind {
			c.up.left = -1
			err = c.up.copy()
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
	err := c.down.goOn()
	for err == nil {
		if c.session.phase() == phaseBlind {
			c.down.left = -1
			err = c.down.copy()
			break
		}
		var frame []byte
		if frame, err = c.down.next(); err == nil {
			err = c.response(frame)
		}
		if err == nil && c.pausing.Load() != nil && c.session.waiting() == 0 && len(c.down.in.Buffered()) == 0 {
			err = errPaused
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

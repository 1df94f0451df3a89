package amrm

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"heddle/core/model"
)

// conn is one connection of an ApplicationMaster and, once the client has sent
// a whole preamble, its own connection to the ResourceManager. Two goroutines
// serve it from then on, one for each direction; neither waits for the other.
type conn struct {
	relay   *Relay
	address netip.Addr // of the client
	start   time.Time
	up      lane // what the client sends
	down    lane // what the ResourceManager sends
	session session
	// authenticated is set once the ResourceManager has accepted the client's token.
	authenticated atomic.Bool
	// unread is set if the preamble was not understood: both directions are passed on as they come, and it is not seen
	// whether the ResourceManager accepts a token.
	unread atomic.Bool
	// expiry closes a connection that does not authenticate in time, or that is unread and idle.
	expiry *time.Timer
	// draining is when half a frame, an answer and a peer that takes no bytes are given up; nil while the relay runs.
	draining atomic.Pointer[time.Time]

	mu     sync.Mutex // guards what follows
	rm     net.Conn   // nil before the ResourceManager was dialled
	closed bool
}

func newConn(r *Relay, client net.Conn) *conn {
	c := &conn{relay: r, address: addressOf(client), start: r.clock()}
	c.up = newLane(c, client, nil)
	c.expiry = time.AfterFunc(r.opts.Conns.AuthTimeout, c.expire)
	return c
}

// connect takes over the connection to the ResourceManager, unless the client's was closed meanwhile.
func (c *conn) connect(rm net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		_ = rm.Close() // nothing was sent on it
		return false
	}
	c.rm, c.up.dst, c.down = rm, rm, newLane(c, rm, c.up.src)
	return true
}

// run reads the preamble, dials the ResourceManager and relays until both directions have ended. Then it closes both sockets.
func (c *conn) run(ctx context.Context, dial func(context.Context) (net.Conn, error)) {
	defer c.finish()
	hello, err := c.up.in.ReadPreamble()
	if err != nil {
		return
	}
	if !c.expiry.Stop() { // dialling has a limit of its own, and is no fault of the client
		return // too late
	}
	left := c.relay.opts.Conns.AuthTimeout - c.relay.clock().Sub(c.start)
	rm, err := dial(ctx)
	c.expiry.Reset(left)
	if err != nil || !c.connect(rm) || c.begin(hello) != nil {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { c.ended(&c.down, c.responses()) })
	c.ended(&c.up, c.requests(ctx))
	both.Wait()
}

// finish closes both sockets and takes the connection from its attempt.
func (c *conn) finish() {
	c.expiry.Stop()
	c.close()
	if a := c.session.attach(nil); a != nil {
		a.leave(c.relay.opts.now())
	}
	if c.session.phase() == phaseBlind {
		c.relay.blind.Add(-1)
	}
}

// authenticate notes that the ResourceManager accepted the client's token. From here on the ordinary limits apply.
func (c *conn) authenticate() {
	if c.authenticated.Swap(true) {
		return
	}
	c.expiry.Stop()
	c.relay.conns.authenticated()
}

// expire closes a connection that has not authenticated in time.
func (c *conn) expire() {
	switch {
	case c.authenticated.Load():
		return
	case c.unread.Load():
		c.refuse(model.RefuseIdle)
	default:
		c.refuse(model.RefuseAuthTimeout)
	}
	c.close()
}

// refuse counts that a limit ends the connection.
func (c *conn) refuse(cause model.RefuseCause) {
	c.relay.counts.refuse(cause)
	c.relay.log.Debug("closing the connection of a client that has not authenticated", "client", c.address, "cause", cause)
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
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	_ = c.up.src.Close() // nothing is left to be said on either
	if c.rm != nil {
		_ = c.rm.Close()
	}
}

// drain has both lanes end at the end of a frame: up at once, down when no answer is missing. A connection that has not
// authenticated has no calls, and ends at once.
func (c *conn) drain(until time.Time) {
	if !c.authenticated.Load() {
		c.close()
		return
	}
	c.draining.Store(&until)
	c.up.stop(longAgo())
	_ = c.up.dst.SetWriteDeadline(until) // a closed socket has stopped already
	_ = c.up.src.SetWriteDeadline(until)
}

// requests relays what the client sends until it ends: nil at the end of the stream.
func (c *conn) requests(ctx context.Context) error {
	var err error
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

package amrm

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"heddle/core/model"
)

// listener is an open socket that stands for one ResourceManager.
type listener struct {
	*net.TCPListener
	of   Listener
	down atomic.Bool  // the ResourceManager could not be reached last time
	woke atomic.Int64 // when connections were last accepted or waited for, in nanoseconds since the Unix epoch
}

// keepAlive finds out within two minutes that a peer is gone without a word.
func keepAlive() net.KeepAliveConfig {
	return net.KeepAliveConfig{Enable: true, Idle: time.Minute, Interval: 15 * time.Second, Count: 4}
}

// Listen opens the listening sockets.
func (r *Relay) Listen(ctx context.Context) error {
	config := net.ListenConfig{KeepAliveConfig: keepAlive()}
	var open []*listener
	for _, of := range r.opts.Listeners {
		l, err := config.Listen(ctx, "tcp", of.Address)
		tcp, ok := l.(*net.TCPListener)
		if err != nil || !ok {
			closeListeners(open) // they served nobody yet
			return fmt.Errorf("relay: listening for ApplicationMasters of ResourceManager %q on %s: %w", of.RM, of.Address, err)
		}
		listening := &listener{TCPListener: tcp, of: of}
		listening.woke.Store(r.clock().UnixNano())
		open = append(open, listening)
	}
	r.listening.Store(&open)
	return nil
}

func closeListeners(list []*listener) {
	for _, l := range list {
		_ = l.Close() // nothing is lost with it
	}
}

func (r *Relay) listeners() []*listener {
	if open := r.listening.Load(); open != nil {
		return *open
	}
	return nil
}

// Run relays until ctx ends, then closes every connection in order: calls under way
// have a second to be answered. Listen comes first.
func (r *Relay) Run(ctx context.Context) error {
	open := r.listeners()
	if len(open) == 0 {
		return errors.New("relay: Run before Listen")
	}
	var serving sync.WaitGroup
	for _, l := range open {
		serving.Go(func() { r.accept(ctx, l, &serving) })
	}
	serving.Go(func() { r.sweeping(ctx) })
	<-ctx.Done()
	closeListeners(open)
	r.drain(&serving)
	return nil
}

// drain lets calls under way get through, and closes what is left after that.
func (r *Relay) drain(serving *sync.WaitGroup) {
	r.conns.drain(r.clock().Add(r.times.drain))
	done := make(chan struct{})
	go func() {
		serving.Wait()
		close(done)
	}()
	select {
	case <-done:
		return
	case <-time.After(r.times.drain):
	}
	r.conns.close()
	<-done
}

// accept serves what connects to a listener until that is closed.
func (r *Relay) accept(ctx context.Context, l *listener, serving *sync.WaitGroup) {
	wait := time.Duration(0)
	for {
		client, err := l.next(r.clock)
		switch {
		case err == nil:
		case ctx.Err() != nil || errors.Is(err, net.ErrClosed):
			return
		default: // out of files, mostly
			wait = min(max(2*wait, 5*time.Millisecond), time.Second)
			r.log.Error("accepting a connection failed; trying again", "address", l.Addr(), "in", wait, "error", err)
			select {
			case <-time.After(wait):
			case <-ctx.Done():
			}
			continue
		}
		wait = 0
		if c := r.admit(client); c != nil {
			serving.Go(func() { r.serve(ctx, l, c) })
		}
	}
}

// admit makes a connection of what was accepted, nil if a limit refuses it.
func (r *Relay) admit(client net.Conn) *conn {
	c := newConn(r, client)
	cause, first := r.conns.admit(c)
	if cause == "" {
		r.counts.accepted.Add(1)
		return c
	}
	r.counts.refuse(cause)
	c.expiry.Stop()
	c.close() // nothing was said on it
	if first {
		r.logRefusal(cause, c.address)
	}
	return nil
}

// logRefusal says which limit refuses connections, and what to do.
func (r *Relay) logRefusal(cause model.RefuseCause, client netip.Addr) {
	const next = "; their ApplicationMasters try the next ResourceManager"
	limits := r.conns.limits
	switch cause {
	case model.RefuseAddress:
		r.log.Error("too many connections from one address: closing new ones"+next+
			"; if many nodes share the address, raise relay.max_connections_per_address", "client", client, "limit", limits.PerAddress)
	case model.RefuseUnauthenticated:
		r.log.Error("too many connections that have not authenticated: closing new ones"+next+
			"; the ResourceManager is slow to authenticate, or something else connects", "client", client, "limit", limits.Unauthenticated)
	default:
		r.log.Error("too many connections: closing new ones"+next+"; raise relay.max_connections", "limit", limits.Total)
	}
}

// serve relays one connection until it ends.
func (r *Relay) serve(ctx context.Context, l *listener, c *conn) {
	defer r.conns.release(c)
	c.run(ctx, func(ctx context.Context) (net.Conn, error) { return r.dial(ctx, l) })
}

// dial connects to the ResourceManager that a listener stands for. If it cannot be reached its client loses the
// connection: it has to look for the active one.
func (r *Relay) dial(ctx context.Context, l *listener) (net.Conn, error) {
	dialing, cancel := context.WithTimeout(ctx, r.opts.DialTimeout)
	defer cancel()
	rm, err := r.reach(dialing, l)
	if err != nil {
		if ctx.Err() == nil && !l.down.Swap(true) {
			r.log.Warn("ResourceManager does not take connections: it is in standby, or down; its ApplicationMasters are turned away",
				"rm", l.of.RM, "address", l.of.Upstream, "error", err)
		}
		return nil, err
	}
	if l.down.Swap(false) {
		r.log.Info("ResourceManager takes connections again", "rm", l.of.RM, "address", l.of.Upstream)
	}
	return rm, nil
}

// sweeping looks for attempts that are gone.
func (r *Relay) sweeping(ctx context.Context) {
	tick := time.NewTicker(r.times.sweep)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			r.sweepOnce()
		case <-ctx.Done():
			return
		}
	}
}

// sweepOnce survives a guide that panics.
func (r *Relay) sweepOnce() {
	defer func() {
		if v := recover(); v != nil {
			r.counts.faults.Add(1)
			r.log.Error("looking for applications that are gone failed; please report it", "error", v)
		}
	}()
	r.attempts.sweep()
}

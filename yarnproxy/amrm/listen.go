package amrm

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// listener is an open socket that stands for one ResourceManager.
type listener struct {
	*net.TCPListener
	of   Listener
	down atomic.Bool // the ResourceManager could not be reached last time
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
		open = append(open, &listener{TCPListener: tcp, of: of})
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
	writing, stopWriting := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWriting()
	written := make(chan struct{})
	go func() {
		defer close(written)
		r.journal.run(writing)
	}()
	var serving sync.WaitGroup
	for _, l := range open {
		serving.Go(func() { r.accept(ctx, l, &serving) })
	}
	serving.Go(func() { r.sweeping(ctx) })
	<-ctx.Done()
	closeListeners(open)
	r.drain(&serving)
	stopWriting()
	select {
	case <-written:
	case <-time.After(r.times.drain): // a disk that hangs
	}
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
		client, err := l.Accept()
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
		ok, say := r.conns.admit(r.opts.MaxConns)
		if !ok {
			r.counts.refused.Add(1)
			if say {
				r.log.Error("too many connections: closing new ones, and their ApplicationMasters try the next ResourceManager; raise the limit",
					"limit", r.opts.MaxConns)
			}
			_ = client.Close() // nothing was said on it
			continue
		}
		r.counts.accepted.Add(1)
		serving.Go(func() {
			defer r.conns.release()
			r.serve(ctx, l, client)
		})
	}
}

// serve relays one connection. A ResourceManager that cannot be reached costs
// the client its connection at once: it has to look for the active one.
func (r *Relay) serve(ctx context.Context, l *listener, client net.Conn) {
	dialing, cancel := context.WithTimeout(ctx, r.opts.DialTimeout)
	rm, err := r.opts.Dial(dialing, "tcp", l.of.Upstream)
	cancel()
	if err != nil {
		_ = client.Close() // nothing was said on it
		if ctx.Err() == nil && !l.down.Swap(true) {
			r.log.Warn("ResourceManager does not take connections: it is in standby, or down; its ApplicationMasters are turned away",
				"rm", l.of.RM, "address", l.of.Upstream, "error", err)
		}
		return
	}
	if l.down.Swap(false) {
		r.log.Info("ResourceManager takes connections again", "rm", l.of.RM, "address", l.of.Upstream)
	}
	c := newConn(r, client, rm)
	r.conns.add(c)
	defer r.conns.remove(c)
	c.run(ctx)
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

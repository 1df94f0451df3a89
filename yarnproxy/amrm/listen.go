package amrm

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
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

// Listen opens the listening sockets, or takes them over, connections included,
// from the heddle that runs with the same handover socket. Then Run has to follow
// at once: ApplicationMasters wait for it.
func (r *Relay) Listen(ctx context.Context) error {
	if took, err := r.takeOver(ctx); took || err != nil {
		return err
	}
	open, err := r.open(ctx, nil)
	if err != nil {
		return err
	}
	if r.opts.HandoverSocket != "" {
		publish, err := r.handover.listenAt(r.opts.HandoverSocket)
		if err == nil {
			err = publish()
		}
		if err != nil {
			closeListeners(open)
			return err
		}
	}
	r.listening.Store(&open)
	return nil
}

// open returns a listening socket for every address that is configured, those
// there are already, by their place, among them.
func (r *Relay) open(ctx context.Context, have map[int]*net.TCPListener) ([]*listener, error) {
	config := net.ListenConfig{KeepAliveConfig: keepAlive()}
	var open, fresh []*listener
	for i, of := range r.opts.Listeners {
		if l := have[i]; l != nil {
			open = append(open, &listener{TCPListener: l, of: of})
			continue
		}
		l, err := config.Listen(ctx, "tcp", of.Address)
		tcp, ok := l.(*net.TCPListener)
		if err != nil || !ok {
			closeListeners(fresh) // they served nobody yet
			return nil, fmt.Errorf("relay: listening for ApplicationMasters of ResourceManager %q on %s: %w", of.RM, of.Address, err)
		}
		one := &listener{TCPListener: tcp, of: of}
		open, fresh = append(open, one), append(fresh, one)
	}
	return open, nil
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

// Run relays until ctx ends, then closes every connection: frames under way have
// a second to get through. Or until another heddle has taken over, which ends no
// connection. Listen comes first.
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
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var serving sync.WaitGroup
	r.goOn(ctx, &serving)
	r.conns.accepts(len(open))
	for _, l := range open {
		serving.Go(func() {
			defer r.conns.accepts(-1)
			r.accept(ctx, l, &serving)
		})
	}
	serving.Go(func() { r.sweeping(ctx) })
	given := r.handover.socket != nil && r.giving(ctx)
	if given {
		stop()
	}
	<-ctx.Done()
	closeListeners(open) // the process ends, or another one listens
	if given {
		r.handover.close("")
		serving.Wait()
	} else {
		r.handover.close(r.opts.HandoverSocket)
		r.drain(&serving)
	}
	stopWriting()
	select {
	case <-written:
	case <-time.After(r.times.drain): // a disk that hangs
	}
	return nil
}

// goOn serves the connections that were taken over.
func (r *Relay) goOn(ctx context.Context, serving *sync.WaitGroup) {
	t := r.handover.taken
	if t == nil {
		return
	}
	r.handover.taken = nil
	for _, c := range t.conns {
		serving.Go(func() {
			defer r.conns.release()
			r.carry(ctx, c)
		})
	}
	r.log.Info("took over from another heddle", "connections", len(t.conns), "attempts", t.attempts, "stopped_for", r.clock().Sub(t.stopped))
}

// drain lets frames under way get through, and closes what is left after that.
func (r *Relay) drain(serving *sync.WaitGroup) {
	p := &pause{until: r.clock().Add(r.times.drain)}
	r.conns.each(func(c *conn) { c.pause(p) })
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
	r.conns.each(func(c *conn) { c.close() })
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
		case errors.Is(err, os.ErrDeadlineExceeded):
			if !r.acceptsAgain(l) {
				return
			}
			continue
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

// acceptsAgain waits, where a listener was told to take no more, until it is
// decided who takes the next, and reports whether it does.
func (r *Relay) acceptsAgain(l *listener) bool {
	if p := r.conns.paused(); p != nil {
		r.conns.accepts(-1)
		defer r.conns.accepts(1)
		<-p.over
		if p.given {
			return false
		}
	}
	return l.SetDeadline(time.Time{}) == nil
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
	r.carry(ctx, newConn(r, client, rm))
}

// carry relays a connection to its end.
func (r *Relay) carry(ctx context.Context, c *conn) {
	r.conns.add(c)
	defer r.conns.remove(c)
	if ctx.Err() != nil { // it may have ended before the connection could be told to pause
		c.close()
	}
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

package amrm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

const (
	batchConns = messageFiles / 2
	batchBytes = 1 << 20 // of what one message says, about
)

// errVersion says that the two processes do not understand each other.
var errVersion = errors.New("another version of the handover")

// giving hands the relay over to the next process that asks, and reports whether
// one has it; ctx ends the wait.
func (r *Relay) giving(ctx context.Context) (given bool) {
	socket := r.handover.socket
	stop := context.AfterFunc(ctx, func() { _ = socket.SetDeadline(longAgo()) })
	defer stop()
	for ctx.Err() == nil {
		c, err := socket.AcceptUnix()
		if err != nil {
			if ctx.Err() == nil {
				r.log.Error("the handover socket failed; the next start will not be without a gap", "error", err)
			}
			return false
		}
		g := giver{relay: r, to: channel{c}, pause: &pause{over: make(chan struct{})}}
		err = g.give(ctx, c)
		_ = c.Close() // everything was said
		switch {
		case err == nil:
			return true
		case errors.Is(err, io.EOF) && g.began.IsZero(): // it looked whether anybody is here
		default:
			r.log.Error("handing over to another heddle failed; this one goes on", "error", err, "stopped_for", g.since())
		}
	}
	return false
}

// giver is one try to hand over.
type giver struct {
	relay *Relay
	to    channel
	pause *pause
	began time.Time // when connections were told to stop; zero before
	sent  endMsg
}

func (g *giver) since() time.Duration {
	if g.began.IsZero() {
		return 0
	}
	return g.relay.clock().Sub(g.began)
}

// give hands over. After an error everything goes on here as before.
func (g *giver) give(ctx context.Context, c *net.UnixConn) error {
	r := g.relay
	if err := trusted(r.handover.peer(c)); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(longAgo()) })
	defer stop()
	_ = c.SetDeadline(r.clock().Add(r.times.greet)) // fails with what follows
	if err := g.greet(); err != nil {
		return err
	}
	g.began = r.clock()
	r.log.Info("another heddle takes over")
	err := g.halt(ctx)
	if err == nil {
		_ = c.SetDeadline(r.clock().Add(r.times.hand)) // as above
		err = g.send()
	}
	if err == nil && ctx.Err() != nil { // its deadline may have been set anew
		err = ctx.Err()
	}
	if err == nil {
		err = g.letGo()
	}
	if err != nil {
		g.resume(ctx)
		return err
	}
	g.pause.given = true
	close(g.pause.over)
	r.log.Info("handed over; this heddle ends", "connections", g.sent.Conns, "attempts", g.sent.Attempts,
		"listeners", g.sent.Listeners, "stopped_for", g.since())
	return nil
}

func (g *giver) greet() error {
	m, err := g.to.receive()
	if err != nil {
		return err
	}
	defer m.close()
	hello, err := decode[helloMsg](m.body)
	if m.kind != sayHello || err != nil {
		return errors.Join(errHandover, err)
	}
	if hello.Version != handoverVersion {
		err := fmt.Errorf("%w: it speaks %d, this one %d", errVersion, hello.Version, handoverVersion)
		return errors.Join(err, g.to.send(sayRefused, refusedMsg{Reason: err.Error()}))
	}
	return g.to.send(sayHello, helloMsg{Version: handoverVersion})
}

// halt stops accepting, and every connection at the end of a frame.
func (g *giver) halt(ctx context.Context) error {
	r := g.relay
	g.pause.until = g.began.Add(r.times.halt)
	r.conns.pause(g.pause)
	for _, l := range r.listeners() {
		_ = l.SetDeadline(longAgo()) // one that is closed accepts nothing
	}
	late, cancel := context.WithTimeout(ctx, r.times.halt)
	defer cancel()
	if r.conns.await(late, func() bool { return r.conns.still(false) }) {
		return nil
	}
	later, cancel := context.WithTimeout(ctx, r.times.halt)
	defer cancel()
	if !r.conns.await(later, func() bool { return r.conns.still(true) }) {
		return errors.Join(errors.New("connections do not stop where they could be handed over"), ctx.Err())
	}
	return nil
}

// resume has everything go on.
func (g *giver) resume(ctx context.Context) {
	g.relay.conns.pause(nil)
	close(g.pause.over)
	open := len(g.relay.listeners())
	g.relay.conns.await(ctx, func() bool { return g.relay.conns.moving(open) })
}

// send sends everything, and waits until the other process has it.
func (g *giver) send() error {
	g.relay.journal.flush()
	for _, step := range []func() error{g.sendListeners, g.sendAttempts, g.sendConns} {
		if err := step(); err != nil {
			return err
		}
	}
	g.sent.Stopped = g.since()
	if err := g.to.send(sayEnd, &g.sent); err != nil {
		return err
	}
	m, err := g.to.receive()
	if err != nil {
		return fmt.Errorf("waiting for the other heddle to install what it was sent: %w", err)
	}
	defer m.close()
	if m.kind == sayRefused {
		refused, err := decode[refusedMsg](m.body)
		return errors.Join(fmt.Errorf("the other heddle: %s", refused.Reason), err)
	}
	if m.kind != sayReady {
		return errHandover
	}
	return nil
}

// letGo says that the sockets are the other process's. Once that is said, they are.
func (g *giver) letGo() error { return g.to.send(sayYours, nil) }

func (g *giver) sendListeners() error {
	var list []listenerMsg
	var fds []int
	defer func() { closeAll(fds) }()
	for _, l := range g.relay.listeners() {
		fd, err := duplicate(l.TCPListener)
		if err != nil {
			return err
		}
		fds = append(fds, fd)
		list = append(list, listenerMsg{RM: l.of.RM, Address: l.of.Address, Upstream: l.of.Upstream})
	}
	for len(list) > 0 {
		n := min(len(list), messageFiles)
		if err := g.to.send(sayListeners, list[:n], fds[g.sent.Listeners:g.sent.Listeners+n]...); err != nil {
			return err
		}
		list = list[n:]
		g.sent.Listeners += n
	}
	return nil
}

func (g *giver) sendAttempts() error {
	var batch []attemptMsg
	size := 0
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		g.sent.Attempts += len(batch)
		err := g.to.send(sayAttempts, batch)
		batch, size = batch[:0], 0
		return err
	}
	for _, a := range g.relay.attempts.list() {
		m, err := a.export()
		if err != nil {
			return err
		}
		batch = append(batch, m)
		if size += len(m.Table) + 256; size >= batchBytes {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

func (g *giver) sendConns() error {
	all := g.relay.conns.stopped()
	for len(all) > 0 {
		n, size := 0, 0
		var batch []connMsg
		var fds []int
		for n < len(all) && len(batch) < batchConns && size < batchBytes {
			c := all[n]
			n++
			pair, err := c.duplicate()
			if err != nil { // it has ended, and does so here
				g.relay.log.Debug("a connection is not handed over", "client", c.up.src.RemoteAddr(), "error", err)
				continue
			}
			m := c.export()
			batch = append(batch, m)
			fds = append(fds, pair...)
			size += 512 + m.Up.len() + m.Down.len()
		}
		all = all[n:]
		err := g.to.send(sayConns, batch, fds...)
		closeAll(fds)
		if err != nil {
			return err
		}
		g.sent.Conns += len(batch)
	}
	return nil
}

// duplicate returns second descriptors of a connection's sockets: the client's
// and the ResourceManager's.
func (c *conn) duplicate() ([]int, error) {
	client, err := duplicate(c.up.src)
	if err != nil {
		return nil, err
	}
	rm, err := duplicate(c.up.dst)
	if err != nil {
		closeAll([]int{client})
		return nil, err
	}
	return []int{client, rm}, nil
}

package amrm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"
)

// Predecessor reports whether a heddle runs from which Listen would take over.
func (r *Relay) Predecessor(ctx context.Context) bool {
	c, err := r.dialPredecessor(ctx)
	if c != nil {
		_ = c.Close() // nothing was said
	}
	return err == nil && c != nil
}

// dialPredecessor connects to the heddle that runs, nil when there is none.
func (r *Relay) dialPredecessor(ctx context.Context) (*net.UnixConn, error) {
	path := r.opts.HandoverSocket
	if path == "" {
		return nil, nil // nobody is no error
	}
	c, err := (&net.Dialer{Timeout: r.times.greet}).DialContext(ctx, "unix", path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED): // none, or its name is left
		return nil, nil // as above
	case err != nil:
		return nil, fmt.Errorf("relay: looking for a running heddle to take over from: %w", err)
	}
	to, ok := c.(*net.UnixConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("relay: the handover socket is a %T", c), c.Close())
	}
	return to, nil
}

// takeOver takes the relay over from a heddle that runs; false when there is
// none. After an error that one goes on.
func (r *Relay) takeOver(ctx context.Context) (took bool, err error) {
	c, err := r.dialPredecessor(ctx)
	if c == nil || err != nil {
		return false, err
	}
	defer func() { _ = c.Close() }() // everything was said
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(longAgo()) })
	defer stop()
	t := taker{relay: r, from: channel{c}}
	if err := t.take(ctx, c); err != nil {
		t.giveUp()
		return false, fmt.Errorf("relay: taking over from the heddle that runs, which goes on: %w; stop it, and connections end", err)
	}
	return true, nil
}

// taker is one try to take over.
type taker struct {
	relay     *Relay
	from      channel
	listeners []takenListener
	open      []*listener
	taken     taken
	publish   func() error
}

type takenListener struct {
	listenerMsg
	socket *net.TCPListener
	used   bool
}

func (t *taker) take(ctx context.Context, c *net.UnixConn) error {
	r := t.relay
	if err := trusted(r.handover.peer(c)); err != nil {
		return err
	}
	_ = c.SetDeadline(r.clock().Add(r.times.greet)) // fails with what follows
	if err := t.greet(); err != nil {
		return err
	}
	_ = c.SetDeadline(r.clock().Add(2*r.times.halt + 2*r.times.hand)) // longer than the other one waits
	end, err := t.receive()
	if err != nil {
		return err
	}
	arrived := r.clock()
	if err := t.install(ctx); err != nil {
		return errors.Join(err, t.from.send(sayRefused, refusedMsg{Reason: err.Error()}))
	}
	if err := t.from.send(sayReady, nil); err != nil {
		return err
	}
	if err := t.expect(sayYours); err != nil {
		return err
	}
	t.taken.stopped = arrived.Add(-end.Stopped)
	t.commit()
	return nil
}

func (t *taker) greet() error {
	if err := t.from.send(sayHello, helloMsg{Version: handoverVersion}); err != nil {
		return err
	}
	return t.expect(sayHello)
}

// expect receives one message, of a kind.
func (t *taker) expect(kind messageKind) error {
	m, err := t.from.receive()
	if err != nil {
		return err
	}
	defer m.close()
	if m.kind == sayRefused {
		refused, err := decode[refusedMsg](m.body)
		return errors.Join(fmt.Errorf("refused: %s", refused.Reason), err)
	}
	if m.kind != kind {
		return fmt.Errorf("%w: kind %d, want %d", errHandover, m.kind, kind)
	}
	return nil
}

// receive takes everything, up to the end.
func (t *taker) receive() (endMsg, error) {
	for {
		m, err := t.from.receive()
		if err != nil {
			return endMsg{}, err
		}
		if m.kind == sayEnd {
			m.close()
			end, err := decode[endMsg](m.body)
			if err == nil && (end.Conns != len(t.taken.conns) || end.Attempts != t.taken.attempts || end.Listeners != len(t.listeners)) {
				err = fmt.Errorf("%w: not everything arrived", errHandover)
			}
			return end, err
		}
		err = t.add(&m)
		m.close()
		if err != nil {
			return endMsg{}, err
		}
	}
}

// add takes what one message says.
func (t *taker) add(m *message) error {
	switch m.kind {
	case sayListeners:
		list, err := decode[[]listenerMsg](m.body)
		if err == nil && len(list) != len(m.files) {
			err = errHandover
		}
		if err != nil {
			return err
		}
		return t.addListeners(list, m.files)
	case sayAttempts:
		list, err := decodeAttempts(m.body)
		if err != nil {
			return err
		}
		for i := range list {
			t.relay.attempts.install(&list[i])
		}
		t.taken.attempts += len(list)
		return nil
	case sayConns:
		list, err := decodeConns(m.body, len(m.files))
		if err != nil {
			return err
		}
		for i := range list {
			if err := t.addConn(&list[i], m.files[2*i], m.files[2*i+1]); err != nil {
				return err
			}
		}
		return nil
	case sayHello, sayRefused, sayEnd, sayReady, sayYours:
	}
	return fmt.Errorf("%w: kind %d", errHandover, m.kind)
}

func (t *taker) addListeners(list []listenerMsg, files []*os.File) error {
	for i, l := range list {
		socket, err := net.FileListener(files[i])
		if err != nil {
			return err
		}
		tcp, ok := socket.(*net.TCPListener)
		if !ok {
			return errors.Join(fmt.Errorf("%w: a %T", errHandover, socket), socket.Close())
		}
		t.listeners = append(t.listeners, takenListener{listenerMsg: l, socket: tcp})
	}
	return nil
}

func (t *taker) addConn(m *connMsg, clientFile, rmFile *os.File) error {
	client, err := net.FileConn(clientFile)
	if err != nil {
		return err
	}
	rm, err := net.FileConn(rmFile)
	if err != nil {
		return errors.Join(err, client.Close())
	}
	c := t.relay.imported(m, client, rm)
	t.taken.conns = append(t.taken.conns, c)
	if m.Attempt == nil {
		return nil
	}
	if a := t.relay.attempts.join(*m.Attempt); a != nil {
		c.session.attach(a)
	}
	return nil
}

// install opens what else is needed: addresses that the other heddle does not
// listen on, and the handover socket.
func (t *taker) install(ctx context.Context) (err error) {
	have := map[int]*net.TCPListener{}
	for i, want := range t.relay.opts.Listeners {
		if l := t.match(want); l != nil {
			have[i] = l.socket
			l.used = true
		}
	}
	if t.open, err = t.relay.open(ctx, have); err != nil {
		return err
	}
	t.publish, err = t.relay.handover.listenAt(t.relay.opts.HandoverSocket)
	return err
}

// match returns the socket of an address, preferably of the same ResourceManager:
// port 0 may be there more than once.
func (t *taker) match(want Listener) (found *takenListener) {
	for i := range t.listeners {
		l := &t.listeners[i]
		if l.used || l.Address != want.Address {
			continue
		}
		if found == nil || l.RM == want.RM && found.RM != want.RM {
			found = l
		}
	}
	return found
}

// commit makes what was taken the relay's own.
func (t *taker) commit() {
	r := t.relay
	for i := range t.listeners {
		if l := &t.listeners[i]; !l.used {
			r.log.Info("an address of the heddle before is not configured any more: its connections stay, new ones are refused",
				"rm", l.RM, "address", l.socket.Addr())
			_ = l.socket.Close() // as said
		}
	}
	if err := t.publish(); err != nil {
		r.log.Error("the handover socket has not got its name; the next start will not be without a gap", "error", err)
	}
	for _, c := range t.taken.conns {
		r.conns.adopt()
		if c.session.phase() == phaseBlind {
			r.blind.Add(1)
		}
	}
	r.handover.taken = &t.taken
	r.listening.Store(&t.open)
}

// giveUp lets go of everything. Nothing ends with it: the other process has its
// own copies.
func (t *taker) giveUp() {
	for _, c := range t.taken.conns {
		c.close()
	}
	for i := range t.listeners {
		_ = t.listeners[i].socket.Close() // as said
	}
	closeListeners(t.open)
	t.relay.handover.close(t.relay.opts.HandoverSocket + ".new")
	t.relay.attempts.clear()
}

// clear forgets everything.
func (r *registry) clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.all)
}

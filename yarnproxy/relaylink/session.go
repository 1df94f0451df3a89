package relaylink

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"heddle/core/model"
	"heddle/core/state/snapshot"
)

const (
	// queueLength is how many messages may wait to be written. Further ones are refused.
	queueLength = 4096
	// greetWithin bounds the first words of a connection.
	greetWithin = 5 * time.Second
	// writeWithin is how long a peer may take no bytes.
	writeWithin = 10 * time.Second
)

// session is one connection between serve and the relay. Messages are written in the order in which they were
// sent, except that newer asks of an application take the place of older ones that wait, and a newer snapshot that of an older one
// at the end of the queue. A snapshot is written as what has changed since the one before.
type session struct {
	conn net.Conn
	in   *reader
	peer hello

	mu    sync.Mutex // guards what follows
	queue []outgoing
	asks  map[model.AppID]int // where in queue the asks of an application are
	wake  chan struct{}       // has room for one: the queue is not empty
	views changes             // used by the writer alone
}

// outgoing is a message or a snapshot to be made one.
type outgoing struct {
	message  *message
	snapshot *snapshot.Snapshot
}

func newSession(conn net.Conn) *session {
	return &session{conn: conn, in: newReader(conn), wake: make(chan struct{}, 1), asks: map[model.AppID]int{}}
}

// sendHello identifies this process to the other end.
func (s *session) sendHello(version string) error {
	if err := s.conn.SetWriteDeadline(after(greetWithin)); err != nil {
		return err
	}
	return s.write(&message{Hello: &hello{format, version, os.Getpid()}})
}

// readHello finds out who is at the other end.
func (s *session) readHello() error {
	if err := s.conn.SetReadDeadline(after(greetWithin)); err != nil {
		return err
	}
	m, err := s.in.next()
	switch {
	case err != nil:
		return fmt.Errorf("the other end does not say who it is: %w", err)
	case m.Refused != "":
		return errors.New(m.Refused)
	case m.Hello == nil:
		return errors.New("the other end does not say who it is")
	case m.Hello.Format != format:
		return fmt.Errorf("the other end is heddle %s with format %d, this one has format %d: run the same version of 'heddle serve' and 'heddle relay'",
			m.Hello.Version, m.Hello.Format, format)
	}
	s.peer = *m.Hello
	return s.conn.SetReadDeadline(time.Time{})
}

// send queues a message, and reports whether there was room. It never blocks.
func (s *session) send(m *message) bool { return s.enqueue(outgoing{message: m}) }

// publish queues a snapshot, in place of the one that is last in the queue.
func (s *session) publish(of *snapshot.Snapshot) { s.enqueue(outgoing{snapshot: of}) }

func (s *session) enqueue(o outgoing) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o.message != nil && o.message.Asks != nil {
		if i, queued := s.asks[o.message.Asks.App]; queued {
			s.queue[i] = o
			return true
		}
	}
	if last := len(s.queue) - 1; o.snapshot != nil && last >= 0 && s.queue[last].snapshot != nil {
		s.queue[last] = o
		return true
	}
	if len(s.queue) >= queueLength {
		return false
	}
	if o.message != nil && o.message.Asks != nil {
		s.asks[o.message.Asks.App] = len(s.queue)
	}
	s.queue = append(s.queue, o)
	select {
	case s.wake <- struct{}{}:
	default:
	}
	return true
}

// take empties the queue.
func (s *session) take() []outgoing {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.queue
	s.queue = nil
	clear(s.asks)
	return all
}

// writing writes what is queued until ctx ends or the peer takes no more.
func (s *session) writing(ctx context.Context) error {
	for {
		select {
		case <-s.wake:
		case <-ctx.Done():
			return nil
		}
		for _, o := range s.take() {
			m := o.message
			if o.snapshot != nil {
				m = &message{View: s.views.to(o.snapshot)}
			}
			if err := s.conn.SetWriteDeadline(after(writeWithin)); err != nil {
				return err
			}
			err := s.write(m)
			if errors.Is(err, errTooLong) && o.message != nil {
				continue // the other end waits in vain for it; the link stays
			}
			if err != nil {
				return err
			}
		}
	}
}

func (s *session) write(m *message) error {
	line, err := m.encode()
	if err != nil {
		return err
	}
	_, err = s.conn.Write(line)
	return err
}

// run writes what is queued and hands messages to use, until ctx or the connection ends or use fails.
func (s *session) run(ctx context.Context, use func(*message) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var both sync.WaitGroup
	defer both.Wait()
	var failed error
	both.Go(func() {
		failed = s.writing(ctx)
		_ = s.conn.Close() // ends the reader
	})
	for {
		m, err := s.in.next()
		if err == nil {
			err = use(m)
		}
		if err != nil {
			stop()
			both.Wait()
			return errors.Join(failed, err)
		}
	}
}

// clock is that of deadlines. What ends up in data comes from options.
func clock() time.Time {
	return time.Now() //nolint:forbidigo // the one clock of the package
}

// after is a deadline.
func after(d time.Duration) time.Time { return clock().Add(d) }

// errOtherUser is the error of a peer that is a process of another user.
var errOtherUser = errors.New("the process at the other end belongs to another user")

// checkPeer checks that the other end of a Unix socket is a process of the same user, or of root.
func checkPeer(c *net.UnixConn) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var cred *unix.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) { cred, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if err = errors.Join(err, failed); err != nil {
		return fmt.Errorf("finding out whose process is at the other end: %w", err)
	}
	if cred.Uid != 0 && int64(cred.Uid) != int64(os.Geteuid()) {
		return fmt.Errorf("%w (user %d, process %d)", errOtherUser, cred.Uid, cred.Pid)
	}
	return nil
}

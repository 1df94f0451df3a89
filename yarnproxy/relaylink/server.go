package relaylink

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"heddle/core/model"
)

// ServerOptions configure the relay's end.
type ServerOptions struct {
	Path    string // of the Unix socket; its folder is made if there is none
	View    *View
	Status  func(app model.AppID, offset, limit int) *model.Relay // answers serve's questions: amrm.Relay.Describe
	Version string
	Logger  hclog.Logger
}

// Server is the relay's end: NewServer, Listen, Run.
type Server struct {
	opts     ServerOptions
	listener *net.UnixListener

	mu          sync.Mutex
	current     *session  // the one serve that is accepted; nil for none
	lastMessage time.Time // when current sent one
}

// NewServer opens nothing.
func NewServer(o ServerOptions) *Server { return &Server{opts: o} }

// Listen opens the socket, for processes of this user and root alone.
func (s *Server) Listen(ctx context.Context) error {
	path := s.opts.Path
	fail := func(err error) error {
		return fmt.Errorf("listening for 'heddle serve' at relay.socket %s: %w", path, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fail(err)
	}
	dialer := net.Dialer{Timeout: time.Second}
	if c, err := dialer.DialContext(ctx, "unix", path); err == nil {
		_ = c.Close() // only to see that somebody listens
		return fail(errors.New("another 'heddle relay' listens there; stop it, or give each its own relay.socket"))
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a relay that was killed
		return fail(err)
	}
	fresh := fmt.Sprintf("%s.%d", path, os.Getpid())
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: fresh, Net: "unix"})
	if err != nil {
		return fail(err)
	}
	l.SetUnlinkOnClose(false) // it is renamed
	if err = os.Chmod(fresh, 0o600); err == nil {
		err = os.Rename(fresh, path) // nobody connects before it is owner-only
	}
	if err != nil {
		return fail(errors.Join(err, l.Close(), os.Remove(fresh)))
	}
	s.listener = l
	return nil
}

// Run accepts serve until ctx ends. Listen comes first.
func (s *Server) Run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() {
		_ = os.Remove(s.opts.Path) // while it listens, the path is its own: after Close the next relay may have it
		_ = s.listener.Close()
	})
	defer stop()
	var serving sync.WaitGroup
	defer serving.Wait()
	for {
		c, err := s.listener.AcceptUnix()
		switch {
		case err == nil:
			serving.Go(func() { s.serve(ctx, c) })
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("relay.socket %s: %w", s.opts.Path, err)
		default: // out of files, mostly
			s.opts.Logger.Error("accepting 'heddle serve' failed; trying again", "error", err)
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
			}
		}
	}
}

// serve handles one connection to its end.
func (s *Server) serve(ctx context.Context, c *net.UnixConn) {
	defer c.Close() //nolint:errcheck // the session is over
	if err := checkPeer(c); err != nil {
		s.opts.Logger.Warn("refused a process at relay.socket", "error", err)
		return
	}
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	one := newSession(c)
	err := one.readHello()
	if err != nil {
		s.opts.Logger.Warn("'heddle serve' is not understood", "error", err)
	} else {
		err = s.admit(one)
	}
	if err != nil {
		_ = c.SetWriteDeadline(after(greetWithin))
		_ = one.write(&message{Refused: err.Error()}) // it may have gone
		return
	}
	defer s.dismiss(one)
	if err := one.sendHello(s.opts.Version); err != nil {
		return
	}
	s.opts.View.link(one)
	s.opts.Logger.Info("'heddle serve' is linked", "pid", one.peer.PID, "version", one.peer.Version)
	err = one.run(ctx, func(m *message) error { return s.use(one, m) })
	s.opts.View.unlink(one)
	if ctx.Err() == nil {
		s.opts.Logger.Warn("'heddle serve' is gone; what was planned stays in force until the state of the cluster is too old", "pid", one.peer.PID, "why", err)
	}
}

// hangsAfter is how long the relay keeps a serve that sends nothing and whose view is stale, before another may replace it.
const hangsAfter = 30 * time.Second

// admit makes a session the current one, if there is none or its serve hangs.
func (s *Server) admit(one *session) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.current; old != nil {
		if _, fresh := s.opts.View.Fresh(); fresh || clock().Sub(s.lastMessage) < hangsAfter {
			return fmt.Errorf("another 'heddle serve' (process %d) is linked to this relay; stop it first", old.peer.PID)
		}
		_ = old.conn.Close() // ends it
	}
	s.current, s.lastMessage = one, clock()
	return nil
}

func (s *Server) dismiss(one *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == one {
		s.current = nil
	}
}

// use takes a message of serve.
func (s *Server) use(one *session, m *message) error {
	s.mu.Lock()
	s.lastMessage = clock()
	s.mu.Unlock()
	switch {
	case m.View != nil:
		return s.opts.View.apply(m.View)
	case m.Plans != nil:
		s.opts.View.applyPlans(m.Plans)
	case m.Rows != nil:
		s.opts.View.applyRows(m.Rows)
	case m.StatusQuery != nil:
		one.send(&message{Status: &status{m.StatusQuery.ID, s.opts.Status(m.StatusQuery.App, m.StatusQuery.Offset, m.StatusQuery.Limit)}})
	default:
		return errors.New("a message is not one that serve sends")
	}
	return nil
}

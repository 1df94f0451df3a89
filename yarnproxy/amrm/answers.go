package amrm

import (
	"errors"
	"fmt"
	"net"
	"os"
	"time"
)

// acceptWake is how often a goroutine that accepts connections shows that it runs, without one as well.
const acceptWake = time.Second

// next accepts the next connection.
func (l *listener) next(clock func() time.Time) (net.Conn, error) {
	for {
		now := clock()
		l.woke.Store(now.UnixNano())
		if err := l.SetDeadline(now.Add(acceptWake)); err != nil {
			return nil, err
		}
		client, err := l.Accept()
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return client, err
		}
	}
}

// Answers reports whether the relay does its work: connections are accepted on every address, and every lock that an
// allocate call needs is to be had. Where one is not, Answers does not return. A watchdog asks it.
func (r *Relay) Answers() error {
	r.Status()
	now := r.clock()
	for _, l := range r.listeners() {
		// An error of Accept is followed by a wait of a second at most.
		if idle := now.Sub(time.Unix(0, l.woke.Load())); idle > 3*acceptWake {
			return fmt.Errorf("relay: no connection is accepted on %s for %v", l.Addr(), idle)
		}
	}
	return nil
}

package relaying

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"
)

// supervisor is what started the relay and expects to be notified, as systemd does by sd_notify(3): it waits for the
// relay to be ready, and where it has a watchdog, ends a relay that stays silent and starts the next one.
type supervisor struct {
	socket net.Conn      // nil: nobody expects anything
	every  time.Duration // time between two notifications; 0: there is no watchdog
	now    func() time.Time
}

// findSupervisor connects to what the environment names.
func findSupervisor(ctx context.Context, now func() time.Time, getenv func(string) string) (*supervisor, error) {
	path := getenv("NOTIFY_SOCKET")
	if path == "" {
		return &supervisor{}, nil
	}
	socket, err := (&net.Dialer{}).DialContext(ctx, "unixgram", path)
	if err != nil {
		return nil, fmt.Errorf("connect to the supervisor that NOTIFY_SOCKET names: %w", err)
	}
	s := &supervisor{socket: socket, now: now}
	if pid := getenv("WATCHDOG_PID"); pid != "" && pid != strconv.Itoa(os.Getpid()) {
		return s, nil // the watchdog is another process's
	}
	if text := getenv("WATCHDOG_USEC"); text != "" {
		usec, err := strconv.ParseInt(text, 10, 64)
		if err != nil || usec <= 0 {
			return nil, fmt.Errorf("WATCHDOG_USEC is %q, not a number of microseconds", text)
		}
		s.every = time.Duration(usec) * time.Microsecond / 3 // two notifications may come late
	}
	return s, nil
}

// notifyWithin is how long a supervisor that does not read may keep the relay.
const notifyWithin = 100 * time.Millisecond

// notify sends a state. A supervisor that does not read it, or is gone, misses it.
func (s *supervisor) notify(state string) {
	if s.socket != nil && s.socket.SetWriteDeadline(s.now().Add(notifyWithin)) == nil {
		_, _ = s.socket.Write([]byte(state))
	}
}

// run notifies the supervisor until ctx ends, for as long as answers returns and reports no error. A relay that hangs
// stops to notify, and so does one whose check hangs.
func (s *supervisor) run(ctx context.Context, answers func() error) error {
	s.notify("READY=1")
	if s.every == 0 {
		<-ctx.Done()
		return nil
	}
	tick := time.NewTicker(s.every)
	defer tick.Stop()
	for {
		said := make(chan error, 1)
		go func() { said <- answers() }()
		select {
		case err := <-said:
			if err != nil {
				s.notify("STATUS=" + err.Error())
			} else {
				s.notify("WATCHDOG=1")
			}
		case <-ctx.Done():
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

package amrm

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"
)

// reachAgain is the time between two tries to reach a ResourceManager that is being started again.
const reachAgain = 200 * time.Millisecond

// reach connects to the ResourceManager that a listener stands for. The only one of a cluster is waited for until ctx
// ends while it refuses connections, as it does while it is started again: turned away, its ApplicationMasters would
// be at its own address when it is back, and stay there. One of several may be in standby, and the active one is another.
func (r *Relay) reach(ctx context.Context, l *listener) (net.Conn, error) {
	for {
		rm, err := r.opts.Dial(ctx, "tcp", l.of.Upstream)
		if err == nil || l.of.RM != "" || !errors.Is(err, syscall.ECONNREFUSED) {
			return rm, err
		}
		select {
		case <-time.After(reachAgain):
		case <-ctx.Done():
			return nil, err
		}
	}
}

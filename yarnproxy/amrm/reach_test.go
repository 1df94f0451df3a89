package amrm

import (
	"context"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"heddle/yarnproxy/ipc"
)

// TestUpstreamStartedAgain: the only ResourceManager is waited for while it is started again, until the dial timeout. One
// of several is not, and neither is a host that cannot be reached.
func TestUpstreamStartedAgain(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		rm      string
		err     error
		refused int64 // tries before there is a connection
		tries   int64 // in all; 0 for more than one
		through bool
	}{
		"it comes back":          {"", syscall.ECONNREFUSED, 2, 3, true},
		"it stays away":          {"", syscall.ECONNREFUSED, 1 << 40, 0, false},
		"one of several":         {"rm1", syscall.ECONNREFUSED, 2, 1, false},
		"it cannot be reached":   {"", syscall.EHOSTUNREACH, 2, 1, false},
		"nothing is in the way":  {"", nil, 0, 1, true},
		"one of several answers": {"rm1", nil, 0, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var tries atomic.Int64
			g := newRig(t, func(o *Options) {
				o.Listeners[0].RM, o.DialTimeout = tt.rm, 700*time.Millisecond
				if tt.through {
					o.DialTimeout = time.Minute // for a busy machine
				}
				o.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
					if tries.Add(1) <= tt.refused {
						return nil, &net.OpError{Op: "dial", Net: network, Err: tt.err}
					}
					return (&net.Dialer{}).DialContext(ctx, network, address)
				}
			})
			if tt.through {
				connect(t, g.addr, attemptID(1)).register()
			} else {
				c, err := net.Dial("tcp", g.addr)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := c.Write(ipc.AppendPreamble(nil, ipc.Preamble{Version: 9, Auth: ipc.AuthSASL})); err != nil {
					t.Fatal(err)
				}
				if !closed(c) {
					t.Error("a connection to a ResourceManager that is down stays open")
				}
			}
			if n := tries.Load(); tt.tries > 0 && n != tt.tries || n < 1 || tt.tries == 0 && n < 2 {
				t.Errorf("%d tries, want %d", n, tt.tries)
			}
		})
	}
}

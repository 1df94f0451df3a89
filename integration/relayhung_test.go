//go:build linux

package integration

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"heddle/integration/hadoop"
)

// The tests of this file stop the relay, and other daemons, with SIGSTOP: a process that hangs keeps its connections.

// hungLimit is how long an ApplicationMaster may be without an answer when the relay hangs and something watches it.
const hungLimit = 10 * time.Second

// watchdogTime is WatchdogSec of configs/systemd/heddle-relay.service.
const watchdogTime = 5 * time.Second

// supervisor does for the relay what systemd does with its unit: it kills a relay that does not notify it.
type supervisor struct {
	socket *net.UnixConn
	env    []string
}

func newSupervisor(t *testing.T) *supervisor {
	t.Helper()
	path := filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	return &supervisor{socket, []string{"NOTIFY_SOCKET=" + path, fmt.Sprintf("WATCHDOG_USEC=%d", watchdogTime.Microseconds())}}
}

// waitSilent returns when nothing was sent for the watchdog's time.
func (w *supervisor) waitSilent(t *testing.T, patience time.Duration) {
	t.Helper()
	buf := make([]byte, 4096)
	last := time.Now()
	for end := last.Add(patience); time.Now().Before(end); {
		if err := w.socket.SetReadDeadline(last.Add(watchdogTime)); err != nil {
			t.Fatal(err)
		}
		n, err := w.socket.Read(buf)
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return
		case err != nil:
			t.Fatal(err)
		case string(buf[:n]) == "WATCHDOG=1":
			last = time.Now()
		}
	}
	t.Fatalf("the relay still notifies its supervisor after %v", patience)
}

// throughGates has a relay reach the ResourceManager through a gate, and clients too when they go around the relay.
func throughGates(t *testing.T, c *hadoop.Cluster, l *callLog) (settings, direct string) {
	t.Helper()
	upstream := l.gate(t, c, "heddle", rmScheduler)
	settings = strings.Replace(relaySettings(t, c, "enforce"), "listen: "+c.GatewayAddr()+":"+relayPort,
		fmt.Sprintf("listeners: [{address: %q, upstream: %q}]", c.GatewayAddr()+":"+relayPort, upstream), 1)
	return settings, l.gate(t, c, "direct", rmScheduler)
}

// allOf is settings and more settings.
func allOf(of ...hadoop.Settings) hadoop.Settings {
	all := hadoop.Settings{}
	for _, s := range of {
		maps.Copy(all, s)
	}
	return all
}

// tagged is settings with a tag, by which a job is found while it runs.
func tagged(with hadoop.Settings, tag string) hadoop.Settings {
	return allOf(with, hadoop.Settings{"mapreduce.job.tags": tag})
}

// startTagged starts a job that has a tag of its own and returns its first attempt, when it has one.
func startTagged(t *testing.T, c *hadoop.Cluster, with hadoop.Settings, program string, args ...string) (done <-chan jobResult, attempt string) {
	t.Helper()
	done = startJob(t, c, with, program, args...)
	return done, waitAttempt(t, c, with["mapreduce.job.tags"])
}

// waitAttempt waits for the first attempt of the one application with a tag.
func waitAttempt(t *testing.T, c *hadoop.Cluster, tag string) (attempt string) {
	t.Helper()
	eventually(t, 2*time.Minute, "the job "+tag+" is known", func(ctx context.Context) error {
		apps, err := c.AppsTagged(ctx, tag)
		if err == nil && len(apps) != 1 {
			err = fmt.Errorf("%d applications", len(apps))
		}
		if err == nil {
			attempt = attemptOf(apps[0].ID)
		}
		return err
	})
	return attempt
}

// stopProcess has a process hang.
func stopProcess(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
}

// TestRelayHung: the relay hangs under a steered job. Its supervisor kills it, as systemd does with the unit in
// configs/systemd, and starts the next one. HEDDLE_RUNS times.
func TestRelayHung(t *testing.T) {
	c := cluster(t)
	calls, watching := newCallLog(), newSupervisor(t)
	settings, direct := throughGates(t, c, calls)
	s := startConfigured(t, c, settings, watching.env...)
	with := s.clientConfig(t, "--direct", direct)
	for n := range repetitions(t, 1) {
		done, attempt := startTagged(t, c, tagged(with, fmt.Sprintf("hung-%d", n)), "sleep", "-m", "1", "-r", "24", "-mt", "1000", "-rt", "4000")
		s.waitPinned(t)
		hung := time.Now()
		stopProcess(t, s.relay.cmd.Process.Pid)
		watching.waitSilent(t, time.Minute)
		silent := time.Since(hung)
		s.relay.kill()
		s.relay.launch()
		way := calls.waitWay(t, 3*time.Minute, attempt, time.Now())
		gap := calls.gap(attempt, hung)
		t.Logf("the relay hung and was killed after %.1f s: longest time between two calls %.1f s, then by way of %s", silent.Seconds(), gap.Seconds(), way)
		if gap > hungLimit {
			t.Errorf("%v between two calls, want %v at most", gap, hungLimit)
		}
		waitSucceeded(t, c, done, "the relay hung")
	}
}

// rpcTimeout are settings by which every RPC client of a job gives up after so long.
func rpcTimeout(ms string) hadoop.Settings { return hadoop.Settings{"ipc.client.rpc-timeout.ms": ms} }

// TestHungSettings measures what settings of clients do where nothing watches the relay, and what they do when another
// daemon is slow for a time: the ResourceManager, the NameNode. Each way has a job; all are disturbed at once.
func TestHungSettings(t *testing.T) {
	if os.Getenv("HEDDLE_EXPERIMENT") == "" {
		t.Skip("HEDDLE_EXPERIMENT is not set: it takes a quarter of an hour, and asserts nothing")
	}
	c := cluster(t)
	calls := newCallLog()
	settings, direct := throughGates(t, c, calls)
	s := startConfigured(t, c, settings)
	ways := []struct {
		name  string
		times int // that the relay is in the list
		with  hadoop.Settings
	}{
		{"as it comes, the relay once in the list", 1, hadoop.Settings{}},
		{"as it comes", 3, hadoop.Settings{}},
		{"rpc-timeout 8 s", 3, rpcTimeout("8000")},
		{"rpc-timeout 8 s, ping 4 s", 3, hadoop.Settings{"ipc.client.rpc-timeout.ms": "8000", "ipc.ping.interval": "4000"}},
	}
	if err := c.TeraInput(withTimeout(t, time.Minute), "/hung", c.Hosts()[:3], 1, 1_000_000); err != nil {
		t.Fatal(err)
	}
	sleep := []string{"sleep", "-m", "1", "-r", "1", "-mt", "60000", "-rt", "1000"}
	for _, hung := range []struct {
		what string
		pid  func() int
		time time.Duration // 0: until every application calls again
		job  []string
	}{
		{"the NameNode", func() int { return c.PID(hadoop.NameNode, hadoop.Master) }, 20 * time.Second, []string{"terasort", "-Dmapreduce.job.reduces=1", "/hung"}},
		{"the ResourceManager", func() int { return c.PID(hadoop.ResourceManager, hadoop.Master) }, 20 * time.Second, sleep},
		{"the relay", func() int { return s.relay.cmd.Process.Pid }, 0, sleep},
	} {
		var jobs []<-chan jobResult
		var attempts []string
		for i, way := range ways {
			args := hung.job[1:]
			if hung.job[0] == "terasort" {
				args = append(slices.Clone(args), fmt.Sprintf("/hung-out-%d", i))
			}
			with := allOf(repeatIDs(s.clientConfig(t, "--direct", direct), way.times), way.with)
			done, attempt := startTagged(t, c, tagged(with, strings.ToLower(fmt.Sprintf("hung-%s-%d", strings.Fields(hung.what)[1], i))), hung.job[0], args...)
			jobs, attempts = append(jobs, done), append(attempts, attempt)
		}
		for _, a := range attempts {
			calls.waitWay(t, 3*time.Minute, a, time.Now().Add(-time.Minute))
		}
		from := time.Now()
		stopProcess(t, hung.pid())
		var mended <-chan time.Time
		if hung.time > 0 {
			mended = time.After(hung.time)
		}
		waited := map[string]string{}
		eventually(t, 10*time.Minute, "all call again", func(context.Context) error {
			select {
			case <-mended:
				if err := syscall.Kill(hung.pid(), syscall.SIGCONT); err != nil {
					t.Fatal(err)
				}
			default:
			}
			if hung.time > 0 && time.Since(from) < hung.time+15*time.Second {
				return errors.New("not yet")
			}
			for i, a := range attempts {
				if since := calls.since(a, from.Add(2*time.Second)); len(since) > 2 && waited[ways[i].name] == "" {
					waited[ways[i].name] = fmt.Sprintf("%.1f s, then %s", calls.gap(a, from).Seconds(), since[len(since)-1].way)
				}
			}
			if len(waited) < len(ways) {
				return fmt.Errorf("only %v", waited)
			}
			return nil
		})
		if hung.time == 0 {
			s.relay.kill()
			s.relay.launch()
		}
		for i, way := range ways {
			last, _ := calls.last(attempts[i])
			f := <-jobs[i]
			app, err := c.App(withTimeout(t, time.Minute), hadoop.AppID(f.job))
			t.Logf("%s hangs, %s: longest time between two calls %s; at the end by way of %s; the job %s in %.0f s, client %v, %v",
				hung.what, way.name, waited[way.name], last.way, app.FinalStatus, app.Took().Seconds(), f.err, err)
		}
		eventually(t, time.Minute, "no job is left", func(ctx context.Context) error { return c.Health(ctx) })
	}
}

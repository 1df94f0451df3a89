//go:build linux

package integration

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"heddle/core/model"
	"heddle/integration/hadoop"
)

// The tests of this file break something while steered jobs run. No job may
// fail, and none may wait beyond its deadline; how long each took is logged.

// slowJob is a job whose reduces run in several waves, so that asks are outstanding while things break.
func slowJob() []string { return []string{"-m", "3", "-r", "18", "-mt", "3000", "-rt", "3000"} }

// startJob runs a job beside the test.
func startJob(t *testing.T, c *hadoop.Cluster, with hadoop.Settings, program string, args ...string) <-chan jobResult {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 12*time.Minute)
	done := make(chan jobResult, 1)
	go func() {
		defer cancel()
		job, err := c.JobWith(ctx, with, program, args...)
		done <- jobResult{job, err}
	}()
	t.Cleanup(cancel)
	return done
}

// waitSucceeded waits for a job's end, fails unless it succeeded, and returns its time from submission.
func waitSucceeded(t *testing.T, c *hadoop.Cluster, done <-chan jobResult, what string) (job string, took time.Duration) {
	t.Helper()
	f := <-done
	if f.err != nil {
		t.Fatalf("%s: the job failed: %v", what, f.err)
	}
	app, err := c.Ended(withTimeout(t, time.Minute), f.job)
	if err != nil || app.FinalStatus != "SUCCEEDED" {
		t.Fatalf("%s: %+v, %v", what, app, err)
	}
	t.Logf("%s: %s took %.1f s", what, app.ID, app.Took().Seconds())
	return f.job, app.Took()
}

// checkDelay fails if a disturbed job took more than a minute beyond twice the time
// of an undisturbed one. That is less than the deadline of a pin; twice, because
// the machine may be busier than it was for the other.
func checkDelay(t *testing.T, took, plain time.Duration) {
	t.Helper()
	if took > 2*plain+time.Minute {
		t.Errorf("took %v, undisturbed %v", took, plain)
	}
}

// undisturbedTime is how long the slow job takes on the cluster all tests share, once
// one of them has measured it.
var undisturbedTime time.Duration

// baseline runs the slow job through heddle while nothing is broken, unless a
// test has done so before, and returns how long it takes. All its reduces must
// run on racks of the plan.
func (s *service) baseline(t *testing.T, c *hadoop.Cluster) time.Duration {
	t.Helper()
	if undisturbedTime > 0 {
		return undisturbedTime
	}
	job, took := waitSucceeded(t, c, startJob(t, c, throughRelay(c), "sleep", slowJob()...), "undisturbed")
	if l := reducesOf(t, c, s, job); l.total == 0 || l.onPlannedRack != l.total {
		t.Errorf("undisturbed, %d of %d reduces ran on racks of the plan", l.onPlannedRack, l.total)
	}
	undisturbedTime = took
	return took
}

// waitPinned waits until an ask of a running attempt is pinned.
func (s *service) waitPinned(t *testing.T) {
	t.Helper()
	eventually(t, 2*time.Minute, "an ask is pinned", func(ctx context.Context) error {
		r := s.relayStatus(ctx)
		for i := range r.Attempts {
			for _, k := range r.Attempts[i].Keys {
				if k.Action == model.ActionPin {
					return nil
				}
			}
		}
		return fmt.Errorf("relay: %d connections, attempts %+v", r.Connections, r.Attempts)
	})
}

// clientConfig is what heddle client-config prints for the running configuration.
func (s *service) clientConfig(t *testing.T, flags ...string) hadoop.Settings {
	t.Helper()
	args := append([]string{"client-config", "--config", s.args[3]}, flags...)
	cmd := exec.CommandContext(withTimeout(t, time.Minute), s.args[0], args...)
	cmd.Env, cmd.Stderr = s.env, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("heddle %s: %v", strings.Join(args, " "), err)
	}
	with := hadoop.Settings{}
	for line := range strings.Lines(string(out)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(name, "#") {
			with[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
	}
	return with
}

// TestRelayKilled: kill -9 and restart again and again, under jobs that know
// nothing but the relay. What the ResourceManager's REST API shows and the next asks
// bring everything back.
func TestRelayKilled(t *testing.T) {
	c := cluster(t)
	s := startConfigured(t, c, relaySettings(t, c, "enforce"))
	plain := s.baseline(t, c)
	kills := repetitions(t, 6)
	longest := survivesKills(t, c, s, kills)
	t.Logf("%d kills: the slowest job took %.1f s, %.1f s undisturbed", kills, longest.Seconds(), plain.Seconds())
	checkDelay(t, longest, plain)
}

// TestRelayGone: with the settings of client-config, a heddle that is killed for
// good costs an application a heartbeat, and a second one takes over.
func TestRelayGone(t *testing.T) {
	c := cluster(t)
	second := net.JoinHostPort(c.GatewayAddr(), "7940")
	peers := func(settings, port, peer string) string {
		settings = strings.Replace(settings, ":"+relayPort, ":"+port, 1)
		return strings.Replace(settings, "relay:\n", "relay:\n  peers: [\""+peer+"\"]\n", 1)
	}
	s := startConfigured(t, c, peers(relaySettings(t, c, "enforce"), relayPort, second))
	other := startConfigured(t, c, peers(relaySettings(t, c, "enforce"), "7940", net.JoinHostPort(c.GatewayAddr(), relayPort)))
	with, plain := s.clientConfig(t), s.baseline(t, c)

	done := startJob(t, c, with, "sleep", slowJob()...)
	s.waitPinned(t)
	s.kill()
	other.waitPinned(t) // it goes on with what the first one planned
	_, took := waitSucceeded(t, c, done, "the first heddle killed")
	t.Logf("the first heddle killed for good: %+.1f s", (took - plain).Seconds())
	checkDelay(t, took, plain)

	done = startJob(t, c, with, "sleep", slowJob()...)
	other.waitPinned(t)
	other.kill()
	_, took = waitSucceeded(t, c, done, "both heddles killed")
	t.Logf("both heddles killed for good: %+.1f s", (took - plain).Seconds())
	checkDelay(t, took, plain)
	_, took = waitSucceeded(t, c, startJob(t, c, with, "sleep", slowJob()...), "no heddle from the start")
	t.Logf("no heddle from the start: %+.1f s", (took - plain).Seconds())
	checkDelay(t, took, plain)
}

// TestRelayResourceManagerRestarts: the ResourceManager dies and comes back under a steered job.
func TestRelayResourceManagerRestarts(t *testing.T) {
	c := cluster(t)
	s := startConfigured(t, c, relaySettings(t, c, "enforce"))
	done := startJob(t, c, throughRelay(c), "sleep", slowJob()...)
	s.waitPinned(t)
	if err := c.KillDaemon(hadoop.ResourceManager, hadoop.Master); err != nil {
		t.Fatal(err)
	}
	if err := c.StartDaemon(hadoop.ResourceManager, hadoop.Master); err != nil {
		t.Fatal(err)
	}
	if _, took := waitSucceeded(t, c, done, "the ResourceManager killed and started"); took > 2*time.Minute {
		t.Errorf("took %v: an ask waited for the deadline of its pin", took)
	}
}

// TestRelayNodeLost: a NodeManager of the pinned rack stops; the reduces it ran are
// asked for again, and land on what is left of the rack or on the next one. The
// host is one without the job's map and its ApplicationMaster: what their loss
// costs is Hadoop's, and so is the time that the ApplicationMaster waits for the dead
// NodeManager: 3 minutes by default.
func TestRelayNodeLost(t *testing.T) {
	c := cluster(t)
	s := startConfigured(t, c, relaySettings(t, c, "enforce"))
	for range 6 {
		done := startJob(t, c, throughRelay(c), "sleep", "-Dyarn.client.nodemanager-connect.max-wait-ms=5000", "-m", "1", "-r", "8", "-mt", "1000", "-rt", "8000")
		s.waitPinned(t)
		app, rack := s.waitReduceGranted(t)
		lost := hostWithout(t, c, app, rack)
		if lost == "" {
			waitSucceeded(t, c, done, "the ApplicationMaster runs on the pinned rack: another try")
			continue
		}
		if err := c.KillDaemon(hadoop.NodeManager, lost); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := c.StartDaemon(hadoop.NodeManager, lost); err != nil {
				t.Error(err)
			}
		})
		stop := s.logRelayChanges(t)
		job, _ := waitSucceeded(t, c, done, "the NodeManager of "+lost+" killed")
		stop()
		if l := reducesOf(t, c, s, job); l.asPlanned != l.total {
			t.Errorf("%d of %d reduces ran as planned, on what was left of the rack", l.asPlanned, l.total)
		}
		return
	}
	t.Skip("six ApplicationMasters ran on the pinned rack")
}

// waitReduceGranted waits for the first reduce of a running job and returns its application and rack.
func (s *service) waitReduceGranted(t *testing.T) (app, rack string) {
	t.Helper()
	eventually(t, time.Minute, "a reduce is granted", func(ctx context.Context) error {
		r := s.relayStatus(ctx)
		for i := range r.Attempts {
			for _, k := range r.Attempts[i].Keys {
				for id, n := range k.Granted {
					if k.Stage == model.StageReduce && n > 0 {
						app, rack = string(r.Attempts[i].App), string(id)
						return nil
					}
				}
			}
		}
		return fmt.Errorf("attempts %+v", r.Attempts)
	})
	return app, rack
}

// hostWithout is a host of a rack that runs neither the application's master nor
// its first task; "" when there is none.
func hostWithout(t *testing.T, c *hadoop.Cluster, app, rack string) string {
	t.Helper()
	all, err := c.Containers(app)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range c.HostsOf(rack) {
		if !slices.ContainsFunc(all[h], func(id string) bool {
			return strings.HasSuffix(id, "_000001") || strings.HasSuffix(id, "_000002")
		}) {
			return h
		}
	}
	return ""
}

// logRelayChanges logs every few seconds what is asked for and what is sent, until stopped.
func (s *service) logRelayChanges(t *testing.T) (stop func()) {
	t.Helper()
	done, ended := make(chan struct{}), make(chan struct{})
	began := time.Now()
	go func() {
		defer close(ended)
		for last := ""; ; {
			select {
			case <-done:
				return
			case <-time.After(time.Second):
			}
			var r model.Relay
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			err := s.get(ctx, "/v1/relay", &r)
			cancel()
			if text := relayText(&r); err == nil && text != last {
				t.Logf("after %.0f s:%s", time.Since(began).Seconds(), text)
				last = text
			}
		}
	}()
	return func() { close(done); <-ended }
}

// relayText is what is asked for and sent, a line for each key.
func relayText(r *model.Relay) string {
	var b strings.Builder
	for i := range r.Attempts {
		for _, k := range r.Attempts[i].Keys {
			fmt.Fprintf(&b, "\n  %d/%d %s %s%s: asked%s, sent%s, granted %v", r.Attempts[i].Attempt, k.Priority, k.Stage, k.Action, k.Cause, rowsText(k.Asked), rowsText(k.Sent), k.Granted)
		}
	}
	return b.String()
}

// rowsText is rows as a conversation has them: name, count, and ! for a strict one.
func rowsText(rows []model.AskRow) string {
	var b strings.Builder
	for i := range rows {
		strict := "!"
		if rows[i].RelaxLocality {
			strict = ""
		}
		fmt.Fprintf(&b, " %s=%d%s", rows[i].ResourceName, rows[i].Count, strict)
	}
	return b.String()
}

// TestRelayBlind: all of heddle's sources are down. What was asked passes as it is.
func TestRelayBlind(t *testing.T) {
	c := cluster(t)
	settings := strings.Replace(relaySettings(t, c, "enforce"), "advanced: {", "state: {max_age: 3s}\nadvanced: {", 1)
	gate := newTCPProxy(t, "master:8088")
	settings = strings.Replace(settings, "resource_manager: {", "resource_manager: {urls: [\"http://"+gate.addr+"\"], ", 1)
	s := startConfigured(t, c, settings)
	gate.close()
	s.waitMetric(t, 30*time.Second, "heddle_source_up", 0, `source="rm"`)
	time.Sleep(4 * time.Second) // older than max_age
	before := s.relayStatus(withTimeout(t, 10*time.Second)).Counts
	waitSucceeded(t, c, startJob(t, c, throughRelay(c), "sleep", slowJob()...), "every source down")
	after := s.relayStatus(withTimeout(t, 10*time.Second)).Counts
	if after.Passed[model.PassStale] == before.Passed[model.PassStale] || after.Rewritten[model.ActionPin] != before.Rewritten[model.ActionPin] {
		t.Errorf("without sources asks were rewritten %v (before %v), passed %v", after.Rewritten, before.Rewritten, after.Passed)
	}
}

// TestRelayWrongTopology: the application's racks are not the ResourceManager's.
func TestRelayWrongTopology(t *testing.T) {
	c := cluster(t)
	s := startConfigured(t, c, relaySettings(t, c, "enforce"))
	wrong := filepath.Join(t.TempDir(), "topology.table")
	var lines strings.Builder
	for i, h := range c.Hosts() {
		fmt.Fprintf(&lines, "%s /nowhere%d\n%s /nowhere%d\n", h, i, c.Addr(h), i)
	}
	if err := os.WriteFile(wrong, []byte(lines.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := c.TeraInput(withTimeout(t, time.Minute), "/astray", c.HostsOf("/rack3"), 2, 2_000_000); err != nil {
		t.Fatal(err)
	}
	with := throughRelay(c)
	with["net.topology.table.file.name"] = wrong
	if _, took := waitSucceeded(t, c, startJob(t, c, with, "terasort", "-Dmapreduce.job.reduces=2", "/astray", "/out-astray"), "wrong racks in the application"); took > time.Minute {
		t.Errorf("took %v: maps waited for racks that do not exist", took)
	}
	if r := s.relayStatus(withTimeout(t, 10*time.Second)); r.Counts.Allocates == 0 {
		t.Error("the job did not come through the relay")
	}
}

// tcpProxy forwards connections to a server until it is closed, like a source that goes down.
type tcpProxy struct {
	addr  string
	close func()
}

func newTCPProxy(t *testing.T, to string) *tcpProxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	g := &tcpProxy{addr: l.Addr().String(), close: func() { cancel(); _ = l.Close() }}
	t.Cleanup(g.close)
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := (&net.Dialer{}).DialContext(ctx, "tcp", to)
			if err != nil {
				_ = in.Close()
				continue
			}
			context.AfterFunc(ctx, func() { _ = in.Close(); _ = out.Close() })
			go copyStream(in, out)
			go copyStream(out, in)
		}
	}()
	return g
}

func copyStream(to, from net.Conn) {
	_, _ = io.Copy(to, from) // until either side ends
	_ = to.Close()
}

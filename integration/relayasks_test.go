//go:build linux

package integration

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"heddle/core/model"
	"heddle/core/state/snapshot"
	"heddle/integration/hadoop"
	"heddle/integration/unmanaged"
)

// The tests of this file make allocate calls through the relay one by one, as
// no framework does: repeated, and with the relay killed between two of them.
// The application is of type SPARK, all of whose asks are for executors, which
// the policy puts on as few racks as possible.

// executors is an application that asks for executors as AMRMClient does: it sends
// the count of ANY again whenever a container was granted.
type executors struct {
	*testApp
	wanted     int32 // not granted yet
	lastAny    int32
	asked      int32 // in all
	grants     []grant
	askedAgain int32 // sum of the counts sent again after a grant: each of them may be granted twice
}

// newExecutors has an application known to heddle.
func newExecutors(t *testing.T, c *hadoop.Cluster, s *service) *executors {
	t.Helper()
	e := &executors{testApp: newTestApp(t, c, hadoop.Capacity, "SPARK", c.GatewayAddr()+":"+relayPort)}
	e.requestID = 0 // as AMRMClient writes it
	e.waitKnown(s)
	return e
}

// waitKnown waits until heddle has seen the application, and that the cluster is empty.
func (e *executors) waitKnown(s *service) {
	e.t.Helper()
	time.Sleep(time.Second) // two polls: what heddle shows is not from before the last release
	eventually(e.t, 20*time.Second, "heddle knows "+e.ID, func(ctx context.Context) error {
		if _, err := s.app(ctx, e.ID); err != nil {
			return err
		}
		var seen struct{ Racks []snapshot.Rack }
		if err := s.get(ctx, "/v1/racks", &seen); err != nil {
			return err
		}
		for _, r := range seen.Racks {
			if r.Used.MemoryMiB > 0 {
				return fmt.Errorf("%v of %s is used", r.Used, r.ID)
			}
		}
		return nil
	})
}

// askFor asks for more.
func (e *executors) askFor(n int32) {
	e.t.Helper()
	e.wanted += n
	e.asked += n
	e.heartbeat()
}

// heartbeat makes a call, with ANY when it changed.
func (e *executors) heartbeat() {
	e.t.Helper()
	var c unmanaged.Call
	if e.wanted != e.lastAny {
		c.Rows = e.rows(fmt.Sprintf("1: *=%d", e.wanted))
		if e.wanted < e.lastAny {
			e.askedAgain += e.wanted
		}
		e.lastAny = e.wanted
	}
	e.addGrants(e.call(c))
}

func (e *executors) addGrants(fresh []grant) {
	e.grants = append(e.grants, fresh...)
	e.wanted = max(0, e.wanted-int32(len(fresh)))
}

// waitGranted makes heartbeats until everything is granted and ANY 0 is sent.
func (e *executors) waitGranted(patience time.Duration) (took time.Duration) {
	e.t.Helper()
	start := time.Now()
	for e.wanted > 0 || e.lastAny > 0 {
		if time.Since(start) > patience {
			rows, err := e.pending(e.t.Context())
			e.t.Fatalf("%d are not granted after %v; the ResourceManager shows %v, %v", e.wanted, patience, rows, err)
		}
		time.Sleep(200 * time.Millisecond)
		e.heartbeat()
	}
	return time.Since(start)
}

// plansText prints heddle's plans of the application.
func (e *executors) plansText(s *service) string {
	var text strings.Builder
	for _, d := range s.decisions(withTimeout(e.t, 10*time.Second)) {
		if p := d.Plan; p != nil && p.App == model.AppID(e.ID) {
			fmt.Fprintf(&text, "\n  %d %v %s", d.At, p.Racks, p.Reason)
		}
	}
	return text.String()
}

// releaseGrants releases everything and counts the grants of the last asks, by rack
// and in all. Grants that arrive meanwhile count in all: more than was asked for.
func (e *executors) releaseGrants() (racks map[string]int, all int) {
	racks, all = e.byRack(e.grants), len(e.grants)
	for e.grants = nil; len(e.held) > 0; {
		all += len(e.releaseAll())
	}
	return racks, all
}

// TestRelayAsks: asks sent one by one are pinned, repeated calls are answered as
// the first time, and a relay that is killed between two calls loses nothing.
func TestRelayAsks(t *testing.T) {
	c := cluster(t)
	const deadline = 8 * time.Second
	s := startConfigured(t, c, strings.Replace(relaySettings(t, c, "enforce"), "pin_deadline: 3m", "pin_deadline: 8s", 1))
	t.Run("pin and repeat", func(t *testing.T) { pinAndRepeat(newExecutors(t, c, s), s) })
	t.Run("full rack", func(t *testing.T) { fullRack(newExecutors(t, c, s), deadline) })
	asked, over, kills := int32(0), 0, 0
	for seed := range uint64(repetitions(t, 4)) {
		t.Run(fmt.Sprintf("kills/%d", seed), func(t *testing.T) {
			e := newExecutors(t, c, s)
			total, killed := killedBetween(e, s, rand.New(rand.NewPCG(seed, 2)))
			asked, over, kills = asked+e.asked, over+total-int(e.asked), kills+killed
		})
	}
	t.Logf("%d asked for over %d kills: %d more were granted", asked, kills, over)
}

// pinAndRepeat: three at a time are on one rack, whatever calls are repeated.
func pinAndRepeat(e *executors, s *service) {
	for range 3 {
		e.waitKnown(s)
		e.askFor(3)
		e.addGrants(e.repeatCall())
		e.waitGranted(10 * time.Second)
		e.addGrants(e.repeatCall())
		if racks, n := e.releaseGrants(); len(racks) != 1 && n == 3 { // more than that may not fit on one
			e.t.Errorf("3 executors are on %v, want one rack; plans:%s", racks, e.plansText(s))
		}
	}
	e.waitReleased()
}

// fullRack: what is pinned to racks without room is granted elsewhere a few
// heartbeats after the deadline, at the latest.
func fullRack(e *executors, deadline time.Duration) {
	other := newTestApp(e.t, e.c, hadoop.Capacity, "OTHER", rmScheduler)
	all := racks * other.slots
	got := other.callUntilGranted(other.ask(fmt.Sprintf("*=%d", all)), all, 20*time.Second)
	if len(got) != all {
		e.t.Fatalf("%d containers fill the cluster, want %d", len(got), all)
	}
	e.askFor(2)
	rows, err := e.pending(e.t.Context())
	if err != nil {
		e.t.Fatal(err)
	}
	pinned := map[string]bool{} // none, when heddle has seen already that the cluster is full
	for _, r := range rows {
		if strings.HasPrefix(r.ResourceName, "/") {
			pinned[r.ResourceName] = true
		}
	}
	e.t.Logf("the cluster is full, executors are asked for on %v", pinned)
	if len(pinned) == racks {
		e.t.Errorf("pinned to every rack: the ResourceManager shows %v", rows)
	}
	var elsewhere unmanaged.Call
	for _, g := range got {
		if !pinned[e.c.RackOf(g.host)] {
			elsewhere.Release = append(elsewhere.Release, g.id)
		}
	}
	other.call(elsewhere)
	took := e.waitGranted(deadline + 10*time.Second)
	e.t.Logf("granted on %v after %.1f s", e.byRack(e.grants), took.Seconds())
	if took > deadline+2*nodeHeartbeats {
		e.t.Errorf("granted after %v, with a deadline of %v", took, deadline)
	}
	e.releaseGrants()
	other.releaseAll()
	e.waitReleased()
}

// resyncLimit bounds the time from a relay's start until it steers an application that returns to it.
const resyncLimit = 15 * time.Second

// killedBetween asks for one to three at a time, while calls are repeated and
// the relay is killed at any time, and returns how many were granted.
func killedBetween(e *executors, s *service, rng *rand.Rand) (total, kills int) {
	var killedAt time.Time
	for range 4 {
		eventually(e.t, 20*time.Second, "heddle is ready", s.ready)
		e.waitKnown(s)
		n := 1 + rng.Int32N(3)
		e.askFor(n)
		disturbed := time.Since(killedAt) < resyncLimit // asks pass until the relay knows them again
		for range rng.IntN(3) {
			switch rng.IntN(3) {
			case 0:
				e.addGrants(e.repeatCall())
			case 1:
				e.heartbeat()
			default:
				s.kill()
				s.launch()
				kills++
				killedAt = time.Now()
				e.askedAgain += e.wanted // by the relay, which cannot know what the ResourceManager has granted meanwhile
				disturbed = true
				e.addGrants(e.repeatCall())
			}
		}
		e.waitGranted(15 * time.Second)
		racks, all := e.releaseGrants()
		if len(racks) != 1 && !disturbed && all == int(n) {
			e.t.Errorf("undisturbed, %d executors are on %v, want one rack; plans:%s", n, racks, e.plansText(s))
		}
		total += all
	}
	if over := total - int(e.asked); over < 0 || over > int(e.askedAgain) {
		e.t.Errorf("%d granted, %d asked for, %d of them again", total, e.asked, e.askedAgain)
	}
	e.waitReleased()
	e.t.Logf("%d asked for, %d granted, %d kills", e.asked, total, kills)
	return total, kills
}

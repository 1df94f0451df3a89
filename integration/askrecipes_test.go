//go:build linux

package integration

import (
	"bytes"
	"maps"
	"slices"
	"testing"
	"time"

	"heddle/core/asks"
	"heddle/core/model"
	"heddle/integration/hadoop"
	"heddle/integration/unmanaged"
	"heddle/yarnproxy/amrm/wire"
	"heddle/yarnproxy/ipc"
)

// The tests of this file send every recipe of ask rows to the real schedulers:
// they pin the facts that the relay rests on.

// TestAsks: what CapacityScheduler makes of ask rows; [TestFair] has FairScheduler.
func TestAsks(t *testing.T) {
	c := cluster(t)
	askRecipes(t, c, hadoop.Capacity)
	askMixes(t, c, hadoop.Capacity)
}

// expectGranted asks, checks that exactly these containers by rack are granted, and releases them.
func (a *testApp) expectGranted(text string, want map[string]int) {
	a.t.Helper()
	n := 0
	for _, k := range want { // a sum is the same in any order
		n += k
	}
	start := time.Now()
	got := a.callUntilGranted(a.ask(text), n, 3*nodeHeartbeats)
	took := time.Since(start)
	got = a.callUntilGranted(got, n+1, 500*time.Millisecond) // and no more
	if racks := a.byRack(got); !maps.Equal(racks, want) {
		rows, err := a.pending(a.t.Context())
		a.t.Errorf("%s: granted %v, want %v; pending %v, %v", text, racks, want, rows, err)
	}
	a.t.Logf("%s: %v after %.1f s", text, want, took.Seconds())
	a.releaseAll()
}

// expectOffRack takes one container of /rack1, asks for as many as the whole rack has,
// and wants them all, the last off /rack1: a preference holds the scheduler to
// nothing, where a strict ask would wait.
func (a *testApp) expectOffRack(text string) {
	a.t.Helper()
	if got := a.callUntilGranted(a.ask("9: w11=1 w12=1 /rack1=1 *=1!"), 1, 3*nodeHeartbeats); len(got) != 1 {
		a.t.Fatalf("%d containers on /rack1, want one", len(got))
	}
	got := a.callUntilGranted(a.ask(text), a.slots, 10*nodeHeartbeats)
	seen := a.byRack(got)
	if len(got) != a.slots || seen["/rack1"] == a.slots {
		a.t.Errorf("%s, with room for one less on /rack1: %v, want %d in all", text, seen, a.slots)
	}
	a.t.Logf("%s: %v", text, seen)
	a.releaseAll()
}

// expectNoGrant makes empty calls for a while and checks that they grant nothing.
func (a *testApp) expectNoGrant(what string) {
	a.t.Helper()
	if got := a.callUntilGranted(nil, 1, 2*nodeHeartbeats); len(got) > 0 {
		a.t.Errorf("%s: granted %v, want nothing", what, a.byRack(got))
		a.releaseAll()
	}
}

// allOn returns the containers by rack when all are on one.
func (a *testApp) allOn(rack string) map[string]int { return map[string]int{rack: a.slots} }

// askRecipes holds every recipe of rows against a scheduler. Rows of /rack1 are
// w11 and w12, those of /rack2 w21 and w22.
func askRecipes(t *testing.T, c *hadoop.Cluster, s hadoop.Scheduler) {
	t.Helper()
	recipes := map[string]func(a *testApp){
		"pass": func(a *testApp) { // one a node: spread
			got := a.callUntilGranted(a.ask("*=4"), 4, 3*nodeHeartbeats)
			hosts := map[string]bool{}
			for _, g := range got {
				hosts[g.host] = true
			}
			if len(got) != 4 || len(hosts) != 4 {
				a.t.Errorf("four containers anywhere: %v, want four on as many hosts", got)
			}
			a.releaseAll()
		},
		"pin": func(a *testApp) {
			a.expectGranted("w11=N w12=N /rack1=N *=N!", a.allOn("/rack1"))
			a.expectGranted("w11=H w12=H /rack1=N *=N!", a.allOn("/rack1")) // host rows that share it out
		},
		"soft": func(a *testApp) {
			a.expectOffRack("/rack1=N *=N")
			a.expectOffRack("11: w11=N w12=N /rack1=N *=N")
		},
		"quota": func(a *testApp) {
			a.expectGranted("w11=M w12=M /rack1=M w21=1 w22=1 /rack2=1 *=N!", map[string]int{"/rack1": a.slots - 1, "/rack2": 1})
		},
		"starving": func(a *testApp) { strictAsks(a, s) },
		"live change": func(a *testApp) {
			a.ask("w11=N w12=N *=N!")
			a.expectGranted("w11=0 w12=0 w21=N w22=N /rack2=N *=N!", a.allOn("/rack2"))
		},
		"last row wins": func(a *testApp) {
			a.expectGranted("w11=N w12=N /rack1=N w11=0 w12=0 w12=1 /rack1=1 *=N *=1!", map[string]int{"/rack1": 1})
		},
		"repeat":     repeatedCalls,
		"request id": requestIDs,
	}
	for _, name := range slices.Sorted(maps.Keys(recipes)) {
		t.Run(name, func(t *testing.T) {
			a := newTestApp(t, c, s, "MAPREDUCE", rmScheduler)
			a.t = t
			recipes[name](a)
			a.waitReleased()
		})
	}
}

// strictAsks: asks that nothing satisfies, side by side, until rows are added; and
// an ANY of 0, which takes all rows of its key away.
func strictAsks(a *testApp, s hadoop.Scheduler) {
	a.ask("10: *=N!")             // a hold
	a.ask("11: w11=N w12=N *=N!") // hosts without their rack
	a.ask("13: w31=N w32=N *=N!")
	if s == hadoop.Capacity {
		a.ask("12: /rack1=N *=N!") // the rack without its hosts
	}
	a.expectNoGrant("strict asks that lack rows")
	rows, err := a.pending(a.t.Context())
	if held := slices.ContainsFunc(rows, func(r model.AskRow) bool {
		return r.Priority == 10 && r.ResourceName == wire.Any && r.Count == a.slots && !r.RelaxLocality
	}); err != nil || !held {
		a.t.Errorf("the ResourceManager shows %v, %v; want the hold among it", rows, err)
	}
	if got := a.callUntilGranted(a.ask("20: *=1"), 1, 2*nodeHeartbeats); len(got) != 1 {
		a.t.Error("strict asks hold up an ask of a lower priority")
	}
	a.releaseAll()
	a.expectGranted("10: w11=N w12=N /rack1=N *=N!", a.allOn("/rack1")) // the hold is over
	a.expectGranted("11: /rack1=N", a.allOn("/rack1"))                  // the added row makes it satisfiable
	if s == hadoop.Capacity {
		a.expectGranted("12: w11=N w12=N", a.allOn("/rack1"))
	} else {
		a.expectGranted("12: /rack1=N *=N!", a.allOn("/rack1"))
	}
	a.ask("13: *=0")
	rows, err = a.pending(a.t.Context())
	if left := slices.ContainsFunc(rows, func(r model.AskRow) bool { return r.Priority == 13 }); err != nil || left {
		a.t.Errorf("after ANY 0 the ResourceManager shows %v, %v", rows, err)
	}
	a.ask("13: /rack3=N *=N!")
	if s == hadoop.Capacity {
		a.expectNoGrant("hosts that ANY 0 took away")
		a.ask("13: *=0")
	} else if got := a.callUntilGranted(nil, a.slots, 3*nodeHeartbeats); len(got) != a.slots {
		a.t.Errorf("%d containers, want %d", len(got), a.slots)
	}
	a.releaseAll()
}

// repeatedCalls: a call with the response id of the one before is answered as that one
// was, and not applied; one with another response id is refused.
func repeatedCalls(a *testApp) {
	a.ask("*=2!")
	first, err := a.Allocate(withTimeout(a.t, time.Minute), unmanaged.Call{Rows: a.rows("*=1")})
	if err != nil {
		a.t.Fatal(err)
	}
	got := a.recordGrants(first)
	a.connect()
	again, err := a.Repeat(withTimeout(a.t, time.Minute))
	if err != nil {
		a.t.Fatal(err)
	}
	if !bytes.Equal(first.Body, again.Body) {
		a.t.Errorf("repeated, the answer is %x, and was %x", again.Body, first.Body)
	}
	if got = a.callUntilGranted(append(got, a.recordGrants(again)...), 2, 2*nodeHeartbeats); len(got) != 1 {
		a.t.Errorf("one container asked for, and asked again: granted %d", len(got))
	}
	a.releaseAll()
}

// requestIDs: grants carry the allocation request id of the ask they answer, and
// a written -1 where it had none.
func requestIDs(a *testApp) {
	for _, id := range []int64{-1, 0, 7} {
		a.requestID = id
		a.ask("*=1!") // waits
		if shown, err := a.pending(a.t.Context()); err != nil || len(shown) != 1 || shown[0].RequestID != id {
			a.t.Errorf("asked with id %d, the ResourceManager shows %v, %v", id, shown, err)
		}
		got := a.callUntilGranted(a.ask("*=1"), 1, 3*nodeHeartbeats)
		if len(got) != 1 || got[0].key != (asks.Key{Priority: 10, RequestID: id}) {
			a.t.Errorf("asked with id %d, granted %+v", id, got)
		}
		if written := writtenRequestIDs(a.lastGrant.Body); !slices.Equal(written, []int64{id}) {
			a.t.Errorf("asked with id %d, the container says %v", id, written)
		}
		a.releaseAll()
	}
}

// writtenRequestIDs are the allocation_request_id fields of an allocate answer's
// containers, those that are written.
func writtenRequestIDs(body []byte) (written []int64) {
	for answer := ipc.NewFields("answer", body); answer.Next(); {
		if answer.Num != 3 { // allocated_containers
			continue
		}
		for container := ipc.NewFields("container", answer.Bytes()); container.Next(); {
			if container.Num == 8 {
				written = append(written, int64(container.Uint64()))
			}
		}
	}
	return written
}

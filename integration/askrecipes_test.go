//go:build linux

package integration

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"heddle/core/model"
	"heddle/integration/hadoop"
	"heddle/integration/unmanaged"
	"heddle/yarnproxy/amrm/asks"
	"heddle/yarnproxy/amrm/wire"
	"heddle/yarnproxy/ipc"
)

// The tests of this file say every recipe of ask rows to the real schedulers:
// they pin the facts that the relay rests on.

// TestAsksCapacity and TestAsksFair: what the schedulers make of ask rows.
func TestAsksCapacity(t *testing.T) {
	c := cluster(t)
	askRecipes(t, c, hadoop.Capacity)
	askMixes(t, c, hadoop.Capacity)
}

func TestAsksFair(t *testing.T) {
	c := cluster(t)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		if err := c.SetScheduler(ctx, hadoop.Capacity); err != nil {
			t.Error(err)
		}
	})
	if err := c.SetScheduler(within(t, 2*time.Minute), hadoop.Fair); err != nil {
		t.Fatal(err)
	}
	askRecipes(t, c, hadoop.Fair)
	askMixes(t, c, hadoop.Fair)
}

// lands asks, and wants exactly these containers by rack; all are released again.
func (a *asker) lands(text string, want map[string]int) {
	a.t.Helper()
	n := 0
	for _, k := range want { // a sum is the same in any order
		n += k
	}
	start := time.Now()
	got := a.granted(a.ask(text), n, 3*everyNode)
	took := time.Since(start)
	got = a.granted(got, n+1, 500*time.Millisecond) // and no more
	if racks := a.byRack(got); !maps.Equal(racks, want) {
		rows, err := a.pending(a.t.Context())
		a.t.Errorf("%s: granted %v, want %v; pending %v, %v", text, racks, want, rows, err)
	}
	a.t.Logf("%s: %v after %.1f s", text, want, took.Seconds())
	a.giveBack()
}

// leaves takes one container of /rack1, asks for as many as the whole rack has,
// and wants them all, the last off /rack1: a preference holds the scheduler to
// nothing, where a strict ask would wait.
func (a *asker) leaves(text string) {
	a.t.Helper()
	if got := a.granted(a.ask("9: w11=1 w12=1 /rack1=1 *=1!"), 1, 3*everyNode); len(got) != 1 {
		a.t.Fatalf("%d containers on /rack1, want one", len(got))
	}
	got := a.granted(a.ask(text), a.slots, 10*everyNode)
	seen := a.byRack(got)
	if len(got) != a.slots || seen["/rack1"] == a.slots {
		a.t.Errorf("%s, with room for one less on /rack1: %v, want %d in all", text, seen, a.slots)
	}
	a.t.Logf("%s: %v", text, seen)
	a.giveBack()
}

// starves makes empty calls for a while, and wants them to grant nothing.
func (a *asker) starves(what string) {
	a.t.Helper()
	if got := a.granted(nil, 1, 2*everyNode); len(got) > 0 {
		a.t.Errorf("%s: granted %v, want nothing", what, a.byRack(got))
		a.giveBack()
	}
}

// full is a rack's share when everything is on it.
func (a *asker) full(rack string) map[string]int { return map[string]int{rack: a.slots} }

// askRecipes holds every recipe of rows against a scheduler. Rows of /rack1 are
// w11 and w12, those of /rack2 w21 and w22.
func askRecipes(t *testing.T, c *hadoop.Cluster, s hadoop.Scheduler) {
	t.Helper()
	recipes := map[string]func(a *asker){
		"pass": func(a *asker) { // one a node: spread
			got := a.granted(a.ask("*=4"), 4, 3*everyNode)
			hosts := map[string]bool{}
			for _, g := range got {
				hosts[g.host] = true
			}
			if len(got) != 4 || len(hosts) != 4 {
				a.t.Errorf("four containers anywhere: %v, want four on as many hosts", got)
			}
			a.giveBack()
		},
		"pin": func(a *asker) {
			a.lands("w11=N w12=N /rack1=N *=N!", a.full("/rack1"))
			a.lands("w11=H w12=H /rack1=N *=N!", a.full("/rack1")) // host rows that share it out
		},
		"soft": func(a *asker) {
			a.leaves("/rack1=N *=N")
			a.leaves("11: w11=N w12=N /rack1=N *=N")
		},
		"quota": func(a *asker) {
			a.lands("w11=M w12=M /rack1=M w21=1 w22=1 /rack2=1 *=N!", map[string]int{"/rack1": a.slots - 1, "/rack2": 1})
		},
		"starving": func(a *asker) { starving(a, s) },
		"live change": func(a *asker) {
			a.ask("w11=N w12=N *=N!")
			a.lands("w11=0 w12=0 w21=N w22=N /rack2=N *=N!", a.full("/rack2"))
		},
		"last row wins": func(a *asker) {
			a.lands("w11=N w12=N /rack1=N w11=0 w12=0 w12=1 /rack1=1 *=N *=1!", map[string]int{"/rack1": 1})
		},
		"repeat":     repeats,
		"request id": requestIDs,
	}
	for _, name := range slices.Sorted(maps.Keys(recipes)) {
		t.Run(name, func(t *testing.T) {
			a := newAsker(t, c, s, "MAPREDUCE", rmScheduler)
			a.t = t
			recipes[name](a)
			a.free()
		})
	}
}

// starving: asks that nothing satisfies, side by side, until rows are added; and
// an ANY of 0, which takes all rows of its key away.
func starving(a *asker, s hadoop.Scheduler) {
	a.ask("10: *=N!")             // a hold
	a.ask("11: w11=N w12=N *=N!") // hosts without their rack
	a.ask("13: w31=N w32=N *=N!")
	if s == hadoop.Capacity {
		a.ask("12: /rack1=N *=N!") // the rack without its hosts
	}
	a.starves("strict asks that lack rows")
	rows, err := a.pending(a.t.Context())
	if held := slices.ContainsFunc(rows, func(r model.AskRow) bool {
		return r.Priority == 10 && r.ResourceName == wire.Any && r.Count == a.slots && !r.RelaxLocality
	}); err != nil || !held {
		a.t.Errorf("the ResourceManager shows %v, %v; want the hold among it", rows, err)
	}
	if got := a.granted(a.ask("20: *=1"), 1, 2*everyNode); len(got) != 1 {
		a.t.Error("strict asks hold up an ask of a lower priority")
	}
	a.giveBack()
	a.lands("10: w11=N w12=N /rack1=N *=N!", a.full("/rack1")) // the hold is over
	a.lands("11: /rack1=N", a.full("/rack1"))                  // cured
	if s == hadoop.Capacity {
		a.lands("12: w11=N w12=N", a.full("/rack1"))
	} else {
		a.lands("12: /rack1=N *=N!", a.full("/rack1"))
	}
	a.ask("13: *=0")
	rows, err = a.pending(a.t.Context())
	if left := slices.ContainsFunc(rows, func(r model.AskRow) bool { return r.Priority == 13 }); err != nil || left {
		a.t.Errorf("after ANY 0 the ResourceManager shows %v, %v", rows, err)
	}
	a.ask("13: /rack3=N *=N!")
	if s == hadoop.Capacity {
		a.starves("hosts that ANY 0 took away")
		a.ask("13: *=0")
	} else if got := a.granted(nil, a.slots, 3*everyNode); len(got) != a.slots {
		a.t.Errorf("%d containers, want %d", len(got), a.slots)
	}
	a.giveBack()
}

// repeats: a call with the response id of the one before is answered as that one
// was, and not applied; one with another response id is refused.
func repeats(a *asker) {
	a.ask("*=2!")
	first, err := a.Allocate(within(a.t, time.Minute), unmanaged.Call{Rows: a.rows("*=1")})
	if err != nil {
		a.t.Fatal(err)
	}
	got := a.take(first)
	a.connect()
	again, err := a.Repeat(within(a.t, time.Minute))
	if err != nil {
		a.t.Fatal(err)
	}
	if !bytes.Equal(first.Body, again.Body) {
		a.t.Errorf("repeated, the answer is %x, and was %x", again.Body, first.Body)
	}
	if got = a.granted(append(got, a.take(again)...), 2, 2*everyNode); len(got) != 1 {
		a.t.Errorf("one container asked for, and asked again: granted %d", len(got))
	}
	a.giveBack()
}

// requestIDs: grants carry the allocation request id of the ask they answer, and
// a written -1 where it had none.
func requestIDs(a *asker) {
	for _, id := range []int64{-1, 0, 7} {
		a.id = id
		a.ask("*=1!") // waits
		if shown, err := a.pending(a.t.Context()); err != nil || len(shown) != 1 || shown[0].RequestID != id {
			a.t.Errorf("asked with id %d, the ResourceManager shows %v, %v", id, shown, err)
		}
		got := a.granted(a.ask("*=1"), 1, 3*everyNode)
		if len(got) != 1 || got[0].key != (asks.Key{Priority: 10, RequestID: id}) {
			a.t.Errorf("asked with id %d, granted %+v", id, got)
		}
		if written := requestID(a.latest.Body); !slices.Equal(written, []int64{id}) {
			a.t.Errorf("asked with id %d, the container says %v", id, written)
		}
		a.giveBack()
	}
}

// requestID are the allocation_request_id fields of an allocate answer's
// containers, those that are written.
func requestID(body []byte) (written []int64) {
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

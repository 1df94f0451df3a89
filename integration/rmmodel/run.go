package rmmodel

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"heddle/core/asks"
	"heddle/core/model"
)

// Call is one allocate call as the ResourceManager got it, which a test can make
// to a real one: rows, and where what it asks for may be placed.
type Call struct {
	At    model.Time
	Own   []asks.Row // as the application made it
	Rows  []asks.Row
	Racks map[asks.Key][]model.RackID // of the keys asked for strictly: where containers may come from
}

// String is the call in one line: rows by key, strict ones with an exclamation
// mark, and what the application said where that is something else.
func (c Call) String() string {
	own, rows := line(c.Own), line(c.Rows)
	if own == rows {
		return fmt.Sprintf("%d ms:%s", c.At, rows)
	}
	return fmt.Sprintf("%d ms:%s    instead of:%s", c.At, rows, own)
}

func line(rows []asks.Row) string {
	var b strings.Builder
	var last asks.Key
	for i, row := range rows {
		if i == 0 || row.Key != last {
			fmt.Fprintf(&b, " [%d/%d]", row.Priority, row.RequestID)
			last = row.Key
		}
		fmt.Fprintf(&b, " %s=%d", row.Name, row.Count)
		if !row.Relax {
			b.WriteByte('!')
		}
	}
	return b.String()
}

// Result is what became of a run.
type Result struct {
	Problems []string // what must never be, with its time
	Left     int      // tasks that have not succeeded
	Ended    model.Time
	Calls    []Call
	Edited   int                                  // calls that did not go on as they came
	Strict   int                                  // containers that were allocated to a strict ask
	ByRack   map[model.Stage]map[model.RackID]int // where the tasks that succeeded ran
	Surplus  int                                  // containers the application released because no task waited for them
	// Excess counts containers that the ResourceManager would not have allocated had the application's own rows gone
	// on, Injected how many of them the relay can account for: those that were allocated and not yet told of when
	// rows of the relay's making restated a count.
	Excess, Injected int
	// Waited is the longest time for which an ask of a stage was outstanding, there was room for it where the
	// application's own rows allow, and it got nothing.
	Waited map[model.Stage]model.Duration
}

// limit is when a run is given up.
const limit = 400

// Run runs a scenario with a relay in the middle, or, when it is nil, without:
// a second has a heartbeat of every node and one of the application, in an order
// drawn anew each time. It ends when every task succeeded.
func Run(s *Scenario, relay *Relay) *Result {
	r := newRun(s, relay)
	for second := range limit {
		start := model.Time(second * 1000)
		r.now = start
		r.happen(second)
		order := r.rng.Perm(len(r.c.Nodes) + 1)
		for i, node := range order {
			r.now = start + model.Time(i*1000/len(order))
			r.exits()
			if node == len(r.c.Nodes) {
				r.call()
			} else {
				r.heartbeat(r.c.Nodes[node])
			}
			if len(r.out.Problems) > 0 {
				return r.finish()
			}
		}
		r.watch()
		if r.am.Done() && second > r.lastEvent() {
			break
		}
	}
	return r.finish()
}

// run is a run on its way.
type run struct {
	s     *Scenario
	c     *Cluster
	rm    *RM
	am    *AM
	relay *Relay
	rng   *rand.Rand
	now   model.Time
	out   *Result
	books

	undo   map[int][]func() // by second
	filled map[model.RackID]bool
	taken  map[string]model.Resource // by filled racks, by host
	held   *asks.Request             // a call that was not answered
	fault  Event                     // what happens to the next call
	around bool                      // calls go to the ResourceManager
}

func newRun(s *Scenario, relay *Relay) *run {
	c := NewCluster(s.Racks, s.Hosts, Slot().Times(int64(s.Slots)))
	r := &run{
		s: s, c: c, rm: NewRM(c, Defaults(s.Scheduler)), am: NewAM(s.App, c.RackOf), relay: relay,
		rng:   rand.New(rand.NewPCG(s.Seed, 0)),
		out:   &Result{Waited: map[model.Stage]model.Duration{}},
		books: newBooks(s.App), undo: map[int][]func(){}, filled: map[model.RackID]bool{}, taken: map[string]model.Resource{},
	}
	r.rm.Register()
	if relay != nil {
		relay.stages = r.stages
		relay.refresh(0, c.Site(), nil)
	}
	return r
}

func (r *run) finish() *Result {
	r.out.Left, r.out.Surplus, r.out.Ended = r.am.Left(), r.am.Surplus(), r.now
	r.out.ByRack = r.am.ByRack()
	return r.out
}

func (r *run) problem(format string, args ...any) {
	r.out.Problems = append(r.out.Problems, fmt.Sprintf("at %d ms: ", r.now)+fmt.Sprintf(format, args...))
}

func (r *run) lastEvent() int {
	last := 0
	for _, e := range r.s.Events {
		last = max(last, int(e.At/1000))
	}
	return last
}

// exits reports the processes that ended to the ResourceManager.
func (r *run) exits() {
	for _, e := range r.am.Exits(r.now) {
		r.rm.Exit(e.ID, e.ExitStatus)
	}
}

// heartbeat is one of a node.
func (r *run) heartbeat(n *Node) {
	if r.filled[n.Rack] {
		r.take(n)
	}
	for _, c := range r.rm.Heartbeat(n.Host) {
		if problem := r.allocated(c, r.out, n.Rack); problem != "" {
			r.problem("%s", problem)
		}
	}
}

// call is one allocate call, with what goes wrong on its way.
func (r *run) call() {
	fault := r.fault
	r.fault = Event{}
	switch {
	case r.held == nil:
		r.held = r.am.Next(r.now)
		r.consistent()
	case r.s.App.Rebuild:
		r.held = r.am.Rebuild(r.now, r.held)
		r.consistent()
	}
	out := sent{Request: *r.held, same: true}
	switch {
	case r.around:
		out.wanted = maps.Clone(r.wanted) // of rows that say nothing of where
	case r.relay != nil:
		var err error
		if out, err = r.relay.request(r.now, r.held); err != nil {
			r.problem("%v", err)
			return
		}
	}
	if fault.Kind == LoseRequest {
		return
	}
	applied := out.ResponseID == r.rm.last.ResponseID
	answer, err := r.rm.Allocate(&out.Request)
	if errors.Is(err, ErrNotRegistered) {
		r.resync()
		return
	}
	if err != nil {
		r.problem("%v", err)
		return
	}
	if applied {
		r.record(&out)
	}
	switch {
	case fault.Kind == LoseResponse:
		return
	case fault.Kind == Crash && r.relay != nil:
		r.restart()
		return
	}
	if r.relay != nil && !r.around {
		r.relay.response(r.now, &answer)
	}
	r.delivered(&answer)
	r.am.Answer(r.now, &answer)
	r.held = nil
}

// consistent checks the application itself: what it asks for is what it waits for.
func (r *run) consistent() {
	for key := range r.stages { // any order: one problem is enough
		if asked, waits := r.am.own.counts[key][model.AnyName], r.am.Outstanding(key); int(asked) != waits {
			r.problem("%v: the application asks for %d and waits for %d", key, asked, waits)
			return
		}
	}
}

// record enters a call that the ResourceManager applied into the books.
func (r *run) record(out *sent) {
	if !out.same {
		r.out.Edited++
	}
	call := Call{At: r.now, Own: r.held.Rows, Rows: slices.Clone(out.Rows), Racks: map[asks.Key][]model.RackID{}}
	for _, row := range out.Rows {
		if row.Name == model.AnyName && !row.Relax {
			call.Racks[row.Key] = out.wanted[row.Key]
		}
	}
	r.out.Calls = append(r.out.Calls, call)
	if problem := r.applied(r.held, out, r.rm, r.out); problem != "" {
		r.problem("%s", problem)
	}
}

// resync is what an application does whose ResourceManager does not know it.
func (r *run) resync() {
	r.rm.Register()
	r.am.Resync()
	if r.relay != nil {
		r.relay.loseRegistration() // a dead one too: that it returns with just the next response id is left out
	}
	if r.relay != nil && !r.around {
		r.relay.register()
	}
	r.held = nil
	r.forget()
}

// resyncing reports whether there is a relay that does not know all of the application's asks.
func (r *run) resyncing() bool { return r.relay != nil && r.relay.asks.State() != asks.InSync }

func (r *run) restart() {
	r.restarted(r.rm)
	r.relay.restart()
}

// watch counts for how long asks that there is room for have got nothing, and
// gives the relay a newer picture of the cluster when that is due.
func (r *run) watch() {
	for key, stage := range r.stages { // order-free: every key on its own
		switch {
		case r.am.Outstanding(key) == 0 || !r.room():
			r.hungry[key] = 0
		case r.first == nil || compareKeys(key, *r.first) < 0: // nodes were offered to it
			r.hungry[key]++
		}
		r.out.Waited[stage] = max(r.out.Waited[stage], model.Duration(r.hungry[key])*model.Second)
	}
	r.first = nil
	if poll := model.Time(max(r.s.Poll, 1000)); r.now/poll != (r.now+1000)/poll {
		if r.relay != nil {
			r.relay.refresh(r.now, r.c.Site(), r.rm.Pending())
		}
	}
}

// room reports whether a container more fits on a node the application does not refuse.
func (r *run) room() bool {
	return slices.ContainsFunc(r.c.Nodes, func(n *Node) bool {
		refused := r.am.refused[n.Host] || r.am.refused[string(n.Rack)]
		return n.Usable && !refused && !r.filled[n.Rack] && r.c.fits(n, Slot())
	})
}

// happen has the events of a second happen, after those that are over were undone.
func (r *run) happen(second int) {
	for _, undo := range r.undo[second] {
		undo()
	}
	delete(r.undo, second)
	for _, e := range r.s.Events {
		if int(e.At/1000) == second {
			r.start(e, second)
		}
	}
}

// start has an event happen.
func (r *run) start(e Event, second int) {
	end := second + int(max(e.For, model.Second)/model.Second)
	undo := func(f func()) { r.undo[end] = append(r.undo[end], f) }
	switch e.Kind {
	case LoseNode:
		r.died(r.rm, r.resyncing(), func() { r.rm.Lose(e.Place) })
		undo(func() { r.rm.Restore(e.Place) })
	case FillRack:
		rack := model.RackID(e.Place)
		r.filled[rack] = true
		undo(func() { r.empty(rack) })
	case RefusePlace:
		r.am.Refuse(e.Place)
		undo(func() { r.am.Accept(e.Place) })
	case Withdraw:
		r.am.Withdraw(e.Stage, model.Time(end*1000))
	case Preempt:
		r.died(r.rm, r.resyncing(), func() { r.preempt(e.N) })
	case Restart:
		if r.relay != nil {
			r.restart()
		}
	case Around:
		if r.relay != nil {
			r.around = true
			undo(func() {
				r.around = false
				if e.Dead {
					r.restart()
				}
			})
		}
	case LoseRequest, LoseResponse, Crash:
		r.fault = e
	case Failover:
		r.rm.Failover(r.am.Holds)
	case Stale:
		if r.relay != nil {
			r.relay.Pass = true
			undo(func() { r.relay.Pass = false })
		}
	}
}

// preempt kills the newest containers.
func (r *run) preempt(n int) {
	containers := r.rm.Containers()
	for _, c := range slices.Backward(containers[max(0, len(containers)-n):]) {
		r.rm.Preempt(c.ID)
	}
}

// take has somebody else use what a node has free.
func (r *run) take(n *Node) {
	r.taken[n.Host] = r.taken[n.Host].Add(n.Free())
	n.Used = n.Total
}

// empty ends the use of a rack by somebody else.
func (r *run) empty(rack model.RackID) {
	delete(r.filled, rack)
	for _, host := range slices.Sorted(maps.Keys(r.taken)) {
		if n := r.c.Node(host); n.Rack == rack {
			n.Used = n.Used.Sub(r.taken[host])
			delete(r.taken, host)
		}
	}
}

// Sample is what the ResourceManager is asked for in a scenario in which nothing
// goes wrong, for a test to ask a real one for: containers have to be released
// there as they are granted, and response ids are the caller's own.
func Sample(s *Scenario, relay *Relay) []Call {
	quiet := *s
	quiet.Events = nil
	return Run(&quiet, relay).Calls
}

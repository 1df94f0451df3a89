package network

import (
	"math"
	"slices"

	"heddle/core/model"
)

// flowQueues holds the queues between all racks and the links they share. A route is
// a kind, a source rack and a destination rack. A route has a queue only while it
// has something to send, so that the queues are dense, however many routes there
// are. A solve may move a queue: only the number of the route is stable.
type flowQueues struct {
	config    Config
	routes    []int32   // the queue of each, or none
	queues    []queue   // have something to send, or had at the last solve
	traffic   []Traffic // by rack, without what queues have sent since cross was last called for them
	links     links
	fetches   []flow   // of shuffles: flow r of group g is at g*racks+r
	transfers []flow   // by ID
	calendar  calendar // of the first end in each queue that has ends to be known
	ended     []Done   // transfers, and groups whose watched flow has ended; not reported
	now       model.Time
	solvedAt  model.Time // the last solve
	solveBy   model.Time // the next, while anything is on its way
	state     solveState
	filling   filling
}

// solveState is what is to be done with rates.
type solveState struct {
	needed       bool // they are to be solved after the step
	overCapacity bool // they may be above what the links have
	solving      bool // a solve follows: no queue's end is wanted yet
}

func newFlowQueues(c Config) flowQueues {
	racks := len(c.Racks)
	f := flowQueues{config: c, links: newLinks(c.Racks), calendar: newCalendar(), solvedAt: -1}
	f.routes = slices.Repeat([]int32{none}, Kinds*racks*racks)
	f.traffic = make([]Traffic, racks)
	f.filling.links = make([]linkState, len(f.links.capacity))
	return f
}

// routeOf returns the number of a route, and ends what a number stands for.
func (f *flowQueues) routeOf(kind Kind, from, to int) int32 {
	racks := len(f.config.Racks)
	return toInt32((int(kind)*racks+from)*racks + to)
}

func (f *flowQueues) routeEnds(route int32) (kind Kind, from, to int) {
	racks, n := len(f.config.Racks), int(route)
	return [Kinds]Kind{Shuffle, MapRead, Write}[n/(racks*racks)], n / racks % racks, n % racks
}

// openQueue returns the queue of a route that is to send something.
func (f *flowQueues) openQueue(route int32) int32 {
	if i := f.routes[route]; i != none {
		return i
	}
	i := len(f.queues)
	if i == cap(f.queues) {
		f.queues = append(f.queues, queue{})
	}
	f.queues = f.queues[:i+1]
	f.calendar.grow(i + 1)
	kind, from, to := f.routeEnds(route)
	nic := min(f.config.Racks[from].NIC, f.config.Racks[to].NIC)
	q := &f.queues[i]
	*q = queue{at: f.now, route: route, kind: kind, limit: perMs(nic) / f.config.Streams[kind], heap: q.heap[:0]}
	q.up, q.down = f.links.between(from, to)
	f.routes[route] = toInt32(i)
	return toInt32(i)
}

// closeQueue removes a queue that has nothing to send. The last queue takes its place,
// and the caller has to refresh its end.
func (f *flowQueues) closeQueue(queue int) {
	last := len(f.queues) - 1
	f.routes[f.queues[queue].route] = none
	f.calendar.set(last, never)
	if queue != last { // the memory of both heaps is used again
		f.queues[queue], f.queues[last] = f.queues[last], f.queues[queue]
		f.routes[f.queues[queue].route] = toInt32(queue)
	}
	f.queues = f.queues[:last]
}

// queueOf returns the queue of a flow that has something to send.
func (f *flowQueues) queueOf(flow *flow) *queue { return &f.queues[f.routes[flow.route]] }

// flowsOf returns the flows that a queue's entries name.
func (f *flowQueues) flowsOf(queue int32) []flow {
	if f.queues[queue].kind == Shuffle {
		return f.fetches
	}
	return f.transfers
}

// nextSolve returns when rates are to be solved next.
func (f *flowQueues) nextSolve() model.Time { return max(f.now, f.solveBy) }

// stepsPerBacklog is how many steps at least it takes until what is on its way is
// through.
const stepsPerBacklog = 100

// stepLength returns how long rates are to stand that are solved now: one part in
// stepsPerBacklog of the time that all uplinks together would take for what is on its
// way, within the bounds that are set. It ends at a whole multiple of the least.
func (f *flowQueues) stepLength() model.Duration {
	backlog, capacity := 0.0, 0.0
	for i := range f.queues {
		backlog += f.queues[i].backlog
	}
	for _, c := range f.links.capacity[:len(f.traffic)] {
		capacity += c
	}
	least := f.config.Step
	length := min(max(backlog/max(capacity, 1)/stepsPerBacklog, float64(least)), float64(f.config.MaxStep))
	end := f.now.Add(model.Duration(length))
	return end.Sub(f.now) - model.Duration(end)%least
}

// advanceQueue brings a queue forward to now. Flows that end on the way leave what they
// had to the others; those whose end is to be known go to f.ended.
func (f *flowQueues) advanceQueue(queue int32) {
	q := &f.queues[queue]
	ms := float64(f.now - q.at)
	q.at = f.now
	if q.advanceIfNoneEnds(ms) || len(q.heap) == 0 {
		return
	}
	for flows := f.flowsOf(queue); ; {
		var id int32
		if id, ms = q.advance(flows, ms); id == none {
			return
		}
		q.remove(flows, id)
		f.flowEnded(queue, id)
	}
}

// flowEnded notes that a flow has sent all it had.
func (f *flowQueues) flowEnded(queue int32, id int32) {
	q := &f.queues[queue]
	if !f.flowsOf(queue)[id].watched {
		return
	}
	q.watchedFlows--
	if q.kind == Shuffle {
		id /= toInt32(len(f.config.Racks)) // the group's
	}
	f.ended = append(f.ended, Done{Kind: q.kind, ID: ID(id)})
}

// bytesLeft returns the bytes a fetch has not sent, when its queue was last served.
func (f *flowQueues) bytesLeft(fetch *flow) float64 {
	return (fetch.due - f.queueOf(fetch).served) * fetch.weight
}

// watchFlow makes the end of a flow known when it comes.
func (f *flowQueues) watchFlow(flows []flow, id int32) {
	flows[id].watched = true
	queue := f.routes[flows[id].route]
	f.queues[queue].watchedFlows++
	f.refreshEnd(queue)
}

// dropEnded takes something off the list of what has ended.
func (f *flowQueues) dropEnded(kind Kind, id ID) {
	f.ended = slices.DeleteFunc(f.ended, func(d Done) bool { return d.ID == id && (d.Kind == Shuffle) == (kind == Shuffle) })
}

// addFlow puts an idle flow into its queue now.
func (f *flowQueues) addFlow(flows []flow, id int32, bytes model.Bytes) {
	queue := f.openQueue(flows[id].route)
	f.advanceQueue(queue)
	f.queues[queue].insert(flows, id, bytes)
	f.adjustRate(queue)
	f.state.needed = true
}

// advanceAll brings all queues forward to now, and does away with those that have
// nothing to send.
func (f *flowQueues) advanceAll() {
	for i := 0; i < len(f.queues); {
		f.advanceQueue(toInt32(i))
		f.countSent(toInt32(i))
		if len(f.queues[i].heap) > 0 {
			i++
		} else {
			f.closeQueue(i)
		}
	}
}

// countSent counts what a queue has sent from rack to rack, when it was last served.
func (f *flowQueues) countSent(queue int32) {
	q := &f.queues[queue]
	sent := q.sent()
	q.uncounted -= sent
	if racks := len(f.traffic); int(q.up) < racks {
		f.traffic[q.up].Up[q.kind] += sent
		f.traffic[int(q.down)-racks].Down[q.kind] += sent
	}
}

// removeFlow takes a flow out of its queue now and returns the bytes it had not sent.
func (f *flowQueues) removeFlow(flows []flow, id int32) model.Bytes {
	if flows[id].slot == idle {
		return 0
	}
	queue := f.routes[flows[id].route]
	f.advanceQueue(queue)
	if flows[id].slot == idle {
		return 0
	}
	q := &f.queues[queue]
	if flows[id].watched {
		q.watchedFlows--
	}
	left := model.Bytes(math.Round(q.remove(flows, id)))
	q.uncounted -= left
	f.adjustRate(queue)
	f.state.needed = true
	return left
}

// adjustRate takes from the links what a queue can use and they have free, or gives
// back what it cannot use.
func (f *flowQueues) adjustRate(queue int32) {
	q := &f.queues[queue]
	f.links.changeRate(q, min(q.limit*q.weight-q.rate, f.links.spareFor(q)))
	f.refreshEnd(queue)
}

// refreshEnd sets when the first flow of a queue ends, if that is not after the
// next solve, which sets it again: while a queue is busy, one follows.
func (f *flowQueues) refreshEnd(queue int32) {
	if !f.state.solving {
		f.calendar.set(int(queue), f.queues[queue].ends(f.flowsOf(queue), f.nextSolve()))
	}
}

package network

import (
	"math"
	"slices"

	"heddle/core/model"
)

// fabric is the queues between all racks and the links they share. A route is a
// kind, a source rack and a destination rack. It has a queue only while it has
// something to send, so that the queues lie side by side, however many routes
// there are. A solve moves queues: what is known for longer is the route.
type fabric struct {
	config    Config
	routes    []int32   // the queue of each, or none
	queues    []queue   // have something to send, or had at the last solve
	crossed   []Traffic // by rack, without what queues have sent since cross was last called for them
	links     links
	fetches   []flow   // of shuffles: flow r of group g is at g*racks+r
	transfers []flow   // by ID
	calendar  calendar // of the first end in each queue that has ends to be known
	ended     []Done   // transfers, and groups whose watched flow has ended; not reported
	now       model.Time
	solved    model.Time // the last solve
	next      model.Time // the next, while anything is on its way
	mode      mode
	filling   filling
}

// mode is what is to be done with rates.
type mode struct {
	changed bool // they are to be solved after the step
	forced  bool // they may be above what the links have
	quiet   bool // a solve follows: no queue's end is wanted yet
}

func newFabric(c Config) fabric {
	racks := len(c.Racks)
	f := fabric{config: c, links: newLinks(c.Racks), calendar: newCalendar(), solved: -1}
	f.routes = slices.Repeat([]int32{none}, Kinds*racks*racks)
	f.crossed = make([]Traffic, racks)
	f.filling.pipes = make([]pipe, len(f.links.capacity))
	return f
}

// routeOf returns the number of a route, and ends what a number stands for.
func (f *fabric) routeOf(kind Kind, from, to int) int32 {
	racks := len(f.config.Racks)
	return small((int(kind)*racks+from)*racks + to)
}

func (f *fabric) endsOf(route int32) (kind Kind, from, to int) {
	racks, n := len(f.config.Racks), int(route)
	return [Kinds]Kind{Shuffle, MapRead, Write}[n/(racks*racks)], n / racks % racks, n % racks
}

// open returns the queue of a route that is to send something.
func (f *fabric) open(route int32) int32 {
	if i := f.routes[route]; i != none {
		return i
	}
	i := len(f.queues)
	if i == cap(f.queues) {
		f.queues = append(f.queues, queue{})
	}
	f.queues = f.queues[:i+1]
	f.calendar.hold(i + 1)
	kind, from, to := f.endsOf(route)
	nic := min(f.config.Racks[from].NIC, f.config.Racks[to].NIC)
	q := &f.queues[i]
	*q = queue{at: f.now, route: route, kind: kind, limit: perMs(nic) / f.config.Streams[kind], heap: q.heap[:0]}
	q.up, q.down = f.links.between(from, to)
	f.routes[route] = small(i)
	return small(i)
}

// shut does away with a queue that has nothing to send. The last queue takes its
// place, and is to be refreshed.
func (f *fabric) shut(queue int) {
	last := len(f.queues) - 1
	f.routes[f.queues[queue].route] = none
	f.calendar.set(last, never)
	if queue != last { // the memory of both heaps is used again
		f.queues[queue], f.queues[last] = f.queues[last], f.queues[queue]
		f.routes[f.queues[queue].route] = small(queue)
	}
	f.queues = f.queues[:last]
}

// queueOf returns the queue of a flow that has something to send.
func (f *fabric) queueOf(flow *flow) *queue { return &f.queues[f.routes[flow.route]] }

// flowsOf returns the flows that a queue's entries name.
func (f *fabric) flowsOf(queue int32) []flow {
	if f.queues[queue].kind == Shuffle {
		return f.fetches
	}
	return f.transfers
}

// due returns when rates are to be solved next.
func (f *fabric) due() model.Time { return max(f.now, f.next) }

// patience is how many steps at least it takes until what is on its way is
// through.
const patience = 100

// step returns how long rates are to stand that are solved now: one part in
// patience of the time that all uplinks together would take for what is on its
// way, within the bounds that are set. It ends at a whole multiple of the least.
func (f *fabric) step() model.Duration {
	backlog, capacity := 0.0, 0.0
	for i := range f.queues {
		backlog += f.queues[i].backlog
	}
	for _, c := range f.links.capacity[:len(f.crossed)] {
		capacity += c
	}
	least := f.config.Step
	length := min(max(backlog/max(capacity, 1)/patience, float64(least)), float64(f.config.MaxStep))
	end := f.now.Add(model.Duration(length))
	return end.Sub(f.now) - model.Duration(end)%least
}

// serve brings a queue forward to now. Flows that end on the way leave what they
// had to the others; those whose end is to be known go to f.ended.
func (f *fabric) serve(queue int32) {
	q := &f.queues[queue]
	ms := float64(f.now - q.at)
	q.at = f.now
	if q.pass(ms) || len(q.heap) == 0 {
		return
	}
	for flows := f.flowsOf(queue); ; {
		var id int32
		if id, ms = q.serve(flows, ms); id == none {
			return
		}
		q.drop(flows, id)
		f.arrived(queue, id)
	}
}

// arrived notes that a flow has sent all it had.
func (f *fabric) arrived(queue int32, id int32) {
	q := &f.queues[queue]
	if !f.flowsOf(queue)[id].timed {
		return
	}
	q.timed--
	if q.kind == Shuffle {
		id /= small(len(f.config.Racks)) // the group's
	}
	f.ended = append(f.ended, Done{Kind: q.kind, ID: ID(id)})
}

// left returns the bytes a fetch has not sent, when its queue was last served.
func (f *fabric) left(fetch *flow) float64 {
	return (fetch.due - f.queueOf(fetch).served) * fetch.weight
}

// watch makes the end of a flow known when it comes.
func (f *fabric) watch(flows []flow, id int32) {
	flows[id].timed = true
	queue := f.routes[flows[id].route]
	f.queues[queue].timed++
	f.refresh(queue)
}

// forget takes something off the list of what has ended.
func (f *fabric) forget(kind Kind, id ID) {
	f.ended = slices.DeleteFunc(f.ended, func(d Done) bool { return d.ID == id && (d.Kind == Shuffle) == (kind == Shuffle) })
}

// insert puts an idle flow into its queue now.
func (f *fabric) insert(flows []flow, id int32, bytes model.Bytes) {
	queue := f.open(flows[id].route)
	f.serve(queue)
	f.queues[queue].insert(flows, id, bytes)
	f.adjust(queue)
	f.mode.changed = true
}

// rest brings all queues forward to now, and does away with those that have
// nothing to send.
func (f *fabric) rest() {
	for i := 0; i < len(f.queues); {
		f.serve(small(i))
		f.cross(small(i))
		if len(f.queues[i].heap) > 0 {
			i++
		} else {
			f.shut(i)
		}
	}
}

// cross counts what a queue has sent from rack to rack, when it was last served.
func (f *fabric) cross(queue int32) {
	q := &f.queues[queue]
	sent := q.sent()
	q.entered -= sent
	if racks := len(f.crossed); int(q.up) < racks {
		f.crossed[q.up].Up[q.kind] += sent
		f.crossed[int(q.down)-racks].Down[q.kind] += sent
	}
}

// takeBack takes a flow out of its queue now and returns the bytes it had not sent.
func (f *fabric) takeBack(flows []flow, id int32) model.Bytes {
	if flows[id].slot == idle {
		return 0
	}
	queue := f.routes[flows[id].route]
	f.serve(queue)
	if flows[id].slot == idle {
		return 0
	}
	q := &f.queues[queue]
	if flows[id].timed {
		q.timed--
	}
	left := model.Bytes(math.Round(q.drop(flows, id)))
	q.entered -= left
	f.adjust(queue)
	f.mode.changed = true
	return left
}

// adjust takes from the links what a queue can use and they have free, or gives
// back what it cannot use.
func (f *fabric) adjust(queue int32) {
	q := &f.queues[queue]
	f.links.grant(q, min(q.limit*q.weight-q.rate, f.links.free(q)))
	f.refresh(queue)
}

// refresh sets when the first flow of a queue ends, if that is not after the
// next solve, which sets it anew: while a queue is busy, one follows.
func (f *fabric) refresh(queue int32) {
	if !f.mode.quiet {
		f.calendar.set(int(queue), f.queues[queue].ends(f.flowsOf(queue), f.due()))
	}
}

package network

import (
	"math"
	"slices"

	"heddle/core/model"
)

// fabric is the queues between all racks and the links they share.
type fabric struct {
	config    Config
	queues    []queue   // by kind, source rack, destination rack
	busy      []int32   // queues that have something to send, or had at the last solve
	crossed   []Traffic // by rack, without what queues have sent since cross was last called for them
	links     links
	fetches   []flow   // of shuffles: flow r of group g is at g*racks+r
	transfers []flow   // by ID
	calendar  calendar // of the first end in each queue that has ends to be known
	ended     []Done   // transfers, and groups whose watched flow has ended; not reported
	now       model.Time
	solved    model.Time // the last solve, or so long ago that it does not matter
	changed   bool       // rates are to be solved after the step
	forced    bool       // rates may be above what the links have
	quiet     bool       // a solve follows: no queue's end is wanted yet
	filling   filling
}

func newFabric(c Config) fabric {
	racks := len(c.Racks)
	f := fabric{config: c, links: newLinks(c.Racks), solved: -model.Time(c.Step)}
	f.queues = make([]queue, Kinds*racks*racks)
	f.crossed = make([]Traffic, racks)
	f.calendar = newCalendar(len(f.queues))
	f.filling.pipes = make([]pipe, len(f.links.capacity))
	for i := range f.queues {
		from, to := i/racks%racks, i%racks
		q := &f.queues[i]
		q.kind = kindOf(i / (racks * racks))
		q.limit = perMs(min(c.Racks[from].NIC, c.Racks[to].NIC)) / c.Streams[q.kind]
		q.up, q.down = f.links.between(from, to)
	}
	return f
}

// kindOf returns the kind of a number.
func kindOf(n int) Kind { return [Kinds]Kind{Shuffle, MapRead, Write}[n] }

// queueOf returns the number of a queue.
func (f *fabric) queueOf(kind Kind, from, to int) int {
	racks := len(f.config.Racks)
	return (int(kind)*racks+from)*racks + to
}

// flowsOf returns the flows that a queue's entries name.
func (f *fabric) flowsOf(queue int) []flow {
	if f.queues[queue].kind == Shuffle {
		return f.fetches
	}
	return f.transfers
}

// due returns when rates are to be solved next.
func (f *fabric) due() model.Time { return max(f.now, f.solved.Add(f.config.Step)) }

// serve brings a queue forward to now. Flows that end on the way leave what they
// had to the others; those whose end is to be known go to f.ended.
func (f *fabric) serve(queue int) {
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
func (f *fabric) arrived(queue int, id int32) {
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
	return (fetch.due - f.queues[fetch.queue].served) * fetch.weight
}

// watch makes the end of a flow known when it comes.
func (f *fabric) watch(queue int, id int32) {
	f.flowsOf(queue)[id].timed = true
	f.queues[queue].timed++
	f.refresh(queue)
}

// forget takes something off the list of what has ended.
func (f *fabric) forget(kind Kind, id ID) {
	f.ended = slices.DeleteFunc(f.ended, func(d Done) bool { return d.ID == id && (d.Kind == Shuffle) == (kind == Shuffle) })
}

// insert puts an idle flow into a queue now.
func (f *fabric) insert(queue int, id int32, bytes model.Bytes) {
	f.serve(queue)
	q := &f.queues[queue]
	q.insert(f.flowsOf(queue), id, bytes)
	if !q.busy {
		q.busy = true
		f.busy = append(f.busy, small(queue))
	}
	f.adjust(queue)
	f.changed = true
}

// rest takes the queues that have nothing to send off the list of the busy ones,
// brings the others forward to now, and lists what they ask for.
func (f *fabric) rest() {
	kept, asks := f.busy[:0], f.filling.asks[:0]
	step := float64(f.config.Step)
	for _, i := range f.busy {
		f.serve(int(i))
		f.cross(int(i))
		q := &f.queues[i]
		if len(q.heap) > 0 {
			kept, asks = append(kept, i), append(asks, q.ask(step))
			continue
		}
		q.rate, q.busy = 0, false
		f.calendar.set(int(i), never)
	}
	f.busy, f.filling.asks = kept, asks
}

// cross counts what a queue has sent from rack to rack, when it was last served.
func (f *fabric) cross(queue int) {
	q := &f.queues[queue]
	sent := q.sent()
	q.entered -= sent
	if racks := len(f.crossed); int(q.up) < racks {
		f.crossed[q.up].Up[q.kind] += sent
		f.crossed[int(q.down)-racks].Down[q.kind] += sent
	}
}

// takeBack takes a flow out of a queue now and returns the bytes it had not sent.
func (f *fabric) takeBack(queue int, id int32) model.Bytes {
	f.serve(queue)
	q, flows := &f.queues[queue], f.flowsOf(queue)
	if flows[id].slot == idle {
		return 0
	}
	if flows[id].timed {
		q.timed--
	}
	left := model.Bytes(math.Round(q.drop(flows, id)))
	q.entered -= left
	f.adjust(queue)
	f.changed = true
	return left
}

// adjust takes from the links what a queue can use and they have free, or gives
// back what it cannot use.
func (f *fabric) adjust(queue int) {
	q := &f.queues[queue]
	f.links.grant(q, min(q.limit*q.weight-q.rate, f.links.free(q)))
	f.refresh(queue)
}

// refresh sets when the first flow of a queue ends, if that is not after the
// next solve, which sets it anew: while a queue is busy, one follows.
func (f *fabric) refresh(queue int) {
	if !f.quiet {
		f.calendar.set(queue, f.queues[queue].ends(f.flowsOf(queue), f.due()))
	}
}

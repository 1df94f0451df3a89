package network

import (
	"math"

	"heddle/core/model"
)

// queue is the flows of one kind from one rack to another, which all get the
// same bytes per unit of weight. Its own time is the bytes a unit of weight has
// been served since the queue was last empty: a flow ends when that reaches a
// number known since its start, however the rate of the queue changes
// (generalized processor sharing: Parekh and Gallager 1993).
type queue struct {
	served   float64 // bytes per unit of weight, at
	at       model.Time
	weight   float64 // of all flows
	rate     float64 // granted, bytes/ms
	limit    float64 // of the rate per unit of weight: the node interfaces, bytes/ms
	backlog  float64 // bytes not sent, at
	firstDue float64 // due of heap[0]
	up, down int32   // links

	heap         []entry     // by due, earliest first; see flow.due
	uncounted    model.Bytes // bytes that entered the queue, less those removed and those counted as traffic
	route        int32
	watchedFlows int32   // flows whose end is to be known when it comes
	firstWeight  float32 // weight of heap[0], which may be 0
	kind         Kind
	_            [19]byte // makes it two lines of the cache, the first with what serving needs
}

// entry is a flow in the heap, with a due that is not later than its own. Flows
// are many and far apart: as long as one has not changed, its entry will do.
type entry struct {
	due    float64
	id     int32
	weight float32 // about that of the flow; 0 where due may not be its own
}

// flow is bytes on their way in a queue.
type flow struct {
	due     float64 // what its queue has served per unit of weight when it ends
	weight  float64
	route   int32
	slot    int32 // where in the heap; idle when it has nothing to send
	watched bool  // its end is to be known when it comes
}

// idle is the slot of a flow with nothing to send, none no flow.
const (
	idle = -1
	none = -1
)

// sent returns the bytes that the queue has sent up to its time and that are not
// counted as traffic yet.
func (q *queue) sent() model.Bytes {
	if len(q.heap) == 0 {
		return q.uncounted
	}
	return q.uncounted - model.Bytes(max(q.backlog, 0)+.5) // to the nearest byte
}

// actualRate returns the bytes/ms the queue sends.
func (q *queue) actualRate() float64 { return min(q.rate, q.limit*q.weight) }

// advanceIfNoneEnds sends for so many milliseconds if no flow can end in them. Where no time
// has passed one may be about to end for want of the rest of a byte, and only the
// flow itself says so.
func (q *queue) advanceIfNoneEnds(ms float64) bool {
	sent := q.actualRate() * ms
	if ms < 1 || sent+q.actualRate()*negligibleTime >= (q.firstDue-q.served)*q.weight {
		return false
	}
	q.served += sent / q.weight
	q.backlog -= sent
	return true
}

// advance sends for so many milliseconds, or until the first flow ends. It returns
// that flow and the time that remains, or none when there is no such flow.
func (q *queue) advance(flows []flow, ms float64) (ended int32, rest float64) {
	if len(q.heap) == 0 || q.advanceIfNoneEnds(ms) {
		return none, 0
	}
	pace := q.actualRate()
	q.refreshTop(flows)
	todo := q.firstDue - q.served
	if todo*float64(q.firstWeight) >= negligibleBytes {
		if todo*q.weight > pace*(ms+negligibleTime) {
			q.served += pace * ms / q.weight
			q.backlog -= pace * ms
			return none, 0
		}
		q.served += todo
		q.backlog -= todo * q.weight
		ms = max(ms-todo*q.weight/pace, 0)
	}
	return q.heap[0].id, ms
}

// ends returns when the first flow ends at the present pace, or never where no
// end is to be known, or it is later than a time that has not passed.
func (q *queue) ends(flows []flow, by model.Time) model.Time {
	if len(q.heap) == 0 || q.watchedFlows == 0 {
		return never
	}
	q.refreshTop(flows)
	pace, todo := q.actualRate(), q.firstDue-q.served
	switch {
	case todo*float64(q.firstWeight) < negligibleBytes:
		return q.at
	case todo*q.weight >= pace*float64(by-q.at+1): // spares the division; rounding is less than a millisecond
		return never
	}
	return firstMillisecond(q.at, todo*q.weight/pace)
}

// entryWeight is what an entry keeps of a weight: never 0.
func entryWeight(weight float64) float32 {
	return max(float32(weight), math.SmallestNonzeroFloat32)
}

// refreshTop has heap[0] be the flow that ends first, with its own due. Bytes that are
// added to a flow make it later without moving it in the heap; it moves once it is
// on top.
func (q *queue) refreshTop(flows []flow) {
	for q.firstWeight == 0 {
		f := &flows[q.heap[0].id]
		q.heap[0].due, q.heap[0].weight = f.due, entryWeight(f.weight)
		q.sink(flows, 0)
	}
}

// insert puts an idle flow of so many bytes in. The queue is served up to now.
func (q *queue) insert(flows []flow, id int32, bytes model.Bytes) {
	f := &flows[id]
	if len(q.heap) == 0 { // its own time starts again, so that it stays exact
		q.served, q.weight, q.backlog = 0, 0, 0
	}
	f.due = q.served + float64(bytes)/f.weight
	q.weight += f.weight
	q.backlog += float64(bytes)
	q.uncounted += bytes
	f.slot = toInt32(len(q.heap))
	q.heap = append(q.heap, entry{f.due, id, entryWeight(f.weight)})
	q.rise(flows, int(f.slot))
}

// addBytes adds bytes to a flow that is in the queue.
func (q *queue) addBytes(f *flow, bytes model.Bytes) {
	f.due += float64(bytes) / f.weight
	q.markStale(f.slot)
	q.backlog += float64(bytes)
	q.uncounted += bytes
}

// removeBytes takes bytes that it has not sent from a flow that is in the queue. The
// queue is served up to now.
func (q *queue) removeBytes(flows []flow, id int32, bytes model.Bytes) {
	f := &flows[id]
	f.due = max(f.due-float64(bytes)/f.weight, q.served)
	q.backlog -= float64(bytes)
	q.uncounted -= bytes
	q.fixEarlier(flows, f)
}

// reweigh changes a flow's weight. The queue is served up to now.
func (q *queue) reweigh(flows []flow, id int32, weight float64) {
	f := &flows[id]
	f.due = q.served + (f.due-q.served)*f.weight/weight
	q.weight += weight - f.weight
	f.weight = weight
	q.fixEarlier(flows, f)
}

// fixEarlier puts a flow that has changed where it belongs, if it ends earlier now.
func (q *queue) fixEarlier(flows []flow, f *flow) {
	q.markStale(f.slot)
	if e := &q.heap[f.slot]; e.due > f.due {
		e.due, e.weight = f.due, entryWeight(f.weight)
		q.rise(flows, int(f.slot))
	}
}

// markStale notes that the due of a flow in the heap may not be its own.
func (q *queue) markStale(slot int32) {
	q.heap[slot].weight = 0
	if slot == 0 {
		q.firstWeight = 0
	}
}

// remove takes a flow out and returns the bytes it had not sent. The queue is
// served up to now.
func (q *queue) remove(flows []flow, id int32) float64 {
	f := &flows[id]
	left := max((f.due-q.served)*f.weight, 0)
	slot, last := int(f.slot), len(q.heap)-1
	f.slot = idle
	q.weight -= f.weight
	q.backlog -= left
	if slot != last {
		q.heap[slot] = q.heap[last]
		flows[q.heap[slot].id].slot = toInt32(slot)
	}
	q.heap = q.heap[:last]
	if slot != last {
		q.rise(flows, slot)
		q.sink(flows, int(flows[q.heap[slot].id].slot))
	}
	if last == 0 { // then it does not pass
		q.weight, q.backlog = 0, 0
	}
	return left
}

// rise and sink restore the heap around a slot.
func (q *queue) rise(flows []flow, slot int) {
	e := q.heap[slot]
	for slot > 0 {
		parent := (slot - 1) / 2
		if q.heap[parent].due <= e.due {
			break
		}
		q.put(flows, slot, q.heap[parent])
		slot = parent
	}
	q.put(flows, slot, e)
}

func (q *queue) sink(flows []flow, slot int) {
	e := q.heap[slot]
	for {
		child := 2*slot + 1
		if child+1 < len(q.heap) && q.heap[child+1].due < q.heap[child].due {
			child++
		}
		if child >= len(q.heap) || q.heap[child].due >= e.due {
			break
		}
		q.put(flows, slot, q.heap[child])
		slot = child
	}
	q.put(flows, slot, e)
}

func (q *queue) put(flows []flow, slot int, e entry) {
	q.heap[slot] = e
	if slot == 0 {
		q.firstDue, q.firstWeight = e.due, e.weight
	}
	flows[e.id].slot = toInt32(slot)
}

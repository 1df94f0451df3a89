package fluid

import "heddle/core/heap"

// order is jobs by key, the least first, ties by number. It knows where every job
// is, so that a job whose key changed is moved in O(log n).
type order struct {
	heap heap.Heap[keyed]
	at   []int // place of each job in the heap, plus 1; 0 is not in it
}

type keyed struct {
	key float64
	job int
}

func (a keyed) before(b keyed) bool { return a.key < b.key || (a.key == b.key && a.job < b.job) }

func newOrder(n int) order {
	at := make([]int, n)
	return order{heap: heap.NewIndexed(keyed.before, func(k keyed, place int) { at[k.job] = place + 1 }), at: at}
}

// first returns the job with the least key.
func (o *order) first() (keyed, bool) {
	if o.heap.Len() == 0 {
		return keyed{}, false
	}
	return o.heap.First(), true
}

// set puts a job in, or moves it to its new key.
func (o *order) set(job int, key float64) {
	if place := o.at[job] - 1; place >= 0 {
		o.heap.Set(place, keyed{key, job})
	} else {
		o.heap.Push(keyed{key, job})
	}
}

// remove takes a job out, if it is in.
func (o *order) remove(job int) {
	if place := o.at[job] - 1; place >= 0 {
		o.at[job] = 0
		o.heap.Remove(place)
	}
}

package fluid

// order is jobs by key, the least first, ties by number: a heap that knows where
// every job is, so that a job whose key changed is moved in O(log n).
type order struct {
	heap []keyed
	at   []int // place of each job in the heap, plus 1; 0 is not in it
}

type keyed struct {
	key float64
	job int
}

func (a keyed) before(b keyed) bool { return a.key < b.key || (a.key == b.key && a.job < b.job) }

func newOrder(n int) order { return order{at: make([]int, n)} }

// first returns the job with the least key.
func (o *order) first() (keyed, bool) {
	if len(o.heap) == 0 {
		return keyed{}, false
	}
	return o.heap[0], true
}

// set puts a job in, or moves it to its new key.
func (o *order) set(job int, key float64) {
	i := o.at[job] - 1
	if i < 0 {
		i = len(o.heap)
		o.heap = append(o.heap, keyed{})
	}
	o.settle(i, keyed{key, job})
}

// remove takes a job out, if it is in.
func (o *order) remove(job int) {
	i := o.at[job] - 1
	if i < 0 {
		return
	}
	last := o.heap[len(o.heap)-1]
	o.heap = o.heap[:len(o.heap)-1]
	o.at[job] = 0
	if last.job != job {
		o.settle(i, last)
	}
}

// settle finds the place of a job, from a free place on.
func (o *order) settle(i int, e keyed) {
	for i > 0 && e.before(o.heap[(i-1)/2]) {
		o.put(i, o.heap[(i-1)/2])
		i = (i - 1) / 2
	}
	for {
		child := 2*i + 1
		if child+1 < len(o.heap) && o.heap[child+1].before(o.heap[child]) {
			child++
		}
		if child >= len(o.heap) || !o.heap[child].before(e) {
			break
		}
		o.put(i, o.heap[child])
		i = child
	}
	o.put(i, e)
}

func (o *order) put(i int, e keyed) {
	o.heap[i] = e
	o.at[e.job] = i + 1
}

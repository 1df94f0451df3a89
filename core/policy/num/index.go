package num

import (
	"cmp"
	"math"

	"heddle/core/policy/num/schedule"

	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/state"
)

// entry is what is kept of one live job.
type entry struct {
	id        model.AppID
	submitted model.Time
	fluid     schedule.Job // as it was sized last
	due       bool         // reduces may run
	ready     bool         // there is something for a reduce to fetch, or the maps are over
	buffered  int64        // map output that reduces could fetch, in parts of bufferUnit
	wait      policy.Wait  // for a node-local map
	rank      [2]int       // of its maps and of its reduces in the last Plan

	at  [maxOrders]int // place in each order, plus 1; 0 is not in it
	key [maxOrders]float64
}

// maxOrders is how many orders there can be: the shuffle queue, and two lanes
// for each of P1 and P2.
const maxOrders = 5

// order is the jobs of one lane of a schedule that have a task to start, as a
// heap.
type order struct {
	n       int // its number, below maxOrders
	policy  schedule.Schedule
	lane    int
	shuffle bool // the shuffle queue; else a lane of the map queue

	heap   []*entry
	ratios int64 // of the jobs in it, in parts of ratioUnit
}

// compare is the order of the queue: by key, then by arrival. Reduces that have
// something to fetch go before those that have not.
func (o *order) compare(a, b *entry) int {
	if o.shuffle && a.ready != b.ready {
		if a.ready {
			return -1
		}
		return 1
	}
	if c := cmp.Or(cmp.Compare(a.key[o.n], b.key[o.n]), cmp.Compare(a.submitted, b.submitted)); c != 0 {
		return c
	}
	return cmp.Compare(a.id, b.id)
}

// Ratios are compared and summed in whole numbers: a sum does not depend on the
// order in which jobs come and go, and the mean of equal ratios is none other.
const (
	ratioUnit = 1e-6
	ratioMax  = 1e6
)

func parts(e *entry) int64 { return int64(math.Round(min(e.fluid.Ratio, ratioMax) / ratioUnit)) }

// of returns whether the job has a task to start in the order, and its key.
func (o *order) of(e *entry, j *state.Job) (key float64, in bool) {
	if o.shuffle {
		if o.policy.Shares() {
			key = held(j.Reduce)
		} else {
			key = o.policy.ShuffleKey(&e.fluid)
		}
		return key, e.due && j.Reduce.Pending > 0
	}
	key, in = o.policy.MapKey(o.lane, &e.fluid)
	if o.policy.Shares() {
		key = held(j.Map)
	}
	return key, in && j.Map.Pending > 0
}

// held is the memory that running tasks of a stage have: whoever has least is
// furthest below an equal share.
func held(s *state.Stage) float64 {
	return float64(s.Running) * float64(s.Capability.MemoryMiB)
}

// index holds the live jobs in the orders the schedules need.
type index struct {
	sizes    *Sizes
	jobs     policy.Jobs[entry]
	orders   []*order
	shuffle  *order // one of them
	buffered int64  // of all jobs past slowstart, in parts of bufferUnit

	mark     state.Revision // up to which the jobs are as the cluster has them
	changed  []*state.Job   // since then; empty between offers
	total    model.Resource // of the nodes that ran when capacity was computed
	capacity capacity
}

// bufferUnit is a microsecond of the network, in seconds.
const bufferUnit = 1e-6

// add makes an order.
func (x *index) add(policy schedule.Schedule, lane int, shuffle bool) *order {
	o := &order{n: len(x.orders), policy: policy, lane: lane, shuffle: shuffle}
	x.orders = append(x.orders, o)
	return o
}

// look brings the index up to date: the jobs that changed, or all when nodes
// came or went, because the sizes are in parts of what the cluster can do.
func (x *index) look(v state.View) {
	if total := v.Capacity().Total; total != x.total {
		x.total, x.capacity = total, x.sizes.capacity(v)
		x.mark = state.Revision{}
	}
	x.changed, x.mark = v.Changed(x.mark, x.changed[:0])
	for i, j := range x.changed {
		if j.State.Final() {
			x.jobs.Drop(j)
		} else {
			x.take(j)
		}
		x.changed[i] = nil
	}
	x.jobs.Prune(v)
}

// take sizes a job and puts it where it belongs.
func (x *index) take(j *state.Job) {
	e := x.jobs.Of(j)
	e.id, e.submitted = j.ID, j.Submitted
	before := parts(e)
	x.buffered -= e.buffered
	x.sizes.measure(e, j, &x.capacity)
	x.buffered += e.buffered
	for _, o := range x.orders {
		if e.at[o.n] > 0 {
			o.ratios += parts(e) - before
		}
	}
	x.follow(e, j)
}

// left takes a job out that is forgotten.
func (x *index) left(e *entry) {
	for _, o := range x.orders {
		o.remove(e)
	}
	x.buffered -= e.buffered
}

// follow puts a job where it belongs in every order.
func (x *index) follow(e *entry, j *state.Job) {
	for _, o := range x.orders {
		key, in := o.of(e, j)
		switch {
		case !in:
			o.remove(e)
		case e.at[o.n] == 0:
			e.key[o.n] = key
			o.push(e)
		default:
			e.key[o.n] = key
			o.fix(e.at[o.n] - 1)
		}
	}
}

func (o *order) push(e *entry) {
	o.heap = append(o.heap, e)
	o.ratios += parts(e)
	e.at[o.n] = len(o.heap)
	o.fix(len(o.heap) - 1)
}

// remove takes a job out, if it is in.
func (o *order) remove(e *entry) {
	i := e.at[o.n] - 1
	if i < 0 {
		return
	}
	last := len(o.heap) - 1
	o.swap(i, last)
	o.heap[last] = nil
	o.heap = o.heap[:last]
	o.ratios -= parts(e)
	e.at[o.n] = 0
	if i < last {
		o.fix(i)
	}
}

func (o *order) swap(i, k int) {
	o.heap[i], o.heap[k] = o.heap[k], o.heap[i]
	o.heap[i].at[o.n], o.heap[k].at[o.n] = i+1, k+1
}

// fix restores the heap after the entry at i changed.
func (o *order) fix(i int) {
	for i > 0 && o.compare(o.heap[i], o.heap[(i-1)/2]) < 0 {
		o.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
	for {
		first := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(o.heap); child++ {
			if o.compare(o.heap[child], o.heap[first]) < 0 {
				first = child
			}
		}
		if first == i {
			return
		}
		o.swap(i, first)
		i = first
	}
}

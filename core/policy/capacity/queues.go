package capacity

import (
	"cmp"
	"slices"

	"heddle/core/state"
)

// queue is a leaf queue at one offer.
type queue struct {
	*state.Queue
	conf     Queue
	capacity float64 // guaranteed, in MiB
	most     int64   // it may grow to, in MiB
	free     float64 // MiB no other queue uses
	used     float64 // of capacity
	limit    float64 // MiB a user of weight 1 may have; below 0 until it is needed
}

// rank lists the queues by used capacity, the least first; of two that use as
// much the larger goes first (PriorityUtilizationQueueOrderingPolicy with equal
// priorities), then the one whose path is first.
func (p *Policy) rank(v state.View) {
	total := v.Capacity().Total
	leaves := v.Root().Leaves()
	unnamed := 0
	for _, q := range leaves {
		if _, ok := p.named[leaf(string(q.ID))]; !ok {
			unnamed++
		}
	}
	p.queues = p.queues[:0]
	for _, q := range leaves {
		conf, ok := p.named[leaf(string(q.ID))]
		if !ok {
			conf = DefaultQueue()
			conf.Capacity = p.left / float64(unnamed)
		}
		memory := float64(total.MemoryMiB)
		r := queue{Queue: q, conf: conf, limit: -1}
		r.capacity = max(memory*conf.Capacity/100, float64(p.params.MinAllocation)) // a queue of next to nothing gets on too
		r.most = int64(memory * conf.MaximumCapacity / 100)
		r.free = memory - float64(v.Root().Usage.MemoryMiB-q.Usage.MemoryMiB)
		r.used = float64(q.Usage.MemoryMiB) / r.capacity
		p.queues = append(p.queues, r)
	}
	slices.SortFunc(p.queues, compareQueues)
}

func compareQueues(a, b queue) int {
	return cmp.Or(cmp.Compare(a.used, b.used), cmp.Compare(b.conf.Capacity, a.conf.Capacity), cmp.Compare(a.ID, b.ID))
}

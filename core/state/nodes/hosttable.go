package nodes

import (
	"iter"
	"math/bits"
)

// HostTable holds a value for each of some hosts, by number: a job's tasks may
// be on three hosts or on all of them. It is a hash table with linear probing
// that drops no single host, so that values move only when it grows. Offers look
// hosts up all the time, which a map made 12 to 19 % slower.
type HostTable[V any] struct {
	slots []hostSlot[V] // as many as a power of two, at most three quarters of them taken
	taken int
}

type hostSlot[V any] struct {
	key   int32 // one more than the host's number, 0 where the slot is free
	value V
}

// Find returns the value of a host, nil if it is not in the table.
func (t *HostTable[V]) Find(host Host) *V {
	if t.taken == 0 || host == NoHost {
		return nil
	}
	if s := t.probe(int32(host) + 1); s.key != 0 {
		return &s.value
	}
	return nil
}

// At returns the value of a host, zero if it is not in the table.
func (t *HostTable[V]) At(host Host) V {
	if v := t.Find(host); v != nil {
		return *v
	}
	var zero V
	return zero
}

// Entry returns the value of a host, which it adds as zero if the table lacks it.
// The pointer is valid until the next call that adds one.
func (t *HostTable[V]) Entry(host Host) *V {
	key := int32(host) + 1
	if len(t.slots) > 0 {
		if s := t.probe(key); s.key != 0 {
			return &s.value
		}
	}
	if 4*(t.taken+1) > 3*len(t.slots) {
		t.grow()
	}
	t.taken++
	s := t.probe(key)
	s.key = key
	return &s.value
}

// probe returns the slot of a key, or the free one where it belongs.
func (t *HostTable[V]) probe(key int32) *hostSlot[V] {
	const golden = 0x9e3779b9                            // 2^32 over the golden ratio: neighbours are spread out (Knuth, vol. 3, 6.4)
	mask := uint32(len(t.slots) - 1)                     //nolint:gosec // below the number of hosts
	i := uint32(key) * golden >> (32 - bits.Len32(mask)) //nolint:gosec // a hash
	for t.slots[i].key != key && t.slots[i].key != 0 {
		i = (i + 1) & mask
	}
	return &t.slots[i]
}

func (t *HostTable[V]) grow() {
	old := t.slots
	t.slots = make([]hostSlot[V], max(2*len(old), 4))
	for i := range old {
		if old[i].key != 0 {
			*t.probe(old[i].key) = old[i]
		}
	}
}

// Clear removes all hosts.
func (t *HostTable[V]) Clear() {
	clear(t.slots)
	t.taken = 0
}

// All yields the hosts and their values. The loop must add none.
func (t *HostTable[V]) All() iter.Seq2[Host, *V] {
	return func(yield func(Host, *V) bool) {
		for i := range t.slots {
			if s := &t.slots[i]; s.key != 0 && !yield(Host(s.key-1), &s.value) {
				return
			}
		}
	}
}

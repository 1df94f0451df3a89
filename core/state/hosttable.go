package state

import (
	"iter"
	"math/bits"
)

// hostTable holds a value for each of some hosts, by number: a job's tasks may
// be on three hosts or on all of them. It is open addressing with linear
// probing; a host stays in until the table is emptied, so that nothing ever moves
// but when it grows.
type hostTable[V any] struct {
	slots []hostSlot[V] // as many as a power of two, at most three quarters of them taken
	taken int
}

type hostSlot[V any] struct {
	key   int32 // one more than the host's number, 0 where the slot is free
	value V
}

// find returns the value of a host, nil if it is not in the table.
func (t *hostTable[V]) find(host hostNumber) *V {
	if t.taken == 0 || host == noHost {
		return nil
	}
	if s := t.probe(int32(host) + 1); s.key != 0 {
		return &s.value
	}
	return nil
}

// at returns the value of a host, zero if it is not in the table.
func (t *hostTable[V]) at(host hostNumber) V {
	if v := t.find(host); v != nil {
		return *v
	}
	var zero V
	return zero
}

// entry returns the value of a host, zero and new if it was not in the table. It
// is valid until the next one is made.
func (t *hostTable[V]) entry(host hostNumber) *V {
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
func (t *hostTable[V]) probe(key int32) *hostSlot[V] {
	const golden = 0x9e3779b9                            // 2^32 over the golden ratio: neighbours are spread out (Knuth, vol. 3, 6.4)
	mask := uint32(len(t.slots) - 1)                     //nolint:gosec // below the number of hosts
	i := uint32(key) * golden >> (32 - bits.Len32(mask)) //nolint:gosec // a hash
	for t.slots[i].key != key && t.slots[i].key != 0 {
		i = (i + 1) & mask
	}
	return &t.slots[i]
}

func (t *hostTable[V]) grow() {
	old := t.slots
	t.slots = make([]hostSlot[V], max(2*len(old), 4))
	for i := range old {
		if old[i].key != 0 {
			*t.probe(old[i].key) = old[i]
		}
	}
}

// empty takes all hosts out.
func (t *hostTable[V]) empty() {
	clear(t.slots)
	t.taken = 0
}

// all yields the hosts and their values. None may be added meanwhile.
func (t *hostTable[V]) all() iter.Seq2[hostNumber, *V] {
	return func(yield func(hostNumber, *V) bool) {
		for i := range t.slots {
			if s := &t.slots[i]; s.key != 0 && !yield(hostNumber(s.key-1), &s.value) {
				return
			}
		}
	}
}

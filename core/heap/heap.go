// Package heap is a binary heap of values. container/heap keeps none of its own and
// boxes every value it is given, which costs simulations a few per cent.
package heap

// Heap holds values, and knows the first of them. Values that are equal in order
// come in an order that depends on nothing but the calls before.
type Heap[T any] struct {
	items  []T
	before func(a, b T) bool
	moved  func(item T, place int)
}

// New returns an empty heap in which a value comes first that is before all others.
func New[T any](before func(a, b T) bool) Heap[T] { return Heap[T]{before: before} }

// NewIndexed returns an empty heap that calls moved with the place of every value
// that it adds or moves, for Set and Remove. What it removes has no place any more.
func NewIndexed[T any](before func(a, b T) bool, moved func(item T, place int)) Heap[T] {
	return Heap[T]{before: before, moved: moved}
}

// Len returns how many values there are.
func (h *Heap[T]) Len() int { return len(h.items) }

// First returns the first value; the heap must not be empty.
func (h *Heap[T]) First() T { return h.items[0] }

// Items returns the values in no order that matters, the first value first. They
// are the heap's own.
func (h *Heap[T]) Items() []T { return h.items }

// Push adds a value.
func (h *Heap[T]) Push(item T) {
	h.items = append(h.items, item)
	h.sift(len(h.items)-1, item)
}

// Pop removes the first value; the heap must not be empty.
func (h *Heap[T]) Pop() T { return h.Remove(0) }

// Set replaces the value of a place.
func (h *Heap[T]) Set(place int, item T) { h.sift(place, item) }

// Remove removes the value of a place.
func (h *Heap[T]) Remove(place int) T {
	item, last := h.items[place], len(h.items)-1
	moving := h.items[last]
	clear(h.items[last:]) // keep nothing of what leaves
	h.items = h.items[:last]
	if place < last {
		h.sift(place, moving)
	}
	return item
}

// sift puts a value where it belongs, from a place on whose value is not needed.
func (h *Heap[T]) sift(place int, item T) {
	for place > 0 {
		parent := (place - 1) / 2
		if !h.before(item, h.items[parent]) {
			break
		}
		h.put(place, h.items[parent])
		place = parent
	}
	for {
		child := 2*place + 1
		if child+1 < len(h.items) && h.before(h.items[child+1], h.items[child]) {
			child++
		}
		if child >= len(h.items) || !h.before(h.items[child], item) {
			break
		}
		h.put(place, h.items[child])
		place = child
	}
	h.put(place, item)
}

func (h *Heap[T]) put(place int, item T) {
	h.items[place] = item
	if h.moved != nil {
		h.moved(item, place)
	}
}

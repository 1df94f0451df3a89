package jobs

import "slices"

// ranking is a list in an order without ties. It stays empty until it is filled.
type ranking[T comparable] struct {
	list    []T
	compare func(a, b T) int
}

// fill replaces the list.
func (r *ranking[T]) fill(items []T) {
	clear(r.list)
	r.list = append(r.list[:0], items...)
	slices.SortFunc(r.list, r.compare)
}

func (r *ranking[T]) insert(item T) {
	if i, found := slices.BinarySearchFunc(r.list, item, r.compare); !found {
		r.list = slices.Insert(r.list, i, item)
	}
}

func (r *ranking[T]) remove(item T) {
	if i := r.find(item); i >= 0 {
		r.list = slices.Delete(r.list, i, i+1)
	}
}

// find returns the place of an item, -1 if it is not listed. The item must still
// be in order.
func (r *ranking[T]) find(item T) int {
	i, found := slices.BinarySearchFunc(r.list, item, r.compare)
	if !found {
		return -1
	}
	return i
}

// move moves the item at a place to where it belongs by now: O(log n) to find
// it, and one copy of what lies between. A place below 0 is none.
func (r *ranking[T]) move(from int) {
	if from < 0 {
		return
	}
	l := r.list
	item := l[from]
	switch {
	case from+1 < len(l) && r.compare(l[from+1], item) < 0:
		to, _ := slices.BinarySearchFunc(l[from+1:], item, r.compare)
		copy(l[from:], l[from+1:from+1+to])
		l[from+to] = item
	case from > 0 && r.compare(item, l[from-1]) < 0:
		to, _ := slices.BinarySearchFunc(l[:from], item, r.compare)
		copy(l[to+1:from+1], l[to:from])
		l[to] = item
	}
}

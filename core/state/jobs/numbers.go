package jobs

// numbers numbers jobs or users.
type numbers[T any] struct {
	of   []*T // by number, nil for one that is free
	free []int
}

// add returns a number for one more: the last that became free, if any did.
func (n *numbers[T]) add(one *T) int {
	last := len(n.free) - 1
	if last < 0 {
		n.of = append(n.of, one)
		return len(n.of) - 1
	}
	number := n.free[last]
	n.free = n.free[:last]
	n.of[number] = one
	return number
}

func (n *numbers[T]) release(number int) {
	n.of[number] = nil
	n.free = append(n.free, number)
}

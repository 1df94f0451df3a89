package topology

// At returns s[i], or zero beyond the end. A slice by rack number may be shorter
// than the number of racks.
func At[T any](s []T, i int) T {
	if i < len(s) {
		return s[i]
	}
	var zero T
	return zero
}

// Extend returns s with zeros appended until it has an element i.
func Extend[T any](s []T, i int) []T {
	for len(s) <= i {
		var zero T
		s = append(s, zero)
	}
	return s
}

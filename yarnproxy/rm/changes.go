package rm

// wholeEvery is how many rounds share one whole list: what comes in between is what changed.
// A recording that lost records is right again after the next one.
const wholeEvery = 60

// sent is what was last sent of a list, by id.
type sent[K, T comparable] struct {
	entries map[K]T
	age     int // rounds since the whole list
}

// changes returns the entries of a list that differ from those sent last, and whether that
// says all there is to say: nothing has left the list, and a whole one was sent lately.
// Otherwise it returns the whole list.
func (s *sent[K, T]) changes(list []T, id func(*T) K) (changed []T, partial bool) {
	changed = make([]T, 0, len(list)/8)
	known := 0
	for i := range list {
		old, ok := s.entries[id(&list[i])]
		if ok {
			known++
		}
		if !ok || old != list[i] {
			changed = append(changed, list[i])
		}
	}
	partial = s.age < wholeEvery-1 && len(s.entries) > 0 && known == len(s.entries)
	if s.age++; !partial {
		s.age, s.entries, changed = 0, make(map[K]T, len(list)), list
	}
	for i := range changed {
		s.entries[id(&changed[i])] = changed[i]
	}
	return changed, partial
}

// forget makes the next list a whole one.
func (s *sent[K, T]) forget() { s.entries = nil }

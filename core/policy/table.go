package policy

// table is what is kept of things that have a number and an id: a number may be
// another's by now, and then nothing is kept of whoever has it.
type table[K comparable, V any] struct {
	rows []row[K, V] // by number
	n    int
	gone func(*V) // is shown each value before it is forgotten; nil for nobody
}

type row[K comparable, V any] struct {
	id K
	v  *V // nil for none
}

// Len returns of how many something is kept.
func (t *table[K, V]) Len() int { return t.n }

func (t *table[K, V]) find(number int, id K) *V {
	if number < len(t.rows) && t.rows[number].id == id {
		return t.rows[number].v
	}
	return nil
}

func (t *table[K, V]) of(number int, id K) *V {
	if v := t.find(number, id); v != nil {
		return v
	}
	for number >= len(t.rows) {
		t.rows = append(t.rows, row[K, V]{})
	}
	t.clear(&t.rows[number]) // whose the number was before
	t.rows[number] = row[K, V]{id, new(V)}
	t.n++
	return t.rows[number].v
}

func (t *table[K, V]) clear(r *row[K, V]) {
	if r.v == nil {
		return
	}
	v := r.v
	*r = row[K, V]{}
	t.n--
	if t.gone != nil {
		t.gone(v)
	}
}

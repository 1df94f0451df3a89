package asks

import (
	"slices"

	"heddle/core/model"
)

// lastCall is the last call and what was made of it, for when it is repeated.
type lastCall struct {
	known bool
	ID    int32
	Print uint64 // of its rows
	Same  bool
	Rows  []Row
}

// remember keeps an edit for a repetition. Its rows stay in the memory they are
// in; the next call uses the other one.
func (t *Table) remember(id int32, seen uint64, e *Edit) {
	l := &t.last
	l.known, l.ID, l.Print, l.Same = true, id, seen, e.Same
	if e.Same {
		l.Rows = l.Rows[:0]
		return
	}
	l.Rows, t.round.out.rows = t.round.out.rows, l.Rows
	e.Rows = l.Rows
}

// fingerprint tells calls with other rows apart (FNV-1a, 64 bits).
func fingerprint(rows []Row) uint64 {
	const prime = 1099511628211
	h := uint64(14695981039346656037)
	for i := range rows {
		for _, b := range rows[i].Raw {
			h = (h ^ uint64(b)) * prime
		}
		h = (h ^ uint64(len(rows[i].Raw))) * prime // ends a row
	}
	return h
}

// repeat is the edit of the last call once more. The ResourceManager either has
// applied it and ignores it now, or has never seen it: nothing else would be
// the same in both cases (relay-facts.md 5).
func repeat(t *Table) Edit {
	t.round.out.steps = t.round.out.steps[:0]
	if t.last.Same {
		return Edit{Same: true}
	}
	rows := t.last.Rows
	var previous *key
	for i := range rows {
		k := t.find(rows[i].Key)
		if rows[i].Verbatim || k == nil || k == previous {
			continue
		}
		t.round.out.step(k.Key, k.Shown.Stage, model.ActionRepeat, "")
		previous = k
	}
	return Edit{Rows: rows, Steps: t.round.out.steps}
}

// repeatOther takes a call that repeats an id but has other rows: AMRMClient adds
// what came up meanwhile to a call that failed. Whether the ResourceManager has
// applied the first edit, and ignores the second, is unknown, so that the second
// has all rows of the first, and the next call those that are new in the second.
func repeatOther(t *Table, now model.Time, r *Request, in *Intent) Edit {
	first := slices.Clone(t.last.Rows)
	out := &t.round.out
	t.quiet.known, t.uncertain = false, true
	edit := t.process(now, r, in)
	second := len(out.rows) // also when the call may go on as it came
	for i := range first {
		if f := &first[i]; !says(out.rows[:second], f) {
			out.rows = append(out.rows, *f)
			edit.Same = false
		}
	}
	edit.Rows = nil
	if !edit.Same {
		edit.Rows = out.rows
	}
	return edit
}

// says reports whether rows have one of the same name, or drop the key.
func says(rows []Row, f *Row) bool {
	return slices.ContainsFunc(rows, func(s Row) bool {
		return s.Key == f.Key && (s.Name == f.Name || s.Name == model.AnyName && s.Count <= 0)
	})
}

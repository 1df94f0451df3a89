package policy

import "heddle/core/model"

// Wait is what a policy remembers of a user, a job or a rack that lets offers
// pass until a better one comes. Each policy says what the fields count; the zero
// value has not waited.
type Wait struct {
	On    bool           // it has let an offer pass that it would take once it has waited
	Since model.Time     // when it did so first
	Spent model.Duration // how long it has waited in all
	Skips int            // how many offers it has let pass
	Level model.Locality // the worst locality it takes
	Owed  float64        // parts of containers it has yet to be given
}

// Journal takes back what an offer or a question changed in a policy's memory.
// The engine opens a checkpoint before it asks and keeps or discards what follows.
// A nil journal, and one without a checkpoint, records nothing.
type Journal struct {
	open      int // checkpoints
	questions int // of them
	waits     []savedWait
	undo      []func()
}

type savedWait struct {
	at  *Wait
	was Wait
}

// Checkpoint is a place in a journal.
type Checkpoint struct {
	waits, undo int
	question    bool
}

// Begin opens a checkpoint. What a question changes is always discarded: only then
// does Save record anything, so that ordinary offers allocate nothing.
func (j *Journal) Begin(question bool) Checkpoint {
	j.open++
	if question {
		j.questions++
	}
	return Checkpoint{len(j.waits), len(j.undo), question}
}

// Keep closes the newest checkpoint and keeps what changed since.
func (j *Journal) Keep(c Checkpoint) {
	j.end(c)
	if j.open == 0 {
		j.waits, j.undo = j.waits[:0], j.undo[:0]
	}
}

// Discard closes the newest checkpoint and restores what changed since.
func (j *Journal) Discard(c Checkpoint) {
	for i := len(j.undo) - 1; i >= c.undo; i-- {
		j.undo[i]()
	}
	// After the values that were saved whole: those may contain waits that had changed by then.
	for i := len(j.waits) - 1; i >= c.waits; i-- {
		*j.waits[i].at = j.waits[i].was
	}
	clear(j.undo[c.undo:])
	j.waits, j.undo = j.waits[:c.waits], j.undo[:c.undo]
	j.end(c)
}

func (j *Journal) end(c Checkpoint) {
	j.open--
	if c.question {
		j.questions--
	}
}

// Edit returns a wait that is about to change, and records it as it is.
func (j *Journal) Edit(w *Wait) *Wait {
	if j != nil && j.open > 0 {
		j.waits = append(j.waits, savedWait{w, *w})
	}
	return w
}

// Asking reports whether the answer to a question is being worked out.
func (j *Journal) Asking() bool { return j != nil && j.questions > 0 }

// Save has a question restore a value as it is now. The value must not share
// memory with what the question writes to: clear its slices after saving them.
func Save[T any](j *Journal, p *T) {
	if j.Asking() {
		was := *p
		j.undo = append(j.undo, func() { *p = was })
	}
}

// Package pseudonym replaces the names in a recording by pseudonyms, so that it can be
// given to others: hosts, racks, users, queues, job names, paths, tags, workflows, stages
// of graphs, and addresses. Sizes, times, counts and the ids of applications and
// containers stay; texts for people are replaced by fixed phrases.
//
// A recording with pseudonyms replays to the same decisions. Names that are equal have
// equal pseudonyms, and everything the core derives from names holds for the pseudonyms
// too: which hosts share a short name, which path lies below which, which names are those
// of one recurring job, and how names are ordered, by which ties are broken. For the order
// a pseudonym has the rank of its name among the names of its kind in the recording. The
// rest of it is a keyed hash of the name (HMAC-SHA256).
//
// Names are collected first, from all records; a Table of them then replaces them. What
// stays as it is, and why, is in kept.go.
package pseudonym

import (
	"errors"
	"fmt"

	"heddle/core/model"
	"heddle/core/trace"
)

// kind is a kind of names. Names of two kinds are never compared.
type kind int

const (
	label    kind = iota // the first label of a host's name, or an address; by order of node ids
	domain               // the rest of a host's name
	rack                 // by its whole path
	user                 // of an application
	queue                // a queue's path below the root
	job                  // the normalised name of a job
	folder               // one name in a path, with the path to it
	tag                  // of an application
	workflow             // id or name of a workflow
	step                 // name of a job in its workflow
	vertex               // name of a stage in a graph of stages
	config               // hash of a configuration
	word                 // of a closed set, and not in it
	kinds
)

// String returns what one of the names is.
func (k kind) String() string {
	return [kinds]string{
		label: "host", domain: "domain", rack: "rack", user: "user", queue: "queue", job: "job name", folder: "path name", tag: "tag",
		workflow: "workflow", step: "workflow step", vertex: "graph stage", config: "configuration", word: "other word",
	}[k]
}

// ErrPseudonymized says that a recording has pseudonyms already.
var ErrPseudonymized = errors.New("the recording has pseudonyms already")

// Names are the names in a recording.
type Names struct {
	found [kinds]map[string]string // by name: what it is ordered by
	nodes map[string]string        // by label: the least node id of a host that begins with it
	ids   map[string]bool          // of nodes
}

// NewNames returns an empty collection.
func NewNames() *Names {
	n := &Names{nodes: map[string]string{}, ids: map[string]bool{}}
	for k := range n.found {
		n.found[k] = map[string]string{}
	}
	return n
}

// AddHeader collects the names in a header. It uses h up: what is left of it is of no use.
func (n *Names) AddHeader(h *trace.Header) error {
	w := records{&walk{names: n}}
	w.header(h)
	return w.err
}

// Add collects the names in a record. It uses r up: what is left of it is of no use.
func (n *Names) Add(r *trace.Record) error {
	w := records{&walk{names: n}}
	w.record(r)
	return w.err
}

// note collects one name, and returns it.
func (n *Names) note(k kind, name, key string) (string, error) {
	if old, ok := n.found[k][name]; !ok || key < old {
		n.found[k][name] = key
	}
	return name, nil
}

// noteNode collects the id of a node. Ids of nodes order hosts.
func (n *Names) noteNode(first, id string) {
	n.ids[id] = true
	if old, ok := n.nodes[first]; !ok || id < old {
		n.nodes[first] = id
	}
}

// Header replaces the names in a header, and marks it.
func (t *Table) Header(h *trace.Header) error {
	w := records{&walk{names: t}}
	w.header(h)
	h.Pseudonymized = true
	return w.err
}

// Record replaces the names in a record.
func (t *Table) Record(r *trace.Record) error {
	w := records{&walk{names: t}}
	w.record(r)
	if m := r.Mark; m != nil && m.Header != nil {
		m.Header.Pseudonymized = true
	}
	return w.err
}

// walk takes names in their parts. Each part is noted, or replaced.
type walk struct {
	names interface {
		// note returns what stands for a name that is ordered by a key.
		note(k kind, name, key string) (string, error)
		// noteNode is shown the first label of a node's host and the node's id.
		noteNode(first, id string)
	}
	err error // the first
}

// records takes records apart for a walk.
type records struct{ *walk }

// fail keeps the first error.
func (w *walk) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
}

// name returns what stands for a name that is ordered by a key; nothing for an empty one.
func (w *walk) name(k kind, name, key string) string {
	if name == "" || w.err != nil {
		return name
	}
	out, err := w.names.note(k, name, key)
	if err != nil {
		w.err = err
	}
	return out
}

// rename replaces a name that is ordered by itself.
func rename[S ~string](w *walk, k kind, s *S) { *s = S(w.name(k, string(*s), string(*s))) }

// renameEach replaces every element of a list.
func renameEach[S any](list []S, by func(*S)) {
	for i := range list {
		by(&list[i])
	}
}

// renameKeys replaces the keys of a map. Two keys never become one.
func renameKeys[K ~string, V any](m map[K]V, by func(*K)) map[K]V {
	if m == nil {
		return nil
	}
	out := make(map[K]V, len(m))
	for k, v := range m { // order-free: each key is replaced on its own
		by(&k)
		out[k] = v
	}
	return out
}

// record visits the names in a record.
func (w records) record(r *trace.Record) {
	switch {
	case r.Observation != nil:
		renameWord(w.walk, &r.Observation.Source, keptSource)
		r.Observation.Fact = w.fact(r.Observation.Fact)
	case r.Decision != nil:
		w.decision(r.Decision)
	case r.Mark != nil:
		w.mark(r.Mark)
	}
}

func (w records) decision(d *model.Decision) {
	renameWord(w.walk, &d.Policy, keptPolicy)
	if p := d.Placement; p != nil {
		w.app(&p.App)
		renameWord(w.walk, &p.Stage, keptStage)
		w.node(&p.Node)
		renameWord(w.walk, &p.Reason, keptReason)
	}
	if p := d.Plan; p != nil {
		w.app(&p.App)
		renameWord(w.walk, &p.Stage, keptStage)
		renameWord(w.walk, &p.Reason, keptReason)
		for i := range p.Racks {
			w.rack(&p.Racks[i].Rack)
		}
		for i := range p.Costs {
			renameWord(w.walk, &p.Costs[i].Name, keptCost)
		}
	}
}

func (w records) mark(m *trace.Mark) {
	if !keptMark(m.Name) {
		m.Name = "note"
	}
	m.Text = phraseOfMark(m.Text)
	if m.Header != nil {
		w.header(m.Header)
	}
}

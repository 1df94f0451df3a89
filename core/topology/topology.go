// Package topology numbers racks, and knows which rack a host is in and what
// each rack's uplink can carry.
package topology

import (
	"fmt"
	"strings"

	"heddle/core/model"
)

// Link is the capacity of a rack's uplink in each direction, bytes/s.
type Link struct {
	Out model.BytesPerSecond // from the rack into the core
	In  model.BytesPerSecond // from the core into the rack
}

// Uplinks gives the capacity of every rack's uplink. The zero value knows none.
type Uplinks struct {
	Default Link
	PerNode model.BytesPerSecond  // in place of Default: node interface rate over oversubscription, times the rack's nodes
	Racks   map[model.RackID]Link // of single racks, before the other two
}

// Of returns the uplink of a rack with so many nodes; a capacity of 0 means it
// is not known.
func (u Uplinks) Of(rack model.RackID, nodes int) Link {
	if l, ok := u.Racks[rack]; ok {
		return l
	}
	if u.PerNode > 0 {
		rate := u.PerNode * model.BytesPerSecond(nodes)
		return Link{Out: rate, In: rate}
	}
	return u.Default
}

// Tree numbers the racks 0, 1, 2, … in the order they were first named and
// maps hosts to them. Numbers never change and are never reused, so slices
// indexed by rack stay valid while racks come and go.
type Tree struct {
	racks []model.RackID
	index map[model.RackID]int
	hosts map[string]int
	short map[string]int // short host name -> rack, ambiguous when two hosts share it
}

const ambiguous = -1

// New returns an empty tree.
func New() *Tree {
	return &Tree{index: map[model.RackID]int{}, hosts: map[string]int{}, short: map[string]int{}}
}

// Len returns how many racks the tree has numbered.
func (t *Tree) Len() int { return len(t.racks) }

// ID returns the rack of a number.
func (t *Tree) ID(i int) model.RackID { return t.racks[i] }

// Lookup returns the number of a rack and whether the tree has it.
func (t *Tree) Lookup(r model.RackID) (int, bool) {
	i, ok := t.index[r]
	return i, ok
}

// Index returns the number of a rack, numbering it if it is new. A rack without
// a name is the default rack.
func (t *Tree) Index(r model.RackID) int {
	if r == "" {
		r = model.DefaultRack
	}
	if i, ok := t.index[r]; ok {
		return i
	}
	i := len(t.racks)
	t.racks = append(t.racks, r)
	t.index[r] = i
	return i
}

// Truncate forgets the racks from number n on, in which no host may be placed.
func (t *Tree) Truncate(n int) {
	for _, r := range t.racks[n:] {
		delete(t.index, r)
	}
	t.racks = t.racks[:n]
}

// Place records the rack of a host, replacing what was known.
func (t *Tree) Place(host string, r model.RackID) {
	i := t.Index(r)
	if old, ok := t.hosts[host]; ok && old == i {
		return
	}
	t.hosts[host] = i
	s := shortName(host)
	if have, ok := t.short[s]; ok && have != i {
		i = ambiguous
	}
	t.short[s] = i
}

// RackOf returns the rack number of a host: by its full name, else by its
// short name where all hosts of that short name are in one rack. ok is false
// for a host in no known rack.
func (t *Tree) RackOf(host string) (rack int, ok bool) {
	if i, ok := t.hosts[host]; ok {
		return i, true
	}
	if i, ok := t.short[shortName(host)]; ok && i != ambiguous {
		return i, true
	}
	return 0, false
}

func shortName(host string) string {
	if host == "" || (host[0] >= '0' && host[0] <= '9') { // an address has no short form
		return host
	}
	s, _, _ := strings.Cut(host, ".")
	return s
}

// ParseRack checks that a rack name is a path from the root ("/a/b").
func ParseRack(s string) (model.RackID, error) {
	if !strings.HasPrefix(s, "/") || len(s) < 2 || strings.HasSuffix(s, "/") || strings.ContainsAny(s, " \t\n") {
		return "", fmt.Errorf("rack %q: want a path from the root such as /rack1 or /dc1/rack01", s)
	}
	return model.RackID(s), nil
}

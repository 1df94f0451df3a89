package strict

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
)

// Document is a struct whose keys are given by several layers, the strongest
// first: a key keeps the first value it gets. It gathers all problems.
type Document struct {
	Keys     []Key
	Origins  map[string]Origin // of the keys that are given
	Places   map[string]Origin // of what a file holds: sections, keys, rows, entries; "" is the whole
	Failed   map[string]bool   // keys and sections that could not be read; "" is a file as a whole
	Problems Problems
	Hints    Hints
}

// NewDocument returns a document of the struct that config points to. whole is
// the origin of problems that belong to no key.
func NewDocument(config any, whole Origin, hints Hints) *Document {
	return &Document{
		Keys: KeysOf(config), Origins: map[string]Origin{},
		Places: map[string]Origin{"": whole}, Failed: map[string]bool{}, Hints: hints,
	}
}

// Find returns the key of a path.
func (d *Document) Find(path string) (Key, bool) {
	i := slices.IndexFunc(d.Keys, func(k Key) bool { return k.Path == path })
	if i < 0 {
		return Key{}, false
	}
	return d.Keys[i], true
}

// Report adds a problem of something that could not be read.
func (d *Document) Report(path string, from Origin, message string) {
	d.Failed[path] = true
	d.Problems = append(d.Problems, &Problem{Path: path, Origin: from, Message: message})
}

// give sets a key, unless a stronger layer has set it.
func (d *Document) give(k Key, from Origin, v reflect.Value) {
	if _, given := d.Origins[k.Path]; !given {
		k.Field.Set(v)
		d.Origins[k.Path] = from
	}
}

// GiveText is give with a value to be parsed. Its problems are reported also
// when a stronger layer has set the key.
func (d *Document) GiveText(path string, from Origin, text string) {
	k, ok := d.Find(path)
	if !ok {
		d.Report(path, from, "no such key of the configuration")
		return
	}
	v, err := parseText(k.Field.Type(), text, &d.Hints)
	if err != nil {
		d.Report(path, from, err.Error())
		return
	}
	d.give(k, from, v)
}

// ReadFile gives the keys of a YAML file.
func (d *Document) ReadFile(file, what string) {
	r := nodeReader{file: file, origins: d.Places, hints: &d.Hints}
	r.recordOrigin("", 0)
	if data, err := readLimited(file); err != nil {
		r.problem("", 0, fmt.Sprintf("read the %s: %v", what, err))
	} else if node, err := parseYAML(data); err != nil {
		line, message := yamlError(err)
		r.problem("", line, message)
	} else if node != nil {
		r.section(node, "", "", d.Keys, d.give)
	}
	for _, p := range r.problems {
		d.Report(p.Path, p.Origin, p.Message)
	}
}

// readLimited reads a file, and one byte more than its limit at most.
func readLimited(path string) ([]byte, error) {
	f, err := os.Open(path) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	return io.ReadAll(io.LimitReader(f, maxFileBytes+1))
}

// Check adds the problems that the tags of the fields and then rules find. It
// leaves out those that may only follow from a value that could not be read.
func (d *Document) Check(rules func(v *Validator)) {
	if d.Failed[""] {
		return
	}
	v := newValidator(d)
	for _, k := range d.Keys {
		if _, given := d.Origins[k.Path]; !given {
			continue
		}
		v.tags(k)
		for _, row := range rowKeys(k) {
			if _, given := d.Places[row.Path]; given || !row.Field.IsZero() {
				v.tags(row)
			}
		}
	}
	rules(v)
	for _, p := range v.Problems {
		if slices.ContainsFunc(append(p.also, p.Path), d.hasFailed) {
			continue
		}
		p.Origin = d.problemOrigin(p)
		d.Problems = append(d.Problems, p)
	}
}

// Err returns the problems in the order of their places, nil for none.
func (d *Document) Err() error {
	if len(d.Problems) == 0 {
		return nil
	}
	slices.SortStableFunc(d.Problems, func(a, b *Problem) int {
		return cmp.Or(cmp.Compare(a.Origin.File, b.Origin.File), cmp.Compare(a.Origin.Line, b.Origin.Line))
	})
	return d.Problems
}

// hasFailed reports whether a key, or a section it is in, could not be read.
func (d *Document) hasFailed(path string) bool {
	for ; path != ""; path = parent(path) {
		if d.Failed[path] {
			return true
		}
	}
	return false
}

// problemOrigin returns the place of a problem: where its key was given; else where
// a key was given that the problem also speaks of; else the nearest section of
// the file.
func (d *Document) problemOrigin(p *Problem) Origin {
	for _, path := range append([]string{p.Path}, p.also...) {
		if from, ok := d.originOf(path); ok {
			return from
		}
	}
	path := parent(p.Path)
	for d.Places[path] == (Origin{}) && path != "" {
		path = parent(path)
	}
	return d.Places[path]
}

// originOf returns where a key, or a row or entry of one, was given.
func (d *Document) originOf(path string) (Origin, bool) {
	owner, _, _ := strings.Cut(path, "[") // the key that a row or an entry belongs to
	for _, isKey := d.Find(owner); !isKey && owner != ""; _, isKey = d.Find(owner) {
		owner = parent(owner)
	}
	from, ok := d.Origins[owner]
	if !ok || from.Layer != LayerFile {
		return from, ok
	}
	for ; len(path) > len(owner); path = parent(path) {
		if place, ok := d.Places[path]; ok {
			return place, true
		}
	}
	return from, true
}

package configs

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
)

// document is a struct whose keys are given by several layers, the strongest
// first: a key keeps the first value it gets. It gathers all problems.
type document struct {
	config   any // a pointer to the struct
	keys     []key
	origins  map[string]Origin // of the keys that are given
	places   map[string]Origin // of what a file holds: sections, keys, rows, entries; "" is the whole
	failed   map[string]bool   // keys and sections that could not be read; "" is a file as a whole
	problems Problems
}

// newDocument returns a document of the struct that config points to. whole is
// the origin of problems that belong to no key.
func newDocument(config any, whole Origin) *document {
	return &document{
		config: config, keys: keysOf(config), origins: map[string]Origin{},
		places: map[string]Origin{"": whole}, failed: map[string]bool{},
	}
}

// find returns the key of a path.
func (d *document) find(path string) (key, bool) {
	i := slices.IndexFunc(d.keys, func(k key) bool { return k.path == path })
	if i < 0 {
		return key{}, false
	}
	return d.keys[i], true
}

// report adds a problem of something that could not be read.
func (d *document) report(path string, from Origin, message string) {
	d.failed[path] = true
	d.problems = append(d.problems, &Problem{Path: path, Origin: from, Message: message})
}

// give sets a key, unless a stronger layer has set it.
func (d *document) give(k key, from Origin, v reflect.Value) {
	if _, given := d.origins[k.path]; !given {
		k.field.Set(v)
		d.origins[k.path] = from
	}
}

// giveText is give with a value to be parsed. Its problems are reported also
// when a stronger layer has set the key.
func (d *document) giveText(path string, from Origin, text string) {
	k, ok := d.find(path)
	if !ok {
		d.report(path, from, "no such key of the configuration")
		return
	}
	v, err := parseText(k.field.Type(), text)
	if err != nil {
		d.report(path, from, err.Error())
		return
	}
	d.give(k, from, v)
}

// readFile gives the keys of a YAML file.
func (d *document) readFile(file, what string) {
	r := nodeReader{file: file, origins: d.places}
	r.recordOrigin("", 0)
	if data, err := readLimited(file); err != nil {
		r.problem("", 0, fmt.Sprintf("read the %s: %v", what, err))
	} else if node, err := parseYAML(data); err != nil {
		line, message := yamlError(err)
		r.problem("", line, message)
	} else if node != nil {
		r.section(node, "", "", d.keys, d.give)
	}
	for _, p := range r.problems {
		d.report(p.Path, p.Origin, p.Message)
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

// check adds the problems that the tags of the fields and then rules find. It
// leaves out those that may only follow from a value that could not be read.
func (d *document) check(rules func(v *validator)) {
	if d.failed[""] {
		return
	}
	v := newValidator(d)
	for _, k := range d.keys {
		if _, given := d.origins[k.path]; !given {
			continue
		}
		v.tags(k)
		for _, row := range rowKeys(k) {
			if _, given := d.places[row.path]; given || !row.field.IsZero() {
				v.tags(row)
			}
		}
	}
	rules(v)
	for _, p := range v.problems {
		if slices.ContainsFunc(append(p.also, p.Path), d.hasFailed) {
			continue
		}
		p.Origin = d.problemOrigin(p)
		d.problems = append(d.problems, p)
	}
}

// err returns the problems in the order of their places, nil for none.
func (d *document) err() error {
	if len(d.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(d.problems, func(a, b *Problem) int {
		return cmp.Or(cmp.Compare(a.Origin.File, b.Origin.File), cmp.Compare(a.Origin.Line, b.Origin.Line))
	})
	return d.problems
}

// hasFailed reports whether a key, or a section it is in, could not be read.
func (d *document) hasFailed(path string) bool {
	for ; path != ""; path = parent(path) {
		if d.failed[path] {
			return true
		}
	}
	return false
}

// problemOrigin returns the place of a problem: where its key was given; else where
// a key was given that the problem also speaks of; else the nearest section of
// the file.
func (d *document) problemOrigin(p *Problem) Origin {
	for _, path := range append([]string{p.Path}, p.also...) {
		if from, ok := d.originOf(path); ok {
			return from
		}
	}
	path := parent(p.Path)
	for d.places[path] == (Origin{}) && path != "" {
		path = parent(path)
	}
	return d.places[path]
}

// originOf returns where a key, or a row or entry of one, was given.
func (d *document) originOf(path string) (Origin, bool) {
	owner, _, _ := strings.Cut(path, "[") // the key that a row or an entry belongs to
	for _, isKey := d.find(owner); !isKey && owner != ""; _, isKey = d.find(owner) {
		owner = parent(owner)
	}
	from, ok := d.origins[owner]
	if !ok || from.Layer != LayerFile {
		return from, ok
	}
	for ; len(path) > len(owner); path = parent(path) {
		if place, ok := d.places[path]; ok {
			return place, true
		}
	}
	return from, true
}

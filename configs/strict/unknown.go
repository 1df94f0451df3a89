package strict

import (
	"fmt"
	"slices"
	"strings"
)

// maxListed bounds how many keys a problem lists as known.
const maxListed = 16

// Hints are what a problem of an unknown key says beyond the names of known ones.
type Hints struct {
	Removed  map[string]string // by the path of a key of older versions: why it was removed
	PathKeys string            // the keys and flags that name the file of a secret
}

// UnknownKey returns the problem of a name that is no key. nameOf returns the name
// of a key's path.
func (d *Document) UnknownKey(name string, nameOf func(path string) string) string {
	return d.Hints.unknownKey(name, d.Keys, nameOf)
}

// unknownKey does not repeat the value, which may be a secret.
func (h *Hints) unknownKey(name string, keys []Key, nameOf func(path string) string) string {
	if problem := h.formerKey(name, keys, nameOf); problem != "" {
		return problem
	}
	for _, word := range []string{"password", "passwd", "secret", "token", "credential"} {
		if strings.Contains(strings.ToLower(name), word) {
			return "secrets are not accepted in the configuration; put it in a file and give the file's path (" + h.PathKeys + ")"
		}
	}
	section := parent(name)
	siblings := siblingNames(section, keys, nameOf)
	nearest, distance := "", 3
	for _, s := range siblings {
		if d := editDistance(strings.ToLower(strings.TrimPrefix(name, section+".")), strings.ToLower(s)); d < distance {
			nearest, distance = s, d
		}
	}
	switch {
	case nearest != "":
		return fmt.Sprintf("unknown key; did you mean %s?", nearest)
	case len(siblings) > maxListed:
		return "unknown key"
	}
	return "unknown key; known here: " + strings.Join(siblings, ", ")
}

// formerKey returns the problem of a key that moved to or from the advanced
// ones, or that was removed; "" for any other name.
func (h *Hints) formerKey(name string, keys []Key, nameOf func(path string) string) string {
	for _, k := range keys {
		if path, ok := strings.CutPrefix(k.Path, advancedPrefix); ok && nameOf(path) == name {
			return "moved to " + nameOf(k.Path)
		}
		if nameOf(advancedPrefix+k.Path) == name {
			return "this key is not an advanced one: write " + nameOf(k.Path)
		}
	}
	for path, reason := range h.Removed { // order-free: names differ
		if nameOf(path) == name {
			return "no longer a key: " + reason
		}
	}
	return ""
}

// siblingNames lists the names of the keys and sections of a section.
func siblingNames(section string, keys []Key, nameOf func(path string) string) []string {
	var names []string
	for _, k := range keys {
		path := "." + nameOf(k.Path)
		if rest, ok := strings.CutPrefix(path, strings.TrimSuffix("."+section, ".")+"."); ok {
			name, _, _ := strings.Cut(rest, ".")
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// editDistance counts the insertions, deletions and replacements that turn a into b.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}

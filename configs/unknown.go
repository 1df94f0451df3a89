package configs

import (
	"fmt"
	"slices"
	"strings"
)

// maxListed bounds how many keys a problem lists as known.
const maxListed = 16

// removedKeys holds, by the path of a key of older versions, why it was removed.
func removedKeys() map[string]string {
	return map[string]string{
		"uplinks.prometheus.timeout":         "a query may take as long as uplinks.prometheus.interval, at most 10s",
		"uplinks.shuffle_jmx.timeout":        "a request may take as long as uplinks.shuffle_jmx.interval, at most 10s",
		"uplinks.shuffle_jmx.datanode_https": "it had no effect; DataNodes are read over HTTPS where NodeManagers are",
	}
}

// unknownKey returns the problem of a name that is no key, without repeating
// its value, which may be a secret. nameOf returns the name of a key's path.
func unknownKey(name string, keys []key, nameOf func(path string) string) string {
	if problem := formerKey(name, keys, nameOf); problem != "" {
		return problem
	}
	for _, word := range []string{"password", "passwd", "secret", "token", "credential"} {
		if strings.Contains(strings.ToLower(name), word) {
			return "secrets are not accepted in the configuration; put it in a file and give the file's path (security.keytab, security.ccache, --web.config.file)"
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
func formerKey(name string, keys []key, nameOf func(path string) string) string {
	for _, k := range keys {
		if path, ok := strings.CutPrefix(k.path, advancedPrefix); ok && nameOf(path) == name {
			return "moved to " + nameOf(k.path)
		}
		if nameOf(advancedPrefix+k.path) == name {
			return "this key is not an advanced one: write " + nameOf(k.path)
		}
	}
	for path, reason := range removedKeys() { // order-free: names differ
		if nameOf(path) == name {
			return "no longer a key: " + reason
		}
	}
	return ""
}

// siblingNames lists the names of the keys and sections of a section.
func siblingNames(section string, keys []key, nameOf func(path string) string) []string {
	var names []string
	for _, k := range keys {
		path := "." + nameOf(k.path)
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

package pseudonym

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"heddle/core/model"
)

// Table has a pseudonym for every name of a recording.
type Table struct {
	stand [kinds]map[string]string
}

// OrderError says that the order of two nodes' ids would change. That can be where some
// nodes' hosts have a domain and others, with the same short names, have none: then no
// pseudonyms keep both the order of ids and which hosts share a short name.
type OrderError struct{ A, B string }

// Error implements error.
func (e *OrderError) Error() string {
	return fmt.Sprintf("no pseudonyms keep both the order and the short names of the nodes %s and %s: give either all or none of the nodes' hosts a domain", e.A, e.B)
}

// Table makes pseudonyms of all names that were collected. Whoever knows the key can test
// whether a pseudonym is that of a name.
func (n *Names) Table(key []byte) (*Table, error) {
	t := &Table{}
	for k := range kinds {
		t.stand[k] = n.pseudonyms(k, key)
	}
	return t, n.checkOrder(t)
}

// Count is how many names of a kind there are.
type Count struct {
	What  string // one of them is
	Names int
}

// Counts returns how many names of each kind have a pseudonym. Kinds without any are left
// out.
func (t *Table) Counts() []Count {
	var out []Count
	for k := range kinds {
		if n := len(t.stand[k]); n > 0 {
			out = append(out, Count{k.String(), n})
		}
	}
	return out
}

// note returns the pseudonym of a name.
func (t *Table) note(k kind, name, _ string) (string, error) {
	out, ok := t.stand[k][name]
	if !ok {
		return "", fmt.Errorf("a %v that was not there when names were collected: the recording has changed", k)
	}
	return out, nil
}

func (t *Table) noteNode(string, string) {}

// pseudonyms returns those of all names of a kind.
func (n *Names) pseudonyms(k kind, key []byte) map[string]string {
	found := n.found[k]
	orderedBy := func(name string) string {
		if k == label {
			if id, ok := n.nodes[name]; ok {
				return id
			}
		}
		return found[name]
	}
	names := slices.SortedFunc(maps.Keys(found), func(a, b string) int { // order-free: sorted
		return cmp.Or(strings.Compare(orderedBy(a), orderedBy(b)), strings.Compare(a, b))
	})
	width := len(strconv.Itoa(len(names)))
	out := make(map[string]string, len(names))
	for i, name := range names {
		hash := hmac.New(sha256.New, key)
		hash.Write([]byte(k.String() + "\x00" + name)) // never fails
		out[name] = form(k, name, fmt.Sprintf("%0*d", width, i+1), hex.EncodeToString(hash.Sum(nil)[:4]))
	}
	return out
}

// longName is the length in bytes above which a user or an application has no history of
// jobs (shuffle.KeyOf).
const longName = 256

// form puts a pseudonym together. It begins so that it is before names that are kept, or
// after them, as the name is.
func form(k kind, name, number, hash string) string {
	switch k {
	case rack:
		if name < string(model.DefaultRack) {
			return "/c" + number + "-" + hash
		}
		return "/r" + number + "-" + hash
	case queue:
		switch {
		case name < root:
			return "q" + number + "-" + hash
		case name < root+".":
			return root + "-" + number + "-" + hash
		}
		return "s" + number + "-" + hash
	case job:
		return "job-" + letters(number) + "-" + letters(hash)
	case user:
		s := "u" + number + "-" + hash
		if len(name) > longName {
			s += strings.Repeat("x", longName)
		}
		return s
	default:
		begin := [kinds]string{
			label: "h", domain: "d", folder: "p", tag: "t", workflow: "w", step: "n", vertex: "v", config: "g", word: "x",
		}
		return begin[k] + number + "-" + hash
	}
}

// letters writes a number in letters, in the same order, none of them a vowel: a job's name
// must have nothing in it that shuffle.NormalName takes for a number, a date or an id.
func letters(digits string) string {
	return strings.Map(func(r rune) rune {
		return rune("bcdfghjklmnpqrst"[strings.IndexRune("0123456789abcdef", r)])
	}, digits)
}

// checkOrder wants the ids of nodes in the same order as before.
func (n *Names) checkOrder(t *Table) error {
	ids := slices.Sorted(maps.Keys(n.ids)) // order-free: sorted
	last := ""
	for i, id := range ids {
		w, now := walk{names: t}, model.NodeID(id)
		if w.node(&now); w.err != nil {
			return w.err
		}
		if i > 0 && string(now) <= last {
			return &OrderError{ids[i-1], id}
		}
		last = string(now)
	}
	return nil
}

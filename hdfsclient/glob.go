package hdfsclient

import (
	"path"
	"strings"
)

const maxAlternatives = 1024 // patterns that braces may expand to

// expandBraces writes out the alternatives of a pattern: "/a/{b,c}" is "/a/b"
// and "/a/c" (org.apache.hadoop.fs.GlobExpander). Braces may nest and may hold
// slashes.
func expandBraces(pattern string) ([]string, error) {
	done := make([]string, 0, 1)
	todo := []string{pattern}
	for len(todo) > 0 {
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		start, end, commas := braces(p)
		switch {
		case start < 0:
			done = append(done, p)
			continue
		case end < 0:
			return nil, &PathError{Path: pattern, Reason: "a brace is not closed"}
		}
		cuts := append(append([]int{start}, commas...), end)
		for i := len(cuts) - 1; i > 0; i-- {
			todo = append(todo, p[:start]+p[cuts[i-1]+1:cuts[i]]+p[end+1:])
		}
		if len(todo)+len(done) > maxAlternatives {
			return nil, &PathError{Path: pattern, Reason: "the braces have too many alternatives"}
		}
	}
	return done, nil
}

// braces finds the first pair of braces and the commas directly within; start
// or end is -1 where there is none.
func braces(p string) (start, end int, commas []int) {
	start, depth := -1, 0
	for i := 0; i < len(p); i++ {
		switch p[i] {
		case '\\':
			i++
		case '{':
			if depth++; start < 0 {
				start = i
			}
		case ',':
			if depth == 1 {
				commas = append(commas, i)
			}
		case '}':
			if depth == 0 {
				continue
			}
			if depth--; depth == 0 {
				return start, i, commas
			}
		}
	}
	return start, -1, nil
}

// isPattern reports whether a path component has a wildcard in it.
func isPattern(component string) bool {
	for i := 0; i < len(component); i++ {
		switch component[i] {
		case '\\':
			i++
		case '*', '?', '[':
			return true
		}
	}
	return false
}

// unescape removes the backslashes of a component that is not a pattern.
func unescape(component string) string {
	if !strings.Contains(component, `\`) {
		return component
	}
	var b strings.Builder
	for i := 0; i < len(component); i++ {
		if component[i] == '\\' && i+1 < len(component) {
			i++
		}
		b.WriteByte(component[i])
	}
	return b.String()
}

// checkPattern reports whether every component of a path is a pattern that
// parses, and returns the components as path.Match understands them.
func checkPattern(pattern string) ([]string, error) {
	components := strings.Split(strings.Trim(pattern, "/"), "/")
	if components[0] == "" {
		return nil, nil // the root
	}
	for i, c := range components {
		// Hadoop writes a negated class [^ab] or [!ab]; path.Match knows the first.
		components[i] = strings.ReplaceAll(c, "[!", "[^")
		if _, err := path.Match(components[i], ""); err != nil {
			return nil, &PathError{Path: pattern, Reason: "the pattern does not parse; write a backslash before a [ or \\ that is meant literally"}
		}
	}
	return components, nil
}

// matches reports whether a name fits a component that checkPattern passed.
func matches(component, name string) bool {
	ok, err := path.Match(component, name)
	return ok && err == nil
}

// isHidden reports whether jobs pass over a name as input (the hiddenFileFilter
// of FileInputFormat).
func isHidden(name string) bool { return strings.HasPrefix(name, "_") || strings.HasPrefix(name, ".") }

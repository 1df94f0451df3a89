package fsck

import (
	"path"
	"strings"
)

// Matches reports whether a job that reads an input, a path or a pattern with or without
// scheme and authority, reads a file: the file itself or one in the folder. Files whose
// names begin with _ or . are passed over in folders.
func Matches(input, file string) bool {
	input = below(input)
	if input == file {
		return true
	}
	base := path.Base(file)
	if strings.HasPrefix(base, "_") || strings.HasPrefix(base, ".") {
		return false
	}
	if !strings.ContainsAny(input, `*?[\`) {
		return path.Dir(file) == path.Clean(input)
	}
	for _, name := range []string{file, path.Dir(file)} {
		if ok, err := path.Match(input, name); ok && err == nil {
			return true
		}
	}
	return false
}

// below removes scheme and authority from a path.
func below(input string) string {
	scheme, rest, found := strings.Cut(input, ":")
	if !found || strings.Contains(scheme, "/") {
		return input
	}
	if authority, isHost := strings.CutPrefix(rest, "//"); isHost {
		at := strings.IndexByte(authority, '/')
		if at < 0 {
			return "/"
		}
		return authority[at:]
	}
	return rest
}

package fsck

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"heddle/core/model"
)

// Split is what a map reads.
type Split struct {
	Bytes    model.Bytes
	Replicas []Replica // of the block that it begins in
}

// Splits returns the splits that MapReduce makes of files which stand in the order in which
// a job lists them, numbered as it numbers its maps: the largest first, then by that order.
// A split is a block; what is left of a file after the last whole one joins that if it is
// a tenth of a block or less.
func Splits(files []*File) []Split {
	var all []Split
	for _, f := range files {
		left := f.Bytes
		for i := 0; i < len(f.Blocks) && left > 0; i++ {
			size := f.Blocks[i].Bytes
			if i == 0 && size <= 0 {
				break
			}
			block := f.Blocks[0].Bytes
			if left*10 <= block*11 { // FileInputFormat.SPLIT_SLOP is 1.1
				size = left
			}
			size = min(size, left)
			all = append(all, Split{size, f.Blocks[i].Replicas})
			left -= size
		}
	}
	slices.SortStableFunc(all, func(a, b Split) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return all
}

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

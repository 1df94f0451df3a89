package hdfsclient

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"heddle/yarnproxy/rest"
)

// namespace reads the directory tree.
type namespace interface {
	// stat returns a file or directory, or *NotFoundError.
	stat(ctx context.Context, path string) (fileStatus, error)
	// list calls each with the entries of a directory, page by page, until it
	// returns an error. A file in place of a directory has no entries.
	list(ctx context.Context, dir string, each func([]fileStatus) error) error
}

// errEnough ends a walk that met one of its limits.
var errEnough = errors.New("limit of the walk")

// walk collects the input files of one path as a job would find them: a file
// as it is; of a directory every file below it; names that begin with "_" or
// "." are passed over below a directory and where a pattern matches them, not
// where they are written out.
type walk struct {
	ns        namespace
	maxFiles  int
	maxBlocks int

	files     []fileStatus
	lengths   []int64 // bytes of each file to locate
	blocks    int
	entries   int // files and directories looked at, hidden ones included
	truncated bool
}

// limitEntries bounds what a walk looks at in all, in multiples of maxFiles.
const limitEntries = 4

// run walks a pattern that resolve has passed.
func (w *walk) run(ctx context.Context, pattern string) error {
	alternatives, err := expandBraces(pattern)
	if err != nil {
		return err
	}
	seen := make(map[string]bool)
	var roots []fileStatus
	for _, alternative := range alternatives {
		components, err := checkPattern(alternative)
		if err != nil {
			return err
		}
		found, err := w.match(ctx, "/", components, len(alternatives) > 1)
		if err != nil && !errors.Is(err, errEnough) {
			return err
		}
		for _, f := range found {
			if !seen[f.path] {
				seen[f.path] = true
				roots = append(roots, f)
			}
		}
	}
	if len(roots) == 0 && !w.truncated {
		return &NotFoundError{Path: pattern}
	}
	for _, root := range roots {
		switch err := w.add(ctx, root); {
		case errors.Is(err, errEnough):
			return nil
		case err != nil:
			return err
		}
	}
	return nil
}

// match returns what the components match below base. What is written out must
// exist unless a pattern stands before it.
func (w *walk) match(ctx context.Context, base string, components []string, optional bool) ([]fileStatus, error) {
	for len(components) > 0 && !isPattern(components[0]) {
		base = join(base, unescape(components[0]))
		components = components[1:]
	}
	if len(components) == 0 {
		f, err := w.ns.stat(ctx, base)
		var missing *NotFoundError
		if optional && errors.As(err, &missing) {
			return nil, nil
		}
		return []fileStatus{f}, err
	}
	var found []fileStatus
	last := len(components) == 1
	err := w.list(ctx, base, func(f fileStatus) error {
		name := path.Base(f.path)
		switch {
		case !matches(components[0], name):
			return nil
		case last && !isHidden(name):
			found = append(found, f)
			return nil
		case last || !f.directory:
			return nil
		}
		below, err := w.match(ctx, f.path, components[1:], true)
		found = append(found, below...)
		return err
	})
	if _, missing := errors.AsType[*NotFoundError](err); missing {
		return nil, nil // nothing matches in a directory that is not there
	}
	return found, err
}

// list calls each for the entries of a directory, within the walk's limits.
func (w *walk) list(ctx context.Context, dir string, each func(fileStatus) error) error {
	if len(dir) > maxPath {
		return &rest.InvalidError{URL: dir[:64] + "…", Err: fmt.Errorf("a path of %d bytes: HDFS allows %d", len(dir), maxPath)}
	}
	return w.ns.list(ctx, dir, func(entries []fileStatus) error {
		for _, f := range entries {
			if w.entries++; w.entries > limitEntries*w.maxFiles {
				w.truncated = true
				return errEnough
			}
			if err := each(f); err != nil {
				return err
			}
		}
		return nil
	})
}

// add takes a file, or everything below a directory.
func (w *walk) add(ctx context.Context, f fileStatus) error {
	if !f.directory {
		return w.addFile(f)
	}
	var below []fileStatus // visited after the files of their parent
	err := w.list(ctx, f.path, func(child fileStatus) error {
		switch {
		case isHidden(path.Base(child.path)):
			return nil
		case child.directory:
			below = append(below, child)
			return nil
		}
		return w.addFile(child)
	})
	if err != nil {
		return err
	}
	for _, child := range below {
		var missing *NotFoundError
		if err := w.add(ctx, child); err != nil && !errors.As(err, &missing) {
			return err
		}
	}
	return nil
}

func (w *walk) addFile(f fileStatus) error {
	if len(w.files) >= w.maxFiles || w.blocks >= w.maxBlocks && f.length > 0 {
		w.truncated = true
		return errEnough
	}
	blocks, bytes := f.blocks(), f.length
	if left := w.maxBlocks - w.blocks; blocks > left {
		w.truncated = true
		blocks, bytes = left, int64(left)*f.blockSize
	}
	w.blocks += blocks
	w.files = append(w.files, f)
	w.lengths = append(w.lengths, bytes)
	return nil
}

func join(dir, name string) string {
	return strings.TrimSuffix(dir, "/") + "/" + name
}

// resolver turns the paths of job configurations into paths of one nameservice.
type resolver struct {
	authorities []string // none admits all
}

// resolve returns the path or pattern within the nameservice, in one spelling.
// Its errors are *PathError.
func (r resolver) resolve(given string) (string, error) {
	p := given
	if scheme, rest, ok := strings.Cut(p, ":"); ok && scheme != "" && !strings.ContainsAny(scheme, `/\*?[{`) {
		switch strings.ToLower(scheme) {
		case "hdfs", "webhdfs", "swebhdfs":
		default:
			return "", &PathError{Path: given, Reason: "is not on HDFS"}
		}
		p = rest
		if strings.HasPrefix(p, "//") {
			authority, below, _ := strings.Cut(p[2:], "/")
			if !r.admits(authority) {
				return "", &PathError{Path: given, Reason: "is on another cluster; list its nameservice under the authorities if it is this one"}
			}
			p = "/" + below
		}
	}
	switch {
	case !strings.HasPrefix(p, "/"):
		return "", &PathError{Path: given, Reason: "is not absolute"}
	case len(p) > maxPath:
		return "", &PathError{Path: given[:64] + "…", Reason: "is longer than HDFS allows"}
	case strings.ContainsRune(p, 0):
		return "", &PathError{Path: given, Reason: "has a zero byte in it"}
	}
	var b strings.Builder
	for component := range strings.SplitSeq(p, "/") {
		switch component {
		case "":
			continue
		case ".", "..":
			return "", &PathError{Path: given, Reason: "has a . or .. in it"}
		}
		b.WriteByte('/')
		b.WriteString(component)
	}
	if b.Len() == 0 {
		return "/", nil
	}
	return b.String(), nil
}

func (r resolver) admits(authority string) bool {
	if len(r.authorities) == 0 || authority == "" {
		return true
	}
	for _, a := range r.authorities {
		if strings.EqualFold(a, authority) {
			return true
		}
	}
	return false
}

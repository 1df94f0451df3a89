// Package terminal prints for people: tables, sizes, counts and progress.
package terminal

import (
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/mattn/go-isatty"
)

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// Table aligns columns of lines whose cells are separated by tabs.
func Table(w io.Writer, fill func(w io.Writer)) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fill(tw)
	return tw.Flush()
}

// Bytes returns a number of bytes in decimal units.
func Bytes(b float64) string {
	for _, u := range []struct {
		unit string
		size float64
	}{{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}} {
		if b >= u.size {
			return fmt.Sprintf("%.1f %s", b/u.size, u.unit)
		}
	}
	return fmt.Sprintf("%.0f B", b)
}

// Count returns a number and a noun, which gets an s unless the number is 1.
func Count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// Package report writes the results of simulations as one HTML page: the table
// of all figures, and plots of completion times, of bytes across racks, of the
// uplinks over time and of the distance to the lower bounds.
//
// The page is a single file that needs nothing else: no network, script, font or
// image from elsewhere. Plots are inline SVG that takes its colours from the
// style sheet of the page, so that they follow light and dark mode and print
// well; docs/report.md says what is in them. The same input gives the same bytes.
package report

import (
	"bufio"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"os"
	"path/filepath"
)

//go:embed page.html drawing.html style.css
var files embed.FS

// pageName is the file that Write makes.
const pageName = "index.html"

// Write makes dir if it is not there, and the page in it: all of it, or an
// error and whatever was there before.
func Write(dir string, in Input) error {
	if err := in.check(); err != nil {
		return fmt.Errorf("report in %s: these results cannot be drawn: %w", dir, err)
	}
	if err := write(dir, newPage(&in)); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

func write(dir string, p *page) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // a page to be shown around
		return err
	}
	tmp, err := os.CreateTemp(dir, pageName+".*.tmp")
	if err != nil {
		return err
	}
	err = errors.Join(p.render(tmp), tmp.Chmod(0o644), tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), filepath.Join(dir, pageName))
	}
	if err != nil {
		_ = os.Remove(tmp.Name()) // the first error is returned
	}
	return err
}

func (p *page) render(w io.Writer) error {
	t, err := template.ParseFS(files, "*")
	if err != nil {
		return err
	}
	buffered := bufio.NewWriter(w)
	return errors.Join(t.ExecuteTemplate(buffered, "page.html", p), buffered.Flush())
}

package replaying

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"heddle/cmd/heddle/internal/exit"
	"heddle/cmd/heddle/internal/recording"
	"heddle/cmd/heddle/internal/terminal"
	"heddle/core/lab/replay"
	"heddle/core/model"
)

// DiffOptions are those of `heddle diff`.
type DiffOptions struct {
	A, B   string // recordings with decisions, or files of decisions of a report
	Within time.Duration
	All    bool // count by reasons
	// AllowClock accepts recordings with clock steps.
	AllowClock bool
}

// DiffResult is what `heddle diff` prints.
type DiffResult struct {
	Divergences int                `json:"divergences"`
	First       *replay.Divergence `json:"first"`
	ByReasons   []ReasonCount      `json:"by_reasons,omitempty"`
}

// ReasonCount counts divergences with the same two reasons; "" is no plan.
type ReasonCount struct {
	A     model.Reason `json:"a"`
	B     model.Reason `json:"b"`
	Count int          `json:"count"`
}

// Run compares.
func (o *DiffOptions) Run(ctx context.Context) (*DiffResult, error) {
	found, err := replay.Diff(o.decisions(ctx, o.A), o.decisions(ctx, o.B), model.Duration(o.Within.Milliseconds()))
	if err != nil {
		return nil, err
	}
	res := &DiffResult{Divergences: len(found)}
	if len(found) > 0 {
		res.First = &found[0]
	}
	if o.All {
		res.ByReasons = countReasons(found)
	}
	return res, nil
}

func countReasons(found []replay.Divergence) []ReasonCount {
	counts := map[[2]model.Reason]int{}
	for i := range found {
		counts[[2]model.Reason{reason(found[i].A), reason(found[i].B)}]++
	}
	var out []ReasonCount
	for of, n := range counts { // order-free: sorted below
		out = append(out, ReasonCount{of[0], of[1], n})
	}
	slices.SortFunc(out, func(x, y ReasonCount) int {
		return cmp.Or(cmp.Compare(y.Count, x.Count), cmp.Compare(x.A, y.A), cmp.Compare(x.B, y.B))
	})
	return out
}

func reason(p *model.Plan) model.Reason {
	if p == nil {
		return ""
	}
	return p.Reason
}

// decisions reads those of a recording, or of a report.
func (o *DiffOptions) decisions(ctx context.Context, file string) iter.Seq2[model.Decision, error] {
	read := ofReport
	if recording.Identify(file) == recording.KindRecording {
		read = o.ofRecording
	}
	return func(yield func(model.Decision, error) bool) {
		err := read(file, func(d *model.Decision) bool { return ctx.Err() == nil && yield(*d, nil) })
		if err == nil && ctx.Err() != nil {
			err = exit.NewInterruptedError("in %s", file)
		}
		if err != nil {
			yield(model.Decision{}, err)
		}
	}
}

func (o *DiffOptions) ofRecording(file string, use func(*model.Decision) bool) error {
	in, err := recording.Open(os.DirFS(filepath.Dir(file)), filepath.Base(file))
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // only read
	if o.AllowClock {
		in.AllowClockSteps()
	}
	for rec, err := range in.Records() {
		if err != nil {
			return recording.Explain(file, err, recording.FlagClockSteps)
		}
		if rec.Decision != nil && !use(rec.Decision) {
			return nil
		}
	}
	return nil
}

func ofReport(file string, use func(*model.Decision) bool) error {
	f, err := os.Open(file) //nolint:gosec // the operator names it
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read
	in := json.NewDecoder(bufio.NewReader(f))
	in.DisallowUnknownFields()
	for n := 1; ; n++ {
		var d model.Decision
		switch err := in.Decode(&d); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("%s: decision %d, at byte %d: %w; want a recording, or the decisions of 'heddle replay --report'", file, n, in.InputOffset(), err)
		case d.Plan == nil && d.Placement == nil:
			return fmt.Errorf("%s: decision %d: neither a plan nor a placement; want a recording, or the decisions of 'heddle replay --report'", file, n)
		}
		if !use(&d) {
			return nil
		}
	}
}

// Table prints the result for people.
func (r *DiffResult) Table(w io.Writer) error {
	if r.First == nil {
		fmt.Fprintln(w, "no divergence")
		return nil
	}
	d := r.First
	fmt.Fprintf(w, "%s, the first at %s: %s of %s\n", terminal.Count(r.Divergences, "divergence"), time.UnixMilli(int64(d.At)).UTC().Format(time.RFC3339Nano), d.Stage, d.App)
	fmt.Fprintf(w, "A: %s\nB: %s\n", wanted(d.A), wanted(d.B))
	if len(r.ByReasons) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	return terminal.Table(w, func(w io.Writer) {
		fmt.Fprintln(w, "COUNT\tA\tB")
		for _, c := range r.ByReasons {
			fmt.Fprintf(w, "%d\t%s\t%s\n", c.Count, cmp.Or(c.A, "(no plan)"), cmp.Or(c.B, "(no plan)"))
		}
	})
}

// wanted is what a plan wants, and why.
func wanted(p *model.Plan) string {
	if p == nil {
		return "no plan"
	}
	racks := []string{"any rack"}
	if len(p.Racks) > 0 {
		racks = racks[:0]
		for _, t := range p.Racks {
			racks = append(racks, fmt.Sprintf("%s:%d", t.Rack, t.Count))
		}
	}
	hold := ""
	if p.Hold {
		hold = ", held"
	}
	return fmt.Sprintf("%s%s (%s)", strings.Join(racks, " "), hold, p.Reason)
}

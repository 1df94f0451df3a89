package replaying

import (
	"fmt"
	"io"
	"time"

	"heddle/cmd/heddle/internal/terminal"
	"heddle/core/model"
	"heddle/core/state/snapshot"
)

// Table prints the result for people.
func (r *Result) Table(w io.Writer) error {
	s := &r.Recording
	span := time.Duration(s.End.Sub(s.Start)) * time.Millisecond
	fmt.Fprintf(w, "%s: %v, %s, %s, %s counted, %d not ended\n", r.file, span.Round(time.Second),
		terminal.Count(s.Observations, "observation"), terminal.Count(s.Racks, "rack"), terminal.Count(s.Jobs, "job"), s.Unfinished)
	if s.Assumed {
		fmt.Fprintln(w, "The recording does not say when plans were made: once a second is assumed.")
	}
	if s.Dropped > 0 {
		fmt.Fprintf(w, "The recorder lost %d records; what they said is missing.\n", s.Dropped)
	}
	fmt.Fprintln(w)
	if err := terminal.Table(w, r.bytes); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if err := terminal.Table(w, r.placements); err != nil {
		return err
	}
	fmt.Fprintln(w)
	r.checks(w)
	for _, a := range r.Assertions {
		verdict := "holds"
		if !a.Holds {
			verdict = "does not hold"
		}
		fmt.Fprintf(w, "%s: %s (%g, %g)\n", a.Assertion, verdict, a.Left, a.Right)
	}
	fmt.Fprintln(w, "Tasks ran where and as long as recorded; what a policy would have changed about their durations is not known.")
	if r.report != "" {
		fmt.Fprintf(w, "%s has the result, with all applications beside it\n", r.report)
	}
	return nil
}

// bytes compares what crossed racks.
func (r *Result) bytes(w io.Writer) {
	fmt.Fprintln(w, "POLICY\tCROSS-RACK\tSHUFFLE\tMAP READ\tSAVED\tLOST\tNET SAVED %\tUPLINK PEAK")
	rec := &r.Runs[0]
	row := func(name string, c *snapshot.CrossRack, rest string) {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", name, size(c.Total), size(c.Shuffle), size(c.MapRead), rest)
	}
	peak := func(rate float64) string { return terminal.Bytes(rate) + "/s" }
	row("(as recorded)", &rec.Recorded, "\t\t\t"+peak(rec.UplinkPeak.Recorded))
	for i := range r.Runs {
		run := &r.Runs[i]
		net := "-"
		if run.Recorded.Total > 0 {
			net = fmt.Sprintf("%.1f", 100*float64(run.Regret.Net)/float64(run.Recorded.Total))
		}
		row(run.Policy, &run.CrossRack, size(run.Regret.Saved)+"\t"+size(run.Regret.Lost)+"\t"+net+"\t"+peak(run.UplinkPeak.Policy))
	}
	row("(least)", &rec.Least, "\t\t\t")
}

// placements says how much the plans wanted otherwise.
func (r *Result) placements(w io.Writer) {
	fmt.Fprintln(w, "POLICY\tJOBS PLANNED\tMAPS MOVED\tREDUCES MOVED\tMAPS IN RACK %\tBUSIEST UPLINK\tDECISIONS")
	for i := range r.Runs {
		run := &r.Runs[i]
		fmt.Fprintf(w, "%s\t%d of %d\t%d of %d\t%d of %d\t%.0f (recorded %.0f)\t%s (recorded %s, least %s)\t%d\n", run.Policy, run.Planned, run.Jobs, run.Moved.Maps, run.Moved.MapsOf, run.Moved.Reduces, run.Moved.ReducesOf,
			100*run.Locality.Policy, 100*run.Locality.Recorded,
			size(run.Busiest.Policy), size(run.Busiest.Recorded), size(run.Busiest.Least), run.Decisions)
	}
}

// checks says whether the recorded policy decided as it did.
func (r *Result) checks(w io.Writer) {
	for i := range r.Runs {
		run := &r.Runs[i]
		if run.Failures > 0 {
			fmt.Fprintf(w, "%s: %s failed; please report it\n", run.Policy, terminal.Count(run.Failures, "round"))
		}
		switch c := run.Check; {
		case c == nil:
		case c.Differs == "":
			fmt.Fprintf(w, "%s: all %d decisions as they were recorded\n", run.Policy, c.Decisions)
		default:
			fmt.Fprintf(w, "%s: the first %d of %d decisions as they were recorded; then %s\n", run.Policy, c.Equal, c.Decisions, c.Differs)
		}
	}
}

func size(b model.Bytes) string { return terminal.Bytes(float64(b)) }

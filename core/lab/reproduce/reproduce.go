// Package reproduce runs the papers' experiments again and judges every
// published result (algorithms.md 3). A paper is a setup, of which
// each setting says whether the paper gives it, and rows, each with the paper's
// value, ours, how far it can be reproduced at all, and a verdict. Nothing is
// set row by row: all rows of a paper come from the same runs.
package reproduce

import (
	"errors"
	"fmt"
	"strings"

	"heddle/core/lab/workload"
)

// errStopped is returned when Inputs.Stopped says so.
var errStopped = errors.New("stopped")

// Preset is a paper's setup, ready to run.
type Preset struct {
	Name string // on a command line
	Run  func(in *Inputs) (Paper, error)
}

// Presets returns the papers in the order of algorithms.md 3.
func Presets() []Preset {
	return []Preset{
		{"shufflewatcher", ShuffleWatcher},
		{"num", NUM},
		{"nas", NAS},
		{"dawn", Dawn},
	}
}

// Status says how far a result can be reproduced (algorithms.md 3).
type Status string

// The statuses.
const (
	Exact      Status = "exact"            // from public data, to the digits given
	Arithmetic Status = "arithmetic"       // follows from the text alone
	Shape      Status = "shape"            // sign, order and rough size, in a simulation
	Impossible Status = "not reproducible" // a figure without numbers, or private data or hardware
)

// Verdict says what came out.
type Verdict string

// The verdicts.
const (
	Yes       Verdict = "yes"
	No        Verdict = "no" // and no bound is known that forbids it
	Bounded   Verdict = "bounded below the claim"
	NotRun    Verdict = "not run"    // for want of what Note says
	NotJudged Verdict = "not judged" // nothing to judge by
)

// Row is one result of a paper.
type Row struct {
	ID      string  `json:"id"` // as algorithms.md numbers it
	What    string  `json:"what"`
	Paper   string  `json:"paper"`
	Ours    string  `json:"ours"`
	Status  Status  `json:"status"`
	Verdict Verdict `json:"verdict"`
	Note    string  `json:"note,omitempty"` // why, where it did not come out
}

// notRun is what comes of a row without the public trace.
func notRun() outcome {
	return outcome{verdict: NotRun, notes: []string{"needs the public trace FB-2010 (docs/workloads.md)"}}
}

// Setting is one line of a setup.
type Setting struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Source string `json:"source"` // where the paper gives it; "ours" where it does not
}

// Paper is what came of one paper.
type Paper struct {
	Name     string    `json:"name"`
	Title    string    `json:"title"`
	Settings []Setting `json:"settings"`
	Rows     []Row     `json:"rows"`
}

// Inputs are what experiments need from outside. Every field may be left zero.
type Inputs struct {
	FB2010 *workload.Workload // the public trace
	Seeds  int                // of what is drawn; 3 where it is 0
	// Parts divides the experiments: 1, or 0, is all of the paper's that is run, 10 is a tenth of the runs (NUM), of
	// the time (Dawn), or of the cluster with the rates of its uplinks and the jobs (NAS) or their bytes (ShuffleWatcher).
	Parts int
	// Each calls run with 0 to n-1, several at once if it likes; the runs share nothing they write to. Without it
	// they go one after the other.
	Each func(n int, run func(i int) error) error
	// Begin is called with the number of runs to come, End after each run; End may be called from several
	// goroutines if Each runs several.
	Begin func(runs int)
	End   func()
	// Stopped says whether to give up; it may be called from several goroutines too.
	Stopped func() bool
}

// announce passes the number of runs to come to Begin.
func (in *Inputs) announce(runs int) {
	if in.Begin != nil {
		in.Begin(runs)
	}
}

func (in *Inputs) stopped() bool { return in.Stopped != nil && in.Stopped() }

// runEach does n runs that were announced.
func (in *Inputs) runEach(n int, run func(i int) error) error {
	one := func(i int) error {
		if in.stopped() {
			return errStopped
		}
		if err := run(i); err != nil {
			return err
		}
		if in.End != nil {
			in.End()
		}
		return nil
	}
	if in.Each != nil {
		return in.Each(n, one)
	}
	for i := range n {
		if err := one(i); err != nil {
			return err
		}
	}
	return nil
}

func (in *Inputs) seeds() int {
	if in.Seeds <= 0 {
		return 3
	}
	return in.Seeds
}

// share returns a number of runs or jobs, one at least.
func (in *Inputs) share(of int) int { return max(of/max(in.Parts, 1), 1) }

// withinPart is the verdict on a value that has to be so near, as a part of what is
// wanted.
func withinPart(got, want, part float64) Verdict {
	if got >= want*(1-part) && got <= want*(1+part) {
		return Yes
	}
	return No
}

// verdict is Yes or No.
func verdict(ok bool) Verdict {
	if ok {
		return Yes
	}
	return No
}

// allYes is Yes when every value is.
func allYes(verdicts ...Verdict) Verdict {
	for _, v := range verdicts {
		if v != Yes {
			return No
		}
	}
	return Yes
}

// formatList prints numbers with a format, with commas between.
func formatList(format string, values ...float64) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = fmt.Sprintf(format, v)
	}
	return strings.Join(texts, ", ")
}

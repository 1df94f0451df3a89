package report

import (
	"errors"
	"fmt"
	"math"
)

// Input is what a page is made of. Write reads it and keeps nothing of it.
type Input struct {
	Title    string
	Command  string // the exact command line that made the results
	Version  string // of heddle
	Workload []Row  // what the workload is, in the order of the page
	Cluster  []Row
	Runs     []Run // policies appear in the order of their first run
}

// Row is a name and its value, for people.
type Row struct {
	Name, Value string
}

// Run is the result of one run. Runs of the same policy are taken for the same
// question asked with other seeds: the page shows their median, and the least
// and the most.
type Run struct {
	Policy string // as it was asked for; with its parameters, where two runs differ in nothing else
	Seed   uint64
	Outcome
	Traffic
	Bounds Bounds
	Ratio  Ratios
	Effort
	Responses []float64 // seconds from submission to the end, by job in any order; below 0: it did not finish
	Uplinks   Uplinks
	Coflows   Coflows
}

// Uplinks is how full the uplinks of the racks were in the course of a run. The
// zero value says that nobody looked.
type Uplinks struct {
	Step  float64     // seconds that one value stands for
	Racks []string    // names, one for every row of Used
	Used  [][]float64 // by rack and step: share of the capacity in use, 0 to 1
}

// steps returns the number of values of the longest row.
func (u *Uplinks) steps() int {
	n := 0
	for _, row := range u.Used {
		n = max(n, len(row))
	}
	return n
}

// check reports everything that keeps an input from being drawn.
func (in *Input) check() error {
	var errs []error
	for i := range in.Runs {
		r := &in.Runs[i]
		for _, err := range append(r.checkFigures(), r.checkSeries()...) {
			errs = append(errs, fmt.Errorf("run %d (policy %q, seed %d): %w", i+1, r.Policy, r.Seed, err))
		}
	}
	return errors.Join(errs...)
}

func (r *Run) checkFigures() (errs []error) {
	if r.Policy == "" {
		errs = append(errs, errors.New("no policy: name the one that decided"))
	}
	for _, f := range allFigures() {
		if v := f.of(r); !finite(v) || v < 0 {
			errs = append(errs, fmt.Errorf("%s, %s is %g: want a finite number, 0 or above", f.group, f.name, v))
		}
	}
	return errs
}

func (r *Run) checkSeries() (errs []error) {
	for i, v := range r.Responses {
		if !finite(v) {
			errs = append(errs, fmt.Errorf("response time of job %d is %g: want seconds, or below 0 for a job that did not finish", i+1, v))
			break
		}
	}
	u := &r.Uplinks
	if u.steps() == 0 {
		return errs
	}
	if !finite(u.Step) || u.Step <= 0 {
		errs = append(errs, fmt.Errorf("step of the uplinks is %g s: want seconds above 0", u.Step))
	}
	if len(u.Racks) != len(u.Used) {
		errs = append(errs, fmt.Errorf("uplinks: %d names for %d racks: give one for each", len(u.Racks), len(u.Used)))
	}
	for i, row := range u.Used {
		for j, v := range row {
			if !finite(v) || v < 0 {
				return append(errs, fmt.Errorf("uplink of rack %d, value %d is %g: want a share of its capacity, 0 to 1", i+1, j+1, v))
			}
		}
	}
	return errs
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

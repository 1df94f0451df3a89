package report

import (
	"errors"
	"fmt"
	"math"

	"heddle/core/lab/sim"
)

// Input is what a page is made of. Write reads it and keeps nothing of it.
type Input struct {
	Title    string
	Command  string // the exact command line that made the results
	Version  string // of heddle
	Workload []Row  // what the workload is, in the order of the page
	Cluster  []Row
	// Runs are the results. Policy names a run's curve: runs of one name are repetitions
	// with different seeds, and the page shows their median, minimum and maximum. Names
	// appear in the order of their first run.
	Runs []sim.Run
}

// Row is a name and its value, for people.
type Row struct {
	Name, Value string
}

// steps returns the number of values of the longest row.
func steps(u *sim.Uplinks) int {
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
		for _, err := range append(checkFigures(r), checkSeries(r)...) {
			errs = append(errs, fmt.Errorf("run %d (policy %q, seed %d): %w", i+1, r.Policy, r.Seed, err))
		}
	}
	return errors.Join(errs...)
}

func checkFigures(r *sim.Run) (errs []error) {
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

func checkSeries(r *sim.Run) (errs []error) {
	for i, v := range r.Responses {
		if !finite(v) {
			errs = append(errs, fmt.Errorf("response time of job %d is %g: want seconds, or below 0 for a job that did not finish", i+1, v))
			break
		}
	}
	u := &r.Uplinks
	if steps(u) == 0 {
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

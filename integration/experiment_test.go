//go:build linux

package integration

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"heddle/core/model"
	"heddle/integration/hadoop"
)

// The experiment: what steering is worth. The jobs of a scenario run again and
// again over uplinks that are their bottleneck, in turn as Hadoop places them and
// as the plans of some policies do, everything else being the same.

// Figures of the experiment.
const (
	experimentMbit = 20
	experimentRuns = 5 // of each arm, unless HEDDLE_RUNS says otherwise
)

// fromEnv is what an environment variable lists, separated by commas.
func fromEnv(name string, otherwise ...string) []string {
	if text := os.Getenv(name); text != "" {
		return strings.Split(text, ",")
	}
	return otherwise
}

// policySection is a policy's section of the configuration, at its defaults; but
// ShuffleWatcher's takes jobs it knows nothing of as the paper does.
func policySection(policy string) string {
	params := ""
	if policy == "shufflewatcher" {
		params = ", params: {assume_unknown: true}"
	}
	return "policy: {name: " + policy + params + "}\n"
}

// arm is one way to run a scenario, with what was measured.
type arm struct {
	policy string // "" is Hadoop's own placement
	runs   []measured
}

// measured is one run: the seconds of the scenario's columns, then the decimal
// MB that left the racks over the uplinks.
type measured []float64

func (a *arm) name() string { return cmp.Or(a.policy, "stock") }

// arms are those of a scenario, stock first.
func (s *scenario) arms() []*arm {
	arms := []*arm{{}}
	for _, p := range fromEnv("HEDDLE_POLICIES", s.policies...) {
		arms = append(arms, &arm{policy: p})
	}
	return arms
}

// runJobs runs jobs as the arm does: with a heddle of its policy, that is there
// for these jobs alone, or without. It returns the plans there were.
func (a *arm) runJobs(t *testing.T, c *hadoop.Cluster, jobs func(hadoop.Settings)) []*model.Plan {
	t.Helper()
	if a.policy == "" {
		jobs(nil)
		return nil
	}
	config := strings.Split(relaySettings(t, c, "enforce"), "\n")
	for key, line := range map[string]string{"policy: ": policySection(a.policy), "uplinks: ": fmt.Sprintf("uplinks: {capacity: %dMbps}", experimentMbit)} {
		i := slices.IndexFunc(config, func(line string) bool { return strings.HasPrefix(line, key) })
		config[i] = line
	}
	s := startConfigured(t, c, strings.Join(config, "\n"))
	defer s.stop()
	jobs(throughRelay(c))
	r := s.relayStatus(withTimeout(t, 10*time.Second))
	var plans []*model.Plan
	for _, d := range s.decisions(withTimeout(t, time.Minute)) {
		if d.Plan != nil {
			plans = append(plans, d.Plan)
		}
	}
	t.Logf("%s: rewritten %v, passed %v, last plans: %s", a.name(), r.Counts.Rewritten, r.Counts.Passed, lastPlans(plans))
	return plans
}

// lastPlans prints the last plan of each stage of each application.
func lastPlans(plans []*model.Plan) string {
	var order []string
	last := map[string]string{}
	for _, p := range plans {
		stage := string(p.App[len(p.App)-4:]) + " " + string(p.Stage)
		if _, known := last[stage]; !known {
			order = append(order, stage)
		}
		last[stage] = string(p.Reason)
		for _, r := range p.Racks {
			last[stage] += fmt.Sprintf(" %d on %s", r.Count, r.Rack)
		}
	}
	for i, stage := range order {
		order[i] += " " + last[stage]
	}
	return strings.Join(order, "; ")
}

// TestExperiment takes half an hour or more and runs on its own: make experiment.
func TestExperiment(t *testing.T) {
	if os.Getenv("HEDDLE_EXPERIMENT") == "" {
		t.Skip("an experiment of half an hour or more: make experiment")
	}
	chosen := chosenScenarios(t)
	hadoop.Require(t)
	c, err := hadoop.Start(withTimeout(t, 5*time.Minute), hadoop.Options{Racks: 3, HostsPerRack: 3, UplinkMbit: experimentMbit, Scheduler: hadoop.Scheduler(os.Getenv("HEDDLE_SCHEDULER")), Log: os.Stdout})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, s := range chosen {
		s.writeInput(t, c)
		arms := s.arms()
		for n := range repetitions(t, experimentRuns) {
			for _, a := range arms {
				s.check(t, a, a.run(s, &trial{t: t, c: c, dir: fmt.Sprintf("/%s-%s-%d", s.name, a.name(), n)}))
			}
		}
		t.Logf("%s: %s, %d Mbit/s uplinks:\n%s", s.name, s.about, experimentMbit, table(s.columns, arms))
	}
}

// chosenScenarios are the scenarios that HEDDLE_SCENARIO lists; the two of one
// job without it.
func chosenScenarios(t *testing.T) []*scenario {
	t.Helper()
	var chosen []*scenario
	for _, name := range fromEnv("HEDDLE_SCENARIO", "concentrated", "even") {
		all := allScenarios()
		i := slices.IndexFunc(all, func(s *scenario) bool { return s.name == name })
		if i < 0 {
			t.Fatalf("HEDDLE_SCENARIO: no scenario %q", name)
		}
		chosen = append(chosen, all[i])
	}
	return chosen
}

// writeInput writes a scenario's input, over uplinks that are wide meanwhile.
func (s *scenario) writeInput(t *testing.T, c *hadoop.Cluster) {
	t.Helper()
	for _, step := range []func() error{
		func() error { return c.Shape(0) },
		func() error { return s.input(withTimeout(t, 5*time.Minute), c) },
		func() error { return c.Shape(experimentMbit) },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
}

// check fails unless some plan of an arm was made for the reason that the
// scenario is there to try.
func (s *scenario) check(t *testing.T, a *arm, plans []*model.Plan) {
	t.Helper()
	want, tried := s.reasons[a.policy]
	if tried && !slices.ContainsFunc(plans, func(p *model.Plan) bool { return p.Reason == want }) {
		t.Errorf("%s under %s: no plan has the reason %s", s.name, a.name(), want)
	}
}

// run runs the scenario once. What is prepared is steered under every arm, so
// that it is in the same place.
func (a *arm) run(s *scenario, r *trial) []*model.Plan {
	r.t.Helper()
	if a.policy == "" && s.prepare != nil {
		(&arm{policy: "shufflewatcher"}).runJobs(r.t, r.c, func(with hadoop.Settings) {
			r.with = with
			s.prepare(r)
		})
	}
	return a.runJobs(r.t, r.c, func(with hadoop.Settings) {
		r.with = with
		if a.policy != "" && s.prepare != nil {
			s.prepare(r)
		}
		a.measure(s, r)
	})
}

// measure runs what is measured of the scenario.
func (a *arm) measure(s *scenario, r *trial) {
	r.t.Helper()
	before, err := r.c.UplinkBytes()
	if err != nil {
		r.t.Fatal(err)
	}
	one := measured(s.run(r))
	moved, err := r.c.UplinkBytesSince(before)
	if err != nil {
		r.t.Fatal(err)
	}
	total := 0.0
	for _, rack := range r.c.Racks() {
		total += float64(moved[rack].Out) / 1e6
	}
	one = append(one, total)
	a.runs = append(a.runs, one)
	r.t.Logf("%s: %s: %.1f", r.dir, strings.Join(append(slices.Clone(s.columns), crossRackMB), ", "), one)
	if _, err := r.c.FS(withTimeout(r.t, time.Minute), "-rm", "-r", "-skipTrash", r.dir); err != nil {
		r.t.Fatal(err)
	}
}

const crossRackMB = "cross-rack MB"

// table prints medians with the spread, and each arm's ratio to the first.
func table(columns []string, arms []*arm) string {
	columns = append(slices.Clone(columns), crossRackMB)
	var b strings.Builder
	b.WriteString("| arm | runs |")
	for _, name := range columns {
		fmt.Fprintf(&b, " %s: median (least to most) | ratio |", name)
	}
	b.WriteString("\n|:--|--:|" + strings.Repeat(":--|--:|", len(columns)) + "\n")
	for _, a := range arms {
		fmt.Fprintf(&b, "| %s | %d |", a.name(), len(a.runs))
		for i := range columns {
			v := a.column(i)
			fmt.Fprintf(&b, " %s | %.2f |", spread(v), median(v)/median(arms[0].column(i)))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// column is one column of all runs.
func (a *arm) column(i int) []float64 {
	v := make([]float64, 0, len(a.runs))
	for _, one := range a.runs {
		v = append(v, one[i])
	}
	return v
}

func spread(v []float64) string {
	return fmt.Sprintf("%.1f (%.1f to %.1f)", median(v), slices.Min(v), slices.Max(v))
}

func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}

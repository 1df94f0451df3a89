//go:build linux

package integration

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"heddle/integration/hadoop"
)

// The experiment: what steering is worth. A terasort runs again and again over
// uplinks that are its bottleneck, in turn as Hadoop places it and as the plans of
// some policies do, everything else being the same.

// Figures of the experiment: relay-facts measured reduces alone with the same.
const (
	experimentMbit  = 20
	experimentFiles = 6
	experimentBytes = 33_000_000
	experimentRuns  = 5 // of each arm, unless HEDDLE_RUNS says otherwise
)

// policies are those whose plans are tried: ShuffleWatcher's, unless
// HEDDLE_POLICIES lists others, separated by commas.
func policies() []string {
	return strings.FieldsFunc(cmp.Or(os.Getenv("HEDDLE_POLICIES"), "shufflewatcher"), func(r rune) bool { return r == ',' })
}

// planning is a policy's section of the configuration, at its defaults; but
// ShuffleWatcher's takes jobs it knows nothing of as the paper does.
func planning(policy string) string {
	params := ""
	if policy == "shufflewatcher" {
		params = ", params: {assume_unknown: true}"
	}
	return "policy: {name: " + policy + params + "}\n"
}

// arm is one way to run the job, with what was measured.
type arm struct {
	policy  string // "" is Hadoop's own placement
	seconds []float64
	megabyt []float64 // leaving the racks over the uplinks, decimal MB
}

func (a *arm) name() string { return cmp.Or(a.policy, "stock") }

// under runs a job as the arm does: with a heddle of its policy, that is there
// for this one job, or without.
func (a *arm) under(t *testing.T, c *hadoop.Cluster, job func(hadoop.Settings)) {
	t.Helper()
	if a.policy == "" {
		job(nil)
		return
	}
	config := strings.Split(steering(t, c, "enforce"), "\n")
	i := slices.IndexFunc(config, func(line string) bool { return strings.HasPrefix(line, "policy: ") })
	config[i] = planning(a.policy)
	s := startConfigured(t, c, strings.Join(config, "\n"))
	defer s.stop()
	job(throughRelay(c))
	r := s.relayed(within(t, 10*time.Second))
	t.Logf("%s: rewritten %v, passed %v", a.name(), r.Counts.Rewritten, r.Counts.Passed)
}

// TestExperiment takes about half an hour and runs on its own: make experiment.
func TestExperiment(t *testing.T) {
	if os.Getenv("HEDDLE_EXPERIMENT") == "" {
		t.Skip("an experiment of half an hour: make experiment")
	}
	hadoop.Need(t)
	c, err := hadoop.Start(within(t, 5*time.Minute), hadoop.Options{Racks: 3, HostsPerRack: 3, UplinkMbit: experimentMbit, Log: os.Stdout})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, scenario := range []struct {
		name    string
		hosts   []string
		perHost int
	}{
		{"concentrated", c.HostsOf("/rack1"), experimentFiles / 3},
		{"even", c.Hosts(), 1},
	} {
		if only := os.Getenv("HEDDLE_SCENARIO"); only != "" && only != scenario.name {
			continue
		}
		dir := "/" + scenario.name
		size := int64(experimentFiles * experimentBytes / (len(scenario.hosts) * scenario.perHost))
		if err := c.TeraInput(within(t, 5*time.Minute), dir, scenario.hosts, scenario.perHost, size); err != nil {
			t.Fatal(err)
		}
		arms := []*arm{{}}
		for _, p := range policies() {
			arms = append(arms, &arm{policy: p})
		}
		for n := range runs(t, experimentRuns) {
			for _, a := range arms {
				a.under(t, c, func(with hadoop.Settings) {
					a.measure(t, c, with, dir, fmt.Sprintf("/out-%s-%s-%d", scenario.name, a.name(), n))
				})
			}
		}
		t.Logf("%s input, %d Mbit/s uplinks:\n%s", scenario.name, experimentMbit, table(arms))
	}
}

// measure runs the job once.
func (a *arm) measure(t *testing.T, c *hadoop.Cluster, with hadoop.Settings, in, out string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	before, err := c.UplinkBytes()
	if err != nil {
		t.Fatal(err)
	}
	job, err := c.JobWith(ctx, with, "terasort", "-Dmapreduce.job.reduces=4", "-Dmapreduce.terasort.output.replication=1", in, out)
	if err != nil {
		t.Fatalf("%s: %v", a.name(), err)
	}
	moved, err := c.UplinkBytesSince(before)
	if err != nil {
		t.Fatal(err)
	}
	app, err := c.Ended(ctx, job)
	if err != nil {
		t.Fatal(err)
	}
	attempts, err := c.Attempts(ctx, job)
	if err != nil {
		t.Fatal(err)
	}
	total := 0.0
	for _, rack := range c.Racks() {
		total += float64(moved[rack].Out) / 1e6
	}
	a.seconds, a.megabyt = append(a.seconds, app.Took().Seconds()), append(a.megabyt, total)
	t.Logf("%-14s %6.1f s %6.1f MB  maps %v, reduces %v", a.name(), app.Took().Seconds(), total,
		hadoop.AttemptsByRack(attempts, "MAP"), hadoop.AttemptsByRack(attempts, "REDUCE"))
	if _, err := c.FS(ctx, "-rm", "-r", "-skipTrash", out); err != nil {
		t.Fatal(err)
	}
}

// table prints medians with the spread, and each arm's ratio to the first.
func table(arms []*arm) string {
	var b strings.Builder
	b.WriteString("| arm | runs | application seconds: median (least to most) | cross-rack MB: median (least to most) | ratio of seconds | of MB |\n|:--|--:|:--|:--|--:|--:|\n")
	for _, a := range arms {
		fmt.Fprintf(&b, "| %s | %d | %s | %s | %.2f | %.2f |\n", a.name(), len(a.seconds), spread(a.seconds), spread(a.megabyt),
			median(a.seconds)/median(arms[0].seconds), median(a.megabyt)/median(arms[0].megabyt))
	}
	return b.String()
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

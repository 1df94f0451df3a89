//go:build linux

package integration

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"heddle/integration/hadoop"
)

// What the experiment measured is kept as lines of JSON, a line for each run, and the
// tables are made from them: those of one experiment that was interrupted, or of several.

// record is one run.
type record struct {
	runID
	At      time.Time `json:"at"`      // of its end
	Columns []string  `json:"columns"` // of the scenario, the last is crossRackMB
	Values  []float64 `json:"values"`  // of the columns, seconds or decimal MB
	Busy    float64   `json:"busy"`    // share of the processors' time that was not idle meanwhile, 0 to 1
}

// runID says which run it is.
type runID struct {
	Scenario  string           `json:"scenario"`
	Scheduler hadoop.Scheduler `json:"scheduler"`
	Mbit      int              `json:"mbit"` // of every uplink
	Arm       string           `json:"arm"`
	Run       int              `json:"run"` // counted from 1; run n of every arm is a pair with run n of any other
}

// crossRackMB is the column of what left the racks over the uplinks.
const crossRackMB = "cross-rack MB"

// experimentFile is where runs are kept: HEDDLE_EXPERIMENT_LOG, a relative path being below the module's folder.
func experimentFile() string {
	file := cmp.Or(os.Getenv("HEDDLE_EXPERIMENT_LOG"), filepath.Join(".cache", "experiment.jsonl"))
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join("..", file)
}

// readRecords reads the runs that a file keeps, none if there is no file. Of a run that was
// made again the last counts.
func readRecords(file string) ([]record, error) {
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read earlier runs: %w", err)
	}
	var all []record
	n := 0
	for line := range bytes.Lines(text) {
		n++
		var r record
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, fmt.Errorf("read earlier runs: %s:%d: %w; repair the line or remove it", file, n, err)
		}
		if len(r.Columns) == 0 || len(r.Columns) != len(r.Values) {
			return nil, fmt.Errorf("read earlier runs: %s:%d: %d columns and %d values; remove the line", file, n, len(r.Columns), len(r.Values))
		}
		all = slices.DeleteFunc(all, func(old record) bool { return old.runID == r.runID })
		all = append(all, r)
	}
	return all, nil
}

// appendRecord keeps a run.
func appendRecord(file string, r *record) error {
	line, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("keep a run: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		return fmt.Errorf("keep a run: %w", err)
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("keep a run: %w", err)
	}
	_, err = f.Write(append(line, '\n')) // in one piece, however the experiment ends
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("keep a run: %w", err)
	}
	return nil
}

// comparison is the runs of one scenario on one scheduler over uplinks of one rate.
type comparison struct {
	Scenario  string
	Scheduler hadoop.Scheduler
	Mbit      int
	columns   []string
	arms      []string // stock first, then as they first ran
	runs      map[string]map[int]*record
}

// compare groups runs. Runs of a scenario that had other columns are not comparable; the last ones' columns count.
func compare(all []record) []*comparison {
	var groups []*comparison
	for _, r := range all {
		i := slices.IndexFunc(groups, func(c *comparison) bool {
			return c.Scenario == r.Scenario && c.Scheduler == r.Scheduler && c.Mbit == r.Mbit
		})
		if i < 0 {
			i = len(groups)
			groups = append(groups, &comparison{Scenario: r.Scenario, Scheduler: r.Scheduler, Mbit: r.Mbit})
		}
		groups[i].columns = r.Columns
	}
	for _, c := range groups {
		c.runs = map[string]map[int]*record{}
		for i := range all {
			r := &all[i]
			if c.Scenario != r.Scenario || c.Scheduler != r.Scheduler || c.Mbit != r.Mbit || !slices.Equal(c.columns, r.Columns) {
				continue
			}
			if c.runs[r.Arm] == nil {
				c.runs[r.Arm] = map[int]*record{}
				c.arms = append(c.arms, r.Arm)
			}
			c.runs[r.Arm][r.Run] = r
		}
		slices.SortStableFunc(c.arms, func(a, b string) int { return rankOfArm(a) - rankOfArm(b) })
	}
	return groups
}

// rankOfArm puts stock before stock with settings, and that before policies.
func rankOfArm(name string) int {
	switch {
	case name == stockName:
		return 0
	case strings.HasPrefix(name, stockName+":"):
		return 1
	}
	return 2
}

// column is one column of all runs of an arm, by run.
func (c *comparison) column(arm string, i int) []float64 {
	v := make([]float64, 0, len(c.runs[arm]))
	for n := range maxRun(c.runs[arm]) {
		if r := c.runs[arm][n+1]; r != nil {
			v = append(v, r.Values[i])
		}
	}
	return v
}

// pairs is one column of the runs that two arms both have.
func (c *comparison) pairs(arm, reference string, i int) (x, y []float64) {
	for n := range maxRun(c.runs[arm]) {
		a, b := c.runs[arm][n+1], c.runs[reference][n+1]
		if a != nil && b != nil {
			x, y = append(x, a.Values[i]), append(y, b.Values[i])
		}
	}
	return x, y
}

// maxRun is the largest number of a run.
func maxRun(runs map[int]*record) int {
	most := 0
	for n := range runs { // a maximum is the same in any order
		most = max(most, n)
	}
	return most
}

// bestStock is the arm without heddle with the least median of the first column.
func (c *comparison) bestStock() string {
	best := c.arms[0]
	for _, arm := range c.arms {
		if rankOfArm(arm) < 2 && median(c.column(arm, 0)) < median(c.column(best, 0)) {
			best = arm
		}
	}
	return best
}

// leastPairs is how many pairs the paired test wants: with fewer no outcome has p below 0.05.
const leastPairs = 5

// table prints medians with the spread, each arm's ratio of medians to the reference's, and
// p, the chance of so large a gain over the reference (see [signFlip]), bold below 0.05; "-" is
// too few pairs. p near 1 is a loss.
func (c *comparison) table(reference string) string {
	var b strings.Builder
	b.WriteString("| arm | runs |")
	for _, name := range c.columns {
		fmt.Fprintf(&b, " %s: median (least to most) | ratio | p |", name)
	}
	b.WriteString(" processors busy |\n|:--|--:|" + strings.Repeat(":--|--:|--:|", len(c.columns)) + "--:|\n")
	for _, arm := range c.arms {
		fmt.Fprintf(&b, "| %s | %d |", arm, len(c.runs[arm]))
		for i := range c.columns {
			v, of := c.column(arm, i), c.column(reference, i)
			fmt.Fprintf(&b, " %s | %.2f | %s |", spread(v), median(v)/median(of), c.chance(arm, reference, i))
		}
		fmt.Fprintf(&b, " %.0f %% |\n", 100*median(c.busy(arm)))
	}
	return b.String()
}

// chance prints p of one column.
func (c *comparison) chance(arm, reference string, i int) string {
	x, y := c.pairs(arm, reference, i)
	if arm == reference || len(x) < leastPairs {
		return "-"
	}
	p := signFlip(x, y)
	if p < 0.05 {
		return fmt.Sprintf("**%.3f**", p)
	}
	return fmt.Sprintf("%.2f", p)
}

func (c *comparison) busy(arm string) []float64 {
	var v []float64
	for _, r := range c.runs[arm] { // order-free: its median
		v = append(v, r.Busy)
	}
	return v
}

// text prints a heading and the tables: against stock, and against the best stock where that is another arm.
func (c *comparison) text() string {
	head := fmt.Sprintf("%s, %s scheduler, %d Mbit/s uplinks", c.Scenario, c.Scheduler, c.Mbit)
	text := head + "; ratio and p against " + c.arms[0] + ":\n\n" + c.table(c.arms[0])
	if best := c.bestStock(); best != c.arms[0] {
		text += "\n" + head + "; ratio and p against " + best + ":\n\n" + c.table(best)
	}
	return text
}

// signFlip is the exact one-sided paired test of whether x is less than y, both positive and of one
// length n of at most 20: were there no difference, each difference of logarithms would as likely
// have the other sign. It returns the share of the 2^n choices of signs whose sum is at least the observed one.
func signFlip(x, y []float64) float64 {
	diff, observed, size := make([]float64, len(x)), 0.0, 0.0
	for i := range x {
		diff[i] = math.Log(y[i]) - math.Log(x[i])
		observed += diff[i]
		size += math.Abs(diff[i])
	}
	tolerance := 1e-12 * size // sums of the same numbers in another order
	atLeast := 0
	for signs := range 1 << len(diff) {
		sum := 0.0
		for i, d := range diff {
			if signs>>i&1 == 1 {
				d = -d
			}
			sum += d
		}
		if sum >= observed-tolerance {
			atLeast++
		}
	}
	return float64(atLeast) / float64(int(1)<<len(diff))
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

// percentile is the least of the values that this share of them, 0 to 1, does not exceed.
func percentile(v []float64, share float64) float64 {
	s := slices.Sorted(slices.Values(v))
	return s[max(0, int(math.Ceil(share*float64(len(s))))-1)]
}

// processorTime is what all processors spent since the machine started, in ticks.
type processorTime struct{ idle, all int64 }

// readProcessorTime reads it from the kernel; a sandbox sees the whole machine's.
func readProcessorTime() (processorTime, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return processorTime{}, fmt.Errorf("read how busy processors are: %w", err)
	}
	return parseProcessorTime(text)
}

// parseProcessorTime reads the first line of /proc/stat, cpu and the ticks of all processors: user, nice, system,
// idle, iowait, irq, softirq, steal; guests are part of user (proc_stat(5)). What the hypervisor
// stole counts as busy: it was not there to be used.
func parseProcessorTime(text []byte) (t processorTime, err error) {
	var kind string
	v := make([]int64, 8)
	_, err = fmt.Sscan(string(text), &kind, &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7])
	if err != nil || kind != "cpu" {
		return t, fmt.Errorf("read how busy processors are: %q are no times of processors: %w", text[:min(len(text), 40)], err)
	}
	for _, ticks := range v {
		t.all += ticks
	}
	t.idle = v[3] + v[4]
	return t, nil
}

// busySince is the share of the time since that the processors were busy, 0 to 1.
func (t processorTime) busySince(before processorTime) float64 {
	all := t.all - before.all
	if all <= 0 {
		return 0
	}
	return 1 - float64(t.idle-before.idle)/float64(all)
}

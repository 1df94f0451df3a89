package frontier

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// RobustPolicies returns the policies that run under perturbations: Subject, Fair, and the one whose traffic counts.
func RobustPolicies() []string { return []string{Subject, Fair, lean} }

// lean is the policy that Subject's cross-rack traffic is compared with under perturbations.
const lean = "delay"

// RobustLimit is a metric under perturbations: Subject's value may be at most so many times that of one other policy, with
// Hadoop's slowstart.
type RobustLimit struct {
	Metric
	Than string
}

// RobustLimits returns the limits in the order of the page.
func RobustLimits() []RobustLimit {
	all := Metrics()
	mean, traffic := all[0], all[2]
	mean.Allow, traffic.Allow = 1, 1.03
	return []RobustLimit{{mean, Fair}, {traffic, lean}}
}

// PerturbedResult is what came of a workload under a perturbation.
type PerturbedResult struct {
	Workload     string       `json:"workload"`
	Perturbation string       `json:"perturbation"`
	Comparisons  []Comparison `json:"comparisons"` // by RobustLimit; none where the simulator does not simulate it
	Finished     []int        `json:"finished"`    // jobs, the least of all seeds by policy of RobustPolicies
}

// NewPerturbedResult compares the variants of a perturbed workload, one for each of RobustPolicies in that order; none stand for
// a perturbation that is not simulated.
func NewPerturbedResult(workload, perturbation string, variants []Variant) PerturbedResult {
	r := PerturbedResult{Workload: workload, Perturbation: perturbation, Comparisons: []Comparison{}, Finished: []int{}}
	if len(variants) == 0 {
		return r
	}
	for _, l := range RobustLimits() {
		other := find(variants, func(v *Variant) bool { return v.Policy == l.Than })
		c := compare(&variants[0], other, &l.Metric)
		c.By = l.Than
		r.Comparisons = append(r.Comparisons, c)
	}
	for i := range variants {
		least := math.MaxInt
		for k := range variants[i].Runs {
			variants[i].Runs[k].PerJob = nil
			least = min(least, variants[i].Runs[k].Finished)
		}
		r.Finished = append(r.Finished, least)
	}
	return r
}

// Robustness is the report on workloads under perturbations, and the object that -o json prints.
type Robustness struct {
	Format  int               `json:"format"`
	Scale   float64           `json:"scale"`
	Seeds   int               `json:"seeds"`
	Missing []string          `json:"missing,omitempty"`
	Results []PerturbedResult `json:"results"` // by workload, then perturbation
}

// RobustnessTitle is the heading of the section.
const RobustnessTitle = "## Perturbations\n"

const robustnessText = RobustnessTitle + `
What becomes of ` + "`weave`" + ` with its default parameters when things go wrong or are otherwise than it takes them to be. Its mean completion time stands beside
that of ` + "`fair`" + ` under the same perturbation, and may not be above it; its cross-rack traffic beside that of ` + "`delay`" + `, and may be at most 3 % above it.
Both run with Hadoop's slowstart. A value is the median over the seeds.
`

// Markdown writes the section of the page.
func (r *Robustness) Markdown(w io.Writer) error {
	var b strings.Builder
	b.WriteString(robustnessText)
	writeExtent(&b, r.Scale, r.Seeds, r.Missing)
	b.WriteString("\n| perturbation | what it is |")
	for _, l := range RobustLimits() {
		fmt.Fprintf(&b, " %s within its limit on | geometric mean of ratios to %s | largest |", l.Name, l.Than)
	}
	b.WriteString("\n|---|---|--:|--:|---|--:|--:|---|\n")
	for _, p := range Perturbations() {
		fmt.Fprintf(&b, "| %s | %s |", p.Name, p.Doc)
		for k := range RobustLimits() {
			s := r.summary(p.Name, k)
			fmt.Fprintf(&b, " %d of %d | %.3f | %.3f %s |", s.met, s.of, s.mean, s.largest, s.largestOn)
		}
		b.WriteString("\n")
	}
	for k, l := range RobustLimits() {
		fmt.Fprintf(&b, "\n%s%s in %s: `weave`, %s, and the ratio, bold where it is too high.\n\n| workload |", strings.ToUpper(l.Name[:1]), l.Name[1:], l.Unit, "`"+l.Than+"`")
		for _, p := range Perturbations() {
			fmt.Fprintf(&b, " %s |", p.Name)
		}
		b.WriteString("\n|---|" + strings.Repeat("---|", len(Perturbations())))
		last := ""
		for i := range r.Results {
			res := &r.Results[i]
			if res.Workload != last {
				fmt.Fprintf(&b, "\n| %s |", res.Workload)
				last = res.Workload
			}
			b.WriteString(" " + res.cell(k, l.scale) + " |")
		}
		b.WriteString("\n")
	}
	if text := r.UnfinishedText(); text != "" {
		b.WriteString("\n" + text + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// cell is a comparison in a table.
func (r *PerturbedResult) cell(k int, scale float64) string {
	if len(r.Comparisons) == 0 {
		return "–"
	}
	c := &r.Comparisons[k]
	ratio := fmt.Sprintf("%.3f", c.Ratio)
	if !c.Met {
		ratio = "**" + ratio + "**"
	}
	return fmt.Sprintf("%s, %s, %s", value(c.Subject/scale), value(c.Best/scale), ratio)
}

// UnfinishedText names the runs in which policies finished different jobs, so that their times are of different ones; "" where there
// is none.
func (r *Robustness) UnfinishedText() string {
	var of []string
	for i := range r.Results {
		res := &r.Results[i]
		for _, n := range res.Finished {
			if n != res.Finished[0] {
				of = append(of, fmt.Sprintf("%s %s (%v)", res.Workload, res.Perturbation, res.Finished))
				break
			}
		}
	}
	if len(of) == 0 {
		return ""
	}
	return "Jobs failed, not the same number under " + strings.Join(RobustPolicies(), ", ") + ": " + strings.Join(of, "; ") + "."
}

// perturbedSummary is a metric under a perturbation over all workloads.
type perturbedSummary struct {
	met, of       int
	mean, largest float64 // of the ratios
	largestOn     string
}

func (r *Robustness) summary(perturbation string, metric int) perturbedSummary {
	var s perturbedSummary
	logs := 0.0
	for i := range r.Results {
		res := &r.Results[i]
		if res.Perturbation != perturbation || len(res.Comparisons) == 0 {
			continue
		}
		c := &res.Comparisons[metric]
		s.of++
		if c.Met {
			s.met++
		}
		logs += math.Log(max(c.Ratio, 1e-9))
		if c.Ratio > s.largest {
			s.largest, s.largestOn = c.Ratio, res.Workload
		}
	}
	s.mean = math.Exp(logs / float64(max(s.of, 1)))
	return s
}

// writeExtent says how much was run.
func writeExtent(b *strings.Builder, scale float64, seeds int, missing []string) {
	fmt.Fprintf(b, "\nThis section: %s", plural(seeds, "seed"))
	if scale != 1 {
		fmt.Fprintf(b, ", the first %g %% of each workload's jobs", 100*scale)
	}
	b.WriteString(".")
	if len(missing) > 0 {
		fmt.Fprintf(b, " Not run, as their public trace is missing: %s.", strings.Join(missing, ", "))
	}
	b.WriteString("\n")
}

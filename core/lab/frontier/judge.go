package frontier

import (
	"fmt"
	"slices"
)

// Metric is a figure of a run that is compared; less is better.
type Metric struct {
	Key    string // in JSON
	Name   string
	Unit   string
	Allow  float64 // how many times the best other's value still counts as met
	Needed float64 // part of the workloads on which it must be met
	scale  float64 // what a unit is worth
	of     func(r *Run) float64
}

// Metrics returns the metrics in the order of the page.
func Metrics() []Metric {
	return []Metric{
		{"jct_mean_s", "mean completion time", "s", 1, 1, 1, func(r *Run) float64 { return r.JCT.Mean }},
		{"jct_p95_s", "p95 of completion time", "s", 1, 0.8, 1, func(r *Run) float64 { return r.JCT.P95 }},
		{"cross_rack_bytes", "cross-rack traffic", "GB", 1, 1, 1e9, func(r *Run) float64 { return float64(r.CrossRack.Total) }},
		{"makespan_s", "makespan", "s", 1.05, 1, 1, func(r *Run) float64 { return r.Makespan }},
	}
}

// Variant is a policy with a value of slowstart, and its runs of a workload, one with each seed.
type Variant struct {
	Policy    string  `json:"policy"` // its label
	Slowstart float64 `json:"slowstart"`
	Runs      []Run   `json:"runs"`

	subject bool
}

// NewVariant returns a variant of a policy without runs.
func NewVariant(p *Policy, slowstart float64) Variant {
	return Variant{Policy: p.Label, Slowstart: slowstart, subject: p.Name == Subject}
}

// Name returns the policy, and its slowstart where that matters.
func (v *Variant) Name() string {
	if v.subject {
		return v.Policy
	}
	return fmt.Sprintf("%s %g", v.Policy, v.Slowstart)
}

// median returns the median over the seeds of a metric.
func (v *Variant) median(m *Metric) float64 {
	values := make([]float64, len(v.Runs))
	for i := range v.Runs {
		values[i] = m.of(&v.Runs[i])
	}
	slices.Sort(values)
	return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
}

// Comparison is what came of a metric on a workload: medians over the seeds.
type Comparison struct {
	Metric  string  `json:"metric"`
	Subject float64 `json:"subject"`
	Best    float64 `json:"best_other"`
	By      string  `json:"best_other_policy"`
	Ratio   float64 `json:"ratio"` // of the two
	Met     bool    `json:"met"`
}

// Result is what came of a workload.
type Result struct {
	Name        string       `json:"name"`
	Doc         string       `json:"doc"`
	Training    bool         `json:"training"`
	Source      string       `json:"source"`
	Cluster     string       `json:"cluster"`
	Jobs        int          `json:"jobs"`
	Tasks       int          `json:"tasks"`
	Comparisons []Comparison `json:"comparisons"` // by metric; none without Subject or without others
	Fairness    *Fairness    `json:"fairness,omitempty"`
	Variants    []Variant    `json:"variants"`
}

// NewResult compares the variants of a workload. The first variant of Subject counts. What each job did is not kept.
func NewResult(s *Setup, variants []Variant) Result {
	d := s.Work.Describe()
	r := Result{
		Name: s.Name, Doc: s.Doc, Training: s.Training, Source: s.Source, Cluster: s.ClusterText(),
		Jobs: d.Jobs, Tasks: d.Tasks, Variants: variants,
	}
	subject := find(variants, func(v *Variant) bool { return v.subject })
	r.Fairness = newFairness(s, subject, find(variants, func(v *Variant) bool { return v.Policy == Fair && v.Slowstart == DefaultSlowstart }))
	for i := range variants {
		for k := range variants[i].Runs {
			variants[i].Runs[k].PerJob = nil
		}
	}
	if subject == nil {
		return r
	}
	for _, m := range Metrics() {
		if best := bestOther(variants, &m); best != nil {
			r.Comparisons = append(r.Comparisons, compare(subject, best, &m))
		}
	}
	return r
}

// find returns the first variant of a kind; nil without.
func find(variants []Variant, is func(*Variant) bool) *Variant {
	for i := range variants {
		if is(&variants[i]) {
			return &variants[i]
		}
	}
	return nil
}

// bestOther returns the variant of another policy with the least median of a metric, the first of equal ones.
func bestOther(variants []Variant, m *Metric) *Variant {
	var best *Variant
	for i := range variants {
		if v := &variants[i]; !v.subject && (best == nil || v.median(m) < best.median(m)) {
			best = v
		}
	}
	return best
}

func compare(subject, best *Variant, m *Metric) Comparison {
	c := Comparison{Metric: m.Key, Subject: subject.median(m), Best: best.median(m), By: best.Name(), Ratio: 1}
	if c.Best > 0 {
		c.Ratio = c.Subject / c.Best
	}
	c.Met = c.Subject <= m.Allow*c.Best
	return c
}

// Verdict is on how many workloads a metric was met.
type Verdict struct {
	Metric string `json:"metric"`
	Met    int    `json:"met"`
	Of     int    `json:"of"`
	Needed int    `json:"needed"`
	OK     bool   `json:"ok"`
}

// Judge counts the workloads on which each metric was met. Those without a comparison do not count.
func Judge(results []Result) []Verdict {
	var out []Verdict
	for k, m := range Metrics() {
		v := Verdict{Metric: m.Key}
		for i := range results {
			if k >= len(results[i].Comparisons) {
				continue
			}
			v.Of++
			if results[i].Comparisons[k].Met {
				v.Met++
			}
		}
		for float64(v.Needed) < m.Needed*float64(v.Of)-1e-9 {
			v.Needed++
		}
		v.OK = v.Met >= v.Needed
		out = append(out, v)
	}
	return out
}

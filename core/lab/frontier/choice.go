package frontier

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Standing is how far a variant is from the best over all workloads, by metric in the order of Metrics: ratios to the least
// median of any variant on the same workload, 1 where it is the least.
type Standing struct {
	Variant string    `json:"variant"`
	Mean    []float64 `json:"geometric_mean"`
	Worst   []float64 `json:"worst"`
}

// Standings returns the standing of each variant that ran on every workload, in the order they ran in.
func Standings(results []Result) []Standing {
	if len(results) == 0 {
		return nil
	}
	var out []Standing
	for i := range results[0].Variants {
		s := Standing{Variant: results[0].Variants[i].Name()}
		for _, m := range Metrics() {
			product, worst, n := 0.0, 1.0, 0
			for k := range results {
				variants := results[k].Variants
				at := slices.IndexFunc(variants, func(v Variant) bool { return v.Name() == s.Variant })
				if at < 0 {
					continue
				}
				best := slices.MinFunc(variants, func(a, b Variant) int { return cmp.Compare(a.median(&m), b.median(&m)) })
				ratio := 1.0
				if least := best.median(&m); least > 0 {
					ratio = variants[at].median(&m) / least
				}
				product, worst, n = product+math.Log(ratio), max(worst, ratio), n+1
			}
			if n < len(results) {
				break
			}
			s.Mean, s.Worst = append(s.Mean, math.Exp(product/float64(n))), append(s.Worst, worst)
		}
		if len(s.Mean) == len(Metrics()) {
			out = append(out, s)
		}
	}
	return out
}

// aim is what somebody may want of a policy: less of is better.
type aim struct {
	want string
	of   func(s *Standing) float64
}

// aims returns what the page chooses by.
func aims() []aim {
	out := []aim{}
	for k, want := range []string{
		"jobs that are complete early on average", "few jobs that take long", "little traffic between racks", "all work done early",
	} {
		out = append(out, aim{want, func(s *Standing) float64 { return s.Mean[k] }})
	}
	return append(out, aim{"no workload on which jobs take much longer than they must", func(s *Standing) float64 { return s.Worst[0] }})
}

// writeChoice writes which policy is for whom, and how far each is from the best.
func (r *Report) writeChoice(b *strings.Builder) {
	standings := Standings(r.Results)
	if len(standings) < 2 {
		return
	}
	b.WriteString("\n## Which policy for whom\n\nA ratio is a policy's median over the least of any policy with any slowstart on the same workload, as a geometric mean over all workloads; in brackets on the" +
		" workload where it is worst. 1.00 is the best everywhere.\n\n| who wants | takes |")
	for _, m := range Metrics() {
		fmt.Fprintf(b, " %s |", m.Name)
	}
	b.WriteString("\n|---|---|--:|--:|--:|--:|\n")
	for _, a := range aims() {
		best := slices.MinFunc(standings, func(x, y Standing) int { return cmp.Compare(a.of(&x), a.of(&y)) })
		fmt.Fprintf(b, "| %s | %s |%s\n", a.want, best.Variant, best.cells())
	}
	b.WriteString("\nEvery policy, by mean completion time:\n\n| policy, slowstart |")
	for _, m := range Metrics() {
		fmt.Fprintf(b, " %s |", m.Name)
	}
	b.WriteString("\n|---|--:|--:|--:|--:|\n")
	slices.SortStableFunc(standings, func(x, y Standing) int { return cmp.Compare(x.Mean[0], y.Mean[0]) })
	for i := range standings {
		fmt.Fprintf(b, "| %s |%s\n", standings[i].Variant, standings[i].cells())
	}
}

func (s *Standing) cells() string {
	var b strings.Builder
	for k := range s.Mean {
		fmt.Fprintf(&b, " %.2f (%.2f) |", s.Mean[k], s.Worst[k])
	}
	return b.String()
}

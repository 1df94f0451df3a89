package frontier

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// Ablation is Subject with a part switched off.
type Ablation struct {
	Name   string // "" of the whole
	Doc    string // what is left without the part
	Params string // JSON, in place of defaults
}

// Ablations returns all, after the whole Subject.
func Ablations() []Ablation {
	return []Ablation{
		{"", "", `{}`},
		{"order", "jobs by arrival in place of the container time they have left", `{"remaining":false}`},
		{"shares", "users and queues that are behind do not go first", `{"behind_s":0}`},
		{"late", "jobs that are late do not go first", `{"late":0}`},
		{"shares and late", "neither", `{"behind_s":0,"late":0}`},
		{"spare", "who is behind or late has all of the cluster first", `{"spare":0}`},
		{"joint", "racks of maps are not chosen with those of reduces", `{"joint":false}`},
		{"others", "no delay of other jobs in that choice", `{"others":0}`},
		{"idle price", "a byte has its whole price on idle uplinks", `{"idle_price":1}`},
		{"patience", "no task waits for a better rack", `{"patience":0}`},
		{"admission", "reduces are started whatever their uplinks carry", `{"admit_s":0}`},
		{"slack", "reduces never load the busiest uplink for fewer bytes", `{"slack":0}`},
		{"quotas", "reduces go where the fewest bytes cross racks, however long the busiest uplink carries", `{"slack":1000}`},
	}
}

// AblatedMetric is a metric of an ablation: the ratio of its value to that of the whole Subject, medians over the seeds.
type AblatedMetric struct {
	Metric    string          `json:"metric"`
	Mean      float64         `json:"mean"` // geometric, over workloads
	Largest   float64         `json:"largest"`
	LargestOn string          `json:"largest_on"` // the workload
	Least     float64         `json:"least"`
	LeastOn   string          `json:"least_on"`
	Ratios    []AblationRatio `json:"ratios"`
}

// AblationRatio is the ratio on a workload.
type AblationRatio struct {
	Workload string  `json:"workload"`
	Ratio    float64 `json:"ratio"`
}

// AblationResult is what came of an ablation.
type AblationResult struct {
	Name    string          `json:"name"`
	Params  string          `json:"params"`
	Metrics []AblatedMetric `json:"metrics"`
}

// AblationReport is the report on the parts of Subject, and the object that -o json prints.
type AblationReport struct {
	Format  int              `json:"format"`
	Scale   float64          `json:"scale"`
	Seeds   int              `json:"seeds"`
	Missing []string         `json:"missing,omitempty"`
	Results []AblationResult `json:"ablations"`
}

// NewAblationReport compares the variants of workloads, one for each of Ablations in that order, with the first of them.
func NewAblationReport(workloads []string, variants [][]Variant, scale float64, seeds int) *AblationReport {
	r := &AblationReport{Format: Format, Scale: scale, Seeds: seeds}
	for k, a := range Ablations()[1:] {
		res := AblationResult{Name: a.Name, Params: a.Params}
		for _, m := range Metrics() {
			of := AblatedMetric{Metric: m.Key, Ratios: []AblationRatio{}}
			for i, name := range workloads {
				of.add(name, compare(&variants[i][k+1], &variants[i][0], &m).Ratio)
			}
			of.Mean = math.Exp(of.Mean / float64(max(len(workloads), 1)))
			res.Metrics = append(res.Metrics, of)
		}
		r.Results = append(r.Results, res)
	}
	return r
}

// add adds a workload; up to the last one Mean is the sum of logarithms.
func (m *AblatedMetric) add(workload string, ratio float64) {
	m.Ratios = append(m.Ratios, AblationRatio{workload, ratio})
	m.Mean += math.Log(max(ratio, 1e-9))
	if len(m.Ratios) == 1 || ratio > m.Largest {
		m.Largest, m.LargestOn = ratio, workload
	}
	if len(m.Ratios) == 1 || ratio < m.Least {
		m.Least, m.LeastOn = ratio, workload
	}
}

// AblationsTitle is the heading of the section.
const AblationsTitle = "## Parts of weave\n"

const ablationsText = AblationsTitle + `
What each part of ` + "`weave`" + ` is worth: the ratio of each metric without the part to that of the whole, over all workloads: the geometric mean, the largest ratio and the
workload that has it, and the least likewise. Above 1 the part helps.
`

// Markdown writes the section of the page.
func (r *AblationReport) Markdown(w io.Writer) error {
	var b strings.Builder
	b.WriteString(ablationsText)
	writeExtent(&b, r.Scale, r.Seeds, r.Missing)
	b.WriteString("\n| without | what is left | parameters |")
	for _, m := range Metrics() {
		fmt.Fprintf(&b, " %s |", m.Name)
	}
	b.WriteString("\n|---|---|---|---|---|---|---|\n")
	for k, a := range Ablations()[1:] {
		fmt.Fprintf(&b, "| %s | %s | `%s` |", a.Name, a.Doc, a.Params)
		for _, m := range r.Results[k].Metrics {
			fmt.Fprintf(&b, " **%.3f**, %.3f %s, %.3f %s |", m.Mean, m.Largest, m.LargestOn, m.Least, m.LeastOn)
		}
		b.WriteString("\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

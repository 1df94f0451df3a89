package frontierrun

import (
	"context"
	"fmt"
	"io"
	"strings"

	"heddle/cmd/heddle/internal/exit"
	"heddle/core/lab/frontier"
)

// RunRobust runs the workloads under perturbations.
func (o *Options) RunRobust(ctx context.Context, stderr io.Writer) (*frontier.Robustness, error) {
	policies, _, err := o.parse(strings.Join(frontier.RobustPolicies(), ","))
	if err == nil {
		err = checkRobustPolicies(policies)
	}
	if err != nil {
		return nil, exit.NewUsageError(err)
	}
	plain, missing, err := o.open(stderr)
	if err != nil {
		return nil, err
	}
	report := &frontier.Robustness{Format: frontier.Format, Scale: o.Scale, Seeds: o.Seeds, Missing: missing}
	var setups []*frontier.Setup
	var places []int // in the report, of each setup
	for _, s := range plain {
		for _, p := range frontier.Perturbations() {
			report.Results = append(report.Results, frontier.NewPerturbedResult(s.Name, p.Name, nil))
			perturbed, err := s.Perturb(&p)
			if err != nil {
				fmt.Fprintf(stderr, "%s: left out of %s: %v\n", s.Name, p.Name, err)
				continue
			}
			setups, places = append(setups, perturbed), append(places, len(report.Results)-1)
		}
	}
	variants, err := o.runVariants(ctx, setups, policies, []float64{frontier.DefaultSlowstart}, stderr)
	if err != nil {
		return nil, err
	}
	for i, at := range places {
		r := &report.Results[at]
		*r = frontier.NewPerturbedResult(r.Workload, r.Perturbation, variants[i])
	}
	return report, nil
}

// checkRobustPolicies reports policies that are not those that run under perturbations, in their order.
func checkRobustPolicies(policies []frontier.Policy) error {
	want := frontier.RobustPolicies()
	ok := len(policies) == len(want)
	for i := range policies {
		ok = ok && policies[i].Name == want[i]
	}
	if !ok {
		return fmt.Errorf("--robust: compares the policies %s, in this order, each once; parameters may be given", strings.Join(want, ","))
	}
	return nil
}

// RunAblations runs the workloads under frontier.Subject as it is, and with each part switched off.
func (o *Options) RunAblations(ctx context.Context, stderr io.Writer) (*frontier.AblationReport, error) {
	if o.Policies != "" {
		return nil, exit.NewUsageError(fmt.Errorf("--ablations: runs %s with parameters of its own; omit --policies", frontier.Subject))
	}
	var list []string
	for _, a := range frontier.Ablations() {
		list = append(list, frontier.Subject+a.Params)
	}
	policies, _, err := o.parse(strings.Join(list, ","))
	if err != nil {
		return nil, exit.NewUsageError(err)
	}
	setups, missing, err := o.open(stderr)
	if err != nil {
		return nil, err
	}
	variants, err := o.runVariants(ctx, setups, policies, nil, stderr)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, s := range setups {
		names = append(names, s.Name)
	}
	report := frontier.NewAblationReport(names, variants, o.Scale, o.Seeds)
	report.Missing = missing
	return report, nil
}

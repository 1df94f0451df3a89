package fluid

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"heddle/core/policy/num/schedule"

	"heddle/core/lab/fluid/tandem"
)

// Policy divides both capacities among the jobs: P1 alone, or NUM(P1, P2, theta).
type Policy struct {
	Name  string
	P1    schedule.Schedule
	P2    schedule.Schedule // "" is P1 alone
	Theta float64           // the most of the map capacity that P2 gets, 0..1
}

// Policies returns the policies of the paper (§5.1.1) and UOPT (§4.1), in a
// fixed order.
func Policies() []Policy {
	return []Policy{
		{Name: "fair", P1: schedule.Fair},
		{Name: "maxsrpt", P1: schedule.MaxSRPT},
		{Name: "splitsrpt", P1: schedule.SplitSRPT},
		{Name: "uopt", P1: schedule.UOPT},
		{Name: "num", P1: schedule.MaxSRPT, P2: schedule.SplitSRPT, Theta: 0.85},
		{Name: "numu", P1: schedule.MaxSRPT, P2: schedule.UOPT, Theta: 1},
	}
}

// ParsePolicy returns the policy of a name: one of Policies, or
// num:P1:P2:THETA with the names of two that are no NUM.
func ParsePolicy(name string) (Policy, error) {
	if p, ok := policyOf(name); ok {
		return p, nil
	}
	parts := strings.Split(name, ":")
	if len(parts) != 4 || parts[0] != "num" {
		return Policy{}, fmt.Errorf("policy %q: want one of %s, or num:P1:P2:THETA such as num:maxsrpt:uopt:0.5",
			name, strings.Join(names(func(Policy) bool { return true }), ", "))
	}
	first, err1 := parseSchedule("P1", parts[1])
	second, err2 := parseSchedule("P2", parts[2])
	theta, err3 := strconv.ParseFloat(parts[3], 64)
	if err3 != nil {
		err3 = fmt.Errorf("theta: want a number between 0 and 1, is %q", parts[3])
	}
	p := Policy{Name: name, P1: first, P2: second, Theta: theta}
	err := errors.Join(err1, err2, err3)
	if err == nil {
		err = p.Validate()
	}
	if err != nil {
		return Policy{}, fmt.Errorf("policy %q: %w", name, err)
	}
	return p, nil
}

func parseSchedule(which, name string) (schedule.Schedule, error) {
	p, ok := policyOf(name)
	if !ok || p.P2 != "" {
		return "", fmt.Errorf("%s: want one of %s, is %q", which, strings.Join(names(func(p Policy) bool { return p.P2 == "" }), ", "), name)
	}
	return p.P1, nil
}

func policyOf(name string) (Policy, bool) {
	all := Policies()
	i := slices.IndexFunc(all, func(p Policy) bool { return p.Name == name })
	if i < 0 {
		return Policy{}, false
	}
	return all[i], true
}

func names(of func(Policy) bool) []string {
	var out []string
	for _, p := range Policies() {
		if of(p) {
			out = append(out, p.Name)
		}
	}
	return out
}

// Validate reports every setting that is out of range.
func (p Policy) Validate() error {
	if p.P2 == "" {
		if !slices.Contains(schedule.All(), p.P1) {
			return fmt.Errorf("p1: want one of %v, is %q", schedule.All(), p.P1)
		}
		return nil
	}
	return schedule.Validate(p.P1, p.P2, p.Theta)
}

// system returns an empty system that serves by the policy, with room for n jobs.
func (p Policy) system(n int) system {
	if p.P1.Shares() || p.P2.Shares() {
		return &scanned{by: p.scheduler()}
	}
	return newRanked(p, n)
}

func (p Policy) scheduler() tandem.Scheduler {
	if p.P2 == "" {
		return tandem.Single{Schedule: p.P1}
	}
	return &tandem.NUM{P1: p.P1, P2: p.P2, Theta: p.Theta}
}

package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"heddle/core/policy"
	"heddle/core/policy/builtin"
)

// policyInfo is one policy as `heddle policies` and GET /v1/policies show it.
type policyInfo struct {
	Name    string          `json:"name"`
	Summary string          `json:"summary"`
	Paper   string          `json:"paper"`
	Plans   bool            `json:"plans"` // it gives targets of its own, not only answers to offers
	Params  json.RawMessage `json:"params"`
}

func listPolicies() ([]policyInfo, error) {
	var out []policyInfo
	for _, e := range builtin.Registry() {
		p, err := e.New(nil)
		if err != nil {
			return nil, fmt.Errorf("policy %s: defaults: %w", e.Name, err)
		}
		params, err := json.Marshal(e.Params)
		if err != nil {
			return nil, fmt.Errorf("policy %s: print defaults: %w", e.Name, err)
		}
		_, plans := p.(policy.Planner)
		out = append(out, policyInfo{Name: e.Name, Summary: e.Summary, Paper: e.Paper, Plans: plans, Params: params})
	}
	return out, nil
}

func newPolicies() *cobra.Command {
	var out output
	cmd := &cobra.Command{
		Use:     "policies",
		Short:   "List the policies with their parameters' defaults",
		Example: "  heddle policies\n  heddle policies -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, err := listPolicies()
			if err != nil {
				return err
			}
			return out.print(cmd.OutOrStdout(), list, func(w io.Writer) error {
				for _, p := range list {
					fmt.Fprintf(w, "%s\n    %s\n    from      %s\n    defaults  %s\n\n", p.Name, p.Summary, p.Paper, p.Params)
				}
				return nil
			})
		},
	}
	out.flag(cmd)
	return cmd
}

// knownPolicy checks a policy's name and parameters for a configuration.
func knownPolicy(name string, params []byte) error {
	_, err := builtin.Registry().New(name, params)
	return err
}

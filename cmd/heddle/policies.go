package main

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/spf13/cobra"

	"heddle/core/policy"
	"heddle/core/policy/builtin"
)

// policyInfo is one policy as `heddle policies` shows it; GET /v1/policies has a
// part of it. The texts are Markdown.
type policyInfo struct {
	Name       string          `json:"name"`
	Summary    string          `json:"summary"`
	Paper      string          `json:"paper"`
	About      string          `json:"about"`
	Plans      bool            `json:"plans"` // it gives targets of its own, not only answers to offers
	Params     json.RawMessage `json:"params"`
	Parameters []policyParam   `json:"parameters"`
	Changed    []string        `json:"changed"` // against the paper
}

// policyParam is one parameter of a policy.
type policyParam struct {
	Key     string          `json:"key"` // "a.b" in a section
	Default json.RawMessage `json:"default"`
	Doc     string          `json:"doc"`
}

func listPolicies() ([]policyInfo, error) {
	var out []policyInfo
	for _, e := range builtin.Registry() {
		p, err := e.New(nil)
		if err != nil {
			return nil, fmt.Errorf("policy %s: defaults: %w", e.Name, err)
		}
		info := policyInfo{Name: e.Name, Summary: e.Summary, Paper: e.Paper, About: e.About, Changed: append([]string{}, e.Changed...)}
		if info.Params, err = json.Marshal(e.Params); err == nil {
			info.Parameters, err = policyParams([]policyParam{}, "", reflect.ValueOf(e.Params))
		}
		if err != nil {
			return nil, fmt.Errorf("policy %s: print defaults: %w", e.Name, err)
		}
		_, info.Plans = p.(policy.Planner)
		out = append(out, info)
	}
	return out, nil
}

// policyParams appends the parameters of a struct in the order of its fields: a
// field's tag json is the key, its tag doc the meaning. A struct within is a
// section; an embedded one belongs to the outer struct.
func policyParams(list []policyParam, prefix string, v reflect.Value) ([]policyParam, error) {
	var err error
	for i := range v.NumField() {
		f := v.Type().Field(i)
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		nested := f.Type.Kind() == reflect.Struct && !f.Type.Implements(reflect.TypeFor[json.Marshaler]())
		switch {
		case nested && f.Anonymous && key == "":
			list, err = policyParams(list, prefix, v.Field(i))
		case key == "-" || !f.IsExported():
		case nested:
			list, err = policyParams(list, prefix+key+".", v.Field(i))
		default:
			p := policyParam{Key: prefix + key, Doc: f.Tag.Get("doc")}
			p.Default, err = json.Marshal(v.Field(i).Interface())
			list = append(list, p)
		}
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

func newPolicies() *cobra.Command {
	var out output
	cmd := &cobra.Command{
		Use:   "policies",
		Short: "List the policies: paper, parameters with their defaults, what was changed and why",
		Long: `List the policies heddle is built with: what each does, the paper it is from, its
parameters with their defaults, and where it differs from the paper, and why.`,
		Example: "  heddle policies\n  heddle policies -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, err := listPolicies()
			if err != nil {
				return err
			}
			return out.print(cmd.OutOrStdout(), list, func(w io.Writer) error {
				for i := range list {
					list[i].print(w)
				}
				return nil
			})
		},
	}
	out.flag(cmd)
	return cmd
}

// print writes a policy for people at a terminal.
func (p *policyInfo) print(w io.Writer) {
	fmt.Fprintf(w, "%s\n", p.Name)
	wrap(w, "  ", "  ", p.Summary)
	wrap(w, "  from: ", "    ", p.Paper)
	for paragraph := range strings.SplitSeq(p.About, "\n\n") {
		if paragraph != "" {
			fmt.Fprintln(w)
			wrap(w, "  ", "  ", paragraph)
		}
	}
	if len(p.Parameters) > 0 {
		fmt.Fprint(w, "\n  parameters:\n")
	}
	for _, one := range p.Parameters {
		fmt.Fprintf(w, "    %s = %s\n", one.Key, one.Default)
		wrap(w, "        ", "        ", one.Doc)
	}
	if len(p.Changed) > 0 {
		fmt.Fprint(w, "\n  changed against the paper:\n")
	}
	for _, c := range p.Changed {
		wrap(w, "    - ", "      ", c)
	}
	fmt.Fprintln(w)
}

// textWidth is how long lines for people get.
const textWidth = 100

// wrap writes words in lines of at most textWidth, where they are short enough.
func wrap(w io.Writer, first, next, text string) {
	line, empty := first, true
	for word := range strings.FieldsSeq(text) {
		if !empty && len(line)+1+len(word) > textWidth {
			fmt.Fprintln(w, line)
			line, empty = next, true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	fmt.Fprintln(w, line)
}

// knownPolicy checks a policy's name and parameters for a configuration.
func knownPolicy(name string, params []byte) error {
	_, err := builtin.Registry().New(name, params)
	return err
}

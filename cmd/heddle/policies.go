package main

import (
	"fmt"
	"io"
	"strings"

	"heddle/cmd/heddle/internal/policylist"

	"github.com/spf13/cobra"
)

func newPolicies() *cobra.Command {
	var out output
	cmd := &cobra.Command{
		Use:   "policies",
		Short: "List the policies with their papers, parameters and deviations",
		Long: `List the policies heddle is built with. For each it prints what the policy does, its
paper, its parameters with their defaults, and where and why it deviates from the paper.

"live" is what its plans do to the asks of applications in mode enforce, at the default
parameters: the racks that maps, reduces and executors are asked for on, and holds, under
which a stage asks for nothing for some time. The order of jobs is the scheduler's: no
ask carries a rank.`,
		Example: "  heddle policies\n  heddle policies -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, err := policylist.All()
			if err != nil {
				return err
			}
			return out.print(cmd.OutOrStdout(), list, func(w io.Writer) error {
				for i := range list {
					printPolicy(w, &list[i])
				}
				return nil
			})
		},
	}
	out.flag(cmd)
	return cmd
}

// printPolicy writes a policy for people.
func printPolicy(w io.Writer, p *policylist.Policy) {
	fmt.Fprintf(w, "%s\n", p.Name)
	wrap(w, "  ", "  ", p.Summary)
	wrap(w, "  from: ", "    ", p.Paper)
	wrap(w, "  live: ", "    ", p.LiveText())
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
		fmt.Fprintf(w, "    %s = %s", one.Key, one.Default)
		if one.Printed != nil {
			fmt.Fprintf(w, "  (preset paper: %s)", one.Printed)
		}
		fmt.Fprintln(w)
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

// textWidth is the width of wrapped text.
const textWidth = 100

// wrap writes words in lines of at most textWidth, longer only for a long word.
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

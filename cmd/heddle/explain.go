package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"heddle/cmd/heddle/internal/terminal"
	"heddle/core/model"
	"heddle/core/state/snapshot"
)

// explainAnswer has the fields of the service's explanation that `heddle explain` prints.
type explainAnswer struct {
	Policy string `json:"policy"`
	Live   string `json:"live"`
	Stages []struct {
		Stage  model.Stage  `json:"stage"`
		Reason model.Reason `json:"reason"`
		Text   string       `json:"text"`
		Plan   model.Plan   `json:"plan"`
		Inputs struct {
			Ratio     float64 `json:"shuffle_input_ratio"`
			Measured  bool    `json:"ratio_measured"`
			Heavy     bool    `json:"shuffle_heavy"`
			MapOutput struct {
				Total  model.Bytes                  `json:"total"`
				ByRack map[model.RackID]model.Bytes `json:"by_rack"`
			} `json:"map_output"`
			Input struct {
				Bytes  model.Bytes                  `json:"bytes"`
				ByRack map[model.RackID]model.Bytes `json:"by_rack"`
			} `json:"input"`
		} `json:"inputs"`
		Alternatives []struct {
			model.Cost
			Text string `json:"text"`
		} `json:"alternatives"`
	} `json:"stages"`
	Unsteered *struct {
		Text string `json:"text"`
	} `json:"unsteered"`
	Relay   *explainedRelay      `json:"relay"`
	Outcome *snapshot.JobAccount `json:"outcome"`
}

func newExplain() *cobra.Command {
	var from serviceClient
	var out output
	cmd := &cobra.Command{
		Use:     "explain APPLICATION",
		Short:   "Ask a running service why it prefers some racks, and what other placements would cost",
		Example: "  heddle explain application_1763000000000_0042\n  heddle explain application_1763000000000_0042 -o json",
		Args:    oneApplication,
		RunE: func(cmd *cobra.Command, args []string) error {
			var answer explainAnswer
			body, err := from.get(cmd.Context(), appPath(args[0], "/explain"), &answer)
			if err != nil {
				return err
			}
			return out.print(cmd.OutOrStdout(), body, answer.table)
		},
	}
	from.flags(cmd)
	out.flag(cmd)
	return cmd
}

func (a explainAnswer) table(w io.Writer) error {
	for _, s := range a.Stages {
		fmt.Fprintf(w, "%s stage, by %s: %s\n", s.Stage, a.Policy, s.Text)
		fmt.Fprintf(w, "  shuffle/input ratio %.2f (%s), %s\n", s.Inputs.Ratio, ratioSource(s.Inputs.Measured), shuffleWeight(s.Inputs.Heavy))
		err := terminal.Table(w, func(w io.Writer) {
			fmt.Fprintln(w, "  RACK\tWANTED\tINPUT THERE\tMAP OUTPUT THERE")
			for _, t := range s.Plan.Racks {
				fmt.Fprintf(w, "  %s\t%d\t%s\t%s\n", t.Rack, t.Count, terminal.Bytes(float64(s.Inputs.Input.ByRack[t.Rack])), terminal.Bytes(float64(s.Inputs.MapOutput.ByRack[t.Rack])))
			}
			if len(s.Alternatives) > 0 {
				fmt.Fprintln(w, "\n  PLACEMENT\tACROSS RACKS\tBUSIEST UPLINK\tWHAT IT IS")
			}
			for _, c := range s.Alternatives {
				fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", c.Name, terminal.Bytes(float64(c.CrossRack)), terminal.Bytes(float64(c.Busiest)), c.Text)
			}
		})
		if err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	if a.Live != "" {
		fmt.Fprintf(w, "%s\n\n", a.Live)
	}
	if a.Unsteered != nil {
		fmt.Fprintf(w, "not steered: %s\n\n", a.Unsteered.Text)
	}
	if o := a.Outcome; o != nil {
		size := func(b model.Bytes) string { return terminal.Bytes(float64(b)) }
		fmt.Fprintf(w, "ended: %s across racks where its tasks ran, %s where %s wanted them, %s at least\n\n", size(o.Recorded), size(o.Policy), a.Policy, size(o.Least))
		if g := o.Granted; g != (snapshot.GrantedReduces{}) {
			fmt.Fprintf(w, "reduces granted while a plan named racks: %d, of them %d on racks without map output while one with some had room, %d with a busiest uplink above 1.1 times an even spread's\n\n",
				g.OK+g.NoOutput+g.Busier, g.NoOutput, g.Busier)
		}
	}
	a.Relay.table(w)
	return nil
}

func ratioSource(yes bool) string {
	if yes {
		return "measured on its own maps"
	}
	return "assumed: no map has completed yet"
}

func shuffleWeight(heavy bool) string {
	if heavy {
		return "shuffle-heavy"
	}
	return "shuffle-light"
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"heddle/core/model"
)

// preferenceAnswer is what `heddle plan` needs of the service's preferences.
type preferenceAnswer struct {
	Policy string      `json:"policy"`
	Stage  model.Stage `json:"stage"`
	Racks  []struct {
		model.RackTarget
		Launched  int  `json:"launched"`
		Saturated bool `json:"uplink_saturated"`
	} `json:"racks"`
	Nodes []struct {
		Host string         `json:"host"`
		Rack model.RackID   `json:"rack"`
		Free model.Resource `json:"free"`
	} `json:"nodes"`
	Hold   bool         `json:"hold"`
	Until  model.Time   `json:"until_ms"`
	Rank   int          `json:"rank"`
	Reason model.Reason `json:"reason"`
}

func newPlan() *cobra.Command {
	var from remote
	var out output
	var stage string
	cmd := &cobra.Command{
		Use:     "plan APPLICATION",
		Short:   "Ask a running service on which racks and nodes an application's tasks should run",
		Example: "  heddle plan application_1763000000000_0042\n  heddle plan application_1763000000000_0042 --stage reduce -o json",
		Args:    oneApplication,
		RunE: func(cmd *cobra.Command, args []string) error {
			body, err := from.get(cmd.Context(), appPath(args[0], "/preferences?stage="+stage))
			if err != nil {
				return err
			}
			var answer preferenceAnswer
			if err := json.Unmarshal(body, &answer); err != nil {
				return fmt.Errorf("answer of %s: %w", from.url, err)
			}
			return out.print(cmd.OutOrStdout(), body, answer.table)
		},
	}
	from.flags(cmd)
	out.flag(cmd)
	cmd.Flags().StringVar(&stage, "stage", "reduce", "the `stage`: map or reduce")
	return cmd
}

// oneApplication wants the id of one application as the only argument.
func oneApplication(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("name one application, such as application_1763000000000_0042, not %d", len(args))
	}
	return nil
}

// shownNodes is how many nodes a person gets to see; -o json has them all.
const shownNodes = 8

func (a preferenceAnswer) table(w io.Writer) error {
	fmt.Fprintf(w, "%s, %s stage, rank %d: %s\n", a.Policy, a.Stage, a.Rank, a.Reason)
	if a.Hold {
		fmt.Fprintf(w, "hold: ask for nothing before %s\n", time.UnixMilli(int64(a.Until)).Format(time.TimeOnly))
	}
	if len(a.Racks) == 0 {
		fmt.Fprintln(w, "any rack will do")
		return nil
	}
	fmt.Fprintln(w)
	return tabs(w, func(w io.Writer) {
		fmt.Fprintln(w, "RACK\tWANTED\tSHARE\tLAUNCHED\tDATA THERE\tUPLINK")
		for _, r := range a.Racks {
			uplink := "free"
			if r.Saturated {
				uplink = "saturated"
			}
			fmt.Fprintf(w, "%s\t%d\t%.0f %%\t%d\t%s\t%s\n", r.Rack, r.Count, 100*r.Share, r.Launched, sizeText(float64(r.Bytes)), uplink)
		}
		if len(a.Nodes) > 0 {
			fmt.Fprintln(w, "\nNODE\tRACK\tFREE")
		}
		for _, n := range a.Nodes[:min(len(a.Nodes), shownNodes)] {
			fmt.Fprintf(w, "%s\t%s\t%d MiB, %d vcores\n", n.Host, n.Rack, n.Free.MemoryMiB, n.Free.VCores)
		}
	})
}

// explainAnswer is what `heddle explain` needs of the service's explanation.
type explainAnswer struct {
	Policy string `json:"policy"`
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
	Relay *relayExplained `json:"relay"`
}

func newExplain() *cobra.Command {
	var from remote
	var out output
	cmd := &cobra.Command{
		Use:     "explain APPLICATION",
		Short:   "Ask a running service why it prefers what it prefers, and what else it would cost",
		Example: "  heddle explain application_1763000000000_0042\n  heddle explain application_1763000000000_0042 -o json",
		Args:    oneApplication,
		RunE: func(cmd *cobra.Command, args []string) error {
			return explainTo(cmd.Context(), cmd.OutOrStdout(), &from, &out, args[0])
		},
	}
	from.flags(cmd)
	out.flag(cmd)
	return cmd
}

func explainTo(ctx context.Context, w io.Writer, from *remote, out *output, app string) error {
	body, err := from.get(ctx, appPath(app, "/explain"))
	if err != nil {
		return err
	}
	var answer explainAnswer
	if err := json.Unmarshal(body, &answer); err != nil {
		return fmt.Errorf("answer of %s: %w", from.url, err)
	}
	return out.print(w, body, answer.table)
}

func (a explainAnswer) table(w io.Writer) error {
	for _, s := range a.Stages {
		fmt.Fprintf(w, "%s stage, by %s: %s\n", s.Stage, a.Policy, s.Text)
		fmt.Fprintf(w, "  shuffle/input ratio %.2f (%s), %s\n", s.Inputs.Ratio, measured(s.Inputs.Measured), weight(s.Inputs.Heavy))
		err := tabs(w, func(w io.Writer) {
			fmt.Fprintln(w, "  RACK\tWANTED\tINPUT THERE\tMAP OUTPUT THERE")
			for _, t := range s.Plan.Racks {
				fmt.Fprintf(w, "  %s\t%d\t%s\t%s\n", t.Rack, t.Count, sizeText(float64(s.Inputs.Input.ByRack[t.Rack])), sizeText(float64(s.Inputs.MapOutput.ByRack[t.Rack])))
			}
			if len(s.Alternatives) > 0 {
				fmt.Fprintln(w, "\n  PLACEMENT\tACROSS RACKS\tBUSIEST UPLINK\tWHAT IT IS")
			}
			for _, c := range s.Alternatives {
				fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", c.Name, sizeText(float64(c.CrossRack)), sizeText(float64(c.Busiest)), c.Text)
			}
		})
		if err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	a.Relay.table(w)
	return nil
}

func measured(yes bool) string {
	if yes {
		return "measured on its own maps"
	}
	return "assumed: no map has told yet"
}

func weight(heavy bool) string {
	if heavy {
		return "shuffle-heavy"
	}
	return "shuffle-light"
}

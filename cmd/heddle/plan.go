package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"heddle/cmd/heddle/internal/terminal"
	"heddle/core/model"
)

// preferenceAnswer has the fields of the service's preferences that `heddle plan` prints.
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
	var from serviceClient
	var out output
	var stage string
	cmd := &cobra.Command{
		Use:     "plan APPLICATION",
		Short:   "Ask a running service on which racks and nodes an application's tasks should run",
		Example: "  heddle plan application_1763000000000_0042\n  heddle plan application_1763000000000_0042 --stage reduce -o json",
		Args:    oneApplication,
		RunE: func(cmd *cobra.Command, args []string) error {
			var answer preferenceAnswer
			body, err := from.get(cmd.Context(), appPath(args[0], "/preferences?stage="+stage), &answer)
			if err != nil {
				return err
			}
			return out.print(cmd.OutOrStdout(), body, answer.table)
		},
	}
	from.flags(cmd)
	out.flag(cmd)
	cmd.Flags().StringVar(&stage, "stage", "reduce", "the `stage`: map or reduce")
	return cmd
}

// oneApplication requires one argument, the id of an application.
func oneApplication(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("name one application, such as application_1763000000000_0042, not %d", len(args))
	}
	return nil
}

// shownNodes limits the nodes in the table; -o json prints all.
const shownNodes = 8

func (a preferenceAnswer) table(w io.Writer) error {
	fmt.Fprintf(w, "%s, %s stage, rank %d: %s\n", a.Policy, a.Stage, a.Rank, a.Reason)
	if a.Hold {
		fmt.Fprintf(w, "hold: ask for nothing before %s\n", time.UnixMilli(int64(a.Until)).Format(time.TimeOnly))
	}
	if len(a.Racks) == 0 {
		fmt.Fprintln(w, "no rack is preferred")
		return nil
	}
	fmt.Fprintln(w)
	return terminal.Table(w, func(w io.Writer) {
		fmt.Fprintln(w, "RACK\tWANTED\tSHARE\tLAUNCHED\tDATA THERE\tUPLINK")
		for _, r := range a.Racks {
			uplink := "free"
			if r.Saturated {
				uplink = "saturated"
			}
			fmt.Fprintf(w, "%s\t%d\t%.0f %%\t%d\t%s\t%s\n", r.Rack, r.Count, 100*r.Share, r.Launched, terminal.Bytes(float64(r.Bytes)), uplink)
		}
		if len(a.Nodes) > 0 {
			fmt.Fprintln(w, "\nNODE\tRACK\tFREE")
		}
		for _, n := range a.Nodes[:min(len(a.Nodes), shownNodes)] {
			fmt.Fprintf(w, "%s\t%s\t%d MiB, %d vcores\n", n.Host, n.Rack, n.Free.MemoryMiB, n.Free.VCores)
		}
	})
}

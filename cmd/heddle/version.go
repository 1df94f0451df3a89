package main

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

// version is set by the build (-ldflags "-X main.version=…").
var version = "dev"

// buildInfo is what `heddle version` prints.
type buildInfo struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func build() buildInfo {
	b := buildInfo{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				b.Revision = s.Value
			}
		}
	}
	return b
}

func newVersion() *cobra.Command {
	var out output
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version of this binary",
		Example: "  heddle version\n  heddle version -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b := build()
			return out.print(cmd.OutOrStdout(), b, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "heddle %s (%s, %s)\n", b.Version, b.Go, b.Platform)
				return err
			})
		},
	}
	out.flag(cmd)
	return cmd
}

// output is how a result is printed: as a table for people or as JSON for scripts.
type output struct{ format string }

func (o *output) flag(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&o.format, "output", "o", "table", "how to print the result: table or json")
}

func (o *output) print(w io.Writer, v any, table func(io.Writer) error) error {
	switch o.format {
	case "json":
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(v)
	case "table", "":
		return table(w)
	}
	return usageError{fmt.Errorf("--output %q: want table or json", o.format)}
}

// tabs aligns columns of lines whose cells are separated by tabs.
func tabs(w io.Writer, fill func(w io.Writer)) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fill(tw)
	return tw.Flush()
}

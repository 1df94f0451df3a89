package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

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

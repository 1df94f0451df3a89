package main

import (
	"encoding/json"
	"fmt"
	"io"

	"heddle/cmd/heddle/internal/exit"

	"github.com/spf13/cobra"
)

// output is the flag -o: a table for people or JSON for scripts.
type output struct{ format string }

func (o *output) flag(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&o.format, "output", "o", "table", "how to print the result: table or json")
}

// check refuses an unknown format. Commands that run for hours call it first.
func (o *output) check() error {
	if o.format != "json" && o.format != "table" && o.format != "" {
		return exit.NewUsageError(fmt.Errorf("--output %q: want table or json", o.format))
	}
	return nil
}

func (o *output) print(w io.Writer, v any, table func(io.Writer) error) error {
	if err := o.check(); err != nil {
		return err
	}
	if o.format != "json" {
		return table(w)
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

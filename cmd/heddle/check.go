package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"heddle/cmd/heddle/internal/exit"
	"heddle/cmd/heddle/internal/terminal"
	"heddle/configs/strict"
)

func newCheck() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "check",
		Short:   "Check heddle's input files",
		Example: "  heddle check config heddle.yml",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return exit.NewUsageError(errors.New("name what to check: config"))
		},
	}
	cmd.AddCommand(newCheckConfig())
	return cmd
}

// checkedKey is one effective key of the configuration.
type checkedKey struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Origin string `json:"origin"`
}

// checkedConfig is what `heddle check config` prints.
type checkedConfig struct {
	OK       bool         `json:"ok"`
	Hash     string       `json:"hash,omitempty"`
	Problems []string     `json:"problems,omitempty"`
	Notices  []string     `json:"notices,omitempty"`
	Keys     []checkedKey `json:"keys,omitempty"`
}

func newCheckConfig() *cobra.Command {
	var flags configFlags
	var out output
	cmd := &cobra.Command{
		Use:   "config [FILE]",
		Short: "Check a configuration, and print every key with its value and origin",
		Long: `Check a configuration without connecting to anything, and print all problems, each
with its key and line. The exit code is 0 if the configuration loads and 1 if not.

A value comes from the first of: flag, environment (HEDDLE_WEB_LISTEN_ADDRESS),
file, Hadoop's XML files, default.`,
		Example: "  heddle check config heddle.yml\n  heddle check config heddle.yml --hadoop-conf-dir /etc/hadoop/conf -o json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				flags.file = args[0]
			}
			result, err := checkConfig(&flags)
			if perr := out.print(cmd.OutOrStdout(), result, result.table); perr != nil {
				return perr
			}
			return err
		},
	}
	flags.register(cmd)
	out.flag(cmd)
	return cmd
}

func checkConfig(flags *configFlags) (checkedConfig, error) {
	loaded, err := flags.load()
	if err != nil {
		r := checkedConfig{}
		if problems, ok := errors.AsType[strict.Problems](err); ok {
			for _, p := range problems {
				r.Problems = append(r.Problems, p.Error())
			}
		} else {
			r.Problems = []string{err.Error()}
		}
		if len(r.Problems) == 1 {
			return r, errors.New("1 problem in the configuration")
		}
		return r, fmt.Errorf("%d problems in the configuration", len(r.Problems))
	}
	r := checkedConfig{OK: true, Hash: loaded.Hash(), Notices: loaded.Notices}
	for _, e := range loaded.Entries() {
		r.Keys = append(r.Keys, checkedKey{Key: e.Path, Value: e.Value, Origin: e.Origin.String()})
	}
	return r, nil
}

func (r checkedConfig) table(w io.Writer) error {
	for _, p := range r.Problems {
		fmt.Fprintln(w, p)
	}
	if !r.OK {
		return nil
	}
	err := terminal.Table(w, func(w io.Writer) {
		for _, k := range r.Keys {
			fmt.Fprintf(w, "%s\t%s\t%s\n", k.Key, k.Value, k.Origin)
		}
	})
	for _, n := range r.Notices {
		fmt.Fprintf(w, "note: %s\n", n)
	}
	fmt.Fprintf(w, "ok (hash %s)\n", strings.ToLower(r.Hash[:12]))
	return err
}

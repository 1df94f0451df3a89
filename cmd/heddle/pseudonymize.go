package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"heddle/cmd/heddle/internal/exit"
	"heddle/cmd/heddle/internal/pseudonymizing"
	"heddle/cmd/heddle/internal/recording"
)

func newPseudonymize() *cobra.Command {
	var o pseudonymizing.Options
	cmd := &cobra.Command{
		Use:   "pseudonymize FILE --out FILE",
		Short: "Replace the names in a recording by pseudonyms",
		Long: `Make of a recording another one that can be given to others: hosts, racks, users, queues,
job names, paths, tags, workflows, stages of graphs and addresses are replaced by
pseudonyms, texts of errors by fixed phrases. Sizes, times, counts and the ids of
applications and containers stay. It replays to the same decisions.

FILE is the recording's first file; those that continue it are read with it, and written
as files that continue --out. The recording is read twice. Nothing is written over, and
nothing is left behind unless all of it is written.

A pseudonym has the rank of its name among the names of its kind in the recording, and a
keyed hash of the name, as in h07-3fa29c01. So the order of names can be seen, and
nothing else of them. The key is random and forgotten; --key-file gives one. With the
same key a name has the same hash in every recording; its rank, and so the whole
pseudonym, is the same in two recordings only if both have the same names of that kind.
Whoever has the key can test whether a pseudonym is that of a name: keep it to yourself.`,
		Example: `  heddle pseudonymize cluster.jsonl.zst --out shared.jsonl.zst
  heddle pseudonymize monday.jsonl.zst --out shared-monday.jsonl.zst --key-file pseudonyms.key`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exit.NewUsageError(fmt.Errorf("%d files: name one recording by its first file", len(args)))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Out == "" {
				return exit.NewUsageError(errors.New("--out: name the file to write, such as shared.jsonl.zst"))
			}
			o.File = args[0]
			res, err := o.Run(cmd.Context(), cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %v\n", o.Out, res)
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Out, "out", "", "the `file` to write; its name ends in "+recording.Suffix)
	f.StringVar(&o.KeyFile, "key-file", "", "take the key from this `file`, in place of a random one; 16 bytes or more")
	f.BoolVar(&o.AllowTruncated, recording.FlagTruncated, false, "take what there is of a recording that stops within a line, as after a crash")
	return cmd
}

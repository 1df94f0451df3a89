package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

var update = flag.Bool("update", false, "write what is compared")

const cliIntro = `# Command line

Every command of ` + "`heddle`" + ` with its flags, as ` + "`--help`" + ` prints them. This page is generated from the code: ` + "`go test ./cmd/heddle -run CLIDoc -update`" + `
writes it, and the tests compare it.

- Exit codes: 0 it went well, 1 the check or the run failed, 2 the command line makes no sense, 130 SIGINT or SIGTERM ended a command before it had a result.
  serve, demo and record run until a signal ends them: they shut down in order and exit with 0.
- Results go to standard output, as a table for people or with ` + "`-o json`" + ` for scripts; logs, progress and errors go to standard error.
- Every key of the configuration is in [config.md](config.md). A flag wins over the environment, that over the file.
- ` + "`heddle completion bash|zsh|fish|powershell`" + ` prints a completion script.
`

// commands returns every command a user would look for, parents first.
func commands(cmd *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{cmd}
	for _, sub := range cmd.Commands() {
		if sub.Name() != "help" && sub.Name() != "completion" {
			all = append(all, commands(sub)...)
		}
	}
	return all
}

// cliDoc renders the page.
func cliDoc() string {
	var b strings.Builder
	b.WriteString(cliIntro)
	for _, cmd := range commands(newRoot(func() {})) {
		about := cmd.Long
		if about == "" {
			about = cmd.Short + "."
		}
		cmd.InitDefaultHelpFlag()
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n```\n%s\n```\n", cmd.CommandPath(), about, cmd.UseLine())
		if cmd.Example != "" {
			fmt.Fprintf(&b, "\nExamples:\n\n```\n%s\n```\n", cmd.Example)
		}
		if cmd.HasAvailableSubCommands() {
			b.WriteString("\nCommands:\n\n")
			for _, sub := range cmd.Commands() {
				if sub.Name() != "help" && sub.Name() != "completion" {
					fmt.Fprintf(&b, "- `%s`: %s\n", sub.CommandPath(), sub.Short)
				}
			}
			continue
		}
		fmt.Fprintf(&b, "\nFlags:\n\n```\n%s```\n", cmd.LocalFlags().FlagUsages())
	}
	return b.String()
}

// TestCLIDoc: docs/cli.md is what --help says.
func TestCLIDoc(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "..", "docs", "cli.md")
	if *update {
		if err := os.WriteFile(path, []byte(cliDoc()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(have), cliDoc()); diff != "" {
		t.Errorf("docs/cli.md is not what the code says; go test ./cmd/heddle -run CLIDoc -update (-page +code):\n%s", diff)
	}
}

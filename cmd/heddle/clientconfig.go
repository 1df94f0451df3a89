package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"heddle/configs"
)

// clientConfig is what `heddle client-config` prints.
type clientConfig struct {
	Settings []setting     `json:"settings"`
	Warnings []string      `json:"warnings,omitempty"`
	Checks   []reachedFrom `json:"checks,omitempty"`
}

// clientConfigFlags are the command's own flags.
type clientConfigFlags struct {
	config  configFlags
	out     output
	format  string
	direct  string
	simple  bool
	check   bool
	timeout time.Duration
}

func newClientConfig() *cobra.Command {
	var f clientConfigFlags
	cmd := &cobra.Command{
		Use:   "client-config",
		Short: "Print what a job or a client sets to go through the relay, and out of it if it dies",
		Long: `Print the settings that send an application's ApplicationMaster through the relay.

They use the failover between ResourceManagers that every ApplicationMaster has:
its first addresses are the relay, its last ones the ResourceManager itself. When
heddle dies, the ApplicationMaster goes on to the next address at its next heartbeat,
and stays there. Clients talk to the ResourceManager as before.

They belong to a job, or to the yarn-site.xml of clients. They do not belong to the
yarn-site.xml of ResourceManagers, which would take them for their own high
availability, nor of NodeManagers. A shell puts them into a command line:

  hadoop jar job.jar Main $(heddle client-config --config heddle.yml --format flags) in out
  spark-submit $(heddle client-config --config heddle.yml --format spark) app.py

--simple prints the one address alone. It needs less, and costs more: an application
has no way around a heddle that is down. Its ApplicationMaster waits until heddle is
back, 30 s at least with Hadoop's defaults, and fails after 15 minutes.

--check prints how the addresses answer instead, and what to do where they do not: it
connects to each, and has the scheduler behind each relay say how it would
authenticate an application. Run it where applications run. It needs no credentials.`,
		Example: `  heddle client-config --config heddle.yml
  heddle client-config --config heddle.yml --format flags
  heddle client-config --config heddle.yml --format xml
  heddle client-config --config heddle.yml --check`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.config.register(cmd)
	f.out.flag(cmd)
	fs := cmd.Flags()
	fs.StringVar(&f.format, "format", "properties", "how to print the settings: properties, xml, flags (-Dkey=value: MapReduce, Tez) or spark (--conf)")
	fs.StringVar(&f.direct, "direct", "", "the ResourceManagers' scheduler `addresses` as applications reach them, separated by commas (default: those the relay connects to)")
	fs.BoolVar(&f.simple, "simple", false, "print the scheduler address alone, without a way out of a heddle that is down")
	fs.BoolVar(&f.check, "check", false, "connect to every address and say what is wrong; exit code 1 if something is")
	fs.DurationVar(&f.timeout, "timeout", 5*time.Second, "with --check, how long one address may take to answer")
	return cmd
}

// formats are the ways to print settings.
func formats() map[string]func(io.Writer, []setting) error {
	return map[string]func(io.Writer, []setting) error{
		"properties": writeProperties, "xml": writeXML, "flags": writeFlags, "spark": writeSpark,
	}
}

func (f *clientConfigFlags) run(ctx context.Context, stdout, stderr io.Writer) error {
	write, ok := formats()[f.format]
	if !ok {
		return usageError{fmt.Errorf("--format %q: want properties, xml, flags or spark", f.format)}
	}
	loaded, err := f.config.load()
	if err != nil {
		return fmt.Errorf("configuration:\n%w", err)
	}
	site, err := newClientSite(loaded, splitAddresses(f.direct))
	if err != nil {
		return err
	}
	c := clientConfig{Settings: site.settings(), Warnings: site.warnings()}
	if f.simple {
		c.Settings = site.simpleSettings()
	} else if missing := incomplete(c.Settings); len(missing) > 0 {
		return fmt.Errorf("what was made of the configuration is not complete: %s", strings.Join(missing, "; "))
	}
	c.Warnings = append(c.Warnings, finals(loaded.Hadoop, c.Settings)...)
	if !f.check {
		err = f.out.print(stdout, c, func(w io.Writer) error { return write(w, c.Settings) })
		return errors.Join(err, warn(stderr, c.Warnings))
	}
	c.Checks = site.check(ctx, f.simple, f.timeout)
	if err := errors.Join(f.out.print(stdout, c, c.checkTable), warn(stderr, c.Warnings)); err != nil {
		return err
	}
	if n := countIf(c.Checks, func(r reachedFrom) bool { return !r.OK }); n > 0 {
		return fmt.Errorf("%d of %d addresses are not as an application needs them", n, len(c.Checks))
	}
	return nil
}

func warn(w io.Writer, warnings []string) error {
	for _, line := range warnings {
		if _, err := fmt.Fprintln(w, "warning: "+line); err != nil {
			return err
		}
	}
	return nil
}

func countIf[T any](list []T, is func(T) bool) int {
	n := 0
	for _, x := range list {
		if is(x) {
			n++
		}
	}
	return n
}

func splitAddresses(text string) []string {
	return slices.DeleteFunc(strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }), func(s string) bool { return s == "" })
}

// finals warns of settings that a file does not let a job change. The files
// heddle reads are the cluster's own as a rule.
func finals(h *configs.Hadoop, settings []setting) []string {
	if h == nil {
		return nil
	}
	var warnings []string
	for _, s := range settings {
		if p, ok, err := h.Lookup(s.Key); err == nil && ok && p.Final && p.Value != s.Value {
			warnings = append(warnings, fmt.Sprintf("%s is final in %s:%d: where that file is read, a job cannot change it to %s", p.Key, p.File, p.Line, s.Value))
		}
	}
	return warnings
}

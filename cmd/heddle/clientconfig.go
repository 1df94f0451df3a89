package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"heddle/cmd/heddle/internal/exit"
	"heddle/cmd/heddle/internal/terminal"
	"heddle/yarnproxy/clientconfig"

	"github.com/spf13/cobra"
)

// clientConfig is what `heddle client-config` prints.
type clientConfig struct {
	Settings []clientconfig.Setting      `json:"settings"`
	Warnings []string                    `json:"warnings,omitempty"`
	Checks   []clientconfig.AddressCheck `json:"checks,omitempty"`
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
		Short: "Print the settings by which applications use the relay and fail over from it",
		Long: `Print the settings that send an application's ApplicationMaster through the relay.

They use the failover between ResourceManagers that every ApplicationMaster has: the
first addresses are the relay's, the last ones the ResourceManager's own. When heddle
dies, the ApplicationMaster connects to the next address at its next heartbeat and
stays there. A single relay is listed three times: one that is restarted has its
applications back. Clients connect to the ResourceManager as before.

Set them for a job, or in the yarn-site.xml of clients. Do not set them in the
yarn-site.xml of ResourceManagers, which would read them as their own high
availability, or of NodeManagers. On a command line:

  hadoop jar job.jar Main $(heddle client-config --config heddle.yml --format flags) in out
  spark-submit $(heddle client-config --config heddle.yml --format spark) app.py

--simple prints only the scheduler address. It needs no failover, and offers none: while
heddle is down, the ApplicationMaster retries, every 30 s with Hadoop's defaults, and
fails after 15 minutes.

--check connects to every address instead, and prints what answers there and how to
repair what does not. It asks the scheduler behind each relay how it authenticates
applications. Run it where applications run. It needs no credentials.`,
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
	fs.BoolVar(&f.simple, "simple", false, "print only the scheduler address, without failover to the ResourceManager")
	fs.BoolVar(&f.check, "check", false, "connect to every address and print what is wrong; exit code 1 if anything is")
	fs.DurationVar(&f.timeout, "timeout", 5*time.Second, "with --check, how long one address may take to answer")
	return cmd
}

func (f *clientConfigFlags) run(ctx context.Context, stdout, stderr io.Writer) error {
	write, ok := clientconfig.Formats()[f.format]
	if !ok {
		return exit.NewUsageError(fmt.Errorf("--format %q: want properties, xml, flags or spark", f.format))
	}
	loaded, err := f.config.load()
	if err != nil {
		return fmt.Errorf("configuration:\n%w", err)
	}
	cluster, err := clientconfig.New(loaded)
	if err != nil {
		return err
	}
	if direct := splitAddresses(f.direct); len(direct) > 0 {
		if err := cluster.OverrideSchedulers(direct); err != nil {
			return exit.NewUsageError(fmt.Errorf("--direct: %w", err))
		}
	}
	c := clientConfig{Settings: cluster.Settings(), Warnings: cluster.Warnings()}
	if f.simple {
		c.Settings = cluster.SimpleSettings()
	} else if missing := clientconfig.Missing(c.Settings); len(missing) > 0 {
		return fmt.Errorf("the settings made from the configuration are not complete: %s", strings.Join(missing, "; "))
	}
	c.Warnings = append(c.Warnings, clientconfig.FinalConflicts(loaded.Hadoop, c.Settings)...)
	if !f.check {
		err = f.out.print(stdout, c, func(w io.Writer) error { return write(w, c.Settings) })
		return errors.Join(err, printWarnings(stderr, c.Warnings))
	}
	c.Checks = cluster.Check(ctx, f.simple, f.timeout)
	if ctx.Err() != nil {
		return exit.NewInterruptedError("while connecting to %d addresses", len(c.Checks))
	}
	if err := errors.Join(f.out.print(stdout, c, c.checkTable), printWarnings(stderr, c.Warnings)); err != nil {
		return err
	}
	wrong := 0
	for _, r := range c.Checks {
		if !r.OK {
			wrong++
		}
	}
	if wrong > 0 {
		return fmt.Errorf("%d of %d addresses do not answer as an application needs", wrong, len(c.Checks))
	}
	return nil
}

func printWarnings(w io.Writer, warnings []string) error {
	for _, line := range warnings {
		if _, err := fmt.Fprintln(w, "warning: "+line); err != nil {
			return err
		}
	}
	return nil
}

func splitAddresses(text string) []string {
	return slices.DeleteFunc(strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }), func(s string) bool { return s == "" })
}

func (c clientConfig) checkTable(w io.Writer) error {
	err := terminal.Table(w, func(w io.Writer) {
		for _, r := range c.Checks {
			word := "ok"
			if !r.OK {
				word = "WRONG"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", word, r.Address, strings.TrimPrefix(r.Key, clientconfig.Prefix), r.Found)
		}
	})
	printed := map[string]bool{}
	for _, r := range c.Checks {
		if r.Do != "" && !printed[r.Do] {
			fmt.Fprintf(w, "- %s: %s\n", r.Found, r.Do)
			printed[r.Do] = true
		}
	}
	return err
}

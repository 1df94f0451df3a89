package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"heddle/cmd/heddle/internal/relaying"
	"heddle/cmd/heddle/internal/servicelog"

	"github.com/spf13/cobra"
)

func newRelay() *cobra.Command {
	flags := configFlags{webKey: "relay.web_listen_address"}
	var webConfig string
	cmd := &cobra.Command{
		Use:   "relay --config FILE",
		Short: "Stand between ApplicationMasters and the ResourceManager, and write plans into what they ask",
		Long: `Pass the calls of ApplicationMasters on to the ResourceManager's scheduler port, and
rewrite what they ask as 'heddle serve' plans. Both take the same configuration file and
meet at the Unix socket relay.socket, in any order. Without serve the relay goes on: when
what it knows of the cluster is older than state.max_age, it undoes what it steered and
passes everything on as it comes. A restart or an upgrade of serve touches no connection.

/metrics and /healthz are at relay.web_listen_address. SIGHUP reloads the configuration:
mode, scopes, stages and limits take effect. SIGINT and SIGTERM end the relay in order:
calls that are under way are answered, then connections are closed, and applications go
to the next address of 'heddle client-config'. Under systemd the relay says when it is
ready and, as often as WatchdogSec wants, that it answers (sd_notify): one that hangs is
killed and started again.`,
		Example: `  heddle relay --config /etc/heddle.yml
  heddle relay --config /etc/heddle.yml --mode advise`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runRelay(cmd.Context(), &flags, webConfig) },
	}
	flags.register(cmd)
	cmd.Flags().StringVar(&webConfig, "web.config.file", "", "a web-config `file` for TLS, basic authentication and client certificates")
	return cmd
}

func runRelay(ctx context.Context, flags *configFlags, webConfig string) error {
	loaded, err := flags.load()
	if err != nil {
		return fmt.Errorf("configuration:\n%w", err)
	}
	log := servicelog.New(os.Stderr, &loaded.Config.Log)
	b := build()
	p, err := relaying.New(relaying.Options{Loaded: loaded, Log: log, Now: time.Now, Version: b.Version, Revision: b.Revision, WebConfig: webConfig})
	if err != nil {
		return err
	}
	if err := p.Open(ctx); err != nil {
		return err
	}
	stop := reloadOnHangup(ctx, p, flags)
	defer stop()
	err = p.Run(ctx)
	log.Info("stopped")
	return err
}

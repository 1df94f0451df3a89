package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"heddle/cmd/heddle/internal/service"
	"heddle/cmd/heddle/internal/servicelog"
	"heddle/configs"

	"github.com/spf13/cobra"
)

func newServe() *cobra.Command {
	var flags configFlags
	var webConfig string
	cmd := &cobra.Command{
		Use:   "serve --config FILE",
		Short: "Observe a cluster, advise on it or steer it, as the configuration says",
		Long: `Read the cluster's ResourceManager, ApplicationMasters, JobHistory server and
NameNode, and serve REST and Prometheus metrics. In mode observe heddle exports and
records; in mode advise it also decides, answers preferences and explains them; in
mode enforce 'heddle relay', a process of its own, also writes them into the asks of
applications.

SIGHUP reloads the configuration: policy, thresholds, what the relay steers, and logging
take effect; a file that does not load changes nothing. SIGINT and SIGTERM shut the
service down in order, with exit code 0.`,
		Example: `  heddle serve --config /etc/heddle.yml
  heddle serve --config /etc/heddle.yml --mode advise --web.listen-address 127.0.0.1:7909
  heddle serve --config /etc/heddle.yml --web.config.file /etc/heddle-web.yml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runService(cmd.Context(), &flags, webConfig) },
	}
	flags.register(cmd)
	cmd.Flags().StringVar(&webConfig, "web.config.file", "", "a web-config `file` for TLS, basic authentication and client certificates")
	return cmd
}

func runService(ctx context.Context, flags *configFlags, webConfig string) error {
	loaded, err := flags.load()
	if err != nil {
		return fmt.Errorf("configuration:\n%w", err)
	}
	threadsForReaders()
	log := servicelog.New(os.Stderr, &loaded.Config.Log)
	for _, n := range loaded.Notices {
		log.Info("configuration: " + n)
	}
	b := build()
	s, err := service.New(service.Options{
		Loaded: loaded, Log: log, Now: time.Now, Version: b.Version, Revision: b.Revision, WebConfig: webConfig, HistoryFile: loaded.Config.State.HistoryFile, Resume: true,
	})
	if err != nil {
		return err
	}
	l, err := s.Open(ctx)
	if err != nil {
		return err
	}
	rec, err := s.OpenRecording()
	if err != nil {
		if l != nil {
			err = errors.Join(err, l.Close())
		}
		return err
	}
	stop := reloadOnHangup(ctx, s, flags)
	defer stop()
	err = errors.Join(s.Run(ctx, l, rec), rec.Close())
	log.Info("stopped")
	return err
}

// threadsForReaders lets more threads run than there are processors, unless the
// operator has chosen their number. Decoding a large answer, a round of the
// policy and the garbage collector can each keep a thread busy for tens of
// milliseconds; with one thread per processor of two, readers would wait for
// them, whereas the operating system lets a thread that wakes up go first. For
// the same reason garbage is collected less often than Go would by itself: a poll
// of a large cluster leaves tens of MB of it, beside a heap of about as much.
func threadsForReaders() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(max(4, runtime.GOMAXPROCS(0)+2))
	}
}

// reloader takes a configuration that was loaded again.
type reloader interface {
	Reload(ctx context.Context, load func() (*configs.Loaded, error))
}

// reloadOnHangup reads the configuration again at every SIGHUP until stopped.
func reloadOnHangup(ctx context.Context, s reloader, flags *configFlags) (stop func()) {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-hup:
				s.Reload(ctx, flags.load)
			case <-done:
				return
			}
		}
	}()
	return func() { signal.Stop(hup); close(done) }
}

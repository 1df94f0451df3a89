package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"heddle/configs"
	"heddle/core/shuffle"
)

func newServe() *cobra.Command {
	var flags configFlags
	var webConfig string
	cmd := &cobra.Command{
		Use:   "serve --config FILE",
		Short: "Watch a cluster: observe it, advise on it or steer it, as the configuration says",
		Long: `Read the cluster's ResourceManager, ApplicationMasters, JobHistory server and
NameNode, and serve REST and Prometheus metrics. In mode observe heddle exports and
records; in mode advise it also decides, answers preferences and explains them; in
mode enforce its relay puts what it decides into the asks of applications.

SIGHUP reads the configuration again: policy, thresholds, what the relay steers, and
logging take effect; a file that does not load changes nothing. SIGINT and SIGTERM stop it in order. With relay.handover_socket, a serve that is
started beside a running one takes its relay over, and the running one ends.`,
		Example: `  heddle serve --config /etc/heddle.yml
  heddle serve --config /etc/heddle.yml --mode advise --web.listen-address 127.0.0.1:7909
  heddle serve --config /etc/heddle.yml --web.config.file /etc/heddle-web.yml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return serve(cmd.Context(), &flags, webConfig) },
	}
	flags.register(cmd)
	cmd.Flags().StringVar(&webConfig, "web.config.file", "", "a web-config `file` for TLS, basic authentication and client certificates")
	return cmd
}

func serve(ctx context.Context, flags *configFlags, webConfig string) error {
	loaded, err := flags.load()
	if err != nil {
		return fmt.Errorf("configuration:\n%w", err)
	}
	threadsForReaders()
	log := newLogger(&loaded.Config.Log)
	for _, n := range loaded.Notices {
		log.Info("configuration: " + n)
	}
	s, err := newService(serviceOptions{loaded: loaded, log: log, now: time.Now, web: webConfig, history: loaded.Config.State.HistoryFile})
	if err != nil {
		return err
	}
	var l net.Listener // nil while another heddle has the address, whose relay is taken over first
	if s.relay == nil || !s.relay.Predecessor(ctx) {
		if l, err = s.open(ctx); err != nil {
			return err
		}
	}
	// The recording is begun last: a start that fails must not leave a file
	// that the next one refuses to overwrite.
	rec, err := openRecorder(loaded, log)
	if err != nil {
		if l != nil {
			err = errors.Join(err, l.Close())
		}
		return err
	}
	rec.full = s.loop.notes.QueueFull
	s.loop.recorder = rec
	stop := s.reloadOnHangup(ctx, flags)
	defer stop()
	err = errors.Join(s.run(ctx, l), rec.Close())
	log.Info("stopped")
	return err
}

// open opens what others reach the service at: REST, and the relay.
func (s *service) open(ctx context.Context) (net.Listener, error) {
	l, err := s.listen(ctx)
	if err != nil || s.relay == nil {
		return l, err
	}
	if err := s.relay.Listen(ctx); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
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

// reloadOnHangup reads the configuration again at every SIGHUP until stopped.
func (s *service) reloadOnHangup(ctx context.Context, flags *configFlags) (stop func()) {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-hup:
				s.reload(ctx, flags)
			case <-done:
				return
			}
		}
	}()
	return func() { signal.Stop(hup); close(done) }
}

// reload puts into effect what may change while the service runs. Anything
// wrong leaves everything as it is, and says so.
func (s *service) reload(ctx context.Context, flags *configFlags) {
	next, err := flags.load()
	if err != nil {
		s.log.Error("configuration not reloaded; the one in force stays", "error", err)
		return
	}
	old := s.cfg.Load()
	changed, refused := configs.Reloadable(&old.Config, &next.Config)
	if len(refused) > 0 {
		s.log.Warn("these keys need a restart and stay as they were", "keys", strings.Join(refused, " "))
	}
	next.Config = configs.Reload(&old.Config, &next.Config)
	cfg := &next.Config
	var adopted error
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if err := errors.Join(s.loop.ask(ctx, func() { adopted = s.loop.adopt(cfg) }), adopted); err != nil {
		s.log.Error("configuration not reloaded; the one in force stays", "error", err)
		return
	}
	if s.relay != nil {
		s.relay.Apply(relayRules(cfg))
	}
	s.log.SetLevel(hclog.LevelFromString(string(cfg.Log.Level)))
	if l, ok := s.log.(*serviceLog); ok {
		l.print(&cfg.Log)
	}
	s.cfg.Store(next)
	s.log.Info("configuration reloaded", "changed", strings.Join(changed, " "), "hash", next.Hash()[:12])
}

// adopt takes policy and thresholds from a new configuration, in the loop's
// goroutine.
func (l *loop) adopt(c *configs.Config) error {
	if c.Mode != configs.ModeObserve {
		e, err := newEngine(c, l.cluster)
		if err != nil {
			return err
		}
		l.engine = e
	}
	l.cluster.SetSaturation(saturation(c))
	return nil
}

func saturation(c *configs.Config) shuffle.SaturationParams {
	return shuffle.SaturationParams{
		Threshold: c.Network.Saturation, Period: c.Network.Period.Model(),
		EWMA: c.Network.EWMA.Model(), Hysteresis: c.Network.Hysteresis,
	}
}

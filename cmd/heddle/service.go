package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/oklog/run"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/exporter-toolkit/web"
	"golang.org/x/sync/errgroup"

	"heddle/configs"
	"heddle/core/model"
	"heddle/core/shuffle"
	"heddle/core/state"
	"heddle/metrics"
	"heddle/yarnproxy/amrm"
	"heddle/yarnproxy/api"
)

// service is the running heddle: sources, the loop, REST and metrics.
type service struct {
	cfg     atomic.Pointer[configs.Loaded]
	log     hclog.Logger
	loop    *loop
	sources *sources
	history *historyFile    // nil keeps none
	past    []model.JobRuns // as read from it
	metrics http.Handler
	guide   *guide      // nil without a relay
	relay   *amrm.Relay // nil without
	now     func() time.Time
	web     string // the web-config file, "" for plain HTTP
}

// serviceOptions are what differs between serve, record and demo.
type serviceOptions struct {
	loaded *configs.Loaded
	log    hclog.Logger
	now    func() time.Time
	web    string
	// speed is how fast the service's clock runs: above 1 in a demo.
	speed float64
	// history is the file that keeps the history of jobs, "" for none.
	history string
	// sources replaces the configured adapters, nil for them.
	sources *sources
}

func newService(o serviceOptions) (*service, error) {
	cfg := &o.loaded.Config
	s := &service{log: o.log, now: o.now, web: o.web}
	s.cfg.Store(o.loaded)
	stateCfg, err := stateConfig(cfg)
	if err != nil {
		return nil, err
	}
	var past *shuffle.History
	s.history, past = openHistory(o.history, o.log)
	s.past = past.Jobs()
	cluster := state.New(stateCfg)
	pace := func(d configs.Duration) time.Duration {
		return max(time.Duration(float64(d.Std())/max(o.speed, 1)), 20*time.Millisecond)
	}
	s.loop = &loop{
		cluster: cluster, in: make(chan model.Observation, cfg.State.QueueLength), questions: make(chan func()),
		recorder: noRecorder{}, log: o.log.Named("loop"), now: o.now,
		publishEvery: pace(cfg.State.PublishInterval), sampleEvery: pace(cfg.Network.Period),
	}
	if cfg.Mode != configs.ModeObserve {
		if s.loop.engine, err = newEngine(cfg, cluster); err != nil {
			return nil, err
		}
	}
	if cfg.RelayRuns() && o.sources == nil { // there is nothing to relay in a demo
		if err := s.newRelay(cfg); err != nil {
			return nil, err
		}
	}
	if s.sources = o.sources; s.sources == nil {
		full := func(limit string) { s.loop.notes.QueueFull(limit) }
		s.sources, err = buildSources(wiring{cfg: cfg, hadoop: o.loaded.Hadoop, snapshot: s.loop.Snapshot, full: full, log: o.log, now: o.now})
		if err != nil {
			return nil, err
		}
	}
	return s, s.measure()
}

// queues are the names of the bounded queues, for their metric.
func queues() []string {
	return []string{"observations", "recorder", "mapreduce_jobs", "mapreduce_tasks", "mapreduce_history", "tez_apps", "tez_vertices"}
}

// measure builds the metrics of the service on a registry of its own.
func (s *service) measure() error {
	reg := prometheus.NewRegistry()
	b := build()
	collector, err := metrics.New(reg, metrics.Options{
		Snapshot: s.loop.Snapshot, Now: s.now, Policy: s.policy, Version: b.Version, Revision: b.Revision,
		ConfigHash: func() string { return s.cfg.Load().Hash() },
		Sources:    s.sources.names(), Queues: queues(), Relay: s.relayStatus(),
	})
	if err != nil {
		return err
	}
	s.loop.notes = collector
	s.metrics = metrics.Handler(reg, s.log)
	return nil
}

// relayStatus returns what tells of the relay, nil without one.
func (s *service) relayStatus() func() *model.Relay {
	if s.relay == nil {
		return nil
	}
	return s.relay.Status
}

// policy returns the name of the policy that decides, "" in observe mode.
func (s *service) policy() string {
	cfg := &s.cfg.Load().Config
	if cfg.Mode == configs.ModeObserve {
		return ""
	}
	return cfg.Policy.Name
}

// listen opens the service's address, before anything else starts: a port that
// is taken is found out at once.
func (s *service) listen(ctx context.Context) (net.Listener, error) {
	addr := s.cfg.Load().Config.Web.ListenAddress
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w; choose another with --web.listen-address", addr, err)
	}
	return l, nil
}

// handler builds the REST API.
func (s *service) handler() http.Handler {
	cfg := &s.cfg.Load().Config
	o := api.Options{
		Snapshot: s.loop.Snapshot, Now: s.now, MaxAge: cfg.State.MaxAge.Std(), MaxBody: int64(cfg.Web.MaxBody),
		Timeout: cfg.Web.Timeout.Std(), Concurrency: cfg.Web.Concurrency, Policies: s.policyInfos,
		Version: version, Logger: s.log, Metrics: s.metrics, Relay: s.relayStatus(),
	}
	if cfg.Mode != configs.ModeObserve {
		o.Advisor = advisor{s.loop}
	}
	if s.sources.blocks != nil {
		o.Blocks = s.sources.blocks
	}
	return api.New(o)
}

// run serves until ctx ends, a part fails or another heddle has taken the relay
// over. The sources stop first and the loop last, so that what was observed is
// still applied and recorded. Without a listener, the relay of the heddle that
// runs is taken over first.
func (s *service) run(ctx context.Context, l net.Listener) error {
	server := &http.Server{Handler: s.handler(), ReadHeaderTimeout: 5 * time.Second}
	var g run.Group
	took := make(chan struct{})
	answering, stopWaiting := context.WithCancel(ctx)
	g.Add(func() error {
		l := s.listenAfter(answering, l, took)
		if l == nil {
			return nil
		}
		s.log.Info("serving", "mode", s.cfg.Load().Config.Mode, "policy", s.policy(), "url", "http://"+l.Addr().String(), "version", version)
		return s.serveHTTP(server, l)
	}, func(error) {
		stopWaiting()
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_ = server.Shutdown(stop)
	})
	observe, stop := context.WithCancel(ctx)
	g.Add(func() error { return s.observe(observe) }, func(error) { stop() })
	if s.relay != nil {
		relay, stop := context.WithCancel(ctx)
		g.Add(func() error {
			if l == nil {
				if err := s.takeOver(relay); err != nil || relay.Err() != nil {
					return err
				}
				close(took)
			}
			return s.relay.Run(relay) // at once: applications wait for it
		}, func(error) { stop() })
	}
	return g.Run()
}

// observe runs the sources and the loop until ctx ends, or a source fails, and
// keeps the history of jobs.
func (s *service) observe(ctx context.Context) error {
	loopCtx, stopLoop := context.WithCancel(context.WithoutCancel(ctx))
	defer stopLoop()
	ended := make(chan error, 1)
	go func() { ended <- s.loop.Run(loopCtx) }()
	kept := make(chan struct{})
	go func() { defer close(kept); s.history.keep(loopCtx, s.loop) }()
	if len(s.past) > 0 { // first of all, so that a recording has it too
		s.loop.in <- model.Observation{Source: model.SourceHistory, At: modelTime(s.now()), Fact: model.HistoryFact{Jobs: s.past}}
		s.past = nil
	}
	g, sourceCtx := errgroup.WithContext(ctx)
	for _, src := range s.sources.list {
		g.Go(func() error { return src.run(sourceCtx, s.loop.in) })
	}
	err := g.Wait()
	stopLoop()
	loopErr := <-ended
	<-kept
	s.history.save(s.loop.cluster.History())
	if loopErr != nil {
		return loopErr
	}
	if ctx.Err() != nil || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

func (s *service) serveHTTP(server *http.Server, l net.Listener) error {
	none := false
	err := web.ServeMultiple([]net.Listener{l}, server, &web.FlagConfig{
		WebListenAddresses: &[]string{}, WebSystemdSocket: &none, WebConfigFile: &s.web,
	}, slogTo(s.log))
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// policyInfos lists every policy, the one in charge marked.
func (s *service) policyInfos() []api.PolicyInfo {
	active := s.policy()
	list, err := listPolicies()
	if err != nil {
		s.log.Error("policies not listed", "error", err)
	}
	out := make([]api.PolicyInfo, 0, len(list))
	for _, p := range list {
		info := api.PolicyInfo{Name: p.Name, Summary: p.Summary, Paper: p.Paper, Params: p.Params, Active: p.Name == active}
		if info.Active {
			info.Params = s.cfg.Load().Config.Policy.Params
		}
		out = append(out, info)
	}
	return out
}

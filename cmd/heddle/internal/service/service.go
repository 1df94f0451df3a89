// Package service is the running heddle: sources, the loop, REST, metrics and the link to
// the relay, put together as the configuration says.
package service

import (
	"encoding/json"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"heddle/cmd/heddle/internal/historyfile"
	"heddle/cmd/heddle/internal/loop"
	"heddle/cmd/heddle/internal/recording"
	"heddle/cmd/heddle/internal/settings"
	"heddle/cmd/heddle/internal/sources"
	"heddle/configs"
	"heddle/configs/strict"
	"heddle/core/engine"
	"heddle/core/lab/replay"
	"heddle/core/model"
	"heddle/core/shuffle"
	"heddle/core/state"
	"heddle/core/state/snapshot"
	"heddle/core/trace"
	"heddle/metrics"
	"heddle/yarnproxy/relaylink"
)

// Service is the running heddle.
type Service struct {
	opts    Options
	cfg     atomic.Pointer[configs.Loaded]
	log     hclog.Logger
	loop    *loop.Loop
	sources *sources.Set
	history *historyfile.File // nil keeps none
	past    []model.JobRuns   // read from history; nil once sent to the loop
	metrics *metrics.Collector
	scrape  http.Handler      // serves the metrics
	link    *relaylink.Client // to the relay; nil if the configuration has none
}

// Options configure a Service. Commands that run one differ in these alone.
type Options struct {
	Loaded            *configs.Loaded
	Log               hclog.Logger
	Now               func() time.Time
	Version, Revision string
	Resume            bool          // goes on with a recording that is there, in a new file
	WebConfig         string        // the web-config file, "" for plain HTTP
	HistoryFile       string        // keeps the history of jobs, "" for none
	State             *state.Config // replaces the settings that follow from the configuration, unless it is nil
	// Replayed replaces the configured adapters and the link to the relay, unless it is nil.
	Replayed *sources.Set
	// Speed is the factor by which the clock of Now runs faster; 0 means 1.
	Speed float64
}

// New builds a service. It opens nothing but the history of jobs.
func New(o Options) (*Service, error) {
	cfg := &o.Loaded.Config
	s := &Service{opts: o, log: o.Log}
	s.cfg.Store(o.Loaded)
	for _, build := range []func(*configs.Config) error{s.newSources, s.newMetrics, s.newLoop, s.newLink} {
		if err := build(cfg); err != nil {
			return nil, err
		}
	}
	var past *shuffle.History
	s.history, past = historyfile.Open(o.HistoryFile, o.Log)
	s.past = past.Jobs()
	return s, nil
}

func (s *Service) newSources(cfg *configs.Config) error {
	if s.sources = s.opts.Replayed; s.sources != nil {
		return nil
	}
	var err error
	s.sources, err = sources.Build(sources.Options{
		Config: cfg, Hadoop: s.opts.Loaded.Hadoop, Snapshot: s.Snapshot, Log: s.log, Now: s.opts.Now,
		Full: func(queue string) { s.metrics.QueueFull(queue) },
	})
	return err
}

// queues are the names of the bounded queues, for their metric.
func queues() []string {
	return []string{"observations", "recorder", "mapreduce_jobs", "mapreduce_tasks", "mapreduce_history", "tez_apps", "tez_vertices"}
}

// newMetrics builds the metrics of the service on a registry of its own.
func (s *Service) newMetrics(cfg *configs.Config) error {
	reg := prometheus.NewRegistry()
	var err error
	s.metrics, err = metrics.New(reg, metrics.Options{
		Snapshot: s.Snapshot, Now: s.opts.Now, Policy: s.Policy, Version: s.opts.Version, Revision: s.opts.Revision,
		ConfigHash: func() string { return s.cfg.Load().Hash() },
		Sources:    s.sources.Names(), Queues: queues(),
		Linked: func() (linked, wanted bool) { return s.wantsRelay(cfg) && s.link.Linked(), s.wantsRelay(cfg) },
	})
	s.scrape = metrics.Handler(reg, s.log)
	return err
}

func (s *Service) newLoop(cfg *configs.Config) error {
	stateCfg := s.opts.State
	if stateCfg == nil {
		built, err := settings.State(cfg)
		if err != nil {
			return err
		}
		stateCfg = &built
	}
	cluster := state.New(*stateCfg)
	var policy *engine.Engine
	if cfg.Mode != configs.ModeObserve {
		var err error
		if policy, err = settings.Engine(cfg, cluster); err != nil {
			return err
		}
	}
	shadows, err := settings.Shadows(cfg, cluster)
	if err != nil {
		return err
	}
	pace := func(d strict.Duration) time.Duration {
		return max(time.Duration(float64(d.Std())/max(s.opts.Speed, 1)), 20*time.Millisecond)
	}
	s.loop = loop.New(loop.Options{
		Cluster: cluster, Engine: policy, Shadows: shadows, ShadowTime: cfg.Shadow.LoopTime, Guard: settings.Guard(cfg), QueueLength: cfg.State.QueueLength, Metrics: s.metrics, Log: s.log.Named("loop"), Now: s.opts.Now,
		PublishEvery: pace(cfg.State.PublishInterval), SampleEvery: pace(cfg.Network.Period),
	})
	return nil
}

// Snapshot returns the newest published snapshot, nil before the first.
func (s *Service) Snapshot() *snapshot.Snapshot { return s.loop.Snapshot() }

// Policy returns the name of the policy that decides, "" in observe mode.
func (s *Service) Policy() string {
	cfg := &s.cfg.Load().Config
	if cfg.Mode == configs.ModeObserve {
		return ""
	}
	return cfg.Policy.Name
}

// OpenRecording begins the configured recording; it returns nil if there is none. Call
// it last before Run: a start that fails afterwards would leave a file that the next
// start refuses to overwrite.
func (s *Service) OpenRecording() (*recording.Recorder, error) {
	loaded := s.cfg.Load()
	c := &loaded.Config
	if c.Record.File == "" {
		return nil, nil // a nil Recorder records nothing
	}
	h, err := recordingHeader(loaded, s.opts.Version, s.now())
	if err != nil {
		return nil, err
	}
	begin := recording.Create
	if s.opts.Resume {
		begin = recording.Continue
	}
	rec, err := begin(c.Record.File, recording.Options{
		Header: h, MaxBytes: int64(c.Record.MaxSize), MaxAge: c.Record.MaxAge.Std(), FlushEvery: min(c.Record.FlushInterval.Std(), time.Second),
		Full:   func() { s.metrics.QueueFull("recorder") },
		Failed: func(err error) { s.log.Error("recording stopped; everything else goes on", "error", err) },
	})
	if err != nil {
		return nil, err
	}
	s.log.Info("recording", "file", c.Record.File)
	return rec, nil
}

// recordingHeader returns what has to be known to replay a recording.
func recordingHeader(loaded *configs.Loaded, version string, start model.Time) (trace.Header, error) {
	c := &loaded.Config
	h := trace.Header{ToolVersion: version, ConfigHash: loaded.Hash(), Seed: 1, Start: start}
	if c.Mode != configs.ModeObserve {
		h.Policy, h.Params = c.Policy.Name, c.Policy.Params.JSON()
	}
	cluster, err := settings.State(c)
	if err != nil {
		return h, err
	}
	h.Settings, err = json.Marshal(replay.Settings{State: cluster, Engine: settings.EngineOptions(c)})
	return h, err
}

// now returns the service's time as observations have it.
func (s *Service) now() model.Time { return model.Time(s.opts.Now().UnixMilli()) }

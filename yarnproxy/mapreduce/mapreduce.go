// Package mapreduce reads MapReduce jobs over REST and turns them into
// observations: running jobs from their ApplicationMasters through the
// ResourceManager's web proxy, jobs that ended from the JobHistory server
// (hadoop.md 2.1 to 2.4).
//
// Every round reads the essentials of each running job: its job object, its list of
// tasks and, every few rounds, its counters. The rest of the budget is for details,
// divided among the jobs: first attempts (where a task runs or ran), then the
// counters of single attempts (what a map wrote, what a reduce fetched). Details
// that do not fit are read in a later round, and final ones are read once. A job
// that ends is handed to a second loop, which reads the rest from the JobHistory
// server as soon as the job is there.
package mapreduce

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sync/errgroup"

	"heddle/core/model"
	"heddle/yarnproxy/rest"
)

// Names of the limits a Poller can meet, as Config.Full gets them.
const (
	FullJobs    = "mapreduce_jobs"    // a running job is not followed
	FullTasks   = "mapreduce_tasks"   // a task of a followed job is not
	FullHistory = "mapreduce_history" // a job that ended is not read from the JobHistory server
)

// Config says what a Poller reads and how much of it. A zero number means its
// default.
type Config struct {
	Proxy       *rest.Client       // to the ResourceManager's web proxy, with the budget of running jobs
	ProxyBase   func() string      // base URL of the active ResourceManager's web server, "" while there is none
	Live        func() []model.App // the applications the ResourceManager lists now
	History     *rest.Client       // to the JobHistory server, with a budget of its own
	HistoryBase string             // base URL of the JobHistory server; "" leaves ended jobs as they were last seen

	Interval         time.Duration // between rounds, and the time a round may spend on details; default 2 s
	RoundTimeout     time.Duration // ends a round; default 5 intervals
	CountersEvery    int           // rounds between two reads of a job's counters; default 5
	RefreshEvery     int           // rounds between two looks at the same running attempt; default 10
	Workers          int           // jobs asked at the same time; default 4
	HistoryWait      time.Duration // how long a job that ended may take to appear, and its details to be read; default 5 min each
	HistoryProbe     time.Duration // between two signs of life from a JobHistory server that is not needed; default 30 s
	UnsupportedRetry time.Duration // how long a job whose ApplicationMaster has no REST is not polled; default 10 min
	MaxJobs          int           // running jobs followed, and jobs waiting for the JobHistory server; default 2,000
	MaxTasks         int           // tasks followed of one job; default 100,000
	MaxDetails       int           // attempts and counters planned for one job and round; default 10,000

	Full   func(limit string) // called each time a limit turns something away, from several goroutines; may be nil
	Now    func() time.Time   // the clock
	Logger hclog.Logger       // default: none
}

// Poller reads MapReduce jobs. Make one with New.
type Poller struct {
	cfg   Config
	ended chan *job // from the loop of running jobs to that of ended ones
}

// New checks a configuration and builds a poller of it.
func New(cfg Config) (*Poller, error) {
	var missing []string
	for _, m := range []struct {
		name   string
		absent bool
	}{
		{"Proxy", cfg.Proxy == nil},
		{"ProxyBase", cfg.ProxyBase == nil},
		{"Live", cfg.Live == nil},
		{"Now", cfg.Now == nil},
		{"History", cfg.History == nil && cfg.HistoryBase != ""},
	} {
		if m.absent {
			missing = append(missing, m.name)
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("mapreduce poller: not set: %s", strings.Join(missing, ", "))
	}
	if cfg.History == cfg.Proxy {
		return nil, errors.New("mapreduce poller: proxy and history need a client each: what they cost is reported apart")
	}
	cfg.Interval = cmp.Or(max(cfg.Interval, 0), 2*time.Second)
	cfg.RoundTimeout = cmp.Or(max(cfg.RoundTimeout, 0), 5*cfg.Interval)
	cfg.CountersEvery = cmp.Or(max(cfg.CountersEvery, 0), 5)
	cfg.RefreshEvery = cmp.Or(max(cfg.RefreshEvery, 0), 10)
	cfg.Workers = cmp.Or(max(cfg.Workers, 0), 4)
	cfg.HistoryWait = cmp.Or(max(cfg.HistoryWait, 0), 5*time.Minute)
	cfg.HistoryProbe = cmp.Or(max(cfg.HistoryProbe, 0), 30*time.Second)
	cfg.UnsupportedRetry = cmp.Or(max(cfg.UnsupportedRetry, 0), 10*time.Minute)
	cfg.MaxJobs = cmp.Or(max(cfg.MaxJobs, 0), 2000)
	cfg.MaxTasks = cmp.Or(max(cfg.MaxTasks, 0), 100_000)
	cfg.MaxDetails = cmp.Or(max(cfg.MaxDetails, 0), 10_000)
	if cfg.Full == nil {
		cfg.Full = func(string) {}
	}
	if cfg.Logger == nil {
		cfg.Logger = hclog.NewNullLogger()
	}
	cfg.HistoryBase = strings.TrimRight(cfg.HistoryBase, "/")
	return &Poller{cfg: cfg, ended: make(chan *job, cfg.MaxJobs)}, nil
}

// Run polls until ctx ends, and returns why it ended. It blocks while out is full.
func (p *Poller) Run(ctx context.Context, out chan<- model.Observation) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return newRunning(p).runner.Run(ctx, out) })
	if p.cfg.HistoryBase != "" {
		g.Go(func() error { return newHistory(p).runner.Run(ctx, out) })
	}
	return g.Wait()
}

// maxBackoff is the longest pause after failures in a row, of a service and of a single job.
const maxBackoff = 30 * time.Second

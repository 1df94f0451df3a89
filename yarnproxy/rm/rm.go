// Package rm reads a cluster through the ResourceManager's REST services. A
// Poller finds the active one of several ResourceManagers, asks it within a
// budget of requests and bytes, and sends what it reads as model.Observations.
// It holds no cluster state of its own beyond what the next request needs.
package rm

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"heddle/core/model"
	"heddle/yarnproxy/poll"
	"heddle/yarnproxy/rest"
)

// Config configures a Poller. Client and Bases are required; the zero value of
// each other field means its default.
type Config struct {
	// Client fetches. It carries the budget, the credentials and the limits,
	// and should allow redirects to no other host than those of Bases
	// (rest.AllowBases). It is the poller's own: what it is used for elsewhere
	// is charged to the poll that runs then. Share its Budget instead.
	Client *rest.Client
	// Bases are the web addresses of the ResourceManagers, as http://host:port.
	Bases []string

	PollInterval    time.Duration // from the start of one round to that of the next; default 1 s
	SchedulerEvery  int           // rounds between two readings of the queues; default 30
	LocalitiesEvery int           // rounds between two readings of the locality counters; default 5
	FinishedEvery   int           // rounds between two readings of what ended, when nothing was missed; default 5
	MaxBackoff      time.Duration // longest pause after failed rounds; default 30 s

	Logger hclog.Logger     // default: none
	Now    func() time.Time // stamps the observations and times the rounds; required
}

// Poller reads one cluster. Make it with New; Run it once.
type Poller struct {
	cfg    Config
	group  *rest.Group // finds the active one; nothing else is asked through it
	active atomic.Pointer[string]
	runner *poll.Runner
	report reporter

	// The rest belongs to Run's goroutine.
	rounds       int
	schedulerIn  int // rounds until the queues are read again
	localitiesIn int // rounds until the locality counters are read again
	cluster      model.ClusterFact
	queues       []model.Queue
	deselect     int // index into deselections: how much the ResourceManager can leave out
	live         map[model.AppID]liveApp
	ended        ended
	cursor       model.AppID // the application asked for its details last
	sentNodes    sent[model.NodeID, model.Node]
	sentApps     sent[model.AppID, model.App]
}

// liveApp is what the poller keeps of an application that has not ended.
type liveApp struct {
	app               model.App
	attempt           Attempt // whose containers are read; Number 0 when it is not known
	readsSinceAttempt int     // times the containers were read since the attempt was
	failing           bool    // its details could not be read last time, and the failure was logged
}

// New builds a poller.
func New(cfg Config) (*Poller, error) {
	switch {
	case cfg.Client == nil:
		return nil, errors.New("resource manager poller: no client")
	case cfg.Now == nil:
		return nil, errors.New("resource manager poller: no clock")
	}
	group, err := rest.NewGroup(cfg.Client, cfg.Bases)
	if err != nil {
		return nil, fmt.Errorf("resource manager addresses: %w", err)
	}
	cfg.PollInterval = orDefault(cfg.PollInterval, time.Second)
	cfg.SchedulerEvery = orDefault(cfg.SchedulerEvery, 30)
	cfg.LocalitiesEvery = orDefault(cfg.LocalitiesEvery, 5)
	cfg.FinishedEvery = orDefault(cfg.FinishedEvery, 5)
	if cfg.Logger == nil {
		cfg.Logger = hclog.NewNullLogger()
	}
	p := &Poller{
		cfg: cfg, group: group,
		report: reporter{log: cfg.Logger.Named("rm"), optional: map[string]model.PollResult{}},
		live:   map[model.AppID]liveApp{},
		ended:  ended{missing: map[model.AppID]int{}, reported: map[model.AppID]model.Time{}},
	}
	p.runner = poll.New(poll.Config{
		Source: model.SourceRM, Service: "ResourceManager",
		Interval: cfg.PollInterval, MinPause: cfg.PollInterval / 10, MaxBackoff: cfg.MaxBackoff,
		Cost: cfg.Client.Usage, Advice: advice, Now: cfg.Now, Log: p.report.log,
	}, p.poll)
	return p, nil
}

func orDefault[T int | time.Duration](v, otherwise T) T {
	if v <= 0 {
		return otherwise
	}
	return v
}

// ActiveBase returns the base URL of the ResourceManager that was active when
// it was last asked, whose web proxy leads to the ApplicationMasters; "" before
// any was found. It is safe for concurrent use.
func (p *Poller) ActiveBase() string {
	if base := p.active.Load(); base != nil {
		return *base
	}
	return ""
}

// Run polls until the context ends and returns its error. Each round sends its
// facts and then one PollFact; sending waits for the receiver.
func (p *Poller) Run(ctx context.Context, out chan<- model.Observation) error {
	return p.runner.Run(ctx, out)
}

// poll runs one round. Its requests all go to the ResourceManager that was
// active at its beginning, so that no round mixes two.
func (p *Poller) poll(ctx context.Context, current *poll.Round) poll.Outcome {
	r := &round{Poller: p, Round: current}
	result, err := r.run(ctx)
	p.rounds++
	outcome := poll.Outcome{Result: result, BackOff: result != model.PollOK && result != model.PollBudget}
	if err != nil {
		outcome.Error = err.Error()
	}
	return outcome
}

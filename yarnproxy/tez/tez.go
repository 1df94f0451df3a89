// Package tez reads the graphs of stages of running Tez applications from the
// YARN timeline server (version 1 or 1.5) and turns them into observations.
//
// Tez's ApplicationMaster reports over REST how far each vertex is, but not which
// vertex reads which (tez-dag AMWebController). The history that Tez writes to
// the timeline server has both: the DAG's plan with its edges, and of each
// vertex how many tasks it has and, once it has ended, its counters
// (HistoryEventTimelineConversion, DAGUtils). Until a vertex has ended none of
// its tasks counts as completed and its sizes are unknown.
//
// An application runs one DAG at a time; its graph is that of the newest DAG, and
// none while that has ended. Applications that write no such history have no
// graph. Spark's REST API names no parents of a stage, so Spark applications
// have none either.
package tez

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"heddle/core/model"
	"heddle/yarnproxy/poll"
	"heddle/yarnproxy/rest"
)

// Names of the limits a Poller can meet, as Config.Full gets them.
const (
	FullApps     = "tez_apps"     // a running application is not followed
	FullVertices = "tez_vertices" // a DAG has more vertices than are read, and no graph
)

// applicationType is the type Tez registers its applications with.
const applicationType = "TEZ"

// Config says what a Poller reads and how much of it. A zero number means its
// default.
type Config struct {
	Client *rest.Client       // to the timeline server, with the budget of this source
	Base   string             // base URL of the timeline server, such as http://ats:8188
	Live   func() []model.App // the applications the ResourceManager lists now

	Interval    time.Duration // between rounds, and how long a round may begin requests; default 5 s
	MaxApps     int           // running applications followed; default 2,000
	MaxVertices int           // of one DAG; default 1,000

	Full   func(limit string) // called each time a limit turns something away; may be nil
	Now    func() time.Time   // the clock
	Logger hclog.Logger       // default: none
}

// Poller reads the graphs of Tez applications. Make one with New.
type Poller struct {
	cfg    Config
	runner *poll.Runner
	apps   map[model.AppID]*app
	full   bool // more applications run than are followed, for the log
	rounds int
}

// app is a running application that is followed.
type app struct {
	id          model.AppID
	askedRound  int // round in which it was asked last
	listedRound int // round in which it was listed last
	dag         string
	plan        *plan            // of dag, nil until the timeline server has it
	lastSent    *model.GraphFact // nil before the first
	failed      bool             // its last answer could not be used, for the log
	tooLarge    bool             // dag has more vertices than are read
}

// New checks a configuration and builds a poller of it.
func New(cfg Config) (*Poller, error) {
	if cfg.Client == nil || cfg.Live == nil || cfg.Now == nil {
		return nil, errors.New("tez poller: client, live applications and clock must be set")
	}
	if base, err := url.Parse(cfg.Base); err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("tez poller: timeline server %q: want http://host:port or https://host:port", cfg.Base)
	}
	cfg.Base = strings.TrimRight(cfg.Base, "/")
	cfg.Interval = cmp.Or(max(cfg.Interval, 0), 5*time.Second)
	cfg.MaxApps = cmp.Or(max(cfg.MaxApps, 0), 2000)
	cfg.MaxVertices = cmp.Or(max(cfg.MaxVertices, 0), 1000)
	if cfg.Full == nil {
		cfg.Full = func(string) {}
	}
	if cfg.Logger == nil {
		cfg.Logger = hclog.NewNullLogger()
	}
	p := &Poller{cfg: cfg, apps: map[model.AppID]*app{}}
	p.runner = poll.New(poll.Config{
		Source: model.SourceTez, Service: "timeline server", Interval: cfg.Interval,
		Cost: cfg.Client.Usage, Now: cfg.Now, Log: cfg.Logger,
	}, p.poll)
	return p, nil
}

// Run polls until ctx ends, and returns why it ended. It blocks while out is full.
func (p *Poller) Run(ctx context.Context, out chan<- model.Observation) error {
	return p.runner.Run(ctx, out)
}

// updateApps follows the applications that run now, and no others.
func (p *Poller) updateApps() {
	leftOut := 0
	for _, listed := range p.cfg.Live() {
		if !strings.EqualFold(listed.Type, applicationType) || listed.State != model.AppRunning {
			continue
		}
		a := p.apps[listed.ID]
		switch {
		case a != nil:
		case len(p.apps) >= p.cfg.MaxApps:
			leftOut++
			continue
		default:
			a = &app{id: listed.ID}
			p.apps[listed.ID] = a
		}
		a.listedRound = p.rounds
	}
	for id, a := range p.apps { // order-free
		if a.listedRound != p.rounds {
			delete(p.apps, id)
		}
	}
	if leftOut > 0 {
		p.cfg.Full(FullApps)
		if !p.full {
			p.cfg.Logger.Warn("more Tez applications run than are followed", "followed", p.cfg.MaxApps, "left_out", leftOut)
		}
	}
	p.full = leftOut > 0
}

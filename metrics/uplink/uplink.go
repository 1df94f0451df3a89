// Package uplink asks the site's own Prometheus how loaded each rack's uplink
// is: by queries over switch or host counters that the site writes. It is the
// source "prometheus". It reads a Prometheus; heddle's own metrics are one
// folder up.
package uplink

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/api"
	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	prom "github.com/prometheus/common/model"

	"heddle/core/model"
	"heddle/yarnproxy/poll"
)

// Method is the method of the facts of this package.
const Method = "prometheus"

// maxBackoff is the longest pause after failures in a row, unless the interval
// is longer.
const maxBackoff = 2 * time.Minute

// Config says what a Poller asks. A zero value means its default.
type Config struct {
	Address string // base URL of Prometheus, with the path prefix it may have

	// Either Query, whose series carry a direction ("out" of the rack, "in"),
	// or OutQuery and InQuery. Each gives an instant vector in bytes per
	// second with one series per rack.
	Query, OutQuery, InQuery string

	RackLabel      string                // of a series; default "rack". Its value is the rack's name, with its slash
	DirectionLabel string                // of a series of Query; default "direction"
	Racks          func() []model.RackID // the racks there are; nil, or none, takes any

	Interval  time.Duration // between polls; default 15 s
	Timeout   time.Duration // of one poll; default 10 s
	MaxBytes  int64         // largest answer accepted; default 4 MiB
	MaxSeries int           // of one poll; default 4,096

	Transport http.RoundTripper // with the site's TLS and credentials; default a plain one
	Now       func() time.Time  // the clock
	Logger    hclog.Logger      // default: none
}

// query is one expression, with the direction all its series have, or "".
type query struct {
	text string
	of   direction
}

// Poller asks Prometheus. Make one with New.
type Poller struct {
	cfg       Config
	queries   []query
	transport *transport
	client    v1.API
	idle      api.CloseIdler
	runner    *poll.Runner
}

// New checks a configuration and builds a poller of it.
func New(cfg Config) (*Poller, error) {
	if cfg.Now == nil {
		return nil, errors.New("prometheus uplink source: no clock is set")
	}
	base, err := url.Parse(cfg.Address)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("prometheus uplink source: address %q: want http://HOST:PORT or https://HOST:PORT", cfg.Address)
	}
	queries, err := cfg.queries()
	if err != nil {
		return nil, err
	}
	cfg.RackLabel = cmp.Or(cfg.RackLabel, "rack")
	cfg.DirectionLabel = cmp.Or(cfg.DirectionLabel, "direction")
	for _, label := range []string{cfg.RackLabel, cfg.DirectionLabel} {
		if !prom.LegacyValidation.IsValidLabelName(label) {
			return nil, fmt.Errorf("prometheus uplink source: %q is no label name", label)
		}
	}
	cfg.Interval = cmp.Or(max(cfg.Interval, 0), 15*time.Second)
	cfg.Timeout = cmp.Or(max(cfg.Timeout, 0), 10*time.Second)
	cfg.MaxBytes = cmp.Or(max(cfg.MaxBytes, 0), 4<<20)
	cfg.MaxSeries = cmp.Or(max(cfg.MaxSeries, 0), 4096)
	if cfg.Transport == nil {
		cfg.Transport = &http.Transport{Proxy: http.ProxyFromEnvironment, IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: cfg.Timeout}
	}
	if cfg.Logger == nil {
		cfg.Logger = hclog.NewNullLogger()
	}
	t := &transport{next: cfg.Transport, limit: cfg.MaxBytes}
	httpClient := &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse // credentials are for this address alone
	}}
	client, err := api.NewClient(api.Config{Address: cfg.Address, Client: httpClient})
	if err != nil {
		return nil, fmt.Errorf("prometheus uplink source: address %q: %w", cfg.Address, err)
	}
	p := &Poller{cfg: cfg, queries: queries, transport: t, client: v1.NewAPI(client), idle: httpClient}
	p.runner = poll.New(poll.Config{
		Source: model.SourceUplink, Service: "Prometheus", Interval: cfg.Interval, MaxBackoff: maxBackoff,
		Cost: t.usage, Now: cfg.Now, Log: cfg.Logger,
	}, p.poll)
	return p, nil
}

// queries returns the expressions to ask for.
func (c *Config) queries() ([]query, error) {
	one, out, in := strings.TrimSpace(c.Query), strings.TrimSpace(c.OutQuery), strings.TrimSpace(c.InQuery)
	switch {
	case one != "" && (out != "" || in != ""):
		return nil, errors.New("prometheus uplink source: set one query with a direction label, or one for each direction, not both")
	case one != "":
		return []query{{text: one}}, nil
	case out != "" && in != "":
		return []query{{text: out, of: outward}, {text: in, of: inward}}, nil
	case out != "" || in != "":
		return nil, errors.New("prometheus uplink source: there is a query for one direction only: set the other, too")
	}
	return nil, errors.New("prometheus uplink source: no query is set")
}

// Run polls until ctx ends, and returns why it ended.
func (p *Poller) Run(ctx context.Context, out chan<- model.Observation) error {
	defer p.idle.CloseIdleConnections()
	return p.runner.Run(ctx, out)
}

// poll asks once and sends what it learned.
func (p *Poller) poll(ctx context.Context, current *poll.Round) poll.Outcome {
	limited, cancel := context.WithTimeout(ctx, p.cfg.Timeout)
	defer cancel()
	samples, partialErr, err := p.runQueries(limited)
	if len(samples) > 0 {
		current.Send(ctx, model.UplinkFact{Method: Method, Samples: samples})
	}
	outcome := poll.Outcome{Result: result(err), BackOff: err != nil}
	if err = cmp.Or(err, partialErr); err != nil {
		outcome.Error = err.Error()
	}
	return outcome
}

// errUnusable is met when not one rack has a rate in each direction.
var errUnusable = errors.New("not one rack's uplink load is in the answer")

// runQueries runs the queries. partialErr is about series that were left out.
func (p *Poller) runQueries(ctx context.Context) (samples []model.UplinkSample, partialErr, err error) {
	c := &collector{
		rackLabel: prom.LabelName(p.cfg.RackLabel), directionLabel: prom.LabelName(p.cfg.DirectionLabel), limit: p.cfg.MaxSeries,
		rates: map[model.RackID]map[direction]model.BytesPerSecond{}, duplicated: map[model.RackID]bool{},
	}
	if p.cfg.Racks != nil {
		for _, rack := range p.cfg.Racks() {
			if c.known == nil {
				c.known = map[model.RackID]bool{}
			}
			c.known[rack] = true
		}
	}
	for _, q := range p.queries {
		// One more than the limit, so that a cut answer is not taken for a whole one.
		value, warnings, _, err := p.client.Query(ctx, q.text, time.Time{}, v1.WithTimeout(p.cfg.Timeout), v1.WithLimit(uint64(p.cfg.MaxSeries)+1)) //nolint:gosec // above zero
		if err != nil {
			if ctx.Err() != nil {
				err = fmt.Errorf("no whole answer within %v: %w", p.cfg.Timeout, context.DeadlineExceeded)
			}
			return nil, nil, fmt.Errorf("query %s with %q: %w", p.cfg.Address, q.text, err)
		}
		for _, w := range warnings {
			c.errors.Add(fmt.Errorf("prometheus warns: %s", w))
		}
		if err := c.add(value, q.of); err != nil {
			return nil, nil, fmt.Errorf("query %s with %q: %w: %w", p.cfg.Address, q.text, errUnusable, err)
		}
	}
	samples, partialErr = c.samples()
	if len(samples) == 0 {
		return nil, nil, fmt.Errorf("query %s: %w: %w", p.cfg.Address, errUnusable, partialErr)
	}
	return samples, partialErr, nil
}

// result returns the poll result an error stands for.
func result(err error) model.PollResult {
	var answer *v1.Error
	switch {
	case err == nil:
		return model.PollOK
	case errors.Is(err, errUnusable), errors.Is(err, errTooLarge):
		return model.PollInvalid
	case errors.Is(err, errDenied):
		return model.PollDenied
	case errors.As(err, &answer) && answer.Type == v1.ErrBadResponse:
		return model.PollInvalid
	case errors.As(err, &answer):
		return model.PollError
	}
	return model.PollUnreachable
}

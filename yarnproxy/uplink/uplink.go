// Package uplink measures the load of rack uplinks from the counters that
// Hadoop's daemons publish over JMX: what each NodeManager's shuffle service
// has served, and what each DataNode has exchanged with other hosts. It is the
// source "shuffle-jmx".
//
// Daemons count bytes, not where they go. What crosses an uplink is a share of
// what the rack's daemons count; for the shuffle the caller brings the shares,
// from what it knows of where map output lies and reduces run.
package uplink

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sync/errgroup"

	"heddle/core/model"
	"heddle/yarnproxy/poll"
	"heddle/yarnproxy/rest"
)

// Method is the method of the facts of this package.
const Method = "shuffle-jmx"

// A daemon that failed so many times in a row is asked only every so many
// rounds: there are hosts without a DataNode.
const (
	restAfter = 3
	restEvery = 10
)

// Config says which daemons a Poller asks. A zero number means its default.
type Config struct {
	Client *rest.Client        // with the budget of this source
	Nodes  func() []model.Node // every node the ResourceManager knows now

	// CrossShare returns two shares of the current shuffle matrix T, where
	// T[a][b] is what reduces in rack b fetch from maps in rack a:
	// out, of what the rack serves, the share that leaves it:
	// (sum of T[rack][b] over b other than rack) / (sum of T[rack][b] over all b);
	// in, of what leaves any rack, the share that enters this one:
	// (sum of T[a][rack] over a other than rack) / (sum of all T[a][b] with a other than b).
	// Both are 0 where nothing is known to move. Neither can be above 1.
	CrossShare func(rack model.RackID) (out, in float64)
	// HDFSShare returns the share of what the rack's DataNodes exchange with
	// other hosts that is exchanged with other racks. Nil assumes that the peer is
	// any other host with equal chance.
	HDFSShare func(rack model.RackID) float64

	Scheme       string               // of the daemons' web servers, "http" (the default) or "https"
	DataNodePort int                  // of the DataNodes' web servers; default 9864, below 0 leaves DataNodes out
	Interval     time.Duration        // between rounds, and the longest a round may take; default 5 s
	Forget       time.Duration        // after which a value is too old to compare with; default 5 intervals
	Workers      int                  // daemons asked at the same time; default 8
	MaxRate      model.BytesPerSecond // of one daemon; a faster reading is left out; default 12.5e9 (100 Gbit/s)

	Now    func() time.Time // the clock
	Logger hclog.Logger     // default: none
}

// daemon is one NodeManager or DataNode.
type daemon struct {
	url         string
	rack        model.RackID
	dataNode    bool
	meters      []meter
	failures    int // in a row
	askedRound  int // round in which it was asked last
	listedRound int // round in which its node was listed last
}

// Poller reads the counters. Make one with New.
type Poller struct {
	cfg     Config
	daemons map[string]*daemon // by url
	runner  *poll.Runner
	rounds  int
}

// New checks a configuration and builds a poller of it.
func New(cfg Config) (*Poller, error) {
	if cfg.Client == nil || cfg.Nodes == nil || cfg.CrossShare == nil || cfg.Now == nil {
		return nil, errors.New("uplink poller: client, nodes, cross share and clock must be set")
	}
	cfg.Scheme = cmp.Or(cfg.Scheme, "http")
	if cfg.Scheme != "http" && cfg.Scheme != "https" {
		return nil, fmt.Errorf("uplink poller: scheme %q: want http or https", cfg.Scheme)
	}
	cfg.DataNodePort = cmp.Or(cfg.DataNodePort, 9864)
	cfg.Interval = cmp.Or(max(cfg.Interval, 0), 5*time.Second)
	cfg.Forget = cmp.Or(max(cfg.Forget, 0), 5*cfg.Interval)
	cfg.Workers = cmp.Or(max(cfg.Workers, 0), 8)
	cfg.MaxRate = cmp.Or(max(cfg.MaxRate, 0), 12.5e9)
	if cfg.Logger == nil {
		cfg.Logger = hclog.NewNullLogger()
	}
	p := &Poller{cfg: cfg, daemons: map[string]*daemon{}}
	p.runner = poll.New(poll.Config{
		Source: model.SourceUplink, Service: "JMX of NodeManagers and DataNodes", Interval: cfg.Interval,
		Cost: cfg.Client.Usage, Now: cfg.Now, Log: cfg.Logger,
	}, p.poll)
	return p, nil
}

// Run polls until ctx ends, and returns why it ended.
func (p *Poller) Run(ctx context.Context, out chan<- model.Observation) error {
	return p.runner.Run(ctx, out)
}

// outcome is how a round went.
type outcome struct {
	mu          sync.Mutex
	asked       int
	answered    int
	readings    [tooFast + 1]int // readings by kind
	budgetSpent bool
	err         error // the first
}

// poll reads every daemon once, as far as the budget allows. Each daemon that fails
// pauses by itself, so that the source as a whole needs no back-off.
func (p *Poller) poll(ctx context.Context, current *poll.Round) poll.Outcome {
	p.rounds++
	p.updateDaemons()
	limited, cancel := context.WithTimeout(ctx, p.cfg.Interval)
	defer cancel()
	o := p.readDaemons(limited)
	if ctx.Err() != nil {
		return poll.Outcome{}
	}
	if samples := estimateUplinks(p.loads(), p.cfg.CrossShare, p.cfg.HDFSShare); len(samples) > 0 {
		current.Send(ctx, model.UplinkFact{Method: Method, Samples: samples})
	}
	result, text := p.result(o)
	return poll.Outcome{Result: result, Error: text}
}

// updateDaemons follows the daemons of the nodes listed now, and no others.
func (p *Poller) updateDaemons() {
	for _, node := range p.cfg.Nodes() {
		if node.HTTPAddress == "" { // an inactive node
			continue
		}
		p.addDaemon(p.cfg.Scheme+"://"+node.HTTPAddress+shuffleQuery, node.Rack, false)
		if p.cfg.DataNodePort > 0 {
			address := net.JoinHostPort(hostOf(node), strconv.Itoa(p.cfg.DataNodePort))
			p.addDaemon(p.cfg.Scheme+"://"+address+dataNodeQuery, node.Rack, true)
		}
	}
	for url, d := range p.daemons { // order-free
		if d.listedRound != p.rounds {
			delete(p.daemons, url)
		}
	}
}

func (p *Poller) addDaemon(url string, rack model.RackID, dataNode bool) {
	d := p.daemons[url]
	if d == nil {
		d = &daemon{url: url, dataNode: dataNode}
		p.daemons[url] = d
	}
	d.rack, d.listedRound = rack, p.rounds
}

func hostOf(node model.Node) string {
	if node.Host != "" {
		return node.Host
	}
	host, _, err := net.SplitHostPort(node.HTTPAddress)
	if err != nil {
		return node.HTTPAddress
	}
	return host
}

// readDaemons reads the counters of the daemons that are due. Those that were read
// longest ago come first.
func (p *Poller) readDaemons(ctx context.Context) *outcome {
	due := make([]*daemon, 0, len(p.daemons))
	for _, d := range p.daemons { // order-free: sorted below
		if d.failures < restAfter || p.rounds-d.askedRound >= restEvery {
			due = append(due, d)
		}
	}
	slices.SortFunc(due, func(a, b *daemon) int {
		return cmp.Or(cmp.Compare(a.askedRound, b.askedRound), cmp.Compare(a.url, b.url))
	})
	o := &outcome{}
	var g errgroup.Group
	g.SetLimit(p.cfg.Workers)
	for _, d := range due {
		g.Go(func() error {
			if !o.isOver(ctx) {
				p.readDaemon(ctx, d, o)
			}
			return nil
		})
	}
	_ = g.Wait() // the errors are in the outcome
	return o
}

// isOver reports whether the round sends no more requests: the budget is spent, or
// the time of the round is over, which counts as a spent budget.
func (o *outcome) isOver(ctx context.Context) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.budgetSpent = o.budgetSpent || ctx.Err() != nil
	return o.budgetSpent
}

func (p *Poller) readDaemon(ctx context.Context, d *daemon, o *outcome) {
	decode := decodeShuffle
	if d.dataNode {
		decode = decodeDataNode
	}
	values, err := rest.GetDecoded(ctx, p.cfg.Client, d.url, decode)
	at := p.cfg.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	if errors.Is(err, rest.ErrBudget) {
		o.budgetSpent = true
		return
	}
	d.askedRound = p.rounds
	o.asked++
	if err != nil {
		d.failures++
		if o.err == nil {
			o.err = err
		}
		return
	}
	d.failures = 0
	o.answered++
	if d.meters == nil {
		d.meters = make([]meter, len(values))
	}
	for i, v := range values {
		o.readings[d.meters[i].read(v, at, p.cfg.Forget, p.cfg.MaxRate)]++
	}
}

// loads sums the fresh rates per rack.
func (p *Poller) loads() map[model.RackID]rackLoad {
	now := p.cfg.Now()
	loads := map[model.RackID]rackLoad{}
	for _, url := range slices.Sorted(maps.Keys(p.daemons)) { // sums of floats depend on their order
		d := p.daemons[url]
		load := loads[d.rack]
		for i := range d.meters {
			rate, ok := d.meters[i].fresh(now, p.cfg.Forget)
			if !ok {
				continue
			}
			load.measured = true
			switch {
			case !d.dataNode:
				load.served += rate
			case i == 0:
				load.hosts++
				load.read += rate
			default:
				load.written += rate
			}
		}
		loads[d.rack] = load
	}
	return loads
}

// result returns the poll result of a round. One answer makes a round usable; the
// text says how many daemons do not answer, and the first error.
func (p *Poller) result(o *outcome) (model.PollResult, string) {
	var messages []string
	silent := 0
	for _, d := range p.daemons { // order-free
		if d.failures > 0 {
			silent++
		}
	}
	if silent > 0 {
		messages = append(messages, fmt.Sprintf("%d of %d daemons do not answer", silent, len(p.daemons)))
	}
	if o.readings[tooFast] > 0 {
		messages = append(messages, fmt.Sprintf("%d counters ran faster than %.3g bytes/s and were left out", o.readings[tooFast], float64(p.cfg.MaxRate)))
	}
	if o.err != nil {
		messages = append(messages, o.err.Error())
	}
	text := strings.Join(messages, "; ")
	switch {
	case len(p.daemons) == 0:
		return model.PollError, "no node with a web address is known yet"
	case o.asked == 0 && o.budgetSpent, o.answered > 0 && o.budgetSpent:
		return model.PollBudget, text
	case o.answered > 0:
		return model.PollOK, text
	case o.err != nil:
		return rest.FromError(o.err), text
	}
	return model.PollUnreachable, text // every daemon failed often enough to be paused
}

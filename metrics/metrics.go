// Package metrics exports heddle's figures to Prometheus.
//
// Everything about the cluster and the sources is built at scrape time from the
// published snapshot, so that a rack or a source that is gone leaves no series
// behind and a scrape sends no request. What the relay does is read from the
// relay itself, if there is one. Two things are counted as they
// happen: rounds of the policy and full queues.
package metrics

import (
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"heddle/core/model"
	"heddle/core/state/snapshot"
)

// DefaultPairs is how many rack pairs of each kind of traffic get a series of
// their own unless Options say otherwise: all pairs of twenty racks.
const DefaultPairs = 400

// Options configure a Collector.
type Options struct {
	Snapshot   func() *snapshot.Snapshot    // the newest published snapshot, nil before the first
	Relay      func() *model.Relay          // what the relay does now; nil, or a nil result: there is no relay and no metric of it
	Linked     func() (linked, wanted bool) // whether the other process of heddle, serve or the relay, is linked, and wanted; nil: it is not wanted
	Now        func() time.Time             // the clock of the observations
	Policy     func() string                // the policy in charge, "" when none decides
	ConfigHash func() string                // of the configuration in force
	Version    string
	Revision   string
	Sources    []model.Source // those that are polled; one that has not answered yet is down
	Queues     []string       // names QueueFull will be called with, so that they start at 0
	Pairs      int            // rack pairs per kind of traffic with a series of their own; 0 is DefaultPairs
}

// Collector is heddle's part of /metrics. Its methods may be called from any
// goroutine.
type Collector struct {
	opts   Options
	all    [metricCount]described
	rounds *prometheus.HistogramVec
	full   *prometheus.CounterVec

	mu      sync.Mutex // held while a snapshot is read, so that counters never go back between two scrapes
	pairs   map[snapshot.TrafficKind]*pairs
	byCause causes
}

// New builds a collector and registers it with reg, together with the usual
// metrics of the process and of the Go runtime.
func New(reg prometheus.Registerer, opts Options) (*Collector, error) {
	if opts.Pairs <= 0 {
		opts.Pairs = DefaultPairs
	}
	live := instruments()
	r, q := live[roundDuration], live[queueFull]
	c := &Collector{
		opts:    opts,
		all:     describe(),
		rounds:  prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: r.name, Help: r.help, Buckets: roundBuckets()}, r.labels),
		full:    prometheus.NewCounterVec(prometheus.CounterOpts{Name: q.name, Help: q.help}, q.labels),
		pairs:   map[snapshot.TrafficKind]*pairs{},
		byCause: newCauses(),
	}
	for _, k := range snapshot.TrafficKinds() {
		c.pairs[k] = newPairs(opts.Pairs)
	}
	for _, q := range opts.Queues {
		c.full.WithLabelValues(q)
	}
	for _, part := range []prometheus.Collector{
		c, c.rounds, c.full, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	} {
		if err := reg.Register(part); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	return c, nil
}

// Round records how long one round of a policy took.
func (c *Collector) Round(policy string, d time.Duration) {
	c.rounds.WithLabelValues(policy).Observe(d.Seconds())
}

// QueueFull counts that a queue was found full. The name must be one of a small
// fixed set.
func (c *Collector) QueueFull(queue string) { c.full.WithLabelValues(queue).Inc() }

// Describe implements prometheus.Collector.
func (c *Collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range c.all {
		ch <- d.desc
	}
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	s := sink{ch, &c.all}
	s.put(buildInfo, 1, c.opts.Version, c.opts.Revision, runtime.Version())
	s.put(configInfo, 1, c.opts.ConfigHash())
	c.mu.Lock()
	defer c.mu.Unlock()
	snap := c.opts.Snapshot()
	c.collectSources(s, snap)
	if c.opts.Linked != nil {
		if linked, wanted := c.opts.Linked(); wanted {
			s.put(relayLinked, oneIf(linked))
		}
	}
	if c.opts.Relay != nil {
		if r := c.opts.Relay(); r != nil {
			s.putRelay(r, model.Time(c.opts.Now().UnixMilli()))
		}
	}
	if snap == nil {
		return
	}
	s.put(snapshots, float64(snap.Seq))
	if snap.At != 0 {
		s.put(snapshotTime, model.Duration(snap.At).Seconds())
	}
	s.put(liveApps, float64(snap.Cluster.LiveApps))
	for i := range snap.Racks {
		s.putRack(&snap.Racks[i], hasRead(snap, model.SourceHDFS))
	}
	for _, k := range snapshot.TrafficKinds() {
		c.pairs[k].collect(s, k, &snap.Traffic)
	}
	for i := range snap.Accounts {
		a := &snap.Accounts[i]
		s.put(regret, float64(a.Saved), a.Policy, "saved")
		s.put(regret, float64(a.Lost), a.Policy, "lost")
		if !a.Decides {
			s.put(shadowSkipped, float64(a.Skipped), a.Policy)
			continue
		}
		s.put(grantedReduces, float64(a.Granted.OK), a.Policy, "ok")
		s.put(grantedReduces, float64(a.Granted.NoOutput), a.Policy, "no_output")
		s.put(grantedReduces, float64(a.Granted.Busier), a.Policy, "busier_uplink")
	}
	s.putGuard(snap.Guard.Queues)
	l := snap.Cluster.Localities
	s.put(localities, float64(l.NodeLocal), "node_local")
	s.put(localities, float64(l.RackLocal), "rack_local")
	s.put(localities, float64(l.OffSwitch), "off_switch")
	c.byCause.add(snap, c.opts.Policy())
	c.byCause.collect(s)
	s.putCounts(&snap.Counts)
}

// collectSources exports the health of every source that is polled, whether or
// not it has finished a poll.
func (c *Collector) collectSources(s sink, snap *snapshot.Snapshot) {
	seen := make(map[model.Source]bool, len(c.opts.Sources))
	if snap != nil {
		now := model.Time(c.opts.Now().UnixMilli())
		for i := range snap.Sources {
			v := &snap.Sources[i]
			seen[v.Source] = true
			s.source(v, now)
		}
	}
	for _, name := range c.opts.Sources {
		if !seen[name] {
			s.source(&snapshot.Source{Source: name}, 0)
		}
	}
}

func hasRead(snap *snapshot.Snapshot, source model.Source) bool {
	return slices.ContainsFunc(snap.Sources, func(v snapshot.Source) bool { return v.Source == source && v.LastOK != 0 })
}

// Handler serves what g gathers, in Prometheus' text format or OpenMetrics.
func Handler(g prometheus.Gatherer, log hclog.Logger) http.Handler {
	return promhttp.HandlerFor(g, promhttp.HandlerOpts{
		ErrorLog:            scrapeLog{log},
		ErrorHandling:       promhttp.HTTPErrorOnError,
		MaxRequestsInFlight: 8,
		EnableOpenMetrics:   true,
	})
}

// scrapeLog reports what a scrape could not gather.
type scrapeLog struct{ log hclog.Logger }

// Println implements promhttp.Logger.
func (l scrapeLog) Println(v ...any) {
	l.log.Error("scrape is not complete", "error", strings.TrimSpace(fmt.Sprintln(v...)))
}

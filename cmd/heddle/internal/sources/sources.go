// Package sources builds the adapters that the configuration names, and runs them.
package sources

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sync/errgroup"

	"heddle/configs"
	"heddle/configs/hadoopconf"
	"heddle/core/model"
	"heddle/core/state/snapshot"
	"heddle/hdfsclient"
	prometheusuplink "heddle/metrics/uplink"
	"heddle/yarnproxy/mapreduce"
	"heddle/yarnproxy/rest"
	"heddle/yarnproxy/rm"
	"heddle/yarnproxy/tez"
	"heddle/yarnproxy/uplink"
)

// Source sends observations until its context ends.
type Source struct {
	Names []model.Source // of its observations
	Run   func(ctx context.Context, out chan<- model.Observation) error
}

// Set is every configured source, and the block finder of the API.
type Set struct {
	Sources []Source
	Blocks  *hdfsclient.Client // nil without HDFS
}

// Names returns the names of all sources.
func (s *Set) Names() []model.Source {
	var out []model.Source
	for _, one := range s.Sources {
		out = append(out, one.Names...)
	}
	return out
}

// Run runs every source until ctx ends or one fails.
func (s *Set) Run(ctx context.Context, out chan<- model.Observation) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, one := range s.Sources {
		group.Go(func() error { return one.Run(ctx, out) })
	}
	return group.Wait()
}

// Options are what the adapters are built from.
type Options struct {
	Config   *configs.Config
	Hadoop   *hadoopconf.Config // nil without Hadoop's own configuration
	Snapshot func() *snapshot.Snapshot
	Full     func(queue string) // counts a queue that is full
	Log      hclog.Logger
	Now      func() time.Time
}

// builder is what every adapter is built from.
type builder struct {
	Options
	auth rest.Authenticator
	set  *Set
}

// Build builds the adapters. It connects to nothing.
func Build(o Options) (*Set, error) {
	auth, err := authenticator(&o.Config.Security)
	if err != nil {
		return nil, err
	}
	b := &builder{Options: o, auth: auth, set: &Set{}}
	activeBase, err := b.resourceManager()
	if err != nil {
		return nil, err
	}
	for _, add := range []func() error{func() error { return b.mapReduce(activeBase) }, b.tez, b.hdfs, b.uplink} {
		if err := add(); err != nil {
			return nil, err
		}
	}
	return b.set, nil
}

func (b *builder) add(run func(context.Context, chan<- model.Observation) error, names ...model.Source) {
	b.set.Sources = append(b.set.Sources, Source{names, run})
}

func authenticator(c *configs.SecurityConfig) (rest.Authenticator, error) {
	if c.Authentication != configs.AuthKerberos {
		return nil, nil // no authenticator is the value for simple authentication
	}
	a, err := rest.NewSPNEGO(rest.SPNEGOOptions{
		Principal: c.Principal, Keytab: c.Keytab, CCache: c.CCache, Krb5Conf: c.Krb5Conf, ServicePrincipal: c.ServicePrincipal,
	})
	if err != nil {
		return nil, fmt.Errorf("security: %w", err)
	}
	return a, nil
}

func (b *builder) resourceManager() (activeBase func() string, err error) {
	c := &b.Config.ResourceManager
	poller, err := rm.New(rm.Config{
		Client: rest.New(rest.Options{
			Timeout: c.Timeout.Std(), MaxBytes: int64(c.MaxAnswer), User: c.User, Auth: b.auth,
			Budget: rest.NewBudget(c.RequestsPerSecond, model.Bytes(c.BytesPerSecond)), Allowed: rest.AllowBases(c.URLs),
		}),
		Bases: c.URLs, PollInterval: c.PollInterval.Std(), Logger: b.Log, Now: b.Now,
	})
	if err != nil {
		return nil, err
	}
	b.add(poller.Run, model.SourceRM)
	return poller.ActiveBase, nil
}

func (b *builder) mapReduce(base func() string) error {
	c := &b.Config.MapReduce
	if !c.Enabled {
		return nil
	}
	budget := rest.NewBudget(c.RequestsPerSecond, model.Bytes(c.BytesPerSecond))
	client := func(user string, allowed func(string) bool) *rest.Client {
		return rest.New(rest.Options{
			Timeout: c.Timeout.Std(), MaxBytes: int64(b.Config.ResourceManager.MaxAnswer), User: user, Auth: b.auth, Budget: budget,
			Allowed: allowed,
		})
	}
	user := b.Config.ResourceManager.User
	cfg := mapreduce.Config{
		Proxy: client(user, rest.AllowBases(b.Config.ResourceManager.URLs)), ProxyBase: base, Live: b.liveApps,
		HistoryBase: c.HistoryServer, Interval: c.PollInterval.Std(), HistoryWait: c.GiveUpAfter.Std(),
		Full: b.Full, Now: b.Now, Logger: b.Log,
	}
	names := []model.Source{model.SourceMapReduce}
	if c.HistoryServer != "" {
		cfg.History = client(user, rest.AllowBases([]string{c.HistoryServer}))
		names = append(names, model.SourceHistory)
	}
	poller, err := mapreduce.New(cfg)
	if err != nil {
		return err
	}
	b.add(func(ctx context.Context, to chan<- model.Observation) error {
		if err := wait(ctx, func() bool { return base() != "" }); err != nil {
			return err
		}
		return poller.Run(ctx, to)
	}, names...)
	return nil
}

func (b *builder) tez() error {
	c := &b.Config.Tez
	if c.TimelineServer == "" {
		return nil
	}
	poller, err := tez.New(tez.Config{
		Client: rest.New(rest.Options{
			Timeout: c.Timeout.Std(), MaxBytes: int64(b.Config.ResourceManager.MaxAnswer), User: b.Config.ResourceManager.User, Auth: b.auth,
			Budget: rest.NewBudget(c.RequestsPerSecond, model.Bytes(c.BytesPerSecond)), Allowed: rest.AllowBases([]string{c.TimelineServer}),
		}),
		Base: c.TimelineServer, Live: b.liveApps, Interval: c.PollInterval.Std(), Full: b.Full, Now: b.Now, Logger: b.Log,
	})
	if err != nil {
		return err
	}
	b.add(poller.Run, model.SourceTez)
	return nil
}

// wait returns once a condition holds. ApplicationMasters are reached through the
// ResourceManager, so that their poller waits until one is found.
func wait(ctx context.Context, holds func() bool) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}

// liveApps returns the applications that run, as last published.
func (b *builder) liveApps() []model.App {
	s := b.Snapshot()
	if s == nil {
		return nil
	}
	apps := make([]model.App, 0, s.Cluster.LiveApps)
	for _, a := range s.Apps[:s.Cluster.LiveApps] {
		apps = append(apps, a.App)
	}
	return apps
}

// inputPaths returns the input paths of the applications that run.
func (b *builder) inputPaths() []string {
	s := b.Snapshot()
	if s == nil {
		return nil
	}
	var paths []string
	seen := map[string]bool{}
	for _, a := range s.Apps[:s.Cluster.LiveApps] {
		for _, p := range a.Input.Paths {
			if !seen[p] {
				seen[p] = true
				paths = append(paths, p)
			}
		}
	}
	return paths
}

// maxPathDelay bounds the time until a new job's input paths are looked up.
const maxPathDelay = 2 * time.Second

func (b *builder) hdfs() error {
	if !b.Config.HDFS.Enabled {
		return nil
	}
	client, err := b.hdfsClient()
	if err != nil {
		return err
	}
	b.set.Blocks = client
	b.add(hdfsclient.NewPoller(client, b.inputPaths).Run, model.SourceHDFS)
	return nil
}

// HDFS returns a client of the configured NameNodes. It connects to nothing.
func HDFS(o Options) (*hdfsclient.Client, error) {
	auth, err := authenticator(&o.Config.Security)
	if err != nil {
		return nil, err
	}
	return (&builder{Options: o, auth: auth}).hdfsClient()
}

func (b *builder) hdfsClient() (*hdfsclient.Client, error) {
	c := &b.Config.HDFS
	opts := hdfsclient.Options{
		Auth: b.auth, Kerberos: rest.KerberosClient(b.auth), Budget: rest.NewBudget(c.RequestsPerSecond, model.Bytes(c.BytesPerSecond)), Log: b.Log, Now: b.Now,
	}
	return hdfsclient.New(hdfsclient.Config{
		NameNodes: c.NameNodes, Authorities: authorities(c, b.Hadoop), User: c.User, Walk: string(c.Walk), RPCAddresses: c.RPCAddresses, RPCPrincipal: c.ServicePrincipal,
		Timeout: c.Timeout.Std(), MaxFiles: c.MaxFiles, MaxBlocks: c.MaxBlocks, CacheBlocks: c.CacheBlocks, CacheAge: c.CacheAge.Std(),
		DataNodeInterval: c.Interval.Std(), Interval: min(c.Interval.Std(), maxPathDelay),
	}, opts)
}

// authorities returns the authorities in paths that denote the configured NameNodes;
// paths with another authority, such as hdfs://other/x, are not looked up. Without RPC
// addresses it returns nil, and every authority counts as this one.
func authorities(c *configs.HDFSConfig, hadoop *hadoopconf.Config) []string {
	if len(c.RPCAddresses) == 0 {
		return nil
	}
	var names []string
	for _, addr := range c.RPCAddresses {
		host, _, _ := strings.Cut(addr, ":")
		names = append(names, addr, host)
	}
	for _, at := range c.NameNodes {
		if u, err := url.Parse(at); err == nil {
			names = append(names, u.Host) // webhdfs://
		}
	}
	switch {
	case c.Nameservice != "":
		names = append(names, c.Nameservice)
	case hadoop != nil: // the one of fs.defaultFS is read
		if p, ok, err := hadoop.Lookup("fs.defaultFS"); err == nil && ok {
			if u, err := url.Parse(p.Value); err == nil {
				names = append(names, u.Host)
			}
		}
	}
	return names
}

// longestRead is the longest one read of uplink load may take.
const longestRead = 10 * time.Second

func (b *builder) uplink() error {
	switch c := &b.Config.Uplinks; c.Source {
	case configs.UplinkShuffleJMX:
		poller, err := uplink.New(uplink.Config{
			Client: rest.New(rest.Options{Timeout: min(c.ShuffleJMX.Interval.Std(), longestRead), Auth: b.auth}),
			Nodes:  b.nodes, CrossShare: b.crossShare, Scheme: scheme(c.ShuffleJMX.NodeManagerHTTPS), DataNodePort: c.ShuffleJMX.DataNodeHTTPPort,
			Interval: c.ShuffleJMX.Interval.Std(), Workers: c.ShuffleJMX.Concurrency, Now: b.Now, Logger: b.Log,
		})
		if err != nil {
			return err
		}
		b.add(poller.Run, model.SourceUplink)
	case configs.UplinkPrometheus:
		if _, err := url.Parse(c.Prometheus.URL); err != nil {
			return fmt.Errorf("uplinks.prometheus.url: %w", err)
		}
		poller, err := prometheusuplink.New(prometheusuplink.Config{
			Address: c.Prometheus.URL, OutQuery: c.Prometheus.OutQuery, InQuery: c.Prometheus.InQuery,
			Interval: c.Prometheus.Interval.Std(), Timeout: min(c.Prometheus.Interval.Std(), longestRead), Now: b.Now, Logger: b.Log,
		})
		if err != nil {
			return err
		}
		b.add(poller.Run, model.SourceUplink)
	case configs.UplinkEstimate:
	}
	return nil
}

func scheme(https bool) string {
	if https {
		return "https"
	}
	return "http"
}

// nodes returns the nodes as last published.
func (b *builder) nodes() []model.Node {
	if s := b.Snapshot(); s != nil {
		return s.Nodes
	}
	return nil
}

// crossShare returns, for the shuffle so far, the fraction of a rack's served bytes
// that leave it, and the fraction of all cross-rack bytes that enter it.
func (b *builder) crossShare(rack model.RackID) (out, in float64) {
	s := b.Snapshot()
	if s == nil {
		return 0, 0
	}
	var served, left, crossed, entered float64
	for i, row := range s.Traffic.Bytes[snapshot.TrafficShuffle] {
		for j, b := range row {
			if s.Traffic.Racks[i] == rack {
				served += b
			}
			if i == j {
				continue
			}
			crossed += b
			if s.Traffic.Racks[i] == rack {
				left += b
			}
			if s.Traffic.Racks[j] == rack {
				entered += b
			}
		}
	}
	return ratio(left, served), ratio(entered, crossed)
}

func ratio(part, whole float64) float64 {
	if whole <= 0 {
		return 0
	}
	return part / whole
}

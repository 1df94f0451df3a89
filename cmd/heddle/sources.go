package main

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"heddle/configs"
	"heddle/core/model"
	"heddle/core/state"
	"heddle/hdfsclient"
	prometheusuplink "heddle/metrics/uplink"
	"heddle/yarnproxy/mapreduce"
	"heddle/yarnproxy/rest"
	"heddle/yarnproxy/rm"
	"heddle/yarnproxy/tez"
	"heddle/yarnproxy/uplink"
)

// source is one adapter: it sends observations until its context ends.
type source struct {
	names []model.Source // of its observations
	run   func(ctx context.Context, out chan<- model.Observation) error
}

// sources holds every configured adapter, and the block finder of the API.
type sources struct {
	list   []source
	blocks *hdfsclient.Client // nil without HDFS
}

// names returns the sources that are polled.
func (s *sources) names() []model.Source {
	var out []model.Source
	for _, one := range s.list {
		out = append(out, one.names...)
	}
	return out
}

// wiring is what every adapter is built from.
type wiring struct {
	cfg      *configs.Config
	hadoop   *configs.Hadoop // nil without Hadoop's own configuration
	snapshot func() *state.Snapshot
	full     func(limit string)
	log      hclog.Logger
	now      func() time.Time
	auth     rest.Authenticator
}

// buildSources builds the adapters. It connects to nothing.
func buildSources(w wiring) (*sources, error) {
	var err error
	if w.auth, err = authenticator(&w.cfg.Security); err != nil {
		return nil, err
	}
	out := &sources{}
	base, err := w.resourceManager(out)
	if err != nil {
		return nil, err
	}
	for _, add := range []func(*sources) error{
		func(s *sources) error { return w.mapReduce(s, base) }, w.tez, w.hdfs, w.uplink,
	} {
		if err := add(out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// kerberos is the configured identity; ok is false for simple authentication.
func kerberos(c *configs.SecurityConfig) (who rest.SPNEGOOptions, ok bool) {
	return rest.SPNEGOOptions{
		Principal: c.Principal, Keytab: c.Keytab, CCache: c.CCache, Krb5Conf: c.Krb5Conf, ServicePrincipal: c.ServicePrincipal,
	}, c.Authentication == configs.AuthKerberos
}

func authenticator(c *configs.SecurityConfig) (rest.Authenticator, error) {
	who, ok := kerberos(c)
	if !ok {
		return nil, nil //nolint:nilnil // no authenticator is the value for simple authentication
	}
	a, err := rest.NewSPNEGO(who)
	if err != nil {
		return nil, fmt.Errorf("security: %w", err)
	}
	return a, nil
}

func (w *wiring) resourceManager(out *sources) (activeBase func() string, err error) {
	c := &w.cfg.ResourceManager
	poller, err := rm.New(rm.Config{
		Client: rest.New(rest.Options{
			Timeout: c.Timeout.Std(), MaxBytes: int64(c.MaxAnswer), User: c.User, Auth: w.auth, Now: w.now,
			Budget: rest.NewBudget(c.RequestsPerSecond, model.Bytes(c.BytesPerSecond)), Allowed: rest.AllowBases(c.URLs),
		}),
		Bases: c.URLs, PollInterval: c.PollInterval.Std(), Logger: w.log, Now: w.now,
	})
	if err != nil {
		return nil, err
	}
	out.list = append(out.list, source{[]model.Source{model.SourceRM}, poller.Run})
	return poller.ActiveBase, nil
}

func (w *wiring) mapReduce(out *sources, base func() string) error {
	c := &w.cfg.MapReduce
	if !c.Enabled {
		return nil
	}
	budget := rest.NewBudget(c.RequestsPerSecond, model.Bytes(c.BytesPerSecond))
	client := func(user string, allowed func(string) bool) *rest.Client {
		return rest.New(rest.Options{
			Timeout: c.Timeout.Std(), MaxBytes: int64(w.cfg.ResourceManager.MaxAnswer), User: user, Auth: w.auth, Budget: budget,
			Allowed: allowed, Now: w.now,
		})
	}
	user := w.cfg.ResourceManager.User
	cfg := mapreduce.Config{
		Proxy: client(user, rest.AllowBases(w.cfg.ResourceManager.URLs)), ProxyBase: base, Live: w.liveApps,
		HistoryBase: c.HistoryServer, Interval: c.PollInterval.Std(), HistoryWait: c.GiveUpAfter.Std(),
		Full: w.full, Now: w.now, Logger: w.log,
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
	out.list = append(out.list, source{names, func(ctx context.Context, to chan<- model.Observation) error {
		if err := wait(ctx, func() bool { return base() != "" }); err != nil {
			return err
		}
		return poller.Run(ctx, to)
	}})
	return nil
}

func (w *wiring) tez(out *sources) error {
	c := &w.cfg.Tez
	if c.TimelineServer == "" {
		return nil
	}
	poller, err := tez.New(tez.Config{
		Client: rest.New(rest.Options{
			Timeout: c.Timeout.Std(), MaxBytes: int64(w.cfg.ResourceManager.MaxAnswer), User: w.cfg.ResourceManager.User, Auth: w.auth, Now: w.now,
			Budget: rest.NewBudget(c.RequestsPerSecond, model.Bytes(c.BytesPerSecond)), Allowed: rest.AllowBases([]string{c.TimelineServer}),
		}),
		Base: c.TimelineServer, Live: w.liveApps, Interval: c.PollInterval.Std(), Full: w.full, Now: w.now, Logger: w.log,
	})
	if err != nil {
		return err
	}
	out.list = append(out.list, source{[]model.Source{model.SourceTez}, poller.Run})
	return nil
}

// wait returns once what is waited for holds: at a start, the ApplicationMasters
// cannot be asked before a ResourceManager has been found.
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
func (w *wiring) liveApps() []model.App {
	s := w.snapshot()
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
func (w *wiring) inputPaths() []string {
	s := w.snapshot()
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

// lookForPaths is how long the input of a new job may wait to be looked up.
const lookForPaths = 2 * time.Second

func (w *wiring) hdfs(out *sources) error {
	c := &w.cfg.HDFS
	if !c.Enabled {
		return nil
	}
	opts := hdfsclient.Options{
		Auth: w.auth, Budget: rest.NewBudget(c.RequestsPerSecond, model.Bytes(c.BytesPerSecond)), Log: w.log, Now: w.now,
	}
	if who, ok := kerberos(&w.cfg.Security); ok && c.Walk == configs.WalkRPC {
		login, err := rest.Login(who)
		if err != nil {
			return fmt.Errorf("hdfs.walk: rpc: %w", err)
		}
		opts.Kerberos = login
	}
	client, err := hdfsclient.New(hdfsclient.Config{
		NameNodes: c.NameNodes, Authorities: authorities(c, w.hadoop), User: c.User, Walk: string(c.Walk), RPCAddresses: c.RPCAddresses, RPCPrincipal: c.ServicePrincipal,
		Timeout: c.Timeout.Std(), MaxFiles: c.MaxFiles, MaxBlocks: c.MaxBlocks, CacheBlocks: c.CacheBlocks, CacheAge: c.CacheAge.Std(),
		DataNodeInterval: c.Interval.Std(), Interval: min(c.Interval.Std(), lookForPaths),
	}, opts)
	if err != nil {
		return err
	}
	out.blocks = client
	out.list = append(out.list, source{[]model.Source{model.SourceHDFS}, hdfsclient.NewPoller(client, w.inputPaths).Run})
	return nil
}

// authorities are the names by which paths of jobs mean the NameNodes that are
// read: hdfs://other/x is not looked up here. Without RPC addresses nothing is
// known of them, and every authority is taken for this one.
func authorities(c *configs.HDFSConfig, hadoop *configs.Hadoop) []string {
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

func (w *wiring) uplink(out *sources) error {
	switch c := &w.cfg.Uplinks; c.Source {
	case configs.UplinkShuffleJMX:
		poller, err := uplink.New(uplink.Config{
			Client: rest.New(rest.Options{Timeout: c.ShuffleJMX.Timeout.Std(), Auth: w.auth, Now: w.now}),
			Nodes:  w.nodes, CrossShare: w.crossShare, Scheme: scheme(c.ShuffleJMX.NodeManagerHTTPS), DataNodePort: c.ShuffleJMX.DataNodeHTTPPort,
			Interval: c.ShuffleJMX.Interval.Std(), Workers: c.ShuffleJMX.Concurrency, Now: w.now, Logger: w.log,
		})
		if err != nil {
			return err
		}
		out.list = append(out.list, source{[]model.Source{model.SourceUplink}, poller.Run})
	case configs.UplinkPrometheus:
		if _, err := url.Parse(c.Prometheus.URL); err != nil {
			return fmt.Errorf("uplinks.prometheus.url: %w", err)
		}
		poller, err := prometheusuplink.New(prometheusuplink.Config{
			Address: c.Prometheus.URL, OutQuery: c.Prometheus.OutQuery, InQuery: c.Prometheus.InQuery,
			Interval: c.Prometheus.Interval.Std(), Timeout: c.Prometheus.Timeout.Std(), Now: w.now, Logger: w.log,
		})
		if err != nil {
			return err
		}
		out.list = append(out.list, source{[]model.Source{model.SourceUplink}, poller.Run})
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
func (w *wiring) nodes() []model.Node {
	if s := w.snapshot(); s != nil {
		return s.Nodes
	}
	return nil
}

// crossShare returns which share of what a rack serves leaves it, and which
// share of what leaves any rack enters it, by the shuffle so far.
func (w *wiring) crossShare(rack model.RackID) (out, in float64) {
	s := w.snapshot()
	if s == nil {
		return 0, 0
	}
	var served, left, crossed, entered float64
	for i, row := range s.Traffic.Bytes[state.TrafficShuffle] {
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

// Package relaying is the running relay, `heddle relay`: connections of ApplicationMasters, the link to
// `heddle serve`, and its own metrics, put together as the configuration says.
package relaying

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/oklog/run"
	"github.com/prometheus/client_golang/prometheus"

	"heddle/cmd/heddle/internal/settings"
	"heddle/cmd/heddle/internal/webserver"
	"heddle/configs"
	"heddle/core/state/snapshot"
	"heddle/metrics"
	"heddle/yarnproxy/amrm"
	"heddle/yarnproxy/relaylink"
)

// Options configure a Process.
type Options struct {
	Loaded            *configs.Loaded
	Log               hclog.Logger
	Now               func() time.Time
	Version, Revision string
	WebConfig         string // the web-config file, "" for plain HTTP
}

// Process is the running relay: New, Open, Run.
type Process struct {
	opts   Options
	cfg    atomic.Pointer[configs.Loaded]
	log    hclog.Logger
	relay  *amrm.Relay
	view   *relaylink.View
	link   *relaylink.Server
	scrape http.Handler
	web    net.Listener
	notify *supervisor
}

// ErrNoRelay says that the configuration wants no relay.
var ErrNoRelay = errors.New("the configuration wants no relay: set mode to enforce, or to advise with relay.listen for a relay that only counts what it would rewrite")

// New builds the relay. It opens nothing.
func New(o Options) (*Process, error) {
	cfg := &o.Loaded.Config
	if !cfg.RelayRuns() {
		return nil, ErrNoRelay
	}
	p := &Process{opts: o, log: o.Log, view: relaylink.NewView(o.Now)}
	p.cfg.Store(o.Loaded)
	of := settings.Relay(cfg)
	fitDescriptors(&of.Conns, o.Log)
	of.Guide, of.Now, of.Logger = p.view, o.Now, o.Log.Named("relay")
	var err error
	if p.relay, err = amrm.New(of); err != nil {
		return nil, fmt.Errorf("relay: %w", err)
	}
	p.link = relaylink.NewServer(relaylink.ServerOptions{
		Path: cfg.Relay.Socket, View: p.view, Status: p.relay.Describe, Version: o.Version, Logger: o.Log.Named("link"),
	})
	reg := prometheus.NewRegistry()
	_, err = metrics.New(reg, metrics.Options{
		Snapshot: func() *snapshot.Snapshot { return nil }, Policy: func() string { return "" }, Now: o.Now, Version: o.Version, Revision: o.Revision,
		ConfigHash: func() string { return p.cfg.Load().Hash() }, Relay: p.relay.Status, Linked: p.linked,
	})
	p.scrape = metrics.Handler(reg, o.Log)
	return p, err
}

func (p *Process) linked() (linked, wanted bool) {
	linked, _ = p.view.Fresh()
	return linked, true
}

// Open opens the addresses: that of the link first, which says whether another relay runs.
func (p *Process) Open(ctx context.Context) error {
	if err := p.link.Listen(ctx); err != nil {
		return err
	}
	if err := p.relay.Listen(ctx); err != nil {
		return err
	}
	var err error
	if p.web, err = webserver.Listen(ctx, p.cfg.Load().Config.Relay.WebListenAddress); err != nil {
		return err
	}
	p.notify, err = findSupervisor(ctx, p.opts.Now, os.Getenv)
	return err
}

// Run relays until ctx ends or a part fails. Open comes first.
func (p *Process) Run(ctx context.Context) error {
	server := webserver.New(p.handler(), p.opts.WebConfig, p.log)
	var g run.Group
	for _, part := range []func(context.Context) error{p.relay.Run, p.link.Run} {
		running, stop := context.WithCancel(ctx)
		g.Add(func() error { return part(running) }, func(error) { stop() })
	}
	g.Add(func() error { return server.Serve(p.web) }, func(error) { server.Stop(ctx) })
	// Last: the other parts run when the supervisor is told that they do.
	watched, stop := context.WithCancel(ctx)
	g.Add(func() error { return p.notify.run(watched, p.relay.Answers) }, func(error) { stop() })
	s := p.relay.Status()
	for _, l := range s.Listeners {
		p.log.Info("listening for ApplicationMasters", "rm", l.RM, "address", l.Address, "upstream", l.Upstream)
	}
	p.log.Info("relaying", "mode", p.cfg.Load().Config.Mode, "socket", p.cfg.Load().Config.Relay.Socket, "url", "http://"+p.web.Addr().String(), "version", p.opts.Version)
	return g.Run()
}

// health is GET /healthz. It is 200 while the relay passes calls on, be serve linked or not; a relay that hangs does not
// answer.
type health struct {
	Linked      bool `json:"serve_linked"`
	Fresh       bool `json:"view_fresh"` // false: asks go on as they come
	Enforcing   bool `json:"enforcing"`
	Connections int  `json:"connections"`
}

func (p *Process) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", p.scrape)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		s := p.relay.Status()
		h := health{Enforcing: s.Enforcing, Connections: s.Connections}
		h.Linked, h.Fresh = p.view.Fresh()
		w.Header().Set("Content-Type", "application/json")
		if err := p.relay.Answers(); err != nil {
			p.log.Error("the relay is not healthy", "error", err)
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_ = json.NewEncoder(w).Encode(h) // the client may have gone
	})
	return mux
}

// Reload loads the configuration again and applies those settings that may change while the relay runs. If
// loading fails, the current configuration stays.
func (p *Process) Reload(_ context.Context, load func() (*configs.Loaded, error)) {
	next, ok := settings.Next(p.log, p.cfg.Load(), load)
	if !ok {
		return
	}
	p.relay.Apply(settings.RelayRules(&next.Config))
	settings.InForce(p.log, p.cfg.Swap(next), next)
}

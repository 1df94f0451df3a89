// Package amrm is the relay between ApplicationMasters and the
// ResourceManager's scheduler port. It passes Hadoop RPC and SASL on byte for
// byte and rewrites only the ask rows inside allocate calls, as the plan of the
// application says. Whatever it does not understand goes on as it came (I4); it
// sends no call of its own (I8).
package amrm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"heddle/core/asks"
	"heddle/core/model"
	"heddle/yarnproxy/amrm/wire"
)

// Listener is one address that stands for one ResourceManager.
type Listener struct {
	RM       string // the rm-id, "" without high availability
	Address  string // host:port to listen on
	Upstream string // host:port of that ResourceManager's scheduler address
}

// App is what the relay has to know of an application to decide about it.
type App struct {
	ID    model.AppID
	Type  string
	User  model.UserID
	Queue model.QueueID
	Tags  []string
	Pass  model.PassCause // why serve wants nothing of it steered, "" when it may be
}

// Guide tells the relay what the rest of heddle knows. Its methods are called
// on the allocate path: they take microseconds and never block, Decide aside.
// Rows they are given are theirs, and never changed again.
type Guide interface { //nolint:interfacebloat // six questions to one thing, the rest of heddle
	// App describes an application, false when no source has told of it yet.
	App(id model.AppID) (App, bool)
	// Site is the cluster as last published; nil, or fresh false, when it is too old to act on.
	Site() (site *asks.Site, fresh bool)
	// Target is the plan in force of an application's stage.
	Target(app model.AppID, stage model.Stage) (asks.Target, bool)
	// Decide has the policy plan an application now that has just asked for something new, and returns when that is
	// done or ctx ends. What it decided is what Target returns afterwards.
	Decide(ctx context.Context, app model.AppID, asked []model.AskRow)
	// Pending returns the rows the ResourceManager's REST API last showed as outstanding, and when they came; false
	// when it was not asked.
	Pending(app model.AppID) (rows []model.AskRow, at model.Time, ok bool)
	// Observe takes an application's own asks and what was done to them so far, as often as they change. It never blocks.
	Observe(app model.AppID, asked []model.AskRow, done model.Relayed)
}

// StageRule says what the priorities of one type of application mean.
type StageRule struct {
	Type       string // application type, as YARN has it, such as MAPREDUCE
	Priorities []int  // none: every priority
	Local      *bool  // only keys with (true) or without (false) host or rack rows; nil: all
	Stage      model.Stage
}

// Scope says which applications are steered: those that match every list that
// is not empty.
type Scope struct {
	Queues []string // full paths; a parent covers its children
	Users  []string
	Types  []string
	Tags   []string
}

// Options configure a Relay.
type Options struct {
	Listeners   []Listener
	Guide       Guide
	Enforce     bool // false counts what it would rewrite
	Scopes      []Scope
	OptOutTag   string
	Stages      []StageRule // by the first that matches
	Limits      asks.Limits
	DecideIn    time.Duration // how long an allocate call may wait for a first plan (I8); 0: not at all
	Conns       ConnLimits
	DialTimeout time.Duration                                                     // 0: 5 s
	Dial        func(ctx context.Context, network, addr string) (net.Conn, error) // nil: net.Dialer
	Now         func() time.Time                                                  // nil: the system's clock
	Logger      hclog.Logger                                                      // nil: none
}

// times are the relay's patience; tests have less.
type times struct {
	write  time.Duration // for a peer that takes no bytes
	linger time.Duration // for one direction when the other has ended
	drain  time.Duration // for frames under way at the end
	idle   time.Duration // for a connection that is unread from its start and carries nothing
	sweep  time.Duration // from one look for attempts that are gone to the next
}

// Relay is the running relay: New, Listen, Run.
type Relay struct {
	opts      Options
	rules     atomic.Pointer[rules] // in force; those in opts are the first
	log       hclog.Logger
	clock     func() time.Time // for deadlines and spans
	times     times
	counts    *counts
	attempts  *registry
	steering  *steering
	listening atomic.Pointer[[]*listener] // nil before Listen
	conns     conns
	blind     atomic.Int64 // connections that are not looked at
}

// New checks the options. It opens nothing.
func New(o Options) (*Relay, error) {
	if len(o.Listeners) == 0 {
		return nil, errors.New("relay: no address to listen on; name one for each ResourceManager")
	}
	for _, l := range o.Listeners {
		for _, addr := range []string{l.Address, l.Upstream} {
			if _, _, err := net.SplitHostPort(addr); err != nil {
				return nil, fmt.Errorf("relay: address %q of ResourceManager %q is not host:port: %w", addr, l.RM, err)
			}
		}
	}
	if o.Guide == nil {
		return nil, errors.New("relay: Options.Guide is nil")
	}
	clock := systemClock()
	if o.Now == nil {
		o.Now = clock
	}
	if o.Logger == nil {
		o.Logger = hclog.NewNullLogger()
	}
	o.Conns = o.Conns.orDefault()
	o.DialTimeout = cmp.Or(max(o.DialTimeout, 0), 5*time.Second)
	if o.Dial == nil {
		o.Dial = (&net.Dialer{KeepAliveConfig: keepAlive()}).DialContext
	}
	r := &Relay{
		opts: o, log: o.Logger, clock: clock, counts: newCounts(),
		times: times{write: 2 * time.Minute, linger: 10 * time.Second, drain: time.Second, idle: 2 * time.Minute, sweep: time.Minute},
		conns: newConns(o.Conns),
	}
	r.rules.Store(rulesOf(&r.opts))
	r.attempts = &registry{opts: &r.opts, rules: &r.rules, all: map[wire.Attempt]*attempt{}}
	r.steering = &steering{opts: &r.opts, rules: &r.rules, log: r.log, counts: r.counts, attempts: r.attempts}
	return r, nil
}

// now is the time as data.
func (o *Options) now() model.Time { return model.Time(o.Now().UnixMilli()) }

// systemClock is the clock of deadlines and spans, and of callers that bring none.
func systemClock() func() time.Time {
	return time.Now //nolint:forbidigo // the one clock of the package; what ends up in data comes from Options.Now
}

// Status describes the relay, and sums over its attempts. It holds each of them for as long as looking at its keys
// takes, and reads no rows. It is safe for concurrent use.
func (r *Relay) Status() *model.Relay {
	s, _ := r.status()
	return s
}

func (r *Relay) status() (*model.Relay, []*attempt) {
	open, unauthenticated := r.conns.count()
	s := &model.Relay{
		At: r.opts.now(), Enforcing: r.rules.Load().enforce, Counts: r.counts.snapshot(),
		Connections: open, Unauthenticated: unauthenticated, Blind: int(r.blind.Load()), Attempts: []model.RelayAttempt{},
	}
	listening := r.listeners()
	for i, l := range r.opts.Listeners {
		address := l.Address
		if i < len(listening) {
			address = listening[i].Addr().String() // with the port that 0 became
		}
		s.Listeners = append(s.Listeners, model.RelayListener{RM: l.RM, Address: address, Upstream: l.Upstream})
	}
	all := r.attempts.list()
	s.Steering.Attempts, s.Total = len(all), len(all)
	for _, a := range all {
		r.steering.guarded(a, func() { a.asks.Table().Steering(&s.Steering) })
	}
	return s, all
}

// Describe is Status with attempts and their rows: of one application, or of all with "", from an offset on and so many
// at most. It holds one attempt at a time, for as long as copying its rows takes.
func (r *Relay) Describe(app model.AppID, offset, limit int) *model.Relay {
	s, all := r.status()
	if app != "" {
		all = slices.DeleteFunc(all, func(a *attempt) bool { return a.app != app })
	}
	s.Total = len(all)
	from := min(max(offset, 0), len(all))
	for _, a := range all[from:min(from+max(limit, 0), len(all))] {
		s.Attempts = append(s.Attempts, r.describe(a))
	}
	return s
}

func (r *Relay) describe(a *attempt) model.RelayAttempt {
	var d model.RelayAttempt
	r.steering.guarded(a, func() {
		d = model.RelayAttempt{
			App: a.app, Attempt: int(a.id.Attempt), Type: a.about.info.Type, Connected: a.conns > 0,
			LastCall: a.last.at, Response: a.last.answered,
		}
		d.Keys = a.asks.Table().Keys()
	})
	return d
}

package amrm

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"heddle/core/asks"
	"heddle/core/model"
	"heddle/yarnproxy/amrm/wire"
)

const (
	// maxAttempts is how many attempts are remembered; of more, the connections
	// pass as they come.
	maxAttempts = 50_000
	// idleAttempt is how long an attempt without a connection is remembered: a
	// little more than yarn.am.liveness-monitor.expiry-interval-ms, after which
	// the ResourceManager has given it up.
	idleAttempt = 20 * model.Minute
)

// attempt is the state of one application attempt. It outlives connections: an
// ApplicationMaster connects anew after every failure.
type attempt struct {
	id   wire.Attempt
	name string // of id
	app  model.AppID

	mu       sync.Mutex // guards what follows
	asks     *asks.Attempt
	rules    *rules // that asks and intent follow
	intent   asks.Intent
	about    about
	conns    int
	last     exchange
	deciding bool // a Decide has not returned yet
	failures failures
	observed observed
}

// failures are what went wrong with an attempt's calls.
type failures struct {
	faults int  // decisions that failed: one ends steering, two end the table
	logged bool // that something was not understood
}

// about is what the guide last told of an attempt's application.
type about struct {
	info  App
	known bool
}

// exchange is the newest allocate call of an attempt.
type exchange struct {
	at       model.Time // of the last call, or of the last connection
	answered int32      // response id of the last answer
}

// observed is what the guide was told of an attempt's asks.
type observed struct {
	at          model.Time
	outstanding bool
	due         bool // they changed since
}

// registry finds attempts. It is asked when a connection begins and ends, not at calls.
type registry struct {
	opts  *Options
	rules *atomic.Pointer[rules]

	mu  sync.Mutex
	all map[wire.Attempt]*attempt
}

// join returns the attempt for one more connection, nil when there are too many.
func (r *registry) join(id wire.Attempt) *attempt {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.all[id]
	if a == nil {
		if len(r.all) >= maxAttempts {
			r.opts.Logger.Warn("too many application attempts at once: this one's calls go on as they come", "attempt", id.String(), "limit", maxAttempts)
			return nil
		}
		a = r.newAttempt(id)
		r.all[id] = a
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.conns++
	a.last.at = r.opts.now()
	return a
}

func (r *registry) newAttempt(id wire.Attempt) *attempt {
	a := &attempt{id: id, name: id.String(), app: model.AppID(id.AppID()), rules: r.rules.Load()}
	a.asks = asks.NewAttempt(a.rules.limits)
	a.intent = asks.Intent{
		Stage:  func(k asks.Key, local bool) (model.Stage, bool) { return a.rules.stage(a.about.info.Type, k, local) },
		Target: func(stage model.Stage) (asks.Target, bool) { return r.opts.Guide.Target(a.app, stage) },
		Advise: !a.rules.enforce,
	}
	return a
}

// isRegistered reports whether the ResourceManager knows the attempt, as far as the relay has seen.
func (a *attempt) isRegistered() bool {
	state := a.asks.State()
	return state != asks.NotRegistered && state != asks.Finished
}

// leave takes a connection off its attempt.
func (a *attempt) leave(now model.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.conns--
	a.last.at = now
}

// end forgets an attempt that asks no more.
func (r *registry) end(a *attempt) { r.endIf(a, func() bool { return true }) }

// endIf ends an attempt when a condition holds, which is called with the attempt locked.
func (r *registry) endIf(a *attempt, over func() bool) {
	r.mu.Lock() // before a.mu, as in join: it cannot be joined meanwhile
	defer r.mu.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	if !over() {
		return
	}
	if r.all[a.id] == a {
		delete(r.all, a.id)
	}
	a.asks.Finish()
}

// list returns every attempt, by application and attempt.
func (r *registry) list() []*attempt {
	r.mu.Lock()
	list := slices.Collect(maps.Values(r.all))
	r.mu.Unlock()
	slices.SortFunc(list, func(a, b *attempt) int {
		return cmp.Or(cmp.Compare(a.id.Cluster, b.id.Cluster), cmp.Compare(a.id.App, b.id.App), cmp.Compare(a.id.Attempt, b.id.Attempt))
	})
	return list
}

// sweep ends attempts that are gone.
func (r *registry) sweep() {
	now := r.opts.now()
	for _, a := range r.list() {
		r.endIf(a, func() bool { return r.gone(a, now) })
	}
}

// gone reports whether an attempt has no connection, and either was idle for
// long or belongs to an application that was known and is not any more.
func (r *registry) gone(a *attempt, now model.Time) bool {
	if a.conns > 0 {
		return false
	}
	if now.Sub(a.last.at) > idleAttempt {
		return true
	}
	_, known := r.opts.Guide.App(a.app)
	return a.about.known && !known
}

// Package api serves heddle's own REST: what the cluster looks like, where the
// policy wants tasks, and why. openapi.json describes every route.
//
// Reads come from the published snapshot alone, so a slow reader never slows a
// decision. Every answer says which snapshot it is made of and how old that is;
// what rests on decisions is refused while the ResourceManager's state is older
// than Options.MaxAge, since a decision on such state is not made.
package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/hashicorp/go-hclog"

	"heddle/core/model"
	"heddle/core/state/snapshot"
)

// ErrNoPolicy is returned by an Advisor that has no policy to ask: heddle only
// observes.
var ErrNoPolicy = errors.New("no policy decides: heddle runs in observe mode")

// BlockFinder looks up where the blocks of a path lie. Errors that wrap
// fs.ErrNotExist, fs.ErrPermission or fs.ErrInvalid are answered 404, 403 and
// 400; any other is answered 502.
type BlockFinder interface {
	Blocks(ctx context.Context, path string) (model.BlocksFact, error)
}

// Advisor asks the policy where an application that does not exist would go.
// It must keep nothing of the request and give up when ctx ends.
type Advisor interface {
	Advise(ctx context.Context, r Request) (Advice, error)
}

// Request is a POST /v1/placements in the cluster's terms: an application and
// the facts that would be observed of it. It is made for state.Cluster.Suppose.
// Racks and hosts in it are known to the snapshot it was checked against.
type Request struct {
	App    model.App
	Facts  []model.Fact
	Stages []model.Stage // those that were asked about
}

// Advice is what the policy would do: at most one verified plan per stage. The
// receiver owns it.
type Advice struct {
	Policy string
	Plans  []model.Plan
}

// PolicyInfo describes one policy of the registry.
type PolicyInfo struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
	Paper   string `json:"paper"`
	// Live is what its plans do to asks in mode enforce, at the default parameters; none if it ranks jobs only.
	Live   []string `json:"live"`
	Active bool     `json:"active"` // it is the one that decides
	Params any      `json:"params"` // those in force, or the defaults of a policy that is not active
}

// Options configure the API. Snapshot, Now and Logger are needed; a limit of 0
// takes its default.
type Options struct {
	Snapshot    func() *snapshot.Snapshot // the newest published snapshot, nil before the first
	Now         func() time.Time          // the clock of the observations
	MaxAge      time.Duration             // of the ResourceManager's state; default 30 s
	MaxBody     int64                     // bytes of a request's body; default 1 MiB
	Timeout     time.Duration             // of a request, from its first byte to the answer's last; default 10 s
	Concurrency int                       // requests under /v1 served at once; default 64
	Blocks      BlockFinder               // nil: HDFS is not read
	Advisor     Advisor                   // nil: no policy decides
	Policies    func() []PolicyInfo       // every policy, the active one marked
	// Relay is what the relay does now, never changed afterwards, with the attempts of an application, of all with "", from
	// an offset on and so many at most; nil: there is to be none.
	Relay   func(ctx context.Context, app model.AppID, offset, limit int) (*model.Relay, error)
	Version string
	Logger  hclog.Logger
	Metrics http.Handler // served at /metrics
}

func (o *Options) setDefaults() {
	if o.MaxAge <= 0 {
		o.MaxAge = 30 * time.Second
	}
	if o.MaxBody <= 0 {
		o.MaxBody = 1 << 20
	}
	if o.Timeout <= 0 {
		o.Timeout = 10 * time.Second
	}
	if o.Concurrency <= 0 {
		o.Concurrency = 64
	}
	if o.Policies == nil {
		o.Policies = func() []PolicyInfo { return nil }
	}
	if o.Metrics == nil {
		o.Metrics = http.NotFoundHandler()
	}
}

// New builds the handler of every route. It starts no goroutine.
func New(opts Options) http.Handler { return newServer(opts) }

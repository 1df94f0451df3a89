package service

import (
	"context"
	"errors"
	"net/http"

	"heddle/cmd/heddle/internal/loop"
	"heddle/cmd/heddle/internal/policylist"
	"heddle/configs"
	"heddle/yarnproxy/api"
)

// handler builds the REST API.
func (s *Service) handler() http.Handler {
	cfg := &s.cfg.Load().Config
	o := api.Options{
		Snapshot: s.Snapshot, Now: s.opts.Now, MaxAge: cfg.State.MaxAge.Std(), MaxBody: int64(cfg.Web.MaxBody),
		Timeout: cfg.Web.Timeout.Std(), Concurrency: cfg.Web.Concurrency, Policies: s.policyInfos,
		Version: s.opts.Version, Logger: s.log, Metrics: s.scrape,
	}
	if s.link != nil {
		o.Relay = s.relayStatus
	}
	if cfg.Mode != configs.ModeObserve {
		o.Advisor = advisor{s.loop}
	}
	if s.sources.Blocks != nil {
		o.Blocks = s.sources.Blocks
	}
	return api.New(o)
}

// policyInfos lists every policy and marks the active one.
func (s *Service) policyInfos() []api.PolicyInfo {
	active := s.Policy()
	list, err := policylist.All()
	if err != nil {
		s.log.Error("policies not listed", "error", err)
	}
	out := make([]api.PolicyInfo, 0, len(list))
	for _, p := range list {
		info := api.PolicyInfo{Name: p.Name, Summary: p.Summary, Paper: p.Paper, Live: p.Live, Params: p.Params, Active: p.Name == active}
		if info.Active {
			info.Params = s.cfg.Load().Config.Policy.Params
		}
		out = append(out, info)
	}
	return out
}

// advisor answers POST /v1/placements.
type advisor struct{ loop *loop.Loop }

// Advise implements api.Advisor.
func (a advisor) Advise(ctx context.Context, r api.Request) (api.Advice, error) {
	policy, plans, err := a.loop.Suppose(ctx, r.App, r.Facts)
	if errors.Is(err, loop.ErrNoPolicy) {
		err = api.ErrNoPolicy
	}
	return api.Advice{Policy: policy, Plans: plans}, err
}

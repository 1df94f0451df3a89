package service

import (
	"context"
	"time"

	"heddle/cmd/heddle/internal/loop"
	"heddle/cmd/heddle/internal/settings"
	"heddle/configs"
	"heddle/core/model"
	"heddle/core/state"
)

// Reload loads the configuration again and applies those settings that may change
// while the service runs. If loading fails, the current configuration stays.
func (s *Service) Reload(ctx context.Context, load func() (*configs.Loaded, error)) {
	next, ok := settings.Next(s.log, s.cfg.Load(), load)
	if !ok {
		return
	}
	cfg := &next.Config
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	policies := func(cluster *state.Cluster) (loop.Policies, error) {
		of := loop.Policies{ShadowTime: cfg.Shadow.LoopTime, Guard: settings.Guard(cfg)}
		var err error
		if cfg.Mode != configs.ModeObserve {
			of.Engine, err = settings.Engine(cfg, cluster)
		}
		if err == nil {
			of.Shadows, err = settings.Shadows(cfg, cluster)
		}
		return of, err
	}
	to := model.PolicyFact{Saturation: model.Saturation(settings.Saturation(cfg))}
	if cfg.Mode != configs.ModeObserve {
		to.Policy, to.Params = cfg.Policy.Name, string(cfg.Policy.Params.JSON())
	}
	if err := s.loop.Reconfigure(ctx, to, policies); err != nil {
		s.log.Error("configuration not reloaded; the one in force stays", "error", err)
		return
	}
	settings.InForce(s.log, s.cfg.Swap(next), next)
	s.warnIfNothingIsSteered()
}

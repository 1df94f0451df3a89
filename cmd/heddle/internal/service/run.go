package service

import (
	"context"
	"errors"
	"net"
	"sync"

	"github.com/oklog/run"

	"heddle/cmd/heddle/internal/historyfile"
	"heddle/cmd/heddle/internal/loop"
	"heddle/cmd/heddle/internal/policylist"
	"heddle/cmd/heddle/internal/webserver"
	"heddle/configs"
	"heddle/core/model"
)

// Open opens the address of REST.
func (s *Service) Open(ctx context.Context) (net.Listener, error) {
	return webserver.Listen(ctx, s.cfg.Load().Config.Web.ListenAddress)
}

// Run serves until ctx ends or a part fails. The sources stop first and the loop last, so
// that queued observations are still applied and recorded.
func (s *Service) Run(ctx context.Context, l net.Listener, rec loop.Recorder) error {
	server := webserver.New(s.handler(), s.opts.WebConfig, s.log)
	var g run.Group
	g.Add(func() error {
		s.log.Info("serving", "mode", s.cfg.Load().Config.Mode, "policy", s.Policy(), "url", "http://"+l.Addr().String(), "version", s.opts.Version)
		s.warnIfNothingIsSteered()
		return server.Serve(l)
	}, func(error) { server.Stop(ctx) })
	observe, stop := context.WithCancel(ctx)
	g.Add(func() error { return s.Observe(observe, rec) }, func(error) { stop() })
	if s.link != nil {
		link, stop := context.WithCancel(ctx)
		g.Add(func() error { return s.link.Run(link) }, func(error) { stop() })
	}
	return g.Run()
}

// warnIfNothingIsSteered logs that the policy leaves every ask as it is where mode enforce
// has the relay rewrite them.
func (s *Service) warnIfNothingIsSteered() {
	active := s.Policy()
	list, err := policylist.All()
	if err != nil || s.cfg.Load().Config.Mode != configs.ModeEnforce {
		return
	}
	for i := range list {
		if p := &list[i]; p.Name == active && len(p.Live) == 0 {
			s.log.Warn("mode enforce steers nothing: the policy ranks jobs only, and no ask carries a rank", "policy", active,
				"do", "choose a policy for which 'heddle policies' lists something after live, or mode advise")
		}
	}
}

// Observe runs the sources and the loop until ctx ends or a source fails, records
// to rec, and keeps the history of jobs.
func (s *Service) Observe(ctx context.Context, rec loop.Recorder) error {
	loopCtx, stopLoop := context.WithCancel(context.WithoutCancel(ctx))
	defer stopLoop()
	var parts sync.WaitGroup
	parts.Go(func() { s.loop.Run(loopCtx, rec) })
	parts.Go(func() { s.history.Keep(loopCtx, historyfile.SaveEvery, s.loop.History) })
	if len(s.past) > 0 { // the first observation, so that a recording has it too
		s.loop.Observations() <- model.Observation{Source: model.SourceHistory, At: s.now(), Fact: model.HistoryFact{Jobs: s.past}}
		s.past = nil
	}
	err := s.sources.Run(ctx, s.loop.Observations())
	stopLoop()
	parts.Wait()
	s.history.Save(s.loop.FinalHistory())
	if ctx.Err() != nil || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

package service

import (
	"context"
	"time"

	"heddle/configs"
	"heddle/core/model"
	"heddle/core/state/snapshot"
	"heddle/yarnproxy/relaylink"
)

const (
	// sourcesReadLimit bounds the wait for every source before the relay is sent a view.
	sourcesReadLimit = 20 * time.Second
	// statusWithin bounds the wait for the relay's answer to a question.
	statusWithin = 2 * time.Second
)

// wantsRelay reports whether a relay is to be linked.
func (s *Service) wantsRelay(cfg *configs.Config) bool {
	return cfg.RelayRuns() && s.opts.Replayed == nil
}

// newLink builds the link to the relay, where the configuration wants one.
func (s *Service) newLink(cfg *configs.Config) error {
	if !s.wantsRelay(cfg) {
		return nil
	}
	s.link = relaylink.NewClient(relaylink.ClientOptions{
		Path: cfg.Relay.Socket, Loop: s.loop, MaxAge: cfg.State.MaxAge.Model(), Ready: s.plansAreComplete(),
		Version: s.opts.Version, Logger: s.log.Named("link"),
	})
	s.loop.Subscribe(s.link.Update)
	return nil
}

// plansAreComplete returns a function that reports whether the plans of a snapshot rest on every source that is
// configured. The relay would take back what it steered by the plans of the serve before if it were shown less.
func (s *Service) plansAreComplete() func(*snapshot.Snapshot) bool {
	var known uint64 // the first snapshot with every source; plans made from it are in the one after next
	limit := s.opts.Now().Add(sourcesReadLimit)
	return func(snap *snapshot.Snapshot) bool {
		if known == 0 && s.sourcesRead(snap) {
			known = snap.Seq
		}
		if known > 0 && snap.Seq >= known+2 {
			return true
		}
		if s.opts.Now().After(limit) {
			s.log.Warn("the relay is sent a view although not every source has answered: plans lack the data of those that have not")
			return true
		}
		return false
	}
}

// sourcesRead reports whether every source that is configured was read before a snapshot, and the ResourceManager
// lately.
func (s *Service) sourcesRead(snap *snapshot.Snapshot) bool {
	read := map[model.Source]bool{}
	for i := range snap.Sources {
		src := &snap.Sources[i]
		read[src.Source] = src.Source != model.SourceRM ||
			src.LastOK > 0 && s.now() <= src.LastOK.Add(s.cfg.Load().Config.State.MaxAge.Model())
	}
	for _, name := range s.sources.Names() {
		if !read[name] {
			return false
		}
	}
	return true
}

// relayStatus returns what the relay does now, with the attempts of an application, of all with "", from an offset on;
// relaylink.ErrNotLinked and others if it does not answer.
func (s *Service) relayStatus(ctx context.Context, app model.AppID, offset, limit int) (*model.Relay, error) {
	ctx, cancel := context.WithTimeout(ctx, statusWithin)
	defer cancel()
	return s.link.Status(ctx, app, offset, limit)
}

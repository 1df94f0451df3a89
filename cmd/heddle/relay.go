package main

import (
	"context"
	"fmt"
	"net"
	"time"

	"heddle/configs"
	"heddle/core/model"
	"heddle/yarnproxy/amrm"
	"heddle/yarnproxy/amrm/asks"
)

// newRelay builds the relay of a configuration that wants one. It opens nothing.
func (s *service) newRelay(cfg *configs.Config) error {
	s.guide = newGuide(s.loop, s.now, cfg.State.MaxAge.Model())
	s.loop.published = s.guide.publish
	o := relayRules(cfg)
	o.Guide, o.Now, o.Logger = s.guide, s.now, s.log.Named("relay")
	o.HandoverSocket = cfg.Relay.HandoverSocket
	o.JournalDir, o.MaxConns, o.DialTimeout = cfg.Relay.Journal, cfg.Relay.MaxConnections, cfg.Relay.DialTimeout.Std()
	for _, l := range cfg.Relay.Listeners {
		o.Listeners = append(o.Listeners, amrm.Listener{RM: l.RM, Address: l.Address, Upstream: l.Upstream})
	}
	relay, err := amrm.New(o)
	if err != nil {
		return fmt.Errorf("relay: %w", err)
	}
	s.relay = relay
	return nil
}

// relayRules is what of the relay's options may change while it runs.
func relayRules(cfg *configs.Config) amrm.Options {
	l := &cfg.Relay.Limits
	o := amrm.Options{
		Enforce: cfg.Mode == configs.ModeEnforce, OptOutTag: cfg.Relay.OptOutTag, DecideIn: l.DecideIn.Std(),
		Limits: asks.Limits{
			PinDeadline: l.PinDeadline.Model(), TrimDeadline: l.TrimDeadline.Model(), HoldMax: l.HoldMax.Model(),
			WidenAfter: l.WidenAfter.Model(), FullAfter: l.FullAfter.Model(), Spread: asks.Spread(l.Spread),
			MaxKeys: l.MaxKeys, MaxRows: l.MaxRows,
		},
	}
	for _, s := range cfg.Relay.Scopes {
		o.Scopes = append(o.Scopes, amrm.Scope{Queues: s.Queues, Users: s.Users, Types: s.Types, Tags: s.Tags})
	}
	for i := range cfg.Relay.Stages {
		r := &cfg.Relay.Stages[i]
		o.Stages = append(o.Stages, amrm.StageRule{Type: r.Type, Priorities: r.Priorities, Local: r.Local(), Stage: r.Stage})
	}
	return o
}

const (
	// knowsWithin is how long a heddle that takes over waits until it knows the cluster.
	knowsWithin = 20 * time.Second
	// freeWithin is how long the heddle before may take to end.
	freeWithin = 10 * time.Second
	lookEvery  = 50 * time.Millisecond
)

// takeOver takes the relay over from the heddle that runs, once this one knows
// enough to go on as that one would: what it steers would go back to the
// applications' own asks otherwise. That one loses nothing while it waits.
func (s *service) takeOver(ctx context.Context) error {
	s.log.Info("another heddle runs: taking its relay over when the cluster is known here")
	var known uint64 // the snapshot that had everything; the one after next has plans made of it
	informed := func() bool {
		seq, all := s.informed()
		if all && known == 0 {
			known = seq
		}
		return known > 0 && seq >= known+2
	}
	if !within(ctx, knowsWithin, informed) && ctx.Err() == nil {
		s.log.Warn("taking over although not every source has answered: what they would say is missing in plans until they do")
	}
	if ctx.Err() != nil {
		return nil //nolint:nilerr // told to stop, before anything began
	}
	return s.relay.Listen(ctx)
}

// informed returns the number of the newest snapshot, and whether every source
// that is configured has been read before it.
func (s *service) informed() (seq uint64, all bool) {
	snap := s.loop.Snapshot()
	if snap == nil {
		return 0, false
	}
	if _, fresh := s.guide.Site(); !fresh {
		return snap.Seq, false
	}
	read := map[model.Source]bool{}
	for i := range snap.Sources {
		read[snap.Sources[i].Source] = true
	}
	for _, name := range s.sources.names() {
		if !read[name] {
			return snap.Seq, false
		}
	}
	return snap.Seq, true
}

// listenAfter opens the service's address when the heddle before has let go of
// it, unless it is open already. It is nil when ctx ends before that.
func (s *service) listenAfter(ctx context.Context, l net.Listener, took <-chan struct{}) net.Listener {
	if l != nil {
		return l
	}
	select {
	case <-took:
	case <-ctx.Done():
		return nil
	}
	var err error
	try := func() bool {
		l, err = s.listen(ctx)
		return err == nil
	}
	for !within(ctx, freeWithin, try) {
		if ctx.Err() != nil {
			return nil
		}
		s.log.Error("REST and metrics are not served, although the relay is; still trying", "error", err)
	}
	return l
}

// within waits until something holds, looking every so often, and reports
// whether it did in time.
func within(ctx context.Context, limit time.Duration, holds func() bool) bool {
	end := time.NewTimer(limit)
	defer end.Stop()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-end.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
	return true
}

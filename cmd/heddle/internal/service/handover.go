package service

import (
	"context"
	"net"
	"time"

	"heddle/core/model"
)

const (
	// sourcesReadLimit bounds the wait for every source before a takeover.
	sourcesReadLimit = 20 * time.Second
	// addressFreeLimit bounds the wait for the previous heddle to release its address.
	addressFreeLimit = 10 * time.Second
	checkInterval    = 50 * time.Millisecond
)

// takeOver takes the relay over from the running heddle. It first waits until every
// source has been read, since without plans the relay would revert asks that are
// steered; the running heddle serves meanwhile.
func (s *Service) takeOver(ctx context.Context) error {
	s.log.Info("another heddle runs: taking its relay over when the cluster is known here")
	var known uint64 // the first snapshot with every source; plans made from it are in the one after next
	informed := func() bool {
		seq, all := s.sourcesRead()
		if all && known == 0 {
			known = seq
		}
		return known > 0 && seq >= known+2
	}
	if !waitUntil(ctx, sourcesReadLimit, informed) && ctx.Err() == nil {
		s.log.Warn("taking over although not every source has answered: plans lack their data until they do")
	}
	if ctx.Err() != nil {
		return nil //nolint:nilerr // stopped before the takeover began
	}
	return s.relay.Listen(ctx)
}

// sourcesRead returns the number of the newest snapshot, and whether every source
// that is configured has been read before it.
func (s *Service) sourcesRead() (seq uint64, all bool) {
	snap := s.Snapshot()
	if snap == nil {
		return 0, false
	}
	if _, fresh := s.view.Site(); !fresh {
		return snap.Seq, false
	}
	read := map[model.Source]bool{}
	for i := range snap.Sources {
		read[snap.Sources[i].Source] = true
	}
	for _, name := range s.sources.Names() {
		if !read[name] {
			return snap.Seq, false
		}
	}
	return snap.Seq, true
}

// listenAfter returns l, or opens the service's address once the previous heddle has
// released it. It returns nil when ctx ends before that.
func (s *Service) listenAfter(ctx context.Context, l net.Listener, tookOver <-chan struct{}) net.Listener {
	if l != nil {
		return l
	}
	select {
	case <-tookOver:
	case <-ctx.Done():
		return nil
	}
	var err error
	try := func() bool {
		l, err = s.listen(ctx)
		return err == nil
	}
	for !waitUntil(ctx, addressFreeLimit, try) {
		if ctx.Err() != nil {
			return nil
		}
		s.log.Error("REST and metrics are not served, although the relay is; still trying", "error", err)
	}
	return l
}

// waitUntil checks a condition at intervals, and reports whether it held within limit.
func waitUntil(ctx context.Context, limit time.Duration, holds func() bool) bool {
	end := time.NewTimer(limit)
	defer end.Stop()
	tick := time.NewTicker(checkInterval)
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

package mapreduce

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"heddle/core/model"
	"heddle/yarnproxy/rest"
)

// history is the loop over the jobs that ended. Its fields belong to its
// goroutine.
type history struct {
	*Poller
	queue    []*finishing // oldest first
	probed   time.Time    // when the server last had to answer
	asked    bool         // the server was asked once
	back     backoff      // of the server itself
	jitter   *rand.Rand
	reporter reporter
}

// finishing is a job that ended and is being read from the JobHistory server.
type finishing struct {
	*job
	until time.Time // given up after; zero when the job is read and its details have not had a turn
	read  bool      // job object, tasks and counters are read: details are left
}

func newHistory(p *Poller) *history {
	return &history{Poller: p, jitter: p.jitter(2), reporter: reporter{log: p.cfg.Logger}}
}

func (h *history) run(ctx context.Context, out chan<- model.Observation) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case j := <-h.ended:
			h.add(j)
			continue
		case <-timer.C:
		}
		h.round(ctx, out)
		timer.Reset(h.cfg.Interval)
	}
}

// add takes a job that ended. One that ended before, and ran again in the eyes
// of the ResourceManager, is replaced.
func (h *history) add(j *job) {
	j.back, j.err = backoff{}, nil
	f := &finishing{job: j, until: h.cfg.Now().Add(h.cfg.HistoryWait)}
	if i := slices.IndexFunc(h.queue, func(o *finishing) bool { return o.app == j.app }); i >= 0 {
		h.queue[i] = f
		return
	}
	if len(h.queue) >= h.cfg.MaxJobs {
		h.cfg.Full(FullHistory)
		h.cfg.Logger.Warn("too many jobs wait for the JobHistory server: the oldest is given up", "app_id", h.queue[0].app)
		h.queue = slices.Delete(h.queue, 0, 1)
	}
	h.queue = append(h.queue, f)
}

// round reads every job that is due: first what there is of each, then the
// details of the oldest that has any left. The server keeps only a few parsed
// jobs (mapreduce.jobhistory.loadedjobs.cache.size), so details are read job
// after job.
func (h *history) round(ctx context.Context, out chan<- model.Observation) {
	s := newSession(&h.cfg, model.SourceHistory, h.cfg.History, out)
	s.base = h.cfg.HistoryBase
	if !h.back.due(s.start) {
		return
	}
	tried := h.essentials(ctx, s)
	tried = h.details(ctx, s) || tried
	if !tried {
		if h.asked && s.start.Sub(h.probed) < h.cfg.HistoryProbe {
			return
		}
		h.probe(ctx, s)
	}
	if ctx.Err() != nil {
		return // a poll that was broken off says nothing about the source
	}
	h.asked, h.probed = true, s.start
	if s.aborted {
		h.back.fail(s.start, h.cfg.Interval, h.jitter)
	} else {
		h.back = backoff{}
	}
	fact := s.fact()
	h.reporter.report(s.source, fact)
	s.emit(ctx, fact)
}

// probe asks for a sign of life.
func (h *history) probe(ctx context.Context, s *session) {
	_, err := h.cfg.History.Get(ctx, s.base+"/ws/v1/history/info", "application/json")
	switch {
	case err == nil:
		s.answer()
	case errors.Is(err, rest.ErrBudget):
		s.spent()
	default:
		s.fail(err)
		s.abort()
	}
}

// essentials reads job object, configuration, tasks and counters of the jobs
// that are due. It reports whether there was one.
func (h *history) essentials(ctx context.Context, s *session) bool {
	tried := false
	for _, f := range slices.Clone(h.queue) {
		if f.read || !f.back.due(s.start) {
			continue
		}
		if s.over(h.cfg.RoundTimeout) {
			break
		}
		tried = true
		h.settle(s, f, h.essential(ctx, s, f))
	}
	return tried
}

func (h *history) essential(ctx context.Context, s *session, f *finishing) error {
	f.polled++
	if err := s.readJob(ctx, f.job); err != nil {
		return err
	}
	if err := s.readConf(ctx, f.job); err != nil {
		return err
	}
	if err := s.readTasks(ctx, f.job); err != nil {
		return err
	}
	return s.readCounters(ctx, f.job)
}

// settle decides what an answer means for the job's next round.
func (h *history) settle(s *session, f *finishing, err error) {
	if err == nil {
		s.answer()
		f.read, f.until, f.back, f.err = true, time.Time{}, backoff{}, nil
		return
	}
	if errors.Is(err, rest.ErrBudget) {
		s.spent()
		return
	}
	if notFound(err) {
		s.answer() // the server works, the job is not there yet
	} else {
		s.fail(err)
	}
	if serviceDown(err) {
		s.abort()
	}
	f.back.fail(s.start, h.cfg.Interval, h.jitter)
	f.err = err
	if s.start.After(f.until) {
		h.drop(f)
		h.cfg.Logger.Warn("job did not appear in the JobHistory server, giving up", "app_id", f.app, "after", h.cfg.HistoryWait, "error", err)
	}
}

// details reads the details that are left of the jobs that were read, the
// oldest first, and closes those that have none. It reports whether there was
// such a job.
func (h *history) details(ctx context.Context, s *session) bool {
	tried := false
	for _, f := range slices.Clone(h.queue) {
		if !f.read {
			continue
		}
		if tried && s.over(h.cfg.Interval) || ctx.Err() != nil {
			break
		}
		tried = true
		left := h.detailsOf(ctx, s, f)
		s.sendTasks(ctx, f.job)
		switch {
		case left == 0:
		case s.start.After(f.until):
			h.cfg.Logger.Warn("details of an ended job are left unread", "app_id", f.app, "after", h.cfg.HistoryWait, "left", left)
		default:
			continue
		}
		f.fact.Done = true
		s.emit(ctx, f.fact)
		h.drop(f)
	}
	return tried
}

// detailsOf reads details of one job and returns how many are left.
func (h *history) detailsOf(ctx context.Context, s *session, f *finishing) int {
	if f.until.IsZero() {
		f.until = s.start.Add(h.cfg.HistoryWait)
	}
	plan := f.wanted(h.cfg.RefreshEvery, h.cfg.MaxDetails, true)
	for _, d := range plan {
		if ctx.Err() != nil || s.over(h.cfg.Interval) {
			break
		}
		err := s.readDetail(ctx, f.job, d)
		switch {
		case err == nil:
			s.answer()
		case errors.Is(err, rest.ErrBudget):
			s.spent()
		default:
			s.fail(fmt.Errorf("details of %s: %w", f.id, err))
			s.abort()
		}
	}
	return len(f.wanted(h.cfg.RefreshEvery, 1, true))
}

func (h *history) drop(f *finishing) {
	h.queue = slices.DeleteFunc(h.queue, func(o *finishing) bool { return o == f })
}

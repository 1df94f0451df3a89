package mapreduce

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"heddle/core/model"
	"heddle/yarnproxy/poll"
	"heddle/yarnproxy/rest"
)

// history is the loop over the jobs that ended. Its fields belong to its
// goroutine.
type history struct {
	*Poller
	runner *poll.Runner
	queue  []*finishing // oldest first
	probed time.Time    // when the server last had to answer
	asked  bool         // the server was asked once
}

// finishing is a job that ended and is being read from the JobHistory server.
type finishing struct {
	*job
	until time.Time // given up after; zero when the job is read and its details have not had a turn
	read  bool      // job object, tasks and counters are read: details are left
}

func newHistory(p *Poller) *history {
	h := &history{Poller: p}
	h.runner = poll.New(poll.Config{
		Source: model.SourceHistory, Service: "JobHistory server",
		Interval: p.cfg.Interval, MinPause: p.cfg.Interval, MaxBackoff: maxBackoff,
		Cost: p.cfg.History.Usage, Now: p.cfg.Now, Log: p.cfg.Logger,
	}, h.poll)
	return h
}

// add takes a job that ended. One that ended before, and ran again in the eyes
// of the ResourceManager, is replaced.
func (h *history) add(j *job) {
	j.backoff.Reset()
	j.err = nil
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

// poll reads every job that is due: first what there is of each, then the
// details of the oldest that has any left. The server keeps only a few parsed
// jobs (mapreduce.jobhistory.loadedjobs.cache.size), so details are read job
// after job.
func (h *history) poll(ctx context.Context, current *poll.Round) poll.Outcome {
	for len(h.ended) > 0 { // this loop alone receives
		h.add(<-h.ended)
	}
	s := h.newSession(model.SourceHistory, h.cfg.History, h.cfg.HistoryBase, current)
	tried := h.essentials(ctx, s)
	tried = h.details(ctx, s) || tried
	if !tried {
		if h.asked && s.Start.Sub(h.probed) < h.cfg.HistoryProbe {
			return poll.Outcome{Idle: true}
		}
		h.probe(ctx, s)
	}
	if ctx.Err() == nil {
		h.asked, h.probed = true, s.Start
	}
	return s.outcome()
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
		if f.read || !f.backoff.Due(s.Start) {
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
		f.backoff.Reset()
		f.read, f.until, f.err = true, time.Time{}, nil
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
	f.backoff.Fail(s.Start, h.cfg.Interval, maxBackoff)
	f.err = err
	if s.Start.After(f.until) {
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
		case s.Start.After(f.until):
			h.cfg.Logger.Warn("details of an ended job are left unread", "app_id", f.app, "after", h.cfg.HistoryWait, "left", left)
		default:
			continue
		}
		f.fact.Done = true
		s.Send(ctx, f.fact)
		h.drop(f)
	}
	return tried
}

// detailsOf reads details of one job and returns how many are left.
func (h *history) detailsOf(ctx context.Context, s *session, f *finishing) int {
	if f.until.IsZero() {
		f.until = s.Start.Add(h.cfg.HistoryWait)
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

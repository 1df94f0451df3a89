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
	runner    *poll.Runner
	queue     []*endedJob // oldest first
	askedAt   time.Time   // when the server last had to answer
	everAsked bool        // the server was asked once
}

// endedJob is a job that ended and is being read from the JobHistory server.
type endedJob struct {
	*job
	deadline       time.Time // given up after; zero between the read of the essentials and the first read of details
	essentialsRead bool      // job object, tasks and counters are read: details are left
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

// add queues a job that ended. A job that is queued already, and ran again as seen by
// the ResourceManager, is replaced.
func (h *history) add(j *job) {
	j.backoff.Reset()
	j.err = nil
	f := &endedJob{job: j, deadline: h.cfg.Now().Add(h.cfg.HistoryWait)}
	if i := slices.IndexFunc(h.queue, func(o *endedJob) bool { return o.app == j.app }); i >= 0 {
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

// poll reads the essentials of every job that is due, and then details, those of the
// oldest job first. The server caches only a few parsed jobs
// (mapreduce.jobhistory.loadedjobs.cache.size), so details are read job after job.
func (h *history) poll(ctx context.Context, current *poll.Round) poll.Outcome {
	for len(h.ended) > 0 { // this loop alone receives
		h.add(<-h.ended)
	}
	s := h.newSession(model.SourceHistory, h.cfg.History, h.cfg.HistoryBase, current)
	tried := h.readEssentials(ctx, s)
	tried = h.readDetails(ctx, s) || tried
	if !tried {
		if h.everAsked && s.Start.Sub(h.askedAt) < h.cfg.HistoryProbe {
			return poll.Outcome{Idle: true}
		}
		h.probe(ctx, s)
	}
	if ctx.Err() == nil {
		h.everAsked, h.askedAt = true, s.Start
	}
	return s.outcome()
}

// probe reads the server's info, only to see whether it answers.
func (h *history) probe(ctx context.Context, s *session) {
	_, err := h.cfg.History.Get(ctx, s.base+"/ws/v1/history/info", "application/json")
	switch {
	case err == nil:
		s.countAnswer()
	case errors.Is(err, rest.ErrBudget):
		s.stopForBudget()
	default:
		s.recordFailure(err)
		s.abort()
	}
}

// readEssentials reads job object, configuration, tasks and counters of the jobs
// that are due. It reports whether there was one.
func (h *history) readEssentials(ctx context.Context, s *session) bool {
	tried := false
	for _, f := range slices.Clone(h.queue) {
		if f.essentialsRead || !f.backoff.Due(s.Start) {
			continue
		}
		if s.isOver(h.cfg.RoundTimeout) {
			break
		}
		tried = true
		h.recordResult(s, f, h.readJobEssentials(ctx, s, f))
	}
	return tried
}

func (h *history) readJobEssentials(ctx context.Context, s *session, f *endedJob) error {
	f.polls++
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

// recordResult updates a job and the round by how the reads of its essentials
// ended.
func (h *history) recordResult(s *session, f *endedJob, err error) {
	if err == nil {
		s.countAnswer()
		f.backoff.Reset()
		f.essentialsRead, f.deadline, f.err = true, time.Time{}, nil
		return
	}
	if errors.Is(err, rest.ErrBudget) {
		s.stopForBudget()
		return
	}
	if isNotFound(err) {
		s.countAnswer() // the server works, the job is not there yet
	} else {
		s.recordFailure(err)
	}
	if isServiceDown(err) {
		s.abort()
	}
	f.backoff.Fail(s.Start, h.cfg.Interval, maxBackoff)
	f.err = err
	if s.Start.After(f.deadline) {
		h.removeJob(f)
		h.cfg.Logger.Warn("job did not appear in the JobHistory server, giving up", "app_id", f.app, "after", h.cfg.HistoryWait, "error", err)
	}
}

// readDetails reads the details that are left of the jobs that were read, the
// oldest first, and closes those that have none. It reports whether there was
// such a job.
func (h *history) readDetails(ctx context.Context, s *session) bool {
	tried := false
	for _, f := range slices.Clone(h.queue) {
		if !f.essentialsRead {
			continue
		}
		if tried && s.isOver(h.cfg.Interval) || ctx.Err() != nil {
			break
		}
		tried = true
		left := h.readJobDetails(ctx, s, f)
		s.sendTasks(ctx, f.job)
		switch {
		case left == 0:
		case s.Start.After(f.deadline):
			h.cfg.Logger.Warn("details of an ended job are left unread", "app_id", f.app, "after", h.cfg.HistoryWait, "left", left)
		default:
			continue
		}
		f.fact.Done = true
		s.Send(ctx, f.fact)
		h.removeJob(f)
	}
	return tried
}

// readJobDetails reads details of one job and returns how many are left.
func (h *history) readJobDetails(ctx context.Context, s *session, f *endedJob) int {
	if f.deadline.IsZero() {
		f.deadline = s.Start.Add(h.cfg.HistoryWait)
	}
	plan := f.missingDetails(h.cfg.RefreshEvery, h.cfg.MaxDetails, true)
	for _, d := range plan {
		if ctx.Err() != nil || s.isOver(h.cfg.Interval) {
			break
		}
		err := s.readDetail(ctx, f.job, d)
		switch {
		case err == nil:
			s.countAnswer()
		case errors.Is(err, rest.ErrBudget):
			s.stopForBudget()
		default:
			s.recordFailure(fmt.Errorf("details of %s: %w", f.id, err))
			s.abort()
		}
	}
	return len(f.missingDetails(h.cfg.RefreshEvery, 1, true))
}

func (h *history) removeJob(f *endedJob) {
	h.queue = slices.DeleteFunc(h.queue, func(o *endedJob) bool { return o == f })
}

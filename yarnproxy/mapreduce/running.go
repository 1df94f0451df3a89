package mapreduce

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"heddle/core/model"
	"heddle/yarnproxy/poll"
	"heddle/yarnproxy/rest"
)

const (
	// absentRounds is for how many rounds in a row the ResourceManager must
	// not list an application before it counts as ended: one list may be short.
	absentRounds = 3
	// notFoundLimit is how many answers 404 in a row mean that an
	// ApplicationMaster has no REST interface (MAPREDUCE-7530).
	notFoundLimit = 3
	// failureRounds is how much longer than others a job waits that failed,
	// where not all can be asked in a round. It exceeds the longest back-off.
	failureRounds = 32
)

// running is the loop over the jobs that run. Its fields belong to its
// goroutine.
type running struct {
	*Poller
	runner    *poll.Runner
	jobs      map[model.AppID]*job
	endedJobs map[model.AppID]bool // the web proxy has reported their end; the ResourceManager still lists them as running
	rounds    int
	warned    bool // of an ApplicationMaster without REST
	rejected  map[model.AppID]bool
}

func newRunning(p *Poller) *running {
	r := &running{Poller: p, jobs: map[model.AppID]*job{}, endedJobs: map[model.AppID]bool{}, rejected: map[model.AppID]bool{}}
	r.runner = poll.New(poll.Config{
		Source: model.SourceMapReduce, Service: "MapReduce REST",
		Interval: p.cfg.Interval, MaxBackoff: maxBackoff,
		Cost: p.cfg.Proxy.Usage, Now: p.cfg.Now, Log: p.cfg.Logger,
	}, r.poll)
	return r
}

// poll reads the essentials of every job that is due, and then details as long as the
// interval and the budget last.
func (r *running) poll(ctx context.Context, current *poll.Round) poll.Outcome {
	s := r.newSession(model.SourceMapReduce, r.cfg.Proxy, strings.TrimRight(r.cfg.ProxyBase(), "/"), current)
	r.rounds++
	r.updateJobs()
	if s.base == "" {
		s.recordFailure(fmt.Errorf("no ResourceManager to ask: %w", rest.ErrStandby))
		s.abort()
		return s.outcome()
	}
	jobs := r.jobsToRead(s)
	r.readEssentials(ctx, s, jobs)
	r.readDetails(ctx, s, jobs)
	for _, j := range jobs {
		s.sendTasks(ctx, j)
		if r.endedJobs[j.app] {
			r.handToHistory(j) // from now on the other goroutine owns it
		}
	}
	return s.outcome()
}

// updateJobs compares the jobs followed with those that run now.
func (r *running) updateJobs() {
	state := map[model.AppID]model.AppState{}
	for _, app := range r.cfg.Live() {
		if app.Type != "MAPREDUCE" {
			continue
		}
		state[app.ID] = app.State
		if app.State == model.AppRunning && r.jobs[app.ID] == nil && !r.endedJobs[app.ID] {
			r.addJob(app.ID)
		}
	}
	for id, j := range r.jobs { // order-free: each is handed on by itself
		listed, ok := state[id]
		if ok {
			j.unlistedRounds = 0
		} else {
			j.unlistedRounds++
		}
		if listed.Final() || j.unlistedRounds >= absentRounds {
			r.handToHistory(j)
		}
	}
	for _, set := range []map[model.AppID]bool{r.endedJobs, r.rejected} {
		for id := range set { // order-free
			if state[id] != model.AppRunning {
				delete(set, id)
			}
		}
	}
}

// addJob follows one more job.
func (r *running) addJob(id model.AppID) {
	if len(r.jobs) >= r.cfg.MaxJobs {
		r.reject(id, FullJobs, fmt.Errorf("%d jobs are followed already", len(r.jobs)))
		return
	}
	j, err := newJob(id)
	if err != nil {
		r.reject(id, "", err)
		return
	}
	delete(r.rejected, id)
	r.jobs[id] = j
}

// reject counts and logs a job that is not followed, once.
func (r *running) reject(id model.AppID, limit string, why error) {
	if r.rejected[id] {
		return
	}
	r.rejected[id] = true
	if limit != "" {
		r.cfg.Full(limit)
	}
	r.cfg.Logger.Warn("job is not followed", "app_id", id, "error", why)
}

// handToHistory hands a job that ended to the loop of ended jobs.
func (r *running) handToHistory(j *job) {
	delete(r.jobs, j.app)
	if r.cfg.HistoryBase == "" {
		return
	}
	select {
	case r.ended <- j:
	default:
		r.cfg.Full(FullHistory)
		r.cfg.Logger.Warn("too many jobs end at once: one is not read from the JobHistory server", "app_id", j.app)
	}
}

// rank orders jobs by how long they have waited. One that failed waits behind
// those that answer, but not for ever: its next failure may take all the time
// a round has.
func (j *job) rank() int {
	if j.backoff.Failing() {
		return j.servedRound + failureRounds
	}
	return j.servedRound
}

// jobsToRead returns the jobs to read this round, those first that were read
// longest ago. For a job that backs off, it records the error of its last read.
func (r *running) jobsToRead(s *session) []*job {
	var jobs []*job
	for _, j := range r.jobs { // order-free: sorted below
		switch {
		case j.unlistedRounds > 0:
		case j.backoff.Due(s.Start):
			jobs = append(jobs, j)
		case j.err != nil:
			s.recordFailure(j.err)
		}
	}
	slices.SortFunc(jobs, func(a, b *job) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.app, b.app))
	})
	return jobs
}

// readEssentials reads what every round reads of every job.
func (r *running) readEssentials(ctx context.Context, s *session, jobs []*job) {
	errs := make([]error, len(jobs))
	asked := make([]bool, len(jobs))
	var g errgroup.Group
	g.SetLimit(r.cfg.Workers)
	for i, j := range jobs {
		g.Go(func() error {
			if s.isOver(r.cfg.RoundTimeout / 2) {
				return nil // it is among the first of the next round
			}
			asked[i] = true
			errs[i] = r.readJobEssentials(ctx, s, j)
			if errors.Is(errs[i], rest.ErrBudget) {
				s.stopForBudget()
			}
			if isServiceDown(errs[i]) {
				s.abort()
			}
			return nil
		})
	}
	_ = g.Wait() // the errors are in errs
	for i, j := range jobs {
		if asked[i] {
			r.recordResult(s, j, errs[i])
		}
	}
}

func (r *running) readJobEssentials(ctx context.Context, s *session, j *job) error {
	j.polls++
	if err := s.readJob(ctx, j); err != nil {
		return err
	}
	j.notFound = 0
	if err := s.readTasks(ctx, j); err != nil {
		return err
	}
	if err := s.readConf(ctx, j); err != nil {
		return err
	}
	if j.countersPoll != 0 && j.polls-j.countersPoll < r.cfg.CountersEvery {
		return nil
	}
	return s.readCounters(ctx, j)
}

// recordResult updates a job and the round by how the reads of its essentials
// ended.
func (r *running) recordResult(s *session, j *job, err error) {
	switch {
	case err == nil:
		j.backoff.Reset()
		j.err, j.servedRound = nil, r.rounds
		s.countAnswer()
	case errors.Is(err, rest.ErrBudget):
		// Not served: it is among the first of the next round.
	case redirectsToHistory(err):
		s.countAnswer()
		r.endedJobs[j.app] = true // handed on at the end of the round
	case redirectsToRM(err):
		s.countAnswer()
		j.backoff.Fail(s.Start, r.cfg.Interval, maxBackoff)
		j.err, j.servedRound = nil, r.rounds
	case isNotFound(err) && j.notFound+1 >= notFoundLimit:
		r.unsupported(s, j, err)
	default:
		if isNotFound(err) {
			j.notFound++
		}
		s.recordFailure(err)
		j.backoff.Fail(s.Start, r.cfg.Interval, maxBackoff)
		j.err, j.servedRound = err, r.rounds
	}
}

// unsupported pauses the polls of a job whose ApplicationMaster has no REST
// interface. The JobHistory server has its data when it has ended.
func (r *running) unsupported(s *session, j *job, err error) {
	j.err = fmt.Errorf("application master without REST interface: %w", err)
	j.backoff.PauseUntil(s.Start.Add(r.cfg.UnsupportedRetry))
	j.notFound, j.servedRound = 0, r.rounds
	s.recordFailure(j.err)
	log := r.cfg.Logger.Debug
	if !r.warned {
		r.warned = true
		log = r.cfg.Logger.Warn
	}
	log("application masters answer 404 (MAPREDUCE-7530): jobs are seen only when they end", "app_id", j.app, "retry_after", r.cfg.UnsupportedRetry, "error", err)
}

// readDetails reads details, one of each job and then the next of each, until the
// interval or the budget is over.
func (r *running) readDetails(ctx context.Context, s *session, jobs []*job) {
	// Even if the essentials took the whole interval, details get half an interval:
	// without the racks of tasks, counters cannot be attributed to racks.
	limit := max(r.cfg.Interval, s.Elapsed()+r.cfg.Interval/2)
	for _, j := range jobs {
		j.pendingDetails = nil
		if j.servedRound == r.rounds && !j.backoff.Failing() && !r.endedJobs[j.app] {
			j.pendingDetails = j.missingDetails(r.cfg.RefreshEvery, r.cfg.MaxDetails, false)
		}
	}
	for more := true; more; {
		more = false
		var g errgroup.Group
		g.SetLimit(r.cfg.Workers)
		for _, j := range jobs {
			if len(j.pendingDetails) == 0 {
				continue
			}
			if ctx.Err() != nil || s.isOver(limit) {
				more = false
				break
			}
			more = true
			g.Go(func() error { r.readNextDetail(ctx, s, j); return nil })
		}
		_ = g.Wait() // nextDetail keeps its errors
	}
	for _, j := range jobs {
		j.pendingDetails = nil
	}
}

// readNextDetail reads the first of a job's pending details. After an error, the
// job gets no more details this round.
func (r *running) readNextDetail(ctx context.Context, s *session, j *job) {
	err := s.readDetail(ctx, j, j.pendingDetails[0])
	j.pendingDetails = j.pendingDetails[1:]
	switch {
	case err == nil:
	case errors.Is(err, rest.ErrBudget):
		s.stopForBudget()
	default: // ended or unreachable: the next round's read of the job object shows which
		s.recordPartial(err)
		j.pendingDetails = nil
	}
}

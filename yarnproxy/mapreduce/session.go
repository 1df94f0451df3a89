package mapreduce

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"heddle/core/model"
	"heddle/yarnproxy/poll"
	"heddle/yarnproxy/rest"
)

// session is one round of one source: what it reads, where it sends what it
// read, and how it went. Jobs are read concurrently.
type session struct {
	*poll.Round
	cfg    *Config
	source model.Source
	client *rest.Client
	base   string // of the URLs of jobs

	mu          sync.Mutex
	outOfBudget bool  // the budget admits nothing more
	outOfTime   bool  // something was left out for want of time
	aborted     bool  // the service itself does not answer: further requests would fail, too
	answered    int   // jobs that answered
	err         error // of the first of them
	partialErr  error // of an answer that could be used in part
}

func (p *Poller) newSession(source model.Source, client *rest.Client, base string, current *poll.Round) *session {
	return &session{Round: current, cfg: &p.cfg, source: source, client: client, base: base}
}

// outcome returns the outcome of the round. A source that answered for some jobs
// is up; the error's text has the first failure.
func (s *session) outcome() poll.Outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	outcome := poll.Outcome{Result: model.PollOK, BackOff: s.aborted}
	if s.outOfBudget || s.outOfTime {
		outcome.Result = model.PollBudget
	}
	switch {
	case s.err != nil:
		outcome.Error = s.err.Error()
		if s.answered == 0 || s.aborted {
			outcome.Result = rest.FromError(s.err)
		}
	case s.partialErr != nil:
		outcome.Error = s.partialErr.Error()
	}
	return outcome
}

func (s *session) countAnswer() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answered++
}

func (s *session) recordFailure(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
}

// recordPartial records the error of an answer that could be used in part.
func (s *session) recordPartial(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.partialErr == nil {
		s.partialErr = err
	}
}

func (s *session) stopForBudget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outOfBudget = true
}

func (s *session) abort() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.aborted = true
}

// isOver reports whether the round sends no more requests: the budget is
// spent, the service is down, or limit has passed since the round began.
func (s *session) isOver(limit time.Duration) bool {
	elapsed := s.Elapsed()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.outOfBudget || s.aborted {
		return true
	}
	if elapsed >= limit {
		s.outOfTime = true
		return true
	}
	return false
}

// url returns the URL of a job or of what lies below it. Both services have
// the same tree.
func (s *session) url(j *job, path ...string) string {
	base := s.base
	if s.source == model.SourceMapReduce {
		base += "/proxy/" + string(j.app) + "/ws/v1/mapreduce/jobs/"
	} else {
		base += "/ws/v1/history/mapreduce/jobs/"
	}
	return base + strings.Join(append([]string{j.id}, path...), "/")
}

// get is rest.GetDecoded within what is left of the round's time.
func get[T any](ctx context.Context, s *session, url string, decode func([]byte) (T, error)) (T, error) {
	limited, cancel := context.WithTimeout(ctx, s.cfg.RoundTimeout-s.Elapsed())
	defer cancel()
	return rest.GetDecoded(limited, s.client, url, decode)
}

// readJob reads and sends the job object.
func (s *session) readJob(ctx context.Context, j *job) error {
	fact, err := get(ctx, s, s.url(j), func(body []byte) (model.JobFact, error) { return decodeJob(body, j.app, j.id) })
	if err != nil {
		return err
	}
	j.fact = fact
	s.Send(ctx, fact)
	return nil
}

// readTasks reads the tasks list and sends the tasks that changed.
func (s *session) readTasks(ctx context.Context, j *job) error {
	entries, err := get(ctx, s, s.url(j, "tasks"), func(body []byte) ([]entry, error) { return decodeTasks(body, j.id) })
	if refused := j.merge(entries, s.cfg.MaxTasks); refused > 0 {
		s.cfg.Full(FullTasks)
		if !j.taskLimitHit {
			j.taskLimitHit = true
			s.cfg.Logger.Warn("job has more tasks than are followed", "app_id", j.app, "followed", s.cfg.MaxTasks, "left_out", refused)
		}
	}
	s.sendTasks(ctx, j)
	if len(entries) > 0 && err != nil {
		s.recordPartial(err) // a few bad elements do not make the list useless
		return nil
	}
	return err
}

// sendTasks sends the tasks that changed, if any did.
func (s *session) sendTasks(ctx context.Context, j *job) {
	if tasks := j.changes(); len(tasks) > 0 {
		s.Send(ctx, model.TasksFact{App: j.app, Tasks: tasks})
	}
}

// readCounters reads and sends the job counters.
func (s *session) readCounters(ctx context.Context, j *job) error {
	fact, err := get(ctx, s, s.url(j, "counters"), func(body []byte) (model.CountersFact, error) {
		return decodeCounters(body, j.app, j.id)
	})
	if err != nil {
		return err
	}
	fact.CompletedMapsNow = j.fact.MapsCompleted
	j.countersPoll = j.polls
	s.Send(ctx, fact)
	return nil
}

// readConf reads and sends the configuration, once. Without it, the job's other
// facts are sent all the same.
func (s *session) readConf(ctx context.Context, j *job) error {
	if j.confRead {
		return nil
	}
	fact, err := get(ctx, s, s.url(j, "conf"), func(body []byte) (model.JobConfFact, error) { return decodeConf(body, j.app) })
	if fact.App != "" {
		j.confRead = true
		s.Send(ctx, fact)
	}
	var status *rest.StatusError
	var invalid *rest.InvalidError
	if errors.As(err, &status) || errors.As(err, &invalid) {
		s.recordPartial(err)
		if j.confTries++; j.confTries == detailTries && !j.confRead {
			j.confRead = true
			s.cfg.Logger.Warn("job configuration cannot be read, going on without", "app_id", j.app, "error", err)
		}
		return nil
	}
	return err
}

// readDetail reads one detail of one task.
func (s *session) readDetail(ctx context.Context, j *job, d detail) error {
	t, id := j.tasks[d.key], d.key.taskID(j.id)
	var err error
	if d.counters {
		err = s.readAttemptCounters(ctx, j, t, id)
	} else {
		err = s.readAttempts(ctx, j, t, id)
	}
	var status *rest.StatusError
	var invalid *rest.InvalidError
	switch {
	case err == nil:
		t.tries = 0
	case errors.As(err, &status), errors.As(err, &invalid):
		t.tries++
		s.recordPartial(err)
		return nil
	}
	return err
}

func (s *session) readAttempts(ctx context.Context, j *job, t *task, id string) error {
	url := s.url(j, "tasks", id, "attempts")
	attempts, err := get(ctx, s, url, func(body []byte) ([]attempt, error) { return decodeAttempts(body, id) })
	if err != nil {
		return err
	}
	t.attemptsPoll = j.polls
	if !t.setLocation(attempts) && t.successful != "" {
		return &rest.InvalidError{URL: url, Err: errors.New("it lacks the attempt that succeeded, " + t.successful)}
	}
	return nil
}

func (s *session) readAttemptCounters(ctx context.Context, j *job, t *task, id string) error {
	attemptID := t.successful
	if attemptID == "" {
		attemptID = t.locatedAttempt
	}
	url := s.url(j, "tasks", id, "attempts", attemptID, "counters")
	counters, err := get(ctx, s, url, func(body []byte) (attemptCounters, error) { return decodeAttemptCounters(body, attemptID) })
	if err != nil {
		return err
	}
	t.countersPoll = j.polls
	t.applyCounters(counters)
	switch {
	case t.successful == "":
	case counters.reported:
		t.countedAttempt = t.successful
	default: // an attempt that succeeded has counters: they are on their way
		return &rest.InvalidError{URL: url, Err: errors.New("it has no counters yet")}
	}
	return nil
}

// isNotFound reports an answer 404.
func isNotFound(err error) bool {
	var status *rest.StatusError
	return errors.As(err, &status) && status.Status == http.StatusNotFound
}

// redirectPath returns the path of the redirect that the client refused to follow, or "".
func redirectPath(err error) string {
	var redirect *rest.RedirectError
	if !errors.As(err, &redirect) {
		return ""
	}
	target, err := url.Parse(redirect.Location)
	if err != nil {
		return ""
	}
	return target.Path
}

// redirectsToHistory reports whether the web proxy redirects to a page of the
// JobHistory server or of the timeline server: the application has ended.
func redirectsToHistory(err error) bool {
	path := redirectPath(err)
	return strings.Contains(path, "/jobhistory/") || strings.Contains(path, "/applicationhistory/")
}

// redirectsToRM reports whether the web proxy redirects to the application's page
// of the ResourceManager: no ApplicationMaster runs at the moment.
func redirectsToRM(err error) bool { return strings.Contains(redirectPath(err), "/cluster/app/") }

// isServiceDown reports an error that every other request would meet, too.
func isServiceDown(err error) bool {
	var op *net.OpError
	var auth *rest.AuthError
	return errors.Is(err, rest.ErrStandby) || errors.As(err, &auth) || (errors.As(err, &op) && op.Op == "dial")
}

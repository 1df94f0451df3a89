package hdfsclient

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"heddle/core/model"
	"heddle/yarnproxy/poll"
)

// Poller reads the blocks of jobs' input paths and the DataNodes, and
// sends them as observations. Its methods are called from one goroutine.
type Poller struct {
	client     *Client
	inputPaths func() []string
	log        hclog.Logger

	runner *poll.Runner
	paths  map[string]*schedule // by path as in inputPaths
	nodes  schedule
}

// schedule says when to read a path or the DataNodes again, and how the last read
// ended.
type schedule struct {
	due        time.Time
	backoff    poll.Backoff
	lastResult model.PollResult // of the last attempt
	pathError  bool             // the last attempt failed because of the path, not of the NameNode
}

// NewPoller builds a poller. inputPaths returns the input paths of the jobs that
// are live now; it is called once a round and must not block.
func NewPoller(client *Client, inputPaths func() []string) *Poller {
	p := &Poller{client: client, inputPaths: inputPaths, log: client.opts.Log.Named("hdfs"), paths: make(map[string]*schedule)}
	cfg := &client.cfg
	p.runner = poll.New(poll.Config{
		Source: model.SourceHDFS, Service: "NameNode", Interval: cfg.Interval, MinPause: cfg.Interval, MaxBackoff: cfg.MaxBackoff,
		Cost: client.Usage, Advice: func(result model.PollResult) string { return advice(result, false) }, Now: client.now, Log: p.log,
	}, p.poll)
	return p
}

// Run polls until ctx ends and returns ctx.Err(). It blocks while out is full.
func (p *Poller) Run(ctx context.Context, out chan<- model.Observation) error {
	return p.runner.Run(ctx, out)
}

// round is one poll.
type round struct {
	*Poller
	*poll.Round
	result     model.PollResult
	errs       []string
	stop       bool // the round sends no more requests
	serverDown bool // because the NameNode does not answer
}

const maxErrors = 3 // in the text of one round

// errRoundTime is the error of a request that the round has no time for.
var errRoundTime = errors.New("the time of the round is over; the rest follows in the next")

// poll runs one round.
func (p *Poller) poll(ctx context.Context, current *poll.Round) poll.Outcome {
	r := &round{Poller: p, Round: current, result: model.PollOK}
	err := r.withinRound(ctx, func(ctx context.Context) error { return p.client.checkActive(ctx, 0) })
	if err != nil {
		r.recordError(err)
		r.stop, r.serverDown = true, r.result != model.PollBudget
	}
	r.readDataNodes(ctx)
	r.readPaths(ctx)
	return poll.Outcome{Result: r.result, Error: strings.Join(r.errs, "; "), BackOff: r.serverDown, Partial: !r.serverDown}
}

// withinRound calls f with a context that ends with the round.
func (r *round) withinRound(ctx context.Context, f func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, r.client.cfg.RoundTime-r.Elapsed())
	defer cancel()
	err := f(limited)
	if err != nil && limited.Err() != nil {
		return fmt.Errorf("%w: %w", errRoundTime, err)
	}
	return err
}

// recordError updates the round's result and texts by an error, and stops the
// round if further requests would fail, too.
func (r *round) recordError(err error) {
	var safeMode *SafeModeError
	result := pollResult(err)
	switch {
	case result == model.PollBudget:
		r.stop = true
	case result == model.PollUnreachable, result == model.PollStandby, errors.As(err, &safeMode):
		r.stop, r.serverDown = true, true
	}
	if r.result == model.PollOK || r.serverDown {
		r.result = result
	}
	switch {
	case len(r.errs) < maxErrors:
		r.errs = append(r.errs, err.Error())
	case len(r.errs) == maxErrors:
		r.errs = append(r.errs, "and more")
	}
}

// readDataNodes sends the DataNodes when they are due.
func (r *round) readDataNodes(ctx context.Context) {
	now := r.client.now()
	if r.stop || now.Before(r.nodes.due) {
		return
	}
	var fact model.DataNodesFact
	err := r.withinRound(ctx, func(ctx context.Context) (err error) {
		fact, err = r.client.DataNodes(ctx)
		return err
	})
	if err != nil {
		r.recordFailure(&r.nodes, "data nodes", err)
		return
	}
	r.recordSuccess(&r.nodes, "data nodes", r.client.cfg.DataNodeInterval)
	r.Send(ctx, fact)
}

// readPaths sends the blocks of the paths that are due, the longest overdue
// first, as many as a round may.
func (r *round) readPaths(ctx context.Context) {
	for i, path := range r.duePaths() {
		if i == r.client.cfg.PathsPerRound {
			r.stopForBudget()
		}
		if r.stop {
			return
		}
		at := r.paths[path]
		var fact model.BlocksFact
		err := r.withinRound(ctx, func(ctx context.Context) (err error) {
			fact, err = r.client.Blocks(ctx, path)
			return err
		})
		if err != nil {
			r.recordFailure(at, path, err)
			continue
		}
		r.recordSuccess(at, path, r.client.cfg.CacheAge)
		r.Send(ctx, fact)
	}
}

// stopForBudget ends a round that has more due than it may read.
func (r *round) stopForBudget() {
	r.stop = true
	if r.result == model.PollOK {
		r.result = model.PollBudget
	}
}

// duePaths schedules the input paths of jobs that are live, and no others, and
// returns those due, longest overdue first.
func (r *round) duePaths() []string {
	now := r.client.now()
	wanted := r.inputPaths()
	if len(wanted) > trackedPaths {
		wanted = wanted[:trackedPaths]
		r.log.Debug("jobs have more input paths than are tracked", "paths", trackedPaths)
	}
	scheduled := make(map[string]*schedule, len(wanted))
	var due []string
	for _, path := range wanted {
		if scheduled[path] != nil {
			continue
		}
		at := r.paths[path]
		if at == nil {
			at = &schedule{}
		}
		scheduled[path] = at
		if !now.Before(at.due) {
			due = append(due, path)
		}
	}
	r.paths = scheduled
	slices.SortStableFunc(due, func(a, b string) int { return scheduled[a].due.Compare(scheduled[b].due) })
	return due
}

// recordSuccess schedules the next read, and logs that this one succeeded if the
// last one failed.
func (r *round) recordSuccess(at *schedule, what string, again time.Duration) {
	if at.backoff.Failing() {
		r.log.Info("can be read again", "what", what)
	}
	*at = schedule{due: r.client.now().Add(again), lastResult: model.PollOK}
}

// recordFailure schedules the next attempt, and logs an error that differs from the last one.
func (r *round) recordFailure(at *schedule, what string, err error) {
	r.recordError(err)
	if r.stop {
		at.due = r.client.now() // behind what else is due; the round reports the error
		return
	}
	result, about := pollResult(err), isPathError(err)
	if at.lastResult != result || at.pathError != about {
		r.log.Warn("cannot read", "what", what, "error", err, "do", advice(result, about))
	}
	at.lastResult, at.pathError = result, about
	now := r.client.now()
	at.due = now.Add(at.backoff.Fail(now, r.client.cfg.Interval, r.client.cfg.MaxBackoff))
}

// advice says what to do about a result.
func advice(result model.PollResult, about bool) string {
	if about {
		return "check the path of the job; it is tried again from time to time"
	}
	switch result {
	case model.PollUnreachable:
		return "check that a NameNode runs and that the configured web addresses are its; it is tried again"
	case model.PollStandby:
		return "no NameNode is active: check hdfs haadmin -getAllServiceState; it is tried again"
	case model.PollDenied:
		return "check heddle's user, its keytab, and its permissions in HDFS"
	case model.PollInvalid:
		return "check that the configured address is a NameNode's web address, and the limit of an answer's size"
	case model.PollError:
		return "wait if the NameNode was just started; otherwise check hdfs dfsadmin -safemode get and its log"
	case model.PollOK, model.PollBudget:
	}
	return "nothing"
}

package rm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"heddle/core/model"
	"heddle/yarnproxy/poll"
	"heddle/yarnproxy/rest"
)

const (
	clusterPath    = "/ws/v1/cluster"
	localitiesPath = "/jmx?qry=Hadoop:service=ResourceManager,name=QueueMetrics,q0=root"
	liveStates     = "NEW,NEW_SAVING,SUBMITTED,ACCEPTED,RUNNING"
	acceptJSON     = "application/json"
)

// round is one poll.
type round struct {
	*Poller
	*poll.Round
	base string // of the ResourceManager that is active
}

// run reads everything once, the most important first.
func (r *round) run(ctx context.Context) (model.PollResult, error) {
	if err := r.discover(ctx); err != nil {
		return rest.FromError(err), err
	}
	var failed error // the first error that does not end the round
	for _, step := range []func(context.Context) error{r.readNodes, r.readScheduler, r.readLocalities, r.readApps} {
		switch err := step(ctx); {
		case err == nil:
		case endsRound(err):
			return rest.FromError(err), err
		case failed == nil:
			failed = err
		}
	}
	all, err := r.readDetails(ctx)
	switch {
	case err != nil:
		return rest.FromError(err), err
	case failed != nil:
		return rest.FromError(failed), failed
	case !all:
		return model.PollBudget, nil
	}
	return model.PollOK, nil
}

// endsRound reports whether an error concerns the ResourceManager rather than one
// answer of it, so that further requests would fail, too.
func endsRound(err error) bool {
	switch rest.FromError(err) {
	case model.PollUnreachable, model.PollStandby, model.PollBudget:
		return true
	case model.PollDenied:
		_, auth := errors.AsType[*rest.AuthError](err)
		return auth
	default:
		return false
	}
}

// get is rest.GetDecoded for a path of the round's ResourceManager.
func get[T any](ctx context.Context, r *round, path string, decode func([]byte) (T, error)) (T, error) {
	return rest.GetDecoded(ctx, r.cfg.Client, r.base+path, decode)
}

// discover finds the active ResourceManager. Each answers the cluster's info
// for itself, whatever its state (hadoop.md 1.12).
func (r *round) discover(ctx context.Context) error {
	const path = clusterPath + "/info"
	var fact model.ClusterFact
	err := r.group.Get(ctx, path, acceptJSON, func(base string, body []byte) error {
		info, err := DecodeInfo(body)
		if err != nil {
			return &rest.InvalidError{URL: base + path, Err: err}
		}
		if info.HAState != "ACTIVE" && info.HAState != "" {
			return fmt.Errorf("%s: state %s: %w", base, info.HAState, rest.ErrStandby)
		}
		fact, r.base = info, base
		return nil
	})
	if err != nil {
		return err
	}
	if u, err := url.Parse(r.base); err == nil {
		fact.Address = u.Host
	}
	if before := r.cluster; before.Started != fact.Started || before.Address != fact.Address {
		if before.Started != 0 {
			r.report.changed(before, fact)
		}
		// It may be another version, with other queues and attempts.
		r.schedulerIn, r.localitiesIn, r.deselect = 0, 0, 0
		r.sentNodes.forget()
		r.sentApps.forget()
		for id, l := range r.live {
			l.attempt = Attempt{}
			r.live[id] = l
		}
	}
	r.cluster = fact
	base := r.base
	r.active.Store(&base)
	r.Send(ctx, fact)
	return nil
}

func (r *round) readNodes(ctx context.Context) error {
	fact, err := get(ctx, r, clusterPath+"/nodes", DecodeNodes)
	if err != nil {
		return err
	}
	fact.Nodes, fact.Partial = r.sentNodes.changes(fact.Nodes, func(n *model.Node) model.NodeID { return n.ID })
	r.Send(ctx, fact)
	return nil
}

// readScheduler reads the scheduler's type and queues, now and then.
func (r *round) readScheduler(ctx context.Context) error {
	if r.schedulerIn--; r.schedulerIn > 0 {
		return nil
	}
	r.schedulerIn = r.cfg.SchedulerEvery
	fact, err := get(ctx, r, clusterPath+"/scheduler", func(body []byte) (fact model.ClusterFact, err error) {
		fact = r.cluster
		fact.Scheduler, fact.Queues, err = DecodeScheduler(body)
		return fact, err
	})
	if fatal := r.reportOptional("queues", err); err != nil {
		return fatal
	}
	r.queues = fact.Queues
	r.Send(ctx, fact)
	return nil
}

// readLocalities reads the counters of allocations by locality, now and then.
func (r *round) readLocalities(ctx context.Context) error {
	if r.localitiesIn--; r.localitiesIn > 0 {
		return nil
	}
	r.localitiesIn = r.cfg.LocalitiesEvery
	fact := r.cluster
	var err error
	fact.Localities, err = get(ctx, r, localitiesPath, DecodeLocalities)
	if fatal := r.reportOptional("locality counters", err); fatal != nil || fact.Localities == nil {
		return fatal
	}
	r.Send(ctx, fact)
	return nil
}

// reportOptional logs the error of an optional part and drops it, unless it ends the
// round. A nil error reports that the part was read.
func (r *round) reportOptional(what string, err error) error {
	if err != nil && endsRound(err) {
		return err
	}
	r.report.logOptional(what, err)
	return nil
}

// withoutFields are what to leave out of each application of a list, for
// versions that know ever fewer of the names (hadoop.md 1.4).
func withoutFields() []string {
	return []string{
		"&deSelects=resourceRequests,timeouts,appNodeLabelExpression,amNodeLabelExpression,resourceInfo",
		"&deSelects=resourceRequests",
		"",
	}
}

// list reads applications, without what is large in them and not needed.
func (r *round) list(ctx context.Context, query string) (model.AppsFact, error) {
	without := withoutFields()
	for {
		fact, err := get(ctx, r, clusterPath+"/apps?"+query+without[r.deselect], DecodeApps)
		status, refused := errors.AsType[*rest.StatusError](err)
		if refused && status.Status == http.StatusBadRequest && r.deselect < len(without)-1 {
			r.deselect++
			r.report.log.Info("this resource manager cannot leave out of its lists what is not needed; asking for more of it",
				"answer", status.Message, "now", without[r.deselect])
			continue
		}
		for i := range fact.Apps {
			fact.Apps[i].Queue = fullQueue(fact.Apps[i].Queue, r.queues)
		}
		return fact, err
	}
}

// readApps reads the applications that have not ended, and those that ended lately.
func (r *round) readApps(ctx context.Context) error {
	fact, err := r.list(ctx, "states="+liveStates)
	if err != nil {
		return err
	}
	now := make(map[model.AppID]liveApp, len(fact.Apps))
	for _, app := range fact.Apps {
		r.ended.advanceClock(app)
		l := r.live[app.ID]
		if l.attempt.AMNode != app.AMNode {
			l.attempt = Attempt{} // the ApplicationMaster was started again
		}
		l.app = app
		now[app.ID] = l
	}
	for id := range r.live {
		if _, ok := now[id]; !ok {
			r.ended.addMissing(id)
		}
	}
	r.live = now
	var failed error
	if r.ended.shouldQuery(r.rounds, r.cfg.FinishedEvery) {
		var old model.AppsFact
		old, failed = r.list(ctx, r.ended.query())
		if failed == nil {
			fact.Apps = append(fact.Apps, r.ended.newlyEnded(old.Apps)...)
		}
	}
	fact.Apps, fact.Partial = r.sentApps.changes(fact.Apps, func(a *model.App) model.AppID { return a.ID })
	for i := range fact.Apps {
		if fact.Apps[i].State.Final() { // the next list will not have it
			delete(r.sentApps.entries, fact.Apps[i].ID)
		}
	}
	r.Send(ctx, fact)
	return failed
}

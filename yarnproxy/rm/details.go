package rm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"heddle/core/model"
	"heddle/yarnproxy/rest"
)

// attemptEvery is how many reads of an application's containers share one read of
// its attempts, which list the hosts that it refuses.
const attemptEvery = 5

// readDetails reads the asks and containers of one application after another, from
// where the last round stopped, until all are read, the interval is over or the
// budget is spent. It reads the first in any case, so that a round without time
// left makes progress. It reports whether all were read.
func (r *round) readDetails(ctx context.Context) (bool, error) {
	order := r.detailOrder()
	limited := ctx
	for i, id := range order {
		if i > 0 {
			remaining := r.cfg.PollInterval*9/10 - r.Elapsed() // a tenth is the pause
			if remaining <= 0 {
				return false, nil
			}
			if i == 1 {
				limited = rest.AdmitWithin(ctx, remaining)
			}
		}
		err := r.readDetail(limited, id)
		if errors.Is(err, rest.ErrBudget) && ctx.Err() == nil {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		r.cursor = id
	}
	return true, nil
}

// detailOrder returns the applications that can have asks: by id, beginning after
// the one that was read last.
func (r *round) detailOrder() []model.AppID {
	ids := slices.Sorted(maps.Keys(r.live))
	ids = slices.DeleteFunc(ids, func(id model.AppID) bool {
		state := r.live[id].app.State
		return state != model.AppAccepted && state != model.AppRunning
	})
	first, found := slices.BinarySearch(ids, r.cursor)
	if found {
		first++
	}
	return slices.Concat(ids[first:], ids[:first])
}

// readDetail reads one application. An error that concerns this application alone
// is logged once and does not end the round.
func (r *round) readDetail(ctx context.Context, id model.AppID) error {
	l := r.live[id]
	err := r.readAsks(ctx, id)
	if err == nil {
		err = r.readContainers(ctx, id, &l)
	}
	switch {
	case err == nil || isNotFound(err):
		l.failing = false
	case endsRound(err):
		return err
	default:
		if !l.failing {
			r.report.log.Warn("an application cannot be read; its asks and containers stay as they were", "app_id", id, "error", err)
		}
		l.failing = true
	}
	r.live[id] = l
	return nil
}

// isNotFound reports whether the ResourceManager answers 404: the application or
// its attempt has ended meanwhile.
func isNotFound(err error) bool {
	status, ok := errors.AsType[*rest.StatusError](err)
	return ok && status.Status == http.StatusNotFound
}

func (r *round) readAsks(ctx context.Context, id model.AppID) error {
	var app model.App
	asked := r.Now()
	fact, err := get(ctx, r, clusterPath+"/apps/"+string(id), func(body []byte) (fact model.AsksFact, err error) {
		if app, fact, err = DecodeApp(body); err == nil && app.ID != id {
			err = fmt.Errorf("app: the answer is about %s", app.ID)
		}
		return fact, err
	})
	if err != nil || app.State.Final() { // the next list of applications reports its end
		return err
	}
	r.SendAt(ctx, asked, fact)
	return nil
}

// readContainers reads the live containers of an application's current attempt.
func (r *round) readContainers(ctx context.Context, id model.AppID, l *liveApp) error {
	if l.app.Containers == 0 {
		r.Send(ctx, model.ContainersFact{App: id})
		return nil
	}
	path := clusterPath + "/apps/" + string(id) + "/appattempts"
	if l.attempt.Number == 0 || l.readsSinceAttempt >= attemptEvery {
		if err := r.readAttempt(ctx, path, l); err != nil {
			return err
		}
	}
	if l.attempt.Number == 0 {
		r.Send(ctx, model.ContainersFact{App: id})
		return nil
	}
	path += fmt.Sprintf("/%s_%06d/containers", strings.Replace(string(id), "application", "appattempt", 1), l.attempt.Number)
	list, err := get(ctx, r, path, DecodeContainers)
	if err != nil {
		if !errors.Is(err, rest.ErrBudget) {
			l.attempt = Attempt{} // it may be an old one: look it up again
		}
		return err
	}
	fact := model.ContainersFact{App: id, Containers: list, Blacklist: slices.Clone(l.attempt.Blacklist)}
	if l.readsSinceAttempt++; len(list) == 0 {
		l.attempt = Attempt{}
	}
	r.Send(ctx, fact)
	return nil
}

// readAttempt reads which attempt of an application is the current one.
func (r *round) readAttempt(ctx context.Context, path string, l *liveApp) error {
	attempts, err := get(ctx, r, path, DecodeAttempts)
	if err != nil {
		return err
	}
	l.attempt, l.readsSinceAttempt = Attempt{}, 0
	if len(attempts) > 0 {
		l.attempt = attempts[len(attempts)-1]
		l.attempt.AMNode = l.app.AMNode // as the list names it: a change means another attempt
	}
	return nil
}

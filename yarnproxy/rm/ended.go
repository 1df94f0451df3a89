package rm

import (
	"strconv"

	"heddle/core/model"
)

const (
	// endedOverlap is how long before the newest known time an application may
	// have ended that was not to be seen yet: its end is dated before it is
	// stored and shown.
	endedOverlap = model.Minute
	// endedTries bounds the rounds in which an application that left the list
	// is looked for among the ended ones: a ResourceManager that restarted
	// without recovery has forgotten it.
	endedTries = 30
)

// ended finds the final states of applications that left the list of live
// ones, by asking for what ended since a time. All its times are the
// ResourceManager's own, so that clocks need not agree.
type ended struct {
	clock   model.Time                 // the newest time seen in any application
	since   model.Time                 // what ended before was asked for
	missing map[model.AppID]int        // left the list, by rounds looked for
	sent    map[model.AppID]model.Time // already reported, by their end
}

func (e *ended) saw(app model.App) { e.clock = max(e.clock, app.Submitted, app.Finished) }

func (e *ended) miss(id model.AppID) {
	if _, ok := e.sent[id]; !ok {
		e.missing[id] = 0
	}
}

// due reports whether to ask. What ended before the first application was
// seen is of no interest.
func (e *ended) due(round, every int) bool {
	return e.clock > 0 && (len(e.missing) > 0 || round%every == 0)
}

func (e *ended) query() string {
	if e.since == 0 {
		e.since = max(e.clock.Add(-endedOverlap), 0)
	}
	return "states=FINISHED,FAILED,KILLED&finishedTimeBegin=" + strconv.FormatInt(int64(e.since), 10)
}

// take returns the applications of an answer that were not reported before,
// and moves the time on.
func (e *ended) take(apps []model.App) []model.App {
	var fresh []model.App
	for _, app := range apps {
		e.saw(app)
		delete(e.missing, app.ID)
		if _, ok := e.sent[app.ID]; !ok {
			fresh = append(fresh, app)
		}
		e.sent[app.ID] = app.Finished
	}
	for id, tries := range e.missing {
		if e.missing[id] = tries + 1; tries+1 >= endedTries {
			delete(e.missing, id)
		}
	}
	if len(e.missing) > 0 {
		return fresh // they may have ended long before the newest time
	}
	e.since = max(e.since, e.clock.Add(-endedOverlap), 0)
	for id, at := range e.sent {
		if at < e.since {
			delete(e.sent, id)
		}
	}
	return fresh
}

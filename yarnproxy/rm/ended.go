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
	newest    model.Time                 // the newest time seen in any application
	queryFrom model.Time                 // what ended before was asked for
	missing   map[model.AppID]int        // left the list, by rounds looked for
	reported  map[model.AppID]model.Time // already reported, by their end
}

func (e *ended) advanceClock(app model.App) { e.newest = max(e.newest, app.Submitted, app.Finished) }

func (e *ended) addMissing(id model.AppID) {
	if _, ok := e.reported[id]; !ok {
		e.missing[id] = 0
	}
}

// shouldQuery reports whether to ask. What ended before the first application was
// seen is of no interest.
func (e *ended) shouldQuery(round, every int) bool {
	return e.newest > 0 && (len(e.missing) > 0 || round%every == 0)
}

func (e *ended) query() string {
	if e.queryFrom == 0 {
		e.queryFrom = max(e.newest.Add(-endedOverlap), 0)
	}
	return "states=FINISHED,FAILED,KILLED&finishedTimeBegin=" + strconv.FormatInt(int64(e.queryFrom), 10)
}

// newlyEnded returns the applications of an answer that were not reported before,
// and moves the time on.
func (e *ended) newlyEnded(apps []model.App) []model.App {
	var fresh []model.App
	for _, app := range apps {
		e.advanceClock(app)
		delete(e.missing, app.ID)
		if _, ok := e.reported[app.ID]; !ok {
			fresh = append(fresh, app)
		}
		e.reported[app.ID] = app.Finished
	}
	for id, tries := range e.missing {
		if e.missing[id] = tries + 1; tries+1 >= endedTries {
			delete(e.missing, id)
		}
	}
	if len(e.missing) > 0 {
		return fresh // they may have ended long before the newest time
	}
	e.queryFrom = max(e.queryFrom, e.newest.Add(-endedOverlap), 0)
	for id, at := range e.reported {
		if at < e.queryFrom {
			delete(e.reported, id)
		}
	}
	return fresh
}

package rm

import (
	"strconv"

	"heddle/core/model"
)

const (
	// endedOverlap is how long before the newest time in a list an application may
	// have ended without being in the list: the ResourceManager dates the end before
	// it stores and lists it.
	endedOverlap = model.Minute
	// endedTries bounds the rounds in which an application that left the list
	// is searched among the ended ones: a ResourceManager that restarted
	// without recovery does not list it.
	endedTries = 30
)

// ended finds the final states of applications that left the list of live ones:
// it lists those that ended since a time. All its times come from the
// ResourceManager, so that the clocks of the two hosts need not agree.
type ended struct {
	newest    model.Time                 // the newest time seen in any application
	queryFrom model.Time                 // the next query lists what ended from then on
	missing   map[model.AppID]int        // left the list of live ones; the number of queries that did not find them
	reported  map[model.AppID]model.Time // already reported; the time each ended
}

func (e *ended) advanceClock(app model.App) { e.newest = max(e.newest, app.Submitted, app.Finished) }

// addMissing records that an application left the list before its end was reported.
func (e *ended) addMissing(id model.AppID) {
	if _, ok := e.reported[id]; !ok {
		e.missing[id] = 0
	}
}

// shouldQuery reports whether this round lists ended applications: if one is
// missing, otherwise every few rounds.
func (e *ended) shouldQuery(round, every int) bool {
	return e.newest > 0 && (len(e.missing) > 0 || round%every == 0)
}

func (e *ended) query() string {
	if e.queryFrom == 0 {
		e.queryFrom = max(e.newest.Add(-endedOverlap), 0)
	}
	return "states=FINISHED,FAILED,KILLED&finishedTimeBegin=" + strconv.FormatInt(int64(e.queryFrom), 10)
}

// newlyEnded returns the applications of an answer that were not reported before.
// Unless one is still missing, the next query begins at a later time.
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

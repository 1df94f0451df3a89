// Package guard sees to it that steering does not lose: it compares, for each queue, what steered applications took with
// what was predicted for them and for stock's placement, and with what unsteered applications of the queue took. Where
// steering loses over a window it is off for that queue for a time. Values in, verdicts out.
//
// There are two signals, each over the applications that ended within the window:
//
//   - predicted: the busiest uplinks by the closed forms, with the reduces where they ran, and the time that asks waited
//     for planned racks while another rack could have served them, are above the busiest uplinks of an even spread by more
//     than the margin, as a part of the completion times;
//   - measured: the slowdowns of steered applications are above those of unsteered ones, by ranks more than chance makes
//     them and in the median by more than the margin.
package guard

import (
	"cmp"
	"hash/fnv"
	"maps"
	"slices"

	"heddle/core/model"
	"heddle/core/state/snapshot"
)

const (
	// mostQueues bounds the queues that are followed. A further one takes the place of one that is on and was used longest ago.
	mostQueues = 1000
	// mostApplications bounds the applications of a queue's window: the newest.
	mostApplications = 500
	// longestOff bounds how long steering is off at a time, and is how long it has to stay on for earlier trips to be
	// forgotten.
	longestOff = 7 * 24 * 60 * model.Minute
)

// Params are the settings of a guard.
type Params struct {
	Enabled bool
	// Control is the share of applications that stay unsteered, 0 to 1: they are what steered ones are compared with.
	Control         float64
	Window          model.Duration // how long an application counts after its end
	MinApplications int            // of either kind, before anything is concluded
	Margin          float64        // of what may be lost, as a part
	OffFor          model.Duration // how long steering is off the first time; twice as long each further time
}

// Application is one that ended well and whose asks a relay carried.
type Application struct {
	ID      model.AppID
	Queue   model.QueueID
	Ended   model.Time
	Steered bool           // a container was granted to rewritten asks
	Took    model.Duration // completion time
	// Reference is what it should have taken by its own facts; 0 is not known, then its slowdown does not count.
	Reference model.Duration
	// Uplink is the seconds of the busiest uplink of its shuffle with the reduces where they ran, Stock the same of an
	// even spread; CrossRack and StockCrossRack are the bytes.
	Uplink, Stock             float64
	CrossRack, StockCrossRack model.Bytes
	Waited                    model.Duration // of its asks, for planned racks while another rack could have served them
}

// slowdown is completion time over reference.
func (a *Application) slowdown() float64 { return a.Took.Seconds() / a.Reference.Seconds() }

// Change is that steering was turned off or on for a queue.
type Change struct{ snapshot.GuardedQueue }

// Guard follows queues. It is not safe for concurrent use.
type Guard struct {
	params Params
	queues map[model.QueueID]*queue
	shown  []snapshot.GuardedQueue // by name; nil since a queue changed
}

// queue is what is known of one.
type queue struct {
	window  []Application // oldest first
	used    model.Time    // when an application was last added
	onSince model.Time    // when steering was turned on again; 0 if it never was off
	doubled int           // how often the time off was doubled, and the next one is
	figures snapshot.GuardedQueue
}

// New returns a guard that knows of no queue.
func New(p Params) *Guard { return &Guard{params: p, queues: map[model.QueueID]*queue{}} }

// Configure replaces the settings. What is known of queues stays, and what is off is off until its time has come, unless
// the guard is not enabled any more.
func (g *Guard) Configure(p Params) {
	if g.params = p; !p.Enabled {
		clear(g.queues)
		g.shown = nil
	}
}

// Add takes an application, at a time, and returns whether steering of its queue was turned off for what is known now.
func (g *Guard) Add(now model.Time, a *Application) (off Change, turned bool) {
	if !g.params.Enabled || a.Took <= 0 {
		return Change{}, false
	}
	q := g.queue(a.Queue)
	if q == nil || q.figures.Off {
		return Change{}, false
	}
	q.used = now
	if !a.Steered && g.params.Control > 0 && !IsControl(a.ID, g.params.Control) {
		return Change{}, false // why it is unsteered may be why it is slow
	}
	g.shown = nil
	q.window = append(q.window, *a)
	if over := len(q.window) - mostApplications; over > 0 {
		q.window = slices.Delete(q.window, 0, over)
	}
	q.expire(now.Add(-g.params.Window))
	assess(&q.figures, q.window, g.params.MinApplications)
	why := g.verdict(&q.figures)
	if why == "" {
		return Change{}, false
	}
	if q.onSince != 0 && now.Sub(q.onSince) >= longestOff {
		q.doubled = 0
	}
	f := &q.figures
	f.Off, f.Why, f.Trips, f.Until = true, why, f.Trips+1, now.Add(offFor(g.params.OffFor, q.doubled))
	q.doubled++
	q.window = nil
	return Change{*f}, true
}

// verdict returns by what steering loses in a queue, "" if it does not.
func (g *Guard) verdict(f *snapshot.GuardedQueue) snapshot.GuardSignal {
	switch {
	case f.Steered >= g.params.MinApplications && f.Predicted > g.params.Margin:
		return snapshot.GuardPredicted
	case f.Chance < byChance && f.Measured > g.params.Margin:
		return snapshot.GuardMeasured
	}
	return ""
}

// offFor is how long steering is off that was turned off so often before.
func offFor(first model.Duration, doubled int) model.Duration {
	d := first
	for range doubled {
		if d = min(2*d, longestOff); d == longestOff {
			break
		}
	}
	return min(d, longestOff)
}

// queue returns what is known of a queue, nil if there is no room for it.
func (g *Guard) queue(id model.QueueID) *queue {
	if q := g.queues[id]; q != nil {
		return q
	}
	if len(g.queues) >= mostQueues && !g.makeRoom() {
		return nil
	}
	q := &queue{figures: snapshot.GuardedQueue{Queue: id, Chance: 1}}
	g.queues[id], g.shown = q, nil
	return q
}

// makeRoom forgets the queue that was used longest ago, and reports whether there is one: where steering is off it is not
// forgotten.
func (g *Guard) makeRoom() bool {
	var oldest model.QueueID
	found := false
	for id, q := range g.queues { // order-free: a minimum, ties by name
		if q.figures.Off {
			continue
		}
		if o := g.queues[oldest]; !found || cmp.Or(cmp.Compare(q.used, o.used), cmp.Compare(id, oldest)) < 0 {
			oldest, found = id, true
		}
	}
	if found {
		delete(g.queues, oldest)
	}
	return found
}

// expire drops the applications that ended before a time.
func (q *queue) expire(before model.Time) {
	q.window = slices.DeleteFunc(q.window, func(a Application) bool { return a.Ended < before })
}

// Advance lets time pass: applications leave the window, and steering is turned on again where it has been off for long
// enough. It returns those queues, by name.
func (g *Guard) Advance(now model.Time) []Change {
	var on []Change
	for _, id := range slices.Sorted(maps.Keys(g.queues)) {
		q := g.queues[id]
		f := &q.figures
		switch {
		case f.Off && now >= f.Until:
			f.Off, f.Until, q.onSince = false, 0, now
			assess(f, nil, g.params.MinApplications) // it begins anew
			on, g.shown = append(on, Change{*f}), nil
		case !f.Off && len(q.window) > 0 && q.window[0].Ended < now.Add(-g.params.Window):
			q.expire(now.Add(-g.params.Window))
			assess(f, q.window, g.params.MinApplications)
			g.shown = nil
		}
	}
	return on
}

// Cause returns why nothing of an application is steered, "" when it may be.
func (g *Guard) Cause(app model.AppID, of model.QueueID) model.PassCause {
	switch q := g.queues[of]; {
	case !g.params.Enabled:
	case q != nil && q.figures.Off:
		return model.PassGuard
	case IsControl(app, g.params.Control):
		return model.PassControl
	}
	return ""
}

// Steers reports whether every application may be steered.
func (g *Guard) Steers() bool {
	if !g.params.Enabled {
		return true
	}
	for _, q := range g.queues { // order-free: any
		if q.figures.Off {
			return false
		}
	}
	return g.params.Control <= 0
}

// Snapshot returns what a snapshot shows, without applications. Snapshots between which no queue changed share the list.
func (g *Guard) Snapshot() snapshot.Guard {
	if g.shown == nil {
		for _, id := range slices.Sorted(maps.Keys(g.queues)) {
			g.shown = append(g.shown, g.queues[id].figures)
		}
	}
	return snapshot.Guard{Enabled: g.params.Enabled, Queues: g.shown}
}

// IsControl reports whether an application is of the control share: its id alone decides, so that it is the same after a
// restart and in every heddle of a cluster.
func IsControl(app model.AppID, share float64) bool {
	if share <= 0 {
		return false
	}
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(app)) // a hash takes everything
	h := sum.Sum64()
	// The last digits of an id reach the low bits alone: the finalizer of MurmurHash3 spreads them.
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	h ^= h >> 33
	return float64(h>>11)/(1<<53) < share
}

package asks

import (
	"slices"

	"heddle/core/model"
)

// hold is whether fewer containers of a key are asked for than the application waits for. All holds of a key together
// last no longer than Limits.HoldMax. A container that is granted begins that anew, unless a policy says why the key is held.
type hold struct {
	Active bool
	Start  model.Time     // of this hold, or when it was last begun anew
	Spent  model.Duration // in holds before it, since that was last begun anew
	Until  model.Time
	Empty  model.Time // since when none is asked for; 0: some are
}

// restart begins the time that is left for holds anew: a container was granted.
func (h *hold) restart(now model.Time) { h.Start, h.Spent = now, 0 }

// allowed returns how many of the containers that a key waits for may be asked for now, and keeps its hold.
func (r *round) allowed(k *key) int32 {
	all, h, target := k.outstanding(), &k.Hold, &k.plan.target
	start := r.now
	if h.Active {
		start = h.Start
	}
	until := min(target.Until, start.Add(r.limits.HoldMax-h.Spent))
	if !target.Hold || r.now >= until || r.starvesMaps(k) {
		r.endHold(k)
		return all
	}
	n := max(narrow(target.MaxRunning-int(r.demand[k.plan.stage])), r.least(k))
	if n >= all {
		r.endHold(k)
		return all
	}
	if !h.Active || h.Until != until {
		h.Active, h.Start, h.Until = true, start, until
		r.change()
	}
	r.wake(until)
	switch {
	case n == 0 && h.Empty == 0:
		h.Empty = r.stamp()
		r.change()
	case n > 0:
		r.endEmpty(k)
	}
	return n
}

// least is how many containers of a key are asked for in any case: one if the application has no other, and one map if none
// runs, as reduces may wait for it (starvesMaps).
func (r *round) least(k *key) int32 {
	isMap := k.plan.stage == model.StageMap
	switch {
	case len(r.running) == 0 && r.asked == 0, isMap && r.demand[k.plan.stage] == 0:
		return 1
	}
	return 0
}

// runs reports whether a container of a stage runs.
func runs(keys []*key, stage model.Stage) bool {
	return slices.ContainsFunc(keys, func(k *key) bool { return k.plan.stage == stage && k.Running > 0 })
}

// endHold ends the hold of a key, if it is held.
func (r *round) endHold(k *key) {
	h := &k.Hold
	if !h.Active {
		return
	}
	r.endEmpty(k)
	h.Active = false
	h.Spent += max(0, min(r.now, h.Until).Sub(h.Start))
	r.change()
}

// endEmpty counts the time in which none was asked for out of what the containers have waited.
func (r *round) endEmpty(k *key) {
	start := k.Hold.Empty
	if start == 0 {
		return
	}
	k.Hold.Empty = 0
	end := max(start, min(r.now, k.Hold.Until))
	for i := range k.Batches {
		b := &k.Batches[i]
		switch {
		case b.At <= start:
			b.At = b.At.Add(end.Sub(start))
		case b.At < end:
			b.At = end
		}
	}
	r.change()
}

// starvesMaps reports whether holding a key could make the application kill running reduces for maps that it believes have no
// room: it takes reduces that are asked for as if they ran, and looks while maps wait and none runs (hadoop.md 5.4).
func (r *round) starvesMaps(k *key) bool {
	if k.plan.stage != model.StageReduce || k.Running == 0 || runs(r.keys, model.StageMap) {
		return false
	}
	return slices.ContainsFunc(r.keys, func(o *key) bool {
		return o.plan.stage == model.StageMap && o.outstanding() > 0
	})
}

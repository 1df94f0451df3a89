package replay

import (
	"cmp"
	"iter"
	"slices"

	"heddle/core/model"
)

// Divergence is a stage of which two logs of decisions wanted something else, from a
// time on.
type Divergence struct {
	At    model.Time  `json:"at_ms"`
	App   model.AppID `json:"application"`
	Stage model.Stage `json:"stage"`
	A     *model.Plan `json:"a"` // nil: no plan
	B     *model.Plan `json:"b"`
}

// Diff compares two logs of decisions, each by time: what each wanted of every stage, as
// its newest plan said, after each time at which one of them decided. Racks, counts and
// holds are compared, reasons, ranks and costs are not. A divergence that ends within a
// time does not count: two services do not plan at the same instants. It returns the
// divergences by time, each once: from where the two wanted something else to where they
// wanted the same again. An error of either log ends it.
func Diff(a, b iter.Seq2[model.Decision, error], within model.Duration) ([]Divergence, error) {
	d := differ{within: within, stages: map[stageID]*wantedStage{}}
	next, stop := iter.Pull2(b)
	defer stop()
	db, err, more := next()
	for da, errA := range a {
		if errA != nil {
			return nil, errA
		}
		for ; more && err == nil && db.At <= da.At; db, err, more = next() {
			d.decided(1, &db)
		}
		if err != nil {
			return nil, err
		}
		d.decided(0, &da)
	}
	for ; more && err == nil; db, err, more = next() {
		d.decided(1, &db)
	}
	if err != nil {
		return nil, err
	}
	return d.end(), nil
}

type stageID struct {
	app   model.AppID
	stage model.Stage
}

// wantedStage is what both logs want of a stage.
type wantedStage struct {
	plans [2]*model.Plan
	since *Divergence // nil while they want the same
}

// differ is a comparison on its way.
type differ struct {
	within  model.Duration
	now     model.Time
	stages  map[stageID]*wantedStage
	touched []stageID // at the present time
	found   []Divergence
}

// decided takes the next decision of a log.
func (d *differ) decided(log int, decision *model.Decision) {
	if decision.Plan == nil {
		return
	}
	if decision.At > d.now {
		d.settle()
		d.now = decision.At
	}
	id := stageID{decision.Plan.App, decision.Plan.Stage}
	s := d.stages[id]
	if s == nil {
		s = &wantedStage{}
		d.stages[id] = s
	}
	s.plans[log] = decision.Plan
	d.touched = append(d.touched, id)
}

// settle compares what was decided of at the present time.
func (d *differ) settle() {
	for _, id := range d.touched {
		s := d.stages[id]
		switch same := wantsSame(s.plans[0], s.plans[1]); {
		case same && s.since != nil:
			d.close(s, d.now)
		case !same && s.since == nil:
			s.since = &Divergence{At: d.now, App: id.app, Stage: id.stage, A: s.plans[0], B: s.plans[1]}
		}
	}
	d.touched = d.touched[:0]
}

// close ends a divergence.
func (d *differ) close(s *wantedStage, at model.Time) {
	if at.Sub(s.since.At) >= d.within {
		d.found = append(d.found, *s.since)
	}
	s.since = nil
}

// end closes the divergences that are left, which have no end.
func (d *differ) end() []Divergence {
	d.settle()
	for _, s := range d.stages { // order-free: sorted below
		if s.since != nil {
			d.found = append(d.found, *s.since)
		}
	}
	slices.SortFunc(d.found, func(a, b Divergence) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.App, b.App), cmp.Compare(a.Stage, b.Stage))
	})
	return d.found
}

// wantsSame reports whether two plans want the same. No plan wants what one without racks
// and without a hold does.
func wantsSame(a, b *model.Plan) bool {
	var none model.Plan
	if a == nil {
		a = &none
	}
	if b == nil {
		b = &none
	}
	return a.Hold == b.Hold && slices.EqualFunc(a.Racks, b.Racks, func(x, y model.RackTarget) bool {
		return x.Rack == y.Rack && x.Count == y.Count
	})
}

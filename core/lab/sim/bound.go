package sim

import (
	"heddle/core/model"
	"heddle/core/state"
)

// reportBound reports the ask tables of jobs whose maps the relay ties to racks, as the ResourceManager shows them:
// where maps are bound to run is known from there.
func reportBound(s *Sim) {
	t := s.steering
	for _, j := range s.state.View().Jobs() {
		l := t.limits[j.Map]
		if l == nil || l.kind != model.StageMap || j.Graph != nil || j.Map.Places() == 0 {
			continue
		}
		bound := j.Map.Pending > 0 && t.now < l.until
		if bound || l.bound {
			s.apply(model.SourceRM, model.AsksFact{App: j.ID, Rows: l.rows(s.state.View(), j.Map, bound)})
		}
		l.bound = bound
	}
}

// rows are what the ResourceManager holds of a job's asks for maps.
func (l *limit) rows(v state.View, maps *state.Stage, bound bool) []model.AskRow {
	rows := []model.AskRow{{Priority: model.PriorityMap, ResourceName: model.AnyName, Count: maps.Pending, RelaxLocality: !bound}}
	for _, r := range v.Racks() {
		if n := maps.PendingIn(r.Index); bound && n > 0 && r.Index < len(l.counts) && l.counts[r.Index] > 0 {
			rows = append(rows, model.AskRow{Priority: model.PriorityMap, ResourceName: string(r.ID), Count: n, RelaxLocality: true})
		}
	}
	return rows
}

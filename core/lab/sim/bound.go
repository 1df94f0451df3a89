package sim

import "heddle/core/model"

// reportBound reports the ask tables of jobs whose maps the relay ties to racks, as the ResourceManager shows them:
// where maps are bound to run is known from there.
func reportBound(s *Sim, jobs []*job) {
	for _, j := range jobs {
		k := j.relayed.stage(model.StageMap)
		if j.relayed.of.Graph != nil || k.of.Places() == 0 {
			continue
		}
		bound := k.sent.anywhere > 0 && !k.sent.relaxed
		if bound || k.isBound {
			s.apply(model.SourceRM, model.AsksFact{App: j.id, Rows: k.boundTo(s.jobs.steering)})
		}
		k.isBound = bound
	}
}

// boundTo returns what the ResourceManager holds of a stage but for its hosts.
func (k *relayedStage) boundTo(t *steering) []model.AskRow {
	rows := []model.AskRow{{
		Priority: int(k.key.Priority), ResourceName: model.AnyName, Count: int(k.sent.anywhere), RelaxLocality: k.sent.relaxed,
	}}
	for i := range t.site.Racks {
		if n := k.sent.racks[i]; n > 0 && !k.sent.relaxed {
			rows = append(rows, model.AskRow{
				Priority: int(k.key.Priority), ResourceName: string(t.site.Racks[i].ID), Count: int(n), RelaxLocality: true,
			})
		}
	}
	return rows
}

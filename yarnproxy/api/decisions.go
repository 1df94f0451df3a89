package api

import (
	"heddle/core/model"
)

// decisionsBody is GET /v1/decisions.
type decisionsBody struct {
	Decisions []model.Decision `json:"decisions"`
	Next      uint64           `json:"next"`   // since= of the next request, whether or not there is more now
	More      bool             `json:"more"`   // there is more now
	Oldest    uint64           `json:"oldest"` // the oldest that is kept, 0 when there is none
	Missed    uint64           `json:"missed"` // decisions after since that are not kept any more
}

func getDecisions(q *query) (any, error) {
	since, limit := q.number("since", 0, 0, 1<<63-1), int(q.number("limit", 100, 1, 1000)) //nolint:gosec // bounded
	app := model.AppID(q.text("application"))
	if err := q.check(); err != nil {
		return nil, err
	}
	all := q.cache.snap.Decisions
	b := decisionsBody{Next: since, Decisions: []model.Decision{}}
	if len(all) > 0 {
		b.Oldest = all[0].Seq
		if since+1 < b.Oldest {
			b.Missed = b.Oldest - since - 1
		}
	}
	for i := range all {
		d := all[i]
		if d.Seq <= since {
			continue
		}
		if len(b.Decisions) == limit {
			b.More = true
			break
		}
		b.Next = d.Seq
		if app == "" || appOf(&d) == app {
			d.Plan = wholePlan(d.Plan)
			b.Decisions = append(b.Decisions, d)
		}
	}
	return b, nil
}

func appOf(d *model.Decision) model.AppID {
	switch {
	case d.Plan != nil:
		return d.Plan.App
	case d.Placement != nil:
		return d.Placement.App
	}
	return ""
}

// wholePlan returns a plan whose list of racks is empty rather than null.
func wholePlan(p *model.Plan) *model.Plan {
	if p == nil || p.Racks != nil {
		return p
	}
	c := *p
	c.Racks = []model.RackTarget{}
	return &c
}

package api

import (
	"cmp"
	"slices"

	"heddle/core/model"
	"heddle/core/state/snapshot"
)

// preferencesBody is GET /v1/applications/{id}/preferences.
type preferencesBody struct {
	Application model.AppID `json:"application"`
	Policy      string      `json:"policy"`
	preference
	Sources []sourceBody `json:"sources"` // how old what it rests on is
}

// preference says where tasks of a stage should go, in the shape of a
// ContainerRequest: nodes, racks, and whether others will do.
type preference struct {
	Stage model.Stage `json:"stage"`
	Racks []rackWish  `json:"racks"` // those wanted most first; empty when any rack will do
	Nodes []nodeWish  `json:"nodes"` // of the wanted racks, best first
	// Hold says to ask for nothing now; it ends by itself at Until (I9).
	Hold bool `json:"hold"`
	// Until is when the hold or the pin ends by itself; 0 when there is neither.
	Until         model.Time   `json:"until_ms"`
	RelaxLocality bool         `json:"relax_locality"` // other racks will do as well
	Rank          int          `json:"rank"`           // among all jobs; 1 is served first
	Reason        model.Reason `json:"reason"`
}

// rackWish is what is wanted of one rack.
type rackWish struct {
	model.RackTarget
	Launched  int            `json:"launched"`  // tasks of the stage that run or ran there
	Remaining int            `json:"remaining"` // tasks still wanted there
	Free      model.Resource `json:"free"`
	Saturated bool           `json:"uplink_saturated"`
}

// nodeWish is one node to ask for.
type nodeWish struct {
	Node     model.NodeID   `json:"node"`
	Host     string         `json:"host"` // the resource name of an ask
	Rack     model.RackID   `json:"rack"`
	Locality string         `json:"locality,omitempty"` // of the asked tasks there, where asks named hosts or racks
	Free     model.Resource `json:"free"`
	Fits     bool           `json:"fits"` // one task of the stage fits into what is free, by memory
}

func getPreferences(q *query) (any, error) {
	a, err := q.application()
	if err != nil {
		return nil, err
	}
	stage, limit := q.stage(), int(q.number("limit", 20, 1, 1000)) //nolint:gosec // bounded
	if err := q.check(); err != nil {
		return nil, err
	}
	plan, err := q.planOf(a, stage)
	if err != nil {
		return nil, err
	}
	w := wish{plan: plan, stage: stageOf(a, stage), limit: limit}
	b := preferencesBody{Application: a.ID, Policy: q.server.policy(), preference: q.prefer(w)}
	b.Sources, _ = q.server.sources(q.cache.snap, q.now)
	q.uncacheable = b.Until > 0 // it ends while the snapshot stays
	return b, nil
}

// wish is a plan to be turned into nodes and racks.
type wish struct {
	plan  *model.Plan
	stage *snapshot.Stage // nil when nothing has been launched
	task  model.Resource  // of one task, when stage is nil
	limit int             // nodes
	near  *near           // nil when no host or rack was asked for
}

// near is what asks named: nodes on these hosts are node-local, nodes of these
// racks are rack-local.
type near struct {
	hosts map[string]bool
	racks map[model.RackID]bool
}

// prefer turns a plan into nodes and racks.
func (q *query) prefer(w wish) preference {
	p := w.plan
	pref := preference{Stage: p.Stage, Rank: p.Rank, Reason: p.Reason, RelaxLocality: true, Racks: q.rackWishes(w)}
	if p.Until > q.now { // I9: what is over is not passed on
		pref.Until = p.Until
		pref.Hold = p.Hold
		pref.RelaxLocality = len(pref.Racks) == 0 || p.Hold
	}
	wanted := make([]model.RackID, 0, len(pref.Racks))
	for i := range pref.Racks {
		if pref.Racks[i].Remaining > 0 {
			wanted = append(wanted, pref.Racks[i].Rack)
		}
	}
	if len(wanted) == 0 { // any rack will do, or every count is met: the racks of the plan stay the best
		for i := range pref.Racks {
			wanted = append(wanted, pref.Racks[i].Rack)
		}
	}
	if len(pref.Racks) == 0 {
		for i := range q.cache.snap.Racks {
			wanted = append(wanted, q.cache.snap.Racks[i].ID)
		}
	}
	pref.Nodes = q.nodeWishes(w, wanted)
	return pref
}

func (q *query) rackWishes(w wish) []rackWish {
	out := make([]rackWish, 0, len(w.plan.Racks))
	for _, t := range w.plan.Racks {
		r := rackWish{RackTarget: t}
		if w.stage != nil {
			r.Launched = w.stage.Launched[t.Rack]
		}
		r.Remaining = max(t.Count-r.Launched, 0)
		if v := q.cache.snap.Rack(t.Rack); v != nil {
			free := v.Total.Sub(v.Used)
			r.Free = model.Resource{MemoryMiB: max(free.MemoryMiB, 0), VCores: max(free.VCores, 0)}
			r.Saturated = v.Uplink.Saturated
		}
		out = append(out, r)
	}
	slices.SortStableFunc(out, func(a, b rackWish) int { return cmp.Compare(b.Remaining, a.Remaining) })
	return out
}

// candidate is a node that may be asked for.
type candidate struct {
	node  *model.Node
	rack  model.RackID
	level model.Locality
}

// nodeWishes ranks the usable nodes of racks: by locality where asks named
// hosts or racks, then by what is free.
func (q *query) nodeWishes(w wish, racks []model.RackID) []nodeWish {
	var found []candidate
	for _, rack := range racks {
		nodes := q.cache.usable(rack)
		if w.near == nil && len(nodes) > w.limit {
			nodes = nodes[:w.limit] // they are in order: none beyond can be among the first of all
		}
		for _, n := range nodes {
			found = append(found, candidate{n, rack, w.near.level(n, rack)})
		}
	}
	slices.SortFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.level, b.level), compareFree(a.node, b.node))
	})
	task := w.task
	if w.stage != nil {
		task = w.stage.Task
	}
	out := make([]nodeWish, 0, min(len(found), w.limit))
	for _, c := range found[:cap(out)] {
		n := nodeWish{Node: c.node.ID, Host: c.node.Host, Rack: c.rack, Free: c.node.Free()}
		n.Fits = task.MemoryMiB <= n.Free.MemoryMiB
		if w.near != nil {
			n.Locality = c.level.String()
		}
		out = append(out, n)
	}
	return out
}

// level returns the locality of the asked tasks on a node, as the topology of
// the snapshot says (I7). Where the asks named nothing all nodes are alike.
func (n *near) level(node *model.Node, rack model.RackID) model.Locality {
	switch {
	case n == nil:
		return model.OffSwitch
	case n.hosts[node.Host]:
		return model.NodeLocal
	case n.racks[rack]:
		return model.RackLocal
	}
	return model.OffSwitch
}

package relaylink

import (
	"cmp"
	"slices"
	"strings"

	"heddle/core/model"
	"heddle/core/state/snapshot"
)

// changes makes views of snapshots: the first whole, then what differs from the one before.
type changes struct {
	maxAge model.Duration // for which the ResourceManager's state counts as fresh
	before *snapshot.Snapshot
}

// to returns the view that makes the receiver's view that of a snapshot.
func (c *changes) to(s *snapshot.Snapshot) *view {
	before := c.before
	v := &view{Version: s.Seq, Whole: before == nil, VCores: s.Cluster.VCores, SoftHeadroom: s.Cluster.Scheduler == "fairScheduler"}
	if before == nil {
		before = &snapshot.Snapshot{}
	}
	c.before = s
	for i := range s.Sources {
		if src := &s.Sources[i]; src.Source == model.SourceRM && src.LastOK > 0 {
			v.StaleAfter = src.LastOK.Add(c.maxAge)
		}
	}
	v.nodes(before, s)
	v.applications(before, s)
	v.plans(before, s)
	return v
}

// nodes puts in the nodes that changed. Snapshots share their nodes unless one did.
func (v *view) nodes(before, s *snapshot.Snapshot) {
	if len(before.Nodes) == len(s.Nodes) && (len(s.Nodes) == 0 || &before.Nodes[0] == &s.Nodes[0]) {
		return
	}
	old := make(map[model.NodeID]node, len(before.Nodes))
	for i := range before.Nodes {
		old[before.Nodes[i].ID] = nodeOf(&before.Nodes[i])
	}
	for i := range s.Nodes {
		n := nodeOf(&s.Nodes[i])
		if was, known := old[n.ID]; !known || was != n {
			v.Nodes = append(v.Nodes, n)
		}
		delete(old, n.ID)
	}
	for id := range old { // order-free: sorted below
		v.GoneNodes = append(v.GoneNodes, id)
	}
	slices.Sort(v.GoneNodes)
}

// nodeOf is a node with the ResourceManager's names of host and rack.
func nodeOf(n *model.Node) node {
	return node{ID: n.ID, Host: n.Host, Rack: n.Rack, Usable: n.State.Usable(), Total: n.Total, Free: n.Free()}
}

// applications puts in the live applications that changed. Snapshots share unchanged ones.
func (v *view) applications(before, s *snapshot.Snapshot) {
	old := make(map[model.AppID]*snapshot.App, before.Cluster.LiveApps)
	for _, a := range before.Apps[:before.Cluster.LiveApps] {
		old[a.ID] = a
	}
	for _, a := range s.Apps[:s.Cluster.LiveApps] {
		was := old[a.ID]
		delete(old, a.ID)
		pass := s.Guard.Unsteered[a.ID]
		if was != nil && (was == a || sameDescription(&was.App, &a.App)) && before.Guard.Unsteered[a.ID] == pass {
			continue
		}
		of := application{ID: a.ID, Type: a.Type, User: a.User, Queue: a.Queue, Pass: pass}
		if a.Tags != "" {
			of.Tags = strings.Split(a.Tags, ",")
		}
		v.Apps = append(v.Apps, of)
	}
	for id := range old { // order-free: sorted below
		v.GoneApps = append(v.GoneApps, id)
	}
	slices.Sort(v.GoneApps)
}

func sameDescription(a, b *model.App) bool {
	return a.Type == b.Type && a.User == b.User && a.Queue == b.Queue && a.Tags == b.Tags
}

// plans puts in the plans that changed and restrict something, or are not sure enough to. Others are hidden from the
// relay, so that it asks for a decision when an application first asks.
func (v *view) plans(before, s *snapshot.Snapshot) {
	for app, plans := range s.Plans { // order-free: sorted below
		for _, p := range plans {
			if !restricts(p) {
				continue
			}
			if was := planOf(before, app, p.Stage); was == nil || was != p && !sameTarget(was, p) {
				v.Targets = append(v.Targets, targetOf(p))
			}
		}
	}
	for app, plans := range before.Plans { // order-free: sorted below
		for _, p := range plans {
			if restricts(p) && planOf(s, app, p.Stage) == nil {
				v.GonePlans = append(v.GonePlans, stageOfApp{app, p.Stage})
			}
		}
	}
	slices.SortFunc(v.Targets, func(a, b target) int { return a.compare(&b.stageOfApp) })
	slices.SortFunc(v.GonePlans, func(a, b stageOfApp) int { return a.compare(&b) })
}

func (s *stageOfApp) compare(o *stageOfApp) int {
	return cmp.Or(cmp.Compare(s.App, o.App), cmp.Compare(s.Stage, o.Stage))
}

// restricts reports whether a plan restricts where containers are asked for, or when, or would if it were sure.
func restricts(p *model.Plan) bool { return len(p.Racks) > 0 || p.Hold || p.Reason.Unties() }

// planOf returns the plan of an application's stage that the relay is sent, nil if there is none.
func planOf(s *snapshot.Snapshot, app model.AppID, stage model.Stage) *model.Plan {
	for _, p := range s.Plans[app] {
		if p.Stage == stage && restricts(p) {
			return p
		}
	}
	return nil
}

func sameTarget(a, b *model.Plan) bool {
	return a.Hold == b.Hold && a.MaxRunning == b.MaxRunning && a.Until == b.Until && a.Reason == b.Reason && slices.Equal(a.Racks, b.Racks)
}

func targetOf(p *model.Plan) target {
	return target{stageOfApp: stageOfApp{p.App, p.Stage}, Racks: p.Racks, Hold: p.Hold, MaxRunning: p.MaxRunning, Until: p.Until, Reason: p.Reason}
}

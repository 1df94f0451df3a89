package api

import (
	"strings"

	"heddle/core/model"
	"heddle/core/state/snapshot"
)

// clusterBody is GET /v1/cluster.
type clusterBody struct {
	snapshot.Cluster
	Queues     []model.Queue           `json:"queues"`
	Racks      int                     `json:"racks"`
	Nodes      int                     `json:"nodes"`
	Policy     string                  `json:"policy"` // the one that decides, "" when none does
	Sources    []sourceDetail          `json:"sources"`
	Counts     snapshot.Counts         `json:"counts"`
	Mismatches []snapshot.RackMismatch `json:"rack_mismatches"`
}

// sourceDetail is what heddle has spent on a source so far. Ages are not here:
// they move while the snapshot does not, and /readyz has them.
type sourceDetail struct {
	Source   model.Source               `json:"source"`
	LastOK   model.Time                 `json:"last_ok_ms"`
	Result   model.PollResult           `json:"result"`
	Error    string                     `json:"error,omitempty"`
	Polls    map[model.PollResult]int64 `json:"polls"`
	Bytes    int64                      `json:"bytes"`
	Requests int64                      `json:"requests"`
	Seconds  float64                    `json:"seconds"`
}

func getCluster(q *query) (any, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	s := q.cache.snap
	b := &clusterBody{
		Cluster: s.Cluster, Queues: emptyNotNil(s.Cluster.Queues), Racks: len(s.Racks), Nodes: len(s.Nodes),
		Policy: q.server.policy(), Counts: s.Counts, Mismatches: emptyNotNil(s.Mismatch), Sources: []sourceDetail{},
	}
	for i := range s.Sources {
		v := &s.Sources[i]
		b.Sources = append(b.Sources, sourceDetail{v.Source, v.LastOK, v.Result, v.Error, v.Polls, v.Bytes, v.Requests, v.Seconds})
	}
	return b, nil
}

// policy returns the name of the policy that decides, "" when none does.
func (s *server) policy() string { return s.activePolicy().Name }

// activePolicy returns the policy that decides, a zero one when none does.
func (s *server) activePolicy() PolicyInfo {
	for _, p := range s.opts.Policies() {
		if p.Active {
			return p
		}
	}
	return PolicyInfo{}
}

// racksBody is GET /v1/racks.
type racksBody struct {
	Racks []snapshot.Rack `json:"racks"`
}

func getRacks(q *query) (any, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	return racksBody{emptyNotNil(q.cache.snap.Racks)}, nil
}

// nodeBody is one node.
type nodeBody struct {
	model.Node
	Free model.Resource `json:"free"` // never below zero
}

func wholeNode(n *model.Node) nodeBody { return nodeBody{*n, n.Free()} }

// rackBody is GET /v1/racks/{rack}.
type rackBody struct {
	Rack  *snapshot.Rack `json:"rack"`
	Nodes []nodeBody     `json:"nodes"`
}

func getRack(q *query) (any, error) {
	id, err := q.rack()
	if err != nil {
		return nil, err
	}
	if err := q.check(); err != nil {
		return nil, err
	}
	b := rackBody{Rack: q.cache.snap.Rack(id), Nodes: []nodeBody{}}
	if b.Rack == nil {
		return nil, notFound("rack "+string(id)+" is not known", "GET /v1/racks lists the racks; their slashes may be written as %2F or as they are")
	}
	for i := range q.cache.snap.Nodes {
		if n := &q.cache.snap.Nodes[i]; n.Rack == id || (n.Rack == "" && id == model.DefaultRack) {
			b.Nodes = append(b.Nodes, wholeNode(n))
		}
	}
	return b, nil
}

// rack returns the rack a path names: with its leading slash (/v1/racks/%2Fr1)
// or without (/v1/racks/r1).
func (q *query) rack() (model.RackID, error) {
	v, err := q.path("rack")
	return model.RackID("/" + strings.TrimPrefix(v, "/")), err
}

// nodesBody is GET /v1/nodes.
type nodesBody struct {
	pageBody
	Nodes []nodeBody `json:"nodes"`
}

func getNodes(q *query) (any, error) {
	rack, nodeState := model.RackID(q.text("rack")), model.NodeState(strings.ToUpper(q.text("state")))
	p := q.page(100, 1000)
	if err := q.check(); err != nil {
		return nil, err
	}
	var found []*model.Node
	for i := range q.cache.snap.Nodes {
		n := &q.cache.snap.Nodes[i]
		if (rack == "" || n.Rack == rack) && (nodeState == "" || n.State == nodeState) {
			found = append(found, n)
		}
	}
	found, b := pageOf(q, p, found)
	out := nodesBody{pageBody: b, Nodes: make([]nodeBody, 0, len(found))}
	for _, n := range found {
		out.Nodes = append(out.Nodes, wholeNode(n))
	}
	return out, nil
}

// policiesBody is GET /v1/policies.
type policiesBody struct {
	Policies []PolicyInfo `json:"policies"`
}

func getPolicies(q *query) (any, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	q.uncacheable = true // a reload changes it, a snapshot does not
	b := policiesBody{emptyNotNil(q.server.opts.Policies())}
	for i := range b.Policies {
		b.Policies[i].Live = emptyNotNil(b.Policies[i].Live)
	}
	return b, nil
}

// trafficBody is GET /v1/traffic: square matrices in the order of Racks, from
// row to column, bytes since heddle started.
type trafficBody struct {
	Racks []model.RackID                     `json:"racks"`
	Bytes map[snapshot.TrafficKind][][]int64 `json:"bytes"`
	Total map[snapshot.TrafficKind]int64     `json:"cross_rack_bytes"` // off the diagonal
}

func getTraffic(q *query) (any, error) {
	only := q.oneOf("kind", "", "shuffle", "map_read", "write")
	if err := q.check(); err != nil {
		return nil, err
	}
	t := &q.cache.snap.Traffic
	b := trafficBody{Racks: emptyNotNil(t.Racks), Bytes: map[snapshot.TrafficKind][][]int64{}, Total: map[snapshot.TrafficKind]int64{}}
	for _, kind := range snapshot.TrafficKinds() {
		if only == "" || string(kind) == only {
			b.Bytes[kind], b.Total[kind] = square(t.Bytes[kind], len(t.Racks))
		}
	}
	return b, nil
}

// shadowBody is GET /v1/shadow.
type shadowBody struct {
	Policies []snapshot.PolicyAccount `json:"policies"`
	Guard    snapshot.Guard           `json:"guard"`
}

func getShadow(q *query) (any, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	b := shadowBody{Policies: []snapshot.PolicyAccount{}, Guard: q.cache.snap.Guard}
	b.Guard.Queues = emptyNotNil(b.Guard.Queues)
	for _, a := range q.cache.snap.Accounts {
		a.Recent = emptyNotNil(a.Recent)
		b.Policies = append(b.Policies, a)
	}
	return b, nil
}

// square fills short rows up to n by n, and sums what is off the diagonal.
func square(rows [][]float64, n int) (matrix [][]int64, cross int64) {
	matrix = make([][]int64, n)
	for src := range matrix {
		matrix[src] = make([]int64, n)
		if src >= len(rows) {
			continue
		}
		for dst, v := range rows[src][:min(n, len(rows[src]))] {
			matrix[src][dst] = int64(v)
			if src != dst {
				cross += int64(v)
			}
		}
	}
	return matrix, cross
}

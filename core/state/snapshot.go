package state

import (
	"heddle/core/model"
	"heddle/core/shuffle"
)

// Snapshot is an immutable picture of the cluster (I2). What did not change
// since the snapshot before is shared with it.
type Snapshot struct {
	Seq       uint64           `json:"seq"`
	At        model.Time       `json:"at_ms"` // of the newest observation in it
	Cluster   ClusterView      `json:"cluster"`
	Sources   []SourceView     `json:"sources"`
	Racks     []RackView       `json:"racks"`        // by rack number
	Nodes     []model.Node     `json:"nodes"`        // by id
	Apps      []*AppView       `json:"applications"` // live by submit time, then ended ones, newest first
	Traffic   Traffic          `json:"traffic"`
	Decisions []model.Decision `json:"decisions"` // the newest, oldest first
	Counts    Counts           `json:"counts"`
	Mismatch  []RackMismatch   `json:"rack_mismatches"`

	apps  map[model.AppID]*AppView
	racks map[model.RackID]int
}

// ClusterView describes the ResourceManager and the cluster as a whole.
type ClusterView struct {
	Started    model.Time           `json:"started_ms"`
	Version    string               `json:"version"`
	HAState    string               `json:"ha_state"`
	Address    string               `json:"address"`
	Scheduler  string               `json:"scheduler"`
	Queues     []model.Queue        `json:"queues"`
	Localities model.LocalityCounts `json:"localities"` // containers allocated since heddle started
	Restarts   int64                `json:"restarts"`   // of the ResourceManager, and failovers
	Total      model.Resource       `json:"total"`      // over running nodes
	Used       model.Resource       `json:"used"`
	LiveApps   int                  `json:"live_applications"`
}

// SourceView is the health of one source. Age is to be taken at reading time:
// now - LastOK.
type SourceView struct {
	Source   model.Source               `json:"source"`
	LastOK   model.Time                 `json:"last_ok_ms"` // 0 before the first good poll
	Result   model.PollResult           `json:"result"`     // of the last poll
	Error    string                     `json:"error,omitempty"`
	Polls    map[model.PollResult]int64 `json:"polls"`
	Bytes    int64                      `json:"bytes"`
	Requests int64                      `json:"requests"`
	Seconds  float64                    `json:"seconds"` // sum of all polls' durations
	Buckets  []int64                    `json:"-"`       // by DurationBuckets, not cumulative
}

// RackView is one rack.
type RackView struct {
	ID          model.RackID            `json:"id"`
	Nodes       map[model.NodeState]int `json:"nodes"` // by state
	Total       model.Resource          `json:"total"` // over running nodes
	Used        model.Resource          `json:"used"`
	Containers  map[model.Stage]int     `json:"containers"`  // by stage; "other" is what no source has told apart
	HDFSBlocks  int64                   `json:"hdfs_blocks"` // replicas
	Uplink      UplinkView              `json:"uplink"`
	PendingMaps int                     `json:"pending_maps"` // asks that would be rack-local here, over all jobs
}

// UplinkView is the load of one rack's uplink.
type UplinkView struct {
	CapacityOut model.BytesPerSecond `json:"capacity_out"` // 0 when not known
	CapacityIn  model.BytesPerSecond `json:"capacity_in"`
	Out         model.BytesPerSecond `json:"out"` // smoothed
	In          model.BytesPerSecond `json:"in"`
	Utilization float64              `json:"utilization"` // of the busier direction
	Saturated   bool                 `json:"saturated"`
	Method      string               `json:"method"`
}

// AppView is one application.
type AppView struct {
	model.App
	Map       StageView                   `json:"map"`
	Reduce    StageView                   `json:"reduce"`
	Ratio     float64                     `json:"shuffle_input_ratio"`
	Predicted bool                        `json:"ratio_measured"`
	Heavy     bool                        `json:"shuffle_heavy"`
	Slowstart float64                     `json:"slowstart"`
	Input     InputView                   `json:"input"`
	MapOutput OutputView                  `json:"map_output"`
	CrossRack map[TrafficKind]model.Bytes `json:"cross_rack_bytes"`
	Plans     []*model.Plan               `json:"plans"` // newest per stage
}

// StageView is one stage.
type StageView struct {
	Total     int                  `json:"total"`
	Pending   int                  `json:"pending"`
	Running   int                  `json:"running"`
	Completed int                  `json:"completed"`
	Task      model.Resource       `json:"task"`
	Launched  map[model.RackID]int `json:"launched"` // running or done, by rack
}

// InputView is a job's input by rack.
type InputView struct {
	Known     bool                         `json:"known"`
	Truncated bool                         `json:"truncated"`
	Paths     []string                     `json:"paths"`
	Bytes     model.Bytes                  `json:"bytes"`
	Blocks    int                          `json:"blocks"`
	ByRack    map[model.RackID]model.Bytes `json:"by_rack"` // bytes with a replica there
}

// OutputView is a job's map output by rack.
type OutputView struct {
	Total    model.Bytes                  `json:"total"`    // -1 until known
	Reported model.Bytes                  `json:"reported"` // by attempts; the rest is spread
	Unplaced model.Bytes                  `json:"unplaced"`
	ByRack   map[model.RackID]model.Bytes `json:"by_rack"`
}

// Traffic is what moved from rack to rack since heddle started, bytes.
type Traffic struct {
	Racks  []model.RackID              `json:"racks"`
	Bytes  map[TrafficKind][][]float64 `json:"bytes"`  // [source][destination] in the order of Racks; rows and columns may be short
	Regret map[string]float64          `json:"regret"` // by policy
}

// App returns an application of the snapshot, nil if it has none of that id.
func (s *Snapshot) App(id model.AppID) *AppView { return s.apps[id] }

// Rack returns a rack of the snapshot, nil if it has none of that id.
func (s *Snapshot) Rack(id model.RackID) *RackView {
	if i, ok := s.racks[id]; ok {
		return &s.Racks[i]
	}
	return nil
}

// Snapshot publishes the present state. The cluster keeps no reference to
// anything it may still change.
func (c *Cluster) Snapshot() *Snapshot {
	c.seq++
	s := &Snapshot{
		Seq: c.seq, At: c.now,
		Cluster: c.clusterView(), Sources: c.sourceViews(), Racks: c.rackViews(), Nodes: c.nodeViews(),
		Traffic: c.trafficView(), Decisions: c.log.list, Counts: c.counts.clone(), Mismatch: c.hdfs.mismatches,
	}
	s.racks = make(map[model.RackID]int, len(s.Racks))
	for i := range s.Racks {
		s.racks[s.Racks[i].ID] = i
	}
	s.Apps = make([]*AppView, 0, len(c.jobs.live)+len(c.jobs.ended))
	for _, j := range c.jobs.live {
		s.Apps = append(s.Apps, c.appView(j))
	}
	for i := len(c.jobs.ended) - 1; i >= 0; i-- {
		s.Apps = append(s.Apps, c.appView(c.jobs.ended[i]))
	}
	s.apps = make(map[model.AppID]*AppView, len(s.Apps))
	for _, a := range s.Apps {
		s.apps[a.ID] = a
	}
	return s
}

func (c *Cluster) clusterView() ClusterView {
	f := &c.info.fact
	v := ClusterView{
		Started: f.Started, Version: f.Version, HAState: f.HAState, Address: f.Address, Scheduler: f.Scheduler,
		Queues: f.Queues, Localities: c.info.localities, Restarts: c.info.restarts, LiveApps: len(c.jobs.live),
	}
	for _, r := range c.nodes.racks {
		v.Total, v.Used = v.Total.Add(r.Total), v.Used.Add(r.Used)
	}
	return v
}

func (c *Cluster) sourceViews() []SourceView {
	out := make([]SourceView, 0, len(c.sources))
	for _, name := range model.Sources() {
		s := c.sources[name]
		if s == nil {
			continue
		}
		v := SourceView{
			Source: name, LastOK: s.lastOK, Result: s.last.Result, Error: s.last.Error, Bytes: s.bytes, Requests: s.requests,
			Seconds: s.sum, Polls: make(map[model.PollResult]int64, len(s.polls)), Buckets: append([]int64(nil), s.buckets...),
		}
		for k, n := range s.polls { // order-free: a copy
			v.Polls[k] = n
		}
		out = append(out, v)
	}
	return out
}

func (c *Cluster) nodeViews() []model.Node {
	if c.published.nodes != nil && c.published.gen == c.nodes.gen {
		return c.published.nodes
	}
	out := make([]model.Node, len(c.nodes.sorted))
	for i, n := range c.nodes.sorted {
		out[i] = n.Node
	}
	c.published.nodes, c.published.gen = out, c.nodes.gen
	return out
}

func (c *Cluster) rackViews() []RackView {
	out := make([]RackView, len(c.nodes.racks))
	for i, r := range c.nodes.racks {
		v := &out[i]
		*v = RackView{
			ID: r.ID, Total: r.Total, Used: r.Used, HDFSBlocks: at(c.hdfs.blocks, i),
			Nodes: map[model.NodeState]int{}, Containers: map[model.Stage]int{},
			Uplink: UplinkView{
				CapacityOut: r.Link.Out, CapacityIn: r.Link.In, Out: r.Load.Out, In: r.Load.In,
				Utilization: r.Utilization, Saturated: r.Load.Saturated, Method: r.Method,
			},
		}
		for _, n := range r.Nodes {
			v.Nodes[n.State]++
			v.Containers[model.StageOther] += n.Containers
		}
	}
	for _, j := range c.jobs.live {
		c.addContainers(out, j)
	}
	return out
}

// addContainers moves a job's known containers from "other" to their stage.
func (c *Cluster) addContainers(racks []RackView, j *Job) {
	for i, stage := range []model.Stage{model.StageMap, model.StageReduce, model.StageAM} {
		for r, n := range j.live[i].byRack {
			n = min(n, racks[r].Containers[model.StageOther]) // the two answers are of different moments
			if n > 0 {
				racks[r].Containers[stage] += n
				racks[r].Containers[model.StageOther] -= n
			}
		}
	}
	for r, n := range j.Map.inRack {
		racks[r].PendingMaps += n
	}
}

func (c *Cluster) trafficView() Traffic {
	t := Traffic{Racks: make([]model.RackID, c.tree.Len()), Bytes: map[TrafficKind][][]float64{}, Regret: map[string]float64{}}
	for i := range t.Racks {
		t.Racks[i] = c.tree.ID(i)
	}
	for k, kind := range TrafficKinds() {
		rows := make([][]float64, len(c.traffic.pairs[k]))
		for s, row := range c.traffic.pairs[k] {
			rows[s] = append([]float64(nil), row...)
		}
		t.Bytes[kind] = rows
	}
	for p, b := range c.traffic.regret { // order-free: a copy
		t.Regret[p] = b
	}
	return t
}

func (c *Cluster) appView(j *Job) *AppView {
	if j.view != nil {
		return j.view
	}
	v := &AppView{
		App: j.App, Map: c.stageView(j.Map), Reduce: c.stageView(j.Reduce),
		Ratio: j.Ratio, Predicted: j.Predicted, Heavy: j.Heavy, Slowstart: j.Slowstart,
		Input: InputView{
			Known: j.Input.Known, Truncated: j.Input.Truncated, Paths: j.Conf.Inputs, Bytes: j.Input.Bytes,
			Blocks: len(j.Input.Blocks), ByRack: c.bytesByRack(j.Input.ByRack),
		},
		MapOutput: OutputView{Total: j.Output.Total, Reported: j.Output.Reported, Unplaced: j.Output.Unplaced, ByRack: c.bytesByRack(j.Output.ByRack)},
		CrossRack: map[TrafficKind]model.Bytes{},
	}
	if !j.counted && shuffle.Total(j.Output.ByRack) == 0 {
		v.MapOutput.Total = model.Unknown
	}
	for k, kind := range TrafficKinds() {
		v.CrossRack[kind] = model.Bytes(j.moved.cross[k])
	}
	for _, p := range []*model.Plan{j.mapPlan, j.reducePlan} {
		if p != nil {
			v.Plans = append(v.Plans, p)
		}
	}
	j.view = v
	return v
}

func (c *Cluster) stageView(s *Stage) StageView {
	v := StageView{Total: s.Total, Pending: s.Pending, Running: s.Running, Completed: s.Completed, Task: s.Capability, Launched: map[model.RackID]int{}}
	for r, n := range s.launched {
		if n > 0 {
			v.Launched[c.tree.ID(r)] = n
		}
	}
	return v
}

func (c *Cluster) bytesByRack(b []model.Bytes) map[model.RackID]model.Bytes {
	out := make(map[model.RackID]model.Bytes, len(b))
	for r, n := range b {
		if n > 0 {
			out[c.tree.ID(r)] = n
		}
	}
	return out
}

func (c Counts) clone() Counts {
	out := c
	out.RejectedByRule = make(map[model.Rule]int64, len(c.RejectedByRule))
	for k, n := range c.RejectedByRule { // order-free: a copy
		out.RejectedByRule[k] = n
	}
	out.DecidedByReason = make(map[model.Reason]int64, len(c.DecidedByReason))
	for k, n := range c.DecidedByReason { // order-free: a copy
		out.DecidedByReason[k] = n
	}
	return out
}

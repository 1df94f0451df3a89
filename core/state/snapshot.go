package state

import (
	"maps"
	"slices"

	"heddle/core/model"
	"heddle/core/shuffle"
	"heddle/core/topology"
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
	VCores     bool                 `json:"-"` // containers have to fit by vcores too
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
	// Held are the rows the ResourceManager last showed as outstanding, nil before it was asked; HeldAt is when they came.
	Held   []model.AskRow `json:"-"`
	HeldAt model.Time     `json:"-"`
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
		Cluster: c.info.view(), Sources: c.sources.views(), Racks: c.nodes.rackViews(), Nodes: c.nodes.nodeViews(),
		Traffic: c.traffic.view(c.nodes.tree), Decisions: c.log.list, Counts: c.counts.clone(), Mismatch: c.nodes.mismatches,
	}
	s.Cluster.Restarts, s.Cluster.LiveApps, s.Cluster.VCores = c.counts.Restarts, len(c.jobs.live), c.countsVCores()
	s.racks = make(map[model.RackID]int, len(s.Racks))
	for i := range s.Racks {
		r := &s.Racks[i]
		r.HDFSBlocks = at(c.hdfs.blocks, i)
		s.racks[r.ID] = i
		s.Cluster.Total, s.Cluster.Used = s.Cluster.Total.Add(r.Total), s.Cluster.Used.Add(r.Used)
	}
	s.Apps = make([]*AppView, 0, len(c.jobs.live)+len(c.jobs.ended))
	for _, j := range c.jobs.live {
		addJob(s.Racks, j)
		s.Apps = append(s.Apps, j.publish(c.nodes.tree))
	}
	for _, j := range slices.Backward(c.jobs.ended) {
		s.Apps = append(s.Apps, j.publish(c.nodes.tree))
	}
	s.apps = make(map[model.AppID]*AppView, len(s.Apps))
	for _, a := range s.Apps {
		s.apps[a.ID] = a
	}
	return s
}

// addJob adds a job's pending maps to the racks, and moves its known containers
// there from "other" to their stage.
func addJob(racks []RackView, j *Job) {
	for i, stage := range []model.Stage{model.StageMap, model.StageReduce, model.StageAM} {
		for r, n := range j.told.live[i].byRack {
			n = min(n, racks[r].Containers[model.StageOther]) // the two answers are of different moments
			if n > 0 {
				racks[r].Containers[stage] += n
				racks[r].Containers[model.StageOther] -= n
			}
		}
	}
	for r, n := range j.Map.Wanted.inRack {
		racks[r].PendingMaps += n
	}
}

// publish returns the job for a snapshot, as last published unless it changed since.
func (j *Job) publish(tree *topology.Tree) *AppView {
	if j.seat.view != nil {
		return j.seat.view
	}
	v := &AppView{
		App: j.App, Map: viewOfStage(j.Map, tree), Reduce: viewOfStage(j.Reduce, tree),
		Ratio: j.Ratio, Predicted: j.Predicted, Heavy: j.Heavy, Slowstart: j.Slowstart,
		Input: InputView{
			Known: j.Input.Known, Truncated: j.Input.Truncated, Paths: j.Conf.Inputs, Bytes: j.Input.Bytes,
			Blocks: len(j.Input.Blocks), ByRack: byRackID(tree, j.Input.ByRack),
		},
		MapOutput: OutputView{Total: j.Output.Total, Reported: j.Output.Reported, Unplaced: j.Output.Unplaced, ByRack: byRackID(tree, j.Output.ByRack)},
		CrossRack: map[TrafficKind]model.Bytes{},
	}
	if !j.told.counted && shuffle.Total(j.Output.ByRack) == 0 {
		v.MapOutput.Total = model.Unknown
	}
	for k, kind := range TrafficKinds() {
		v.CrossRack[kind] = model.Bytes(j.moved.cross[k])
	}
	if j.told.asks.known {
		v.Held, v.HeldAt = append([]model.AskRow{}, j.told.asks.held...), j.told.asks.heldAt
	}
	for _, p := range []*model.Plan{j.plans.mapStage, j.plans.reduce, j.plans.other} {
		if p != nil {
			v.Plans = append(v.Plans, p)
		}
	}
	j.seat.view = v
	return v
}

func viewOfStage(s *Stage, tree *topology.Tree) StageView {
	return StageView{
		Total: s.Total, Pending: s.Pending, Running: s.Running, Completed: s.Completed,
		Task: s.Capability, Launched: byRackID(tree, s.launched),
	}
}

// byRackID returns what is above zero of a slice indexed by rack number.
func byRackID[T ~int | ~int64](tree *topology.Tree, byRack []T) map[model.RackID]T {
	out := make(map[model.RackID]T, len(byRack))
	for r, n := range byRack {
		if n > 0 {
			out[tree.ID(r)] = n
		}
	}
	return out
}

func (c Counts) clone() Counts {
	c.RejectedByRule = maps.Clone(c.RejectedByRule)
	c.DecidedByReason = maps.Clone(c.DecidedByReason)
	return c
}

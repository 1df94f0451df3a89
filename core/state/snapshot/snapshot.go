// Package snapshot holds the immutable picture of a cluster that readers
// outside the loop get: plain values that refer to nothing of the cluster.
package snapshot

import "heddle/core/model"

// Snapshot is an immutable picture of the cluster (I2). What did not change
// since the snapshot before is shared with it.
type Snapshot struct {
	Seq       uint64           `json:"seq"`
	At        model.Time       `json:"at_ms"` // of the newest observation in it
	Cluster   Cluster          `json:"cluster"`
	Sources   []Source         `json:"sources"`
	Racks     []Rack           `json:"racks"`        // by rack number
	Nodes     []model.Node     `json:"nodes"`        // by id
	Apps      []*App           `json:"applications"` // live by submit time, then ended ones, newest first
	Traffic   Traffic          `json:"traffic"`
	Decisions []model.Decision `json:"decisions"` // the newest, oldest first; none where no engine decides
	Counts    Counts           `json:"counts"`
	Mismatch  []RackMismatch   `json:"rack_mismatches"`

	// Accounts are those of the policy that decides, if one does, and of the shadows.
	Accounts []PolicyAccount `json:"accounts,omitempty"`
	Guard    Guard           `json:"guard"`
	// Plans are the newest plans of an application's stages, maps first.
	Plans map[model.AppID][]*model.Plan `json:"plans"`

	apps  map[model.AppID]*App
	racks map[model.RackID]int
}

// Cluster describes the ResourceManager and the cluster as a whole.
type Cluster struct {
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

// Source is the health of one source. Age is to be taken at reading time:
// now - LastOK.
type Source struct {
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

// Rack is one rack.
type Rack struct {
	ID          model.RackID            `json:"id"`
	Nodes       map[model.NodeState]int `json:"nodes"` // by state
	Total       model.Resource          `json:"total"` // over running nodes
	Used        model.Resource          `json:"used"`
	Containers  map[model.Stage]int     `json:"containers"`  // by stage; "other" are those whose stage no source reports
	HDFSBlocks  int64                   `json:"hdfs_blocks"` // replicas
	Uplink      Uplink                  `json:"uplink"`
	PendingMaps int                     `json:"pending_maps"` // asks that would be rack-local here, over all jobs
}

// Uplink is the load of one rack's uplink.
type Uplink struct {
	CapacityOut model.BytesPerSecond `json:"capacity_out"` // 0 when not known
	CapacityIn  model.BytesPerSecond `json:"capacity_in"`
	Out         model.BytesPerSecond `json:"out"` // smoothed
	In          model.BytesPerSecond `json:"in"`
	Utilization float64              `json:"utilization"` // of the busier direction
	Saturated   bool                 `json:"saturated"`
	Method      string               `json:"method"`
}

// App is one application.
type App struct {
	model.App
	Map       Stage                       `json:"map"`
	Reduce    Stage                       `json:"reduce"`
	Ratio     float64                     `json:"shuffle_input_ratio"`
	Predicted bool                        `json:"ratio_measured"`
	Heavy     bool                        `json:"shuffle_heavy"`
	Slowstart float64                     `json:"slowstart"`
	Input     Input                       `json:"input"`
	MapOutput Output                      `json:"map_output"`
	CrossRack map[TrafficKind]model.Bytes `json:"cross_rack_bytes"`
	// Held are the rows the ResourceManager last showed as outstanding, nil before it was asked; HeldAt is when it was.
	Held   []model.AskRow `json:"-"`
	HeldAt model.Time     `json:"-"`
}

// Stage is one stage.
type Stage struct {
	Total     int                  `json:"total"`
	Pending   int                  `json:"pending"`
	Running   int                  `json:"running"`
	Completed int                  `json:"completed"`
	Task      model.Resource       `json:"task"`
	Launched  map[model.RackID]int `json:"launched"` // running or done, by rack
}

// Input is a job's input by rack.
type Input struct {
	Known     bool                         `json:"known"`
	Truncated bool                         `json:"truncated"`
	Paths     []string                     `json:"paths"`
	Bytes     model.Bytes                  `json:"bytes"`
	Blocks    int                          `json:"blocks"`
	ByRack    map[model.RackID]model.Bytes `json:"by_rack"` // bytes with a replica there
}

// Output is a job's map output by rack.
type Output struct {
	Total    model.Bytes                  `json:"total"`    // -1 until known
	Reported model.Bytes                  `json:"reported"` // by attempts; the rest is spread
	Unplaced model.Bytes                  `json:"unplaced"`
	ByRack   map[model.RackID]model.Bytes `json:"by_rack"`
}

// Traffic is what moved from rack to rack since heddle started, bytes.
type Traffic struct {
	Racks []model.RackID              `json:"racks"`
	Bytes map[TrafficKind][][]float64 `json:"bytes"` // [source][destination] in the order of Racks; rows and columns may be short
}

// Index prepares App and Rack once Apps and Racks are complete.
func (s *Snapshot) Index() {
	s.racks = make(map[model.RackID]int, len(s.Racks))
	for i := range s.Racks {
		s.racks[s.Racks[i].ID] = i
	}
	s.apps = make(map[model.AppID]*App, len(s.Apps))
	for _, a := range s.Apps {
		s.apps[a.ID] = a
	}
}

// App returns an application of the snapshot, nil if it has none of that id.
func (s *Snapshot) App(id model.AppID) *App { return s.apps[id] }

// Rack returns a rack of the snapshot, nil if it has none of that id.
func (s *Snapshot) Rack(id model.RackID) *Rack {
	if i, ok := s.racks[id]; ok {
		return &s.Racks[i]
	}
	return nil
}

// Counts are totals of what heddle had to work around; each is exported.
type Counts struct {
	ClockJumps      int64                  `json:"clock_jumps"`     // observations more than a minute older than the one before
	HostsNoRack     int                    `json:"hosts_no_rack"`   // hosts in the default rack now
	RackMismatches  int                    `json:"rack_mismatches"` // hosts whose rack differs between ResourceManager and NameNode now
	UnknownHosts    int64                  `json:"unknown_hosts"`   // task or replica hosts in no known rack, counted as default-rack
	EstimatedLoads  int64                  `json:"estimated_loads"` // rack samples that fell back to the estimate
	UntrackedTasks  int64                  `json:"untracked_tasks"` // task updates beyond MaxTasks or outside their stage
	Restarts        int64                  `json:"restarts"`        // ResourceManager restarts and failovers seen
	RejectedByRule  map[model.Rule]int64   `json:"rejected_by_rule"`
	DecidedByReason map[model.Reason]int64 `json:"decided_by_reason"`
}

// RackMismatch is a host that ResourceManager, NameNode and the site's table do
// not put in one rack. A rack is empty where that source does not know the host.
type RackMismatch struct {
	Host            string       `json:"host"`
	ResourceManager model.RackID `json:"resource_manager"`
	NameNode        model.RackID `json:"name_node,omitempty"`
	Table           model.RackID `json:"table,omitempty"`
}

// TrafficKind is what moved bytes between racks.
type TrafficKind string

// The kinds of traffic (metrics label kind).
const (
	TrafficShuffle TrafficKind = "shuffle"
	TrafficMapRead TrafficKind = "map_read"
	TrafficWrite   TrafficKind = "write"
)

// TrafficKinds lists the kinds in a fixed order.
func TrafficKinds() []TrafficKind {
	return []TrafficKind{TrafficShuffle, TrafficMapRead, TrafficWrite}
}

// DurationBuckets are the upper bounds of the poll duration histogram in
// seconds: 10 ms for one small answer to 60 s, past any sane timeout.
func DurationBuckets() []float64 {
	return []float64{0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60}
}

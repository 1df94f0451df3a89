package model

import (
	"encoding/json"
	"fmt"
)

// Source names where observations come from; it is a label value in metrics.
type Source string

// The sources.
const (
	SourceRM        Source = "rm"        // ResourceManager REST
	SourceMapReduce Source = "mapreduce" // MapReduce ApplicationMasters, through the ResourceManager's proxy
	SourceHistory   Source = "history"   // JobHistory server
	SourceTez       Source = "tez"       // timeline server, for the graphs of Tez applications
	SourceHDFS      Source = "hdfs"      // NameNode
	SourceUplink    Source = "uplink"    // shuffle-jmx or prometheus
	SourceRelay     Source = "relay"     // the allocate calls that pass heddle's relay
)

// SourceService is the service itself, which says when it did something that a replay
// has to do too. It is polled by nobody and no label value.
const SourceService Source = "service"

// Sources lists every source in a fixed order.
func Sources() []Source {
	return []Source{SourceRM, SourceMapReduce, SourceHistory, SourceTez, SourceHDFS, SourceUplink, SourceRelay}
}

// Observation is one normalised fact on its way into the cluster state. It is
// a plain value: the receiver owns it, and the sender keeps no part of it.
type Observation struct {
	Source Source
	At     Time // when the source was read
	Fact   Fact
}

// Fact is what an observation says. The set is closed: the types below.
type Fact interface {
	// Kind is the fact's name in recordings.
	Kind() string
}

// ClusterFact describes the active ResourceManager. A change of Started is a
// restart or a failover.
type ClusterFact struct {
	Started   Time   `json:"started_ms"` // also the timestamp in application ids
	Version   string `json:"version"`
	HAState   string `json:"ha_state"`
	Address   string `json:"address"`             // host:port of the ResourceManager that answered
	Scheduler string `json:"scheduler,omitempty"` // "capacityScheduler", "fairScheduler", …
	// Localities are the scheduler's counts of containers allocated so far at
	// each level since its start, where it reports them (QueueMetrics of root).
	Localities *LocalityCounts `json:"localities,omitempty"`
	Queues     []Queue         `json:"queues,omitempty"`
}

// LocalityCounts counts allocations by locality level.
type LocalityCounts struct {
	NodeLocal int64 `json:"node_local"`
	RackLocal int64 `json:"rack_local"`
	OffSwitch int64 `json:"off_switch"`
}

// Queue is one leaf queue with its share of the cluster, 0..1.
type Queue struct {
	ID    QueueID `json:"id"`
	Share float64 `json:"share"`
}

// NodesFact lists every node the ResourceManager knows, whatever its state.
type NodesFact struct {
	Nodes []Node `json:"nodes"`
	// Partial says that only what is new or has changed is listed.
	Partial bool `json:"partial,omitempty"`
}

// AppsFact lists every application that has not ended, and some that ended
// lately. An application that was live and is not listed has ended.
type AppsFact struct {
	Apps []App `json:"apps"`
	// Partial says that only what is new, has changed or has ended is listed.
	Partial bool `json:"partial,omitempty"`
}

// AsksFact is the whole outstanding ask table of one application: from the
// ResourceManager what that holds, from the relay what the application itself
// asked, before any row was rewritten. The ResourceManager's has the time at which it was asked: it held the rows
// then or later.
type AsksFact struct {
	App  AppID    `json:"app"`
	Rows []AskRow `json:"rows"`
	// Relayed is what the relay has done for the application so far; zero from the ResourceManager.
	Relayed Relayed `json:"relayed,omitzero"`
}

// Relayed is what a relay has done to the asks of an application attempt since it knows all of them. The figures grow,
// until the relay has to learn the attempt anew: then they start at zero again.
type Relayed struct {
	Granted int `json:"granted"`           // containers
	Steered int `json:"steered,omitempty"` // of them, those granted while their asks were rewritten
	// Waited is how long asks waited for their planned racks while another rack could have served them.
	Waited Duration `json:"waited_ms,omitempty"`
}

// Add returns r plus o.
func (r Relayed) Add(o Relayed) Relayed {
	return Relayed{Granted: r.Granted + o.Granted, Steered: r.Steered + o.Steered, Waited: r.Waited + o.Waited}
}

// ContainersFact lists every live container of one application.
type ContainersFact struct {
	App        AppID       `json:"app"`
	Containers []Container `json:"containers"`
	Blacklist  []string    `json:"blacklist,omitempty"` // hosts the application refuses (appAttempt.blacklistedNodes)
}

// JobFact is the progress of one MapReduce job (AM or JobHistory job object).
type JobFact struct {
	App              AppID `json:"app"`
	MapsTotal        int   `json:"maps_total"`
	MapsPending      int   `json:"maps_pending"`
	MapsRunning      int   `json:"maps_running"`
	MapsCompleted    int   `json:"maps_completed"`
	ReducesTotal     int   `json:"reduces_total"`
	ReducesPending   int   `json:"reduces_pending"`
	ReducesRunning   int   `json:"reduces_running"`
	ReducesCompleted int   `json:"reduces_completed"`
	Done             bool  `json:"done,omitempty"` // from the JobHistory server: nothing more will come
}

// JobConfFact is what heddle needs of a job's configuration.
type JobConfFact struct {
	App         AppID    `json:"app"`
	Inputs      []string `json:"inputs"`                // mapreduce.input.fileinputformat.inputdir
	Output      string   `json:"output,omitempty"`      // mapreduce.output.fileoutputformat.outputdir
	Slowstart   float64  `json:"slowstart"`             // mapreduce.job.reduce.slowstart.completedmaps
	Replication int      `json:"replication,omitempty"` // dfs.replication as the job sees it: copies of its output
	MapTask     Resource `json:"map_task,omitzero"`     // what it asks for a map; zero when it does not say
	ReduceTask  Resource `json:"reduce_task,omitzero"`  // and for a reduce
	// Workflow is the chain of jobs it belongs to, nil if it says none.
	Workflow *Workflow `json:"workflow,omitempty"`
}

// TasksFact updates some tasks of one job; tasks not listed are unchanged.
type TasksFact struct {
	App   AppID  `json:"app"`
	Tasks []Task `json:"tasks"`
}

// CountersFact holds the job counters of one job, summed over its tasks.
// A counter the job does not have is Unknown.
type CountersFact struct {
	App              AppID `json:"app"`
	MapOutput        Bytes `json:"map_output_bytes"`                 // MAP_OUTPUT_MATERIALIZED_BYTES
	MapInput         Bytes `json:"map_input_bytes"`                  // HDFS_BYTES_READ of the maps
	MapOutputPlain   Bytes `json:"map_output_plain_bytes,omitempty"` // MAP_OUTPUT_BYTES: the same before it was compressed; 0 if not known, and with a combiner
	ReduceShuffle    Bytes `json:"reduce_shuffle_bytes"`             // REDUCE_SHUFFLE_BYTES
	HDFSWritten      Bytes `json:"hdfs_written_bytes"`               // HDFS_BYTES_WRITTEN
	NodeLocalMaps    int   `json:"node_local_maps"`                  // DATA_LOCAL_MAPS
	RackLocalMaps    int   `json:"rack_local_maps"`                  // RACK_LOCAL_MAPS
	OtherLocalMaps   int   `json:"other_local_maps"`                 // OTHER_LOCAL_MAPS
	LaunchedReduces  int   `json:"launched_reduces"`                 // TOTAL_LAUNCHED_REDUCES
	CompletedMapsNow int   `json:"completed_maps,omitempty"`         // maps completed when the counters were read, 0 if not known
}

// BlocksFact holds the blocks of every file under one path.
type BlocksFact struct {
	Path      string  `json:"path"`
	Files     int     `json:"files"`
	Blocks    []Block `json:"blocks"`
	Truncated bool    `json:"truncated,omitempty"` // a limit was met: Blocks is a sample
}

// DataNodesFact lists the DataNodes as the NameNode sees them.
type DataNodesFact struct {
	DataNodes []DataNode `json:"data_nodes"`
}

// UplinkSample is the load of one rack's uplink.
type UplinkSample struct {
	Rack RackID         `json:"rack"`
	Out  BytesPerSecond `json:"out"` // leaving the rack
	In   BytesPerSecond `json:"in"`  // entering the rack
}

// UplinkFact is a sample of uplink loads from one method.
type UplinkFact struct {
	Method  string         `json:"method"` // "shuffle-jmx" or "prometheus"
	Samples []UplinkSample `json:"samples"`
}

// PollResult is how one poll of a source ended; a label value in metrics.
type PollResult string

// Poll results.
const (
	PollOK          PollResult = "ok"
	PollUnreachable PollResult = "unreachable" // no connection, timeout
	PollStandby     PollResult = "standby"     // no active ResourceManager or NameNode
	PollDenied      PollResult = "denied"      // authentication or authorisation refused
	PollInvalid     PollResult = "invalid"     // an answer that does not decode, is too large or of the wrong type
	PollBudget      PollResult = "budget"      // not everything was asked: the budget was spent
	PollError       PollResult = "error"       // anything else, such as safe mode or a status 5xx
)

// PollResults lists every result in a fixed order.
func PollResults() []PollResult {
	return []PollResult{PollOK, PollUnreachable, PollStandby, PollDenied, PollInvalid, PollBudget, PollError}
}

// PollFact reports one finished poll of a source, good or bad. A poll that
// ends in PollOK or PollBudget makes the source fresh.
type PollFact struct {
	Result     PollResult `json:"result"`
	Error      string     `json:"error,omitempty"`
	DurationMS int64      `json:"duration_ms"`
	Requests   int64      `json:"requests"`
	Bytes      Bytes      `json:"bytes"` // received
}

// SampleFact says that the load of every uplink was sampled.
type SampleFact struct{}

// RoundFact says that plans were made, of one application or of all.
type RoundFact struct {
	App AppID `json:"app,omitempty"`
}

// PolicyFact says what decides from here on, after the configuration was loaded again.
type PolicyFact struct {
	Policy     string     `json:"policy,omitempty"` // "" decides nothing
	Params     string     `json:"params,omitempty"` // a JSON object
	Saturation Saturation `json:"saturation"`
}

// Saturation are the settings of NetSat (ShuffleWatcher §3.1.1).
type Saturation struct {
	Threshold  float64  `json:"threshold"` // utilisation
	Period     Duration `json:"period_ms"`
	EWMA       Duration `json:"ewma_ms"`
	Hysteresis float64  `json:"hysteresis"`
}

// Kind implements Fact.
func (SampleFact) Kind() string { return "sample" }

// Kind implements Fact.
func (RoundFact) Kind() string { return "round" }

// Kind implements Fact.
func (PolicyFact) Kind() string { return "policy" }

// Kind implements Fact.
func (ClusterFact) Kind() string { return "cluster" }

// Kind implements Fact.
func (NodesFact) Kind() string { return "nodes" }

// Kind implements Fact.
func (AppsFact) Kind() string { return "apps" }

// Kind implements Fact.
func (AsksFact) Kind() string { return "asks" }

// Kind implements Fact.
func (ContainersFact) Kind() string { return "containers" }

// Kind implements Fact.
func (JobFact) Kind() string { return "job" }

// Kind implements Fact.
func (JobConfFact) Kind() string { return "job_conf" }

// Kind implements Fact.
func (TasksFact) Kind() string { return "tasks" }

// Kind implements Fact.
func (CountersFact) Kind() string { return "counters" }

// Kind implements Fact.
func (BlocksFact) Kind() string { return "blocks" }

// Kind implements Fact.
func (DataNodesFact) Kind() string { return "data_nodes" }

// Kind implements Fact.
func (UplinkFact) Kind() string { return "uplink" }

// Kind implements Fact.
func (PollFact) Kind() string { return "poll" }

// observationJSON is the form of an observation in recordings.
type observationJSON struct {
	Source Source          `json:"source"`
	AtMS   Time            `json:"at_ms"`
	Kind   string          `json:"fact"`
	Body   json.RawMessage `json:"body"`
}

// MarshalJSON implements json.Marshaler.
func (o Observation) MarshalJSON() ([]byte, error) {
	if o.Fact == nil {
		return nil, fmt.Errorf("observation of %s: no fact", o.Source)
	}
	body, err := json.Marshal(o.Fact)
	if err != nil {
		return nil, fmt.Errorf("observation %s: %w", o.Fact.Kind(), err)
	}
	return json.Marshal(observationJSON{Source: o.Source, AtMS: o.At, Kind: o.Fact.Kind(), Body: body})
}

// UnmarshalJSON implements json.Unmarshaler. It refuses an unknown kind.
func (o *Observation) UnmarshalJSON(data []byte) error {
	var j observationJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return fmt.Errorf("observation: %w", err)
	}
	for _, k := range factKinds() {
		if k.empty.Kind() != j.Kind {
			continue
		}
		fact, err := k.decode(j.Body)
		if err != nil {
			return fmt.Errorf("observation %s: %w", j.Kind, err)
		}
		*o = Observation{Source: j.Source, At: j.AtMS, Fact: fact}
		return nil
	}
	return fmt.Errorf("observation: unknown fact %q", j.Kind)
}

// factKind is a kind of fact.
type factKind struct {
	empty  Fact
	decode func(body []byte) (Fact, error)
}

// factKinds lists all kinds in a fixed order.
func factKinds() []factKind {
	return []factKind{
		kindOf[ClusterFact](), kindOf[NodesFact](), kindOf[AppsFact](), kindOf[AsksFact](), kindOf[ContainersFact](), kindOf[JobFact](),
		kindOf[JobConfFact](), kindOf[TasksFact](), kindOf[CountersFact](), kindOf[BlocksFact](), kindOf[DataNodesFact](), kindOf[UplinkFact](),
		kindOf[GraphFact](), kindOf[PollFact](), kindOf[HistoryFact](), kindOf[SampleFact](), kindOf[RoundFact](), kindOf[PolicyFact](),
	}
}

func kindOf[F Fact]() factKind {
	var empty F
	return factKind{empty, decodeFact[F]}
}

func decodeFact[F Fact](body []byte) (Fact, error) {
	var f F
	if err := json.Unmarshal(body, &f); err != nil {
		return nil, err
	}
	return f, nil
}

// Facts returns an empty fact of every kind, in a fixed order.
func Facts() []Fact {
	var all []Fact
	for _, k := range factKinds() {
		all = append(all, k.empty)
	}
	return all
}

package account

import (
	"encoding/json"

	"heddle/core/model"
	"heddle/core/state/snapshot"
)

// Totals are sums over jobs.
type Totals struct {
	Jobs    int `json:"jobs"`
	Planned int `json:"planned_jobs"` // of them, those for a stage of which a plan named racks

	CrossRack snapshot.CrossRack `json:"cross_rack_bytes"`          // where the policy wanted the tasks
	Recorded  snapshot.CrossRack `json:"recorded_cross_rack_bytes"` // where they ran
	Least     snapshot.CrossRack `json:"least_cross_rack_bytes"`    // the least there is, each job on its own
	Regret    Regret             `json:"regret_bytes"`
	Moved     Moved              `json:"moved"`
	Locality  Locality           `json:"locality"`
	Busiest   Bytes              `json:"busiest_uplink_bytes"` // summed over jobs: the most loaded uplink of each job's shuffle
}

// Add adds a job.
func (t *Totals) Add(j *Job) {
	t.Jobs++
	if j.Maps.Planned || j.Reduces.Planned {
		t.Planned++
	}
	t.Recorded.Add(j.Shuffle.Recorded, j.MapRead.Recorded)
	t.CrossRack.Add(j.Shuffle.Policy, j.MapRead.Policy)
	t.Least.Add(j.Shuffle.Least, j.MapRead.Least)
	row := j.Row()
	t.Regret.add(row.Recorded - row.Policy)
	t.Busiest.Add(j.Busiest)
	t.Moved.Maps += j.Maps.Moved
	t.Moved.Reduces += j.Reduces.Moved
	t.Moved.MapsOf += total(j.Maps.Allocated)
	t.Moved.ReducesOf += total(j.Reduces.Allocated)
	t.Locality.add(j.Blocks)
}

// Regret is the difference between what happened and what a policy wanted: the bytes
// saved in jobs where it wanted less, those lost where it wanted more, and the sum.
type Regret struct {
	Saved model.Bytes `json:"saved"`
	Lost  model.Bytes `json:"lost"`
	Net   model.Bytes `json:"net"` // saved less lost
}

func (b *Regret) add(difference model.Bytes) {
	b.Saved += max(difference, 0)
	b.Lost += max(-difference, 0)
	b.Net += difference
}

// Moved counts containers that the policy wanted on another rack.
type Moved struct {
	Maps, MapsOf       int
	Reduces, ReducesOf int
}

// MarshalJSON implements json.Marshaler.
func (m Moved) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]int{"maps": m.Maps, "maps_of": m.MapsOf, "reduces": m.Reduces, "reduces_of": m.ReducesOf})
}

// Blocks counts the blocks that the maps of a job read.
type Blocks struct {
	All      int `json:"all"`      // whose places are known
	Recorded int `json:"recorded"` // of them, those with a replica in the rack of their map
	Policy   int `json:"policy"`   // the same, where the policy wanted the maps
}

// Locality is the share of blocks with a replica in the rack of their map, 0 to 1. Nodes are not
// told apart: plans name racks.
type Locality struct {
	Recorded float64 `json:"recorded"`
	Policy   float64 `json:"policy"`

	blocks Blocks
}

func (l *Locality) add(b Blocks) {
	l.blocks.All += b.All
	l.blocks.Recorded += b.Recorded
	l.blocks.Policy += b.Policy
	if l.blocks.All > 0 {
		l.Recorded, l.Policy = float64(l.blocks.Recorded)/float64(l.blocks.All), float64(l.blocks.Policy)/float64(l.blocks.All)
	}
}

func total(counts map[model.RackID]int) int {
	n := 0
	for _, c := range counts { // order-free: a sum
		n += c
	}
	return n
}

package snapshot

import "heddle/core/model"

// PolicyAccount compares, over the jobs that ended, where tasks ran with where a policy's plans wanted
// them (package account).
type PolicyAccount struct {
	Policy   string         `json:"policy"`
	Decides  bool           `json:"decides"` // else it is only compared
	Since    model.Time     `json:"since_ms"`
	Jobs     int            `json:"jobs"`
	Planned  int            `json:"planned_jobs"`              // of them, those for a stage of which a plan named racks
	Recorded CrossRack      `json:"recorded_cross_rack_bytes"` // where the tasks ran
	Wanted   CrossRack      `json:"cross_rack_bytes"`          // where the policy wanted them
	Least    CrossRack      `json:"least_cross_rack_bytes"`    // the least there is, each job on its own
	Saved    model.Bytes    `json:"saved_bytes"`               // in jobs where it wanted less across racks than happened
	Lost     model.Bytes    `json:"lost_bytes"`                // in those where it wanted more
	Skipped  int64          `json:"skipped_rounds"`            // in which it made no plans, for lack of time
	Granted  GrantedReduces `json:"granted_reduces"`
	Recent   []JobAccount   `json:"applications"` // the newest last
}

// CrossRack is bytes across racks by kind.
type CrossRack struct {
	Shuffle model.Bytes `json:"shuffle"`
	MapRead model.Bytes `json:"map_read"`
	Total   model.Bytes `json:"total"`
}

// Add adds bytes.
func (c *CrossRack) Add(shuffle, mapRead model.Bytes) {
	c.Shuffle += shuffle
	c.MapRead += mapRead
	c.Total += shuffle + mapRead
}

// JobAccount is one job that ended, in bytes across racks.
type JobAccount struct {
	App      model.AppID `json:"application"`
	Ended    model.Time  `json:"ended_ms"`
	Recorded model.Bytes `json:"recorded_bytes"`
	Policy   model.Bytes `json:"policy_bytes"`
	Least    model.Bytes `json:"least_bytes"`
	// Granted judges the reduces that were granted while a plan of the policy named racks and could be in force.
	Granted GrantedReduces `json:"granted_reduces"`
}

// GrantedReduces counts reduces by what the closed form said when they were first seen to be granted: NoOutput on a rack
// where none of their job's map output was expected while a rack with some had room, Busier under a plan whose busiest uplink would
// carry more than policy.MaxBusier times what an even spread's would, OK else.
type GrantedReduces struct {
	OK       int `json:"ok"`
	NoOutput int `json:"no_output"`
	Busier   int `json:"busier_uplink"`
}

// Add adds others.
func (g *GrantedReduces) Add(o GrantedReduces) {
	g.OK += o.OK
	g.NoOutput += o.NoOutput
	g.Busier += o.Busier
}

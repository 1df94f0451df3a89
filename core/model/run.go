package model

// Run is what one run of a recurring job read and wrote, in bytes.
type Run struct {
	App       AppID `json:"app"`
	Submitted Time  `json:"submitted_ms"`
	At        Time  `json:"at_ms"`         // when this was measured
	Input     Bytes `json:"input_bytes"`   // of the maps measured, above 0
	Shuffle   Bytes `json:"shuffle_bytes"` // map output of the same maps
	Output    Bytes `json:"output_bytes"`  // of the whole job, which read Input; Unknown before it ended
}

// JobRuns are the runs of one user under one name, by submit time.
type JobRuns struct {
	User UserID `json:"user"`
	Name string `json:"name"`
	Runs []Run  `json:"runs"`
}

// HistoryFact holds what jobs were measured at before heddle started, as it was
// kept on disk.
type HistoryFact struct {
	Jobs []JobRuns `json:"jobs"`
}

// Kind implements Fact.
func (HistoryFact) Kind() string { return "history" }

package workload

import "heddle/core/model"

// Summary describes a workload in a result.
type Summary struct {
	Name    string      `json:"name"`
	Jobs    int         `json:"jobs"`
	Classes ClassCounts `json:"classes"` // jobs, by the bytes they shuffle
	// Chained is the number of jobs that read the output of others.
	Chained int         `json:"chained_jobs"`
	Stages  int         `json:"stages"`
	Tasks   int         `json:"tasks"`
	Users   int         `json:"users"`
	Input   model.Bytes `json:"input_bytes"`   // read from HDFS
	Shuffle model.Bytes `json:"shuffle_bytes"` // over scatter-gather edges
	Output  model.Bytes `json:"output_bytes"`  // to HDFS, before replication
	SpanS   float64     `json:"span_s"`        // from the first submission to the last
	Skipped []Skip      `json:"skipped,omitempty"`
}

// ClassCounts is the number of jobs of each class.
type ClassCounts struct {
	Light  int `json:"light"`
	Medium int `json:"medium"`
	Heavy  int `json:"heavy"`
}

// Describe sums a workload up.
func (w *Workload) Describe() Summary {
	s := Summary{Name: w.Name, Jobs: len(w.Jobs), Skipped: w.Skipped}
	users := map[model.UserID]bool{}
	for i := range w.Jobs {
		j := &w.Jobs[i]
		users[j.User] = true
		shuffle := j.Shuffle()
		switch ClassOf(shuffle) {
		case Light:
			s.Classes.Light++
		case Medium:
			s.Classes.Medium++
		case Heavy:
			s.Classes.Heavy++
		}
		if len(j.Parents) > 0 {
			s.Chained++
		}
		s.Stages += len(j.Stages)
		s.Tasks += j.Tasks()
		s.Input = addCapped(s.Input, j.Input())
		s.Shuffle = addCapped(s.Shuffle, shuffle)
		s.Output = addCapped(s.Output, j.Output())
	}
	s.Users = len(users)
	if n := len(w.Jobs); n > 0 {
		s.SpanS = w.Jobs[n-1].Submit.Sub(w.Jobs[0].Submit).Seconds()
	}
	return s
}

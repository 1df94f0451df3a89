package workload

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"heddle/core/model"
)

// The lines of the format, as they are written. Decoding is stricter than
// encoding/json can be, and has its own code.
type (
	headerLine struct {
		Format int    `json:"format"`
		Kind   string `json:"kind"`
		Name   string `json:"name,omitempty"`
	}
	jobLine struct {
		ID      JobID         `json:"id"`
		Name    string        `json:"name,omitempty"`
		User    model.UserID  `json:"user"`
		Queue   model.QueueID `json:"queue"`
		Submit  model.Time    `json:"submit_ms"`
		Parents []JobID       `json:"parents,omitempty"`
		Stages  []stageLine   `json:"stages"`
	}
	stageLine struct {
		Name   model.Stage    `json:"name"`
		Tasks  int            `json:"tasks"`
		Reads  []readLine     `json:"reads,omitempty"`
		Edges  []edgeLine     `json:"edges,omitempty"`
		Output model.Bytes    `json:"output_bytes"`
		Fixed  model.Duration `json:"fixed_ms"`
		PerGiB model.Duration `json:"per_gib_ms"`
		Memory int64          `json:"memory_mib"`
		VCores int64          `json:"vcores"`
		Skew   float64        `json:"skew,omitempty"`
	}
	readLine struct {
		Bytes  model.Bytes `json:"bytes"`
		Racks  int         `json:"racks,omitempty"`
		Shares []float64   `json:"shares,omitempty"`
		Parent JobID       `json:"parent,omitempty"`
		Node   []int       `json:"node,omitempty"`
	}
	edgeLine struct {
		From model.Stage    `json:"from"`
		Kind model.EdgeKind `json:"kind"`
	}
)

// Write writes a workload in heddle's own format. It refuses one that Validate
// refuses, before it writes anything. What a lenient reader left out is not
// written.
func Write(to io.Writer, w *Workload) error {
	if err := w.Validate(); err != nil {
		return fmt.Errorf("write workload: %w", err)
	}
	out := bufio.NewWriterSize(to, 64<<10)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(headerLine{Format: Format, Kind: formatKind, Name: w.Name}); err != nil {
		return fmt.Errorf("write workload: %w", err)
	}
	for i := range w.Jobs {
		if err := enc.Encode(w.line(&w.Jobs[i])); err != nil {
			return fmt.Errorf("write workload: job %s: %w", w.Jobs[i].ID, err)
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write workload: %w", err)
	}
	return nil
}

func (w *Workload) line(j *Job) jobLine {
	l := jobLine{ID: j.ID, Name: j.Name, User: j.User, Queue: j.Queue, Submit: j.Submit}
	for _, p := range j.Parents {
		l.Parents = append(l.Parents, w.Jobs[p].ID)
	}
	for i := range j.Stages {
		s := &j.Stages[i]
		out := stageLine{
			Name: s.Name, Tasks: s.Tasks, Output: s.Output, Fixed: s.Cost.Fixed, PerGiB: s.Cost.PerGiB,
			Memory: s.Container.MemoryMiB, VCores: s.Container.VCores, Skew: s.Skew,
		}
		for _, r := range s.Reads {
			read := readLine{Bytes: r.Bytes, Racks: r.Racks, Shares: r.Shares}
			if r.Place == OfParent {
				read.Parent = w.Jobs[r.Parent].ID
			}
			if r.Place == OnNode {
				read.Node = []int{r.Node.Rack, r.Node.Number}
			}
			out.Reads = append(out.Reads, read)
		}
		for _, e := range s.Edges {
			out.Edges = append(out.Edges, edgeLine{From: j.Stages[e.From].Name, Kind: e.Kind})
		}
		l.Stages = append(l.Stages, out)
	}
	return l
}

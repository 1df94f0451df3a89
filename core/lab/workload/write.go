package workload

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
)

// Write writes a workload in heddle's own format. What a lenient reader left out is
// not written.
func Write(to io.Writer, w *Workload) error {
	out := bufio.NewWriterSize(to, 64<<10)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(headerLine{Format: Format, Kind: formatKind, Name: w.Name}); err != nil {
		return fmt.Errorf("write workload: %w", err)
	}
	for i := range w.Jobs {
		if err := enc.Encode(lineOf(w, &w.Jobs[i])); err != nil {
			return fmt.Errorf("write workload: job %s: %w", w.Jobs[i].ID, err)
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write workload: %w", err)
	}
	return nil
}

func lineOf(w *Workload, j *Job) jobLine {
	l := jobLine{ID: j.ID, Name: j.Name, User: j.User, Queue: j.Queue, Submit: &j.Submit, AMLaunched: j.AMLaunched}
	if j.AMRanOn != (Node{}) {
		l.AMRanOn = []int{j.AMRanOn.Rack, j.AMRanOn.Number}
	}
	for _, p := range j.Parents {
		l.Parents = append(l.Parents, w.Jobs[p].ID)
	}
	for i := range j.Stages {
		s := &j.Stages[i]
		out := stageLine{
			Name: s.Name, Tasks: s.Tasks, Output: &s.Output, Fixed: s.Cost.Fixed, PerGiB: s.Cost.PerGiB, Start: s.Start,
			Memory: &s.Container.MemoryMiB, VCores: &s.Container.VCores, Skew: s.Skew,
		}
		for i := range s.Reads {
			r := &s.Reads[i]
			file := fileLine{Bytes: &r.Bytes, Shares: r.Shares}
			switch r.Place {
			case Everywhere, ByShares:
			case OnRacks:
				file.Racks = &r.Racks
			case OfParent:
				file.Parent = &w.Jobs[r.Parent].ID
			case OnNode:
				file.Node = []int{r.Node.Rack, r.Node.Number}
			}
			out.Reads = append(out.Reads, file)
		}
		for _, e := range s.Edges {
			out.Edges = append(out.Edges, edgeLine{From: j.Stages[e.From].Name, Kind: e.Kind})
		}
		out.Tasked = measuredLines(s.Measured)
		l.Stages = append(l.Stages, out)
	}
	return l
}

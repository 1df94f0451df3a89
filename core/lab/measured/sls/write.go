package sls

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"heddle/core/lab/measured"
	"heddle/core/lab/workload"
	"heddle/core/model"
)

// Host returns the name that a node of a workload has in a trace, as /rack00001/node00001-00002.
// Numbers have leading zeros, so that names sort as the nodes do.
func Host(n workload.Node) string { return rackName(n.Rack) + "/" + nodeName(n) }

func rackName(rack int) string { return fmt.Sprintf("/rack%05d", rack) }

func nodeName(n workload.Node) string { return fmt.Sprintf("node%05d-%05d", n.Rack, n.Number) }

// outJob and outTask are what is written, in the order in which it is.
type (
	outJob struct {
		AMType string    `json:"am.type"`
		Start  int64     `json:"job.start.ms"`
		End    int64     `json:"job.end.ms"`
		Queue  string    `json:"job.queue.name"`
		ID     string    `json:"job.id"`
		Name   string    `json:"job.name,omitempty"`
		User   string    `json:"job.user"`
		Tasks  []outTask `json:"job.tasks"`
	}
	outTask struct {
		Host     string `json:"container.host,omitempty"`
		Start    int64  `json:"container.start.ms"`
		End      int64  `json:"container.end.ms"`
		Priority int    `json:"container.priority"`
		Type     string `json:"container.type"`
		Memory   int64  `json:"container.memory-mb"`
		VCores   int64  `json:"container.vcores"`
	}
)

// Write writes a workload as a trace, and returns the jobs that it left out: a trace has
// maps and reduces, and no other graphs. A map runs from the job's submission, a reduce
// from the end of the last map, for as long as it computes, a millisecond at least. What
// is read, shuffled and written, and which job waits for which, is lost. Maps read blocks
// of so many bytes, where the workload leaves that open.
func Write(to io.Writer, w *workload.Workload, block model.Bytes) ([]measured.Left, error) {
	var left []measured.Left
	out := bufio.NewWriterSize(to, 64<<10)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	for i := range w.Jobs {
		j := &w.Jobs[i]
		if why := unwritable(j); why != "" {
			left = append(left, measured.Left{ID: string(j.ID), Why: why})
			continue
		}
		if err := enc.Encode(jobOf(j, block)); err != nil {
			return left, fmt.Errorf("write trace: job %s: %w", j.ID, err)
		}
	}
	if err := out.Flush(); err != nil {
		return left, fmt.Errorf("write trace: %w", err)
	}
	return left, nil
}

// unwritable says why a job cannot be written, "" if it can.
func unwritable(j *workload.Job) string {
	switch {
	case len(j.Stages) > 2:
		return fmt.Sprintf("it has %d stages; a trace has maps and reduces only", len(j.Stages))
	case len(j.Stages) == 2 && (len(j.Stages[1].Edges) != 1 || j.Stages[1].Edges[0].Kind != model.ScatterGather):
		return "its second stage does not gather what its first put out; a trace has maps and reduces only"
	}
	return ""
}

func jobOf(j *workload.Job, block model.Bytes) outJob {
	o := outJob{AMType: "mapreduce", Start: int64(j.Submit), Queue: string(j.Queue), ID: string(j.ID), Name: j.Name, User: string(j.User)}
	at := o.Start
	for k := range j.Stages {
		s := &j.Stages[k]
		end := at
		for i, took := range durations(j, k, block) {
			t := outTask{Start: at, Priority: priorityMap, Type: typeMap, Memory: s.Container.MemoryMiB, VCores: s.Container.VCores}
			if k > 0 {
				t.Priority, t.Type = priorityReduce, typeReduce
			}
			t.End = at + max(int64(took), 1)
			if len(s.Measured) > 0 && s.Measured[i].RanOn != (workload.Node{}) {
				t.Host = Host(s.Measured[i].RanOn)
			}
			end = max(end, t.End)
			o.Tasks = append(o.Tasks, t)
		}
		at = end
	}
	o.End = at
	return o
}

// durations returns how long each task of a stage has its container.
func durations(j *workload.Job, stage int, block model.Bytes) []model.Duration {
	s := &j.Stages[stage]
	out := make([]model.Duration, s.Tasks)
	start := s.Start
	if len(s.Reads) > 0 {
		start = 0 // it is part of what the tasks compute
	}
	if len(s.Measured) > 0 {
		for i := range out {
			out[i] = start + s.Measured[i].Compute
		}
		return out
	}
	var fetched []model.Bytes
	for _, e := range s.Edges {
		fetched = s.Partitions(fetched, j.Stages[e.From].Output)
	}
	for i := range out {
		read := s.Split(i, block).Bytes
		if fetched != nil {
			read += fetched[i]
		}
		out[i] = start + s.Cost.Of(read)
	}
	return out
}

// WriteNodes writes a file of nodes: so many in each of the racks, each of a size.
func WriteNodes(to io.Writer, nodes []int, size model.Resource) error {
	out := bufio.NewWriterSize(to, 64<<10)
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	for r, n := range nodes {
		rack := slsRack{Rack: rackName(r + 1)[1:]}
		for k := range n {
			rack.Nodes = append(rack.Nodes, slsNode{Node: nodeName(workload.Node{Rack: r + 1, Number: k + 1}), Memory: size.MemoryMiB, VCores: size.VCores})
		}
		if err := enc.Encode(rack); err != nil {
			return fmt.Errorf("write nodes: %w", err)
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write nodes: %w", err)
	}
	return nil
}

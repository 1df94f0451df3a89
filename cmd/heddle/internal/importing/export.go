package importing

import (
	"errors"
	"fmt"
	"io"

	"heddle/cmd/heddle/internal/exit"
	"heddle/cmd/heddle/internal/terminal"
	"heddle/cmd/heddle/internal/workloadfile"
	"heddle/configs"
	"heddle/core/lab/measured"
	"heddle/core/lab/measured/sls"
	"heddle/core/lab/workload"
	"heddle/core/model"
)

// Export writes a workload as a trace of Hadoop's scheduler load simulator.
type Export struct {
	Workload string // as --workload of simulate
	Lenient  bool
	Out      string
	NodesOut string
	Cluster  func() (*configs.Cluster, error) // what NodesOut is made of
}

// Exported is what was written.
type Exported struct {
	File  string `json:"file"`
	Jobs  int    `json:"jobs"`
	Tasks int    `json:"tasks"`
	Nodes string `json:"nodes_file,omitempty"`
	Left  []Left `json:"left_out"`
}

// Run writes the trace and, if it is wanted, the file of nodes.
func (e *Export) Run() (*Exported, error) {
	if e.Out == "" {
		return nil, exit.NewUsageError(errors.New("--out: name the file to write, such as trace.json"))
	}
	if err := errors.Join(refuseExisting("--out", e.Out), refuseExisting("--nodes-out", e.NodesOut)); err != nil {
		return nil, err
	}
	w, err := workloadfile.Open(e.Workload, e.Lenient)
	if err != nil {
		return nil, err
	}
	res := &Exported{File: e.Out, Nodes: e.NodesOut, Left: []Left{}}
	block := workload.DefaultBlock
	var nodes func(io.Writer) error
	if e.NodesOut != "" {
		c, err := e.Cluster()
		if err != nil {
			return nil, err
		}
		block = c.Block.Bytes()
		if nodes, err = nodesOf(c, w); err != nil {
			return nil, err
		}
	}
	var left []measured.Left
	err = writeFile(e.Out, func(to io.Writer) (err error) {
		left, err = sls.Write(to, w, block)
		if err == nil && len(left) == len(w.Jobs) {
			err = fmt.Errorf("the trace would have no job: %w", errNotWritten)
		}
		return err
	})
	for _, l := range left {
		res.Left = append(res.Left, Left{l.ID, l.Why})
	}
	if errors.Is(err, errNotWritten) {
		return nil, nothing(res.Left)
	}
	if err != nil {
		return nil, err
	}
	res.count(w)
	if nodes != nil {
		return res, writeFile(e.NodesOut, nodes)
	}
	return res, nil
}

// count counts what was written.
func (r *Exported) count(w *workload.Workload) {
	left := map[string]bool{}
	for _, l := range r.Left {
		left[l.What] = true
	}
	for i := range w.Jobs {
		if j := &w.Jobs[i]; !left[string(j.ID)] {
			r.Jobs++
			r.Tasks += j.Tasks()
		}
	}
}

// nodesOf returns what writes the nodes of a cluster that a workload runs on. Each node has room
// for its containers, of the largest size that a task of the workload has.
func nodesOf(c *configs.Cluster, w *workload.Workload) (func(io.Writer) error, error) {
	var nodes []int
	containers := 0
	for _, g := range c.Groups {
		for range g.Racks {
			nodes = append(nodes, g.Nodes)
		}
		containers = max(containers, g.Containers+g.MapSlots+g.ReduceSlots)
	}
	has := func(n workload.Node) bool { return n.Rack <= len(nodes) && n.Number <= nodes[n.Rack-1] }
	size := model.Resource{MemoryMiB: 1, VCores: 1}
	for i := range w.Jobs {
		for k := range w.Jobs[i].Stages {
			s := &w.Jobs[i].Stages[k]
			if n, beyond := s.Beyond(has); beyond {
				return nil, fmt.Errorf("--cluster: it has no node %d in rack %d, which job %s names", n.Number, n.Rack, w.Jobs[i].ID)
			}
			size.MemoryMiB, size.VCores = max(size.MemoryMiB, s.Container.MemoryMiB), max(size.VCores, s.Container.VCores)
		}
	}
	size.MemoryMiB *= int64(containers)
	size.VCores *= int64(containers)
	return func(to io.Writer) error { return sls.WriteNodes(to, nodes, size) }, nil
}

// Table prints for people what was written.
func (r *Exported) Table(w io.Writer) error {
	fmt.Fprintf(w, "%s: %s of %s\n", r.File, terminal.Count(r.Jobs, "job"), terminal.Count(r.Tasks, "task"))
	printLeft(w, r.Left)
	_, err := fmt.Fprintln(w, "The trace says how long tasks compute and where they ran; bytes, and which job waits for which, are lost.")
	return err
}

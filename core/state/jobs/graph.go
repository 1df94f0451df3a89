package jobs

import (
	"heddle/core/model"
	"heddle/core/shuffle"
	"heddle/core/state/nodes"
	"heddle/core/topology"
)

// ApplyGraph applies the job's graph of stages. Edges from or to a stage that is
// not listed are ignored; a graph with a cycle, or with two stages of one name,
// leaves the job without one.
func ApplyGraph(j *Job, f model.GraphFact, hosts *nodes.Hosts) {
	j.Graph = nil
	if len(f.Stages) == 0 {
		return
	}
	place := make(map[string]int, len(f.Stages))
	vertices := make([]shuffle.Vertex, len(f.Stages))
	for i := range f.Stages {
		place[f.Stages[i].Name] = i
		vertices[i].Name = f.Stages[i].Name
	}
	var edges []shuffle.DAGEdge
	for _, e := range f.Edges {
		from, known := place[e.From]
		to, also := place[e.To]
		if !known || !also {
			continue
		}
		vertices[to].Reads = append(vertices[to].Reads, e.From)
		edges = append(edges, shuffle.DAGEdge{From: from, To: to, Kind: e.Kind})
	}
	dag, err := shuffle.NewDAG(vertices)
	if err != nil {
		return
	}
	g := &shuffle.StageGraph{DAG: dag, Stages: make([]shuffle.DAGStage, len(f.Stages)), Edges: edges}
	for i := range f.Stages {
		t := &f.Stages[i]
		g.Stages[i] = shuffle.DAGStage{
			Tasks: t.Tasks, Completed: t.Completed, Output: t.Output, Placed: rackBytes(t.Placed, hosts),
			Input: shuffle.Inflow{ByRack: rackBytes(t.InputAt, hosts), Total: max(t.Input, 0)},
		}
	}
	j.Graph = g
}

func rackBytes(list []model.RackBytes, hosts *nodes.Hosts) []model.Bytes {
	var out []model.Bytes
	for _, b := range list {
		r := hosts.Rack(b.Rack)
		out = topology.Extend(out, r)
		out[r] += max(b.Bytes, 0)
	}
	return out
}

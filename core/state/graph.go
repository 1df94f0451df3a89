package state

import (
	"heddle/core/model"
	"heddle/core/shuffle"
)

// applyGraph takes the job's graph of stages. Edges that name a stage that is
// not listed say nothing of where tasks go, and are left out; a graph with a
// cycle, or with two stages of one name, is refused.
func (s *Stages) applyGraph(f model.GraphFact, nodes *nodeIndex) {
	s.Graph, s.GraphCycle = nil, ""
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
		s.GraphCycle = err.Error()
		return
	}
	g := &shuffle.StageGraph{DAG: dag, Stages: make([]shuffle.DAGStage, len(f.Stages)), Edges: edges}
	for i := range f.Stages {
		t := &f.Stages[i]
		g.Stages[i] = shuffle.DAGStage{
			Tasks: t.Tasks, Completed: t.Completed, Output: t.Output, Placed: rackBytes(t.Placed, nodes),
			Input: shuffle.Inflow{ByRack: rackBytes(t.InputAt, nodes), Total: max(t.Input, 0)},
		}
	}
	s.Graph = g
}

func rackBytes(list []model.RackBytes, nodes *nodeIndex) []model.Bytes {
	var out []model.Bytes
	for _, b := range list {
		r := nodes.rack(b.Rack).Index
		out = grown(out, r)
		out[r] += max(b.Bytes, 0)
	}
	return out
}

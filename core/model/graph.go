package model

import (
	"slices"
	"strings"
)

// Workflow says which job of a chain of MapReduce jobs a job is, and which jobs
// of the chain read which. Hive and Pig report it to every job of a query.
type Workflow struct {
	ID   string `json:"id"`             // mapreduce.workflow.id: of the query or script
	Name string `json:"name,omitempty"` // mapreduce.workflow.name: for people
	Node string `json:"node"`           // mapreduce.workflow.node.name: this job's name in it
	// Edges lists the names that read a name's output, by name. Some name no job: Hive's move and
	// conditional steps are nodes too.
	Edges []WorkflowEdges `json:"edges,omitempty"`
}

// WorkflowEdges are the readers of one job's output.
type WorkflowEdges struct {
	Node string   `json:"node"`
	Next []string `json:"next"`
}

// The configuration keys of a workflow (org.apache.hadoop.mapreduce.MRJobConfig).
const (
	workflowID        = "mapreduce.workflow.id"
	workflowName      = "mapreduce.workflow.name"
	workflowNode      = "mapreduce.workflow.node.name"
	workflowAdjacency = "mapreduce.workflow.adjacency." // then the name of a node; the value names those that read it
)

// WorkflowOf reads a job's workflow from its configuration, nil if the job is in
// none. A job that has an id and no node name is in none: nobody could tell
// which of the names it is.
func WorkflowOf(conf map[string]string) *Workflow {
	w := &Workflow{
		ID:   strings.TrimSpace(conf[workflowID]),
		Name: strings.TrimSpace(conf[workflowName]),
		Node: strings.TrimSpace(conf[workflowNode]),
	}
	if w.ID == "" || w.Node == "" {
		return nil
	}
	for key, value := range conf { // order-free: sorted below
		node, ok := strings.CutPrefix(key, workflowAdjacency)
		if !ok || node == "" {
			continue
		}
		var next []string
		for name := range strings.SplitSeq(value, ",") {
			if name = strings.TrimSpace(name); name != "" && !slices.Contains(next, name) {
				next = append(next, name)
			}
		}
		if len(next) > 0 {
			w.Edges = append(w.Edges, WorkflowEdges{Node: node, Next: next})
		}
	}
	slices.SortFunc(w.Edges, func(a, b WorkflowEdges) int { return strings.Compare(a.Node, b.Node) })
	return w
}

// EdgeKind is how the tasks of one stage read those of another (Dawn §III-B3).
type EdgeKind string

// The kinds of edges.
const (
	ScatterGather EdgeKind = "scatter_gather" // every task reads a part of every task's output: a shuffle
	OneToOne      EdgeKind = "one_to_one"     // each task reads the whole of one task's output
	Broadcast     EdgeKind = "broadcast"      // every task reads all of every task's output
)

// EdgeKinds lists the kinds in a fixed order.
func EdgeKinds() []EdgeKind { return []EdgeKind{ScatterGather, OneToOne, Broadcast} }

// GraphFact is the graph of stages of one application that is no MapReduce job
// (Tez's vertices, Spark's stages): all of it, each time.
type GraphFact struct {
	App    AppID        `json:"app"`
	Stages []GraphStage `json:"stages"`
	Edges  []GraphEdge  `json:"edges"`
}

// GraphStage is one stage. Names are unique within the application.
type GraphStage struct {
	Name      string `json:"name"`
	Tasks     int    `json:"tasks"`
	Completed int    `json:"completed,omitempty"`
	Input     Bytes  `json:"input_bytes"`  // read from outside the application; Unknown until reported
	Output    Bytes  `json:"output_bytes"` // for its readers, or written where it has none; Unknown until reported
	// InputAt is where a replica of Input lies, by rack; empty where the source does not report it.
	InputAt []RackBytes `json:"input_at,omitempty"`
	// Placed is where the output lies so far, by rack; empty where the source does not report it.
	Placed []RackBytes `json:"placed,omitempty"`
}

// RackBytes is an amount of data on one rack.
type RackBytes struct {
	Rack  RackID `json:"rack"`
	Bytes Bytes  `json:"bytes"`
}

// GraphEdge says that stage To reads the output of stage From.
type GraphEdge struct {
	From string   `json:"from"`
	To   string   `json:"to"`
	Kind EdgeKind `json:"kind"`
}

// Kind implements Fact.
func (GraphFact) Kind() string { return "graph" }

package tez

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"heddle/core/model"
	"heddle/yarnproxy/rest"
)

// maxTasks bounds the number of tasks of a vertex; more is an error.
const maxTasks = math.MaxInt32

// dag is one DAG of an application.
type dag struct {
	id     string // dag_1700000000000_0001_2
	number int    // counts an application's DAGs from 1
	ended  bool
	plan   *plan // only of Tez up to 0.8
}

// plan is what a DAG's plan says of its vertices and edges.
type plan struct {
	vertices []planVertex // in the order of the plan
	edges    []model.GraphEdge
}

// planVertex is a vertex of a plan.
type planVertex struct {
	name         string
	hasInputs    bool // from outside the application
	hasConsumers bool // other vertices read it
}

// vertex is the progress of a vertex.
type vertex struct {
	tasks, completed int
	counted          bool        // it has ended, and its counters are below
	read, written    model.Bytes // of file systems other than the hosts' own
	output           model.Bytes // for other vertices, as it lies on disk
}

// entity is what is read of a timeline entity (TimelineEntity) of Tez: a DAG,
// its extra info or a vertex, each with its keys of otherinfo (ATSConstants).
type entity struct {
	ID   string `json:"entity"`
	Info struct {
		Status     rest.Text    `json:"status"`
		Plan       *planJSON    `json:"dagPlan"`
		VertexName rest.Text    `json:"vertexName"`
		Tasks      *rest.Int    `json:"numTasks"`
		Succeeded  rest.Int     `json:"numSucceededTasks"`
		Counters   countersJSON `json:"counters"`
	} `json:"otherinfo"`
}

// planJSON is a DAG's plan (DAGUtils.convertDAGPlanToATSMap).
type planJSON struct {
	Vertices rest.List[struct {
		Name   string              `json:"vertexName"`
		Inputs rest.List[struct{}] `json:"additionalInputs"`
	}] `json:"vertices"`
	Edges rest.List[struct {
		From     string `json:"inputVertexName"`
		To       string `json:"outputVertexName"`
		Movement string `json:"dataMovementType"`
	}] `json:"edges"`
}

// countersJSON is the counters of a vertex (DAGUtils.convertCountersToATSMap),
// which leaves out those that are 0.
type countersJSON struct {
	Groups rest.List[struct {
		Name     string `json:"counterGroupName"`
		Counters rest.List[struct {
			Name  string   `json:"counterName"`
			Value rest.Int `json:"counterValue"`
		}] `json:"counters"`
	}] `json:"counterGroups"`
}

// decodeDAGs reads the DAGs of an application. One whose plan is not read yet is
// among them.
func decodeDAGs(body []byte, app model.AppID) ([]dag, error) {
	entities, err := decodeEntities(body)
	if err != nil {
		return nil, fmt.Errorf("DAGs of %s: %w", app, err)
	}
	dags := make([]dag, 0, len(entities))
	for i := range entities {
		e := &entities[i]
		d := dag{id: e.ID}
		if d.number, err = dagNumber(e.ID, app); err != nil {
			return nil, fmt.Errorf("DAGs of %s: %w", app, err)
		}
		switch e.Info.Status { // DAGState of tez-dag; absent before the start
		case "SUCCEEDED", "FAILED", "KILLED", "ERROR":
			d.ended = true
		}
		if e.Info.Plan != nil {
			if d.plan, err = e.Info.Plan.plan(); err != nil {
				return nil, fmt.Errorf("plan of %s: %w", e.ID, err)
			}
		}
		dags = append(dags, d)
	}
	return dags, nil
}

// dagNumber returns the number at the end of a DAG's id (TezDAGID).
func dagNumber(id string, app model.AppID) (int, error) {
	text, ok := strings.CutPrefix(id, "dag_"+strings.TrimPrefix(string(app), "application_")+"_")
	n, err := strconv.Atoi(text)
	if !ok || err != nil || n <= 0 {
		return 0, fmt.Errorf("%q is no DAG of it", id)
	}
	return n, nil
}

// decodePlan reads a DAG's plan from its extra info (TEZ_DAG_EXTRA_INFO), nil where
// that has none.
func decodePlan(body []byte, dag string) (*plan, error) {
	var e entity
	if err := rest.Decode(body, &e); err != nil {
		return nil, fmt.Errorf("plan of %s: %w", dag, err)
	}
	if e.ID != dag {
		return nil, fmt.Errorf("plan of %s: it is that of %q", dag, e.ID)
	}
	if e.Info.Plan == nil {
		return nil, nil // a DAG may have no plan in the timeline server yet
	}
	p, err := e.Info.Plan.plan()
	if err != nil {
		return nil, fmt.Errorf("plan of %s: %w", dag, err)
	}
	return p, nil
}

// plan checks a plan: names are unique, and edges join vertices that it has.
func (j *planJSON) plan() (*plan, error) {
	if len(j.Vertices) == 0 {
		return nil, errors.New("it has no vertices")
	}
	p := &plan{}
	indexByName := make(map[string]int, len(j.Vertices))
	for i, v := range j.Vertices {
		if _, twice := indexByName[v.Name]; twice || v.Name == "" {
			return nil, fmt.Errorf("vertex %q is named twice or not at all", v.Name)
		}
		indexByName[v.Name] = i
		p.vertices = append(p.vertices, planVertex{name: v.Name, hasInputs: len(v.Inputs) > 0})
	}
	for _, e := range j.Edges {
		from, known := indexByName[e.From]
		if _, also := indexByName[e.To]; !known || !also {
			return nil, fmt.Errorf("an edge joins %q and %q, and not both are vertices", e.From, e.To)
		}
		p.vertices[from].hasConsumers = true
		p.edges = append(p.edges, model.GraphEdge{From: e.From, To: e.To, Kind: edgeKind(e.Movement)})
	}
	return p, nil
}

// edgeKind returns the kind of an edge (EdgeProperty.DataMovementType). The plan does
// not say how the class of a CUSTOM edge moves data: it counts as scatter-gather, as
// most of Hive's custom edges are, and so does any unknown type.
func edgeKind(movement string) model.EdgeKind {
	switch movement {
	case "ONE_TO_ONE":
		return model.OneToOne
	case "BROADCAST":
		return model.Broadcast
	}
	return model.ScatterGather
}

// decodeVertices reads the progress of a DAG's vertices, by name. Those that do not know
// their number of tasks yet are left out.
func decodeVertices(body []byte, dag string) (map[string]vertex, error) {
	entities, err := decodeEntities(body)
	if err != nil {
		return nil, fmt.Errorf("vertices of %s: %w", dag, err)
	}
	prefix := "vertex_" + strings.TrimPrefix(dag, "dag_") + "_"
	vertices := make(map[string]vertex, len(entities))
	for i := range entities {
		e := &entities[i]
		if !strings.HasPrefix(e.ID, prefix) {
			return nil, fmt.Errorf("vertices of %s: %q is none of it", dag, e.ID)
		}
		name := string(e.Info.VertexName)
		if name == "" || e.Info.Tasks == nil {
			continue
		}
		v, err := e.vertex()
		if err != nil {
			return nil, fmt.Errorf("vertices of %s: %s: %w", dag, e.ID, err)
		}
		vertices[name] = v
	}
	return vertices, nil
}

func (e *entity) vertex() (vertex, error) {
	tasks, done := *e.Info.Tasks, e.Info.Succeeded
	if tasks < 0 || tasks > maxTasks || done < 0 {
		return vertex{}, fmt.Errorf("%d tasks, of which %d succeeded", tasks, done)
	}
	v := vertex{tasks: int(tasks), completed: int(min(done, tasks))}
	if e.Info.Status == "SUCCEEDED" {
		v.completed = v.tasks
	}
	return v, v.addCounters(&e.Info.Counters)
}

// The groups of counters that are read (tez-api, org.apache.tez.common.counters).
const (
	taskCounters       = "org.apache.tez.common.counters.TaskCounter"
	fileSystemCounters = "org.apache.tez.common.counters.FileSystemCounter" // SCHEME_BYTES_READ, ...
)

// addCounters sets sizes from a vertex's counters. There are none before it has ended.
func (v *vertex) addCounters(c *countersJSON) error {
	for _, g := range c.Groups {
		v.counted = true
		for _, counter := range g.Counters {
			if counter.Value < 0 {
				return fmt.Errorf("counter %s is %d", counter.Name, counter.Value)
			}
			scheme, what, _ := strings.Cut(counter.Name, "_")
			n := model.Bytes(counter.Value)
			switch {
			case g.Name == taskCounters && counter.Name == "OUTPUT_BYTES_PHYSICAL":
				v.output = n
			case g.Name != fileSystemCounters || scheme == "FILE": // the hosts' own disks
			case what == "BYTES_READ":
				v.read = added(v.read, n)
			case what == "BYTES_WRITTEN":
				v.written = added(v.written, n)
			}
		}
	}
	return nil
}

// added is a sum that stays at the largest value.
func added(a, b model.Bytes) model.Bytes {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// graph combines a plan and the progress of its vertices. A vertex whose number of
// tasks is not known yet counts as one task, so that it does not look completed.
func (p *plan) graph(app model.AppID, vertices map[string]vertex) model.GraphFact {
	fact := model.GraphFact{App: app, Edges: p.edges}
	for _, planned := range p.vertices {
		s := model.GraphStage{Name: planned.name, Tasks: 1, Output: model.Unknown}
		if planned.hasInputs {
			s.Input = model.Unknown
		}
		if v, ok := vertices[planned.name]; ok {
			s.Tasks, s.Completed = v.tasks, v.completed
			if v.counted {
				s.Input, s.Output = v.read, v.written
				if planned.hasConsumers {
					s.Output = v.output
				}
			}
		}
		fact.Stages = append(fact.Stages, s)
	}
	return fact
}

// decodeEntities reads a list of entities (TimelineEntities).
func decodeEntities(body []byte) ([]entity, error) {
	var answer struct {
		Entities *rest.List[entity] `json:"entities"`
	}
	if err := rest.Decode(body, &answer); err != nil {
		return nil, err
	}
	if answer.Entities == nil {
		return nil, errors.New(`the answer has no "entities"`)
	}
	return *answer.Entities, nil
}

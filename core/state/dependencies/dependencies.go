// Package dependencies knows which job reads the output of which other job: by
// workflows, whose graph their jobs report, and by the paths they read and write.
package dependencies

import (
	"slices"
	"strings"

	"heddle/core/model"
	"heddle/core/shuffle"
	"heddle/core/state/jobs"
)

// Parent is a job whose output another one reads.
type Parent struct {
	Name string    // in the workflow, else the application's id
	Job  *jobs.Job // nil while it has not been submitted, when it failed, and when it is not known any more
}

// Dependent is a job that reads another one's output.
type Dependent struct {
	Name   string
	Job    *jobs.Job // nil while it has not been submitted
	Others []Parent  // the other jobs it reads: Dawn's Prev (§III-A)
}

// Began reports whether the job has ended or begun to read, so that where another job's output comes to lie matters to it no more.
func (d *Dependent) Began() bool {
	return d.Job != nil && (d.Job.State.Final() || d.Job.Map.Running+d.Job.Map.Completed > 0)
}

// Index holds the dependencies between jobs. Of jobs that write to one path a
// reader reads the latest that was submitted before it.
type Index struct {
	touch     func(*jobs.Job)
	byJob     map[*jobs.Job]*entry
	writers   map[string][]*jobs.Job // by output path, by arrival
	readers   map[string][]*jobs.Job // by input path and by every folder above it, by arrival
	workflows map[workflowKey]*workflow
	version   int // changes whenever any of the above does
}

// entry is what one job reported, and what follows from what all jobs reported.
type entry struct {
	output   string   // path, "" without
	folders  []string // input paths and the folders above them
	workflow *workflow
	node     string // the job's name in the workflow
	edges    int    // of the workflow's graph, as the job reports it

	version    int // of the index that parents and dependents are derived from
	parents    []Parent
	dependents []Dependent
}

// equal reports whether two entries report the same.
func (e *entry) equal(o *entry) bool {
	return e.output == o.output && e.workflow == o.workflow && e.node == o.node && e.edges == o.edges && slices.Equal(e.folders, o.folders)
}

// workflowKey names a workflow. Users cannot name each other's.
type workflowKey struct {
	user model.UserID
	id   string
}

type workflow struct {
	key   workflowKey
	jobs  []*jobs.Job          // that report to be of it, by arrival
	nodes map[string]*jobs.Job // by name: the latest submitted
	graph *shuffle.DAG         // nil until a job reported it, and while the reported ones have cycles
}

// NewIndex returns an index without jobs. It calls touch for every job whose
// parents or dependents change.
func NewIndex(touch func(*jobs.Job)) *Index {
	return &Index{
		touch: touch, byJob: map[*jobs.Job]*entry{}, writers: map[string][]*jobs.Job{}, readers: map[string][]*jobs.Job{},
		workflows: map[workflowKey]*workflow{},
	}
}

// Dependents returns the jobs that read a job's output (Dawn's Next), as far as is
// known: those of its workflow that come after it, submitted or not, and those
// whose configuration reads its output directory. The slice belongs to the index;
// it changes when a job comes, goes or reports its configuration.
func (x *Index) Dependents(j *jobs.Job) []Dependent { return x.of(j).dependents }

// Parents returns the jobs whose output a job reads, as far as is known.
func (x *Index) Parents(j *jobs.Job) []Parent { return x.of(j).parents }

// Set applies a job's configuration.
func (x *Index) Set(j *jobs.Job) {
	next := &entry{output: cleanPath(j.Conf.Output), folders: folders(j.Conf.Inputs)}
	if w := j.Conf.Workflow; w != nil {
		next.workflow, next.node, next.edges = x.workflowOf(workflowKey{j.User, w.ID}), w.Node, len(w.Edges)
	}
	old := x.byJob[j]
	if old != nil && old.equal(next) {
		return
	}
	x.Remove(j)
	if next.output == "" && len(next.folders) == 0 && next.workflow == nil {
		return
	}
	x.byJob[j] = next
	x.touchRelatives(j)
	x.version++
	if next.output != "" {
		x.writers[next.output] = jobs.Insert(x.writers[next.output], j)
	}
	for _, folder := range next.folders {
		x.readers[folder] = jobs.Insert(x.readers[folder], j)
	}
	if flow := next.workflow; flow != nil {
		flow.jobs = jobs.Insert(flow.jobs, j)
		x.workflows[flow.key] = flow
		x.findNamed(flow, next.node)
		if flow.graph == nil && next.edges > 0 {
			flow.setGraph(j.Conf.Workflow.Edges)
		}
	}
	x.touchRelatives(j)
}

// workflowOf returns a workflow, a new one if no job has named it.
func (x *Index) workflowOf(key workflowKey) *workflow {
	if flow := x.workflows[key]; flow != nil {
		return flow
	}
	return &workflow{key: key, nodes: map[string]*jobs.Job{}}
}

// findNamed finds the job that has a name in a workflow.
func (x *Index) findNamed(flow *workflow, node string) {
	delete(flow.nodes, node)
	for _, j := range flow.jobs {
		if e := x.byJob[j]; e != nil && e.workflow == flow && e.node == node {
			flow.nodes[node] = j
		}
	}
}

// setGraph sets the workflow's graph as one of its jobs reports it. A graph with a
// cycle is ignored.
func (flow *workflow) setGraph(edges []model.WorkflowEdges) {
	place := map[string]int{}
	var vertices []shuffle.Vertex
	vertex := func(name string) *shuffle.Vertex {
		if _, ok := place[name]; !ok {
			place[name] = len(vertices)
			vertices = append(vertices, shuffle.Vertex{Name: name})
		}
		return &vertices[place[name]]
	}
	for _, e := range edges {
		vertex(e.Node)
		for _, next := range e.Next {
			v := vertex(next)
			v.Reads = append(v.Reads, e.Node)
		}
	}
	if graph, err := shuffle.NewDAG(vertices); err == nil {
		flow.graph = graph
	}
}

// Remove removes a job.
func (x *Index) Remove(j *jobs.Job) {
	e := x.byJob[j]
	if e == nil {
		return
	}
	x.touchRelatives(j)
	delete(x.byJob, j)
	x.version++
	removeFrom(x.writers, e.output, j)
	for _, folder := range e.folders {
		removeFrom(x.readers, folder, j)
	}
	if flow := e.workflow; flow != nil {
		flow.jobs = jobs.Remove(flow.jobs, j)
		x.findNamed(flow, e.node)
		if len(flow.jobs) == 0 {
			delete(x.workflows, flow.key)
		}
	}
}

func removeFrom(lists map[string][]*jobs.Job, key string, j *jobs.Job) {
	if list := jobs.Remove(lists[key], j); len(list) > 0 {
		lists[key] = list
	} else {
		delete(lists, key)
	}
}

// touchRelatives calls touch for every job whose dependents or parents, or whose
// dependents' other parents, depend on what a job reported: those it reads, those
// that read it or are of its workflow with all that these read, and those that
// write to the same path. It is called before and after a change.
func (x *Index) touchRelatives(j *jobs.Job) {
	e := x.byJob[j]
	if e == nil {
		return
	}
	x.touchWithParents(j)
	for _, w := range x.writers[e.output] {
		x.touch(w)
	}
	for _, y := range x.readers[e.output] {
		x.touchWithParents(y)
	}
	if e.workflow != nil {
		for _, y := range e.workflow.jobs {
			x.touchWithParents(y)
		}
	}
}

func (x *Index) touchWithParents(j *jobs.Job) {
	x.touch(j)
	e := x.of(j)
	for _, p := range e.parents {
		if p.Job != nil {
			x.touch(p.Job)
		}
	}
	// A job that failed is no parent, but keeps its dependents in the workflow.
	if flow := e.workflow; flow != nil && flow.graph != nil {
		if at, ok := flow.graph.Index(e.node); ok {
			for _, read := range flow.graph.Reads(at) {
				if failed := flow.nodes[flow.graph.Name(read)]; failed != nil && failed.Failed() {
					x.touch(failed)
				}
			}
		}
	}
}

// UpdateOutcome applies that a job turned out to have failed, which makes it
// no job's parent, or not to have failed.
func (x *Index) UpdateOutcome(j *jobs.Job) {
	x.version++
	x.touchRelatives(j)
}

// of returns a job's entry, up to date; an empty one for a job that reported nothing.
func (x *Index) of(j *jobs.Job) entry {
	e := x.byJob[j]
	if e == nil {
		return entry{}
	}
	if e.version != x.version {
		e.parents = x.parents(e.workflow, e.node, j, e)
		e.dependents = x.findDependents(j, e)
		e.version = x.version
	}
	return *e
}

// parents returns the jobs that a job reads, or, if j is nil, those that a name of a
// workflow reads.
func (x *Index) parents(flow *workflow, node string, j *jobs.Job, e *entry) []Parent {
	var out []Parent
	if flow != nil && flow.graph != nil && (j == nil || flow.nodes[node] == j) { // of two jobs of one name the latest counts
		if y, ok := flow.graph.Index(node); ok {
			for _, z := range flow.graph.Reads(y) {
				out = append(out, Parent{flow.graph.Name(z), succeeding(flow.nodes[flow.graph.Name(z)])})
			}
		}
	}
	if j == nil {
		return out
	}
	for _, folder := range e.folders {
		w := latestBefore(x.writers[folder], j)
		if w != nil && !slices.ContainsFunc(out, func(p Parent) bool { return p.Job == w }) {
			out = append(out, Parent{x.nameOf(w), w})
		}
	}
	return out
}

func (x *Index) nameOf(j *jobs.Job) string {
	if e := x.byJob[j]; e != nil && e.node != "" {
		return e.node
	}
	return string(j.ID)
}

func (x *Index) findDependents(j *jobs.Job, e *entry) []Dependent {
	var out []Dependent
	if flow := e.workflow; flow != nil && flow.graph != nil && flow.nodes[e.node] == j {
		if at, ok := flow.graph.Index(e.node); ok {
			for _, y := range flow.graph.Next(at) {
				name := flow.graph.Name(y)
				reader := flow.nodes[name]
				out = append(out, Dependent{name, reader, others(x.parents(flow, name, reader, x.byJob[reader]), j, e.node)})
			}
		}
	}
	for _, y := range x.readers[e.output] {
		if latestBefore(x.writers[e.output], y) != j || slices.ContainsFunc(out, func(d Dependent) bool { return d.Job == y }) {
			continue
		}
		of := x.byJob[y]
		out = append(out, Dependent{x.nameOf(y), y, others(x.parents(of.workflow, of.node, y, of), j, "")})
	}
	return out
}

// others returns the parents except one, which is a job or a name of its workflow.
func others(parents []Parent, but *jobs.Job, node string) []Parent {
	return slices.DeleteFunc(parents, func(p Parent) bool { return p.Job == but || (p.Job == nil && node != "" && p.Name == node) })
}

// latestBefore returns the last of the jobs, given by arrival, that came before
// j and has not failed.
func latestBefore(list []*jobs.Job, j *jobs.Job) *jobs.Job {
	for _, w := range slices.Backward(list) {
		if jobs.Compare(w, j) < 0 && succeeding(w) != nil {
			return w
		}
	}
	return nil
}

// succeeding returns the job unless it failed.
func succeeding(j *jobs.Job) *jobs.Job {
	if j == nil || j.Failed() {
		return nil
	}
	return j
}

// folders returns the paths and every folder above them but the root, each once.
func folders(paths []string) []string {
	var out []string
	seen := map[string]bool{}
	for _, p := range paths {
		for p = cleanPath(p); p != "" && !seen[p]; p = above(p) {
			seen[p] = true
			out = append(out, p)
		}
	}
	return out
}

// above returns the folder above a clean path, "" for the root.
func above(p string) string {
	p = p[:strings.LastIndexByte(p, '/')]
	if !strings.Contains(p, "/") {
		return ""
	}
	return p
}

// cleanPath brings a path into one form. The NameNode's name is left out, as
// configurations give it in several forms (a host, a nameservice, none); other
// file systems keep theirs. The root is "".
func cleanPath(p string) string {
	volume := ""
	if scheme, rest, ok := strings.Cut(p, "://"); ok {
		host, rest, _ := strings.Cut(rest, "/")
		if p = rest; scheme != "hdfs" {
			volume = scheme + ":" + host
		}
	}
	var names []string
	for name := range strings.SplitSeq(strings.TrimPrefix(p, "hdfs:"), "/") {
		switch {
		case name == "" || name == ".":
		case name == ".." && len(names) > 0:
			names = names[:len(names)-1]
		default:
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return volume + "/" + strings.Join(names, "/")
}

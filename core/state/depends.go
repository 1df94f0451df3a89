package state

import (
	"slices"
	"strings"

	"heddle/core/model"
	"heddle/core/shuffle"
)

// Parent is a job whose output another one reads.
type Parent struct {
	Name string // in the workflow, else the application's id
	Job  *Job   // nil while it has not been submitted, when it failed, and when it is not known any more
}

// Dependent is a job that reads another one's output.
type Dependent struct {
	Name   string
	Job    *Job     // nil while it has not been submitted
	Others []Parent // the other jobs it reads: Dawn's Prev (§III-A)
}

// relations is the part of a View that tells of jobs and other jobs.
type relations struct{ jobs *jobIndex }

// Dependents returns the jobs that read a job's output (Dawn's Next), as far as
// is known: those of its workflow that come after it, submitted or not, and
// those whose configuration reads its output directory. The slice belongs to the
// cluster; it changes when a job comes, goes or tells its configuration.
func (r relations) Dependents(j *Job) []Dependent { return r.jobs.depends.of(j).dependents }

// Parents returns the jobs whose output a job reads, as far as is known.
func (r relations) Parents(j *Job) []Parent { return r.jobs.depends.of(j).parents }

// Cycle names the cycle for which the workflow graph a job told is not used, ""
// when it has none.
func (r relations) Cycle(j *Job) string { return r.jobs.depends.of(j).cycle }

// dependIndex knows which job reads which one's output: by workflows, whose
// graph every job of them tells, and by paths. Of jobs that write to one path a
// reader reads the latest that was submitted before it.
type dependIndex struct {
	kin     map[*Job]*kin     // of the jobs that told any of this
	writers map[string][]*Job // by output path, by arrival
	readers map[string][]*Job // by input path and by every folder above it, by arrival
	flows   map[flowKey]*workflow
	version int // changes whenever any of this does
}

// kin is what one job told, and what follows from what all told.
type kin struct {
	output string   // path, "" without
	under  []string // input paths and the folders above them
	flow   *workflow
	node   string
	edges  int    // of the workflow's graph, as the job tells it
	cycle  string // for which that graph was refused

	version    int // of the index the two below are of
	parents    []Parent
	dependents []Dependent
}

// same reports whether two jobs' kin, or one job's at two times, told the same.
func (k *kin) same(o *kin) bool {
	return k.output == o.output && k.flow == o.flow && k.node == o.node && k.edges == o.edges && slices.Equal(k.under, o.under)
}

// flowKey names a workflow. Users cannot name each other's.
type flowKey struct {
	user model.UserID
	id   string
}

type workflow struct {
	key   flowKey
	jobs  []*Job          // that say they are of it, by arrival
	nodes map[string]*Job // by name: the latest submitted
	graph *shuffle.DAG    // nil until a job told it, or when it holds a cycle
}

func newDependIndex() *dependIndex {
	return &dependIndex{kin: map[*Job]*kin{}, writers: map[string][]*Job{}, readers: map[string][]*Job{}, flows: map[flowKey]*workflow{}}
}

// link takes in what a job's configuration says, and calls touch for every job
// that reads or is read otherwise now.
func (x *dependIndex) link(j *Job, touch func(*Job)) {
	next := &kin{output: cleanPath(j.Conf.Output), under: folders(j.Conf.Inputs)}
	if w := j.Conf.Workflow; w != nil {
		next.flow, next.node, next.edges = x.join(flowKey{j.User, w.ID}), w.Node, len(w.Edges)
	}
	old := x.kin[j]
	if old != nil && old.same(next) {
		return
	}
	x.unlink(j, touch)
	if next.output == "" && len(next.under) == 0 && next.flow == nil {
		return
	}
	x.kin[j] = next
	x.relatives(j, touch)
	x.version++
	if next.output != "" {
		x.writers[next.output] = insertJob(x.writers[next.output], j)
	}
	for _, folder := range next.under {
		x.readers[folder] = insertJob(x.readers[folder], j)
	}
	if f := next.flow; f != nil {
		f.jobs = insertJob(f.jobs, j)
		x.flows[f.key] = f
		x.name(f, next.node)
		if f.graph == nil && next.edges > 0 {
			next.cycle = f.tell(j.Conf.Workflow.Edges)
		}
	}
	x.relatives(j, touch)
}

func (x *dependIndex) join(k flowKey) *workflow {
	if f := x.flows[k]; f != nil {
		return f
	}
	return &workflow{key: k, nodes: map[string]*Job{}}
}

// name finds out whose a name of a workflow is.
func (x *dependIndex) name(f *workflow, node string) {
	delete(f.nodes, node)
	for _, j := range f.jobs {
		if k := x.kin[j]; k != nil && k.flow == f && k.node == node {
			f.nodes[node] = j
		}
	}
}

// tell takes the workflow's graph from one of its jobs. A graph with a cycle is
// refused, and the cycle returned.
func (f *workflow) tell(edges []model.WorkflowEdges) (cycle string) {
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
	graph, err := shuffle.NewDAG(vertices)
	if err != nil {
		return err.Error()
	}
	f.graph = graph
	return ""
}

// unlink takes a job out.
func (x *dependIndex) unlink(j *Job, touch func(*Job)) {
	k := x.kin[j]
	if k == nil {
		return
	}
	x.relatives(j, touch)
	delete(x.kin, j)
	x.version++
	without(x.writers, k.output, j)
	for _, folder := range k.under {
		without(x.readers, folder, j)
	}
	if f := k.flow; f != nil {
		f.jobs = removeJob(f.jobs, j)
		x.name(f, k.node)
		if len(f.jobs) == 0 {
			delete(x.flows, f.key)
		}
	}
}

func without(lists map[string][]*Job, key string, j *Job) {
	if list := removeJob(lists[key], j); len(list) > 0 {
		lists[key] = list
	} else {
		delete(lists, key)
	}
}

// relatives calls touch for every job whose dependents or parents, or whose
// dependents' other parents, depend on what a job told: those it reads, those
// that read it or are of its workflow with all that these read, and those that
// write to the same path. It is called before and after a change.
func (x *dependIndex) relatives(j *Job, touch func(*Job)) {
	k := x.kin[j]
	if k == nil {
		return
	}
	x.withParents(j, touch)
	for _, w := range x.writers[k.output] {
		touch(w)
	}
	for _, y := range x.readers[k.output] {
		x.withParents(y, touch)
	}
	if k.flow != nil {
		for _, y := range k.flow.jobs {
			x.withParents(y, touch)
		}
	}
}

func (x *dependIndex) withParents(j *Job, touch func(*Job)) {
	touch(j)
	for _, p := range x.of(j).parents {
		if p.Job != nil {
			touch(p.Job)
		}
	}
}

// judge takes note of a job that turned out to have failed, which makes it
// nobody's parent, or not to have.
func (x *dependIndex) judge(j *Job, touch func(*Job)) {
	x.version++
	x.relatives(j, touch)
}

// of returns a job's kin, up to date; empty for a job that told nothing.
func (x *dependIndex) of(j *Job) kin {
	k := x.kin[j]
	if k == nil {
		return kin{}
	}
	if k.version != x.version {
		k.parents = x.parents(k.flow, k.node, j, k)
		k.dependents = x.findDependents(j, k)
		k.version = x.version
	}
	return *k
}

// parents returns whom a job reads, or, with j nil, a name of a workflow.
func (x *dependIndex) parents(f *workflow, node string, j *Job, k *kin) []Parent {
	var out []Parent
	if f != nil && f.graph != nil && (j == nil || f.nodes[node] == j) { // of two jobs of one name the latest counts
		if y, ok := f.graph.Index(node); ok {
			for _, z := range f.graph.Reads(y) {
				out = append(out, Parent{f.graph.Name(z), succeeding(f.nodes[f.graph.Name(z)])})
			}
		}
	}
	if j == nil {
		return out
	}
	for _, folder := range k.under {
		w := latestBefore(x.writers[folder], j)
		if w != nil && !slices.ContainsFunc(out, func(p Parent) bool { return p.Job == w }) {
			out = append(out, Parent{x.nameOf(w), w})
		}
	}
	return out
}

func (x *dependIndex) nameOf(j *Job) string {
	if k := x.kin[j]; k != nil && k.node != "" {
		return k.node
	}
	return string(j.ID)
}

func (x *dependIndex) findDependents(j *Job, k *kin) []Dependent {
	var out []Dependent
	if f := k.flow; f != nil && f.graph != nil && f.nodes[k.node] == j {
		if at, ok := f.graph.Index(k.node); ok {
			for _, y := range f.graph.Next(at) {
				name := f.graph.Name(y)
				reader := f.nodes[name]
				out = append(out, Dependent{name, reader, others(x.parents(f, name, reader, x.kin[reader]), j, k.node)})
			}
		}
	}
	for _, y := range x.readers[k.output] {
		if latestBefore(x.writers[k.output], y) != j || slices.ContainsFunc(out, func(d Dependent) bool { return d.Job == y }) {
			continue
		}
		of := x.kin[y]
		out = append(out, Dependent{x.nameOf(y), y, others(x.parents(of.flow, of.node, y, of), j, "")})
	}
	return out
}

// others returns the parents but one, which is a job or a name of its workflow.
func others(parents []Parent, but *Job, node string) []Parent {
	return slices.DeleteFunc(parents, func(p Parent) bool { return p.Job == but || (p.Job == nil && node != "" && p.Name == node) })
}

// latestBefore returns the last of the jobs, given by arrival, that came before
// j and has not failed.
func latestBefore(jobs []*Job, j *Job) *Job {
	for _, w := range slices.Backward(jobs) {
		if compareJobs(w, j) < 0 && succeeding(w) != nil {
			return w
		}
	}
	return nil
}

// succeeding returns the job unless it failed.
func succeeding(j *Job) *Job {
	if j == nil || j.State == model.AppFailed || j.State == model.AppKilled {
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

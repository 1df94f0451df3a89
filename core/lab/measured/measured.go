// Package measured holds MapReduce jobs as they ran on a real cluster, and makes a
// workload of them: each task with the bytes it read and put out, the nodes its block was
// on, and how long it computed. Job histories and recordings are read into it.
package measured

import (
	"cmp"
	"fmt"
	"slices"

	"heddle/core/lab/workload"
	"heddle/core/model"
)

// Job is one job as it ran. Times are of the Unix epoch.
type Job struct {
	ID        string
	Name      string
	User      model.UserID
	Queue     model.QueueID // full path; empty is workload.DefaultQueue
	Submitted model.Time
	Finished  model.Time // 0 if not known
	AMHost    string     // of its last ApplicationMaster; empty if not known
	// AMLaunched is when that was seen to have a container; 0 if not known.
	AMLaunched model.Time
	Maps       []Task // that succeeded, by index
	Reduces    []Task
	// MapTask and ReduceTask are what it asked for a task; zero if not known.
	MapTask, ReduceTask model.Resource
}

// Task is the attempt of a task that succeeded. Bytes are model.Unknown where they are not known.
type Task struct {
	Host     string       // where it ran; empty if not known
	Rack     model.RackID // of Host; empty if not known
	Launched model.Time
	Fetched  model.Time // of a reduce: when it had all map output; 0 if not known
	Finished model.Time
	Read     model.Bytes // of a map, from HDFS
	Output   model.Bytes // of a map, as stored for the shuffle (MAP_OUTPUT_MATERIALIZED_BYTES); of a reduce or of a map of a job without reduces, written to HDFS
	Shuffled model.Bytes // of a reduce (REDUCE_SHUFFLE_BYTES)
	Replicas []string    // hosts with a copy of what it read; none if not known
}

// Options say how measured jobs become a workload.
type Options struct {
	Name string // of the workload
	// Racks holds the hosts of each rack, for hosts of which a task does not say it.
	Racks map[model.RackID][]string
	// Anywhere drops where blocks were and tasks ran, so that the workload runs on any cluster.
	Anywhere bool
	// StartsAtOnce says that containers need no time to start, as in the trace of a simulator.
	StartsAtOnce bool
}

// Result is a workload of measured jobs and what it needs.
type Result struct {
	Workload *workload.Workload
	// Racks are those that the workload's nodes are numbered by, and their hosts: node [2, 3] is the third
	// host of the second rack. Empty with Options.Anywhere.
	Racks []Rack
	// Left are the jobs that could not be made one of, with the reason.
	Left []Left
}

// Rack is a rack with its hosts, in order.
type Rack struct {
	ID    model.RackID
	Hosts []string
}

// Left is a job that was left out.
type Left struct {
	ID  string `json:"job"`
	Why string `json:"reason"`
}

// Workload makes a workload of jobs, by submission. The first submission is its time 0.
//
// How long a task computes is what its attempt took, apart from what other racks made it
// wait for. A map that read from another rack computes as long as the median map of its
// job that did not, if that is less. A reduce computes from the moment it had fetched
// everything; where that is not known, from the end of the last map or of the start of its
// container, whichever was later.
func Workload(jobs []Job, o *Options) (*Result, error) {
	p := newPlaces(jobs, o)
	if !o.StartsAtOnce {
		p.start = leastStart(jobs)
	}
	r := &Result{Workload: &workload.Workload{Name: o.Name}, Racks: p.racks}
	order := slices.Clone(jobs)
	slices.SortStableFunc(order, func(a, b Job) int { return cmp.Or(cmp.Compare(a.Submitted, b.Submitted), cmp.Compare(a.ID, b.ID)) })
	var first model.Time
	seen := map[string]bool{}
	for i := range order {
		j := &order[i]
		if len(r.Workload.Jobs) == 0 {
			first = j.Submitted
		}
		why := j.unusable()
		if why == "" && seen[j.ID] {
			why = "another job has its id"
		}
		var out workload.Job
		if why == "" {
			out = p.job(j, first)
			if err := (&workload.Workload{Jobs: []workload.Job{out}}).Validate(); err != nil {
				why = fmt.Sprintf("it breaks a rule of workloads: %v", err)
			}
		}
		if why != "" {
			r.Left = append(r.Left, Left{j.ID, why})
			continue
		}
		seen[j.ID] = true
		r.Workload.Jobs = append(r.Workload.Jobs, out)
	}
	if err := r.Workload.Validate(); err != nil {
		return nil, fmt.Errorf("jobs as they ran: %w", err)
	}
	return r, nil
}

// unusable says why a job cannot be simulated, "" if it can.
func (j *Job) unusable() string {
	switch {
	case j.ID == "":
		return "it has no id"
	case j.Submitted <= 0:
		return "when it was submitted is not known"
	case len(j.Maps)+len(j.Reduces) == 0:
		return "none of its tasks is known to have succeeded"
	case len(j.Maps) == 0:
		return "it has reduces and no maps"
	}
	for _, tasks := range [][]Task{j.Maps, j.Reduces} {
		for i := range tasks {
			if t := &tasks[i]; t.Launched <= 0 || t.Finished < t.Launched {
				return "when its tasks began and ended is not known"
			}
		}
	}
	return ""
}

// lastMap returns when the last map ended.
func (j *Job) lastMap() model.Time {
	last := model.Time(0)
	for i := range j.Maps {
		last = max(last, j.Maps[i].Finished)
	}
	return last
}

// places number the nodes of the cluster that jobs ran on.
type places struct {
	racks []Rack
	nodes map[string]workload.Node // by host
	start model.Duration           // of a container
}

// mostStart bounds what a container is taken to need to start. On the cluster of docs/validation.md
// reduces with next to nothing to fetch have it 3 to 6 s after their launch.
const mostStart = 5 * model.Second

// leastStart estimates the start of a container: the least that any attempt took, up to where
// a reduce had fetched everything.
func leastStart(jobs []Job) model.Duration {
	least := mostStart
	for i := range jobs {
		for _, tasks := range [][]Task{jobs[i].Maps, jobs[i].Reduces} {
			for k := range tasks {
				t := &tasks[k]
				until := t.Finished
				if t.Fetched > t.Launched {
					until = t.Fetched
				}
				if until > t.Launched && t.Launched > 0 {
					least = min(least, until.Sub(t.Launched))
				}
			}
		}
	}
	return least
}

func newPlaces(jobs []Job, o *Options) *places {
	p := &places{nodes: map[string]workload.Node{}}
	if o.Anywhere {
		return p
	}
	rackOf := map[string]model.RackID{}
	for rack, hosts := range o.Racks { // order-free: a host has one rack
		for _, h := range hosts {
			rackOf[h] = rack
		}
	}
	for i := range jobs {
		for _, tasks := range [][]Task{jobs[i].Maps, jobs[i].Reduces} {
			for k := range tasks {
				if t := &tasks[k]; t.Host != "" && t.Rack != "" && rackOf[t.Host] == "" {
					rackOf[t.Host] = t.Rack
				}
			}
		}
	}
	byRack := map[model.RackID][]string{}
	for host, rack := range rackOf { // order-free: sorted below
		byRack[rack] = append(byRack[rack], host)
	}
	for rack, hosts := range byRack { // order-free: sorted below
		slices.Sort(hosts)
		p.racks = append(p.racks, Rack{rack, hosts})
	}
	slices.SortFunc(p.racks, func(a, b Rack) int { return cmp.Compare(a.ID, b.ID) })
	for r := range p.racks {
		for n, host := range p.racks[r].Hosts {
			p.nodes[host] = workload.Node{Rack: r + 1, Number: n + 1}
		}
	}
	return p
}

// job makes a job of the workload.
func (p *places) job(j *Job, first model.Time) workload.Job {
	out := workload.Job{
		ID: workload.JobID(j.ID), Name: j.Name, User: j.User, Queue: j.Queue, Submit: max(j.Submitted-first, 0),
		AMRanOn: p.nodes[j.AMHost],
	}
	if out.AMRanOn != (workload.Node{}) && j.AMLaunched > first {
		out.AMLaunched = j.AMLaunched - first
	}
	if out.User == "" {
		out.User = "unknown"
	}
	if out.Queue == "" {
		out.Queue = workload.DefaultQueue
	}
	maps := workload.Stage{Name: model.StageMap, Tasks: len(j.Maps), Container: container(j.MapTask), Start: p.start}
	local := p.medianLocal(j.Maps)
	var read model.Bytes
	for i := range j.Maps {
		m := p.task(&j.Maps[i], first)
		m.Compute = j.Maps[i].Finished.Sub(j.Maps[i].Launched)
		if !p.isLocal(&j.Maps[i]) && local > 0 {
			m.Compute = min(m.Compute, local)
		}
		read += m.Read
		maps.Output += m.Output
		maps.Measured = append(maps.Measured, m)
	}
	if read > 0 {
		maps.Reads = []workload.File{{Bytes: read}}
	}
	out.Stages = append(out.Stages, maps)
	if len(j.Reduces) > 0 {
		out.Stages = append(out.Stages, p.reduces(j, first))
	}
	return out
}

// reduces makes the stage of a job's reduces.
func (p *places) reduces(j *Job, first model.Time) workload.Stage {
	s := workload.Stage{
		Name: model.StageReduce, Tasks: len(j.Reduces), Container: container(j.ReduceTask),
		Edges: []workload.Edge{{From: 0, Kind: model.ScatterGather}}, Start: p.start,
	}
	last := j.lastMap()
	for i := range j.Reduces {
		t := &j.Reduces[i]
		m := p.task(t, first)
		fetched := t.Fetched
		if fetched < t.Launched || fetched > t.Finished {
			fetched = min(max(last, t.Launched.Add(p.start)), t.Finished)
		}
		m.Compute = t.Finished.Sub(fetched)
		s.Output += m.Output
		s.Measured = append(s.Measured, m)
	}
	return s
}

// task makes a measured task, without how long it computed.
func (p *places) task(t *Task, first model.Time) workload.Measured {
	m := workload.Measured{Read: known(t.Read), Output: known(t.Output), Shuffled: known(t.Shuffled), RanOn: p.nodes[t.Host]}
	if m.RanOn != (workload.Node{}) && t.Launched > first {
		m.Launched = t.Launched - first
	}
	for _, h := range t.Replicas {
		if n, ok := p.nodes[h]; ok && !slices.Contains(m.Replicas, n) {
			m.Replicas = append(m.Replicas, n)
		}
	}
	if m.Read == 0 {
		m.Replicas = nil
	}
	return m
}

// isLocal reports whether a map read within its rack, as far as is known.
func (p *places) isLocal(t *Task) bool {
	on, ok := p.nodes[t.Host]
	if !ok || len(t.Replicas) == 0 {
		return true
	}
	return slices.ContainsFunc(t.Replicas, func(h string) bool {
		n, ok := p.nodes[h]
		return ok && n.Rack == on.Rack
	})
}

// medianLocal returns the median time of the maps that read within their rack, 0 without any.
func (p *places) medianLocal(maps []Task) model.Duration {
	var took []model.Duration
	for i := range maps {
		if p.isLocal(&maps[i]) {
			took = append(took, maps[i].Finished.Sub(maps[i].Launched))
		}
	}
	if len(took) == 0 {
		return 0
	}
	slices.Sort(took)
	return took[len(took)/2]
}

func known(b model.Bytes) model.Bytes { return max(b, 0) }

func container(r model.Resource) model.Resource {
	if r.MemoryMiB <= 0 || r.VCores <= 0 {
		return workload.DefaultSizing().Container
	}
	return r
}

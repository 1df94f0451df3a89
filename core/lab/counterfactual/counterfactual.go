// Package counterfactual makes a simulation of a recording: its jobs with the sizes and
// times their tasks were measured at, its racks and uplinks, and the start of its
// ApplicationMasters. What a replay cannot know, how long tasks would have waited for the
// network under another policy, the simulator computes; how far to believe it, Compare
// says, from a run with every task where it ran.
package counterfactual

import (
	"cmp"
	"errors"
	"iter"
	"maps"
	"math"
	"slices"

	"heddle/core/lab/measured"
	"heddle/core/lab/sim"
	"heddle/core/lab/workload"
	"heddle/core/model"
	"heddle/core/state"
	"heddle/core/topology"
	"heddle/core/trace"
)

// Options say what a recording does not.
type Options struct {
	Name     string               // of the workload
	Settings *state.Config        // of the recorded service
	Uplink   topology.Link        // of racks whose capacity Settings does not have; 0 is not known
	NIC      model.BytesPerSecond // of every node, in each direction
	Since    model.Time           // only jobs submitted from here on; 0 is all
	Until    model.Time           // and before here; 0 is all
}

// Recorded is what a recording has for a simulation.
type Recorded struct {
	*measured.Result
	Cluster sim.Cluster
	Params  sim.Params
	Ran     []Ran // by job of the workload
}

// Ran is how a job ran.
type Ran struct {
	ID      string
	Seconds float64 // from its submission to the end of its last task
}

// What a recording may lack.
var (
	ErrNoUplinks = errors.New("the capacity of the racks' uplinks is not in the recording")
	ErrNoJobs    = errors.New("the recording has no MapReduce job whose tasks' times are known")
	ErrNoNodes   = errors.New("the recording names no node")
)

// Read reads a recording.
func Read(records iter.Seq2[trace.Record, error], o *Options) (*Recorded, error) {
	r := &reader{
		apps: map[model.AppID]*app{}, nodes: map[string]model.Node{}, blocks: map[string][]model.Block{},
		most: map[model.Resource]int{},
	}
	for rec, err := range records {
		if err != nil {
			return nil, err
		}
		if rec.Observation != nil {
			r.apply(rec.Observation.Fact, rec.Observation.At)
		}
	}
	return r.recorded(o)
}

// reader gathers what a recording says last of everything.
type reader struct {
	apps   map[model.AppID]*app
	nodes  map[string]model.Node // that ever ran, by host, at their largest and with the most containers
	blocks map[string][]model.Block
	most   map[model.Resource]int // containers by size
}

// app is one application.
type app struct {
	model.App
	conf    model.JobConfFact
	am      model.NodeID // of its ApplicationMaster, as last listed
	amAt    model.Time   // when that was first listed
	written model.Bytes  // to HDFS by all its tasks
	tasks   map[model.Stage]map[int]model.Task
}

func (r *reader) app(id model.AppID) *app {
	a := r.apps[id]
	if a == nil {
		a = &app{App: model.App{ID: id}, tasks: map[model.Stage]map[int]model.Task{}}
		r.apps[id] = a
	}
	return a
}

func (r *reader) apply(fact model.Fact, at model.Time) {
	switch f := fact.(type) {
	case model.NodesFact:
		for i := range f.Nodes {
			n := &f.Nodes[i]
			if had := r.nodes[n.Host]; n.State.Usable() && n.Total.MemoryMiB >= had.Total.MemoryMiB {
				now := *n
				now.Containers = max(had.Containers, n.Containers)
				r.nodes[n.Host] = now
			}
		}
	case model.AppsFact:
		for i := range f.Apps {
			a := r.app(f.Apps[i].ID)
			a.App = f.Apps[i]
			if a.AMNode != "" && a.AMNode != a.am {
				a.am, a.amAt = a.AMNode, at
			}
		}
	case model.JobConfFact:
		r.app(f.App).conf = f
	case model.TasksFact:
		a := r.app(f.App)
		for i := range f.Tasks {
			t := &f.Tasks[i]
			if a.tasks[t.Stage] == nil {
				a.tasks[t.Stage] = map[int]model.Task{}
			}
			a.tasks[t.Stage][t.Index] = timed(*t, a.tasks[t.Stage][t.Index], at)
		}
	case model.CountersFact:
		a := r.app(f.App)
		a.written = max(a.written, f.HDFSWritten)
	case model.BlocksFact:
		r.blocks[f.Path] = f.Blocks
	}
}

// timed fills in the times that a recording does not have, as those of earlier versions: when
// the task was first seen to run, and first seen to have succeeded.
func timed(t, before model.Task, at model.Time) model.Task {
	if t.Launched == 0 && t.State != model.TaskPending {
		if t.Launched = at; before.Launched > 0 {
			t.Launched = before.Launched
		}
	}
	if t.Finished == 0 && t.State == model.TaskSucceeded {
		if t.Finished = at; before.Finished > 0 {
			t.Finished = before.Finished
		}
	}
	return t
}

// recorded makes the simulation.
func (r *reader) recorded(o *Options) (*Recorded, error) {
	if len(r.nodes) == 0 {
		return nil, ErrNoNodes
	}
	racks := map[model.RackID][]string{}
	for host, n := range r.nodes { // order-free: sorted by package measured
		racks[n.Rack] = append(racks[n.Rack], host)
	}
	var jobs []measured.Job
	var left []measured.Left
	for _, id := range slices.Sorted(maps.Keys(r.apps)) {
		a := r.apps[id]
		if a.Submitted < o.Since || o.Until > 0 && a.Submitted >= o.Until {
			continue
		}
		if why := a.leftOut(); why != "" {
			left = append(left, measured.Left{ID: string(id), Why: why})
			continue
		}
		jobs = append(jobs, r.job(a))
	}
	of, err := measured.Workload(jobs, &measured.Options{Name: o.Name, Racks: racks})
	if err != nil {
		return nil, err
	}
	of.Left = append(left, of.Left...)
	if len(of.Workload.Jobs) == 0 {
		return nil, ErrNoJobs
	}
	out := &Recorded{Result: of, Params: sim.DefaultParams()}
	byID := map[string]*measured.Job{}
	for i := range jobs {
		byID[jobs[i].ID] = &jobs[i]
	}
	starts := make([]model.Duration, 0, len(of.Workload.Jobs))
	for i := range of.Workload.Jobs {
		j := byID[string(of.Workload.Jobs[i].ID)]
		first, last := span(j)
		out.Ran = append(out.Ran, Ran{j.ID, last.Sub(j.Submitted).Seconds()})
		starts = append(starts, first.Sub(j.Submitted))
	}
	r.params(&out.Params, starts)
	out.Cluster, err = r.cluster(of, o)
	return out, err
}

// leftOut says why an application is not simulated, "" if it is.
func (a *app) leftOut() string {
	switch {
	case a.Type != "" && a.Type != "MAPREDUCE":
		return "not a MapReduce job: what its tasks did is not recorded"
	case !a.State.Final():
		return "it had not ended"
	case a.State != model.AppFinished:
		return "it did not succeed"
	case a.Submitted == 0:
		return "when it was submitted is not recorded"
	}
	return ""
}

// job makes a measured job.
func (r *reader) job(a *app) measured.Job {
	j := measured.Job{
		ID: string(a.ID), Name: a.Name, User: a.User, Queue: a.Queue, Submitted: a.Submitted, Finished: a.Finished,
		AMHost: a.am.Host(), AMLaunched: a.amAt, MapTask: a.conf.MapTask, ReduceTask: a.conf.ReduceTask,
	}
	r.most[a.conf.MapTask] += len(a.tasks[model.StageMap])
	r.most[a.conf.ReduceTask] += len(a.tasks[model.StageReduce])
	j.Maps, j.Reduces = succeeded(a.tasks[model.StageMap]), succeeded(a.tasks[model.StageReduce])
	writers := j.Maps
	if len(j.Reduces) > 0 {
		writers = j.Reduces
	}
	for i := range writers { // what each wrote is not recorded
		writers[i].Output = a.written*model.Bytes(i+1)/model.Bytes(len(writers)) - a.written*model.Bytes(i)/model.Bytes(len(writers))
	}
	splits := r.splits(a.conf.Inputs, len(j.Maps))
	for i := range j.Maps {
		if i < len(splits) {
			j.Maps[i].Replicas = splits[i].Hosts
		}
	}
	return j
}

// succeeded returns the tasks that succeeded, by index.
func succeeded(tasks map[int]model.Task) []measured.Task {
	var out []measured.Task
	for _, i := range slices.Sorted(maps.Keys(tasks)) {
		t := tasks[i]
		if t.State != model.TaskSucceeded {
			continue
		}
		out = append(out, measured.Task{
			Host: t.Host, Rack: t.Rack, Launched: t.Launched, Fetched: t.Fetched, Finished: t.Finished,
			Read: t.Input, Output: t.Output, Shuffled: t.Shuffled, Replicas: t.Preferred,
		})
	}
	return out
}

// splits returns the blocks that a job's maps read, by map. There are none where that would
// not be as many as it has maps.
func (r *reader) splits(inputs []string, count int) []model.Block {
	var blocks [][]model.Block // by file
	var sizes [][]model.Bytes
	for _, path := range inputs {
		for i, b := range r.blocks[path] {
			if i == 0 || b.Offset == 0 {
				blocks, sizes = append(blocks, nil), append(sizes, nil)
			}
			f := len(blocks) - 1
			blocks[f], sizes[f] = append(blocks[f], b), append(sizes[f], b.Length)
		}
	}
	splits := measured.Splits(sizes)
	if len(splits) != count {
		return nil
	}
	all := make([]model.Block, count)
	for i, s := range splits {
		all[i] = blocks[s.File][s.Block]
	}
	return all
}

// span returns when the first task of a job was launched, and when its last one ended.
func span(j *measured.Job) (first, last model.Time) {
	first = math.MaxInt64
	for _, tasks := range [][]measured.Task{j.Maps, j.Reduces} {
		for i := range tasks {
			first, last = min(first, tasks[i].Launched), max(last, tasks[i].Finished)
		}
	}
	return first, last
}

// params sets what the recorded Hadoop was set to, as far as it shows.
func (r *reader) params(p *sim.Params, starts []model.Duration) {
	// A quarter of the jobs waited for nothing but their ApplicationMaster, if any did. It was offered its
	// containers at two heartbeats, of which it waited half on average.
	slices.Sort(starts)
	p.AMStart = max(starts[len(starts)/4]-p.Heartbeat, 0)
	p.Multiple = true // as the CapacityScheduler assigns containers
	p.AMShare = 1     // the limit of the recorded scheduler is not known
	share := map[float64]int{}
	for _, a := range r.apps { // order-free: counts
		if len(a.conf.Inputs) > 0 {
			share[a.conf.Slowstart]++
		}
	}
	if len(share) > 0 {
		p.Slowstart = mostOf(share)
	}
}

// mostOf returns the key with the largest count, of equal ones the least.
func mostOf[K cmp.Ordered](counts map[K]int) K {
	keys := slices.Sorted(maps.Keys(counts))
	best := keys[0]
	for _, k := range keys {
		if counts[k] > counts[best] {
			best = k
		}
	}
	return best
}

// payload is the part of a link's rate that is left for data: of an Ethernet frame of 1514 bytes
// 1448 are, and a link carries 20 to 24 more for each.
const payload = 0.945

// cluster describes the recorded cluster. A node has as many containers as fit of the
// size that most tasks had, by memory, and at least as many as were seen on any at once; the nodes of a rack are taken to be alike.
func (r *reader) cluster(of *measured.Result, o *Options) (sim.Cluster, error) {
	c := sim.Uniform(0, 0, 0, 0, 0)
	c.Container = r.container(o)
	for i := range of.Racks {
		rack := &of.Racks[i]
		memory, most := int64(0), 1
		for _, h := range rack.Hosts {
			memory += r.nodes[h].Total.MemoryMiB
			most = max(most, r.nodes[h].Containers)
		}
		each := float64(memory) / float64(len(rack.Hosts)) / float64(c.Container.MemoryMiB)
		link := o.Settings.Uplinks.Of(rack.ID, len(rack.Hosts))
		if link.Out <= 0 || link.In <= 0 {
			link = o.Uplink
		}
		if link.Out <= 0 || link.In <= 0 {
			return c, ErrNoUplinks
		}
		link.Out, link.In = link.Out*payload, link.In*payload
		c.Racks = append(c.Racks, sim.Rack{Nodes: len(rack.Hosts), Containers: max(int(each), most), Uplink: link, NIC: o.NIC})
	}
	replicas := map[int]int{}
	for _, blocks := range r.blocks { // order-free: counts
		for i := range blocks {
			replicas[len(blocks[i].Hosts)]++
		}
	}
	delete(replicas, 0)
	if len(replicas) > 0 {
		c.Replication = mostOf(replicas)
	}
	written := map[int]int{}
	for _, a := range r.apps { // order-free: counts
		if a.conf.Replication > 0 {
			written[a.conf.Replication]++
		}
	}
	c.CrossRackWrites = len(written) == 0 || mostOf(written) > 1
	return c, nil
}

// container returns the size that most tasks had, YARN's default if none is known.
func (r *reader) container(o *Options) model.Resource {
	best, most := o.Settings.TaskDefault, 0
	for _, size := range slices.SortedFunc(maps.Keys(r.most), func(a, b model.Resource) int {
		return cmp.Or(cmp.Compare(a.MemoryMiB, b.MemoryMiB), cmp.Compare(a.VCores, b.VCores))
	}) {
		if n := r.most[size]; n > most && size.MemoryMiB > 0 && size.VCores > 0 {
			best, most = size, n
		}
	}
	if best.MemoryMiB <= 0 || best.VCores <= 0 {
		return workload.DefaultSizing().Container
	}
	return best
}

// Package frontier compares weave with every other policy over workloads of many kinds. Each of the others runs with
// several values of Hadoop's slowstart, and for each metric the best run of any of them counts. Parameters are chosen
// on the workloads for training; the others are only run.
package frontier

import (
	"fmt"
	"strings"

	"heddle/core/lab/sim"
	"heddle/core/lab/workload"
	"heddle/core/model"
)

// The public traces, by the names of their files (docs/workloads.md).
const (
	traceFB2009 = "FB-2009_samples_24_times_1hr_0.tsv"
	traceFB2010 = "FB-2010_samples_24_times_1hr_0.tsv"
)

// Workload is jobs on a cluster.
type Workload struct {
	Name     string
	Doc      string // what is particular about it
	Training bool   // parameters may be chosen on it
	Source   string // a generator (synth:NAME[,key=value...]) or the name of a public trace
	Skip     int    // jobs at the beginning of the source that are left out
	Jobs     int    // how many follow; 0 is all
	Compute  int    // factor on the time that tasks compute; 0 is 1
	Cluster  sim.Cluster
}

// Trace returns the name of the public trace that the workload is from, "" for a generated one.
func (w *Workload) Trace() string {
	if strings.HasPrefix(w.Source, workload.SynthPrefix) {
		return ""
	}
	return w.Source
}

// Workloads returns all workloads: the ten that weave was developed on or tried on, then seven of other kinds. In names
// oN is a network that is oversubscribed N times, c input that is concentrated on few racks.
func Workloads() []Workload {
	return append(developed(), others()...)
}

// developed returns the workloads that weave's prototype was measured on.
func developed() []Workload {
	return []Workload{
		{
			Name: "fb2010-o5", Doc: "statistics of a Facebook day of 2010", Training: true,
			Source: "synth:fb2010,jobs=2000,scale=0.3", Cluster: uniform(10, 5, 5),
		},
		{
			Name: "fb2010-o10c", Doc: "the same, the input of a job on two racks", Training: true,
			Source: "synth:fb2010,jobs=2000,scale=0.2,racks=2", Cluster: uniform(10, 5, 10),
		},
		{
			Name: "fb2009-o10", Doc: "the first 2,000 jobs of FB-2009", Training: true,
			Source: traceFB2009, Jobs: 2000, Cluster: uniform(6, 5, 10),
		},
		{
			Name: "fb2009-o3", Doc: "the same, a wider network", Training: true,
			Source: traceFB2009, Jobs: 2000, Cluster: uniform(6, 5, 3),
		},
		{
			Name: "shufflewatcher-o10", Doc: "ShuffleWatcher's benchmarks, a backlog from 15 minutes of submissions", Training: true,
			Source: "synth:shufflewatcher,scale=0.04", Cluster: uniform(10, 10, 10),
		},
		{
			Name: "shufflewatcher-o5c", Doc: "the same, the input of a job on two racks", Training: true,
			Source: "synth:shufflewatcher,scale=0.05,racks=2", Cluster: uniform(10, 10, 5),
		},
		{
			Name: "dawn-ml-o5", Doc: "Dawn's machine learning: 18 chains of 11 jobs", Training: true,
			Source: "synth:dawn-ml,benchmarks=18", Cluster: uniform(6, 9, 5),
		},
		{
			Name: "dawn-tpch-o5", Doc: "TPC-H, each query a graph of stages", Training: true,
			Source: "synth:dawn-tpch,gb=100", Cluster: uniform(8, 8, 5),
		},
		{
			Name: "dawn-tpch-mr-o10", Doc: "TPC-H, each query a chain of MapReduce jobs",
			Source: "synth:dawn-tpch,form=mr,gb=150", Cluster: uniform(10, 8, 10),
		},
		{
			Name: "fb2010-trace-o5", Doc: "the first 2,000 jobs of FB-2010 on 600 nodes", Training: true,
			Source: traceFB2010, Jobs: 2000, Cluster: uniform(30, 20, 5),
		},
	}
}

// others returns workloads of other kinds.
func others() []Workload {
	return []Workload{
		{
			Name: "compute-bound", Doc: "tasks compute eight times as long, and uplinks carry four times what interfaces send",
			Source: "synth:fb2010,jobs=2000,scale=0.1,seed=6", Compute: 8, Cluster: uniform(10, 5, 0.25),
		},
		{
			Name: "uneven-racks", Doc: "racks of 3, 5 and 8 nodes with 2, 6 and 4 containers each, oversubscribed 3, 10 and 5 times",
			Source:  "synth:fb2010,jobs=2000,scale=0.25,seed=2",
			Cluster: join(rackGroup{3, 8, 4, 5}.cluster(), rackGroup{4, 5, 6, 10}.cluster(), rackGroup{3, 3, 2, 3}.cluster()),
		},
		{
			Name: "moving-background", Doc: "other traffic takes 60 % of three uplinks of ten, which change every 5 minutes",
			Source: "synth:fb2010,jobs=2000,scale=0.2,seed=3", Cluster: movingBackground(),
		},
		{
			Name: "fb2010-o20", Doc: "a network that is oversubscribed 20 times",
			Source: "synth:fb2010,jobs=2000,scale=0.15,seed=4", Cluster: uniform(8, 8, 20),
		},
		{
			Name: "many-racks", Doc: "40 racks of two nodes",
			Source: "synth:fb2010,jobs=2000,scale=0.3,seed=5", Cluster: uniform(40, 2, 5),
		},
		{
			Name: "fb2009-later-o8", Doc: "the 2,500 jobs of FB-2009 after the first 2,000",
			Source: traceFB2009, Skip: 2000, Jobs: 2500, Cluster: uniform(6, 5, 8),
		},
		{
			Name: "heavy-even-o5", Doc: "ShuffleWatcher's mix with 60 % heavy jobs, three replicas of the input on all racks",
			Source: "synth:shufflewatcher,mix=1,scale=0.02,seed=2", Cluster: uniform(10, 5, 5),
		},
	}
}

// nic is the rate of every node's interface: 1 Gbps.
const nic = 125e6

// uniform returns a cluster of like racks with nodes of four containers, oversubscribed so many times.
func uniform(racks, nodes int, oversubscription float64) sim.Cluster {
	return rackGroup{racks, nodes, 4, oversubscription}.cluster()
}

// rackGroup is racks that are alike.
type rackGroup struct {
	racks, nodes, containers int
	oversubscription         float64
}

func (g rackGroup) cluster() sim.Cluster {
	return sim.Uniform(g.racks, g.nodes, g.containers, model.BytesPerSecond(float64(g.nodes)*nic/g.oversubscription), nic)
}

// join returns a cluster with the racks of all.
func join(first sim.Cluster, more ...sim.Cluster) sim.Cluster {
	for i := range more {
		first.Racks = append(first.Racks, more[i].Racks...)
	}
	return first
}

func movingBackground() sim.Cluster {
	c := uniform(10, 5, 5)
	c.BackgroundMoves = 5 * model.Minute
	for _, rack := range []int{0, 3, 6} {
		r := &c.Racks[rack]
		r.Background.Out, r.Background.In = 0.6*r.Uplink.Out, 0.6*r.Uplink.In
	}
	return c
}

// Select returns the jobs of the workload among those of its trace, which is nil for a generated one. A scale below 1 takes
// that part of them, one at least.
func (w *Workload) Select(trace *workload.Workload, scale float64) (*workload.Workload, error) {
	all := trace
	if all == nil {
		var err error
		if all, err = workload.Synth(w.Source); err != nil {
			return nil, fmt.Errorf("%s: %w", w.Name, err)
		}
	}
	if w.Skip >= len(all.Jobs) {
		return nil, fmt.Errorf("%s: %s has %d jobs, and the first %d are left out", w.Name, w.Source, len(all.Jobs), w.Skip)
	}
	end := len(all.Jobs)
	if w.Jobs > 0 {
		end = min(w.Skip+w.Jobs, end)
	}
	n := min(max(int(scale*float64(end-w.Skip)+0.5), 1), end-w.Skip)
	out := &workload.Workload{Name: w.Name, Jobs: append([]workload.Job(nil), all.Jobs[w.Skip:w.Skip+n]...)}
	start := out.Jobs[0].Submit
	for i := range out.Jobs {
		j := &out.Jobs[i]
		if w.Skip > 0 {
			if len(j.Parents) > 0 {
				return nil, fmt.Errorf("%s: job %s reads the output of others, which may be left out", w.Name, j.ID)
			}
			j.Submit = model.Time(j.Submit.Sub(start))
		}
		if w.Compute > 1 {
			j.Stages = append([]workload.Stage(nil), j.Stages...)
			for k := range j.Stages {
				j.Stages[k].Cost.Fixed *= model.Duration(w.Compute)
				j.Stages[k].Cost.PerGiB *= model.Duration(w.Compute)
			}
		}
	}
	return out, nil
}

// ClusterText describes the cluster in a line.
func (w *Workload) ClusterText() string {
	var parts []string
	for i := 0; i < len(w.Cluster.Racks); {
		r, n := w.Cluster.Racks[i], 0
		r.Background.Out, r.Background.In = 0, 0
		for ; i < len(w.Cluster.Racks); i++ {
			other := w.Cluster.Racks[i]
			other.Background.Out, other.Background.In = 0, 0
			if other != r {
				break
			}
			n++
		}
		parts = append(parts, fmt.Sprintf("%d racks × %d nodes × %d containers, %g:1", n, r.Nodes, r.Containers, float64(r.NIC)*float64(r.Nodes)/float64(r.Uplink.Out)))
	}
	return strings.Join(parts, "; ")
}

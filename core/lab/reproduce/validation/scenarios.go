// Package validation describes the experiment of docs/performance.md ("What
// steering is worth"), which a real Hadoop ran, as workloads and a cluster of the
// simulator, runs them there, and sets the result beside what was measured.
// docs/validation.md is the outcome; its test writes and checks it.
//
// What is described is the experiment's own, was measured elsewhere, or is called
// an estimate where it stands. There is one set of figures for all scenarios and
// arms, and no value was chosen for what it does to a row.
package validation

import (
	"heddle/core/lab/sim"
	"heddle/core/lab/workload"
	"heddle/core/model"
)

// The cluster of the experiment (integration/experiment_test.go, integration/hadoop).
const (
	racks         = 3
	hostsPerRack  = 3
	perHost       = 2                                     // containers: 1024 MiB in pieces of 512
	uplink        = model.BytesPerSecond(20e6 / 8 / wire) // of each rack, each way, as shaped
	nic           = model.BytesPerSecond(1e9 / 8)         // not shaped; two virtual Ethernet ends carry more than any task asks for
	containerMiB  = 512
	megabyte      = 1_000_000
	terasortInput = 198 * megabyte
)

// cluster returns the simulated cluster of the experiment with uplinks of a rate. A
// file has one block, and nothing written has a copy elsewhere.
func cluster(uplink model.BytesPerSecond, replication int) sim.Cluster {
	c := sim.Uniform(racks, hostsPerRack, perHost, uplink, nic)
	c.Container = model.Resource{MemoryMiB: containerMiB, VCores: 1}
	c.Replication, c.CrossRackWrites = replication, false
	return c
}

// rules returns Hadoop's rules as the experiment's cluster is configured.
func rules(seed uint64) sim.Params {
	p := sim.DefaultParams()
	p.Seed = seed
	p.Multiple = true // CapacityScheduler fills a node in one heartbeat (per-node-heartbeat.multiple-assignments-enabled)
	p.AMStart, p.AMShare = masterStart, 0.5
	return p
}

// Scenario is one of the experiment's.
type Scenario struct {
	Name string
	Arms []string // policies behind the relay; "" is Hadoop alone
	// Columns are the times that are taken.
	Columns []Column
	Beside  model.Bytes // what crosses racks besides the jobs' data

	cluster sim.Cluster
	work    func(arm string) *workload.Workload // an arm that prepares something has a job more
}

// Column is one time, in seconds.
type Column struct {
	Name    string
	seconds func(jobs []float64) float64 // from the seconds of every job of the workload
}

// last returns the time of the n-th job from the end, 1 for the last.
func last(n int) func([]float64) float64 {
	return func(jobs []float64) float64 { return jobs[len(jobs)-n] }
}

// Scenarios returns those of the experiment, and before them one job over uplinks
// of several rates with nothing steered.
func Scenarios() []Scenario {
	all := []Scenario{atRate("unshaped", 1000), atRate("100 Mbit/s", 100), atRate("50 Mbit/s", 50), atRate("20 Mbit/s", 20)}
	return append(all, oneJob("concentrated", onRack(1), 2), oneJob("even", everywhere(), 1), chain(), pair())
}

// atRate is a terasort of 400 MB, 12 maps and 6 reduces, over uplinks of a rate in
// Mbit/s. Its input has two replicas and lies where writers all over the cluster put it.
func atRate(name string, mbit float64) Scenario {
	const input, maps, reduces = 400 * megabyte, 12, 6
	return Scenario{
		Name: name, Arms: []string{""}, Columns: []Column{{"application", last(1)}}, Beside: besideTerasort,
		cluster: cluster(model.BytesPerSecond(mbit*1e6/8/wire), 2),
		work: func(string) *workload.Workload {
			j := sized("terasort", make([]workload.File, maps), terasortOutput(input), reduces, input)
			for i := range j.Stages[0].Reads {
				j.Stages[0].Reads[i].Bytes = input / maps
			}
			return workloadOf(name, j)
		},
	}
}

func oneJob(name string, hosts []workload.Node, perHost int) Scenario {
	return Scenario{
		Name: name, Arms: []string{"", "shufflewatcher", "nas", "dawn", "num"}, Beside: besideTerasort,
		Columns: []Column{{"application", last(1)}}, cluster: cluster(uplink, 1),
		work: func(string) *workload.Workload { return workloadOf(name, terasort("terasort", hosts, perHost)) },
	}
}

// chain is two sorts; the second reads what the first wrote and a table on rack 2.
// Before each run a job that is not measured copies the table to where it is read,
// steered under every arm. Under Hadoop alone the simulator has the copy
// there as a file; else as a job of the workflow, because Dawn weighs jobs only.
func chain() Scenario {
	const facts, firstReduces, secondMaps, secondReduces = 132 * megabyte, 2, 4, 4
	table := onRack(2)[:2]
	work := func(arm string) *workload.Workload {
		const written = facts + facts/rowBytes // TextOutputFormat ends the key with a tab
		first := sized("first", placed(onRack(1)[:2], 1, facts), textOutput(facts), firstReduces, written)
		first.Stages[0].Output = compressed(facts)
		second := sized("second", nil, textOutput(facts)*2, secondReduces, 2*written)
		second.Stages[0].Tasks, second.Stages[0].Cost = secondMaps, mapCost(secondMaps)
		if arm == "" {
			second.Parents = []int{0}
			second.Stages[0].Reads = append(placed(table, 1, written), ofParent(0, written))
			return workloadOf("chain", first, second)
		}
		load := sized("table", placed(table, 1, facts), written, 0, 0)
		first.Submit, second.Submit = prepared, prepared
		second.Parents = []int{0, 1}
		second.Stages[0].Reads = []workload.File{ofParent(0, written), ofParent(1, written)}
		return workloadOf("chain", load, first, second)
	}
	return Scenario{
		Name: "chain", Arms: []string{"", "shufflewatcher", "dawn"}, cluster: cluster(uplink, 1), work: work,
		Columns: []Column{
			{"both jobs", func(j []float64) float64 { return j[len(j)-2] + clientStart.Seconds() + j[len(j)-1] }},
			{"the first", last(2)},
			{"the second", last(1)},
		},
	}
}

// prepared is when the first measured job of the chain is submitted: long after
// the table has been copied.
const prepared = model.Time(5 * model.Minute)

// pair is a job that reads much and shuffles next to nothing, and a terasort
// submitted as soon as the ResourceManager has the first.
func pair() Scenario {
	const words, perHost = 297 * megabyte, 2
	work := func(string) *workload.Workload {
		light := sized("wordmean", placed(everywhere(), perHost, words), 18*wordmeanOutput, 1, wordmeanOutput)
		heavy := terasort("terasort", onRack(1), 2)
		heavy.Submit = model.Time(clientStart)
		return workloadOf("pair", light, heavy)
	}
	return Scenario{
		Name: "pair", Arms: []string{"", "shufflewatcher", "num"}, cluster: cluster(uplink, 1), work: work, Beside: besideTerasort,
		Columns: []Column{
			{"mean of both", func(j []float64) float64 { return (j[0] + j[1]) / 2 }}, {"the shuffle-heavy", last(1)},
		},
	}
}

func workloadOf(name string, jobs ...workload.Job) *workload.Workload {
	return &workload.Workload{Name: name, Jobs: jobs}
}

// onRack and everywhere are nodes, as the experiment lists its hosts.
func onRack(rack int) []workload.Node {
	var nodes []workload.Node
	for n := range hostsPerRack {
		nodes = append(nodes, workload.Node{Rack: rack, Number: n + 1})
	}
	return nodes
}

func everywhere() []workload.Node {
	var nodes []workload.Node
	for r := range racks {
		nodes = append(nodes, onRack(r+1)...)
	}
	return nodes
}

// placed is total bytes in so many files of one block on each host.
func placed(hosts []workload.Node, perHost int, total model.Bytes) []workload.File {
	var files []workload.File
	n := len(hosts) * perHost
	for i := range n {
		files = append(files, workload.File{Bytes: total / model.Bytes(n), Place: workload.OnNode, Node: hosts[i%len(hosts)]})
	}
	return files
}

// ofParent is what an earlier job wrote. Its two tasks wrote a file each, and a map reads half of this.
func ofParent(parent int, total model.Bytes) workload.File {
	return workload.File{Bytes: total, Place: workload.OfParent, Parent: parent}
}

func terasort(id string, hosts []workload.Node, perHost int) workload.Job {
	return sized(id, placed(hosts, perHost, terasortInput), terasortOutput(terasortInput), 4, terasortInput)
}

// sized is a job with a map for every file.
func sized(id string, reads []workload.File, mapped model.Bytes, reduces int, written model.Bytes) workload.Job {
	box := model.Resource{MemoryMiB: containerMiB, VCores: 1}
	j := workload.Job{ID: workload.JobID(id), Name: id, User: "root", Queue: workload.DefaultQueue, Stages: []workload.Stage{{
		Name: model.StageMap, Tasks: max(len(reads), 1), Reads: reads, Output: mapped, Cost: mapCost(len(reads)), Container: box,
	}}}
	if reduces > 0 {
		j.Stages = append(j.Stages, workload.Stage{
			Name: model.StageReduce, Tasks: reduces, Edges: []workload.Edge{{From: 0, Kind: model.ScatterGather}},
			Output: written, Cost: reduceCost(reduces), Container: box,
		})
	}
	return j
}

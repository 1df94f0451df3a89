// Package sample is a made-up cluster that moves: three racks of four nodes, a
// job whose maps finish and whose reduces fetch, a policy that decides and errs,
// and sources that are polled. Tests of metrics and dashboards run on it.
package sample

import (
	"fmt"
	"slices"

	"heddle/core/model"
	"heddle/core/state"
	"heddle/core/state/snapshot"
)

// Sizes of the cluster.
const (
	Racks        = 3
	NodesPerRack = 4
	maps         = 120
	reduces      = 12
)

// Policy is the name decisions are made under.
const Policy = "shufflewatcher"

// Shadow names the policy that is only compared.
const Shadow = "nas"

// Cluster moves one step at a time.
type Cluster struct {
	state *state.Cluster
	at    model.Time
	step  int

	decisions []model.Decision
	rejected  int64
}

// New returns the cluster before its first step; at is the time of that step.
func New(at model.Time) *Cluster {
	cfg := state.DefaultConfig()
	cfg.Uplinks.Default.Out, cfg.Uplinks.Default.In = 125e6, 125e6
	return &Cluster{state: state.New(cfg), at: at}
}

// App is the application that runs.
func App() model.AppID { return "application_1700000000000_0001" }

// Rack returns the name of a rack, from 0.
func Rack(i int) model.RackID { return model.RackID(fmt.Sprintf("/dc1/rack%d", i+1)) }

func host(rack, node int) string { return fmt.Sprintf("w%d%d.example.com", rack+1, node+1) }

// Step moves the cluster to a time and returns its snapshot.
func (c *Cluster) Step(at model.Time) *snapshot.Snapshot {
	c.at = at
	c.step++
	c.poll(model.SourceRM, model.PollFact{Result: model.PollOK, DurationMS: 40, Requests: 4, Bytes: 52_000})
	c.poll(model.SourceMapReduce, model.PollFact{Result: model.PollBudget, DurationMS: 120, Requests: 9, Bytes: 31_000})
	c.poll(model.SourceHDFS, model.PollFact{Result: model.PollOK, DurationMS: 18, Requests: 1, Bytes: 9_000})
	c.poll(model.SourceHistory, model.PollFact{Result: model.PollUnreachable, Error: "connection refused", DurationMS: 3})
	n := int64(c.step)
	c.apply(model.SourceRM, model.ClusterFact{
		Started: 1_700_000_000_000, Version: "3.4.3", HAState: "ACTIVE", Address: "rm1:8088", Scheduler: "capacityScheduler",
		Localities: &model.LocalityCounts{NodeLocal: 30 + 4*n, RackLocal: 20 + 3*n, OffSwitch: 10 + 2*n},
		Queues:     []model.Queue{{ID: "root.default", Share: 1}},
	})
	c.apply(model.SourceRM, c.nodes())
	if c.step == 1 {
		c.apply(model.SourceHDFS, dataNodes())
	}
	apps := []model.App{{
		ID: App(), Name: "terasort", User: "ann", Queue: "root.default", Type: "MAPREDUCE", State: model.AppRunning,
		Submitted: 1, Allocated: model.Resource{MemoryMiB: 24 * 1024, VCores: 24}, Containers: 24,
	}}
	c.apply(model.SourceRM, model.AppsFact{Apps: append(apps, c.short())})
	c.job()
	c.decide()
	c.runOffPlan()
	c.state.Advance(at)
	return c.snapshot()
}

// snapshot returns the present state with what was decided in it.
func (c *Cluster) snapshot() *snapshot.Snapshot {
	s := c.state.Snapshot()
	s.Decisions = slices.Clone(c.decisions)
	s.Counts.RejectedByRule[model.RuleCapacity] = c.rejected
	s.Accounts = []snapshot.PolicyAccount{
		{Policy: Policy, Decides: true, Jobs: c.step, Planned: c.step, Saved: model.Bytes(c.step) * 8 * model.MiB, Lost: model.Bytes(c.step) * model.MiB, Granted: snapshot.GrantedReduces{OK: 9 * c.step, NoOutput: 2 * c.step, Busier: c.step}},
		{Policy: Shadow, Jobs: c.step, Saved: model.Bytes(c.step) * model.MiB, Lost: model.Bytes(c.step) * 2 * model.MiB, Skipped: int64(c.step)},
	}
	s.Guard = snapshot.Guard{Enabled: true, Queues: []snapshot.GuardedQueue{
		{Queue: "root.batch", Off: true, Until: c.at + 3_600_000, Trips: 2, Why: snapshot.GuardPredicted, Steered: 10, Ran: 1000, Uplink: 150, Stock: 90, Waited: 20, Predicted: 0.08, Chance: 1},
		{Queue: "root.etl", Steered: 30, Unsteered: 12, Ran: 5000, Uplink: 200, Stock: 700, Predicted: -0.1, Measured: -0.15, Chance: 0.99},
	}}
	for i := range s.Decisions {
		s.Counts.DecidedByReason[s.Decisions[i].Reason()]++
	}
	return s
}

func (c *Cluster) apply(src model.Source, f model.Fact) {
	c.state.Apply(model.Observation{Source: src, At: c.at, Fact: f})
}

func (c *Cluster) poll(src model.Source, f model.PollFact) { c.apply(src, f) }

func (c *Cluster) nodes() model.NodesFact {
	var f model.NodesFact
	for r := range Racks {
		for n := range NodesPerRack {
			node := model.Node{
				ID: model.NodeID(host(r, n) + ":45454"), Host: host(r, n), Rack: Rack(r), State: model.NodeRunning,
				Total: model.Resource{MemoryMiB: 8192, VCores: 8}, Used: model.Resource{MemoryMiB: int64(1024 * (1 + (n+c.step)%4)), VCores: int64(1 + (n+c.step)%4)},
				Containers: 1 + (n+c.step)%4, HTTPAddress: host(r, n) + ":8042",
			}
			switch {
			case r == 2 && n == 3:
				node.State = model.NodeLost
			case r == 0 && n == 3:
				node.State = model.NodeDecommissioning
			}
			f.Nodes = append(f.Nodes, node)
		}
	}
	f.Nodes = append(f.Nodes, model.Node{ID: "stray.example.com:45454", Host: "stray.example.com", Rack: model.DefaultRack, State: model.NodeRunning, Total: model.Resource{MemoryMiB: 4096, VCores: 4}})
	return f
}

// dataNodes lists the DataNodes. The NameNode has the first one in another rack than
// the ResourceManager, so that there is a mismatch to count.
func dataNodes() model.DataNodesFact {
	var f model.DataNodesFact
	for r := range Racks {
		for n := range NodesPerRack {
			rack := Rack(r)
			if r == 0 && n == 0 {
				rack = Rack(1) // the NameNode has it elsewhere
			}
			f.DataNodes = append(f.DataNodes, model.DataNode{Host: host(r, n), Rack: rack, Blocks: int64(100 + 10*r + n), Live: true})
		}
	}
	return f
}

// job moves the job: a tenth of its maps and a part of its shuffle per step,
// for ever, so that counters keep growing.
func (c *Cluster) job() {
	done := min(maps, 12*c.step)
	c.apply(model.SourceMapReduce, model.JobFact{
		App: App(), MapsTotal: maps, MapsPending: maps - done, MapsCompleted: done,
		ReducesTotal: reduces, ReducesRunning: reduces,
	})
	var tasks []model.Task
	for i := done - 12; i < done && 12*c.step <= maps; i++ {
		tasks = append(tasks, model.Task{
			Stage: model.StageMap, Index: i, State: model.TaskSucceeded, Host: host(i%Racks, i%NodesPerRack), Progress: 1,
			Input: 128 * model.MiB, Output: model.Bytes(1+i%Racks) * 64 * model.MiB, Shuffled: model.Unknown,
		})
	}
	for i := range reduces {
		tasks = append(tasks, model.Task{
			Stage: model.StageReduce, Index: i, State: model.TaskRunning, Host: host(i%Racks, i%NodesPerRack), Progress: 0.2,
			Input: model.Unknown, Output: model.Unknown, Shuffled: model.Unknown,
		})
	}
	c.apply(model.SourceMapReduce, model.TasksFact{App: App(), Tasks: tasks})
	moved := model.Bytes(c.step) * 20 * model.MiB
	c.apply(model.SourceMapReduce, model.CountersFact{
		App: App(), MapOutput: model.Bytes(done) * 128 * model.MiB, MapInput: model.Bytes(c.step) * 128 * model.MiB, ReduceShuffle: moved,
		HDFSWritten: moved / 2, NodeLocalMaps: 60, RackLocalMaps: 40, OtherLocalMaps: 20, LaunchedReduces: reduces,
	})
}

// short is an application that lasts one step.
func (c *Cluster) short() model.App {
	return model.App{
		ID: model.AppID(fmt.Sprintf("application_1700000000000_%04d", 1000+c.step)), Name: "wordcount", User: "bob", Queue: "root.default",
		Type: "MAPREDUCE", State: model.AppRunning, Submitted: c.at, Allocated: model.Resource{MemoryMiB: 2048, VCores: 2}, Containers: 2,
	}
}

// runOffPlan lets the short job's reduces run on another rack than the policy
// wanted, so that there is something to regret.
func (c *Cluster) runOffPlan() {
	id := c.short().ID
	done := func(stage model.Stage, rack int) model.Task {
		return model.Task{Stage: stage, State: model.TaskSucceeded, Host: host(rack, 0), Progress: 1, Input: model.Unknown, Output: model.Unknown, Shuffled: model.Unknown}
	}
	c.apply(model.SourceMapReduce, model.JobFact{App: id, MapsTotal: 1, MapsCompleted: 1, ReducesTotal: 1, ReducesPending: 1})
	c.apply(model.SourceMapReduce, model.TasksFact{App: id, Tasks: []model.Task{done(model.StageMap, 0)}})
	counters := model.CountersFact{App: id, MapOutput: 8 * model.MiB, MapInput: 8 * model.MiB, HDFSWritten: model.Unknown}
	c.apply(model.SourceMapReduce, counters)
	c.decided(model.Plan{
		App: id, Stage: model.StageReduce, Rank: 2, Reason: model.ReasonPreferredReduce, Racks: []model.RackTarget{{Rack: Rack(0), Count: 1, Share: 1}},
	})
	c.apply(model.SourceMapReduce, model.TasksFact{App: id, Tasks: []model.Task{done(model.StageReduce, 1)}})
	counters.ReduceShuffle = 8 * model.MiB
	c.apply(model.SourceHistory, counters)
	c.apply(model.SourceHistory, model.JobFact{App: id, MapsTotal: 1, MapsCompleted: 1, ReducesTotal: 1, ReducesCompleted: 1, Done: true})
}

// decided adds a decision for a plan.
func (c *Cluster) decided(p model.Plan) {
	c.decisions = append(c.decisions, model.Decision{Seq: uint64(len(c.decisions) + 1), At: c.at, Policy: Policy, Plan: &p})
}

// decide records one decision and one dropped proposal per step.
func (c *Cluster) decide() {
	c.decided(model.Plan{
		App: App(), Stage: model.StageReduce, Rank: 1, Reason: model.ReasonMapOutput,
		Racks: []model.RackTarget{{Rack: Rack(c.step % Racks), Count: reduces, Share: 1, Bytes: model.GiB}},
	})
	c.rejected++
}

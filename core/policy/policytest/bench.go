package policytest

import (
	"fmt"
	"testing"

	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/state"
)

// Large is 5,000 nodes on 100 racks, and 2,000 jobs of 50 users in ten queues
// with 16 maps and ten reduces each: all of them pending, or all running.
func Large(pending bool) Scene {
	s := Scene{Capacity: 1e9, Config: state.DefaultConfig()}
	for i := range 5000 {
		h := fmt.Sprintf("node%04d", i)
		s.Nodes = append(s.Nodes, model.Node{
			ID: model.NodeID(h), Host: h, Rack: model.RackID(fmt.Sprintf("/rack%02d", i/50)), State: model.NodeRunning,
			Total: model.Resource{MemoryMiB: 65536, VCores: 32},
		})
	}
	one := model.Resource{MemoryMiB: 1024, VCores: 1}
	for k := range 2000 {
		a := App{
			App: model.App{
				ID: model.AppID(fmt.Sprintf("application_1_%04d", k)), User: model.UserID(fmt.Sprintf("user%02d", k%50)),
				Queue: model.QueueID(fmt.Sprintf("root.q%d", k%10)), State: model.AppRunning, Submitted: Epoch.Add(-model.Duration(k) * model.Second),
				Allocated: one.Times(int64(1 + k%7)),
			},
			MapTask: one, ReduceTask: one, Slowstart: 0.05, MapOutput: model.Unknown,
		}
		task := func(stage model.Stage, i int) model.Task {
			n := &s.Nodes[(k*37+i*613)%len(s.Nodes)]
			t := model.Task{Stage: stage, Index: i, State: model.TaskPending, Input: -1, Output: -1, Shuffled: -1}
			switch {
			case !pending:
				t.State, t.Host, t.Rack = model.TaskRunning, n.Host, n.Rack
			case stage == model.StageMap:
				t.Preferred = []string{n.Host}
			}
			return t
		}
		for i := range 16 {
			a.Maps = append(a.Maps, task(model.StageMap, i))
		}
		for i := range 10 {
			a.Reduces = append(a.Reduces, task(model.StageReduce, i))
		}
		s.Apps = append(s.Apps, a)
	}
	return s
}

// BenchPlace measures an offer to a policy that build makes, on Large. Nothing
// is carried out, and every offer is of another node.
func BenchPlace(b *testing.B, build policy.Factory, params string, pending bool) {
	b.Helper()
	p, err := build([]byte(params))
	if err != nil {
		b.Fatal(err)
	}
	in := &policy.Input{View: Large(pending).Cluster().View()}
	nodes := in.View.Nodes()
	for _, n := range nodes[:100] { // every job is known
		in.Offer.Node = n
		p.Place(in)
	}
	b.ReportAllocs()
	placed := 0
	for i := 0; b.Loop(); i++ {
		in.Offer.Node = nodes[i*17%len(nodes)]
		placed += len(p.Place(in))
	}
	if (placed > 0) != pending {
		b.Fatalf("placed %d with tasks pending: %v", placed, pending)
	}
}

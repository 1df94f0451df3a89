package shufflewatcher_test

import (
	"fmt"
	"testing"

	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/policy/policytest"
	"heddle/core/policy/shufflewatcher"
	"heddle/core/state"
)

// large is 5,000 nodes on 100 racks and 2,000 jobs of 50 users, each job with
// pending maps that read from some of the nodes.
func large(pending bool) policytest.Scene {
	s := policytest.Scene{Capacity: 1e9, Config: state.DefaultConfig()}
	for i := range 5000 {
		h := fmt.Sprintf("node%04d", i)
		s.Nodes = append(s.Nodes, model.Node{
			ID: model.NodeID(h), Host: h, Rack: model.RackID(fmt.Sprintf("/rack%02d", i/50)), State: model.NodeRunning,
			Total: model.Resource{MemoryMiB: 65536, VCores: 32},
		})
	}
	one := model.Resource{MemoryMiB: 1024, VCores: 1}
	for k := range 2000 {
		a := policytest.App{
			App: model.App{
				ID: model.AppID(fmt.Sprintf("application_1_%04d", k)), User: model.UserID(fmt.Sprintf("user%02d", k%50)), State: model.AppRunning,
				Submitted: policytest.Epoch.Add(-model.Duration(k) * model.Second),
			},
			MapTask: one, ReduceTask: one, Slowstart: 0.05, MapOutput: model.Unknown,
		}
		for m := range 20 {
			n := &s.Nodes[(k*37+m*613)%5000]
			a.Input = append(a.Input, model.Block{Length: 128 * model.MiB, Hosts: []string{n.Host}, Racks: []model.RackID{n.Rack}})
			t := model.Task{Stage: model.StageMap, Index: m, State: model.TaskPending, Preferred: []string{n.Host}, Input: -1, Output: -1, Shuffled: -1}
			if !pending || m < 4 {
				t.State, t.Host, t.Rack, t.Preferred, t.Output = model.TaskSucceeded, n.Host, n.Rack, nil, 256*model.MiB
				a.MapOutput = max(a.MapOutput, 0) + t.Output
				a.MapInput += 128 * model.MiB
			}
			a.Maps = append(a.Maps, t)
		}
		for r := range 10 {
			st := model.TaskRunning
			if pending {
				st = model.TaskPending
			}
			n := &s.Nodes[(k*7+r*11)%5000]
			a.Reduces = append(a.Reduces, model.Task{Stage: model.StageReduce, Index: r, State: st, Host: n.Host, Rack: n.Rack, Input: -1, Output: -1, Shuffled: -1})
		}
		s.Apps = append(s.Apps, a)
	}
	return s
}

func benchPlace(b *testing.B, s policytest.Scene, want int) {
	b.Helper()
	p, err := shufflewatcher.New(nil)
	if err != nil {
		b.Fatal(err)
	}
	in := &policy.Input{View: s.Cluster().View()}
	nodes := in.View.Nodes()
	for _, n := range nodes[:100] { // every job is known
		in.Offer.Node = n
		p.Place(in)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		in.Offer.Node = nodes[i*17%len(nodes)]
		if got := p.Place(in); len(got) != want {
			b.Fatalf("placed %v", got)
		}
	}
}

// BenchmarkPlace offers nodes to 2,000 jobs that all have work.
func BenchmarkPlace(b *testing.B) { benchPlace(b, large(true), 1) }

// BenchmarkPlaceNothing offers nodes to 2,000 jobs none of which has: the whole
// search.
func BenchmarkPlaceNothing(b *testing.B) { benchPlace(b, large(false), 0) }

// BenchmarkPlan plans 2,000 jobs whose facts did not change.
func BenchmarkPlan(b *testing.B) {
	p, err := shufflewatcher.NewWith(shufflewatcher.DefaultParams())
	if err != nil {
		b.Fatal(err)
	}
	in := &policy.Input{View: large(true).Cluster().View()}
	in.Jobs = in.View.Jobs()
	b.ReportAllocs()
	for b.Loop() {
		p.Plan(in)
	}
}

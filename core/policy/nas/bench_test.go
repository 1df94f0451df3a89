package nas_test

import (
	"testing"

	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/policy/nas"
	"heddle/core/policy/policytest"
)

// shuffling is policytest.Large with four maps of each job complete and four
// running, so that there is output to predict and reduces are due.
func shuffling(uplinks model.BytesPerSecond) policytest.Scene {
	s := policytest.Large(true)
	for k := range s.Apps {
		a := &s.Apps[k]
		a.MapInput, a.MapOutput = 4*128*model.MiB, 4*64*model.MiB
		for i := range a.Maps {
			m := &a.Maps[i]
			n := &s.Nodes[(k*37+i*613)%len(s.Nodes)]
			a.Input = append(a.Input, model.Block{Length: 128 * model.MiB, Hosts: []string{n.Host}, Racks: []model.RackID{n.Rack}})
			switch {
			case i < 4:
				m.State, m.Input, m.Output = model.TaskSucceeded, 128*model.MiB, 64*model.MiB
			case i < 8:
				m.State = model.TaskRunning
			default:
				continue
			}
			m.Host, m.Rack, m.Preferred = n.Host, n.Rack, nil
		}
	}
	for i := 0; i < len(s.Nodes); i += 50 {
		s.Loads = append(s.Loads, model.UplinkSample{Rack: s.Nodes[i].Rack, Out: uplinks})
	}
	return s
}

func bench(b *testing.B, uplinks model.BytesPerSecond, kinds model.Stage) {
	b.Helper()
	p, err := nas.New([]byte(`{"completion":"slowstart"}`))
	if err != nil {
		b.Fatal(err)
	}
	in := &policy.Input{View: shuffling(uplinks).Cluster().View(), Offer: policy.Offer{Kinds: kinds}}
	nodes := in.View.Nodes()
	for _, n := range nodes { // every job and every user's counters are known
		in.Offer.Node = n
		p.Place(in)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		in.Offer.Node = nodes[i*17%len(nodes)]
		p.Place(in)
	}
}

// BenchmarkPlaceReduce is CA-RTS: the first user has a reduce.
func BenchmarkPlaceReduce(b *testing.B) { bench(b, 0, model.StageReduce) }

// BenchmarkPlaceMap is MTS among 2,000 jobs with maps: most nodes hold the input
// of few, so that most offers look at every user.
func BenchmarkPlaceMap(b *testing.B) { bench(b, 0, model.StageMap) }

// BenchmarkPlaceCongested is MTS behind its gate and CR-RTS: nothing is light,
// so that every offer looks at every user twice.
func BenchmarkPlaceCongested(b *testing.B) { bench(b, 1e9, "") }

// BenchmarkPlaceNothing offers nodes to 2,000 jobs none of which wants one.
func BenchmarkPlaceNothing(b *testing.B) { policytest.BenchPlace(b, nas.New, "", false) }

// BenchmarkPlan plans 2,000 jobs whose facts did not change.
func BenchmarkPlan(b *testing.B) {
	p, err := nas.NewWith(nas.DefaultParams())
	if err != nil {
		b.Fatal(err)
	}
	in := &policy.Input{View: shuffling(0).Cluster().View()}
	in.Jobs = in.View.Jobs()
	b.ReportAllocs()
	for b.Loop() {
		p.Plan(in)
	}
}

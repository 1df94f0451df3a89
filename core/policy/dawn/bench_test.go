package dawn_test

import (
	"testing"

	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/policy/dawn"
	"heddle/core/policy/policytest"
)

// large is policytest.Large with the input its pending maps read, so that every
// job prefers a rack.
func large() policytest.Scene {
	s := policytest.Large(true)
	racks := map[string]model.RackID{}
	for i := range s.Nodes {
		racks[s.Nodes[i].Host] = s.Nodes[i].Rack
	}
	for i := range s.Apps {
		a := &s.Apps[i]
		for k := range a.Maps {
			a.Input = append(a.Input, model.Block{Length: 128 * model.MiB, Hosts: a.Maps[k].Preferred, Racks: []model.RackID{racks[a.Maps[k].Preferred[0]]}})
		}
	}
	return s
}

// benchPlace offers the nodes in turn. With carried, every placement is assumed
// carried out before the next offer, so that each offer finds one job changed.
func benchPlace(b *testing.B, params string, carried bool) {
	b.Helper()
	p, err := dawn.New([]byte(params))
	if err != nil {
		b.Fatal(err)
	}
	c := large().Cluster()
	in := &policy.Input{View: c.View()}
	nodes := in.View.Nodes()
	for _, n := range nodes { // every job is known
		in.Offer.Node = n
		p.Place(in)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		in.Offer.Node = nodes[i*17%len(nodes)]
		got := p.Place(in)
		if len(got) != 1 {
			b.Fatalf("placed %v", got)
		}
		if carried {
			c.Assume(got[0])
			c.Withdraw(got[0])
		}
	}
}

// BenchmarkPlace offers nodes to 2,000 jobs of 50 users that all have work.
func BenchmarkPlace(b *testing.B) { benchPlace(b, "", false) }

// BenchmarkPlaceCarried plans and files the job that was served last anew.
func BenchmarkPlaceCarried(b *testing.B) { benchPlace(b, "", true) }

// BenchmarkPlaceAll sorts everybody's jobs together.
func BenchmarkPlaceAll(b *testing.B) { benchPlace(b, `{"among":"all"}`, false) }

// BenchmarkPlaceNothing offers nodes to 2,000 jobs none of which has work.
func BenchmarkPlaceNothing(b *testing.B) { policytest.BenchPlace(b, dawn.New, "", false) }

// BenchmarkPlaceFallback offers nodes to 2,000 jobs of which nothing is known but
// their asks, so that none prefers a rack: all wait, and are looked at.
func BenchmarkPlaceFallback(b *testing.B) { policytest.BenchPlace(b, dawn.New, "", true) }

// BenchmarkPlan plans 2,000 jobs whose facts did not change.
func BenchmarkPlan(b *testing.B) {
	p, err := dawn.NewWith(dawn.DefaultParams())
	if err != nil {
		b.Fatal(err)
	}
	in := &policy.Input{View: large().Cluster().View()}
	in.Jobs = in.View.Jobs()
	b.ReportAllocs()
	for b.Loop() {
		p.Plan(in)
	}
}

package num_test

import (
	"testing"

	"heddle/core/policy"
	"heddle/core/policy/num"
	"heddle/core/policy/policytest"
)

// BenchmarkPlace offers nodes to 2,000 jobs that all have work.
func BenchmarkPlace(b *testing.B) { policytest.BenchPlace(b, num.New, "", true) }

// BenchmarkPlaceFair does the same with Fair as P2, where every job counts.
func BenchmarkPlaceFair(b *testing.B) { policytest.BenchPlace(b, num.New, `{"p2":"psfair"}`, true) }

// BenchmarkPlaceNothing offers nodes to 2,000 jobs none of which has work.
func BenchmarkPlaceNothing(b *testing.B) { policytest.BenchPlace(b, num.New, "", false) }

// BenchmarkPlaceAnew sizes 2,000 jobs at every offer, as the cluster is another
// each time.
func BenchmarkPlaceAnew(b *testing.B) {
	p, err := num.New(nil)
	if err != nil {
		b.Fatal(err)
	}
	s := policytest.Large(true)
	in := [2]*policy.Input{{View: s.Cluster().View()}, {View: s.Cluster().View()}}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		in[i%2].Offer.Node = in[i%2].View.Nodes()[0]
		if got := p.Place(in[i%2]); len(got) != 1 {
			b.Fatalf("placed %v", got)
		}
	}
}

// BenchmarkPlan ranks 2,000 jobs.
func BenchmarkPlan(b *testing.B) {
	p, err := num.NewWith(num.DefaultParams())
	if err != nil {
		b.Fatal(err)
	}
	in := &policy.Input{View: policytest.Large(true).Cluster().View()}
	in.Jobs = in.View.Jobs()
	b.ReportAllocs()
	for b.Loop() {
		if got := p.Plan(in); len(got) != 4000 {
			b.Fatalf("%d plans", len(got))
		}
	}
}

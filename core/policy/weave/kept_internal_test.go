package weave

import (
	"testing"

	"pgregory.net/rapid"

	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/policy/dispatch"
	"heddle/core/policy/policytest"
)

// TestKept: whatever was offered and came about in between, what is kept of a job is what is found anew.
func TestKept(t *testing.T) {
	t.Parallel()
	maps, reduces, closed, passed := 0, 0, 0, 0
	try := func(t interface{ Fatalf(string, ...any) }, draw policytest.Draw) {
		p := DefaultParams()
		p.AdmitS, p.AdmitReduces = 0.001, 0.001 // uplinks are soon too busy
		r := newRule(p)
		scene := policytest.Generate(draw, policytest.DefaultShape())
		d, c := dispatch.New(r, dispatch.Settings{}), scene.Cluster()
		in := policy.Input{View: c.View()}
		for range 120 {
			c.Advance(in.View.Now().Add(model.Duration(draw(0, 4)) * 5 * model.Second))
			n := in.View.Node(scene.Nodes[draw(0, len(scene.Nodes)-1)].ID)
			in.Offer = policy.Offer{Node: n, Kinds: [...]model.Stage{"", model.StageReduce}[draw(0, 1)]}
			for _, p := range d.Place(&in) {
				c.Assume(p)
			}
			in.Offer.Node = n
			r.Prepare(&in)
			for i := range r.asking.rows {
				e := r.asking.rows[i].e
				j := e.job
				if letsPass(r, &in, e) {
					if passed++; j.Map.Pending > 0 && r.takesMap(&in, e) != "" || j.Reduce.Pending > 0 && startsReduces(j) && r.takesReduce(&in, e) != "" {
						t.Fatalf("%s: it would take an offer that it lets pass", j.ID)
					}
				}
				for rack, memory := range r.cluster.memory {
					if memory == 0 {
						continue
					}
					here := e.mapCost(j.Map, rack)
					got := r.cluster.leastMapCost(e, here)
					for other, memory := range r.cluster.memory {
						if memory > 0 {
							here = min(here, e.mapCost(j.Map, other))
						}
					}
					if maps++; got != here {
						t.Fatalf("%s: a map costs %g bytes at least, want %g", j.ID, got, here)
					}
					if !startsReduces(j) || e.size.shuffle <= 0 || len(r.quotasOf(in.View, e).counts) == 0 {
						continue
					}
					got, want := e.mostDrawn(), 0.0
					for i, n := range e.quotas.counts {
						if j.Reduce.Launched(i) < n {
							want = max(want, e.quotas.draws[i])
						}
					}
					if reduces++; got != want {
						t.Fatalf("%s: drawn by %g bytes, want %g", j.ID, got, want)
					}
					kept := r.hasRoom(e, rack)
					e.gate.looked = 0
					if kept != r.hasRoom(e, rack) {
						t.Fatalf("%s: uplinks of rack %d have room: %v, and not so anew", j.ID, rack, kept)
					}
					if !kept {
						closed++
					}
				}
			}
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		try(rt, func(lo, hi int) int { return rapid.IntRange(lo, hi).Draw(rt, "n") })
	})
	for seed := range uint64(200) {
		try(t, policytest.Seeded(seed))
	}
	if maps == 0 || reduces == 0 || closed == 0 || passed == 0 {
		t.Errorf("%d costs of maps, %d of reduces, %d times uplinks were too busy, %d offers passed", maps, reduces, closed, passed)
	}
}

package shufflewatcher

import (
	"testing"

	"heddle/core/model"
)

// Fig. 3's lines in their two orders, and the good hits of relaxed fairness:
// saturated 4, 5, 7, 8; unsaturated 13, 14, 16, 17 (algorithms.md 2.1.6).
func TestLines(t *testing.T) {
	t.Parallel()
	for i, want := range []struct {
		line   line
		good   bool // where the job prefers no other racks
		reason model.Reason
	}{
		{satPreferredMap, true, model.ReasonPreferredMapRack},
		{satNodeLocalMap, true, model.ReasonLocalMap},
		{satRackLocalMap, true, model.ReasonLocalMap},
		{satAnyMap, false, model.ReasonAnyMap},
		{satLightReduce, true, model.ReasonLightReduce},
		{satPreferredReduce, true, model.ReasonPreferredReduce},
		{satAnyReduce, false, model.ReasonAnyReduce},
		{freePreferredReduce, true, model.ReasonPreferredReduce},
		{freeHeavyReduce, true, model.ReasonHeavyReduce},
		{freeLightReduce, false, model.ReasonLightReduce},
		{freePreferredMap, true, model.ReasonPreferredMapRack},
		{freeNodeLocalMap, true, model.ReasonLocalMap},
		{freeRackLocalMap, true, model.ReasonLocalMap},
		{freeAnyMap, false, model.ReasonAnyMap},
	} {
		l := want.line
		if int(l) != i || l.good(false) != want.good || l.reason() != want.reason {
			t.Errorf("line %d: place %d, good %v, %s; want %+v", i, l, l.good(false), l.reason(), want)
		}
	}
	if noLine.good(false) {
		t.Error("no hit is a good hit")
	}
	for l, want := range map[line]bool{satPreferredMap: true, satRackLocalMap: false, freeNodeLocalMap: false, freeHeavyReduce: false, freePreferredReduce: true} {
		if l.good(true) != want {
			t.Errorf("line %d is good %v to who waits for preferred racks, want %v", l, !want, want)
		}
	}
}

// An input whose blocks become known, or become others, is chosen for again,
// one that is only read again is not.
func TestSAMPFollowsTheInput(t *testing.T) {
	t.Parallel()
	params := DefaultParams()
	params.AssumeUnknown = true
	p := newRule(params)
	c, _ := spread(3, nil, even)
	apply := func(f model.Fact) {
		c.Apply(model.Observation{Source: model.SourceHDFS, At: 2_000_000, Fact: f})
	}
	v := c.View()
	check := func(when string, version int, decided bool, racks ...bool) {
		t.Helper()
		p.racks = v.Capacity().Racks
		m := p.mapChoice(v, v.Job("a"))
		if m.version != version || m.decided != decided {
			t.Fatalf("%s: choice %d, decided %v, want %d, %v", when, m.version, m.decided, version, decided)
		}
		for r, want := range racks {
			if m.prefers(r) != want {
				t.Errorf("%s: rack %d preferred %v, want %v", when, r, m.prefers(r), want)
			}
		}
	}
	check("no blocks", 1, false, false, false, false)
	blocks := [][]int{{0}, {0}, {1}}
	apply(blocksFact(blocks, even))
	check("blocks", 2, true, true, false, false)
	apply(blocksFact(blocks, even))
	check("the same blocks", 2, true, true, false, false)
	apply(blocksFact([][]int{{0}, {0}, {1}}, func(i int) model.Bytes { return []model.Bytes{1, 1, 100}[i] * model.MiB }))
	check("other lengths", 3, true, false, true, false)
}

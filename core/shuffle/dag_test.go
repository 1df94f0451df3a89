package shuffle_test

import (
	"errors"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/core/model"
	"heddle/core/shuffle"
	"heddle/core/topology"
)

func TestDAG(t *testing.T) {
	t.Parallel()
	// b and c read a; d reads b, c and a file.
	g, err := shuffle.NewDAG([]shuffle.Vertex{
		{Name: "d", Reads: []string{"b", "c", "b", "file"}}, {Name: "c", Reads: []string{"a"}}, {Name: "b", Reads: []string{"a"}}, {Name: "a"},
	})
	if err != nil {
		t.Fatal(err)
	}
	a, _ := g.Index("a")
	b, _ := g.Index("b")
	d, _ := g.Index("d")
	names := func(xs []int) (out []string) {
		for _, x := range xs {
			out = append(out, g.Name(x))
		}
		slices.Sort(out)
		return out
	}
	if diff := cmp.Diff([]string{"b", "c"}, names(g.Next(a))); diff != "" {
		t.Errorf("Next_a (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"c"}, names(g.Prev(b, d))); diff != "" {
		t.Errorf("Prev_b,d (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"file"}, g.Outside(d)); diff != "" {
		t.Errorf("external input of d (-want +got):\n%s", diff)
	}
	if _, ok := g.Index("file"); ok || g.Len() != 4 {
		t.Errorf("a file is a vertex: %d", g.Len())
	}
}

func TestDAGRefuses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		vertices []shuffle.Vertex
		want     string
	}{
		{[]shuffle.Vertex{{Name: "a", Reads: []string{"a"}}}, "cycle: a -> a"},
		{[]shuffle.Vertex{{Name: "s"}, {Name: "a", Reads: []string{"s", "b"}}, {Name: "b", Reads: []string{"c"}}, {Name: "c", Reads: []string{"a"}}, {Name: "z", Reads: []string{"a"}}}, "cycle: a -> c -> b -> a"},
		{[]shuffle.Vertex{{Name: "a"}, {Name: "a"}}, `vertex "a": given twice`},
	} {
		if _, err := shuffle.NewDAG(tc.vertices); err == nil || err.Error() != tc.want {
			t.Errorf("%v: %v, want %s", tc.vertices, err, tc.want)
		}
	}
}

// A graph is sorted, or names a cycle that is one.
func TestDAGProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 7).Draw(t, "vertices")
		vs := make([]shuffle.Vertex, n)
		for i := range vs {
			vs[i].Name = strconv.Itoa(i)
			for range rapid.IntRange(0, 2).Draw(t, "reads") {
				vs[i].Reads = append(vs[i].Reads, strconv.Itoa(rapid.IntRange(0, n).Draw(t, "read"))) // n is external
			}
		}
		g, err := shuffle.NewDAG(vs)
		if cycle := (*shuffle.CycleError)(nil); errors.As(err, &cycle) {
			for i, name := range cycle.Names[1:] {
				x := slices.IndexFunc(vs, func(v shuffle.Vertex) bool { return v.Name == name })
				if !slices.Contains(vs[x].Reads, cycle.Names[i]) {
					t.Fatalf("%v: %s does not read %s", cycle.Names, name, cycle.Names[i])
				}
			}
			if cycle.Names[0] != cycle.Names[len(cycle.Names)-1] {
				t.Fatalf("%v does not close", cycle.Names)
			}
			return
		}
		if len(g.Order()) != n {
			t.Fatalf("order %v of %d", g.Order(), n)
		}
		place := make([]int, n)
		for i, x := range g.Order() {
			place[x] = i
		}
		for y := range n {
			for _, x := range g.Reads(y) {
				if place[x] >= place[y] || !slices.Contains(g.Next(x), y) || slices.Contains(g.Prev(x, y), x) {
					t.Fatalf("%d reads %d: order %v, next %v", y, x, g.Order(), g.Next(x))
				}
			}
		}
	})
}

func pick(rack int, cost model.Bytes) shuffle.Pick { return shuffle.Pick{Rack: rack, Cost: cost} }

// A.2 (2.4.3): Inter = (6,2,2), sibling output 10 on rack 1, Out_x = 10. max_r is
// 0 at cost 4; dep_r is 1 at cost 8, where the dependent reads nothing across
// racks instead of 10.
func TestDawnVector(t *testing.T) {
	t.Parallel()
	inter := []model.Bytes{6, 2, 2}
	most := shuffle.MostOn(inter, 10, shuffle.Field{})
	if most != pick(0, 4) {
		t.Errorf("max_r is %+v, want rack 0 at 4", most)
	}
	costs := shuffle.DependentCosts(nil, 3, 10, []shuffle.Inflow{{ByRack: []model.Bytes{0, 10}, Total: 10}})
	if diff := cmp.Diff([]model.Bytes{10, 0, 10}, costs); diff != "" {
		t.Errorf("eq. 4 by rack (-want +got):\n%s", diff)
	}
	if dep := shuffle.LeastDependent(costs, inter, 10, most, shuffle.Field{}); dep != pick(1, 8) {
		t.Errorf("dep_r is %+v, want rack 1 at 8", dep)
	}
}

func TestTies(t *testing.T) {
	t.Parallel()
	even := []model.Bytes{5, 5, 5}
	for _, tc := range []struct {
		name string
		f    shuffle.Field
		want shuffle.Pick
	}{
		{"lowest number", shuffle.Field{}, shuffle.Pick{Rack: 0, Cost: 10, Tied: true}},
		{"lowest load", shuffle.Field{Load: []float64{.5, .1, .2}}, shuffle.Pick{Rack: 1, Cost: 10, Tied: true}},
		{"where it began", shuffle.Field{Load: []float64{.5, .1, .2}, Tasks: []int{0, 0, 2}}, shuffle.Pick{Rack: 2, Cost: 10}},
		{"open racks only", shuffle.Field{Open: []bool{true}}, shuffle.Pick{Rack: 0, Cost: 10}},
		{"none open", shuffle.Field{Open: []bool{}}, shuffle.Pick{Rack: shuffle.None, Cost: 15}},
	} {
		if got := shuffle.MostOn(even, 15, tc.f); got != tc.want {
			t.Errorf("%s: %+v, want %+v", tc.name, got, tc.want)
		}
	}
	// Two racks would do for the dependents: max_r if it is one of them, else the one with less load.
	most := shuffle.MostOn([]model.Bytes{1, 4, 1}, 6, shuffle.Field{})
	if got := shuffle.LeastDependent([]model.Bytes{3, 3, 9}, []model.Bytes{1, 4, 1}, 6, most, shuffle.Field{}); got != pick(1, 2) {
		t.Errorf("max_r among the best: %+v", got)
	}
	if got := shuffle.LeastDependent([]model.Bytes{3, 9, 3}, []model.Bytes{1, 4, 1}, 6, most, shuffle.Field{Load: []float64{1, 0, .5}}); got != (shuffle.Pick{Rack: 2, Cost: 5, Tied: true}) {
		t.Errorf("max_r not among the best: %+v", got)
	}
	if got := shuffle.LeastDependent([]model.Bytes{7, 7, 7}, []model.Bytes{1, 4, 1}, 6, most, shuffle.Field{}); got != most {
		t.Errorf("every rack will do: %+v, want max_r", got)
	}
}

// A.3: cost(dep_r) >= cost(max_r). And eq. 4 as the paper writes it, racks by
// racks, gives what DependentCosts does in one pass over each dependent.
func TestDawnProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		racks := rapid.IntRange(1, 6).Draw(t, "racks")
		bytes := func(label string) []model.Bytes {
			out := make([]model.Bytes, rapid.IntRange(0, racks).Draw(t, label))
			for r := range out {
				out[r] = model.Bytes(rapid.IntRange(0, 20).Draw(t, label))
			}
			return out
		}
		inter := bytes("inter")
		if rapid.Bool().Draw(t, "alike") {
			for r := range inter {
				inter[r] = min(inter[r], 2)
			}
		}
		out := model.Bytes(rapid.IntRange(0, 20).Draw(t, "out"))
		var in []shuffle.Inflow
		for range rapid.IntRange(0, 3).Draw(t, "dependents") {
			others := bytes("others")
			in = append(in, shuffle.Inflow{ByRack: others, Total: shuffle.Total(others)})
		}
		f := shuffle.Field{Load: []float64{.3, .1, .1, .2}, Tasks: rapid.SliceOfN(rapid.IntRange(0, 2), 0, racks).Draw(t, "tasks")}
		if rapid.Bool().Draw(t, "some closed") {
			f.Open = rapid.SliceOfN(rapid.Bool(), racks, racks).Draw(t, "open")
		}
		costs := shuffle.DependentCosts(nil, racks, out, in)
		for r := range racks {
			var want model.Bytes
			for _, y := range in {
				reads := make([]model.Bytes, racks)
				copy(reads, y.ByRack)
				reads[r] += out
				want += shuffle.Total(reads) - slices.Max(reads)
			}
			if costs[r] != want {
				t.Fatalf("on rack %d dependents read %d across racks, eq. 4 says %d", r, costs[r], want)
			}
		}
		total := shuffle.Total(inter)
		most := shuffle.MostOn(inter, total, f)
		if want := mostInOnePass(inter, total, f); most != want {
			t.Fatalf("max_r is %+v, looking at one rack after the other %+v", most, want)
		}
		dep := shuffle.LeastDependent(costs, inter, total, most, f)
		if dep.Cost < most.Cost {
			t.Fatalf("dep_r costs %+v, max_r %+v", dep, most)
		}
		if dep.Rack == shuffle.None {
			return
		}
		for r, c := range costs {
			if (f.Open == nil || f.Open[r]) && c < costs[dep.Rack] {
				t.Fatalf("dependents read %d from rack %d, %d from rack %d", costs[dep.Rack], dep.Rack, c, r)
			}
		}
		// A pick that is not tied does not change with the load.
		if g := (shuffle.Field{Open: f.Open, Tasks: f.Tasks}); !dep.Tied {
			if again := shuffle.LeastDependent(costs, inter, total, shuffle.MostOn(inter, total, g), g); again.Rack != dep.Rack {
				t.Fatalf("%+v is not tied, and without loads %+v", dep, again)
			}
		}
	})
}

// mostInOnePass is eq. 1 with the order of racks that hold the same, one rack after the other.
func mostInOnePass(byRack []model.Bytes, total model.Bytes, f shuffle.Field) shuffle.Pick {
	best, most := shuffle.Pick{Rack: shuffle.None, Cost: total}, model.Bytes(1)
	for r, b := range byRack {
		if b < most || (f.Open != nil && !f.Open[r]) {
			continue
		}
		if best.Rack == shuffle.None || b > most {
			best.Rack, best.Tied, most = r, false, b
			best.Cost = max(total-b, 0)
			continue
		}
		switch ran, there := topology.At(f.Tasks, r), topology.At(f.Tasks, best.Rack); {
		case ran > there:
			best.Rack, best.Tied = r, false
		case ran < there:
		default:
			best.Tied = true
			if topology.At(f.Load, r) < topology.At(f.Load, best.Rack) {
				best.Rack = r
			}
		}
	}
	return best
}

func TestStageGraph(t *testing.T) {
	t.Parallel()
	edges := func(g *shuffle.StageGraph, kinds map[string]model.EdgeKind) {
		for y := range g.Len() {
			for _, x := range g.Reads(y) {
				g.Edges = append(g.Edges, shuffle.DAGEdge{From: x, To: y, Kind: kinds[g.Name(x)+g.Name(y)]})
			}
		}
	}
	dag, err := shuffle.NewDAG([]shuffle.Vertex{
		{Name: "a"}, {Name: "b"}, {Name: "c", Reads: []string{"a", "b"}}, {Name: "d", Reads: []string{"c"}}, {Name: "e", Reads: []string{"d"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	g := &shuffle.StageGraph{DAG: dag, Stages: []shuffle.DAGStage{
		{Tasks: 2, Completed: 2, Input: shuffle.Inflow{ByRack: []model.Bytes{40, 60}, Total: 100}, Output: 30, Placed: []model.Bytes{30}}, // ran on rack 0 all the same
		{Tasks: 2, Input: shuffle.Inflow{ByRack: []model.Bytes{0, 50, 80}, Total: 100}, Output: 20},
		{Tasks: 1, Output: model.Unknown},
		{Tasks: 1, Output: 10},
		{Tasks: 1, Output: 10},
	}}
	edges(g, map[string]model.EdgeKind{"ac": model.ScatterGather, "bc": model.Broadcast, "cd": model.OneToOne, "de": model.ScatterGather})
	got := g.Plan(3, []shuffle.Inflow{{ByRack: []model.Bytes{0, 0, 10}, Total: 10}}, shuffle.Field{})
	want := []struct{ most, dep shuffle.Pick }{
		{pick(1, 40), pick(1, 40)},
		{pick(2, 20), pick(2, 20)},
		{pick(0, 20), pick(0, 20)}, // 30 on rack 0, 20 on rack 2
		{pick(0, 0), pick(0, 0)},   // where c ran: 50 there
		{pick(0, 0), pick(2, 10)},  // its dependent has 10 on rack 2
	}
	for x, w := range want {
		if got[x].Max != w.most || got[x].Dep != w.dep {
			t.Errorf("%s: %+v and %+v, want %+v", g.Name(x), got[x].Max, got[x].Dep, w)
		}
	}
	if now := g.Now(); g.Name(now) != "b" {
		t.Errorf("now is %s, want b", g.Name(now))
	}
}

// A one-to-one chain stays spread as it is.
func TestOneToOneStaysSpread(t *testing.T) {
	t.Parallel()
	dag, err := shuffle.NewDAG([]shuffle.Vertex{{Name: "a"}, {Name: "b", Reads: []string{"a"}}, {Name: "c", Reads: []string{"b"}}})
	if err != nil {
		t.Fatal(err)
	}
	g := &shuffle.StageGraph{
		DAG: dag,
		Stages: []shuffle.DAGStage{
			{Tasks: 2, Completed: 2, Output: 100, Placed: []model.Bytes{60, 40}}, {Tasks: 2, Output: 50}, {Tasks: 1, Output: 1},
		},
		Edges: []shuffle.DAGEdge{{From: 0, To: 1, Kind: model.OneToOne}, {From: 1, To: 2, Kind: model.ScatterGather}},
	}
	got := g.Plan(2, nil, shuffle.Field{})
	if diff := cmp.Diff([]model.Bytes{30, 20}, got[2].From); diff != "" || got[2].Max != pick(0, 20) {
		t.Errorf("c reads (-want +got):\n%s%+v", diff, got[2].Max)
	}
}

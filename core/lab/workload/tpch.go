package workload

import (
	"cmp"
	"fmt"
	"slices"

	"heddle/core/model"
)

// dawnTPCH makes the queries of Dawn §IV: TPC-H through Hive, on Tez or on MapReduce.
func dawnTPCH() Generator {
	z := DefaultSizing()
	z.PerReduce = hivePerReduce
	return Generator{
		Name: "dawn-tpch",
		Doc:  "The 22 queries of TPC-H through Hive: a graph of stages each, or a chain of MapReduce jobs.",
		Keys: slices.Concat([]Key{
			{Name: "form", Default: "tez", Doc: "a query is one job with a graph of stages, or MapReduce jobs that read each other", Words: []string{"tez", "mr"}},
			{Name: "gb", Default: "50", Doc: "data of all tables, in GiB", Min: 0.01, Max: 100_000},
			{Name: "window_s", Default: "1500", Doc: "queries are submitted at random within so many seconds", Min: 1, Max: 1e7},
			{Name: "rounds", Default: "1", Doc: "how often each query is submitted", Min: 1, Max: 1000, Whole: true},
			seedKey(),
			usersKey(dawnUsers),
		}, sizingKeys(z)),
		make: makeDawnTPCH,
	}
}

// What neither Dawn nor TPC-H says. Nobody publishes the bytes on the edges of
// these queries; the shares below shrink the data on the way as filters,
// projections, joins and the final aggregate do.
const (
	hivePerReduce  = 256 * model.MiB // hive.exec.reducers.bytes.per.reducer
	broadcastLimit = 10_000_000      // bytes; hive.auto.convert.join.noconditionaltask.size
	keptByScan     = 0.25            // of a table: some columns of some rows
	keptByJoin     = 0.5             // of what a join or an aggregate reads
	keptByLast     = 0.01            // of what the last stage reads: the rows a person sees
)

// tableShare returns a table's share of the data, from the sizes the generator
// of TPC-H gives at scale 1: lineitem 760, orders 172, partsupp 119, customer
// and part 24, supplier 1.4 MB, nation and region next to nothing.
func tableShare(t table) float64 {
	switch t {
	case lineitem:
		return .6904
	case orders:
		return .1562
	case partsupp:
		return .1081
	case part:
		return .0219
	case customer:
		return .0221
	case supplier:
		return .0013
	case nation:
		return 2e-6
	case region:
		return 4e-7
	}
	return 0
}

// query is a submission of one of the 22 queries.
type query struct {
	number int // from 1
	as     Job // what its jobs have in common; its ID is the start of theirs
}

func makeDawnTPCH(s settings) (*Workload, error) {
	r, users := randFor(s.seed(), "arrivals"), newUserPool(s.whole("users"), s.seed())
	var queries []query
	for round := range s.whole("rounds") {
		for q := range queryShapes() {
			at := model.Time(r.Float64() * s.real("window_s") * float64(model.Second))
			id := JobID(fmt.Sprintf("r%d.q%02d", round+1, q+1))
			queries = append(queries, query{q + 1, Job{ID: id, Name: fmt.Sprintf("q%d", q+1), User: users.draw(), Queue: DefaultQueue, Submit: at}})
		}
	}
	slices.SortStableFunc(queries, func(a, b query) int { return cmp.Compare(a.as.Submit, b.as.Submit) })
	z, data := s.sizing(), s.real("gb")*float64(model.GiB)
	w := &Workload{}
	for _, q := range queries {
		p := planQuery(q.number, data)
		if s["form"] == "mr" {
			w.addMapReduce(q.as, &p, &z)
		} else {
			w.addGraph(q.as, &p, &z)
		}
	}
	return w, nil
}

// queryPlan is a query's graph with its bytes, by stage.
type queryPlan struct {
	queryGraph

	sources [][]int       // stages it reads
	table   []model.Bytes // the size of the table it reads; 0 for a stage that reads stages
	input   []model.Bytes // all it reads
	output  []model.Bytes
}

func planQuery(number int, data float64) queryPlan {
	shape := queryShapes()[number-1]
	g := shape.graph()
	p := queryPlan{
		queryGraph: g,
		sources:    make([][]int, g.stages),
		table:      make([]model.Bytes, g.stages),
		input:      make([]model.Bytes, g.stages),
		output:     make([]model.Bytes, g.stages),
	}
	source := 0
	for i := range g.stages {
		p.sources[i] = g.sourcesOf(i)
		kept := keptByJoin
		if len(p.sources[i]) == 0 {
			p.table[i] = scaled(tableShare(shape.tables[source]), data)
			p.input[i] = p.table[i]
			kept = keptByScan
			source++
		}
		for _, f := range p.sources[i] {
			p.input[i] += p.output[f]
		}
		if i == g.stages-1 {
			kept = keptByLast
		}
		p.output[i] = scaled(float64(p.input[i]), kept)
	}
	return p
}

// addGraph adds a query as one job, as Tez runs it.
func (w *Workload) addGraph(as Job, p *queryPlan, z *Sizing) {
	j := as
	for i := range p.stages {
		s := Stage{
			Name:      model.Stage(fmt.Sprintf("Map %d", i+1)), // Hive's names for Tez vertices
			Output:    p.output[i],
			Cost:      z.Map,
			Container: z.Container,
		}
		if p.table[i] > 0 {
			s.Reads = z.Input(p.table[i])
			s.Tasks = z.Maps(p.table[i])
		} else {
			s.Name = model.Stage(fmt.Sprintf("Reducer %d", i+1))
			s.Cost = z.Reduce
			s.Skew = z.Skew
			s.Edges = p.edgesInto(i)
			s.Tasks = Blocks(p.gathered(s.Edges), z.PerReduce)
		}
		j.Stages = append(j.Stages, s)
	}
	w.Jobs = append(w.Jobs, j)
}

// edgesInto returns the edges into a stage: all gather but the small sides of
// joins, which are broadcast to where the largest side is.
func (p *queryPlan) edgesInto(stage int) []Edge {
	from := p.sources[stage]
	largest := slices.MaxFunc(from, func(a, b int) int { return cmp.Compare(p.output[a], p.output[b]) })
	var edges []Edge
	for _, f := range from {
		kind := model.ScatterGather
		if f != largest && p.output[f] <= broadcastLimit {
			kind = model.Broadcast
		}
		edges = append(edges, Edge{From: f, Kind: kind})
	}
	return edges
}

// gathered returns the bytes that come over scatter-gather edges.
func (p *queryPlan) gathered(edges []Edge) model.Bytes {
	var sum model.Bytes
	for _, e := range edges {
		if e.Kind == model.ScatterGather {
			sum += p.output[e.From]
		}
	}
	return sum
}

// addMapReduce adds a query as MapReduce jobs: one for every stage that reads
// other stages. Its maps scan the tables whose scans the stage reads, and read
// the output of the jobs of the other stages; its reduces do what the stage does.
func (w *Workload) addMapReduce(as Job, p *queryPlan, z *Sizing) {
	index := make([]int, p.stages) // in w.Jobs, of the job of a stage
	n := 0
	for i := range p.stages {
		if p.table[i] > 0 {
			continue
		}
		j := as
		n++
		j.ID = JobID(fmt.Sprintf("%s.%d", as.ID, n))
		var files []File
		for _, f := range p.sources[i] {
			if p.table[f] > 0 {
				files = append(files, z.Input(p.table[f])...)
				continue
			}
			j.Parents = append(j.Parents, index[f])
			files = append(files, File{Bytes: p.output[f], Place: OfParent, Parent: index[f]})
		}
		j.Stages = z.MapReduce(files, p.input[i], p.output[i])
		index[i] = len(w.Jobs)
		w.Jobs = append(w.Jobs, j)
	}
}

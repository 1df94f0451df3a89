package shuffle

import "heddle/core/model"

// DAGStage is one stage of a general job (Hive on Tez, Spark). Sizes are
// model.Unknown where no source reported it.
type DAGStage struct {
	Tasks     int
	Completed int
	Input     Inflow        // from outside the job
	Output    model.Bytes   // all of it, for its readers or as the job's output
	Placed    []model.Bytes // where output lies already, by rack
}

// DAGEdge says how stage To reads stage From, by their numbers in the DAG.
type DAGEdge struct {
	From, To int
	Kind     model.EdgeKind
}

// StageGraph is the graph of stages of one general job.
type StageGraph struct {
	*DAG
	Stages []DAGStage
	Edges  []DAGEdge
}

// StagePick is where a stage's tasks are wanted.
type StagePick struct {
	Max Pick // eq. 1 for a stage that reads from outside, eq. 2 for any other
	Dep Pick // of a stage nobody in the job reads: dep_r; of any other the same as Max
	// From is what the stage reads, by rack: what draws it.
	From  []model.Bytes
	Total model.Bytes
}

// Plan chooses the racks of every stage, each after those it reads (Dawn
// §III-B3; algorithms.md 2.4.4): a stage that reads from outside goes by the map
// rule, a stage nobody reads by the reduce rule with the job's dependents, and
// those between aggregate. Where a stage's output will lie follows from where
// it was put. The paper mentions the kinds of edges and models none: here a
// one-to-one edge wins over others, because its tasks go where the tasks they
// read ran, and the other kinds count their bytes by eq. 2. A stage whose
// output is unknown counts as putting out what it reads.
func (g *StageGraph) Plan(racks int, dependents []Inflow, f Field) []StagePick {
	picks := make([]StagePick, g.Len())
	lies := make([][]model.Bytes, g.Len()) // each stage's output by rack
	var costs []model.Bytes
	for _, x := range g.Order() {
		s := &g.Stages[x]
		p := &picks[x]
		from, all := g.reads(x, racks, lies)
		p.From, p.Total = from, all
		p.Max = MostOn(from, all, f)
		p.Dep = p.Max
		out := s.Output
		if out < 0 {
			out = all
		}
		rest := max(out-Total(s.Placed), 0)
		if len(g.Next(x)) == 0 && len(dependents) > 0 && rest > 0 {
			costs = DependentCosts(costs, racks, rest, dependents)
			p.Dep = LeastDependent(costs, from, all, p.Max, f)
		}
		lies[x] = make([]model.Bytes, racks)
		copy(lies[x], s.Placed)
		switch one := g.oneToOne(x); {
		case one != None && Total(lies[one]) > 0: // spread as what it reads
			scale := float64(rest) / float64(Total(lies[one]))
			for r, b := range lies[one] {
				lies[x][r] += model.Bytes(float64(b) * scale)
			}
		case p.Max.Rack != None:
			lies[x][p.Max.Rack] += rest
		}
	}
	return picks
}

// reads returns what a stage reads by rack, and all of it.
func (g *StageGraph) reads(x, racks int, lies [][]model.Bytes) (byRack []model.Bytes, total model.Bytes) {
	if one := g.oneToOne(x); one != None {
		return lies[one], Total(lies[one])
	}
	byRack = make([]model.Bytes, racks)
	copy(byRack, g.Stages[x].Input.ByRack)
	total = g.Stages[x].Input.Total
	for _, y := range g.Reads(x) {
		for r, b := range lies[y] {
			byRack[r] += b
			total += b
		}
	}
	return byRack, total
}

// oneToOne returns the first stage that x reads task by task, None without.
func (g *StageGraph) oneToOne(x int) int {
	for _, e := range g.Edges {
		if e.To == x && e.Kind == model.OneToOne {
			return e.From
		}
	}
	return None
}

// Now returns the first stage in order that has tasks to come, None when there
// is none.
func (g *StageGraph) Now() int {
	for _, x := range g.Order() {
		if s := &g.Stages[x]; s.Completed < s.Tasks {
			return x
		}
	}
	return None
}

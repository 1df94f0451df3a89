package weave

import (
	"heddle/core/shuffle"
	"heddle/core/state"
	"heddle/core/topology"
)

// stages is what is expected of a job that is a graph of stages, as of Tez, by their number in it. Stages that read files are
// the job's maps; all tasks of the others count as its reduces, of which the ResourceManager's view tells no more.
type stages struct {
	reads, output []float64 // bytes of a stage
	mapOutput     float64   // of the stages that read files
	gathered      float64   // by the others, in all
	tasks         int       // of these
	due           int       // of them, those of stages that are complete or in turn
	progress      int       // sixteenths of its tasks that each stage has completed, added up
	counted       []bool    // stages whose output rates have
}

// gathers reports whether a stage's tasks count as reduces: it reads other stages and no files.
func gathers(g *shuffle.StageGraph, x int) bool {
	return len(g.Reads(x)) > 0 && g.Stages[x].Input.Total <= 0
}

// follow sets what is expected. The output of a stage is what is known of it; before it is complete, by that of its completed
// tasks; before one of them is, as much of what it reads as other stages put out, of maps the given ratio.
func (t *stages) follow(g *shuffle.StageGraph, ofMaps float64, rates *rates) {
	n := g.Len()
	if len(t.counted) != n {
		t.counted = make([]bool, n)
	}
	t.reads, t.output = zeroed(t.reads, n), zeroed(t.output, n)
	t.mapOutput, t.gathered, t.tasks, t.progress = 0, 0, 0, 0
	for _, x := range g.Order() {
		s := &g.Stages[x]
		t.reads[x] = float64(max(s.Input.Total, 0))
		for _, y := range g.Reads(x) {
			t.reads[x] += t.output[y]
		}
		gathers := gathers(g, x)
		switch placed := float64(shuffle.Total(s.Placed)); {
		case s.Output >= 0:
			t.output[x] = float64(s.Output)
		case placed > 0 && s.Completed > 0:
			t.output[x] = placed / float64(s.Completed) * float64(max(s.Tasks, s.Completed))
		case !gathers:
			t.output[x] = t.reads[x] * ofMaps
		default:
			t.output[x] = t.reads[x] * rates.gathered.ratio()
		}
		if s.Tasks > 0 {
			t.progress += 16 * min(s.Completed, s.Tasks) / s.Tasks
		}
		if !gathers {
			t.mapOutput += t.output[x]
			continue
		}
		t.tasks += s.Tasks
		t.gathered += t.reads[x]
		if !t.counted[x] && s.Output >= 0 && s.Completed >= s.Tasks && len(g.Next(x)) > 0 { // the last stage puts out an answer, and says nothing of others
			t.counted[x] = true
			rates.gathered.add(t.reads[x], t.output[x])
		}
	}
}

// left returns the seconds that the reduces which are not complete take, if one that gathers so many bytes takes as rates say.
func (t *stages) left(g *shuffle.StageGraph, rates *rates, p *Params) float64 {
	sum := 0.0
	for x := range g.Stages {
		if s := &g.Stages[x]; s.Tasks > s.Completed && gathers(g, x) {
			sum += float64(s.Tasks-s.Completed) * rates.of(t.reads[x]/float64(s.Tasks), p)
		}
	}
	return sum
}

// ready is the part of its tasks that a stage has completed when Tez begins to ask for the tasks of those that read it
// (tez.shuffle-vertex-manager.min-src-fraction).
const ready = 0.25

// inTurn calls yield with each stage that gathers, is not complete, and is asked for or comes next, and how many of its tasks have been
// launched: it is not told of which stage a reduce is, and the stages are taken to have been launched in their order. It returns
// how many reduces there are up to the end of these stages.
func (t *stages) inTurn(g *shuffle.StageGraph, reduces *state.Stage, yield func(x, launched int)) (due int) {
	for _, x := range g.Order() {
		if s := &g.Stages[x]; s.Completed >= s.Tasks && gathers(g, x) {
			due += s.Tasks
		}
	}
	none, asked := true, reduces.Pending+reduces.Running+reduces.Completed
	launched := reduces.Running + reduces.Completed - due
	for _, x := range g.Order() {
		s := &g.Stages[x]
		if s.Completed >= s.Tasks || !gathers(g, x) {
			continue
		}
		begins := true
		for _, y := range g.Reads(x) {
			begins = begins && float64(g.Stages[y].Completed) >= ready*float64(g.Stages[y].Tasks)
		}
		if begins || none || due < asked {
			none = false
			due += s.Tasks
			n := min(max(launched, 0), s.Tasks)
			launched -= n
			yield(x, n)
		}
	}
	return due
}

// expectStages sets what is expected of the stages in turn: what they read, by the racks where it lies or will. What has been
// put out lies where it is reported to, and the rest where that is. Of a stage of which nothing is reported it will lie where its
// tasks run: of maps where weights say, of others where what they read lies.
func (d *division) expectStages(e *entry, racks int, weights []float64, sum float64) {
	g, t, x := e.job.Graph, &e.stages, &e.expected
	d.lies = d.lies[:0]
	for range g.Len() * racks {
		d.lies = append(d.lies, 0)
	}
	lies := func(stage int) []float64 { return d.lies[stage*racks:][:racks] }
	for _, y := range g.Order() {
		from, all := d.placed(e, y, lies)
		if from == nil {
			from, all = weights, sum
		}
		to := lies(y)
		for rack := range to {
			to[rack] = t.output[y] * topology.At(from, rack) / max(all, 1e-9)
		}
	}
	x.draws = zeroed(x.draws, racks)
	t.inTurn(g, e.job.Reduce, func(at, launched int) {
		next := 1 - float64(launched)/float64(g.Stages[at].Tasks)
		for _, y := range g.Reads(at) {
			for rack, b := range lies(y) {
				x.output[rack] += b
				x.total += b
				x.draws[rack] += next * b
			}
		}
	})
}

// placed returns by rack where the output of a stage is in proportion, as is reported of it or lies what it reads, and the sum; nil for maps of
// which nothing is reported.
func (d *division) placed(e *entry, stage int, lies func(stage int) []float64) (from []float64, all float64) {
	g := e.job.Graph
	if placed := g.Stages[stage].Placed; shuffle.Total(placed) > 0 {
		d.from = d.from[:0]
		for _, b := range placed {
			d.from, all = append(d.from, float64(b)), all+float64(b)
		}
		return d.from, all
	}
	if !gathers(g, stage) {
		return nil, 0
	}
	d.from = zeroed(d.from, len(e.expected.output))
	for _, y := range g.Reads(stage) {
		for rack, b := range lies(y) {
			d.from[rack] += b
		}
	}
	return d.from, e.stages.reads[stage]
}

func sum(counts []int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

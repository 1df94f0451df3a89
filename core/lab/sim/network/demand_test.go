package network_test

import (
	"math/rand/v2"
	"slices"

	"heddle/core/lab/sim/network"
	"heddle/core/model"
)

// demandSize says how much a random demand asks of a cluster.
type demandSize struct {
	racks, nodes int
	jobs         int
	maps         int // of a job, on average
	reduces      int
	seconds      int
	load         float64 // bytes between racks over what all uplinks carry in the seconds
}

// demand is a run's shuffles and transfers, between nodes, in order of time.
type demand struct {
	racks  []network.Rack
	jobs   []demandJob
	events []demandEvent
}

type demandJob struct {
	reduces int
	total   model.Bytes
}

type demandWhat int

const (
	transferStarts demandWhat = iota
	mapEnds
	reduceStarts
	jobSealed
)

type demandEvent struct {
	at       model.Time
	what     demandWhat
	job      int
	from, to network.Node // of a map only from, of a reduce only to
	bytes    model.Bytes
}

// newDemand draws a demand: four fifths of the bytes are shuffles, with sizes
// between jobs spread over two decades, a fifth are transfers of one size.
func newDemand(seed uint64, size demandSize, racks []network.Rack) *demand {
	rng := rand.New(rand.NewPCG(seed, 1))
	d := &demand{racks: racks}
	node := func(within int) network.Node {
		return network.Node{Rack: rng.IntN(max(within, 1)), Number: rng.IntN(size.nodes)}
	}
	span := model.Time(size.seconds) * 1000
	all := 0.0
	for _, r := range racks {
		all += float64(r.Uplink.Out)
	}
	all *= size.load * float64(size.seconds) * float64(size.racks) / float64(size.racks-1)
	sizes, sumSizes := make([]float64, size.jobs), 0.0
	for j := range sizes {
		sizes[j] = 1 / (.01 + rng.Float64())
		sumSizes += sizes[j]
	}
	for j := range sizes {
		d.addJob(rng, size, .8*all*sizes[j]/sumSizes, node)
	}
	transfers := 5 * size.jobs
	for range transfers {
		d.events = append(d.events, demandEvent{
			at: model.Time(rng.Int64N(int64(span))), from: node(size.racks), to: node(size.racks),
			bytes: model.Bytes(.2 * all / float64(transfers)),
		})
	}
	slices.SortStableFunc(d.events, func(a, b demandEvent) int { return int(a.at - b.at) })
	return d
}

func (d *demand) addJob(rng *rand.Rand, size demandSize, bytes float64, node func(int) network.Node) {
	j := demandJob{reduces: 1 + rng.IntN(2*size.reduces)}
	maps := 1 + rng.IntN(2*size.maps)
	within := 1 + rng.IntN(size.racks)
	begin := rng.Int64N(int64(size.seconds) * 900)
	first, last := model.Time(begin+20_000), model.Time(0)
	for range maps {
		at := model.Time(begin + 5_000 + rng.Int64N(20_000))
		b := model.Bytes(bytes/float64(maps)*(.5+rng.Float64())) + 1
		d.events = append(d.events, demandEvent{at: at, what: mapEnds, job: len(d.jobs), from: node(within), bytes: b})
		j.total += b
		first, last = min(first, at), max(last, at)
	}
	for range j.reduces {
		at := first + model.Time(rng.Int64N(int64(last-first)*5/4+1))
		d.events = append(d.events, demandEvent{at: at, what: reduceStarts, job: len(d.jobs), to: node(size.racks)})
	}
	d.events = append(d.events, demandEvent{at: last + 1, what: jobSealed, job: len(d.jobs)})
	d.jobs = append(d.jobs, j)
}

// outcome is what a form made of a demand.
type outcome struct {
	log   []network.Done
	spans map[int][2]model.Time // by number of the event that started it first: begin and end
	bytes [][]network.Traffic   // each 5 s: by rack
	calls int
}

// follow writes what has crossed each 5 s up to a time.
func (o *outcome) follow(to model.Time, advance func(model.Time), traffic func() []network.Traffic) {
	for at := model.Time(len(o.bytes)+1) * 5000; at <= to; at += 5000 {
		advance(at)
		o.bytes = append(o.bytes, traffic())
	}
	advance(to)
}

// onFast runs the demand on the fast form.
func (d *demand) onFast(f *network.Fast) *outcome {
	o := &outcome{spans: map[int][2]model.Time{}}
	of := map[[2]int]int{} // kind and ID -> event
	done := func(x network.Done) {
		o.log = append(o.log, x)
		key := [2]int{int(x.Kind), int(x.ID)}
		o.spans[of[key]] = [2]model.Time{o.spans[of[key]][0], x.At}
		delete(of, key)
	}
	jobs := make([]network.JobID, len(d.jobs))
	for i := range jobs {
		jobs[i] = f.AddJob(d.jobs[i].reduces)
	}
	advance := func(to model.Time) { f.Advance(to, done) }
	traffic := func() []network.Traffic { return f.Traffic(nil) }
	for i, e := range d.events {
		o.follow(e.at, advance, traffic)
		o.calls++
		switch e.what {
		case mapEnds:
			f.AddOutput(jobs[e.job], e.from.Rack, e.bytes)
		case jobSealed:
			f.Seal(jobs[e.job])
		case reduceStarts:
			key := [2]int{0, int(f.AddReduces(jobs[e.job], e.to.Rack, 1))}
			if _, known := of[key]; !known {
				of[key] = i
				o.spans[i] = [2]model.Time{e.at}
			}
		case transferStarts:
			if e.from != e.to {
				of[[2]int{1, int(f.AddTransfer(network.MapRead, e.from.Rack, e.to.Rack, e.bytes))}] = i
				o.spans[i] = [2]model.Time{e.at}
			}
		}
	}
	o.follow(d.events[len(d.events)-1].at+3_600_000, advance, traffic)
	return o
}

// exactly runs a demand on the exact form: a flow from every node with map output
// to every reduce, or with copies as Hadoop has it: to each from so many nodes at
// once, a flow of weight 1 each.
type exactly struct {
	d        *demand
	x        *network.Exact
	copies   int
	o        *outcome
	jobs     []exactJob
	of       map[network.ID]int // flow -> event of its transfer or group
	active   map[int]int        // flows by event of a group
	job      map[int]int        // of a group
	fetching map[network.ID]exactFetch
}

type exactJob struct {
	nodes   []network.Node // with map output
	output  []model.Bytes  // of each
	total   model.Bytes
	reduces []*exactReduce
	sealed  bool
	here    map[int]int // rack -> group, while not sealed
}

// exactFetch is where a reduce keeps a flow.
type exactFetch struct {
	reduce *exactReduce
	at     int
}

type exactReduce struct {
	node  network.Node
	group int
	part  int
	got   []model.Bytes // by node with map output
	flows []network.ID  // by node with map output; -1 for none
	busy  int           // flows, where they are limited
	next  int           // node that is looked at first
}

func (d *demand) onExact(x *network.Exact) *outcome { return d.onCopies(x, 0) }

// onCopies runs the demand on the exact form with at most so many fetches of a
// reduce at once; 0 is a flow for every node.
func (d *demand) onCopies(x *network.Exact, copies int) *outcome {
	e := &exactly{
		d: d, x: x, copies: copies, o: &outcome{spans: map[int][2]model.Time{}}, jobs: make([]exactJob, len(d.jobs)),
		of: map[network.ID]int{}, active: map[int]int{}, job: map[int]int{},
		fetching: map[network.ID]exactFetch{},
	}
	for i := range e.jobs {
		e.jobs[i].here = map[int]int{}
	}
	advance := func(to model.Time) { x.Advance(to, e.done) }
	traffic := func() []network.Traffic { return x.Traffic(nil) }
	for i, ev := range d.events {
		e.o.follow(ev.at, advance, traffic)
		e.o.calls++
		e.apply(i, ev)
	}
	e.o.follow(d.events[len(d.events)-1].at+3_600_000, advance, traffic)
	return e.o
}

func (e *exactly) apply(i int, ev demandEvent) {
	switch ev.what {
	case mapEnds:
		e.mapEnded(ev)
	case reduceStarts:
		j := &e.jobs[ev.job]
		group, known := j.here[ev.to.Rack]
		if !known || j.sealed {
			group = i
			j.here[ev.to.Rack] = i
			e.o.spans[i] = [2]model.Time{ev.at}
			e.job[i] = ev.job
		}
		j.reduces = append(j.reduces, &exactReduce{node: ev.to, group: group, part: len(j.reduces)})
		e.fetch(ev.job)
		if j.sealed {
			e.turn(j.reduces[len(j.reduces)-1])
		}
		e.ended(group, ev.at)
	case jobSealed:
		j := &e.jobs[ev.job]
		j.sealed = true
		for _, r := range j.reduces {
			e.turn(r)
		}
		for _, group := range j.here {
			e.ended(group, ev.at)
		}
	case transferStarts:
		if ev.from != ev.to {
			e.start(i, network.Flow{Kind: network.MapRead, From: ev.from, To: ev.to, Bytes: ev.bytes, Weight: 1})
			e.o.spans[i] = [2]model.Time{ev.at}
		}
	}
}

func (e *exactly) mapEnded(ev demandEvent) {
	j := &e.jobs[ev.job]
	at := slices.Index(j.nodes, ev.from)
	if at < 0 {
		at = len(j.nodes)
		j.nodes = append(j.nodes, ev.from)
		j.output = append(j.output, 0)
	}
	j.output[at] += ev.bytes
	j.total += ev.bytes
	e.fetch(ev.job)
}

// fetch starts or prolongs the flows from every node with map output of a job
// to every reduce, and sets their weights: the streams of the reduce in
// proportion to the map output there is so far.
func (e *exactly) fetch(job int) {
	j := &e.jobs[job]
	n := model.Bytes(e.d.jobs[job].reduces)
	for _, r := range j.reduces {
		for at, node := range j.nodes {
			if at == len(r.got) {
				r.got, r.flows = append(r.got, 0), append(r.flows, -1)
			}
			whole := j.part(r, at, n)
			if e.copies > 0 {
				continue
			}
			more := whole - r.got[at]
			weight := 5 * float64(j.output[at]) / float64(j.total)
			switch {
			case r.flows[at] >= 0 && more > 0 || !j.sealed && r.flows[at] >= 0:
				e.x.Add(r.flows[at], more)
				e.x.SetWeight(r.flows[at], weight)
			case more > 0:
				e.active[r.group]++
				id := e.start(r.group, network.Flow{From: node, To: r.node, Bytes: more, Weight: weight})
				r.flows[at] = id
				e.fetching[id] = exactFetch{r, at}
			}
			r.got[at] = whole
		}
		if e.copies > 0 {
			e.copy(j, r, n)
		}
	}
}

// part returns what a reduce fetches of what a node has so far.
func (j *exactJob) part(r *exactReduce, at int, reduces model.Bytes) model.Bytes {
	return j.output[at]*model.Bytes(r.part+1)/reduces - j.output[at]*model.Bytes(r.part)/reduces
}

// copy has a reduce fetch from the nodes in turn that have something for it and
// that it does not fetch from, as far as it may.
func (e *exactly) copy(j *exactJob, r *exactReduce, reduces model.Bytes) {
	for range r.flows {
		if r.busy == e.copies {
			return
		}
		at := r.next % len(r.flows)
		r.next++
		more := j.part(r, at, reduces) - r.got[at]
		if more <= 0 || r.flows[at] >= 0 {
			continue
		}
		r.got[at] += more
		r.busy++
		e.active[r.group]++
		id := e.start(r.group, network.Flow{From: j.nodes[at], To: r.node, Bytes: more, Weight: 1})
		r.flows[at] = id
		e.fetching[id] = exactFetch{r, at}
	}
}

// turn sets the weights of a reduce's flows in proportion to what is left.
func (e *exactly) turn(r *exactReduce) {
	if e.copies > 0 {
		return
	}
	all := model.Bytes(0)
	for _, id := range r.flows {
		if id >= 0 {
			all += e.x.Left(id)
		}
	}
	for _, id := range r.flows {
		if id >= 0 && all > 0 {
			e.x.SetWeight(id, 5*max(float64(e.x.Left(id))/float64(all), 1e-6))
		}
	}
}

func (e *exactly) start(event int, f network.Flow) network.ID {
	id, err := e.x.Start(f)
	if err != nil {
		panic(err)
	}
	e.of[id] = event
	return id
}

func (e *exactly) done(x network.Done) {
	event := e.of[x.ID]
	delete(e.of, x.ID)
	if x.Kind != network.Shuffle {
		e.o.spans[event] = [2]model.Time{e.o.spans[event][0], x.At}
		return
	}
	f := e.fetching[x.ID]
	f.reduce.flows[f.at] = -1
	e.active[event]--
	if f.reduce.busy--; e.copies > 0 {
		job := e.job[event]
		e.copy(&e.jobs[job], f.reduce, model.Bytes(e.d.jobs[job].reduces))
	}
	e.ended(event, x.At)
}

// ended notes the end of a group that has fetched all there will be.
func (e *exactly) ended(group int, at model.Time) {
	if _, known := e.job[group]; known && e.active[group] == 0 && e.jobs[e.job[group]].sealed {
		e.o.spans[group] = [2]model.Time{e.o.spans[group][0], at}
	}
}

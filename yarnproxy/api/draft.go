package api

import (
	"cmp"
	"fmt"
	"slices"

	"heddle/core/model"
)

// hypotheticalID is the id of the application a request supposes.
const hypotheticalID model.AppID = "what-if"

// draft turns a decoded body into an application and the facts that would be
// observed of it.
type draft struct {
	q       *query
	in      *placementsRequest
	ignored map[string]bool // hosts that the snapshot does not have
	blocks  []model.BlocksFact
}

// request checks the body against the snapshot and builds the facts that sources
// would report of such a job.
func (d *draft) request() (Request, error) {
	d.checkBody()
	if len(d.q.errors) > 0 {
		return Request{}, badRequest(d.q.errors[0].Field+" "+d.q.errors[0].Detail, d.q.errors...)
	}
	if err := d.findBlocks(); err != nil {
		return Request{}, err
	}
	r := Request{App: model.App{
		ID: hypotheticalID, Name: "what-if", User: cmp.Or(d.in.User, "what-if"), Queue: cmp.Or(d.in.Queue, "root.default"),
		Type: "MAPREDUCE", State: model.AppAccepted, Submitted: d.q.cache.snap.At,
	}}
	for _, stage := range []model.Stage{model.StageMap, model.StageReduce} {
		if d.count(stage) > 0 {
			r.Stages = append(r.Stages, stage)
		}
	}
	conf := model.JobConfFact{App: hypotheticalID, Slowstart: -1}
	for _, b := range d.blocks {
		conf.Inputs = append(conf.Inputs, b.Path)
	}
	r.Facts = append(r.Facts, conf)
	for _, b := range d.blocks {
		r.Facts = append(r.Facts, b)
	}
	done := d.doneMaps()
	completed := len(done)
	if completed > 0 {
		completed = max(completed, d.in.MapsDone)
	}
	maps, reduces := d.count(model.StageMap), d.count(model.StageReduce)
	r.Facts = append(r.Facts,
		model.JobFact{
			App: hypotheticalID, MapsTotal: maps + completed, MapsPending: maps, MapsCompleted: completed,
			ReducesTotal: reduces, ReducesPending: reduces,
		},
		model.AsksFact{App: hypotheticalID, Rows: d.rows()},
	)
	if len(done) > 0 {
		r.Facts = append(r.Facts, model.TasksFact{App: hypotheticalID, Tasks: done}, d.counters())
	}
	return r, nil
}

// checkBody finds everything that is wrong with the body.
func (d *draft) checkBody() {
	in, q := d.in, d.q
	if in.Limit < 0 || in.Limit > 1000 {
		q.addError("limit", "is %d, want 1 to 1000, or nothing for 20", in.Limit)
	}
	d.checkAsks()
	d.checkInput()
	for rack, b := range in.MapOutput { // order-free: errors are sorted below
		field := "map_output_bytes." + string(rack)
		d.checkRack(field, rack)
		q.checkMost(field, int64(b), maxBytes)
	}
	q.checkMost("map_input_bytes", int64(in.MapInput), maxBytes)
	q.checkMost("maps_completed", int64(in.MapsDone), maxTasks)
	slices.SortStableFunc(q.errors, func(a, b fieldError) int { return cmp.Compare(a.Field, b.Field) })
}

// checkMost refuses a number below 0 or above most.
func (q *query) checkMost(field string, n, most int64) {
	if n < 0 || n > most {
		q.addError(field, "is %d, want 0 to %d", n, most)
	}
}

func (d *draft) checkAsks() {
	asks := d.in.Asks
	if len(asks) == 0 || len(asks) > maxAsks {
		d.q.addError("asks", "has %d asks, want at least one and at most %d", len(asks), maxAsks)
		return
	}
	total := 0
	for i := range asks {
		d.checkAsk(fmt.Sprintf("asks[%d]", i), &asks[i])
		total += min(max(asks[i].Count, 0), maxTasks)
	}
	if total > maxTasks {
		d.q.addError("asks", "ask for %d tasks, want at most %d", total, maxTasks)
	}
}

func (d *draft) checkInput() {
	in, q := d.in, d.q
	if len(in.Paths) > maxPaths {
		q.addError("input_paths", "has %d paths, want at most %d", len(in.Paths), maxPaths)
	}
	if len(in.Paths) > 0 && len(in.Blocks) > 0 {
		q.addError("input_blocks", "is given together with input_paths, want one of them")
	}
	for i, p := range in.Paths {
		if p == "" || p[0] != '/' {
			q.addError(fmt.Sprintf("input_paths[%d]", i), "is %q, want a path from the root such as /data/in", p)
		}
	}
	for i := range in.Blocks {
		field := fmt.Sprintf("input_blocks[%d]", i)
		q.checkMost(field+".length", int64(in.Blocks[i].Length), maxBlock)
		if n := len(in.Blocks[i].Hosts); n > maxHosts {
			q.addError(field+".hosts", "has %d hosts, want at most %d", n, maxHosts)
		}
	}
}

func (d *draft) checkAsk(field string, a *askBody) {
	q := d.q
	if a.Stage != model.StageMap && a.Stage != model.StageReduce {
		q.addError(field+".stage", "is %q, want map or reduce", a.Stage)
	}
	if a.Count < 1 || a.Count > maxTasks {
		q.addError(field+".count", "is %d, want 1 to %d", a.Count, maxTasks)
	}
	if c := a.Capability; c.MemoryMiB < 1 || c.MemoryMiB > maxTask || c.VCores < 0 || c.VCores > maxTask {
		q.addError(field+".capability", "is %d MiB and %d vcores, want at least 1 MiB, and at most 2^31 of either", c.MemoryMiB, c.VCores)
	}
	if len(a.Hosts) > maxHosts || len(a.Racks) > maxHosts {
		q.addError(field, "has %d hosts and %d racks, want at most %d of each", len(a.Hosts), len(a.Racks), maxHosts)
		return
	}
	for i, r := range a.Racks {
		d.checkRack(fmt.Sprintf("%s.racks[%d]", field, i), r)
	}
}

func (d *draft) checkRack(field string, r model.RackID) {
	if d.q.cache.snap.Rack(r) == nil {
		d.q.addError(field, "is %q, which is no rack of the cluster: GET /v1/racks lists them", r)
	}
}

func (d *draft) count(stage model.Stage) int {
	n := 0
	for i := range d.in.Asks {
		if d.in.Asks[i].Stage == stage {
			n += d.in.Asks[i].Count
		}
	}
	return n
}

// findBlocks gathers the blocks of the input, leaving out replicas on hosts
// whose rack is unknown.
func (d *draft) findBlocks() error {
	if len(d.in.Blocks) > 0 {
		f := model.BlocksFact{Path: "what-if", Files: 1}
		for _, b := range d.in.Blocks {
			f.Blocks = append(f.Blocks, d.knownReplicas(model.Block{Length: b.Length, Hosts: b.Hosts}))
		}
		d.blocks = append(d.blocks, f)
	}
	for i, path := range d.in.Paths {
		field := fmt.Sprintf("input_paths[%d]", i)
		if d.q.server.opts.Blocks == nil {
			return badRequest("input_paths cannot be looked up: HDFS is not read", fieldError{field, "HDFS is not read; give input_blocks instead"})
		}
		f, err := d.q.server.opts.Blocks.Blocks(d.q.r.Context(), path)
		if err != nil {
			p := blocksProblem(err)
			p.errors = []fieldError{{field, err.Error()}}
			return p
		}
		found := f
		found.Path, found.Blocks = path, make([]model.Block, 0, len(f.Blocks))
		for _, b := range f.Blocks {
			found.Blocks = append(found.Blocks, d.knownReplicas(b))
		}
		d.blocks = append(d.blocks, found)
	}
	return nil
}

// knownReplicas returns a block with those replicas whose rack the snapshot knows.
func (d *draft) knownReplicas(b model.Block) model.Block {
	out := model.Block{Offset: b.Offset, Length: b.Length, Corrupt: b.Corrupt}
	for i, host := range b.Hosts {
		rack, ok := d.q.cache.rack(host)
		if !ok && i < len(b.Racks) && d.q.cache.snap.Rack(b.Racks[i]) != nil {
			rack, ok = b.Racks[i], true // a DataNode without a NodeManager
		}
		if !ok {
			d.ignored[host] = true
			continue
		}
		out.Hosts, out.Racks = append(out.Hosts, host), append(out.Racks, rack)
	}
	return out
}

// rows builds the ask table the application would have: a row per host, per
// rack and one for any place, each an absolute count (hadoop.md 5.2).
func (d *draft) rows() []model.AskRow {
	var out []model.AskRow
	for _, stage := range []model.Stage{model.StageMap, model.StageReduce} {
		t := askTable{priority: model.PriorityMap, byName: map[string]int{}}
		if stage == model.StageReduce {
			t.priority = model.PriorityReduce
		}
		for i := range d.in.Asks {
			if a := &d.in.Asks[i]; a.Stage == stage {
				t.capability = a.Capability
				d.addAsk(&t, a)
			}
		}
		out = append(out, t.rows...)
	}
	return out
}

// askTable is the ask table of one priority.
type askTable struct {
	priority   int
	capability model.Resource // of the last ask: one size per priority, as YARN has it
	rows       []model.AskRow
	byName     map[string]int
}

func (t *askTable) add(name string, n int) {
	i, ok := t.byName[name]
	if !ok {
		i = len(t.rows)
		t.byName[name] = i
		t.rows = append(t.rows, model.AskRow{Priority: t.priority, ResourceName: name, RelaxLocality: true})
	}
	t.rows[i].Count += n
	t.rows[i].Capability = t.capability
}

// addAsk adds one ask: its hosts, their racks, the racks it names. Maps that
// name no place would be local where the blocks of the input are, in equal parts.
func (d *draft) addAsk(t *askTable, a *askBody) {
	t.add(model.AnyName, a.Count)
	if a.Stage == model.StageMap && len(a.Hosts) == 0 && len(a.Racks) == 0 {
		d.addBlocks(t, a.Count)
		return
	}
	hosts, racks := map[string]bool{}, map[model.RackID]bool{}
	for _, host := range a.Hosts {
		rack, ok := d.q.cache.rack(host)
		switch {
		case !ok:
			d.ignored[host] = true
		case !hosts[host]:
			hosts[host] = true
			t.add(host, a.Count)
			if !racks[rack] {
				racks[rack] = true
				t.add(string(rack), a.Count)
			}
		}
	}
	for _, rack := range a.Racks {
		if !racks[rack] {
			racks[rack] = true
			t.add(string(rack), a.Count)
		}
	}
}

func (d *draft) addBlocks(t *askTable, count int) {
	total := 0
	hosts, racks := map[string]int{}, map[model.RackID]int{}
	for i := range d.blocks {
		total += len(d.blocks[i].Blocks)
		for _, b := range d.blocks[i].Blocks {
			for k, host := range b.Hosts {
				hosts[host]++
				if !slices.Contains(b.Racks[:k], b.Racks[k]) {
					racks[b.Racks[k]]++
				}
			}
		}
	}
	for _, host := range sortedKeys(hosts) {
		t.add(host, (count*hosts[host]+total-1)/total)
	}
	for _, rack := range sortedKeys(racks) {
		t.add(string(rack), (count*racks[rack]+total-1)/total)
	}
}

// sortedKeys returns the keys of a map in order.
func sortedKeys[K ~string, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m { // order-free: sorted below
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// doneMaps represents the map output that is on racks already: one completed map
// on each of these racks, which wrote all of its output.
func (d *draft) doneMaps() []model.Task {
	var out []model.Task
	for _, rack := range sortedKeys(d.in.MapOutput) {
		if b := d.in.MapOutput[rack]; b > 0 {
			out = append(out, model.Task{
				Stage: model.StageMap, Index: d.count(model.StageMap) + len(out), State: model.TaskSucceeded, Rack: rack, Progress: 1,
				Input: model.Unknown, Output: b, Shuffled: model.Unknown,
			})
		}
	}
	return out
}

func (d *draft) counters() model.CountersFact {
	f := model.CountersFact{App: hypotheticalID, CompletedMapsNow: max(len(d.doneMaps()), d.in.MapsDone), MapInput: cmp.Or(d.in.MapInput, model.Unknown), ReduceShuffle: model.Unknown, HDFSWritten: model.Unknown}
	for _, b := range d.in.MapOutput { // order-free: a sum
		f.MapOutput += b
	}
	return f
}

// placements builds the answer: nodes and racks for the plans of the advice.
func (d *draft) placements(r Request, advice Advice) placementsBody {
	out := placementsBody{Policy: advice.Policy, Placements: []placementWish{}, Unanswered: []stageUnanswered{}}
	out.IgnoredHosts = sortedKeys(d.ignored)
	for _, stage := range r.Stages {
		i := slices.IndexFunc(advice.Plans, func(p model.Plan) bool { return p.Stage == stage })
		if i < 0 {
			out.Unanswered = append(out.Unanswered, stageUnanswered{stage})
			continue
		}
		p := &advice.Plans[i]
		w := wish{plan: p, limit: cmp.Or(d.in.Limit, 20), near: d.near(stage)}
		for k := range d.in.Asks {
			if d.in.Asks[k].Stage == stage {
				w.task = d.in.Asks[k].Capability
			}
		}
		out.Placements = append(out.Placements, placementWish{preference: d.q.prefer(w), Alternatives: alternatives(p)})
	}
	out.Sources, _ = d.q.server.sources(d.q.cache.snap, d.q.now)
	return out
}

// near returns the places the tasks of a stage are near to, nil when no ask of
// the stage named any and no block is known.
func (d *draft) near(stage model.Stage) *near {
	n := &near{hosts: map[string]bool{}, racks: map[model.RackID]bool{}}
	for i := range d.in.Asks {
		a := &d.in.Asks[i]
		if a.Stage != stage {
			continue
		}
		d.addHosts(n, a.Hosts)
		for _, rack := range a.Racks {
			n.racks[rack] = true
		}
		if stage == model.StageMap && len(a.Hosts) == 0 && len(a.Racks) == 0 {
			for k := range d.blocks {
				for _, b := range d.blocks[k].Blocks {
					d.addHosts(n, b.Hosts)
				}
			}
		}
	}
	if len(n.racks) == 0 {
		return nil
	}
	return n
}

func (d *draft) addHosts(n *near, hosts []string) {
	for _, host := range hosts {
		if rack, ok := d.q.cache.rack(host); ok {
			n.hosts[host], n.racks[rack] = true, true
		}
	}
}

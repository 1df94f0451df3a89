package jobs

import (
	"slices"
	"strings"

	"heddle/core/model"
	"heddle/core/state/inputs"
	"heddle/core/state/nodes"
	"heddle/core/topology"
)

// reportedAsks is where a job's demand comes from.
type reportedAsks struct {
	relayedAt model.Time          // when the relay last reported the job's own asks; 0 never
	stages    map[int]model.Stage // by priority, as the relay's rules say; may be nil
	rows      []model.AskRow      // as the ResourceManager last showed them
	rowsAt    model.Time          // when it was asked for them
	hasRows   bool                // the ResourceManager has been asked
	input     *inputs.Input       // derived from the asks for maps; may be nil
	bound     []int               // maps that the ResourceManager holds asks for on racks and nowhere else, by rack number; nil while any rack will do
}

// relayFresh is how long the relay's asks of a job override the ResourceManager's
// table, which shows the asks as rewritten.
const relayFresh = 15 * model.Second

// ApplyAsks applies a job's outstanding asks. While they are fresh the relay's
// override the ResourceManager's: the relay reports what the application asked,
// the ResourceManager what the relay made of it.
func ApplyAsks(j *Job, f model.AsksFact, from model.Source, at model.Time, hosts *nodes.Hosts) {
	if j.State.Final() {
		return
	}
	asks := &j.reported.asks
	if from == model.SourceRelay {
		asks.relayedAt = at
	} else {
		asks.rows, asks.rowsAt, asks.hasRows = f.Rows, at, true
		bindMaps(j, f.Rows, hosts)
		if asks.relayedAt != 0 && at.Sub(asks.relayedAt) <= relayFresh {
			return
		}
	}
	for _, s := range j.stages() {
		if s.knowsDemand() {
			continue
		}
		s.clearDemand()
		if s.demandSource = fromInput; s.Kind == model.StageMap {
			s.demandSource = fromRows
		}
	}
	for i := range f.Rows {
		row := &f.Rows[i]
		asks.learnStage(row)
		if s := j.Stage(j.reported.asks.stageAt(row.Priority)); s != nil {
			applyRow(s, row, hosts)
		}
	}
	if from == model.SourceRelay && !j.Input.Known {
		deriveInput(j, f.Rows, hosts)
	}
}

// bindMaps notes on which racks the ResourceManager holds strict asks for maps: those that a plan for maps was
// really enforced on. MapReduce itself relaxes ANY.
func bindMaps(j *Job, rows []model.AskRow, hosts *nodes.Hosts) {
	asks := &j.reported.asks
	relaxed := asks.anyRack(rows, model.StageMap)
	var bound []int
	for i := range rows {
		if row := &rows[i]; !relaxed && strings.HasPrefix(row.ResourceName, "/") && asks.asksFor(row, model.StageMap) {
			r := hosts.Rack(model.RackID(row.ResourceName))
			bound = topology.Extend(bound, r)
			bound[r] += bounded(row.Count)
		}
	}
	if !slices.Equal(bound, asks.bound) {
		asks.bound = bound
		j.Output.Version++ // a reader that caches what follows from it looks at it
	}
}

// anyRack reports whether a table has asks of a stage that any rack may serve.
func (a *reportedAsks) anyRack(rows []model.AskRow, stage model.Stage) bool {
	return slices.ContainsFunc(rows, func(r model.AskRow) bool {
		return r.ResourceName == model.AnyName && r.RelaxLocality && a.asksFor(&r, stage)
	})
}

// asksFor reports whether a row asks for containers of a stage.
func (a *reportedAsks) asksFor(r *model.AskRow, stage model.Stage) bool {
	return r.Count > 0 && a.stageAt(r.Priority) == stage
}

// ReducesTied reports whether a plan of the job's reduces may be in force: a relay carries its asks, and the ResourceManager,
// when it was asked last, held none for reduces that any rack may serve.
func (j *Job) ReducesTied() bool {
	asks := &j.reported.asks
	return asks.relayedAt != 0 && !asks.anyRack(asks.rows, model.StageReduce)
}

// learnStage stores which stage a row's priority stands for, if the row names it.
func (a *reportedAsks) learnStage(row *model.AskRow) {
	if row.Stage == "" {
		return
	}
	if a.stages == nil {
		a.stages = map[int]model.Stage{}
	}
	a.stages[row.Priority] = row.Stage
}

// stageAt returns the stage that asks at a priority.
func (a *reportedAsks) stageAt(priority int) model.Stage {
	if stage, ok := a.stages[priority]; ok {
		return stage
	}
	return model.StageOfPriority(priority)
}

// applyRow adds one row of the ask table to a stage's demand.
func applyRow(s *Stage, row *model.AskRow, hosts *nodes.Hosts) {
	if !row.Capability.IsZero() {
		s.Capability, s.capabilityAsked = row.Capability, true
	}
	if s.knowsDemand() || row.Count <= 0 {
		return
	}
	count := bounded(row.Count)
	switch {
	case row.ResourceName == model.AnyName:
		s.Pending = bounded(s.Pending + count)
	case strings.HasPrefix(row.ResourceName, "/"):
		s.demand.AddInRack(hosts.Rack(model.RackID(row.ResourceName)), count)
	default:
		s.demand.AddOnHost(hosts.Host(row.ResourceName), count)
	}
}

// demandFromInput assumes, for a job whose ask table is unknown, that its pending
// maps read the blocks of its input in equal parts.
func demandFromInput(s *Stage, in *inputs.Input, pending int) {
	s.clearDemand()
	s.Pending = pending
	if total := len(in.Blocks); total > 0 {
		for host, n := range in.OnHost() { // order-free: each entry is set on its own
			s.demand.AddOnHost(host, (pending*n+total-1)/total)
		}
		for r, n := range in.InRack() {
			s.demand.AddInRack(r, (pending*n+total-1)/total)
		}
	}
}

// maxAssumed is how many blocks are assumed at most, as many as tasks of a stage are tracked: an
// application may ask for any number of containers.
const maxAssumed = 200_000

// deriveInput assumes, until the NameNode has reported where a job's input lies,
// that every map it asks for reads one block, with replicas where the ask rows
// say. The rows count maps by rack and not sets of racks by map: replicas are
// dealt out evenly, which is exact for one replica a block.
//
// An application asks for all its maps at once and then for ever fewer: asks
// after the first launch are a rest, which does not describe the whole input.
func deriveInput(j *Job, rows []model.AskRow, hosts *nodes.Hosts) {
	maps := 0
	byRack := make([]int, 0, 8)
	for i := range rows {
		row := &rows[i]
		if row.Count <= 0 || j.reported.asks.stageAt(row.Priority) != model.StageMap {
			continue
		}
		if row.Count > maxAssumed {
			return
		}
		switch {
		case row.ResourceName == model.AnyName:
			maps += row.Count
		case strings.HasPrefix(row.ResourceName, "/"):
			r := hosts.Rack(model.RackID(row.ResourceName))
			byRack = topology.Extend(byRack, r)
			byRack[r] += row.Count
		}
	}
	asks := &j.reported.asks
	if maps == 0 || maps > maxAssumed || len(byRack) == 0 || maps < j.Map.Total || j.Map.Running+j.Map.Completed > 0 ||
		(asks.input != nil && len(asks.input.Blocks) >= maps) {
		return
	}
	asks.input = inputs.Assumed(maps, byRack)
	j.Input = asks.input
}

// SetInput gives a job the input its paths have. Nil, or one that is not known
// whole, leaves it what the asks for maps show.
func SetInput(j *Job, in *inputs.Input) {
	if in != nil {
		j.Input = in
	}
	if !j.Input.Known && j.reported.asks.input != nil {
		j.Input = j.reported.asks.input
	}
	j.indexes.published = nil
}

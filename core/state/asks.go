package state

import (
	"cmp"
	"slices"
	"strings"

	"heddle/core/model"
)

// applyAsks takes a job's outstanding asks. The relay's word on them counts for
// more than the ResourceManager's while it is fresh: the relay tells what the
// application asked, the ResourceManager what the relay made of it.
func (j *Job) applyAsks(f model.AsksFact, o model.Observation, nodes *nodeIndex) {
	if j.State.Final() {
		return
	}
	told := &j.told.asks
	if o.Source == model.SourceRelay {
		told.relayed = o.At
	} else {
		told.held, told.heldAt, told.known = f.Rows, o.At, true
		if told.relayed != 0 && o.At.Sub(told.relayed) <= relayFresh {
			return
		}
	}
	for _, s := range []*Stage{j.Map, j.Reduce, j.Other} {
		if s.toldByJob() {
			continue
		}
		s.clearDemand()
		if s.demand = fromInput; s.Kind == model.StageMap {
			s.demand = fromRows
		}
	}
	for i := range f.Rows {
		row := &f.Rows[i]
		told.learn(row)
		if s := j.Stage(j.stageOf(row.Priority)); s != nil {
			s.applyAsk(row, nodes)
		}
	}
	if o.Source == model.SourceRelay && !j.Input.Known {
		j.inputFromAsks(f.Rows, nodes)
	}
}

// learn keeps which stage a row's priority means, if it says so.
func (t *toldAsks) learn(row *model.AskRow) {
	if row.Stage == "" {
		return
	}
	if t.stages == nil {
		t.stages = map[int]model.Stage{}
	}
	t.stages[row.Priority] = row.Stage
}

// stageOf returns the stage that asks at a priority.
func (j *Job) stageOf(priority int) model.Stage {
	if stage, ok := j.told.asks.stages[priority]; ok {
		return stage
	}
	return model.StageOfPriority(priority)
}

// supposedBlock is the length given to a block that is known only by an ask for
// a map: dfs.blocksize's default. What is decided by it depends on the blocks'
// relative sizes alone.
const supposedBlock = 128 * model.MiB

// inputFromAsks supposes, as long as the NameNode has not told where a job's
// input lies, that every map it asks for reads one block, with replicas where
// the ask rows say. The rows count maps by rack and not sets of racks by map:
// replicas are dealt out evenly, which is exact for one replica a block.
//
// An application asks for all its maps at once and then for ever fewer: what is
// asked for after some maps were launched is a rest, and says nothing of the whole.
func (j *Job) inputFromAsks(rows []model.AskRow, nodes *nodeIndex) {
	maps := 0
	byRack := make([]int, 0, 8)
	for i := range rows {
		row := &rows[i]
		if row.Count <= 0 || j.stageOf(row.Priority) != model.StageMap {
			continue
		}
		switch {
		case row.ResourceName == model.AnyName:
			maps += row.Count
		case strings.HasPrefix(row.ResourceName, "/"):
			r := nodes.rack(model.RackID(row.ResourceName)).Index
			byRack = grown(byRack, r)
			byRack[r] += row.Count
		}
	}
	told := &j.told.asks
	if maps == 0 || len(byRack) == 0 || maps < j.Map.Total || j.Map.Running+j.Map.Completed > 0 ||
		(told.input != nil && len(told.input.Blocks) >= maps) {
		return
	}
	told.input = dealt(maps, byRack)
	j.Input = told.input
}

// dealt returns an input of blocks whose replicas sum to byRack.
func dealt(blocks int, byRack []int) *Input {
	racks := make([][]int, blocks)
	order := make([]int, 0, len(byRack))
	for r, n := range byRack {
		if n > 0 {
			order = append(order, r)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(byRack[b], byRack[a]) })
	next := 0
	for _, r := range order {
		for range min(byRack[r], blocks) {
			racks[next] = append(racks[next], r)
			next = (next + 1) % blocks
		}
	}
	in := &Input{byHost: map[hostNumber]int{}}
	for _, at := range racks {
		slices.Sort(at)
		in.add(InputBlock{Length: supposedBlock, Racks: at})
	}
	return in
}

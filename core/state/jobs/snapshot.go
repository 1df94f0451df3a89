package jobs

import (
	"heddle/core/model"
	"heddle/core/shuffle"
	"heddle/core/state/nodes"
	"heddle/core/state/snapshot"
)

// Publish returns the job for a snapshot: what was last published unless the job
// changed since. CrossRack is asked for the bytes it sent across racks.
func Publish(j *Job, hosts *nodes.Hosts, crossRack func(model.AppID) map[snapshot.TrafficKind]model.Bytes) *snapshot.App {
	if j.indexes.published != nil {
		return j.indexes.published
	}
	v := &snapshot.App{
		App: j.App, Map: publishStage(j.Map, hosts), Reduce: publishStage(j.Reduce, hosts),
		Ratio: j.Ratio, Predicted: j.Predicted, Heavy: j.Heavy, Slowstart: j.Conf.Slowstart,
		Input: snapshot.Input{
			Known: j.Input.Known, Truncated: j.Input.Truncated, Paths: j.Conf.Inputs, Blocks: len(j.Input.Blocks), ByRack: map[model.RackID]model.Bytes{},
		},
		MapOutput: snapshot.Output{Total: j.Output.Total, Reported: j.Output.Reported, Unplaced: j.Output.Unplaced, ByRack: byRackID(hosts, j.Output.ByRack)},
		CrossRack: crossRack(j.ID),
	}
	if size, known := j.Input.Size(); known {
		v.Input.Bytes, v.Input.ByRack = size, byRackID(hosts, j.Input.ByRack)
	}
	if !j.reported.hasCounters && shuffle.Total(j.Output.ByRack) == 0 {
		v.MapOutput.Total = model.Unknown
	}
	if asks := &j.reported.asks; asks.hasRows {
		v.Held, v.HeldAt = append([]model.AskRow{}, asks.rows...), asks.rowsAt
	}
	j.indexes.published = v
	return v
}

func publishStage(s *Stage, hosts *nodes.Hosts) snapshot.Stage {
	return snapshot.Stage{
		Total: s.Total, Pending: s.Pending, Running: s.Running, Completed: s.Completed,
		Task: s.Capability, Launched: byRackID(hosts, s.launched),
	}
}

// byRackID returns what is above zero of a slice by rack number.
func byRackID[T ~int | ~int64](hosts *nodes.Hosts, byRack []T) map[model.RackID]T {
	out := make(map[model.RackID]T, len(byRack))
	for r, n := range byRack {
		if n > 0 {
			out[hosts.RackName(r)] = n
		}
	}
	return out
}

// AddToRacks adds a job's pending maps to the racks of a snapshot, and moves its
// known containers there from "other" to their stage.
func AddToRacks(racks []snapshot.Rack, j *Job) {
	for i, stage := range []model.Stage{model.StageMap, model.StageReduce, model.StageAM} {
		for r, n := range j.reported.live[i] {
			n = min(n, racks[r].Containers[model.StageOther]) // the two answers are of different moments
			if n > 0 {
				racks[r].Containers[stage] += n
				racks[r].Containers[model.StageOther] -= n
			}
		}
	}
	for r, n := range j.Map.demand.ByRack() {
		racks[r].PendingMaps += n
	}
}

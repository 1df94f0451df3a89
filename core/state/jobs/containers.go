package jobs

import (
	"slices"
	"strings"

	"heddle/core/model"
	"heddle/core/state/nodes"
	"heddle/core/topology"
)

// firstContainer ends the id of an attempt's first container, which is the
// ApplicationMaster's own (ContainerId: the sixth part is a count from 1).
const firstContainer = "_000001"

// ApplyContainers counts a job's live containers by rack. Hosts of containers on
// nodes that are not known are counted as unknown.
func ApplyContainers(j *Job, f model.ContainersFact, cluster *nodes.Index) {
	if j.State.Final() {
		return
	}
	before := j.reported.live[stageIndex(model.StageMap)]
	j.reported.live = [stageKinds]liveContainers{}
	j.Map.runningOn.dropLive()
	for i := range f.Containers {
		k := &f.Containers[i]
		n := cluster.Node(k.Node)
		if n == nil {
			cluster.Hosts().CountUnknown(k.Node.Host())
			continue
		}
		stage := j.reported.asks.stageAt(k.Priority)
		if strings.HasSuffix(k.ID, firstContainer) {
			stage = model.StageAM
		}
		live := &j.reported.live[stageIndex(stage)]
		*live = topology.Extend(*live, n.Rack.Index)
		(*live)[n.Rack.Index]++
		if stage == model.StageMap {
			j.Map.runningOn.change(n.HostNumber(), taskCount{live: 1})
		}
	}
	j.blacklist = f.Blacklist
	j.recount()
	if !slices.Equal(before, j.reported.live[stageIndex(model.StageMap)]) {
		j.Output.Version++ // a reader that caches what follows from where maps run looks at it
	}
}

// recount recomputes what follows from the live containers.
func (j *Job) recount() {
	for _, s := range j.stages() {
		s.recount(j.reported.live[stageIndex(s.Kind)])
	}
	countByContainers(j)
}

// countByContainers counts the running tasks of stages that no source reports a
// number of tasks for by their live containers.
func countByContainers(j *Job) {
	for _, s := range j.stages() {
		if s.Total == 0 {
			s.Running = j.reported.live[stageIndex(s.Kind)].total()
		}
	}
}

package nas

import (
	"math"

	"heddle/core/policy"

	"heddle/core/model"
	"heddle/core/state"
)

// overview is what is summed up over the whole cluster, at most once a second
// and for every plan: offers in between do not look at other users' jobs.
type overview struct {
	known     bool
	at        model.Time
	perMap    float64 // sum of S over sum of K: bytes of an average map, +Inf without maps
	mapMemory float64 // MiB of an average map, 0 when no job has told
	shuffling int     // jobs with running reduces

	nodes  state.NodesRevision
	runs   []bool    // racks with running nodes, by rack number
	link   []float64 // their uplinks' capacity in the slower direction, bytes/s; 0 where it is not known
	linked bool      // it is known of any
}

// look takes note of the racks when they changed.
func (o *overview) look(v state.View) {
	nodes := v.Capacity().Revision
	if nodes == o.nodes {
		return
	}
	o.nodes, o.runs, o.link, o.linked = nodes, o.runs[:0], o.link[:0], false
	for _, rack := range v.Racks() {
		o.runs = append(o.runs, rack.Runs())
		link := float64(slower(rack.Link.Out, rack.Link.In))
		o.link, o.linked = append(o.link, link), o.linked || link > 0
	}
}

// refreshEvery is how old an overview may get. The paper updates TrafficThreshold
// "periodically".
const refreshEvery = model.Second

func (o *overview) refresh(in *policy.Input) {
	v := in.View
	o.look(v)
	if age := v.Now().Sub(o.at); o.known && age >= 0 && age < refreshEvery {
		return
	}
	o.read(in)
}

func (o *overview) read(in *policy.Input) {
	v := in.View
	policy.Save(in.Journal, o)
	o.look(v)
	o.known, o.at = true, v.Now()
	// Sums of integers: the order of jobs does not matter to the last bit.
	var shuffle, memory model.Bytes
	maps, sized := 0, 0
	o.shuffling = 0
	for _, j := range v.Jobs() {
		p := predict(j)
		maps += p.Maps
		shuffle += p.Shuffle
		if m := j.Map.Capability.MemoryMiB; m > 0 {
			memory += model.Bytes(m) * model.Bytes(p.Maps)
			sized += p.Maps
		}
		if j.Reduce.Running > 0 {
			o.shuffling++
		}
	}
	o.perMap, o.mapMemory = math.Inf(1), 0
	if maps > 0 {
		o.perMap = float64(shuffle) / float64(maps)
	}
	if sized > 0 {
		o.mapMemory = float64(memory) / float64(sized)
	}
}

// unlimited is a threshold nothing exceeds.
const unlimited model.Bytes = math.MaxInt64 / 2

// trafficThreshold is what the maps running on a node may put out in all:
// m S / K (equation 3), the part of one node in an average wave.
//
// Deviation: the paper's nodes are alike and have m containers each. A YARN node
// has room for as many maps as its memory holds, so that m is the node's own and
// the sum over the nodes is still what a wave puts out (equation 2).
func (m mapRule) trafficThreshold(n *state.Node) model.Bytes {
	switch m.params.TrafficThreshold {
	case ThresholdFixed:
		return mib(m.params.TrafficThresholdMiB)
	case ThresholdOff:
		return unlimited
	case ThresholdAuto:
	}
	limit := m.cluster.perMap * float64(m.containers(n))
	if limit >= float64(unlimited) {
		return unlimited
	}
	return model.Bytes(limit)
}

// containers returns m of a node.
func (m mapRule) containers(n *state.Node) int {
	if n.Slots.Typed() {
		return n.Slots.Maps
	}
	if m.cluster.mapMemory <= 0 {
		return 1
	}
	return max(int(float64(n.Total.MemoryMiB)/m.cluster.mapMemory), 1)
}

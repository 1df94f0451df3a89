package uplink

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"heddle/core/model"
)

// rackLoad sums up what was measured in one rack.
type rackLoad struct {
	hosts    int                  // with a DataNode that answered
	measured bool                 // some rate is known
	served   model.BytesPerSecond // by the shuffle services, to reduces anywhere
	read     model.BytesPerSecond // from DataNodes by other hosts
	written  model.BytesPerSecond // to DataNodes by other hosts
}

// estimateUplinks estimates what of the measured traffic crosses the racks' uplinks.
//
// Shuffle: out is the share of what a rack serves that leaves it; in is the
// share of all that leaves any rack that enters this one. So what enters adds
// up to what leaves, if the shares are those of one matrix.
//
// HDFS: a DataNode knows that its peer is on another host, not where. cross is
// the share of a rack's remote traffic whose peer is in another rack; the
// other rack is drawn by its number of hosts.
func estimateUplinks(loads map[model.RackID]rackLoad, shuffle func(model.RackID) (out, in float64), cross func(model.RackID) float64) []model.UplinkSample {
	racks := slices.Sorted(maps.Keys(loads))
	hosts := 0
	var leaving model.BytesPerSecond
	samples := make(map[model.RackID]*model.UplinkSample, len(racks))
	in := make(map[model.RackID]float64, len(racks))
	for _, rack := range racks {
		load := loads[rack]
		hosts += load.hosts
		out, enters := shuffle(rack)
		s := &model.UplinkSample{Rack: rack, Out: load.served * clampShare(out)}
		leaving += s.Out
		samples[rack], in[rack] = s, enters
	}
	for _, rack := range racks {
		samples[rack].In += leaving * clampShare(in[rack])
	}
	if cross == nil {
		cross = func(rack model.RackID) float64 { return uniformCrossShare(hosts, loads[rack].hosts) }
	}
	for _, rack := range racks {
		load := loads[rack]
		crossing := clampShare(cross(rack))
		others := hosts - load.hosts
		if others <= 0 || crossing == 0 {
			continue
		}
		read, written := load.read*crossing, load.written*crossing
		samples[rack].Out += read
		samples[rack].In += written
		for _, other := range racks {
			if other == rack {
				continue
			}
			weight := model.BytesPerSecond(float64(loads[other].hosts) / float64(others))
			samples[other].In += read * weight
			samples[other].Out += written * weight
		}
	}
	list := make([]model.UplinkSample, 0, len(racks))
	for _, rack := range racks {
		if loads[rack].measured {
			list = append(list, *samples[rack])
		}
	}
	slices.SortFunc(list, func(a, b model.UplinkSample) int { return cmp.Compare(a.Rack, b.Rack) })
	return list
}

// uniformCrossShare is the chance that a peer drawn from all other hosts is in another
// rack.
func uniformCrossShare(hosts, own int) float64 {
	if hosts < 2 || own < 1 {
		return 0
	}
	return float64(hosts-own) / float64(hosts-1)
}

// clampShare clamps a share to 0..1; what is not a number is 0.
func clampShare(x float64) model.BytesPerSecond {
	if math.IsNaN(x) {
		return 0
	}
	return model.BytesPerSecond(min(max(x, 0), 1))
}

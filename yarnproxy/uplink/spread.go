package uplink

import (
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

// estimateUplinks estimates which part of the measured traffic crosses the uplinks
// of racks, by rack.
//
// For the shuffle, out is the fraction of the bytes a rack serves that leave it, and
// in is the fraction of all bytes leaving any rack that enter this one. In total, as
// much enters as leaves if both come from one shuffle matrix. cross is as for addHDFS.
func estimateUplinks(loads map[model.RackID]rackLoad, shuffle func(model.RackID) (out, in float64), cross func(model.RackID) float64) []model.UplinkSample {
	racks := slices.Sorted(maps.Keys(loads))
	samples := make(map[model.RackID]*model.UplinkSample, len(racks))
	in := make(map[model.RackID]float64, len(racks))
	var leaving model.BytesPerSecond
	for _, rack := range racks {
		out, enters := shuffle(rack)
		s := &model.UplinkSample{Rack: rack, Out: loads[rack].served * clampShare(out)}
		leaving += s.Out
		samples[rack], in[rack] = s, enters
	}
	for _, rack := range racks {
		samples[rack].In += leaving * clampShare(in[rack])
	}
	addHDFS(samples, racks, loads, cross)
	list := make([]model.UplinkSample, 0, len(racks))
	for _, rack := range racks {
		if loads[rack].measured {
			list = append(list, *samples[rack])
		}
	}
	return list
}

// addHDFS adds the traffic of DataNodes. A DataNode reports that a peer is on
// another host, but not on which: cross is the fraction of a rack's remote traffic
// whose peer is in another rack, and nil assumes that all hosts are equally likely.
// The other racks share that traffic in proportion to their hosts.
func addHDFS(samples map[model.RackID]*model.UplinkSample, racks []model.RackID, loads map[model.RackID]rackLoad, cross func(model.RackID) float64) {
	hosts := 0
	for _, load := range loads { // order-free: a sum
		hosts += load.hosts
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
			if other != rack {
				weight := model.BytesPerSecond(float64(loads[other].hosts) / float64(others))
				samples[other].In += read * weight
				samples[other].Out += written * weight
			}
		}
	}
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

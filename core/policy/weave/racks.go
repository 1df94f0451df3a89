package weave

import (
	"cmp"
	"math"
	"slices"

	"heddle/core/policy"
	"heddle/core/state"
)

// choice is the racks chosen for a job's maps and reduces together.
type choice struct {
	share []float64 // of its reduces by rack number, which sum to 1; nil where every rack will do
	most  float64   // the largest of them

	version  int // counts the choices
	measured bool
	input    policy.InputSeen
	racks    uint64
	reduces  bool // the job was known to have some
}

// choosing is the memory of one choice.
type choosing struct {
	order []int     // racks with input, those with most first
	place []int     // of a rack in the order; the number of racks for one without input
	gain  []float64 // bytes of input that the rack at a place is the first to have
	input []float64 // of a rack, by which it is ordered
}

// racksOf returns the racks of a job. They are chosen when its blocks are known and that it has reduces, when racks lose or gain their nodes, and
// once more when its ratio has been measured, unless half of its maps are complete by then.
func (r *rule) racksOf(v state.View, e *entry) *choice {
	j, c := e.job, &e.racks
	known := c.input.Fits(j.Input) && c.racks == r.cluster.racks && c.reduces == (e.size.reduces > 0)
	if known && (c.measured || !j.Predicted || 2*j.Map.Completed > e.size.maps) {
		return c
	}
	policy.Save(r.journal, c)
	c.version++
	c.input, c.racks, c.measured, c.reduces = policy.See(j.Input), r.cluster.racks, j.Predicted, e.size.reduces > 0
	c.share = nil
	if r.params.Joint && c.reduces {
		r.choosing.choose(v, e, &r.cluster, &r.params)
	}
	return c
}

// choose sets the share of the racks for which time and price of a job are least.
func (h *choosing) choose(v state.View, e *entry, on *cluster, p *Params) {
	all := h.load(v, e.job.Input)
	if all <= 0 {
		return
	}
	alone := on.alone(e, h.gain[:len(h.order)], all)
	best, least, covered := 0, math.Inf(1), 0.0
	price := on.price(v, p)
	for k := 1; k <= len(h.order); k++ {
		covered += h.gain[k-1]
		bytes := crossing(e.size.input, e.size.shuffle, 1-covered/all, float64(k))
		takes := on.time(e, float64(k)) + bytes/(float64(k)*on.all.uplink/float64(on.runs))
		if takes > longest*alone {
			continue
		}
		if cost := takes + price*bytes/on.all.uplink; cost < least*(1-1e-9) {
			best, least = k, cost
		}
	}
	if best >= on.runs {
		return
	}
	c := &e.racks
	c.share, c.most = make([]float64, len(v.Racks())), 1/float64(best)
	for _, rack := range h.order[:best] {
		c.share[rack] = 1 / float64(best)
	}
}

// alone returns the least time that a job takes on any number of racks, whatever its bytes cost others.
func (c *cluster) alone(e *entry, gain []float64, all float64) (least float64) {
	least = math.Inf(1)
	covered := 0.0
	for i, bytes := range gain {
		covered += bytes
		k := float64(i + 1)
		least = min(least, c.time(e, k)+crossing(e.size.input, e.size.shuffle, 1-covered/all, k)/(k*c.all.uplink/float64(c.runs)))
	}
	return least
}

// longest is how many times as long as need be a job may take on fewer racks for the sake of others.
const longest = 2

// crossing returns the bytes of a job that cross racks if its maps and reduces run on k racks on which all but a part of the
// input is. Where maps put out more than they read, that part is read into the racks; else it is read where it is, and what
// is put out there is sent.
func crossing(input, shuffle, part, k float64) float64 {
	if shuffle >= input {
		return input*part + shuffle*(1-1/k)
	}
	return shuffle*part + shuffle*(1-part)*(1-1/k)
}

// time returns how long a job takes on k racks of mean size that it has for itself, but for what it waits for uplinks.
func (c *cluster) time(e *entry, k float64) float64 {
	memory := c.all.memory / float64(max(c.runs, 1)) * k
	stage := func(s *state.Stage, tasks int, each float64) float64 {
		return max(float64(tasks)*each*float64(max(s.Capability.MemoryMiB, 1))/memory, each)
	}
	return stage(e.job.Map, e.size.maps, e.size.mapS) + stage(e.job.Reduce, e.size.reduces, e.size.reduceS)
}

// price returns what time of all uplinks costs: it delays the other jobs as far as uplinks are busy.
func (c *cluster) price(v state.View, p *Params) float64 {
	return p.Others*float64(len(v.Jobs()))*max(c.utilization(v), 0.1) + p.IdlePrice
}

// load orders the racks with input, those with room first among racks with as much, and returns the bytes of the input.
func (h *choosing) load(v state.View, in *state.Input) (all float64) {
	racks := v.Racks()
	h.order, h.input = h.order[:0], zeroed(h.input, len(racks))
	for i, rack := range racks {
		if i < len(in.ByRack) && in.ByRack[i] > 0 && rack.Runs() {
			free := 1 - float64(rack.Used.MemoryMiB)/float64(rack.Total.MemoryMiB)
			h.input[i] = float64(in.ByRack[i]) * (1 + 0.2*free)
			h.order = append(h.order, i)
		}
	}
	slices.SortStableFunc(h.order, func(a, b int) int { return cmp.Compare(h.input[b], h.input[a]) })
	h.place = h.place[:0]
	for range racks {
		h.place = append(h.place, len(h.order))
	}
	for place, rack := range h.order {
		h.place[rack] = place
	}
	h.gain = zeroed(h.gain, len(h.order)+1)
	for i := range in.Blocks {
		b := &in.Blocks[i]
		first := len(h.order)
		for _, rack := range b.Racks {
			if rack < len(h.place) {
				first = min(first, h.place[rack])
			}
		}
		h.gain[first] += float64(b.Length)
		all += float64(b.Length)
	}
	return all
}

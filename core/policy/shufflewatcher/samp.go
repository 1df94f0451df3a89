package shufflewatcher

import (
	"cmp"
	"math"
	"slices"

	"heddle/core/heap"
	"heddle/core/policy"

	"heddle/core/model"
	"heddle/core/shuffle"
	"heddle/core/state"
)

// mapChoice is what SAMP chose for one job: PreferredMapRacks, and the share of
// the maps each rack is expected to run.
type mapChoice struct {
	reason  model.Reason
	decided bool      // SAMP chose a set; else every rack will do
	set     []bool    // PreferredMapRacks by rack number; nil when not decided
	share   []float64 // of the maps by rack number; sums to 1, nil when nothing is known

	version  int // counts the computations
	remapped bool
	input    policy.InputSeen // what the choice was computed from
	racks    uint64
}

// prefers reports whether a rack is in PreferredMapRacks by SAMP's own choice.
func (m *mapChoice) prefers(rack int) bool {
	return m.decided && rack < len(m.set) && m.set[rack]
}

// mapChoice returns SAMP's choice for a job, computing it when the job is first
// seen, when its blocks become known or racks lose or gain their nodes, and once
// more when its ratio has been measured.
//
// The paper computes it once, at submission (§3.2), with the initial ratio or
// one from the user or an earlier run. Here the ratio comes from the job's own
// maps, so the choice is made again at RecomputeAt of them (algorithms.md
// 2.1.3d); RecomputeAt 0 and AssumeUnknown are the paper's.
func (r *rule) mapChoice(v state.View, j *state.Job) *mapChoice {
	m := &r.jobs.Of(j).maps
	known := m.version > 0 && m.racks == r.racks && m.input.Fits(j.Input)
	due := r.params.RecomputeAt > 0 && !m.remapped && j.Predicted && j.Map.Fraction() >= r.params.RecomputeAt
	if known && !due {
		return m
	}
	if policy.Save(r.journal, m); r.journal.Asking() {
		m.set, m.share = nil, nil
	}
	m.version++
	m.remapped = m.remapped || due
	m.input, m.racks = policy.See(j.Input), r.racks
	r.choose(v, j, m)
	return m
}

func (r *rule) choose(v state.View, j *state.Job, m *mapChoice) {
	racks := len(v.Racks())
	s := &r.samp
	s.load(v, j.Input)
	if len(s.order) == 0 { // algorithms.md 2.1.3f
		m.reason, m.decided, m.set, m.share = model.ReasonNoInput, false, nil, nil
		return
	}
	m.share = resized(m.share, racks)
	if !r.params.SAMP {
		m.reason, m.decided, m.set = model.ReasonRankOnly, false, nil
		s.scan(search{sigma: j.Ratio, atLeast: len(s.order)}, m.share)
		return
	}
	if !j.Predicted && !j.Earlier && !r.params.AssumeUnknown { // algorithms.md 2.1.3d
		m.reason, m.decided, m.set = model.ReasonUnpredicted, false, nil
		s.scan(search{sigma: j.Ratio, atLeast: len(s.order)}, m.share)
		return
	}
	k := s.scan(search{sigma: j.Ratio, atLeast: floor(v, j, r.params.Waves, len(s.order)), greedy: r.params.Scan == ScanGreedy}, m.share)
	m.reason, m.decided = model.ReasonInputRacks, true
	m.set = resized(m.set, racks)
	for _, r := range s.order[:k] {
		m.set[r] = true
	}
}

// smallJob is the number of maps up to which the floor is not applied.
const smallJob = 3

// floor is the fewest racks that run the job's maps in Waves waves:
// ceil(K / (W x containers per rack)) (algorithms.md 2.1.3e). The paper has
// none; it is off by default.
func floor(v state.View, j *state.Job, waves, candidates int) int {
	maps := j.Map.Tasks()
	if waves == 0 || maps <= smallJob || j.Map.Capability.MemoryMiB <= 0 {
		return 1
	}
	containers, racks := 0, 0
	for _, r := range v.Racks() {
		if r.Runs() {
			containers += j.Map.RoomIn(r)
			racks++
		}
	}
	if containers == 0 {
		return 1
	}
	perRack := float64(containers) / float64(racks)
	return min(int(math.Ceil(float64(maps)/(float64(waves)*perRack))), candidates)
}

// sampScratch holds the working memory of one SAMP run; init comes first.
type sampScratch struct {
	order   []int // racks with input and nodes, most input first
	blocks  []state.InputBlock
	total   float64 // bytes of the input
	first   []int32 // blocks of rack r are byRack[first[r]:first[r+1]]
	byRack  []int32
	owner   []int32        // rack that maps the block, -1 if no rack of the prefix holds it
	onRack  []float64      // bytes mapped on each rack
	owners  heap.Heap[int] // racks that could give blocks to the rack being added, most loaded first
	head    []int32        // by owner: the first of the blocks it could give, -1 if none
	next    []int32        // by block: the next of them
	covered float64
	squares float64 // sum of onRack squared
}

func (s *sampScratch) init() {
	s.owners = heap.New(func(a, b int) bool { return s.onRack[a] > s.onRack[b] || (s.onRack[a] == s.onRack[b] && a < b) })
}

// load prepares a run over the racks that hold input and have running nodes: a
// rack that can run nothing is not worth preferring, whatever it stores.
func (s *sampScratch) load(v state.View, in *state.Input) {
	racks := v.Racks()
	s.order, s.blocks, s.total = s.order[:0], in.Blocks, float64(in.Bytes)
	for r, b := range in.ByRack {
		if b > 0 && r < len(racks) && racks[r].Total.MemoryMiB > 0 {
			s.order = append(s.order, r)
		}
	}
	if len(s.order) == 0 {
		return
	}
	slices.SortFunc(s.order, func(a, b int) int { return cmp.Or(cmp.Compare(in.ByRack[b], in.ByRack[a]), a-b) })
	s.index(len(racks))
}

// index lists the blocks of each rack.
func (s *sampScratch) index(racks int) {
	s.first = resized(s.first, racks+2)
	n := int32(0)
	for i := range s.blocks {
		for _, r := range s.blocks[i].Racks {
			s.first[r+2]++
			n++
		}
	}
	for r := 2; r < len(s.first); r++ {
		s.first[r] += s.first[r-1]
	}
	s.byRack = resized(s.byRack, int(n))
	for i := range s.blocks {
		for _, r := range s.blocks[i].Racks {
			s.byRack[s.first[r+1]] = int32(i)
			s.first[r+1]++
		}
	}
	s.owner, s.next, s.head = none(s.owner, len(s.blocks)), none(s.next, len(s.blocks)), none(s.head, racks)
	s.onRack = resized(s.onRack, racks)
	s.covered, s.squares = 0, 0
}

// search is how scan looks for the best prefix.
type search struct {
	sigma   float64 // shuffle bytes per input byte
	atLeast int     // racks
	greedy  bool
}

// scan adds racks in falling order of the job's input and returns how many of
// them make remote reads plus cross-rack shuffle least,
//
//	T = I (1 - covered) + sigma I (1 - sum p_r^2),
//
// with p the shares of the maps (Fig. 4 line 6; the second term is implied by
// SARP's proportional placement). It leaves those shares in share.
//
// Deviations from Fig. 4: its loop leaves the rack that failed to help in the
// set, here it is dropped (algorithms.md 2.1.3a); and unless greedy it goes on
// to the end, because T can fall again after it rose (2.1.3c). Equal costs go
// to more racks. Racks without input change nothing and are not looked at.
func (s *sampScratch) scan(how search, share []float64) int {
	best, least := 0, math.Inf(1)
	for k, r := range s.order {
		s.add(r)
		cost := s.cost(how.sigma)
		slack := 1e-12 * (1 + how.sigma)
		switch {
		case k+1 <= how.atLeast, cost < least-slack, !how.greedy && cost <= least+slack:
			best, least = k+1, cost
			s.shares(share)
		case how.greedy:
			return best
		}
	}
	return best
}

// add makes a rack part of the prefix: it maps its blocks that no other rack of
// the prefix holds, and takes blocks over from racks that have more to do, the
// most loaded first ("each covered block to the less loaded of its racks, ties
// to the lower index", algorithms.md 2.1.3b, done as racks come, so that a run
// costs O(K log R) instead of O(K R)).
func (s *sampScratch) add(rack int) {
	for _, i := range s.byRack[s.first[rack]:s.first[rack+1]] {
		owner := s.owner[i]
		if owner < 0 {
			s.covered += s.length(i)
			s.give(i, rack)
			continue
		}
		if s.head[owner] < 0 {
			s.owners.Push(int(owner))
		}
		s.next[i], s.head[owner] = s.head[owner], i
	}
	for s.owners.Len() > 0 {
		from := s.owners.First()
		i := s.head[from]
		s.head[from] = s.next[i]
		if after := s.onRack[from] - s.length(i); s.onRack[rack] < after || (s.onRack[rack] == after && rack < from) {
			s.put(from, -s.length(i))
			s.give(i, rack)
		}
		if s.head[from] < 0 {
			s.owners.Pop()
		} else {
			s.owners.Set(0, from)
		}
	}
}

func (s *sampScratch) length(block int32) float64 { return float64(s.blocks[block].Length) }

// give lets a rack map a block.
func (s *sampScratch) give(block int32, rack int) {
	s.owner[block] = int32(rack) //nolint:gosec // bounded by the number of racks
	s.put(rack, s.length(block))
}

func (s *sampScratch) put(rack int, bytes float64) {
	before := s.onRack[rack]
	s.onRack[rack] += bytes
	s.squares += s.onRack[rack]*s.onRack[rack] - before*before
}

// cost returns T over I.
func (s *sampScratch) cost(sigma float64) float64 {
	if s.covered == 0 {
		return math.Inf(1)
	}
	return 1 - s.covered/s.total + sigma*(1-s.squares/(s.covered*s.covered))
}

// shares writes p: blocks no rack of the prefix holds spread like the others.
func (s *sampScratch) shares(share []float64) {
	for r := range share {
		share[r] = s.onRack[r] / s.covered
	}
}

// tentative returns TentativeReducesPerRack as weights (Fig. 4 line 9): the
// maps' shares, or, when nothing is known of the input, the racks' capacity,
// because that is where maps will run.
func tentative(v state.View, m *mapChoice) []float64 {
	if m.share != nil {
		return m.share
	}
	w := make([]float64, len(v.Racks()))
	for i, r := range v.Racks() {
		w[i] = float64(r.Total.MemoryMiB)
	}
	return w
}

// counts divides a job's maps over its racks.
func (m *mapChoice) counts(maps int) []int { return shuffle.Apportion(m.share, maps) }

// none returns s with n elements of -1, reusing its memory.
func none(s []int32, n int) []int32 {
	s = resized(s, n)
	for i := range s {
		s[i] = -1
	}
	return s
}

// resized returns s with n zero elements, reusing its memory.
func resized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	s = s[:n]
	clear(s)
	return s
}

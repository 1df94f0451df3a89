package shuffle

import (
	"math"
	"slices"

	"heddle/core/model"
)

// Forecast is where a job's map output will lie once all its maps are complete, as far as the maps that were
// launched tell, and how far off that may be. Expect uses its memory again.
type Forecast struct {
	ByRack []float64 // expected output by rack number: in bytes, or in maps where no size is known
	Off    []float64 // by how much a rack's may be more or less: errorBar standard deviations
	Total  float64
	Sized  bool // ByRack is in bytes

	shifted []float64
	racks   []int // of ExpectOutput
}

// MapFacts is what is known of a job's maps. Slices are by rack number, and may be shorter than the number of racks.
type MapFacts struct {
	Launched []int         // maps that run or are complete
	Complete []int         // of them, those that are complete
	Reported []int         // of these, those that reported their output
	Output   []model.Bytes // what they reported
	Each     float64       // expected of a map that is not complete; 0 where no size is known
	Silent   float64       // expected of a complete one that reported nothing
	Total    int           // maps of the job, at least as many as are known
	Done     int           // of them, those that are complete, on known racks or not
	Bound    []int         // how many maps are asked for on a rack and nowhere else; nil while any rack will do
	Local    []int         // how many of those to be launched would be local on a rack: one with replicas on two counts twice
	// Deviation is the standard deviation of one map's output, as a part of its mean.
	Deviation float64
}

// errorBar is by how many standard deviations a forecast may be off. Launches are not independent: a scheduler fills one
// node after the other. With less, the first two of nine maps of a recorded job, on one node, counted as certainty.
const errorBar = 2

// Expect makes the forecast for so many racks. It reports false, and forecasts nothing, unless a map was launched
// or maps are bound to racks.
//
// Maps that are still to be launched count where they are bound to run, else on racks in the proportion p of those
// launched. Of the next P after L launched ones P p come to a rack with a variance of P p(1-p) (1 + P/L): theirs, and
// that of the proportion itself. Its p counts one launch more for each rack, half of these by where the maps would be
// local, so that a few maps on one rack do not count as certainty about the next. Where that is contradicted by where
// they would be local, the difference is an error as well.
func (f *Forecast) Expect(m *MapFacts, racks int) bool {
	known := f.ExpectOutput(m, racks)
	f.Off = zeroed(f.Off, racks)
	c := m.count(racks)
	if c.launched+c.bound == 0 {
		return false
	}
	local, sizes := sum(m.Local, racks), m.Deviation*m.Deviation
	for r := range racks {
		runs, silent, next := c.on(m, r)
		variance := 0.0
		switch {
		case c.pending == 0:
		case c.bound > 0:
			if c.bound != c.unseen { // the racks are known, how many go to each is not
				p := float64(at(m.Bound, r)) / float64(c.bound)
				variance = c.pending * p * (1 - p)
			}
		default:
			l, prior, differs := float64(c.launched), 1.0, 0.0
			if local > 0 {
				wanted := float64(at(m.Local, r)) / float64(local)
				prior, differs = (1+float64(racks)*wanted)/2, c.pending*(float64(at(m.Launched, r))/l-wanted)
			}
			p := (float64(at(m.Launched, r)) + prior) / (l + float64(racks))
			variance = c.pending*p*(1-p)*(1+c.pending/l) + differs*differs
		}
		variance = c.size*c.size*(variance+sizes*next) + c.each*c.each*sizes*runs + c.quiet*c.quiet*sizes*silent
		f.Off[r] = errorBar * math.Sqrt(variance)
	}
	return known
}

// ExpectOutput is Expect without Off, for readers who need not know how far off it may be. It goes through the racks where
// maps were launched or are bound to, and passes over the others.
func (f *Forecast) ExpectOutput(m *MapFacts, racks int) bool {
	f.ByRack, f.Off, f.Total = zeroed(f.ByRack, racks), f.Off[:0], 0
	c := m.count(racks)
	if c.launched+c.bound == 0 {
		return false
	}
	f.Sized = c.sized
	f.racks = m.appendRacks(f.racks[:0], racks)
	for _, r := range f.racks {
		runs, silent, next := c.on(m, r)
		f.ByRack[r] = float64(at(m.Output, r)) + c.quiet*silent + c.each*runs + c.size*next
		f.Total += f.ByRack[r]
	}
	return f.Total > 0
}

// appendRacks appends the racks where maps were launched or are bound to, by number.
func (m *MapFacts) appendRacks(to []int, racks int) []int {
	for r, n := range m.Launched[:min(len(m.Launched), racks)] {
		if n != 0 {
			to = append(to, r)
		}
	}
	launched := len(to)
	for _, more := range [...][]int{m.Complete, m.Bound} {
		for r, n := range more[:min(len(more), racks)] {
			if n != 0 && at(m.Launched, r) == 0 {
				to = append(to, r)
			}
		}
	}
	if len(to) > launched {
		slices.Sort(to)
		to = slices.Compact(to)
	}
	return to
}

// mapCount is what a forecast follows from beside what lies on each rack.
type mapCount struct {
	launched, bound, unseen int     // maps; unseen are on no known rack
	pending, size           float64 // of the unseen, and what each of them will leave
	part                    float64 // of those that run by one source, which another one has not reported complete
	each, quiet             float64 // of a map that runs, and of one that is complete and reported nothing
	sized                   bool
}

func (m *MapFacts) count(racks int) (c mapCount) {
	c.launched, c.bound = sum(m.Launched, racks), sum(m.Bound, racks)
	complete := sum(m.Complete, racks)
	// A map may be reported complete by one source while another still shows its container.
	left := max(m.Total-complete, 0)
	c.each, c.quiet = m.Each, m.Silent
	if c.sized = c.each > 0; !c.sized {
		c.each, c.quiet = 1, 1
	}
	running := min(max(c.launched-complete, 0), left)
	c.unseen = left - running
	c.pending, c.size = float64(c.unseen), c.each
	if done := min(max(m.Done-max(c.launched, complete), 0), c.unseen); done > 0 {
		c.size = (c.quiet*float64(done) + c.each*float64(c.unseen-done)) / c.pending
	}
	c.part = float64(running) / float64(max(c.launched-complete, 1))
	return c
}

// on returns how many maps run on a rack, are complete there and reported nothing, and are still to come there.
func (c *mapCount) on(m *MapFacts, r int) (runs, silent, next float64) {
	done := at(m.Complete, r)
	runs, silent = c.part*float64(max(at(m.Launched, r)-done, 0)), float64(max(done-at(m.Reported, r), 0))
	switch {
	case c.pending == 0:
	case c.bound > 0:
		next = c.pending * (float64(at(m.Bound, r)) / float64(c.bound))
	default:
		next = c.pending * (float64(at(m.Launched, r)) / float64(c.launched))
	}
	return runs, silent, next
}

// Busier reports whether one way to place reduces has a busiest uplink that carries more than so many times what
// that of another way carries.
func (f *Forecast) Busier(than float64, plan, other []int) bool {
	return busier(f.ByRack, than, plan, other)
}

// MayBeBusier is Busier where one rack or another has more or less output than is expected. All uplinks are looked at
// again for those racks alone whose output could make the difference.
func (f *Forecast) MayBeBusier(than float64, plan, other []int) bool {
	p, o := f.busiestTwo(plan), f.busiestTwo(other)
	var most, mostOff, offs float64
	for r, off := range f.Off {
		most, mostOff, offs = max(most, f.ByRack[r]), max(mostOff, off), offs+off
	}
	for r, off := range f.Off {
		if off <= 0 {
			continue
		}
		// At most so much of what moves from or to the rack comes from or goes to any other one: see shift.
		more, less := min(off, f.Total-f.ByRack[r]), min(off, f.ByRack[r])
		fromOne, toOne := more*most/(f.Total-f.ByRack[r]), less*mostOff/(offs-off)
		if p.canPass(&o, r, more, fromOne, than) && f.shift(r, off) && busier(f.shifted, than, plan, other) ||
			p.canPass(&o, r, -less, toOne, than) && f.shift(r, -off) && busier(f.shifted, than, plan, other) {
			return true
		}
	}
	return false
}

// uplinks are those that carry most with reduces placed in one way.
type uplinks struct {
	f             *Forecast
	reduces       []int
	n             int // of them
	rack          int // whose uplink carries most
	first, second float64
}

func (f *Forecast) busiestTwo(reduces []int) uplinks {
	u := uplinks{f: f, reduces: reduces}
	for _, c := range reduces {
		u.n += c
	}
	for r := range f.ByRack {
		switch l := u.load(r, 0); {
		case l > u.first:
			u.rack, u.first, u.second = r, l, u.first
		default:
			u.second = max(u.second, l)
		}
	}
	return u
}

// load is what a rack's uplink carries with so much more output on it, which others have less.
func (u *uplinks) load(rack int, more float64) float64 {
	if u.n == 0 {
		return 0
	}
	return load(u.f.ByRack[rack]+more, u.f.Total, at(u.reduces, rack), u.n)
}

// canPass reports whether the busiest uplink may carry more than so many times that of others, with so much more output on one
// rack and no other's changed by more than each.
func (u *uplinks) canPass(others *uplinks, rack int, more, each, than float64) bool {
	most := max(u.load(rack, more), u.without(rack)+each)
	least := max(others.load(rack, more), others.without(rack)-each)
	return !(most*(1+1e-9) <= than*least)
}

// without is what the busiest uplink carries of racks other than one.
func (u *uplinks) without(rack int) float64 {
	if rack == u.rack {
		return u.second
	}
	return u.first
}

// shift sets shifted to the forecast with so much more output on a rack, which other racks have less: more comes
// from where there is any, less goes to racks as they may be off. False is that there is nothing to shift.
func (f *Forecast) shift(rack int, by float64) bool {
	f.shifted = append(f.shifted[:0], f.ByRack...)
	here := f.ByRack[rack]
	weights, rest := f.ByRack, f.Total-here
	if by > 0 {
		by = min(by, rest)
	} else {
		by = max(by, -here)
		weights, rest = f.Off, 0
		for r, off := range f.Off {
			if r != rack {
				rest += off
			}
		}
	}
	if by == 0 || rest <= 0 {
		return false
	}
	for r := range f.shifted {
		if r != rack {
			f.shifted[r] = max(f.shifted[r]-by*weights[r]/rest, 0)
		}
	}
	f.shifted[rack] = here + by
	return true
}

func busier(out []float64, than float64, plan, other []int) bool {
	return BusiestOf(out, plan) > than*BusiestOf(out, other)*(1+1e-9)
}

// BusiestOf is Busiest of output that need not be in whole bytes.
func BusiestOf(out []float64, reduces []int) float64 {
	n, total := 0, 0.0
	for _, c := range reduces {
		n += c
	}
	if n == 0 {
		return 0
	}
	for _, m := range out {
		total += m
	}
	most := 0.0
	for r := range max(len(out), len(reduces)) {
		most = max(most, load(at(out, r), total, at(reduces, r), n))
	}
	return most
}

// load is what the uplink of a rack carries, in the busier direction, that has part of the output and so many of n
// reduces.
func load(part, total float64, reduces, n int) float64 {
	f := float64(reduces) / float64(n)
	return max(part*(1-f), f*(total-part))
}

// Leveling is memory that Level uses again. The zero value is ready.
type Leveling struct {
	racks  []int     // with output, by number
	out    []float64 // theirs
	counts []int     // theirs
	rests  []rest
}

// Level places n reduces so that the busiest uplink of an idle symmetric network carries least: in proportion to the
// output (algorithms.md 4.2b), rounded by largest remainder and then moved one by one from or to the busiest uplink
// as long as that helps. Whole reduces by largest remainder alone may carry a quarter more. Racks
// without output get none. The counts are in the memory of those given.
func (l *Leveling) Level(counts []int, out []float64, n int) []int {
	counts = slices.Grow(counts[:0], len(out))[:len(out)]
	clear(counts)
	l.racks, l.out, l.counts = l.racks[:0], l.out[:0], l.counts[:0]
	total := 0.0
	for r, m := range out {
		if m != 0 {
			l.racks, l.out, l.counts = append(l.racks, r), append(l.out, m), append(l.counts, 0)
			total += m
		}
	}
	l.rests = apportion(l.counts, l.rests, l.out, n)
	for range counts { // each is off by less than one reduce
		if !relieve(l.out, total, l.counts, n) {
			break
		}
	}
	for i, r := range l.racks {
		counts[r] = l.counts[i]
	}
	return counts
}

// relieve moves one reduce from or to the rack with the busiest uplink where the busier of both racks' uplinks then
// carries less. It reports whether it did.
func relieve(out []float64, total float64, counts []int, n int) bool {
	worst, most := -1, 0.0
	for r, c := range counts {
		if l := load(out[r], total, c, n); l > most {
			worst, most = r, l
		}
	}
	if worst < 0 {
		return false
	}
	step := 1 // a reduce more there
	if float64(counts[worst])*total > float64(n)*out[worst] {
		step = -1
	}
	best, least := -1, most*(1-1e-9)
	for r, c := range counts {
		if r == worst || out[r] <= 0 || c-step < 0 {
			continue
		}
		if l := max(load(out[worst], total, counts[worst]+step, n), load(out[r], total, c-step, n)); l < least {
			best, least = r, l
		}
	}
	if best < 0 {
		return false
	}
	counts[worst] += step
	counts[best] -= step
	return true
}

// Bounds returns how many of n reduces a rack may have at least and at most if no uplink is to carry more than a
// limit (algorithms.md 4.2c).
func Bounds(part, total float64, n int, limit float64) (least, most int) {
	least, most = 0, n
	if part > limit {
		least = int(math.Ceil(float64(n)*(1-limit/part) - 1e-9))
	}
	if rest := total - part; rest > limit {
		most = int(float64(n)*limit/rest + 1e-9)
	}
	return least, most
}

// Even spreads n tasks over the racks that are open: as evenly as whole tasks allow, the first racks one more.
func Even(open []bool, n int) []int {
	out, racks := make([]int, len(open)), 0
	for _, is := range open {
		if is {
			racks++
		}
	}
	i := 0
	for r, is := range open {
		if is && n > 0 {
			out[r] = n / racks
			if i < n%racks {
				out[r]++
			}
			i++
		}
	}
	return out
}

func sum(s []int, n int) int {
	all := 0
	for _, k := range s[:min(len(s), n)] {
		all += max(k, 0)
	}
	return all
}

// zeroed returns s with n elements of 0, in its memory if there is room.
func zeroed(s []float64, n int) []float64 {
	s = slices.Grow(s[:0], n)[:n]
	clear(s)
	return s
}

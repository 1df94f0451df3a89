package shuffle

import (
	"cmp"
	"math"
	"slices"

	"heddle/core/model"
)

// Site is one rack as a place for the reduces of a job (algorithms.md 4.2).
type Site struct {
	MapOutput model.Bytes // of the job on the rack, M_r
	// Later are bytes of what the job will write that jobs after it would otherwise move to the rack. They count
	// where bytes are compared, not on the links (algorithms.md 4.6, point 4).
	Later model.Bytes
	// Out and In are the capacities of the uplink and the downlink. 0 is not known, and taken for the largest that
	// is known; where none is, every link is taken for the same.
	Out, In model.BytesPerSecond
	// QueuedOut and QueuedIn are what other traffic has yet to send over the links.
	QueuedOut, QueuedIn model.Bytes
	Room                int // how many of the reduces the rack can take; below 0 is no limit
}

// Unlimited is the Room of a rack that takes any number of reduces.
const Unlimited = -1

// Placer places reduces by algorithms.md 4.2 (c) and (d). It keeps its scratch
// from one call to the next; the zero value is ready, for one goroutine.
type Placer struct {
	lo, hi, order []int
}

// Place places n reduces, keys being hash-uniform, so that few bytes cross racks
// while the busiest link takes at most 1+eps times as long as it must. It writes
// the reduces of each site to dst, which it grows as needed, and returns them
// with the seconds the busiest link then takes.
//
// With eps 0 these are the fewest bytes among the placements with the lowest
// busiest link; with eps +Inf the fewest bytes there are (4.2a). In between bytes
// never rise and the busiest link never falls with eps. Both are exact for whole
// reduces, the time to one part in 10^9: algorithms.md rounds fractions to whole
// reduces, at a cost of up to one reduce's share, M/N, on a link; here the least
// time is searched for over whole counts (the bisection of 4.2c with each bound
// rounded inward), and the greedy of 4.2d fills whole counts, which is as
// optimal: the objective is linear, with a box and one sum.
//
// Two cases that 4.2 leaves open: a link the job sends nothing over does not
// count, whatever is queued there (it would excuse any other placement); and
// where the racks' room is less than n, reduces run in waves, and each rack's
// room is taken to grow in proportion. Without map output or without any room
// nothing is placed.
func (p *Placer) Place(sites []Site, n int, eps float64, dst []int) (reduces []int, seconds float64) {
	dst = append(dst[:0], make([]int, len(sites))...)
	j := newSpread(sites, n)
	if n <= 0 || j.total == 0 || j.room == 0 {
		return dst, 0
	}
	p.sort(sites)
	// Whatever the links allow: the bound that is known to do.
	j.bound(p, math.Inf(1))
	p.fill(sites, n, dst)
	seconds = j.seconds(dst)
	if math.IsInf(eps, 1) {
		return dst, seconds
	}
	low, high := 0.0, seconds
	for range bisections {
		if high-low <= exact*high {
			break
		}
		t := low + (high-low)/2
		if j.bound(p, t) {
			high = t
		} else {
			low = t
		}
	}
	j.bound(p, high)
	p.fill(sites, n, dst)
	seconds = j.seconds(dst) // at most high
	if eps > 0 {
		j.bound(p, (1+eps)*seconds)
		p.fill(sites, n, dst)
		seconds = j.seconds(dst)
	}
	return dst, seconds
}

const (
	exact      = 1e-9 // of the least time
	bisections = 200  // more than any search needs: each halves the interval
)

// BusiestSeconds returns how long the busiest link takes that a placement of the
// reduces sends anything over, with what is queued there before it.
func BusiestSeconds(sites []Site, reduces []int) float64 {
	n := 0
	for _, k := range reduces {
		n += k
	}
	if n == 0 {
		return 0
	}
	j := newSpread(sites, n)
	return j.seconds(reduces)
}

// sort orders the sites by what a reduce there saves, most first, ties by index.
func (p *Placer) sort(sites []Site) {
	p.lo = slices.Grow(p.lo[:0], len(sites))[:len(sites)]
	p.hi = slices.Grow(p.hi[:0], len(sites))[:len(sites)]
	p.order = slices.Grow(p.order[:0], len(sites))[:len(sites)]
	for i := range p.order {
		p.order[i] = i
	}
	slices.SortFunc(p.order, func(a, b int) int {
		return cmp.Or(cmp.Compare(sites[b].MapOutput+sites[b].Later, sites[a].MapOutput+sites[a].Later), a-b)
	})
}

// fill gives every site its least and pours the rest where it saves most. The
// bounds must admit n in all.
func (p *Placer) fill(sites []Site, n int, dst []int) {
	for r := range sites {
		dst[r] = p.lo[r]
		n -= p.lo[r]
	}
	for _, r := range p.order {
		more := min(n, p.hi[r]-p.lo[r])
		dst[r] += more
		n -= more
	}
}

// spread is one job's map output over sites, with what all of them together say.
type spread struct {
	sites []Site
	n     float64
	total float64 // M
	room  int     // of all sites, at most n
	waves float64 // how often the room must be used, at least 1
	known float64 // the largest capacity that is known, else 1
}

func newSpread(sites []Site, n int) spread {
	j := spread{sites: sites, n: float64(n), waves: 1}
	for i := range sites {
		s := &sites[i]
		j.total += float64(s.MapOutput)
		j.known = max(j.known, float64(s.Out), float64(s.In))
		if s.Room < 0 {
			j.room = n
		} else {
			j.room = min(n, j.room+min(s.Room, n))
		}
	}
	if j.room > 0 && j.room < n {
		j.waves = float64(n) / float64(j.room)
	}
	if j.known == 0 {
		j.known = 1
	}
	return j
}

func (j *spread) capacity(c model.BytesPerSecond) float64 {
	if c <= 0 {
		return j.known
	}
	return float64(c)
}

// up returns the seconds the uplink of a site takes with k of the reduces there.
func (j *spread) up(s *Site, k int) float64 {
	if s.MapOutput <= 0 || float64(k) >= j.n {
		return 0
	}
	return (float64(s.QueuedOut) + float64(s.MapOutput)*(1-float64(k)/j.n)) / j.capacity(s.Out)
}

// down returns the seconds the downlink of a site takes with k of the reduces there.
func (j *spread) down(s *Site, k int) float64 {
	rest := j.total - float64(s.MapOutput)
	if k == 0 || rest <= 0 {
		return 0
	}
	return (float64(s.QueuedIn) + rest*float64(k)/j.n) / j.capacity(s.In)
}

func (j *spread) seconds(reduces []int) float64 {
	worst := 0.0
	for r, k := range reduces {
		worst = max(worst, j.up(&j.sites[r], k), j.down(&j.sites[r], k))
	}
	return worst
}

// bound sets the least and most reduces of every site for which none of its
// links takes longer than t seconds, and reports whether that admits n.
func (j *spread) bound(p *Placer, t float64) bool {
	n, lows, highs := int(j.n), 0, 0
	for r := range j.sites {
		s := &j.sites[r]
		most := n
		if s.Room >= 0 {
			most = min(n, int(math.Ceil(float64(s.Room)*j.waves-1e-9)))
		}
		lo, hi := j.least(s, t), min(most, j.most(s, t))
		if lo > hi {
			return false
		}
		p.lo[r], p.hi[r] = lo, hi
		lows, highs = lows+lo, highs+hi
	}
	return lows <= n && n <= highs
}

// least returns the fewest reduces on a site for which its uplink takes no
// longer than t: 1 - (t a - Lu)/M_r of all (4.2c), as up rounds it.
func (j *spread) least(s *Site, t float64) int {
	if j.up(s, 0) <= t {
		return 0
	}
	f := 1 - (t*j.capacity(s.Out)-float64(s.QueuedOut))/float64(s.MapOutput)
	k := int(min(max(math.Ceil(f*j.n), 0), j.n))
	for k < int(j.n) && j.up(s, k) > t {
		k++
	}
	for k > 0 && j.up(s, k-1) <= t {
		k--
	}
	return k
}

// most returns the most reduces on a site for which its downlink takes no longer
// than t: (t b - Ld)/(M - M_r) of all (4.2c), as down rounds it.
func (j *spread) most(s *Site, t float64) int {
	if j.down(s, int(j.n)) <= t {
		return int(j.n)
	}
	f := (t*j.capacity(s.In) - float64(s.QueuedIn)) / (j.total - float64(s.MapOutput))
	k := int(min(max(math.Floor(f*j.n), 0), j.n))
	for k > 0 && j.down(s, k) > t {
		k--
	}
	for k < int(j.n) && j.down(s, k+1) <= t {
		k++
	}
	return k
}

package shufflewatcher

import (
	"math/bits"

	"heddle/core/state"
)

// prospects count, for one user, the jobs that may have a good hit: by rack those
// with a map there, over all racks those with reduces. A user without any on a
// rack has no good task for an offer from there, and one who waits for a good
// task need not be searched. They are kept up to date at the cost of what changed.
//
// They promise too much at times, never too little: a job may refuse the host, or
// its tasks not fit; and where a job had maps it counts as long as it has any,
// because a host's maps may outlast the rack's in the counts of a what-if.
type prospects struct {
	maps    []int32 // jobs with a preferred, node- or rack-local map, by rack number
	reduces int     // jobs with pending reduces: lines 7 and 8
	heavy   int     // shuffle-heavy jobs with enabled ones: lines 13 and 14
}

// may reports whether the user may have a good task for an offer from a rack.
func (u *prospects) may(rack int, saturated bool) bool {
	if saturated {
		return u.reduces > 0 || (rack < len(u.maps) && u.maps[rack] > 0)
	}
	return u.heavy > 0 || (rack < len(u.maps) && u.maps[rack] > 0)
}

// prospect is one job's part in its user's.
type prospect struct {
	of             *prospects // nil while it has none
	seen           []uint64   // racks its pending maps were ever good on, by rack number, a bit each
	from           placesSeen // what seen follows
	maps           []uint64   // the same while there are pending maps
	reduces, heavy bool
}

// placesSeen is everything that can add a rack to those maps are good on.
type placesSeen struct {
	spread, choice, racks int
}

// withdraw takes the job's part out.
func (k *prospect) withdraw() {
	if k.of == nil {
		return
	}
	for w := range k.maps {
		k.set(w, 0)
	}
	k.of.reduces += change(&k.reduces, false)
	k.of.heavy += change(&k.heavy, false)
	k.of = nil
}

// set replaces 64 racks' bits.
func (k *prospect) set(word int, next uint64) {
	for diff := k.maps[word] ^ next; diff != 0; diff &= diff - 1 {
		r := word*64 + bits.TrailingZeros64(diff)
		for len(k.of.maps) <= r {
			k.of.maps = append(k.of.maps, 0)
		}
		if next&(diff&-diff) != 0 {
			k.of.maps[r]++
		} else {
			k.of.maps[r]--
		}
	}
	k.maps[word] = next
}

// change sets a flag and returns what that adds to a count of those set.
func change(flag *bool, next bool) int {
	if *flag == next {
		return 0
	}
	if *flag = next; next {
		return 1
	}
	return -1
}

// follow brings every user's prospects up to date with the jobs that changed, and
// with all of them when the racks did. It forgets what left.
func follow(p *Policy, v state.View) {
	if racks := v.Capacity().Racks; racks != p.racks {
		p.racks, p.mark = racks, state.Mark{}
	}
	p.changed, p.mark = v.Changed(p.mark, p.changed[:0])
	for i, j := range p.changed {
		p.changed[i] = nil
		if !j.State.Final() {
			weighUp(p, v, j)
		} else if s := p.jobs.Find(j); s != nil {
			s.prospect.withdraw()
		}
	}
	p.jobs.Prune(v)
	p.users.Prune(v)
}

// weighUp counts a job among its user's prospects.
func weighUp(p *Policy, v state.View, j *state.Job) {
	k, u := &p.jobs.Of(j).prospect, &p.users.Of(j.Owner).prospects
	if k.of != u {
		k.withdraw()
		k.of = u
	}
	racks := len(v.Racks())
	for len(k.maps)*64 < racks {
		k.seen, k.maps = append(k.seen, 0), append(k.maps, 0)
	}
	if j.Map.Pending > 0 {
		m := p.mapChoice(v, j)
		now := placesSeen{j.Map.Wanted.Spread, m.version, racks}
		for w := range k.maps {
			if k.from != now {
				k.seen[w] |= wordOf(m, j.Map, w, racks, k.seen[w])
			}
			k.set(w, k.seen[w])
		}
		k.from = now
	} else {
		for w := range k.maps {
			k.set(w, 0)
		}
	}
	u.reduces += change(&k.reduces, j.Reduce.Pending > 0)
	u.heavy += change(&k.heavy, j.Reduce.Pending > 0 && j.Heavy && enabled(j))
}

// wordOf returns the racks from 64 word on that a stage's pending maps are good on,
// but for those that are seen already.
func wordOf(m *mapChoice, s *state.Stage, word, racks int, seen uint64) uint64 {
	set := uint64(0)
	for rest := ^seen; rest != 0; rest &= rest - 1 {
		r := word*64 + bits.TrailingZeros64(rest)
		if r >= racks {
			break
		}
		if s.PendingIn(r) > 0 || m.prefers(r) {
			set |= rest & -rest
		}
	}
	return set
}

package metrics

import (
	"cmp"
	"slices"

	"heddle/core/state/snapshot"
)

// other is the rack name that pairs without a series of their own share. No
// rack is called so: their names begin with a slash.
const other = "other"

// pairs chooses which rack pairs of one kind of traffic get a series of their
// own, for ever. While there are at most limit pairs with traffic, each gets one.
// Beyond that, only a pair with at least 1/limit of all traffic does, so that the
// series that remain go to pairs that matter.
//
// A counter must not go back: what a pair carried while it had no series stays
// in "other", and its own series starts from there.
type pairs struct {
	limit      int
	exported   []pair // those with a series of their own
	isExported map[[2]int]bool
	overflowed bool    // at the last scrape some pairs had no series of their own
	otherBytes float64 // "other" as last exported
}

// pair is one pair of racks with a series of its own.
type pair struct {
	src, dst int
	offset   float64 // what it carried while it was part of "other"
}

func newPairs(limit int) *pairs { return &pairs{limit: limit, isExported: map[[2]int]bool{}} }

// collect exports one kind of traffic.
func (p *pairs) collect(s sink, kind snapshot.TrafficKind, t *snapshot.Traffic) {
	rows := t.Bytes[kind]
	rest, carrying := offDiagonal(rows)
	if len(p.exported) < min(p.limit, carrying) {
		p.addPairs(rows, rest/float64(p.limit), carrying)
	}
	for _, o := range p.exported {
		bytes := pairBytes(rows, o.src, o.dst) - o.offset
		rest -= bytes
		s.put(crossRack, bytes, string(t.Racks[o.src]), string(t.Racks[o.dst]), string(kind))
	}
	p.overflowed = len(p.exported) < carrying
	if p.overflowed { // otherwise rest is rounding, and what pairs left behind is in p.rest
		p.otherBytes = max(p.otherBytes, rest)
	}
	s.put(crossRack, p.otherBytes, other, other, string(kind))
}

// addPairs gives a series to pairs with at least share bytes, those with most
// traffic first. carrying is the number of pairs with traffic.
func (p *pairs) addPairs(rows [][]float64, share float64, carrying int) {
	if carrying <= p.limit {
		share = 0
	}
	var found []pair
	for src, row := range rows {
		for dst, b := range row {
			if src == dst || b <= 0 || b < share || p.isExported[[2]int{src, dst}] {
				continue
			}
			f := pair{src: src, dst: dst}
			if p.overflowed {
				f.offset = b
			}
			found = append(found, f)
		}
	}
	slices.SortFunc(found, func(a, b pair) int {
		return cmp.Or(cmp.Compare(rows[b.src][b.dst], rows[a.src][a.dst]), cmp.Compare(a.src, b.src), cmp.Compare(a.dst, b.dst))
	})
	for _, f := range found[:min(p.limit-len(p.exported), len(found))] {
		p.isExported[[2]int{f.src, f.dst}] = true
		p.exported = append(p.exported, f)
	}
}

// pairBytes returns rows[src][dst], 0 beyond the end: rows are as long as they need be.
func pairBytes(rows [][]float64, src, dst int) float64 {
	if src < len(rows) && dst < len(rows[src]) {
		return rows[src][dst]
	}
	return 0
}

// offDiagonal returns the bytes that moved between different racks and how many
// pairs of racks they moved between.
func offDiagonal(rows [][]float64) (bytes float64, carrying int) {
	for src, row := range rows {
		for dst, b := range row {
			if src != dst && b > 0 {
				bytes += b
				carrying++
			}
		}
	}
	return bytes, carrying
}

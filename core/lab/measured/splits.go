package measured

import (
	"cmp"
	"slices"

	"heddle/core/model"
)

// Split is what a map reads: a block of a file, or the last two. File and Block number the
// file and the first of its blocks, from 0.
type Split struct {
	File, Block int
	Bytes       model.Bytes
}

// Splits returns the splits that MapReduce makes of files, which are the sizes of their blocks
// and stand in the order in which a job lists them, numbered as it numbers its maps: the
// largest first (JobSubmitter.writeNewSplits), then by that order. A split is a block; what is
// left of a file after the last whole one joins that if it is a tenth of a block or less
// (FileInputFormat.SPLIT_SLOP).
func Splits(files [][]model.Bytes) []Split {
	var all []Split
	for f, blocks := range files {
		for b, size := range blocks {
			if size <= 0 {
				continue
			}
			if last := len(blocks) - 1; b == last && b > 0 && size*10 <= blocks[0] && len(all) > 0 && all[len(all)-1].File == f {
				all[len(all)-1].Bytes += size
				continue
			}
			all = append(all, Split{f, b, size})
		}
	}
	slices.SortStableFunc(all, func(a, b Split) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return all
}

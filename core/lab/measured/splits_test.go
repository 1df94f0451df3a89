package measured_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/core/lab/measured"
	"heddle/core/model"
)

// TestSplits: splits are numbered by size as JobSubmitter does, and a short rest joins the last
// whole block.
func TestSplits(t *testing.T) {
	t.Parallel()
	var got []string
	for _, s := range measured.Splits([][]model.Bytes{{100, 100, 20}, {30}, {100, 10}, {100, 11}, {}, {0, 5}, {5}}) {
		got = append(got, fmt.Sprintf("%c%d:%d", 'a'+s.File, s.Block, s.Bytes))
	}
	want := []string{"c0:110", "a0:100", "a1:100", "d0:100", "b0:30", "a2:20", "d1:11", "f1:5", "g0:5"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestSplitsCover: splits have all bytes, none of two files, and are one or two blocks.
func TestSplitsCover(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		files := rapid.SliceOfN(rapid.SliceOfN(rapid.Custom(func(t *rapid.T) model.Bytes {
			return model.Bytes(rapid.IntRange(1, 30).Draw(t, "size"))
		}), 0, 4), 0, 4).Draw(t, "files")
		left := make([]model.Bytes, len(files))
		for f, blocks := range files {
			for _, size := range blocks {
				left[f] += size
			}
		}
		for _, s := range measured.Splits(files) {
			left[s.File] -= s.Bytes
			if rest := s.Bytes - files[s.File][s.Block]; rest != 0 && (s.Block+2 != len(files[s.File]) || rest != files[s.File][s.Block+1]) {
				t.Fatalf("split %+v of %v", s, files[s.File])
			}
		}
		for f, bytes := range left {
			if bytes != 0 {
				t.Fatalf("%d bytes of %v are in no split, or in two", bytes, files[f])
			}
		}
	})
}

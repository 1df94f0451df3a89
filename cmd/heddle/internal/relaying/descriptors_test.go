package relaying

import (
	"bytes"
	"math"
	"strings"
	"syscall"
	"testing"

	"github.com/hashicorp/go-hclog"

	"heddle/yarnproxy/amrm"
)

func TestConnsFor(t *testing.T) {
	t.Parallel()
	for descriptors, want := range map[uint64]int{0: 1, 100: 1, 102: 1, 104: 2, 1024: 462, 65536: 32718, math.MaxUint64: math.MaxInt32} {
		if got := connsFor(descriptors); got != want {
			t.Errorf("%d descriptors: %d connections, want %d", descriptors, got, want)
		}
	}
}

// TestFitDescriptors: a limit within what the process may open stays, a higher one is lowered, and that is logged.
func TestFitDescriptors(t *testing.T) {
	t.Parallel()
	var rlimit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &rlimit); err != nil {
		t.Fatal(err)
	}
	for _, total := range []int{1, math.MaxInt} {
		var out bytes.Buffer
		limits := amrm.ConnLimits{Total: total}
		fitDescriptors(&limits, hclog.New(&hclog.LoggerOptions{Output: &out}))
		want := min(total, connsFor(rlimit.Cur))
		if limits.Total != want || strings.Contains(out.String(), "LimitNOFILE") != (want < total) {
			t.Errorf("%d connections: %d, logged %q", total, limits.Total, out.String())
		}
	}
}

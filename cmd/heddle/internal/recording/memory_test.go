package recording

import (
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
)

// TestMemory: however much was recorded, a recorder whose queue is empty holds as much as
// docs/operating.md says. It measures the whole heap, so it is not parallel.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 64 MB")
	}
	heap := func() float64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc) / 1e6
	}
	before := heap()
	r, err := Create(filepath.Join(t.TempDir(), "a"+Suffix), Options{Header: header()})
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	text := make([]byte, 0, 1<<16)
	for i := range 1000 {
		text = text[:0]
		for len(text) < 64_000 {
			text = strconv.AppendInt(append(text, "container_1700000000000_0001_01_00"...), rnd.Int64N(1e12), 10)
		}
		for !r.add(note(int64(i), string(text))) {
			runtime.Gosched()
		}
	}
	for len(r.queue) > 0 {
		runtime.Gosched()
	}
	held := heap() - before
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	t.Logf("the recorder held %.0f MB", held)
	if held > 60 {
		t.Errorf("a recorder holds %.0f MB; docs/operating.md says 50", held)
	}
}

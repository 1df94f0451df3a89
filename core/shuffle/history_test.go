package shuffle_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/core/model"
	"heddle/core/shuffle"
)

// run is a run of 100 bytes of input, submitted and measured at a time.
func run(app string, at model.Time, shuffled, output model.Bytes) model.Run {
	return model.Run{App: model.AppID(app), Submitted: at, At: at, Input: 100, Shuffle: shuffled, Output: output}
}

func TestHistory(t *testing.T) {
	t.Parallel()
	h := shuffle.NewHistory(10)
	key := shuffle.KeyOf("ann", "sort 2024-01-05")
	want := func(step string, p shuffle.Past) {
		t.Helper()
		got, known := h.Expect(shuffle.KeyOf("ann", "sort 2024-01-06"))
		if diff := cmp.Diff(p, got); diff != "" || known != (p.Runs > 0) {
			t.Errorf("%s: known %t (-want +got):\n%s", step, known, diff)
		}
	}
	want("nothing", shuffle.Past{})
	h.Record(key, run("a1", 10, 200, model.Unknown))
	want("one run", shuffle.Past{Ratio: 2, Output: -1, Input: 100, At: 10, Runs: 1})
	h.Record(key, run("a1", 10, 250, 50))
	want("the same run, later", shuffle.Past{Ratio: 2.5, Output: 0.5, Input: 100, At: 10, Runs: 1})
	h.Record(key, run("a2", 20, 100, model.Unknown))
	want("the newer counts twice, and who does not tell not at all", shuffle.Past{Ratio: 1.5, Output: 0.5, Input: 100, At: 20, Runs: 2})
	h.Record(key, run("a0", 5, 500, 150))
	want("an older one told late", shuffle.Past{Ratio: (4*1 + 2*2.5 + 1*5) / 7., Output: (2*0.5 + 1.5) / 3, Input: 100, At: 20, Runs: 3})
	for i := range 4 {
		h.Record(key, run(fmt.Sprint("b", i), model.Time(30+i), 100, 100))
	}
	want("the last four", shuffle.Past{Ratio: 1, Output: 1, Input: 100, At: 33, Runs: 4})
	h.Record(key, run("a1", 10, 900, 900))
	want("too old to count", shuffle.Past{Ratio: 1, Output: 1, Input: 100, At: 33, Runs: 4})

	if _, known := h.Expect(shuffle.KeyOf("bob", "sort 2024-01-06")); known {
		t.Error("another user's job is known")
	}
	// What says nothing is not taken.
	n := h.Version()
	h.Record(key, model.Run{App: "x", Input: 0, Shuffle: 1})
	h.Record(key, model.Run{App: "x", Input: 1, Shuffle: -1})
	h.Record(key, model.Run{Input: 1})
	h.Record(shuffle.KeyOf("ann", "2024"), run("x", 1, 1, 1))
	h.Record(shuffle.KeyOf("", "sort"), run("x", 1, 1, 1))
	h.Record(key, run("a1", 10, 900, 900))
	same := run("b3", 33, 100, 100)
	same.At = 99
	h.Record(key, same)
	if h.Version() != n || h.Len() != 1 {
		t.Errorf("%d changes by nothing new, %d jobs", h.Version()-n, h.Len())
	}
	var none *shuffle.History
	none.Record(key, same)
	if _, known := none.Expect(key); known || none.Len() != 0 {
		t.Error("no history knows something")
	}
}

// Of too many jobs those go that were measured longest ago.
func TestHistoryForgets(t *testing.T) {
	t.Parallel()
	h := shuffle.NewHistory(10)
	name := func(i int) shuffle.JobKey { return shuffle.KeyOf("ann", "job"+string(rune('a'+i))) }
	for i := range 10 {
		h.Record(name(i), run(fmt.Sprint("app", i), model.Time(100+i), 1, 1))
	}
	h.Record(name(0), run("again", 500, 1, 1))
	h.Record(name(10), run("app10", 510, 1, 1))
	for i := range 11 {
		if _, known := h.Expect(name(i)); known != (i != 1 && i != 2) { // 11 jobs, of which 9 stay
			t.Errorf("job %d: known %t", i, known)
		}
	}
	c := h.Clone()
	h.Record(name(5), run("more", 600, 77, 1))
	if p, _ := c.Expect(name(5)); p.Runs != 1 || c.Version() == h.Version() {
		t.Errorf("a clone follows: %+v", p)
	}
}

func drawHistory(t *rapid.T) *shuffle.History {
	h := shuffle.NewHistory(rapid.IntRange(1, 20).Draw(t, "limit"))
	for range rapid.IntRange(0, 60).Draw(t, "runs") {
		at := model.Time(rapid.IntRange(0, 50).Draw(t, "at"))
		r := run(fmt.Sprint("app", rapid.IntRange(0, 30).Draw(t, "app")), at, model.Bytes(rapid.IntRange(-1, 1000).Draw(t, "shuffle")), model.Bytes(rapid.IntRange(-2, 100).Draw(t, "output")))
		r.Input = model.Bytes(rapid.IntRange(0, 3).Draw(t, "input")) * 50
		h.Record(shuffle.KeyOf(model.UserID(rapid.SampledFrom([]string{"ann", "bob", "ü"}).Draw(t, "user")), rapid.SampledFrom([]string{"sort", "join <x>", "a 1", "b", "c", "d", "e", "f"}).Draw(t, "name")), r)
	}
	return h
}

// What is written is read again, byte for byte; the estimate lies between the
// least and the greatest ratio, and no bound is passed.
func TestHistoryProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := drawHistory(t)
		var a, b bytes.Buffer
		if err := h.Encode(&a); err != nil {
			t.Fatal(err)
		}
		again, err := shuffle.DecodeHistory(bytes.NewReader(a.Bytes()), h.Len())
		if err != nil {
			t.Fatalf("%v in %s", err, a.Bytes())
		}
		if err := again.Encode(&b); err != nil || a.String() != b.String() {
			t.Fatalf("%v: wrote\n%s, read\n%s", err, a.Bytes(), b.Bytes())
		}
		if h.Len() > 20 {
			t.Fatalf("%d jobs", h.Len())
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		h, key := shuffle.NewHistory(1), shuffle.KeyOf("ann", "sort")
		low, high := math.Inf(1), 0.0
		for i := range rapid.IntRange(1, shuffle.KeptRuns).Draw(t, "runs") {
			r := run(strconv.Itoa(i), model.Time(i), model.Bytes(rapid.IntRange(0, 1000).Draw(t, "shuffle")), 0)
			h.Record(key, r)
			ratio := float64(r.Shuffle) / float64(r.Input)
			low, high = min(low, ratio), max(high, ratio)
		}
		if p, known := h.Expect(key); !known || p.Ratio < low-1e-9 || p.Ratio > high+1e-9 {
			t.Fatalf("%+v, of ratios from %g to %g", p, low, high)
		}
	})
}

const goodHistory = `{"format":1,"jobs":[{"user":"ann","name":"sort #","runs":[{"app":"a1","submitted_ms":1,"at_ms":2,"input_bytes":100,"shuffle_bytes":50,"output_bytes":-1}]}]}` + "\n"

func TestDecodeHistoryRefuses(t *testing.T) {
	t.Parallel()
	if h, err := shuffle.DecodeHistory(strings.NewReader(goodHistory), 5); err != nil || h.Len() != 1 {
		t.Fatalf("%v, error %v", h, err)
	}
	for name, text := range map[string]string{
		"empty":              "",
		"cut short":          goodHistory[:len(goodHistory)-9],
		"followed by more":   goodHistory + "{}",
		"another format":     strings.Replace(goodHistory, `"format":1`, `"format":2`, 1),
		"no format":          `{"jobs":[]}`,
		"an unknown key":     strings.Replace(goodHistory, `"user"`, `"who":"x","user"`, 1),
		"no input":           strings.Replace(goodHistory, `"input_bytes":100`, `"input_bytes":0`, 1),
		"a ratio below zero": strings.Replace(goodHistory, `:50`, `:-50`, 1),
		"a huge number":      strings.Replace(goodHistory, `:50`, `:1e99`, 1),
		"no user":            strings.Replace(goodHistory, `"ann"`, `""`, 1),
		"no name":            strings.Replace(goodHistory, `sort #`, `2024`, 1),
		"no application":     strings.Replace(goodHistory, `"a1"`, `""`, 1),
		"not JSON":           "\x00\x01\x02",
	} {
		if h, err := shuffle.DecodeHistory(strings.NewReader(text), 5); !errors.Is(err, shuffle.ErrHistory) || h != nil {
			t.Errorf("%s: %v, error %v", name, h, err)
		}
	}
	long := io.MultiReader(strings.NewReader(goodHistory), strings.NewReader(strings.Repeat(" ", shuffle.MaxHistoryBytes)))
	if _, err := shuffle.DecodeHistory(long, 5); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("too long: %v", err)
	}
}

// Whatever is read is refused, or is within bounds and written as it is read
// again.
func FuzzDecodeHistory(f *testing.F) {
	f.Add([]byte(goodHistory))
	f.Add([]byte(strings.Replace(goodHistory, "sort #", "sort 7 \\ud800 ü", 1)))
	f.Add([]byte(`{"format":1,"jobs":[{"user":"u","name":"n","runs":null},{"user":"u","name":"n","runs":[]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := shuffle.DecodeHistory(bytes.NewReader(data), 3)
		if err != nil {
			if !errors.Is(err, shuffle.ErrHistory) {
				t.Fatalf("error %v", err)
			}
			return
		}
		var a, b bytes.Buffer
		if err := h.Encode(&a); err != nil || h.Len() > 3 {
			t.Fatalf("%d jobs, error %v", h.Len(), err)
		}
		again, err := shuffle.DecodeHistory(bytes.NewReader(a.Bytes()), 3)
		if err != nil {
			t.Fatalf("%v in %s", err, a.Bytes())
		}
		if err := again.Encode(&b); err != nil || !bytes.Equal(a.Bytes(), b.Bytes()) {
			t.Fatalf("%v: wrote\n%s, read\n%s", err, a.Bytes(), b.Bytes())
		}
	})
}

// filled is a history at its limit, every job with all its runs.
func filled(b *testing.B) *shuffle.History {
	b.Helper()
	h := shuffle.NewHistory(shuffle.DefaultHistory)
	for i := range shuffle.DefaultHistory {
		letters := fmt.Sprintf("%c%c%c", 'g'+i%17, 'g'+i/17%17, 'g'+i/289)
		for k := range shuffle.KeptRuns {
			h.Record(shuffle.KeyOf("analytics", "oozie:action:T=hive:W=daily-"+letters+":A=load-day:ID=0000345-240106101500123-oozie-oozi-W"), model.Run{
				App: model.AppID(fmt.Sprintf("application_1763000000000_%06d", i*shuffle.KeptRuns+k)), Submitted: model.Time(1763000000000 + i), At: model.Time(1763000100000 + i),
				Input: 128 * model.GiB, Shuffle: 64 * model.GiB, Output: 32 * model.GiB,
			})
		}
	}
	return h
}

func BenchmarkHistory(b *testing.B) {
	h := filled(b)
	var text bytes.Buffer
	if err := h.Encode(&text); err != nil {
		b.Fatal(err)
	}
	b.Run("clone", func(b *testing.B) {
		for b.Loop() {
			h.Clone()
		}
	})
	b.Run("encode", func(b *testing.B) {
		for b.Loop() {
			_ = h.Encode(io.Discard)
		}
		b.ReportMetric(float64(text.Len()), "bytes")
	})
	b.Run("decode", func(b *testing.B) {
		for b.Loop() {
			_, _ = shuffle.DecodeHistory(bytes.NewReader(text.Bytes()), shuffle.DefaultHistory)
		}
	})
	b.Run("record", func(b *testing.B) {
		b.ReportAllocs()
		key, r := shuffle.KeyOf("analytics", "daily"), run("application_1763000000000_000001", 5, 50, 50)
		for b.Loop() {
			h.Record(key, r)
		}
	})
	b.Run("name", func(b *testing.B) {
		for b.Loop() {
			shuffle.KeyOf("analytics", "oozie:action:T=hive:W=daily-wf:A=load-day:ID=0000345-240106101500123-oozie-oozi-W")
		}
	})
}

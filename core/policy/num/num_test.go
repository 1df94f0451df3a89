package num_test

import (
	"math"
	"strings"
	"testing"

	"heddle/core/policy/num/schedule"

	"github.com/google/go-cmp/cmp"

	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/policy/num"
	"heddle/core/policy/policytest"
	"heddle/core/state"
)

// job says what a test has of one: maps that read 10 MiB each and put out ratio
// times that, all of it fetched but for buffered MiB.
type job struct {
	id       string
	maps     int // to start
	done     int // complete
	ratio    float64
	reduces  int
	buffered int // MiB
	running  int // maps
}

const mapInput = 10 * model.MiB

// scene is one node of 10 containers in a rack whose uplink takes what 10 maps
// of ratio 1 put out, at the rate of sized: R is a job's ratio.
func scene(jobs ...job) policytest.Scene {
	one := model.Resource{MemoryMiB: 1024, VCores: 1}
	s := policytest.Scene{
		Capacity: 100e6, Config: state.DefaultConfig(),
		Nodes: []model.Node{{ID: "n1:1", Host: "n1", Rack: "/r1", State: model.NodeRunning, Total: one.Times(10)}},
	}
	for at, has := range jobs {
		a := policytest.App{
			App:     model.App{ID: model.AppID(has.id), User: "ann", State: model.AppRunning, Submitted: policytest.Epoch.Add(model.Duration(at))},
			MapTask: one, ReduceTask: one, Slowstart: 0.05, MapInput: model.Unknown, MapOutput: model.Unknown,
		}
		output := model.Bytes(has.ratio * float64(mapInput))
		for i := range has.maps + has.running + has.done {
			m := model.Task{Stage: model.StageMap, Index: i, State: model.TaskPending, Input: -1, Output: -1, Shuffled: -1}
			switch {
			case i < has.done:
				m.State, m.Host, m.Rack, m.Input, m.Output = model.TaskSucceeded, "n1", "/r1", mapInput, output
			case i < has.done+has.running:
				m.State, m.Host, m.Rack = model.TaskRunning, "n1", "/r1"
			default:
				m.Preferred = []string{"n1"}
			}
			a.Maps = append(a.Maps, m)
			a.Input = append(a.Input, model.Block{Length: mapInput, Hosts: []string{"n1"}, Racks: []model.RackID{"/r1"}})
		}
		if has.done > 0 {
			a.MapInput, a.MapOutput = model.Bytes(has.done)*mapInput, model.Bytes(has.done)*output
			a.Fetched = max(a.MapOutput-model.Bytes(has.buffered)*model.MiB, 0)
		}
		for i := range has.reduces {
			a.Reduces = append(a.Reduces, model.Task{Stage: model.StageReduce, Index: i, State: model.TaskPending, Input: -1, Output: -1, Shuffled: -1})
		}
		s.Apps = append(s.Apps, a)
	}
	return s
}

func sized() num.Params {
	p := num.DefaultParams()
	p.MapRate = 10e6
	return p
}

func build(t *testing.T, p num.Params) policy.Policy {
	t.Helper()
	built, err := num.NewWith(p)
	if err != nil {
		t.Fatal(err)
	}
	return built
}

// served offers the node n times and names the jobs and stages; nothing is
// carried out unless launch is set.
func served(p policy.Policy, s policytest.Scene, n int, kinds model.Stage, launch bool) []string {
	session := policytest.NewSession(p, s)
	var out []string
	for range n {
		for _, p := range session.Ask("n1:1", kinds) {
			out = append(out, string(p.App)+" "+string(p.Stage))
			if launch {
				session.Assume(p)
			}
		}
	}
	return out
}

func count(list []string, what string) int {
	n := 0
	for _, s := range list {
		if s == what {
			n++
		}
	}
	return n
}

// algorithms.md 2.2.6, A.2: of the map containers P2's job gets 1 - alpha, to
// one container.
func TestMixOfContainers(t *testing.T) {
	t.Parallel()
	low := job{id: "low", maps: 30, done: 10, ratio: 0.35, reduces: 1}
	high := job{id: "high", maps: 90, done: 10, ratio: 2, reduces: 1}
	buffer := high
	buffer.buffered = 190 // 2 s of 100e6 B/s
	for _, tc := range []struct {
		name  string
		p2    schedule.Schedule
		theta float64
		jobs  []job
		want  float64 // of high
	}{
		{"case 3: r1 = .35, r2 = 2, alpha = .60606", schedule.UOPT, 1, []job{low, high}, 1 - 0.6060606},
		{"theta bounds it", schedule.UOPT, 0.25, []job{low, high}, 0.25},
		{"case 1: a buffer of two seconds", schedule.UOPT, 1, []job{low, buffer}, 0},
		{"case 1: P2 is no better", schedule.MaxSRPT, 1, []job{low, high}, 0},
		{"case 3: halves of SplitSRPT put out 1.175, alpha = .21212, of the rest half", schedule.SplitSRPT, 1, []job{low, high}, 0.3939393},
		{"case 2: UOPT puts out .9", schedule.UOPT, 0.85, []job{low, {id: "high", maps: 90, done: 10, ratio: 0.9, reduces: 1}}, 0.85},
		{"not covered: 1.5 and 2", schedule.UOPT, 1, []job{{id: "low", maps: 30, done: 10, ratio: 1.5, reduces: 1}, high}, 0},
	} {
		p := sized()
		p.P2, p.Theta = tc.p2, tc.theta
		const offers = 400
		got := count(served(build(t, p), scene(tc.jobs...), offers, model.StageMap, false), "high map")
		if math.Abs(float64(got)-offers*tc.want) > 1.001 {
			t.Errorf("%s: high gets %d of %d containers, want %.1f", tc.name, got, offers, offers*tc.want)
		}
	}
}

// The schedules alone: who gets the next map containers.
func TestSchedulesAlone(t *testing.T) {
	t.Parallel()
	jobs := []job{
		{id: "a", maps: 4, done: 10, ratio: 3, reduces: 1},    // 4 maps and 12 of shuffle left
		{id: "b", maps: 9, done: 10, ratio: 0.1, reduces: 1},  // 9 and 0.9
		{id: "c", maps: 11, done: 10, ratio: 0.5, reduces: 1}, // 11 and 5.5
		{id: "d", maps: 2, done: 10, ratio: 7, reduces: 1},    // 2 and 14
	}
	for _, tc := range []struct {
		policy schedule.Schedule
		want   string
	}{
		{schedule.MaxSRPT, "b b b b"},
		{schedule.SplitSRPT, "b a b a"},
		{schedule.UOPT, "d d a a"},
		{schedule.Fair, "a b c d"},
	} {
		p, err := num.Alone(tc.policy)([]byte(`{"map_rate":10e6}`))
		if err != nil {
			t.Fatal(err)
		}
		got := strings.ReplaceAll(strings.Join(served(p, scene(jobs...), 4, model.StageMap, true), " "), " map", "")
		if got != tc.want {
			t.Errorf("%s serves %s, want %s", tc.policy, got, tc.want)
		}
	}
}

// Fair counts what a job has already (2.2.5).
func TestFairCountsRunningMaps(t *testing.T) {
	t.Parallel()
	p, err := num.Alone(schedule.Fair)(nil)
	if err != nil {
		t.Fatal(err)
	}
	got := served(p, scene(job{id: "a", maps: 9, running: 3}, job{id: "b", maps: 9, running: 1}, job{id: "c", maps: 1}), 6, "", true)
	want := []string{"c map", "b map", "b map", "a map", "b map", "a map"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("served (-want +got):\n%s", diff)
	}
}

// Reduces go before maps while there is output to fetch, else after them, and
// not before slowstart; among them P1's order holds.
func TestReduces(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		jobs []job
		want []string
	}{
		{
			"output to fetch",
			[]job{{id: "a", maps: 9, done: 1, ratio: 1, reduces: 1, buffered: 10}},
			[]string{"a reduce", "a map", "a map"},
		},
		{
			"nothing to fetch",
			[]job{{id: "a", maps: 2, done: 1, ratio: 1, reduces: 1}},
			[]string{"a map", "a map", "a reduce"},
		},
		{"before slowstart", []job{{id: "a", maps: 2, ratio: 1, reduces: 1}}, []string{"a map", "a map"}},
		{
			"the least left first, though it came later",
			[]job{{id: "a", maps: 9, done: 5, ratio: 1, reduces: 1, buffered: 10}, {id: "b", maps: 1, done: 1, ratio: 1, reduces: 1, buffered: 10}},
			[]string{"b reduce", "a reduce", "b map"},
		},
		{
			"all maps are complete and all is fetched: a reduce that is run again",
			[]job{{id: "a", maps: 1, done: 1, ratio: 1}, {id: "b", done: 3, ratio: 1, reduces: 1}},
			[]string{"b reduce", "a map"},
		},
	} {
		if diff := cmp.Diff(tc.want, served(build(t, sized()), scene(tc.jobs...), 3, "", true)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

// A buffer nobody can fetch, before slowstart, is none; nor is one below
// buffer_s.
func TestBuffer(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name      string
		buffered  int
		slowstart float64
		bufferS   float64
		want      int // containers of 10 for P2
	}{
		{"ten seconds", 950, 0.05, 1, 0},
		{"less than a second", 90, 0.05, 1, 10},
		{"the paper: anything counts", 90, 0.05, 0, 0},
		{"before slowstart", 950, 1, 1, 10},
	} {
		p := sized()
		p.P2, p.Theta, p.BufferS = schedule.UOPT, 1, tc.bufferS
		s := scene(job{id: "low", maps: 20, done: 100, ratio: 0.2, reduces: 1}, job{id: "high", maps: 300, done: 200, ratio: 0.5, reduces: 1, buffered: tc.buffered})
		s.Apps[1].Slowstart = tc.slowstart
		if got := count(served(build(t, p), s, 10, model.StageMap, false), "high map"); got != tc.want {
			t.Errorf("%s: P2 gets %d containers, want %d", tc.name, got, tc.want)
		}
	}
}

// What is not known is supposed: an input by blocks, a ratio by the initial one;
// a job without reduces has no shuffle.
func TestUnknownSizes(t *testing.T) {
	t.Parallel()
	s := scene(job{id: "known", maps: 13, ratio: 1, reduces: 1}, job{id: "unknown", maps: 1, ratio: 1, reduces: 1})
	s.Apps[1].Input = nil // one map of 128 MiB against 13 of 10
	p := build(t, sized())
	if got := served(p, s, 1, "", false); got[0] != "unknown map" {
		t.Errorf("served %v, want the job of one block", got)
	}
	params := sized()
	params.BlockMiB = 200
	if got := served(build(t, params), s, 1, "", false); got[0] != "known map" {
		t.Errorf("with blocks of 200 MiB: served %v", got)
	}
	uopt, err := num.Alone(schedule.UOPT)(nil)
	if err != nil {
		t.Fatal(err)
	}
	s = scene(job{id: "no reduces", maps: 3, done: 1, ratio: 9}, job{id: "reduces", maps: 3, done: 1, ratio: 0.1, reduces: 1})
	if got := served(uopt, s, 1, model.StageMap, false); got[0] != "reduces map" {
		t.Errorf("UOPT serves %v, which puts nothing into the network", got)
	}
}

// Jobs that are not known any more are forgotten, though nothing tells of them.
func TestForgets(t *testing.T) {
	t.Parallel()
	p, err := num.NewWith(sized())
	if err != nil {
		t.Fatal(err)
	}
	served(p, scene(job{id: "a", maps: 1}, job{id: "b", maps: 1}), 1, "", false)
	got := served(p, scene(job{id: "c", maps: 1}), 1, "", false)
	if len(got) != 1 || got[0] != "c map" {
		t.Errorf("serves %v on another cluster with one job", got)
	}
}

func TestParams(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		`{"p1":"srpt"}`, `{"p2":""}`, `{"theta":1.1}`, `{"theta":-0.1}`, `{"buffer_s":-1}`, `{"map_rate":0}`, `{"uplink":0}`,
		`{"block_mib":0}`, `{"no_such_key":1}`, `{} {}`,
	} {
		if p, err := num.New([]byte(bad)); err == nil || p != nil {
			t.Errorf("%s is taken", bad)
		}
	}
	for _, bad := range []string{`{"p1":"uopt"}`, `{"map_rate":-1}`} {
		if p, err := num.Alone(schedule.UOPT)([]byte(bad)); err == nil || p != nil {
			t.Errorf("a schedule alone takes %s", bad)
		}
	}
	if got := num.DefaultParams(); got.P1 != schedule.MaxSRPT || got.P2 != schedule.SplitSRPT || got.Theta != 0.85 {
		t.Errorf("defaults %+v are not appendix C's", got)
	}
}

// An offer allocates nothing once the jobs are known, though one of them changed
// since the offer before.
func TestPlaceAllocatesNothing(t *testing.T) {
	p := build(t, sized())
	s := scene(job{id: "a", maps: 90, done: 5, ratio: 0.3, reduces: 2, buffered: 5}, job{id: "b", maps: 90, done: 1, ratio: 3, reduces: 2})
	c := s.Cluster()
	in := &policy.Input{View: c.View()}
	in.Offer.Node = in.View.Nodes()[0]
	p.Place(in)
	if n := testing.AllocsPerRun(20, func() {
		placed := p.Place(in)
		c.Assume(placed[0])
		c.Withdraw(placed[0])
	}); n > 0 {
		t.Errorf("%g allocations", n)
	}
}

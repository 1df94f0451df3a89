package replay_test

import (
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/core/account"
	"heddle/core/engine"
	"heddle/core/lab/replay"
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/state"
	"heddle/core/state/snapshot"
	"heddle/core/trace"
)

// fixed is a policy that wants the tasks of every job's stages on given racks.
type fixed map[model.Stage]map[model.RackID]int

func (fixed) Place(*policy.Input) []model.Placement { return nil }

func (f fixed) Plan(in *policy.Input) []model.Plan {
	var plans []model.Plan
	for _, j := range in.Jobs {
		for _, stage := range []model.Stage{model.StageMap, model.StageReduce} {
			p := model.Plan{App: j.ID, Stage: stage, Rank: 1, Reason: model.ReasonDependents} // stands, whatever it sends
			for rack, n := range f[stage] {
				p.Racks = append(p.Racks, model.RackTarget{Rack: rack, Count: n})
			}
			slices.SortFunc(p.Racks, func(a, b model.RackTarget) int { return strings.Compare(string(a.Rack), string(b.Rack)) })
			plans = append(plans, p)
		}
	}
	return plans
}

func registry() policy.Registry {
	return policy.Registry{{Name: "fixed", New: func(raw json.RawMessage) (policy.Policy, error) {
		f := fixed{}
		return f, json.Unmarshal(raw, &f)
	}}}
}

const (
	start = model.Time(1_000_000)
	job   = model.AppID("application_1_0001")
)

// recorded are the records of one job on three racks of a host each: four maps run on
// rack 1 (3) and rack 2 (1), where their blocks are, and each puts out 100 bytes. Then two
// reduces run on rack 3.
type recorded struct{ records []trace.Record }

func (r *recorded) add(seconds int, src model.Source, facts ...model.Fact) {
	at := start.Add(model.Duration(seconds) * model.Second)
	for _, f := range facts {
		r.records = append(r.records, trace.Record{Seq: uint64(len(r.records) + 1), At: at, Observation: &model.Observation{Source: src, At: at, Fact: f}})
	}
}

func host(rack int) (string, model.RackID) {
	n := string(rune('0' + rack))
	return "w" + n, model.RackID("/r" + n)
}

func oneJob() *recorded {
	r := &recorded{}
	var nodes []model.Node
	for rack := 1; rack <= 3; rack++ {
		h, id := host(rack)
		nodes = append(nodes, model.Node{ID: model.NodeID(h + ":1"), Host: h, Rack: id, State: model.NodeRunning, Total: model.Resource{MemoryMiB: 8192, VCores: 8}})
	}
	app := model.App{ID: job, User: "ann", Queue: "root.q", Type: "MAPREDUCE", State: model.AppRunning, Submitted: start}
	blocks := model.BlocksFact{Path: "/in", Files: 1}
	var maps []model.Task
	for i, rack := range []int{1, 1, 1, 2} {
		h, id := host(rack)
		blocks.Blocks = append(blocks.Blocks, model.Block{Length: 1000, Hosts: []string{h}, Racks: []model.RackID{id}})
		maps = append(maps, model.Task{Stage: model.StageMap, Index: i, State: model.TaskSucceeded, Host: h, Rack: id, Input: 1000, Output: 100, Shuffled: -1})
	}
	r.add(0, model.SourceRM, model.NodesFact{Nodes: nodes}, model.AppsFact{Apps: []model.App{app}}, model.PollFact{Result: model.PollOK})
	r.add(1, model.SourceMapReduce, model.JobConfFact{App: job, Inputs: []string{"/in"}, Output: "/out", Slowstart: 1})
	r.add(1, model.SourceHDFS, blocks)
	r.add(2, model.SourceMapReduce, model.JobFact{App: job, MapsTotal: 4, MapsPending: 4, ReducesTotal: 2, ReducesPending: 2})
	r.add(3, model.SourceService, model.SampleFact{}, model.RoundFact{})
	r.add(10, model.SourceMapReduce, model.JobFact{App: job, MapsTotal: 4, MapsCompleted: 4, ReducesTotal: 2, ReducesPending: 2}, model.TasksFact{App: job, Tasks: maps},
		model.CountersFact{App: job, MapInput: 4000, MapOutput: 400, ReduceShuffle: 0, HDFSWritten: 0, NodeLocalMaps: 4})
	r.add(11, model.SourceRM, model.PollFact{Result: model.PollOK})
	r.add(11, model.SourceService, model.SampleFact{}, model.RoundFact{})
	h, id := host(3)
	var reduces []model.Task
	for i := range 2 {
		reduces = append(reduces, model.Task{Stage: model.StageReduce, Index: i, State: model.TaskRunning, Host: h, Rack: id, Input: -1, Output: -1, Shuffled: -1})
	}
	r.add(12, model.SourceMapReduce, model.JobFact{App: job, MapsTotal: 4, MapsCompleted: 4, ReducesTotal: 2, ReducesRunning: 2}, model.TasksFact{App: job, Tasks: slices.Clone(reduces)})
	for i := range reduces {
		reduces[i].State = model.TaskSucceeded
	}
	app.State = model.AppFinished
	r.add(22, model.SourceRM, model.AppsFact{Apps: []model.App{app}})
	r.add(22, model.SourceHistory, model.TasksFact{App: job, Tasks: slices.Clone(reduces)}, model.JobFact{App: job, MapsTotal: 4, MapsCompleted: 4, ReducesTotal: 2, ReducesCompleted: 2, Done: true})
	return r
}

func (r *recorded) each(yield func(trace.Record, error) bool) {
	for _, rec := range r.records {
		if !yield(rec, nil) {
			return
		}
	}
}

func header(t *testing.T) *trace.Header {
	t.Helper()
	opts := engine.DefaultOptions("")
	settings, err := json.Marshal(replay.Settings{State: state.DefaultConfig(), Engine: opts})
	if err != nil {
		t.Fatal(err)
	}
	return &trace.Header{Format: trace.Format, Start: start, Settings: settings, Policy: "fixed", Params: json.RawMessage(`{"reduce":{"/r1":2}}`)}
}

func run(t *testing.T, h *trace.Header, records iter.Seq2[trace.Record, error], o replay.Options, params ...string) *replay.Result {
	t.Helper()
	o.Registry = registry()
	for _, p := range params {
		name := "fixed"
		if p == replay.Recorded {
			name = replay.Recorded
		}
		o.Policies = append(o.Policies, replay.Policy{Name: name, Label: p, Params: json.RawMessage(p)})
	}
	res, err := replay.Run(h, records, &o)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// What crosses racks, worked out by hand: the reduces ran on rack 3, which has no map
// output, so that all 400 bytes crossed.
func TestBytesAcrossRacks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, params    string
		shuffle, read   model.Bytes
		saved, lost     model.Bytes
		maps, reduces   int
		busiest         model.Bytes
		peak            float64
		planned         int
		recordedBusiest model.Bytes
	}{
		{"no plan", `{}`, 400, 0, 0, 0, 0, 0, 400, 40, 0, 400},
		{"all on the rack with most", `{"reduce":{"/r1":2}}`, 100, 0, 300, 0, 0, 2, 100, 10, 1, 400},
		{"in proportion", `{"reduce":{"/r1":1,"/r2":1}}`, 200, 0, 200, 0, 0, 2, 150, 15, 1, 400},
		{"one stays", `{"reduce":{"/r1":1,"/r3":1}}`, 250, 0, 150, 0, 0, 1, 200, 20, 1, 400},
		{"as recorded", `{"reduce":{"/r3":2}}`, 400, 0, 0, 0, 0, 0, 400, 40, 1, 400},
		{"maps away from their blocks", `{"map":{"/r3":4}}`, 400, 4000, 0, 4000, 4, 0, 400, 40, 1, 400},
		{"one map elsewhere, reduces better", `{"map":{"/r1":4},"reduce":{"/r1":2}}`, 100, 1000, 0, 700, 1, 2, 100, 10, 1, 400},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := run(t, header(t), oneJob().each, replay.Options{}, tt.params).Runs[0]
			type figures struct {
				Shuffle, Read, Saved, Lost, Net model.Bytes
				Maps, Reduces, Planned          int
				Busiest, Recorded, Least        model.Bytes
				Peak                            float64
			}
			got := figures{
				r.CrossRack.Shuffle, r.CrossRack.MapRead, r.Regret.Saved, r.Regret.Lost, r.Regret.Net, r.Moved.Maps, r.Moved.Reduces, r.Planned,
				r.Busiest.Policy, r.Recorded.Total, r.Least.Total, r.UplinkPeak.Policy,
			}
			want := figures{tt.shuffle, tt.read, tt.saved, tt.lost, tt.saved - tt.lost, tt.maps, tt.reduces, tt.planned, tt.busiest, tt.recordedBusiest, 100, tt.peak}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if r.UplinkPeak.Recorded != 40 || r.Busiest.Recorded != 400 || r.Busiest.Least != 75 {
				t.Errorf("recorded peak %v, busiest %+v", r.UplinkPeak.Recorded, r.Busiest)
			}
		})
	}
}

// Bytes by pair of racks sum up to the totals, and every job's account is shown.
func TestPairsAndJobs(t *testing.T) {
	t.Parallel()
	var shown []string
	res := run(t, header(t), oneJob().each, replay.Options{Job: func(a *account.Job) { shown = append(shown, string(a.App)+" "+a.Policy) }}, `{"reduce":{"/r1":1,"/r2":1}}`)
	want := []replay.Pair{
		{Src: "/r1", Dst: "/r2", Policy: snapshot.CrossRack{Shuffle: 150, Total: 150}},
		{Src: "/r1", Dst: "/r3", Recorded: snapshot.CrossRack{Shuffle: 300, Total: 300}},
		{Src: "/r2", Dst: "/r1", Policy: snapshot.CrossRack{Shuffle: 50, Total: 50}},
		{Src: "/r2", Dst: "/r3", Recorded: snapshot.CrossRack{Shuffle: 100, Total: 100}},
	}
	if diff := cmp.Diff(want, res.Runs[0].Pairs); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(shown) != 1 || shown[0] != string(job)+` {"reduce":{"/r1":1,"/r2":1}}` {
		t.Errorf("shown %q", shown)
	}
	if s := res.Recording; s.Jobs != 1 || s.Unfinished != 0 || s.Racks != 3 || s.Rounds != 2 || s.Observations != len(oneJob().records)-4 {
		t.Errorf("%+v", s)
	}
}

// The recorded policy is checked against the decisions in the recording: all equal, one
// other, one too many, one too few.
func TestRecordedDecisions(t *testing.T) {
	t.Parallel()
	h := header(t)
	var decided []trace.Record
	with := func(keep func(i int, d *model.Decision) bool) *recorded {
		out, n := &recorded{}, 0
		for _, rec := range decided {
			if d := rec.Decision; d != nil {
				own := *d
				rec.Decision = &own
				if n++; !keep(n, &own) {
					continue
				}
			}
			out.records = append(out.records, rec)
		}
		return out
	}
	// What the policy decides, as a service would have recorded it.
	p, err := registry().New("fixed", h.Params)
	if err != nil {
		t.Fatal(err)
	}
	c := state.New(state.DefaultConfig())
	e := engine.New(engine.DefaultOptions("fixed"), p, c)
	total := 0
	for _, rec := range oneJob().records {
		decided = append(decided, rec)
		made, err := engine.Step(c, e, *rec.Observation)
		if err != nil {
			t.Fatal(err)
		}
		for i := range made {
			decided = append(decided, trace.Record{At: made[i].At, Decision: &made[i]})
			total++
		}
	}
	if total != 2 {
		t.Fatalf("%d decisions", total)
	}
	for _, tt := range []struct {
		name  string
		keep  func(i int, d *model.Decision) bool
		equal int
		says  string
	}{
		{"equal", func(int, *model.Decision) bool { return true }, 2, ""},
		{"another rack", func(i int, d *model.Decision) bool {
			if i == 2 {
				plan := *d.Plan
				plan.Racks = []model.RackTarget{{Rack: "/r2", Count: 2}}
				d.Plan = &plan
			}
			return true
		}, 1, "recorded "},
		{"one is missing", func(i int, _ *model.Decision) bool { return i == 1 }, 1, "the replay decides more"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			check := run(t, h, with(tt.keep).each, replay.Options{}, replay.Recorded).Runs[0].Check
			if check.Equal != tt.equal || !strings.HasPrefix(check.Differs, tt.says) || (tt.says == "") != (check.Differs == "") {
				t.Errorf("%+v", *check)
			}
		})
	}
	more := with(func(int, *model.Decision) bool { return true })
	more.records = append(more.records, trace.Record{At: start, Decision: decided[slices.IndexFunc(decided, func(r trace.Record) bool { return r.Decision != nil })].Decision})
	if check := run(t, h, more.each, replay.Options{}, replay.Recorded).Runs[0].Check; check.Equal != 2 || !strings.HasPrefix(check.Differs, "the replay decides less") {
		t.Errorf("%+v", *check)
	}
}

// A reload changes what decides in the recorded policy's run, and in no other.
func TestReload(t *testing.T) {
	t.Parallel()
	r := oneJob()
	at := slices.IndexFunc(r.records, func(rec trace.Record) bool { return rec.Observation.At == start.Add(11*model.Second) })
	reload := &recorded{}
	reload.add(10, model.SourceService, model.PolicyFact{Policy: "fixed", Params: `{"reduce":{"/r2":2}}`, Saturation: model.Saturation{Threshold: 0.8, Period: model.Second}})
	r.records = slices.Insert(r.records, at, reload.records...)
	res := run(t, header(t), r.each, replay.Options{}, replay.Recorded, `{"reduce":{"/r1":2}}`)
	if got := res.Runs[0].CrossRack.Shuffle; got != 300 {
		t.Errorf("recorded: %d bytes, want those of the policy after the reload", got)
	}
	if got := res.Runs[1].CrossRack.Shuffle; got != 100 {
		t.Errorf("another policy: %d bytes", got)
	}
}

// After a restart nothing is known, and racks may have other numbers: here there are none.
// What was counted before stays.
func TestRestartWithoutRacks(t *testing.T) {
	t.Parallel()
	h := header(t)
	r := oneJob()
	want := run(t, h, r.each, replay.Options{}, `{"reduce":{"/r1":2}}`).Runs[0]
	r.records = append(r.records, trace.Record{At: start, Mark: &trace.Mark{Name: trace.MarkRestarted, Header: h}})
	res := run(t, h, r.each, replay.Options{}, `{"reduce":{"/r1":2}}`)
	got := res.Runs[0]
	if res.Recording.Restarts != 1 || res.Recording.Racks != 0 {
		t.Errorf("%+v", res.Recording)
	}
	if diff := cmp.Diff(want.Pairs, got.Pairs); diff != "" || got.CrossRack != want.CrossRack || got.UplinkPeak != want.UplinkPeak || got.UplinkPeak.Rack != "/r1" {
		t.Errorf("peak %+v, pairs (-before +after):\n%s", got.UplinkPeak, diff)
	}
}

// A job that the JobHistory server says nothing of counts a minute after its end, before
// the cluster may have forgotten it.
func TestJobWithoutLastFacts(t *testing.T) {
	t.Parallel()
	r := oneJob()
	r.records = r.records[:len(r.records)-1] // the last facts
	r.add(81, model.SourceRM, model.PollFact{Result: model.PollOK})
	r.add(82, model.SourceRM, model.PollFact{Result: model.PollOK})
	r.add(500, model.SourceRM, model.PollFact{Result: model.PollOK})
	var closed []model.Time
	res := run(t, header(t), r.each, replay.Options{Job: func(a *account.Job) { closed = append(closed, a.Ended) }}, `{"reduce":{"/r1":2}}`)
	if len(closed) != 1 || closed[0] != start.Add(82*model.Second) || res.Runs[0].CrossRack.Shuffle != 100 {
		t.Errorf("closed at %v, %+v", closed, res.Runs[0].CrossRack)
	}
}

// Only jobs that end between since and until count.
func TestBounds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		since, until, jobs int
	}{{0, 0, 1}, {22, 0, 1}, {23, 0, 0}, {0, 21, 0}, {0, 22, 1}} {
		o := replay.Options{}
		if tt.since > 0 {
			o.Since = start.Add(model.Duration(tt.since) * model.Second)
		}
		if tt.until > 0 {
			o.Until = start.Add(model.Duration(tt.until) * model.Second)
		}
		if res := run(t, header(t), oneJob().each, o, `{}`); res.Recording.Jobs != tt.jobs {
			t.Errorf("since %d until %d: %d jobs, want %d", tt.since, tt.until, res.Recording.Jobs, tt.jobs)
		}
	}
}

// A recording of format 1 says neither when plans were made nor by which settings.
func TestFormat1(t *testing.T) {
	t.Parallel()
	r := oneJob()
	r.records = slices.DeleteFunc(r.records, func(rec trace.Record) bool { return rec.Observation.Source == model.SourceService })
	h := header(t)
	settings := h.Settings
	h.Format, h.Settings = 1, nil
	_, err := replay.Run(h, r.each, &replay.Options{Registry: registry()})
	if !errors.Is(err, replay.ErrNoSettings) {
		t.Errorf("got %v", err)
	}
	var s replay.Settings
	if err := json.Unmarshal(settings, &s); err != nil {
		t.Fatal(err)
	}
	res := run(t, h, r.each, replay.Options{Settings: &s}, `{"reduce":{"/r1":2}}`, replay.Recorded)
	if !res.Recording.Assumed || res.Recording.Rounds != 23 || res.Runs[0].CrossRack.Shuffle != 100 || res.Runs[1].Check != nil {
		t.Errorf("%+v", res)
	}
}

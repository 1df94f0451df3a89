package mapreduce

import (
	"compress/gzip"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/core/model"
)

const (
	recordedApp = model.AppID("application_1795215638925_0021")
	recordedJob = "job_1795215638925_0021"
)

// recorded reads a file of testdata, unpacked.
func recorded(tb testing.TB, name string) []byte {
	tb.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	var from io.Reader = f
	if strings.HasSuffix(name, ".gz") {
		if from, err = gzip.NewReader(f); err != nil {
			tb.Fatal(err)
		}
	}
	body, err := io.ReadAll(from)
	if err != nil {
		tb.Fatal(err)
	}
	return body
}

// wantErr fails unless err contains want, or is nil where want is "".
func wantErr(tb testing.TB, err error, want string) {
	tb.Helper()
	switch {
	case want == "" && err != nil:
		tb.Errorf("error %v, want none", err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		tb.Errorf("error %v, want one with %q", err, want)
	}
}

func TestJobID(t *testing.T) {
	t.Parallel()
	id, err := JobID(recordedApp)
	if id != recordedJob || err != nil {
		t.Errorf("JobID = %q, %v", id, err)
	}
	for _, bad := range []model.AppID{"", "application_", "application_1", "application_1_", "application_x_1", "job_1_2", "application_1_2_3", "application_1_2/../x"} {
		if id, err := JobID(bad); err == nil {
			t.Errorf("JobID(%q) = %q, want an error", bad, id)
		}
	}
}

func TestTaskIDs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		key := taskKey{
			stage: rapid.SampledFrom([]model.Stage{model.StageMap, model.StageReduce}).Draw(t, "stage"),
			index: rapid.IntRange(0, maxTaskIndex-1).Draw(t, "index"),
		}
		got, err := parseTaskID(key.taskID(recordedJob), recordedJob)
		if got != key || err != nil {
			t.Fatalf("parse of %q = %v, %v", key.taskID(recordedJob), got, err)
		}
	})
	for id, want := range map[string]string{
		"task_1795215638925_0022_m_000000":   "not of",
		"task_1795215638925_0021_x_000000":   "neither a map nor a reduce",
		"task_1795215638925_0021_m_":         "index",
		"task_1795215638925_0021_m_-1":       "index",
		"task_1795215638925_0021_m_99999999": "index",
		"task_1795215638925_0021_m":          "index",
	} {
		_, err := parseTaskID(id, recordedJob)
		wantErr(t, err, want)
	}
}

func TestDecodeJob(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		body string
		want model.JobFact
		err  string
	}{
		{name: "running", body: string(recorded(t, "am/job.json")), want: model.JobFact{
			App: recordedApp, MapsTotal: 20, MapsPending: 1, MapsRunning: 16, MapsCompleted: 3,
			ReducesTotal: 6, ReducesPending: 5, ReducesRunning: 1,
		}},
		{name: "ended", body: string(recorded(t, "jhs/job.json")), want: model.JobFact{
			App: recordedApp, MapsTotal: 20, MapsCompleted: 20, ReducesTotal: 6, ReducesCompleted: 6,
		}},
		{name: "numbers as strings", body: `{"job":{"id":"` + recordedJob + `","mapsTotal":"4","mapsCompleted":""}}`, want: model.JobFact{App: recordedApp, MapsTotal: 4}},
		{name: "another job", body: `{"job":{"id":"job_1_0001"}}`, err: `that of "job_1_0001"`},
		{name: "null", body: `{"job":null}`, err: "it is that of"},
		{name: "no job", body: string(recorded(t, "am/unknown-job-404.json")), err: `no "job"`},
		{name: "negative", body: `{"job":{"id":"` + recordedJob + `","mapsPending":-1}}`, err: "mapsPending is -1"},
		{name: "absurd", body: `{"job":{"id":"` + recordedJob + `","mapsTotal":1e15}}`, err: "mapsTotal is"},
		{name: "half", body: `{"job":{"id":"job_17952156`, err: "unexpected end"},
		{name: "page", body: string(recorded(t, "am/redirect-after-finish.json")), err: "invalid character '<'"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := decodeJob([]byte(c.body), recordedApp, recordedJob)
			wantErr(t, err, c.err)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDecodeTasks(t *testing.T) {
	t.Parallel()
	type count struct{ pending, running, succeeded, failed int }
	for _, c := range []struct {
		name          string
		body          string
		maps, reduces count
		err           string
	}{
		{name: "running", body: string(recorded(t, "am/tasks.json")), maps: count{1, 16, 3, 0}, reduces: count{5, 1, 0, 0}},
		{name: "reduces", body: string(recorded(t, "am/tasks-r.json")), reduces: count{5, 1, 0, 0}},
		{name: "ended", body: string(recorded(t, "jhs/tasks.json")), maps: count{0, 0, 20, 0}, reduces: count{0, 0, 6, 0}},
		{name: "no reduces", body: `{"tasks":{"task":[{"id":"task_1795215638925_0021_m_000000","state":"KILLED"}]}}`, maps: count{failed: 1}},
		{name: "one for a list", body: `{"tasks":{"task":{"id":"task_1795215638925_0021_m_000000","state":"NEW"}}}`, maps: count{pending: 1}},
		{name: "none", body: `{"tasks":{}}`},
		{name: "null", body: `{"tasks":null}`},
		{name: "bad elements", body: `{"tasks":{"task":[
			{"id":"task_1795215638925_0021_m_000000","state":"RUNNING"},
			{"id":"task_1795215638925_0022_m_000001","state":"RUNNING"},
			{"id":"task_1795215638925_0021_m_000002","state":"DREAMING"},
			{"id":"task_1795215638925_0021_m_000003","state":"SUCCEEDED","successfulAttempt":""},
			{"id":"task_1795215638925_0021_m_000004","state":""},
			{"id":"task_1795215638925_0021_m_000005","state":""},
			{}]}}`, maps: count{running: 1}, err: "and 3 more"},
		{name: "other answer", body: `{"jobs":{}}`, err: `no "tasks"`},
		{name: "a list for an object", body: `{"tasks":[1]}`, err: "tasks of"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			entries, err := decodeTasks([]byte(c.body), recordedJob)
			wantErr(t, err, c.err)
			got := map[model.Stage]count{}
			for _, e := range entries {
				n := got[e.key.stage]
				switch e.state {
				case model.TaskPending:
					n.pending++
				case model.TaskRunning:
					n.running++
				case model.TaskSucceeded:
					n.succeeded++
				case model.TaskFailed:
					n.failed++
				}
				got[e.key.stage] = n
				if e.progress < 0 || e.progress > 1 || (e.state == model.TaskSucceeded) != (e.successful != "") {
					t.Errorf("entry %+v", e)
				}
			}
			if got[model.StageMap] != c.maps || got[model.StageReduce] != c.reduces {
				t.Errorf("states %v, want maps %v and reduces %v", got, c.maps, c.reduces)
			}
		})
	}
}

func TestDecodeAttempts(t *testing.T) {
	t.Parallel()
	const m0, m18, r0, r1 = "task_1795215638925_0021_m_000000", "task_1795215638925_0021_m_000018", "task_1795215638925_0021_r_000000", "task_1795215638925_0021_r_000001"
	for _, c := range []struct {
		name, body, task string
		want             []attempt
		err              string
	}{
		{name: "running map", body: string(recorded(t, "am/task-map-RUNNING-attempts.json")), task: m0, want: []attempt{
			{id: "attempt_1795215638925_0021_m_000000_0", state: "RUNNING", host: "w33", rack: "/rack3", launched: 1795216323153},
		}},
		{name: "scheduled map", body: string(recorded(t, "am/task-map-SCHEDULED-attempts.json")), task: m18, want: []attempt{
			{id: "attempt_1795215638925_0021_m_000018_0", state: "STARTING"},
		}},
		{name: "running reduce", body: string(recorded(t, "am/task-reduce-RUNNING-attempts.json")), task: r0, want: []attempt{
			{id: "attempt_1795215638925_0021_r_000000_0", state: "RUNNING", host: "w22", rack: "/rack2", launched: 1795216343899},
		}},
		{name: "ended map", body: string(recorded(t, "jhs/task-map-attempts.json")), task: m18, want: []attempt{
			{id: "attempt_1795215638925_0021_m_000018_0", state: "SUCCEEDED", host: "w22", rack: "/rack2", progress: 1, launched: 1795216349160},
		}},
		{name: "ended reduce", body: string(recorded(t, "jhs/task-reduce-attempts.json")), task: r1, want: []attempt{
			{id: "attempt_1795215638925_0021_r_000001_0", state: "SUCCEEDED", host: "w12", rack: "/rack1", progress: 1, launched: 1795216346053, fetched: 1795216356963},
		}},
		{name: "none", body: `{"taskAttempts":{}}`, task: m0, want: []attempt{}},
		{name: "another task's", body: string(recorded(t, "am/task-map-RUNNING-attempts.json")), task: m18, err: "it lists"},
		{name: "half", body: `{"taskAttempts":{"taskAttempt":[{"startTime":17952163`, task: m0, err: "unexpected end"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := decodeAttempts([]byte(c.body), c.task)
			wantErr(t, err, c.err)
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(attempt{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	failed := attempt{id: "a_0", state: "FAILED", host: "w1", rack: "/r1", progress: 1}
	slow := attempt{id: "a_1", state: "RUNNING", host: "w2", rack: "/r2", progress: .2}
	fast := attempt{id: "a_2", state: "RUNNING", host: "w3", rack: "/r3", progress: .7}
	waiting := attempt{id: "a_3", state: "STARTING"}
	killed := attempt{id: "a_2", state: "KILLED", host: "w3", rack: "/r3"}
	won := attempt{id: "a_1", state: "SUCCEEDED", host: "w2", rack: "/r2", progress: 1}
	for _, c := range []struct {
		name       string
		attempts   []attempt
		successful string
		want       string
	}{
		{"none", nil, "", ""},
		{"failed then running", []attempt{failed, slow}, "", "a_1"},
		{"speculative", []attempt{slow, fast}, "", "a_2"},
		{"not assigned", []attempt{failed, waiting}, "", ""},
		{"second won", []attempt{failed, won, killed}, "a_1", "a_1"},
		{"winner not listed", []attempt{failed, slow}, "a_9", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, found := choose(c.attempts, c.successful)
			if got.id != c.want || found != (c.want != "") {
				t.Errorf("chose %+v, %t, want %q", got, found, c.want)
			}
		})
	}
}

func TestDecodeCounters(t *testing.T) {
	t.Parallel()
	unknown := model.CountersFact{
		App: recordedApp, MapOutput: model.Unknown, MapInput: model.Unknown, ReduceShuffle: model.Unknown, HDFSWritten: model.Unknown,
	}
	for _, c := range []struct {
		name string
		body string
		want model.CountersFact
		err  string
	}{
		{name: "running", body: string(recorded(t, "am/counters.json")), want: model.CountersFact{
			App: recordedApp, MapOutput: 10054932, MapOutputPlain: 9861462, MapInput: 9668415, ReduceShuffle: model.Unknown, HDFSWritten: 0,
			NodeLocalMaps: 16, OtherLocalMaps: 3, LaunchedReduces: 1,
		}},
		{name: "ended", body: string(recorded(t, "jhs/counters.json")), want: model.CountersFact{
			App: recordedApp, MapOutput: 208000720, MapOutputPlain: 204000000, MapInput: 200002100, ReduceShuffle: 208000720, HDFSWritten: 200000000,
			NodeLocalMaps: 16, OtherLocalMaps: 4, LaunchedReduces: 6,
		}},
		{name: "combined", body: `{"jobCounters":{"id":"` + recordedJob + `","counterGroup":[
			{"counterGroupName":"org.apache.hadoop.mapreduce.TaskCounter","counter":[{"name":"MAP_OUTPUT_BYTES","mapCounterValue":500},{"name":"COMBINE_INPUT_RECORDS","mapCounterValue":5}]}]}}`, want: unknown},
		{name: "not reported yet", body: `{"jobCounters":{"id":"` + recordedJob + `"}}`, want: unknown},
		{name: "negative and absurd", body: `{"jobCounters":{"id":"` + recordedJob + `","counterGroup":[
			{"counterGroupName":"org.apache.hadoop.mapreduce.TaskCounter","counter":[{"name":"MAP_OUTPUT_MATERIALIZED_BYTES","mapCounterValue":-5}]},
			{"counterGroupName":"org.apache.hadoop.mapreduce.JobCounter","counter":[{"name":"DATA_LOCAL_MAPS","totalCounterValue":-5}]}]}}`, want: unknown},
		{name: "same name in another group", body: `{"jobCounters":{"id":"` + recordedJob + `","counterGroup":
			{"counterGroupName":"mine","counter":{"name":"REDUCE_SHUFFLE_BYTES","totalCounterValue":7}}}}`, want: unknown},
		{name: "too large a number", body: `{"jobCounters":{"id":"` + recordedJob + `","counterGroup":[
			{"counterGroupName":"x","counter":[{"name":"y","totalCounterValue":1e300}]}]}}`, err: "counters of"},
		{name: "another job's", body: `{"jobCounters":{"id":"job_1_0001"}}`, err: "those of"},
		{name: "empty", body: ``, err: "unexpected end"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := decodeCounters([]byte(c.body), recordedApp, recordedJob)
			wantErr(t, err, c.err)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDecodeAttemptCounters(t *testing.T) {
	t.Parallel()
	const m10, m18, r1 = "attempt_1795215638925_0021_m_000010_0", "attempt_1795215638925_0021_m_000018_0", "attempt_1795215638925_0021_r_000001_0"
	none := attemptCounters{output: model.Unknown, input: model.Unknown, shuffled: model.Unknown}
	for _, c := range []struct {
		name, body, id string
		want           attemptCounters
		err            string
	}{
		{name: "map", body: string(recorded(t, "am/task-map-SUCCEEDED-attempt-counters.json")), id: m10, want: attemptCounters{3351644, 3222805, model.Unknown, true}},
		{name: "scheduled", body: string(recorded(t, "am/task-map-SCHEDULED-attempt-counters.json")), id: m18, want: none},
		{name: "ended map", body: string(recorded(t, "jhs/task-map-attempt-counters.json")), id: m18, want: attemptCounters{3351644, 3222805, model.Unknown, true}},
		{name: "ended reduce", body: string(recorded(t, "jhs/task-reduce-attempt-counters.json")), id: r1, want: attemptCounters{model.Unknown, 0, 34916456, true}},
		{name: "another attempt's", body: string(recorded(t, "am/task-map-SCHEDULED-attempt-counters.json")), id: m10, err: "those of"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := decodeAttemptCounters([]byte(c.body), c.id)
			wantErr(t, err, c.err)
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(attemptCounters{})); diff != "" && c.err == "" {
				t.Error(diff)
			}
		})
	}
}

func TestDecodeConf(t *testing.T) {
	t.Parallel()
	conf := func(pairs ...string) string {
		var b strings.Builder
		b.WriteString(`{"conf":{"path":"x","property":[`)
		for i := 0; i < len(pairs); i += 2 {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(`{"name":"` + pairs[i] + `","value":` + pairs[i+1] + `,"source":["x"]}`)
		}
		return b.String() + `]}}`
	}
	for _, c := range []struct {
		name string
		body string
		want model.JobConfFact
		err  string
	}{
		{name: "terasort", body: string(recorded(t, "am/conf.json.gz")), want: model.JobConfFact{
			App: recordedApp, Inputs: []string{"hdfs://master:8020/data/tg2"}, Output: "hdfs://master:8020/data/ts-cap", Slowstart: .05, Replication: 1,
			MapTask: model.Resource{MemoryMiB: 512, VCores: 1}, ReduceTask: model.Resource{MemoryMiB: 512, VCores: 1},
		}},
		{name: "old names", body: conf("mapred.input.dir", `"/a,/b"`, "mapred.output.dir", `"/c"`, "mapred.reduce.slowstart.completed.maps", `"0.8"`), want: model.JobConfFact{
			App: recordedApp, Inputs: []string{"/a", "/b"}, Output: "/c", Slowstart: .8,
		}},
		{name: "bare values", body: conf("dfs.replication", "3", "mapreduce.job.reduce.slowstart.completedmaps", "1.0"), want: model.JobConfFact{App: recordedApp, Slowstart: 1, Replication: 3}},
		{name: "no values", body: conf("dfs.replication", "null"), want: model.JobConfFact{App: recordedApp, Slowstart: .05}},
		{name: "bad values", body: conf("dfs.replication", `"many"`, "mapreduce.job.reduce.slowstart.completedmaps", `"NaN"`, "mapred.input.dir", `"/a"`), want: model.JobConfFact{
			App: recordedApp, Inputs: []string{"/a"}, Slowstart: .05,
		}, err: `slowstart.completedmaps is "NaN"`},
		{name: "in a workflow", body: conf("mapreduce.workflow.id", `"hive_1"`, "mapreduce.workflow.node.name", `"Stage-1"`, "mapreduce.workflow.adjacency.Stage-1", `"Stage-2"`), want: model.JobConfFact{
			App: recordedApp, Slowstart: .05,
			Workflow: &model.Workflow{ID: "hive_1", Node: "Stage-1", Edges: []model.WorkflowEdges{{Node: "Stage-1", Next: []string{"Stage-2"}}}},
		}},
		{name: "sizes of tasks", body: conf("mapreduce.map.memory.mb", `"-1"`, "mapreduce.map.java.opts", `"-Xmx9g -ea -Xmx1500m"`, "mapreduce.map.cpu.vcores", "2",
			"mapreduce.reduce.memory.mb", "3000", "mapreduce.reduce.java.opts", `"-Xmx1g"`), want: model.JobConfFact{
			App: recordedApp, Slowstart: .05, MapTask: model.Resource{MemoryMiB: 1875, VCores: 2}, ReduceTask: model.Resource{MemoryMiB: 3000, VCores: 1},
		}},
		{name: "no size", body: conf("mapreduce.map.memory.mb", "-1", "mapreduce.reduce.memory.mb", `"1g"`, "mapred.child.java.opts", `"-Xmx0"`), want: model.JobConfFact{
			App: recordedApp, Slowstart: .05, MapTask: model.Resource{MemoryMiB: 1024, VCores: 1},
		}, err: `mapreduce.reduce.memory.mb is "1g"`},
		{name: "empty", body: `{"conf":{}}`, want: model.JobConfFact{App: recordedApp, Slowstart: .05}},
		{name: "no conf", body: `{}`, err: `no "conf"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := decodeConf([]byte(c.body), recordedApp)
			wantErr(t, err, c.err)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSplitPaths(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		list string
		want []string
	}{
		{"", nil},
		{"/a", []string{"/a"}},
		{"/a,/b", []string{"/a", "/b"}},
		{`/a\,b,/c`, []string{"/a,b", "/c"}},
		{`/a\\,/c`, []string{`/a\`, "/c"}},
		{`/a\b`, []string{`/a\b`}},
		{`,,/a,`, []string{"/a"}},
		{`/a\`, []string{`/a\`}},
	} {
		if diff := cmp.Diff(c.want, splitPaths(c.list)); diff != "" {
			t.Errorf("splitPaths(%q): %s", c.list, diff)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		paths := rapid.SliceOf(rapid.StringMatching(`[/a,\\{}]{1,8}`)).Draw(t, "paths")
		escape := strings.NewReplacer(`\`, `\\`, `,`, `\,`)
		var escaped []string
		for _, p := range paths {
			escaped = append(escaped, escape.Replace(p))
		}
		got := splitPaths(strings.Join(escaped, ","))
		if diff := cmp.Diff(paths, got); diff != "" && len(paths)+len(got) > 0 {
			t.Fatal(diff)
		}
	})
}

func FuzzDecodeJob(f *testing.F) {
	for _, name := range []string{"am/job.json", "jhs/job.json", "am/unknown-job-404.json", "am/redirect-after-finish.json"} {
		f.Add(recorded(f, name))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		fact, err := decodeJob(body, recordedApp, recordedJob)
		if err == nil && (fact.App != recordedApp || fact.MapsTotal < 0 || fact.MapsTotal > maxTaskIndex || fact.ReducesRunning < 0) {
			t.Errorf("%q gives %+v", body, fact)
		}
	})
}

func FuzzDecodeTasks(f *testing.F) {
	for _, name := range []string{"am/tasks.json", "am/tasks-r.json", "jhs/tasks.json"} {
		f.Add(recorded(f, name))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		entries, _ := decodeTasks(body, recordedJob)
		for _, e := range entries {
			id := e.key.taskID(recordedJob)
			if again, err := parseTaskID(id, recordedJob); err != nil || again != e.key {
				t.Errorf("%q gives task %+v", body, e)
			}
			if !(e.progress >= 0 && e.progress <= 1) || math.IsNaN(e.progress) || e.state == "" {
				t.Errorf("%q gives %+v", body, e)
			}
		}
	})
}

func FuzzDecodeAttempts(f *testing.F) {
	const task = "task_1795215638925_0021_m_000018"
	for _, name := range []string{"am/task-map-SCHEDULED-attempts.json", "jhs/task-map-attempts.json", "am/task-reduce-RUNNING-attempts.json"} {
		f.Add(recorded(f, name))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		attempts, err := decodeAttempts(body, task)
		if err != nil {
			return
		}
		if a, ok := choose(attempts, ""); ok && (a.host == "" || !attemptOf(a.id, task)) {
			t.Errorf("%q: chose %+v", body, a)
		}
	})
}

func FuzzDecodeCounters(f *testing.F) {
	for _, name := range []string{"am/counters.json", "jhs/counters.json"} {
		f.Add(recorded(f, name))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		fact, err := decodeCounters(body, recordedApp, recordedJob)
		if err == nil && (fact.MapOutput < model.Unknown || fact.MapInput < model.Unknown || fact.LaunchedReduces < 0 || fact.NodeLocalMaps < 0) {
			t.Errorf("%q gives %+v", body, fact)
		}
	})
}

func FuzzDecodeAttemptCounters(f *testing.F) {
	const id = "attempt_1795215638925_0021_m_000018_0"
	for _, name := range []string{"jhs/task-map-attempt-counters.json", "am/task-map-SCHEDULED-attempt-counters.json", "jhs/task-reduce-attempt-counters.json"} {
		f.Add(recorded(f, name))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		c, err := decodeAttemptCounters(body, id)
		if err == nil && (c.output < model.Unknown || c.input < model.Unknown || c.shuffled < model.Unknown) {
			t.Errorf("%q gives %+v", body, c)
		}
	})
}

func FuzzDecodeConf(f *testing.F) {
	f.Add([]byte(`{"conf":{"path":"x","property":[{"name":"dfs.replication","value":"3"},{"name":"mapred.input.dir","value":"/a\\,b,/c"},{"name":"mapreduce.job.reduce.slowstart.completedmaps","value":"0.5"}]}}`))
	f.Add(recorded(f, "am/conf.json.gz"))
	f.Fuzz(func(t *testing.T, body []byte) {
		fact, _ := decodeConf(body, recordedApp)
		if !(fact.Slowstart >= 0 && fact.Slowstart <= 1) || fact.Replication < 0 {
			t.Errorf("%q gives %+v", body, fact)
		}
		for _, p := range fact.Inputs {
			if p == "" {
				t.Errorf("%q gives an empty path", body)
			}
		}
	})
}

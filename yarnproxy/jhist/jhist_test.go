package jhist_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hamba/avro/v2"

	"heddle/core/lab/measured"
	"heddle/core/model"
	"heddle/yarnproxy/jhist"
)

// unzipped returns the content of a compressed file of testdata that matches a pattern.
func unzipped(tb testing.TB, pattern string) []byte {
	tb.Helper()
	names, err := filepath.Glob(filepath.Join("testdata", pattern))
	if err != nil || len(names) != 1 {
		tb.Fatalf("%s matches %v: %v", pattern, names, err)
	}
	f, err := os.Open(names[0])
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		tb.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

func read(t *testing.T, pattern string) *jhist.Job {
	t.Helper()
	j, err := jhist.Read(bytes.NewReader(unzipped(t, pattern)))
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// sums adds up what the tasks of a job say.
func sums(j *jhist.Job) jhist.Totals {
	var s jhist.Totals
	for i := range j.Maps {
		s.MapRead += j.Maps[i].Read
		s.MapOutput += j.Maps[i].Output
	}
	for i := range j.Reduces {
		s.Shuffled += j.Reduces[i].Shuffled
		s.ReduceWritten += j.Reduces[i].Output
	}
	return s
}

// TestTasksSumToTheCounters reads histories of a real Hadoop 3.4.3, two in JSON and one in
// binary: the tasks have together what the job's counters say.
func TestTasksSumToTheCounters(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file, name    string
		queue         model.QueueID
		maps, reduces int
		want          jhist.Totals // as the JobFinished event in the file has them
	}{
		{"*_0054-*.jhist.gz", "TeraSort", "root.default", 20, 6, jhist.Totals{MapRead: 200002100, MapOutput: 208000720, Shuffled: 208000720, ReduceWritten: 200000000}},
		{"*_0055-*.jhist.gz", "word count", "root.batch", 6, 3, jhist.Totals{MapRead: 48878106, MapOutput: 3199912, Shuffled: 3199912, ReduceWritten: 2255475}},
		{"*_0056-*.jhist.gz", "TeraSort", "root.default", 4, 3, jhist.Totals{MapRead: 20000416, MapOutput: 20800072, Shuffled: 20800072, ReduceWritten: 20000000}},
	} {
		t.Run(c.file, func(t *testing.T) {
			t.Parallel()
			j := read(t, c.file)
			if j.Name != c.name || j.User != "root" || j.Queue != c.queue || j.AMHost == "" || j.Status != "SUCCEEDED" || len(j.Maps) != c.maps || len(j.Reduces) != c.reduces {
				t.Errorf("read %s of %s in %s, %s, with %d maps and %d reduces", j.Name, j.User, j.Queue, j.Status, len(j.Maps), len(j.Reduces))
			}
			if diff := cmp.Diff(c.want, j.Totals); diff != "" {
				t.Errorf("counters of the job (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.want, sums(j)); diff != "" {
				t.Errorf("sums over its tasks (-want +got):\n%s", diff)
			}
			for _, tasks := range [][]measured.Task{j.Maps, j.Reduces} {
				for i, task := range tasks {
					if task.Host == "" || !strings.HasPrefix(string(task.Rack), "/rack") || task.Launched < j.Submitted || task.Finished <= task.Launched || task.Finished > j.Finished {
						t.Errorf("task %d: %+v", i, task)
					}
				}
			}
			for i, task := range j.Maps {
				if len(task.Replicas) == 0 {
					t.Errorf("map %d has its block on no host", i)
				}
			}
			for i, task := range j.Reduces {
				if task.Fetched <= task.Launched || task.Fetched > task.Finished {
					t.Errorf("reduce %d had fetched all at %d: %+v", i, task.Fetched, task)
				}
			}
		})
	}
}

// event returns a line of a history in JSON.
func event(tb testing.TB, name string, fields map[string]any) string {
	tb.Helper()
	line, err := json.Marshal(map[string]any{"type": "X", "event": map[string]any{"org.apache.hadoop.mapreduce.jobhistory." + name: fields}})
	if err != nil {
		tb.Fatal(err)
	}
	return string(line) + "\n\n"
}

func finished(t *testing.T, id string, end int) string {
	t.Helper()
	return event(t, "MapAttemptFinished", map[string]any{
		"taskid": "task_1_0001_m_000000", "taskType": "MAP", "attemptId": id, "finishTime": end, "hostname": id, "rackname": "/r",
		"counters": map[string]any{"groups": []any{
			map[string]any{"name": "org.apache.hadoop.mapreduce.FileSystemCounter", "counts": []any{
				map[string]any{"name": "HDFS_BYTES_READ", "value": 100}, map[string]any{"name": "HDFS_BYTES_WRITTEN", "value": 7},
			}},
			map[string]any{"name": "user", "counts": []any{map[string]any{"name": "HDFS_BYTES_READ", "value": 1}}},
		}},
	})
}

// TestAttempts reads which attempt of a task counts: the one that the task's end names, and
// not one whose node was lost after it had succeeded.
func TestAttempts(t *testing.T) {
	t.Parallel()
	started := event(t, "TaskAttemptStarted", map[string]any{"taskid": "task_1_0001_m_000000", "taskType": "MAP", "attemptId": "a0", "startTime": 5}) +
		event(t, "TaskAttemptStarted", map[string]any{"taskid": "task_1_0001_m_000000", "taskType": "MAP", "attemptId": "a1", "startTime": 6})
	succeeded := func(id any) string {
		return event(t, "TaskFinished", map[string]any{"taskid": "task_1_0001_m_000000", "taskType": "MAP", "status": "SUCCEEDED", "successfulAttemptId": id})
	}
	lost := event(t, "TaskAttemptUnsuccessfulCompletion", map[string]any{"taskid": "task_1_0001_m_000000", "taskType": "MAP", "attemptId": "a0", "status": "KILLED"})
	for _, c := range []struct {
		name, events, host string
	}{
		{"named", finished(t, "a0", 10) + succeeded(map[string]any{"string": "a0"}) + finished(t, "a1", 11), "a0"},
		{"named without a union", finished(t, "a0", 10) + finished(t, "a1", 11) + succeeded("a1"), "a1"},
		{"not named", finished(t, "a1", 11), "a1"},
		{"lost and run again", finished(t, "a0", 10) + succeeded("a0") + lost + finished(t, "a1", 20), "a1"},
		{"lost", finished(t, "a0", 10) + succeeded("a0") + lost, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			head := "Avro-Json\n{}\n" + event(t, "JobSubmitted", map[string]any{"jobid": "job_1_0001", "userName": "ann", "submitTime": 3, "jobQueueName": "q"}) + event(t, "Unheard", nil)
			j, err := jhist.Read(strings.NewReader(head + started + c.events))
			if err != nil {
				t.Fatal(err)
			}
			if j.Queue != "root.q" || j.Status != "" {
				t.Errorf("queue %q, status %q", j.Queue, j.Status)
			}
			switch {
			case c.host == "" && len(j.Maps) == 0:
			case len(j.Maps) != 1 || j.Maps[0].Host != c.host:
				t.Errorf("maps %+v; want one on %s", j.Maps, c.host)
			case j.Maps[0].Launched == 0 || j.Maps[0].Read != 100 || j.Maps[0].Output != 7:
				t.Errorf("map %+v", j.Maps[0])
			}
		})
	}
}

func TestBadHistories(t *testing.T) {
	t.Parallel()
	text := unzipped(t, "*_0055-*.jhist.gz")
	bin := unzipped(t, "*_0056-*.jhist.gz")
	lines := bytes.SplitAfter(text, []byte("\n"))
	header := bytes.Join(bytes.SplitAfter(bin, []byte("\n"))[:2], nil)
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"empty", nil, "not a job history file"},
		{"another format", []byte("Avro-Text\n{}\n"), "not a job history file"},
		{"no schema", []byte("Avro-Binary\n"), "header: no schema on line 2"},
		{"a schema that is none", []byte("Avro-Binary\nnull\n"), "header: the schema on line 2: "},
		{"another schema", []byte("Avro-Binary\n\"string\"\n"), "header: the schema on line 2: is of type string; want the record Event"},
		{"no event", header, "the history has 0 events, and none names its job"},
		{"cut in JSON", text[:len(text)*2/3], "the file stops within it: the job still runs, or the file was cut"},
		{"cut in binary", bin[:len(bin)*2/3], "the file stops within it: the job still runs, or the file was cut"},
		{"no JSON", bytes.Join([][]byte{lines[0], lines[1], lines[2], []byte("{]\n")}, nil), "event 2, at byte"},
		{"a union without a record", append(bytes.Join(lines[:3], nil), `{"type":"X","event":{}}`...), `its union "event" has 0 records; want one`},
		{"a symbol that is none", append(bytes.Clone(header), 0xfe, 0x01), "event 1, at byte 7982: symbol 127 of 32"},
		{"a text without end", append(bytes.Clone(header), 0, 14, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01), "the event has more than 64 MiB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := jhist.Read(bytes.NewReader(c.data))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v; want %q in it", err, c.want)
			}
			if strings.HasPrefix(c.name, "cut") && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("error %v is not io.ErrUnexpectedEOF", err)
			}
		})
	}
}

// TestHostileSchema reads values that take no bytes, of which a file could claim any number.
func TestHostileSchema(t *testing.T) {
	t.Parallel()
	head := func(fields string) string {
		return `Avro-Binary` + "\n" + `{"type":"record","name":"Event","fields":[` + fields + `,{"name":"event","type":["null","string"]}]}` + "\n"
	}
	for _, c := range []struct{ data, want string }{
		{head(`{"name":"a","type":{"type":"array","items":"null"}}`) + "\xfe\xff\xff\xff\xff\xff\xff\xff\x7f", "a list of"},
		{head(`{"name":"a","type":{"type":"array","items":{"type":"array","items":"null"}}}`) + strings.Repeat("\x80\x80\x40", 1000), "it has more than 1048576 values"},
		{head(`{"name":"a","type":"Event"}`) + "\x00\x00\x00", "its values are nested deeper than 64"},
	} {
		if _, err := jhist.Read(strings.NewReader(c.data)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.80q: %v, want %q", c.data, err, c.want)
		}
	}
}

func TestParseName(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]jhist.Name{ // order-free: each on its own
		"job_1795215638925_0054-1795218029101-root-Tera%2DSort-1795218093950-20-6-SUCCEEDED-root.default-1795218032139.jhist": {Job: "job_1795215638925_0054", Submitted: 1795218029101},
		"/done/2026/11/21/000000/job_1_0002-1795218029101-a%2Db-c-1-2-3-KILLED-q.jhist.gz":                                    {Job: "job_1_0002", Submitted: 1795218029101},
		"job_1795215638925_0054_1.jhist": {Job: "job_1795215638925_0054"},
		"job_1_0002-x-y.jhist":           {Job: "job_1_0002"},
		"job_1_0002_conf.xml":            {},
		"other.jhist":                    {},
		"job_.jhist":                     {},
	} {
		if n, ok := jhist.ParseName(file); n != want || ok != (want != jhist.Name{}) {
			t.Errorf("%s: %+v, %v", file, n, ok)
		}
	}
}

func TestReadConf(t *testing.T) {
	t.Parallel()
	c, err := jhist.ReadConf(bytes.NewReader(unzipped(t, "*_0055_conf.xml.gz")))
	if err != nil {
		t.Fatal(err)
	}
	want := &jhist.Conf{Map: model.Resource{MemoryMiB: 512, VCores: 1}, Reduce: model.Resource{MemoryMiB: 512, VCores: 1}, Inputs: c.Inputs}
	if diff := cmp.Diff(want, c); diff != "" || len(c.Inputs) == 0 {
		t.Errorf("(-want +got):\n%s, inputs %v", diff, c.Inputs)
	}
	conf := func(key, value string) string {
		return "<?xml version=\"1.0\"?><configuration>\n<property><name>" + key + "</name><value>" + value + "</value></property>\n</configuration>"
	}
	for _, in := range []struct {
		text string
		want *jhist.Conf
	}{
		{conf("mapreduce.input.fileinputformat.inputdir", "hdfs://n/a,/b{1,2},/c\\,d"), &jhist.Conf{Inputs: []string{"hdfs://n/a", "/b{1,2}", "/c,d"}}},
		{conf("mapreduce.map.memory.mb", "-1"), &jhist.Conf{}},
		{conf("mapreduce.reduce.memory.mb", " 2048 "), &jhist.Conf{Reduce: model.Resource{MemoryMiB: 2048, VCores: 1}}},
		{conf("mapreduce.map.memory.mb", "1") + "<", nil},
		{"<configuration><property>", nil},
		{strings.Repeat("<a>", 100), nil},
		{"", nil},
	} {
		got, err := jhist.ReadConf(strings.NewReader(in.text))
		if (err == nil) != (in.want != nil) || in.want != nil && !cmp.Equal(got, in.want) {
			t.Errorf("%s: %+v, %v", in.text, got, err)
		}
	}
}

// TestOtherSchema reads a binary history by the schema that stands in it: fields in another order,
// of other types, and events and fields that no version of Hadoop has.
func TestOtherSchema(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"record","name":"Event","namespace":"org.apache.hadoop.mapreduce.jobhistory","fields":[` +
		`{"name":"event","type":[` +
		`{"type":"record","name":"Future","fields":[{"name":"f","type":"float"},{"name":"d","type":"double"},{"name":"x","type":{"type":"fixed","name":"F","size":3}},{"name":"b","type":"bytes"},{"name":"flag","type":"boolean"}]},` +
		`{"type":"record","name":"JobSubmitted","fields":[{"name":"acls","type":{"type":"map","values":"string"}},{"name":"submitTime","type":"int"},{"name":"userName","type":["null","string"]},{"name":"jobid","type":"string"}]},` +
		`{"type":"record","name":"JobFinished","fields":[{"name":"jobid","type":"string"},{"name":"finishTime","type":"long"}]}` +
		`]},{"name":"type","type":{"type":"enum","name":"EventType","symbols":["A","B"]}}]}`
	s, err := avro.ParseWithCache(schema, "", &avro.SchemaCache{})
	if err != nil {
		t.Fatal(err)
	}
	file := []byte("Avro-Binary\n" + schema + "\n")
	const ns = "org.apache.hadoop.mapreduce.jobhistory."
	for _, e := range []map[string]any{
		{ns + "Future": map[string]any{"f": float32(1.5), "d": 2.5, "x": [3]byte{1, 2, 3}, "b": []byte{4}, "flag": true}},
		{ns + "JobSubmitted": map[string]any{"acls": map[string]any{"a": "b"}, "submitTime": 7, "userName": map[string]any{"string": "ann"}, "jobid": "job_1_0001"}},
		{ns + "JobFinished": map[string]any{"jobid": "job_1_0001", "finishTime": int64(99)}},
	} {
		data, err := avro.Marshal(s, map[string]any{"event": e, "type": "B"})
		if err != nil {
			t.Fatal(err)
		}
		file = append(file, data...)
	}
	j, err := jhist.Read(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	if j.ID != "job_1_0001" || j.User != "ann" || j.Submitted != 7 || j.Finished != 99 || j.Status != "SUCCEEDED" || j.Totals.MapRead != model.Unknown {
		t.Errorf("%+v", j)
	}
}

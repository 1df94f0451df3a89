package rumen_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/core/lab/measured"
	"heddle/core/lab/measured/rumen"
	"heddle/core/model"
)

func TestRead(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/jobs.json")
	if err != nil {
		t.Fatal(err)
	}
	got, err := rumen.Read(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	const none = model.Unknown
	want := &measured.Trace{
		Jobs: []measured.Job{{
			ID: "job_1369942127770_1205", Name: "generate", User: "ann", Queue: "root.batch", Submitted: 1371222054499, Finished: 1371222153874,
			Maps: []measured.Task{{Host: "a2118.example.com", Rack: "/default-rack", Launched: 1371222061163, Finished: 1371222078206, Read: 82, Output: 416666700, Shuffled: none}},
		}, {
			ID: "job_1369942127770_1206", User: "bob", Queue: "root.fast", Submitted: 1371222054999, Finished: 1371222253874,
			MapTask: model.Resource{MemoryMiB: 2048, VCores: 1}, ReduceTask: model.Resource{MemoryMiB: 4096, VCores: 1},
			Maps: []measured.Task{ // 3,000 and 1,000 bytes before compression, of which 1,001 were fetched
				{Host: "h2", Rack: "/dc1/rack1", Launched: 1371222062000, Finished: 1371222072000, Read: 1000, Output: 750, Shuffled: none, Replicas: []string{"h1", "h9"}},
				{Host: "h3", Rack: "/dc1/rack2", Launched: 1371222062000, Finished: 1371222073000, Read: 500, Output: 251, Shuffled: none},
			},
			Reduces: []measured.Task{{Host: "h3", Rack: "/dc1/rack2", Launched: 1371222071000, Fetched: 1371222080000, Finished: 1371222090000, Read: none, Output: 77, Shuffled: 1001}},
		}},
		Racks: map[model.RackID][]string{"/default-rack": {"a2118.example.com"}, "/dc1/rack1": {"h2", "h1"}, "/dc1/rack2": {"h9", "h3"}},
		Left: []measured.Left{
			{ID: "job_1369942127770_1207", Why: "it ended as KILLED"},
			{ID: "object 4", Why: "it has no jobID: it is no job of Rumen"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if w, err := measured.Workload(got.Jobs, &measured.Options{Racks: got.Racks}); err != nil || len(w.Workload.Jobs) != 2 || len(w.Racks) != 3 {
		t.Errorf("%+v, %v", w, err)
	}
}

func TestReadErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{ // order-free: each on its own
		`{"jobID":"a"} {"jobID":`:        "object 2, at byte 13: the file stops within it",
		`{"jobID":"a"} x`:                "object 2, at byte 15: invalid character 'x'",
		`[]`:                             "object 1, at byte 0: the object: want an object, has array",
		`{"jobID":"a","submitTime":1.5}`: "object 1, at byte 0: 1.5 is no whole number",
		`{"jobID":"a","mapTasks":[{"attempts":7}]}`:       "want a list, has number",
		`{"jobID":"a","mapTasks":[{"inputBytes":1e999}]}`: "1e999 is no whole number",
	} {
		if _, err := rumen.Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// FuzzRead holds that any bytes are read as a trace or refused, and that what is read makes a
// workload.
func FuzzRead(f *testing.F) {
	data, err := os.ReadFile("testdata/jobs.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"jobID":"a","submitTime":1,"mapTasks":[{"attempts":[{"result":"SUCCESS","startTime":1,"finishTime":9223372036854775807,"mapOutputBytes":9223372036854775807}]}]}`))
	f.Add([]byte(`{"jobID":"a","submitTime":1,"mapTasks":[{"attempts":[{"result":"SUCCESS","startTime":1,"finishTime":2,"location":{"layers":["/","x"]}}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := rumen.Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		if _, err := measured.Workload(got.Jobs, &measured.Options{Racks: got.Racks}); err != nil {
			t.Fatal(err)
		}
	})
}

package workload_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"heddle/core/lab/workload"
	"heddle/core/model"
)

const header = `{"format":1,"kind":"workload","name":"t"}` + "\n"

func read(text string, lenient bool) (*workload.Workload, error) {
	return workload.Read(strings.NewReader(text), workload.ReadOptions{File: "w.jsonl", Lenient: lenient})
}

// The golden file is read as what it says, and written as the same bytes.
func TestFormatGolden(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/format1.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	w, err := read(string(data), false)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := workload.Write(&out, w); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(data), out.String()); diff != "" {
		t.Errorf("written (-golden +got):\n%s", diff)
	}
	got := w.Describe()
	want := workload.Summary{
		Name: "a query after a sort", Jobs: 3, Classes: workload.ClassCounts{Light: 1, Medium: 1, Heavy: 1},
		Chained: 1, Stages: 7, Tasks: 13, Users: 2,
		Input: 2*402653184 + 2*1048576 + 4096, Shuffle: 402653184 + 100000000, Output: 402653184 + 1048576 + 500,
		SpanS: 1.5,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
	if q := w.Jobs[2]; q.Parents[0] != 0 || q.Parents[1] != 1 || q.Stages[3].Edges[1] != (workload.Edge{From: 2, Kind: model.Broadcast}) {
		t.Errorf("got %+v", q)
	}
}

// job returns a line with a good job in which old is replaced.
func job(old, with string) string {
	const good = `{"id":"a","user":"u","submit_ms":5,"parents":[],"stages":[` +
		`{"name":"map","tasks":2,"reads":[{"bytes":10,"racks":1},{"bytes":4,"shares":[0.5,0.5]}],"output_bytes":7},` +
		`{"name":"reduce","tasks":1,"edges":[{"from":"map","kind":"scatter_gather"}],"output_bytes":3,"skew":0.5}]}`
	return strings.Replace(good, old, with, 1) + "\n"
}

func TestReadErrors(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		old, with string
		reason    workload.Reason
		at        string // the text at the column
		want      string
	}{
		"unknown key":               {`"user"`, `"owner"`, workload.ReasonKey, `"owner"`, `unknown key "owner"; known here: id, name, user, queue, submit_ms, parents, am_ran_on, am_launched_ms, stages`},
		"unknown key of a stage":    {`"output_bytes":3`, `"output":3`, workload.ReasonKey, `"output":3`, `unknown key "output"`},
		"a key of another object":   {`"edges":[{`, `"edges":[{"tasks":1,`, workload.ReasonKey, `"tasks":1,"from"`, `unknown key "tasks"; known here: from, kind`},
		"missing number":            {`"output_bytes":3,`, ``, workload.ReasonMissing, `{"name":"reduce"`, `stages[1]: key "output_bytes" is missing`},
		"measured tasks":            {`"output_bytes":3`, `"output_bytes":3,"measured":[{"compute_ms":1},{"compute_ms":2}]`, workload.ReasonRange, `[{"compute_ms"`, `stages[1].measured: want one entry for each of 1 tasks, has 2`},
		"unknown key of a task":     {`"skew":0.5`, `"measured":[{"ms":1}]`, workload.ReasonKey, `"ms"`, `unknown key "ms"; known here: compute_ms, read_bytes, output_bytes, shuffle_bytes, replicas, ran_on`},
		"measured output":           {`"output_bytes":3,"skew":0.5`, `"output_bytes":3,"measured":[{"output_bytes":4}]`, workload.ReasonRange, `[{"output`, `stages[1].measured: the tasks put out 4 bytes, and the stage 3`},
		"measured input":            {`"output_bytes":3,"skew":0.5`, `"output_bytes":0,"measured":[{"read_bytes":4}]`, workload.ReasonRange, `[{"read`, `stages[1].measured: the tasks read 4 bytes, and the stage 0`},
		"measured and skewed":       {`"output_bytes":3,"skew":0.5`, `"output_bytes":3,"measured":[{"output_bytes":3}],"skew":0.5`, workload.ReasonRange, `0.5}`, `stages[1].skew: what was measured says how uneven the tasks are; leave skew out`},
		"a measured node":           {`"output_bytes":3,"skew":0.5`, `"output_bytes":0,"measured":[{"ran_on":[1]}]`, workload.ReasonRange, `[1]}`, `stages[1].measured[0].ran_on: want a rack and the number of a node in it, as in [1,3]`},
		"a measured node of rack 0": {`"output_bytes":3,"skew":0.5`, `"output_bytes":0,"measured":[{"replicas":[[1,2],[0,2]]}]`, workload.ReasonRange, `0,2]]`, `stages[1].measured[0].replicas[1][0]: want 1 to 2147483647, is 0`},
		"measured, and two files":   {`"output_bytes":7`, `"output_bytes":7,"measured":[{},{}]`, workload.ReasonRange, `[{"bytes"`, `stages[0].reads: tasks that were measured read one file, which may stand for several`},
		"missing stages":            {`"submit_ms":5,`, ``, workload.ReasonMissing, `{"id"`, `key "submit_ms" is missing`},
		"negative":                  {`"submit_ms":5`, `"submit_ms":-5`, workload.ReasonNegative, `-5`, `submit_ms: is -5, below zero`},
		"negative bytes":            {`{"bytes":4`, `{"bytes":-4`, workload.ReasonNegative, `-4`, `stages[0].reads[1].bytes: is -4, below zero`},
		"zero tasks":                {`"tasks":1`, `"tasks":0`, workload.ReasonZeroTasks, `0,"edges"`, `stages[1].tasks: a stage has at least one task`},
		"negative tasks":            {`"tasks":1`, `"tasks":-1`, workload.ReasonNegative, `-1,"edges"`, `stages[1].tasks: is -1`},
		"no stages":                 {`"stages":[`, `"stages":[],"name":[`, workload.ReasonSyntax, `[{"name":"map"`, `name: want a string, is array`},
		"a fraction of a byte":      {`{"bytes":4`, `{"bytes":4.5`, workload.ReasonNumber, `4.5`, `stages[0].reads[1].bytes: want a whole number, is 4.5`},
		"a number in quotes":        {`"submit_ms":5`, `"submit_ms":"5"`, workload.ReasonNumber, `"5"`, `submit_ms: want a whole number, is string`},
		"null":                      {`"submit_ms":5`, `"submit_ms":null`, workload.ReasonMissing, `{"id"`, `key "submit_ms" is missing`},
		"a number beyond 64 bits":   {`"submit_ms":5`, `"submit_ms":99999999999999999999`, workload.ReasonRange, `9999`, `submit_ms: want a whole number that fits into 64 bits, is 99999999999999999999`},
		"a word for a list":         {`"parents":[]`, `"parents":"a"`, workload.ReasonSyntax, `"a","stages"`, `parents: want a list, is string`},
		"a parent that is later":    {`"parents":[]`, `"parents":["b"]`, workload.ReasonParent, `"b"`, `parents[0]: no earlier job is called "b"; a parent stands before its children`},
		"its own parent":            {`"parents":[]`, `"parents":["a"]`, workload.ReasonParent, `"a"]`, `parents[0]: no earlier job is called "a"`},
		"an edge from later":        {`"from":"map"`, `"from":"sink"`, workload.ReasonEdge, `"sink"`, `stages[1].edges[0].from: no earlier stage is called "sink"; stages stand in topological order`},
		"an edge from itself":       {`"from":"map"`, `"from":"reduce"`, workload.ReasonEdge, `"reduce","kind"`, `stages[1].edges[0].from: no earlier stage is called "reduce"`},
		"unknown kind of edge":      {`scatter_gather`, `shuffle`, workload.ReasonRange, `"shuffle"`, `stages[1].edges[0].kind: want one of [scatter_gather one_to_one broadcast], is "shuffle"`},
		"two places":                {`"racks":1`, `"racks":1,"parent":"p"`, workload.ReasonKey, `{"bytes":10`, `stages[0].reads[0]: say racks, shares, parent or node, and only one of them`},
		"a node without a number":   {`"racks":1`, `"node":[1]`, workload.ReasonRange, `[1]`, `stages[0].reads[0].node: want a rack and the number of a node in it, as in [1,3]`},
		"three numbers of a node":   {`"racks":1`, `"node":[1,2,3]`, workload.ReasonRange, `[1,2,3]`, `stages[0].reads[0].node: want a rack and the number of a node in it, as in [1,3]`},
		"rack 0 of a node":          {`"racks":1`, `"node":[0,2]`, workload.ReasonRange, `0,2`, `stages[0].reads[0].node[0]: want 1 to`},
		"node and racks":            {`"racks":1`, `"racks":1,"node":[1,2]`, workload.ReasonKey, `{"bytes":10`, `stages[0].reads[0]: say racks, shares, parent or node, and only one of them`},
		"one to one of two":         {`scatter_gather`, `one_to_one`, workload.ReasonEdge, `"one_to_one"`, `stages[1].edges[0].kind: one_to_one joins stages of as many tasks, not 2 and 1`},
		"no racks":                  {`"racks":1`, `"racks":0`, workload.ReasonRange, `0},{"bytes":4`, `stages[0].reads[0].racks: want 1 to`},
		"half the shares":           {`[0.5,0.5]`, `[0.5]`, workload.ReasonRange, `[0.5]`, `stages[0].reads[1].shares: their sum is 1, not 0.5`},
		"a negative share":          {`[0.5,0.5]`, `[1.5,-0.5]`, workload.ReasonRange, `1.5`, `stages[0].reads[1].shares[0]: want 0 to 1, is 1.5`},
		"a parent that is none":     {`"racks":1`, `"parent":"p"`, workload.ReasonParent, `"parents":[]`, `stages[0].reads[0].parent: is not among the job's parents`},
		"more files than tasks":     {`"tasks":2`, `"tasks":1`, workload.ReasonRange, `[{"bytes":10`, `stages[0].reads: 2 files for 1 tasks`},
		"too much skew":             {`0.5}]`, `9}]`, workload.ReasonRange, `9}]`, `stages[1].skew: want 0 to 8, is 9`},
		"a stage name twice":        {`"name":"reduce"`, `"name":"map"`, workload.ReasonDuplicate, `"map","tasks":1`, `stages[1].name: an earlier stage is called "map" too`},
		"an empty user":             {`"user":"u"`, `"user":""`, workload.ReasonMissing, `"","submit_ms"`, `user: is empty`},
		"an id that is taken":       {`"id":"a"`, `"id":"p"`, workload.ReasonDuplicate, `"p"`, `id: an earlier job is called "p" too`},
		"before the one above":      {`"submit_ms":5`, `"submit_ms":1`, workload.ReasonOrder, `1,"parents"`, `submit_ms: 1 ms is before the job above at 2 ms`},
		"no object":                 {strings.TrimSpace(job("", "")), "[]", workload.ReasonSyntax, `[]`, `want an object, is array`},
		"no JSON":                   {`"id":`, `"id";`, workload.ReasonSyntax, `;`, `no JSON: `},
		"cut off":                   {`"skew":0.5}]}`, `"skew":0.5`, workload.ReasonSyntax, ``, `the line ends within an object`},
		"two objects":               {`0.5}]}`, `0.5}]} {}`, workload.ReasonSyntax, ` {}`[1:], `something follows the object; write one object a line`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first := `{"id":"p","user":"u","submit_ms":2,"stages":[{"name":"map","tasks":1,"output_bytes":1}]}` + "\n"
			line := job(tc.old, tc.with)
			text := header + first + line
			if name == "a parent that is none" {
				tc.at = `"p"}`
			}
			_, err := read(text, false)
			var at *workload.RecordError
			if !errors.As(err, &at) {
				t.Fatalf("got %v, want %s", err, tc.want)
			}
			column := strings.Index(line, tc.at) + 1
			if tc.at == "" {
				column = len(line)
			}
			if want := fmt.Sprintf("w.jsonl:3:%d: %s", column, tc.want); !strings.HasPrefix(err.Error(), want) || at.Reason != tc.reason {
				t.Errorf("got  %v (%s)\nwant %s (%s)\nin %s", err, at.Reason, want, tc.reason, line)
			}
			w, err := read(text, true)
			if err != nil || len(w.Jobs) != 1 || len(w.Skipped) != 1 || w.Skipped[0] != (workload.Skip{Reason: tc.reason, Count: 1, Line: 3}) {
				t.Errorf("lenient: got %+v, %v", w, err)
			}
		})
	}
}

// A reader that leaves a job out leaves its children out too.
func TestLenientDropsChildren(t *testing.T) {
	t.Parallel()
	line := func(id, parents string, tasks int) string {
		return fmt.Sprintf(`{"id":%q,"user":"u","submit_ms":0,"parents":[%s],"stages":[{"name":"map","tasks":%d,"output_bytes":1}]}`+"\n", id, parents, tasks)
	}
	w, err := read(header+line("a", ``, 1)+line("b", ``, 0)+line("c", `"b"`, 1)+line("d", `"c"`, 1)+line("e", `"a"`, 1), true)
	if err != nil {
		t.Fatal(err)
	}
	want := []workload.Skip{{Reason: workload.ReasonZeroTasks, Count: 1, Line: 3}, {Reason: workload.ReasonParent, Count: 2, Line: 4}}
	if diff := cmp.Diff(want, w.Skipped); diff != "" || len(w.Jobs) != 2 || w.Jobs[1].Parents[0] != 0 {
		t.Errorf("got %+v; skipped (-want +got):\n%s", w.Jobs, diff)
	}
}

func TestReadHeader(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                `w.jsonl is empty; its first line is a header such as {"format":1,"kind":"workload"}`,
		`{"format":2,"kind":"workload"}`:  "w.jsonl:1:11: format 2; this version reads format 1",
		`{"format":1}`:                    `w.jsonl:1:1: kind ""; want "workload"`,
		`{"format":1,"kind":"recording"}`: `w.jsonl:1:20: kind "recording"; want "workload"`,
		`{"format":1,"kind":"workload","jobs":7}`: `w.jsonl:1:31: unknown key "jobs"; want a header such as {"format":1,"kind":"workload","name":"…"} and no other key`,
		`{"id":"a"}`:                                `w.jsonl:1:2: unknown key "id"`,
		`{"format":"1","kind":"workload"}`:          `w.jsonl:1:11: format: want a whole number, is string`,
		"{\"format\":1,\"kind\":\"work\xffload\"}":  `w.jsonl:1:25: not UTF-8`,
		`{"format":1,"kind":"workload"`:             `w.jsonl:1:30: the line ends within an object`,
		"\n\n" + `{"format":1,"kind":"x"}`:          `w.jsonl:3:20: kind "x"`,
		"job0\t9\t9\t1762\t0\t14347":                `w.jsonl:1:1: no JSON`,
		strings.Repeat(" ", workload.MaxLine) + "{": `w.jsonl:1:1: 4194305 bytes`,
	} {
		for _, lenient := range []bool{false, true} {
			if _, err := read(text, lenient); err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
		}
	}
	w, err := read(`{"kind":"workload","format":1}`, false)
	if err != nil || len(w.Jobs) != 0 || w.Name != "" {
		t.Errorf("a workload without jobs: got %+v, %v", w, err)
	}
}

// workloads draws valid workloads that use everything the format can say.
func workloads() *rapid.Generator[*workload.Workload] {
	return rapid.Custom(func(t *rapid.T) *workload.Workload {
		w := &workload.Workload{Name: rapid.String().Draw(t, "name")}
		var at model.Time
		for i := range rapid.IntRange(0, 5).Draw(t, "jobs") {
			at += model.Time(rapid.Int64Range(0, 1<<40).Draw(t, "gap"))
			w.Jobs = append(w.Jobs, drawJob(t, i, at))
		}
		return w
	})
}

func drawJob(t *rapid.T, i int, at model.Time) workload.Job {
	j := workload.Job{
		ID:     workload.JobID(fmt.Sprint(i, rapid.String().Draw(t, "id"))),
		Name:   rapid.String().Draw(t, "job name"),
		User:   model.UserID("u" + rapid.String().Draw(t, "user")),
		Queue:  model.QueueID("q" + rapid.String().Draw(t, "queue")),
		Submit: at,
	}
	if rapid.Bool().Draw(t, "AM") {
		j.AMRanOn = workload.Node{Rack: rapid.IntRange(1, 9).Draw(t, "AM rack"), Number: rapid.IntRange(1, 9).Draw(t, "AM number")}
	}
	for p := range i {
		if rapid.Bool().Draw(t, "parent") {
			j.Parents = append(j.Parents, p)
		}
	}
	for k := range rapid.IntRange(1, 4).Draw(t, "stages") {
		s := workload.Stage{
			Name:      model.Stage(fmt.Sprint(k, rapid.String().Draw(t, "stage name"))),
			Tasks:     rapid.IntRange(3, workload.MaxTasks).Draw(t, "tasks"),
			Output:    model.Bytes(rapid.Int64Range(0, int64(workload.MaxBytes)).Draw(t, "output")),
			Cost:      workload.Cost{Fixed: model.Duration(rapid.Int64Range(0, workload.MaxCost).Draw(t, "fixed")), PerGiB: model.Duration(rapid.Int64Range(0, workload.MaxCost).Draw(t, "per GiB"))},
			Start:     model.Duration(rapid.Int64Range(0, workload.MaxCost).Draw(t, "start")),
			Container: model.Resource{MemoryMiB: rapid.Int64Range(1, 1<<31-1).Draw(t, "memory"), VCores: rapid.Int64Range(1, 1<<31-1).Draw(t, "cores")},
			Skew:      rapid.Float64Range(0, workload.MaxSkew).Draw(t, "skew"),
		}
		for from := range k {
			if rapid.Bool().Draw(t, "edge") {
				e := workload.Edge{From: from, Kind: rapid.SampledFrom(model.EdgeKinds()).Draw(t, "kind")}
				if e.Kind == model.OneToOne && j.Stages[from].Tasks != s.Tasks {
					e.Kind = model.ScatterGather
				}
				s.Edges = append(s.Edges, e)
			}
		}
		for range rapid.IntRange(0, 3).Draw(t, "files") {
			s.Reads = append(s.Reads, drawFile(t, j.Parents))
		}
		if len(s.Reads) < 2 && !slices.ContainsFunc(s.Edges, func(e workload.Edge) bool { return e.Kind == model.OneToOne }) && rapid.Bool().Draw(t, "measured") {
			measure(t, &s)
		}
		j.Stages = append(j.Stages, s)
	}
	return j
}

// measure draws what the tasks of a stage were measured to do.
func measure(t *rapid.T, s *workload.Stage) {
	bytes := rapid.Int64Range(0, 1<<40)
	node := rapid.Custom(func(t *rapid.T) workload.Node {
		return workload.Node{Rack: rapid.IntRange(1, 9).Draw(t, "rack"), Number: rapid.IntRange(1, 9).Draw(t, "number")}
	})
	var read model.Bytes
	s.Skew, s.Output, s.Tasks = 0, 0, rapid.IntRange(1, 4).Draw(t, "measured tasks")
	for range s.Tasks {
		m := workload.Measured{
			Compute: model.Duration(rapid.Int64Range(0, workload.MaxCost).Draw(t, "compute")), Output: model.Bytes(bytes.Draw(t, "put out")),
			Shuffled: model.Bytes(bytes.Draw(t, "fetched")), Replicas: rapid.SliceOfN(node, 0, 3).Draw(t, "replicas"),
		}
		if rapid.Bool().Draw(t, "ran") {
			m.RanOn = node.Draw(t, "ran on")
		}
		if len(s.Reads) > 0 {
			m.Read = model.Bytes(bytes.Draw(t, "read"))
		}
		read, s.Output = read+m.Read, s.Output+m.Output
		s.Measured = append(s.Measured, m)
	}
	if len(s.Reads) > 0 {
		s.Reads[0].Bytes = read
	}
}

func drawFile(t *rapid.T, parents []int) workload.File {
	f := workload.File{Bytes: model.Bytes(rapid.Int64Range(0, int64(workload.MaxBytes)).Draw(t, "bytes"))}
	switch rapid.IntRange(0, 4).Draw(t, "place") {
	case 1:
		f.Place, f.Racks = workload.OnRacks, rapid.IntRange(1, 1000).Draw(t, "racks")
	case 2:
		share := rapid.Float64Range(0, 1).Draw(t, "share")
		f.Place, f.Shares = workload.ByShares, []float64{share, 1 - share}
	case 3:
		if len(parents) > 0 {
			f.Place, f.Parent = workload.OfParent, rapid.SampledFrom(parents).Draw(t, "of parent")
		}
	case 4:
		f.Place, f.Node = workload.OnNode, workload.Node{Rack: rapid.IntRange(1, 1000).Draw(t, "rack"), Number: rapid.IntRange(1, 1000).Draw(t, "node")}
	}
	return f
}

// What is written is read back as it was.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := workloads().Draw(t, "workload")
		var out bytes.Buffer
		if err := workload.Write(&out, w); err != nil {
			t.Fatal(err)
		}
		back, err := read(out.String(), false)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(w, back, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("(-written +read):\n%s", diff)
		}
	})
}

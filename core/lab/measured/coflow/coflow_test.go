package coflow_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/core/lab/measured/coflow"
	"heddle/core/lab/workload"
	"heddle/core/model"
)

// sample is in the form of FB2010-1Hr-150-0.txt.
const sample = "150 3\n1 0 1 22 1 65:1.0\n2 10833 2 104 132 1 140:48.0\n56 250568 3 12 25 25 2 0:24.0 149:0.5\n"

func TestRead(t *testing.T) {
	t.Parallel()
	got, err := coflow.Read(strings.NewReader(sample), coflow.Options{File: "f", Name: "fb"})
	if err != nil {
		t.Fatal(err)
	}
	if got.Racks != 150 || len(got.Workload.Jobs) != 3 || got.Workload.Name != "fb" {
		t.Fatalf("%+v", got)
	}
	size := workload.DefaultSizing().Container
	on := func(rack int) workload.Node { return workload.Node{Rack: rack, Number: 1} }
	third := (24*model.MiB + model.MiB/2) / 3 // 25,690,112 bytes are 3 · 8,563,370 + 2
	want := workload.Job{
		ID: "coflow-56", User: "coflow", Queue: "root.default", Submit: 250568,
		Stages: []workload.Stage{
			{Name: "map", Tasks: 3, Output: 24*model.MiB + model.MiB/2, Container: size, Measured: []workload.Measured{
				{Output: third + 1, RanOn: on(13)}, {Output: third + 1, RanOn: on(26)}, {Output: third, RanOn: on(26)},
			}},
			{Name: "reduce", Tasks: 2, Container: size, Edges: []workload.Edge{{Kind: model.ScatterGather}}, Measured: []workload.Measured{
				{Shuffled: 24 * model.MiB, RanOn: on(1)}, {Shuffled: model.MiB / 2, RanOn: on(150)},
			}},
		},
	}
	if diff := cmp.Diff(want, got.Workload.Jobs[2]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	free, err := coflow.Read(strings.NewReader("\r"+strings.ReplaceAll(sample, "\n", " \r\n\r\n")), coflow.Options{Anywhere: true})
	if err != nil || free.Workload.Jobs[0].Stages[0].Measured[0].RanOn != (workload.Node{}) {
		t.Errorf("%+v, %v", free, err)
	}
}

func TestReadErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{ // order-free: each on its own
		"":                                    "f:1:1: the line ends before the number of ports",
		"150\n":                               "f:1:4: the line ends before the number of coflows",
		"0 1\n":                               `f:1:1: the number of ports: "0" is no whole number from 1 to 10000`,
		"5 2\n1 0 1 2 1 3:1\n":                "f:3:1: the trace ends before the number of coflows that line 1 says",
		"5 1\n1 0 1 2 1 3:1\n2":               "f:3:1: there is more than the 1 coflows that line 1 says",
		"5 1\n1 0 1 2 1 3:1 4:2\n":            "f:2:15: there is more than the 1 coflows",
		"5 2\n1 0 1 2 1 3:1 4:2\n":            "f:2:15: there is more on the line than it says",
		"5 1\n1 0 1 5 1 3:1\n":                `f:2:7: the port of a mapper: "5" is no whole number from 0 to 4`,
		"5 1\n1 0 1 2 2 3:1\n":                "f:2:14: the line ends before a reducer",
		"5 1\n1 0 1 2 1 3\n":                  `f:2:11: "3": want a reducer, as its port and the MiB it fetches, such as 12:34.5`,
		"5 1\n1 0 1 2 1 9:1\n":                `f:2:11: the port of a reducer: "9" is no whole number from 0 to 4`,
		"5 1\n1 0 1 2 1 3:NaN\n":              `f:2:11: the MiB of a reducer: "NaN" is no number`,
		"5 1\n1 -1 1 2 1 3:1\n":               `f:2:3: when it arrives, in milliseconds: "-1" is no`,
		"5 2\n1 0 1 2 1 3:1\n1 0 1 2 1 3:1\n": "f:3:11: an earlier coflow has the id coflow-1 too",
		"5 2\n1 9 1 2 1 3:1\n2 0 1 2 1 3:1\n": "f:3:11: coflow coflow-2 arrives before the one above it",
		"5 1\n" + strings.Repeat("x", 300):    "f:2:1: a word has more than 256 bytes",
	} {
		_, err := coflow.Read(strings.NewReader(text), coflow.Options{File: "f"})
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// FuzzRead holds that any bytes are read as a valid workload or refused with a place in them.
func FuzzRead(f *testing.F) {
	f.Add([]byte(sample))
	f.Add([]byte("5 1\n1 0 1 2 1 3:1e-9\n"))
	f.Add([]byte("5 2\n1 0 99 2 1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := coflow.Read(bytes.NewReader(data), coflow.Options{File: "f"})
		if err == nil {
			if err := got.Workload.Validate(); err != nil {
				t.Fatal(err)
			}
			return
		}
		var at *coflow.Error
		if errors.As(err, &at) && (at.Line < 1 || at.Line > 1+bytes.Count(data, []byte("\n")) || at.Column < 1 || at.Column > len(data)+1) {
			t.Fatalf("%v points at line %d, column %d", err, at.Line, at.Column)
		}
	})
}

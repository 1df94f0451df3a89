package policyflag_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/cmd/heddle/internal/policyflag"
	"heddle/cmd/heddle/internal/policylist"
)

// asked returns the policies of a command line: label and the parameters that were given.
func asked(t *testing.T, list string, params ...string) []string {
	t.Helper()
	all, err := policyflag.Parse(list, params)
	if err != nil {
		t.Fatalf("%s %v: %v", list, params, err)
	}
	var got []string
	for _, p := range all {
		got = append(got, p.Label+" "+string(p.Given))
	}
	return got
}

func TestParsePolicies(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		list   string
		params []string
		want   []string
	}{
		{"fair", nil, []string{"fair {}"}},
		{" fair , nas", nil, []string{"fair {}", "nas {}"}},
		{`nas{"map_skips":7,"skips":"count"},fifo`, nil, []string{`nas {"map_skips":7,"skips":"count"}`, "fifo {}"}},
		{`nas { "map_skips": 7 } , nas`, nil, []string{`nas{"map_skips":7} {"map_skips":7}`, "nas {}"}},
		{`nas,nas{"map_skips":7}`, []string{"nas.skips=count"}, []string{`nas{"skips":"count"} {"skips":"count"}`, `nas{"map_skips":7,"skips":"count"} {"map_skips":7,"skips":"count"}`}},
		{"nas", []string{"nas.map_skips=7", `nas.skips="count"`, "nas.map_skips=8"}, []string{`nas {"map_skips":8,"skips":"count"}`}},
		{"delay", []string{"delay.mode=yarn", "delay.locality.threshold.node=0.5"}, []string{`delay {"locality.threshold.node":0.5,"mode":"yarn"}`}},
	} {
		if diff := cmp.Diff(tt.want, asked(t, tt.list, tt.params...)); diff != "" {
			t.Errorf("%s %v (-want +got):\n%s", tt.list, tt.params, diff)
		}
	}
}

// A result has all parameters of a policy: those given, and the defaults of the others.
func TestParams(t *testing.T) {
	t.Parallel()
	list, err := policylist.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		all, err := policyflag.Parse(p.Name, nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(p.Params), string(all[0].All)); diff != "" {
			t.Errorf("%s without parameters (-defaults +got):\n%s", p.Name, diff)
		}
	}
	all, err := policyflag.Parse("nas", []string{"nas.map_skips=7"})
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(all[0].All, &got); err != nil || got["map_skips"] != 7.0 || got["reduce_skips"] != 135.0 {
		t.Errorf("%s: %v", all[0].All, err)
	}
}

// Any list of policies and any parameter is read, or refused with an error.
func FuzzParsePolicies(f *testing.F) {
	f.Add("fair,delay", "delay.mode=yarn")
	f.Add(`nas{"map_skips":7,"skips":"count"},nas`, `nas.gamma_remote=4`)
	f.Add(`capacity{"queues":{"root.a":{"capacity":30}}}`, "capacity.x={")
	f.Fuzz(func(t *testing.T, list, param string) {
		all, err := policyflag.Parse(list, []string{param})
		if err != nil {
			return
		}
		labels := map[string]bool{}
		for _, p := range all {
			if labels[p.Label] || !json.Valid(p.Given) || !json.Valid(p.All) {
				t.Fatalf("%+v", p)
			}
			labels[p.Label] = true
			if _, err := p.Build(); err != nil {
				t.Fatalf("%s: %v", p.Label, err)
			}
		}
	})
}

// A name of more stands for itself.
func TestParseMore(t *testing.T) {
	t.Parallel()
	all, err := policyflag.Parse("recorded,nas", nil, "recorded")
	if err != nil || len(all) != 2 || all[0].Label != "recorded" || all[0].Build != nil {
		t.Errorf("%+v, %v", all, err)
	}
	if _, err := policyflag.Parse(`recorded{"a":1}`, nil, "recorded"); err == nil {
		t.Error("parameters of recorded are taken")
	}
	if _, err := policyflag.Parse("recorded", nil); err == nil {
		t.Error("recorded is a policy")
	}
}

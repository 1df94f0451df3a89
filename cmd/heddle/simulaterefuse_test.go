package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// asked returns the policies of a command line: label and the parameters that were given.
func asked(t *testing.T, list string, params ...string) []string {
	t.Helper()
	all, err := parsePolicies(list, params)
	if err != nil {
		t.Fatalf("%s %v: %v", list, params, err)
	}
	var got []string
	for _, p := range all {
		got = append(got, p.label+" "+string(p.given))
	}
	return got
}

func TestSimulatePolicies(t *testing.T) {
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

// A result says all parameters of a policy: those given, and the defaults of the others.
func TestSimulateParams(t *testing.T) {
	t.Parallel()
	list, err := listPolicies()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		all, err := parsePolicies(p.Name, nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(p.Params), string(all[0].all)); diff != "" {
			t.Errorf("%s without parameters (-defaults +got):\n%s", p.Name, diff)
		}
	}
	all, err := parsePolicies("nas", []string{"nas.map_skips=7"})
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(all[0].all, &got); err != nil || got["map_skips"] != 7.0 || got["reduce_skips"] != 135.0 {
		t.Errorf("%s: %v", all[0].all, err)
	}
	base := []string{"--workload", simSynth, "--cluster", simCluster4, "--policies", `nas{"map_skips":0,"skips":"count"},nas`}
	a := simulated(t, base...)
	if diff := cmp.Diff(a.Runs[0].Locality, a.Runs[1].Locality); diff == "" {
		t.Error("a parameter changes nothing")
	}
}

// Any list of policies and any parameter is read, or refused with an error.
func FuzzSimulatePolicies(f *testing.F) {
	f.Add("fair,delay", "delay.mode=yarn")
	f.Add(`nas{"map_skips":7,"skips":"count"},nas`, `nas.gamma_remote=4`)
	f.Add(`capacity{"queues":{"root.a":{"capacity":30}}}`, "capacity.x={")
	f.Fuzz(func(t *testing.T, list, param string) {
		all, err := parsePolicies(list, []string{param})
		if err != nil {
			return
		}
		labels := map[string]bool{}
		for _, p := range all {
			if labels[p.label] || !json.Valid(p.given) || !json.Valid(p.all) {
				t.Fatalf("%+v", p)
			}
			labels[p.label] = true
			if _, err := p.build(p.given); err != nil {
				t.Fatalf("%s: %v", p.label, err)
			}
		}
	})
}

func TestSimulateRefuses(t *testing.T) {
	t.Parallel()
	good := writeFile(t, "two.jsonl", simJobs)
	on := func(rest string) string { return "--workload " + good + " --cluster " + simCluster1 + " " + rest }
	far := writeFile(t, "far.jsonl", `{"format":1,"kind":"workload","name":"far"}
{"id":"a","user":"ann","submit_ms":0,"stages":[{"name":"m","tasks":1,"output_bytes":1},{"name":"r","tasks":1,"reads":[{"bytes":1,"node":[1,9]}],"edges":[{"from":"m","kind":"broadcast"}],"output_bytes":1}]}
`)
	for _, tt := range []struct {
		args string
		code int
		says string
	}{
		{"", exitUsage, "--workload: name a SWIM trace"},
		{"--workload " + good, exitUsage, "--cluster: name a YAML file"},
		{on(""), exitUsage, "--policies: name at least one"},
		{on("--policies fair,"), exitUsage, "--policies: name at least one"},
		{on("--policies fare"), exitUsage, `policy "fare": unknown, want one of [capacity dawn delay`},
		{on("--policies fair,fair"), exitUsage, "fair is there twice"},
		{on(`--policies nas{"map_skips":1},nas{"map_skips":1}`), exitUsage, `nas{"map_skips":1} is there twice`},
		{on(`--policies nas{"map_skips":`), exitUsage, `parameters of nas, at character 13 of {"map_skips":`},
		{on(`--policies nas{"map_skips":1]`), exitUsage, `parameters of nas, at character 15 of`},
		{on(`--policies nas{}x`), exitUsage, `"x" after the parameters of nas: want a comma`},
		{on(`--policies nas{"nosuch":1}`), exitUsage, `unknown field "nosuch"`},
		{on(`--policies nas{"map_skips":-1}`), exitUsage, "map_skips"},
		{on("--policies nas --param nas.map_skips=many"), exitUsage, "map_skips"},
		{on("--policies nas --param fair.x=1"), exitUsage, "--param fair.x=1: fair is not among --policies"},
		{on("--policies nas --param nas=1"), exitUsage, "want POLICY.KEY=VALUE"},
		{on("--policies nas --param nas.x"), exitUsage, "want POLICY.KEY=VALUE"},
		{on(`--policies nas --param nas.skips.x=1`), exitUsage, `unknown field "skips.x"`},
		{on("--policies fair --seed 1,x"), exitUsage, `--seed "x": want whole numbers`},
		{on("--policies fair --seed -1"), exitUsage, `--seed "-1"`},
		{on("--policies fair --seed 2,2"), exitUsage, "--seed 2: given twice"},
		{on("--policies fair --seed="), exitUsage, "--seed: give at least one"},
		{on("--policies fair --jobs -1"), exitUsage, "--jobs -1"},
		{on("--policies fair --slowstart 1.5"), exitUsage, "--slowstart 1.5: must be from 0 to 1"},
		{on("--policies fair --slowstart NaN"), exitUsage, "--slowstart NaN"},
		{on("--policies fair --parallel-copies 0"), exitUsage, "--parallel-copies 0: must be from 1 to 1000"},
		{on("--policies fair --straggler 0.1"), exitUsage, `--straggler "0.1": want a part`},
		{on("--policies fair --straggler 0.1,0.5"), exitUsage, `--straggler "0.1,0.5"`},
		{on("--policies fair --straggler NaN,2"), exitUsage, `--straggler "NaN,2"`},
		{on("--policies fair --lose rack=1"), exitUsage, `--lose "rack=1": no at; want a rack or a node of one`},
		{on("--policies fair --lose at=1s"), exitUsage, `--lose "at=1s": give one of rack and node`},
		{on("--policies fair --lose rack=1,node=1/1,at=1s"), exitUsage, "give one of rack and node"},
		{on("--policies fair --lose rack=0,at=1s"), exitUsage, "rack=0: not a number from 1 on"},
		{on("--policies fair --lose node=1,at=1s"), exitUsage, "node=1: not a number from 1 on"},
		{on("--policies fair --lose rack=1,at=1"), exitUsage, "at=1: not a time"},
		{on("--policies fair --lose rack=1,at=1500us"), exitUsage, "at=1500us: not a time in whole milliseconds"},
		{on("--policies fair --lose rack=1,at=1s,for=0s"), exitUsage, "for=0s: not above 0"},
		{on("--policies fair --lose rack=1,at=1s,at=2s"), exitUsage, "at is there twice"},
		{on("--policies fair --lose rack=1,at=1s,until=2s"), exitUsage, "until=2s: not a key"},
		{on("--policies fair --lose rack=2,at=1s"), exitFailed, "fair, seed 1: loss: the cluster has no rack 2"},
		{on("--policies fair --lose rack=1,at=1s"), exitFailed, "every node is lost and none comes back"},
		{on("--policies fair --heartbeat 0s"), exitUsage, "--heartbeat 0s"},
		{on("--policies fair --heartbeat 1500us"), exitUsage, "--heartbeat 1.5ms"},
		{on("--policies fair -o xml"), exitUsage, "want table or json"},
		{on("--policies fair extra"), exitUsage, "extra"},
		{"--workload /no/such.tsv --policies fair --cluster " + simCluster1, exitFailed, "/no/such.tsv"},
		{"--workload synth:nosuch --policies fair --cluster " + simCluster1, exitUsage, "there are dawn-ml"},
		{"--workload " + writeFile(t, "bad.tsv", "m\t0\t0\t60\t0\t0\nx\t1\t1\t-5\t0\t0\n") + " --policies fair --cluster " + simCluster1, exitFailed, "bad.tsv:2:7: "},
		{"--workload " + far + " --policies fair --cluster " + simCluster1, exitFailed, "fair, seed 1: job a: reads a file on node 9 of rack 1, and the cluster has no such node"},
		{"--workload " + good + " --policies fair --cluster /no/such.yml", exitFailed, "--cluster: /no/such.yml: read the cluster"},
		{"--workload " + good + " --policies fair --cluster " + writeFile(t, "a=b.yml", "racks: 3\nnodes: few\n"), exitFailed, `a=b.yml:2: nodes: "few": want a whole number`},
		{"--workload " + good + " --policies fair --cluster nodes=4,containers=2,uplink=1Gbps,nic=1Gbps", exitUsage, "flag --cluster: racks: not given"},
	} {
		code, out, errs := heddle(t, append([]string{"simulate"}, strings.Fields(tt.args)...)...)
		if code != tt.code || out != "" || !strings.Contains(errs, tt.says) {
			t.Errorf("%s: exit %d, want %d with %q\n%s%s", tt.args, code, tt.code, tt.says, out, errs)
		}
	}
}

func TestSimulateLenient(t *testing.T) {
	t.Parallel()
	file := writeFile(t, "odd.tsv", "m\t0\t0\t60\t0\t0\nx\t1\t1\t-5\t0\t0\n")
	code, out, errs := heddle(t, "simulate", "--workload", file, "--cluster", simCluster1, "--policies", "fair", "--lenient", "-o", "json")
	if code != exitOK || !strings.Contains(errs, "left out 1 records, the first on line 2: negative") || !strings.Contains(out, `"reason": "negative"`) {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
}

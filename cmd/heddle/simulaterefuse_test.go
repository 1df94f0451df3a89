package main

import (
	"strings"
	"testing"

	"heddle/cmd/heddle/internal/exit"

	"github.com/google/go-cmp/cmp"
)

// Parameters change what a policy does.
func TestSimulateParams(t *testing.T) {
	t.Parallel()
	base := []string{"--workload", simSynth, "--cluster", simCluster4, "--policies", `nas{"map_skips":0,"skips":"count"},nas`}
	a := simulated(t, base...)
	if diff := cmp.Diff(a.Runs[0].Locality, a.Runs[1].Locality); diff == "" {
		t.Error("a parameter changes nothing")
	}
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
		{"", exit.Usage, "--workload: name a SWIM trace"},
		{"--workload " + good, exit.Usage, "--cluster: name a YAML file"},
		{on(""), exit.Usage, "--policies: name at least one"},
		{on("--policies fair,"), exit.Usage, "--policies: name at least one"},
		{on("--policies fare"), exit.Usage, `policy "fare": unknown, want one of [capacity dawn delay`},
		{on("--policies fair,fair"), exit.Usage, "fair is there twice"},
		{on(`--policies nas{"map_skips":1},nas{"map_skips":1}`), exit.Usage, `nas{"map_skips":1} is there twice`},
		{on(`--policies nas{"map_skips":`), exit.Usage, `parameters of nas, at character 13 of {"map_skips":`},
		{on(`--policies nas{"map_skips":1]`), exit.Usage, `parameters of nas, at character 15 of`},
		{on(`--policies nas{}x`), exit.Usage, `"x" after the parameters of nas: want a comma`},
		{on(`--policies nas{"nosuch":1}`), exit.Usage, `unknown field "nosuch"`},
		{on(`--policies nas{"map_skips":-1}`), exit.Usage, "map_skips"},
		{on("--policies nas --param nas.map_skips=many"), exit.Usage, "map_skips"},
		{on("--policies nas --param fair.x=1"), exit.Usage, "--param fair.x=1: fair is not among --policies"},
		{on("--policies nas --param nas=1"), exit.Usage, "want POLICY.KEY=VALUE"},
		{on("--policies nas --param nas.x"), exit.Usage, "want POLICY.KEY=VALUE"},
		{on(`--policies nas --param nas.skips.x=1`), exit.Usage, `unknown field "skips.x"`},
		{on("--policies fair --seed 1,x"), exit.Usage, `--seed "x": want whole numbers`},
		{on("--policies fair --seed -1"), exit.Usage, `--seed "-1"`},
		{on("--policies fair --seed 2,2"), exit.Usage, "--seed 2: given twice"},
		{on("--policies fair --seed="), exit.Usage, "--seed: give at least one"},
		{on("--policies fair --jobs -1"), exit.Usage, "--jobs -1"},
		{on("--policies fair --slowstart 1.5"), exit.Usage, "--slowstart 1.5: must be from 0 to 1"},
		{on("--policies fair --slowstart NaN"), exit.Usage, "--slowstart NaN"},
		{on("--policies fair --parallel-copies 0"), exit.Usage, "--parallel-copies 0: must be from 1 to 1000"},
		{on("--policies fair --straggler 0.1"), exit.Usage, `--straggler "0.1": want a part`},
		{on("--policies fair --straggler 0.1,0.5"), exit.Usage, `--straggler "0.1,0.5"`},
		{on("--policies fair --straggler NaN,2"), exit.Usage, `--straggler "NaN,2"`},
		{on("--policies fair --lose rack=1"), exit.Usage, `--lose "rack=1": no at; want a rack or a node of one`},
		{on("--policies fair --lose at=1s"), exit.Usage, `--lose "at=1s": give one of rack and node`},
		{on("--policies fair --lose rack=1,node=1/1,at=1s"), exit.Usage, "give one of rack and node"},
		{on("--policies fair --lose rack=0,at=1s"), exit.Usage, "rack=0: not a number from 1 on"},
		{on("--policies fair --lose node=1,at=1s"), exit.Usage, "node=1: not a number from 1 on"},
		{on("--policies fair --lose rack=1,at=1"), exit.Usage, "at=1: not a time"},
		{on("--policies fair --lose rack=1,at=1500us"), exit.Usage, "at=1500us: not a time in whole milliseconds"},
		{on("--policies fair --lose rack=1,at=1s,for=0s"), exit.Usage, "for=0s: not above 0"},
		{on("--policies fair --lose rack=1,at=1s,at=2s"), exit.Usage, "at is there twice"},
		{on("--policies fair --lose rack=1,at=1s,until=2s"), exit.Usage, "until=2s: not a key"},
		{on("--policies fair --lose rack=2,at=1s"), exit.Failed, "fair, seed 1: loss: the cluster has no rack 2"},
		{on("--policies fair --lose rack=1,at=1s"), exit.Failed, "every node is lost and none comes back"},
		{on("--policies fair --heartbeat 0s"), exit.Usage, "--heartbeat 0s"},
		{on("--policies fair --heartbeat 1500us"), exit.Usage, "--heartbeat 1.5ms"},
		{on("--policies fair -o xml"), exit.Usage, "want table or json"},
		{on("--policies fair extra"), exit.Usage, "extra"},
		{"--workload /no/such.tsv --policies fair --cluster " + simCluster1, exit.Failed, "/no/such.tsv"},
		{"--workload synth:nosuch --policies fair --cluster " + simCluster1, exit.Usage, "there are dawn-ml"},
		{"--workload " + writeFile(t, "bad.tsv", "m\t0\t0\t60\t0\t0\nx\t1\t1\t-5\t0\t0\n") + " --policies fair --cluster " + simCluster1, exit.Failed, "bad.tsv:2:7: "},
		{"--workload " + far + " --policies fair --cluster " + simCluster1, exit.Failed, "fair, seed 1: job a: stage r names node 9 of rack 1, and the cluster has no such node"},
		{"--workload " + good + " --policies fair --cluster /no/such.yml", exit.Failed, "--cluster: /no/such.yml: read the cluster"},
		{"--workload " + good + " --policies fair --cluster " + writeFile(t, "a=b.yml", "racks: 3\nnodes: few\n"), exit.Failed, `a=b.yml:2: nodes: "few": want a whole number`},
		{"--workload " + good + " --policies fair --cluster nodes=4,containers=2,uplink=1Gbps,nic=1Gbps", exit.Usage, "flag --cluster: racks: not given"},
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
	if code != exit.OK || !strings.Contains(errs, "skipped 1 records, the first on line 2: negative") || !strings.Contains(out, `"reason": "negative"`) {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
}

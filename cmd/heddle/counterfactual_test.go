package main

import (
	"encoding/json"
	"strings"
	"testing"

	"heddle/cmd/heddle/internal/exit"
)

// A recording of a real cluster is simulated, with every task where it ran and under policies, and prints
// section 11's object.
func TestCounterfactual(t *testing.T) {
	t.Parallel()
	code, run, errs := heddle(t, "replay", "testdata/validation/pair.jsonl.zst", "--counterfactual", "--policies", "recorded,fair", "-o", "json")
	if code != exit.OK {
		t.Fatalf("exit %d: %s", code, errs)
	}
	var res struct {
		Format int
		Runs   []struct {
			Policy         string
			Finished       int
			JCT            struct{ Mean float64 } `json:"jct_s"`
			CrossRackBytes struct{ Total int64 }  `json:"cross_rack_bytes"`
		}
		Recording struct {
			Jobs       int
			AsRecorded struct {
				Jobs []struct{ RecordedS, SimulatedS float64 }
				Mean float64
			} `json:"as_recorded"`
		}
	}
	if err := json.Unmarshal([]byte(run), &res); err != nil {
		t.Fatalf("%v in %s", err, run)
	}
	if res.Format != 1 || len(res.Runs) != 2 || res.Runs[0].Policy != "recorded" || res.Runs[0].Finished != 2 || res.Recording.Jobs != 2 {
		t.Errorf("%+v", res)
	}
	if e := res.Recording.AsRecorded; len(e.Jobs) != 2 || e.Mean < -0.1 || e.Mean > 0.1 {
		t.Errorf("as recorded: %+v", e)
	}
}

func TestCounterfactualRefuses(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"--nic: only with --counterfactual":        {"--nic", "1Gbps"},
		"--assert: not with --counterfactual":      {"--counterfactual", "--assert", "a<1"},
		`--uplink "fast": want a rate above 0`:     {"--counterfactual", "--uplink", "fast"},
		"--policies: recorded takes no parameters": {"--counterfactual", "--policies", `recorded{"a":1}`},
		"the recording has no MapReduce job":       {"--counterfactual", "--since", "40s"},
		`--relay: policy "none": unknown`:          {"--counterfactual", "--relay", "none"},
	} {
		code, _, out := heddle(t, append([]string{"replay", cluster}, args...)...)
		if code == 0 || !strings.Contains(out, want) {
			t.Errorf("%v: exit %d, %s; want %s", args, code, out, want)
		}
	}
}

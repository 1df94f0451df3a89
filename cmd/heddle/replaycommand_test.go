package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/cmd/heddle/internal/exit"
	"heddle/cmd/heddle/internal/replaying"
)

// cluster is a recording of a service on a real cluster of three racks; format1 is what the
// demo plays, an older one of format 1, which has no settings.
const (
	cluster = "testdata/cluster.jsonl.zst"
	format1 = "internal/demo/recording.jsonl.zst"
)

// replayYAML has the settings that format1 lacks.
const replayYAML = `resource_manager: {urls: ["http://rm:8088"]}
hdfs: {name_nodes: ["http://nn:9870"]}
uplinks: {capacity: 100Mbps}
`

func replayConfig(t *testing.T) string {
	t.Helper()
	return writeFile(t, "heddle.yml", replayYAML)
}

// TestReplayCommand replays the recording of a real cluster: ShuffleWatcher would have sent no more
// across racks than what was recorded, and no policy less than the least.
func TestReplayCommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	code, out, errs := heddle(t, "replay", cluster, "--policies", "recorded,shufflewatcher,nas", "--report", dir, "-o", "json",
		"--assert", "shufflewatcher.cross_rack_bytes.total <= actual", "--assert", "shufflewatcher.cross_rack_bytes.total >= least")
	if code != exit.OK {
		t.Fatalf("exit %d: %s", code, errs)
	}
	var res replaying.Result
	if err := json.Unmarshal([]byte(out), &res); err != nil {
		t.Fatal(err)
	}
	recorded, sw, nas := &res.Runs[0], &res.Runs[1], &res.Runs[2]
	if res.Recording.Jobs != 2 || sw.Jobs != 2 || sw.Recorded != nas.Recorded || sw.Least != nas.Least {
		t.Errorf("%+v", res)
	}
	if c := recorded.Check; c.Decisions == 0 || c.Equal != c.Decisions || recorded.CrossRack != sw.CrossRack || sw.Check != nil {
		t.Errorf("%+v, %+v", c, recorded)
	}
	if sw.Recorded.Total-sw.CrossRack.Total != sw.Regret.Net || len(res.Assertions) != 2 {
		t.Errorf("%+v", sw)
	}
	lines, err := os.ReadFile(filepath.Join(dir, "applications.jsonl"))
	if err != nil || strings.Count(string(lines), "\n") != 6 {
		t.Errorf("accounts of two applications under three policies: %s, %v", lines, err)
	}
	kept, err := os.ReadFile(filepath.Join(dir, "replay.json"))
	if err != nil || !strings.Contains(string(kept), `"cross_rack_bytes"`) {
		t.Errorf("%s, %v", kept, err)
	}
	if code, out, errs := heddle(t, "replay", format1, "--config", replayConfig(t), "--policies", "shufflewatcher"); code != exit.OK || !strings.Contains(out, "(as recorded)") || !strings.Contains(out, "once a second is assumed") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
}

// Two policies differ where a replay's report shows it; one does not differ from itself.
func TestDiffCommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if code, _, errs := heddle(t, "replay", cluster, "--policies", "recorded,nas", "--report", dir); code != exit.OK {
		t.Fatalf("exit %d: %s", code, errs)
	}
	recorded, nas := filepath.Join(dir, "decisions-1-recorded.jsonl"), filepath.Join(dir, "decisions-2-nas.jsonl")
	if code, out, errs := heddle(t, "diff", cluster, recorded); code != exit.OK || !strings.Contains(out, "no divergence") {
		t.Errorf("a recording and its replay: exit %d: %s%s", code, out, errs)
	}
	code, out, errs := heddle(t, "diff", recorded, nas, "--all")
	if code != exit.Failed || !strings.Contains(errs, "differ") || !strings.Contains(out, "the first at ") || !strings.Contains(out, "COUNT") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	var res replaying.DiffResult
	if code, out, _ := heddle(t, "diff", recorded, nas, "-o", "json"); code != exit.Failed || json.Unmarshal([]byte(out), &res) != nil || res.Divergences == 0 || res.First == nil {
		t.Errorf("exit %d: %s", code, out)
	}
	for _, tt := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"diff", cluster}, exit.Usage, "name two"},
		{[]string{"diff", cluster, nas, "--within", "-1s"}, exit.Usage, "--within"},
		{[]string{"diff", cluster, filepath.Join(dir, "none")}, exit.Failed, "none"},
		{[]string{"diff", cluster, filepath.Join(dir, "applications.jsonl")}, exit.Failed, "want a recording"},
	} {
		if code, _, errs := heddle(t, tt.args...); code != tt.code || !strings.Contains(errs, tt.says) {
			t.Errorf("%v: exit %d: %s", tt.args, code, errs)
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*.tmp")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// docs/offline.md shows what the commands in it print of a recording.
func TestOfflinePage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/offline.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, from := range map[string]string{"cluster.jsonl.zst": cluster, "mix.jsonl.zst": "testdata/validation/mix.jsonl.zst", "pair.jsonl.zst": "testdata/validation/pair.jsonl.zst"} {
		data, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range []string{
		"replay cluster.jsonl.zst --policies recorded,nas,dawn",
		"replay mix.jsonl.zst --counterfactual --policies recorded,capacity,shufflewatcher",
		"replay mix.jsonl.zst --counterfactual --policies recorded,capacity,dawn --relay capacity",
		"replay pair.jsonl.zst --policies shufflewatcher,dawn --assert 'dawn.cross_rack_bytes.total <= shufflewatcher.cross_rack_bytes.total' --assert 'dawn.regret_bytes.lost < 1e6'",
		"replay mix.jsonl.zst --policies shufflewatcher,dawn --assert 'dawn.cross_rack_bytes.total <= shufflewatcher.cross_rack_bytes.total' --assert 'dawn.regret_bytes.lost < 1e6'",
		"replay cluster.jsonl.zst --policies shufflewatcher --assert 'shufflewatcher.cross_rack_bytes.total < 0.9*actual'",
	} {
		if !strings.Contains(string(page), "heddle "+args+"\n") {
			t.Errorf("the page has no %s", args)
		}
		words := shellWords(args)
		words[1] = filepath.Join(dir, words[1])
		_, out, errs := heddle(t, words...)
		shown := errs
		if shown == "" {
			shown = strings.TrimPrefix(out, dir+"/")
		}
		if !strings.Contains(string(page), shown) {
			t.Errorf("%s: the page does not have\n%s", args, shown)
		}
	}
}

// The demo plays the user's own recording as it plays the bundled one.
func TestDemoOnOwnRecording(t *testing.T) {
	t.Parallel()
	after := func(args ...string) string {
		code, out, errs := heddle(t, append([]string{"demo", "--once"}, args...)...)
		if code != exit.OK {
			t.Fatalf("exit %d: %s", code, errs)
		}
		_, tables, _ := strings.Cut(out, "\n")
		return tables
	}
	if own, want := after("--recording", format1), after(); own != want || want == "" {
		t.Errorf("own:\n%s\nbundled:\n%s", own, want)
	}
	if code, _, errs := heddle(t, "demo", "--once", "--recording", "nosuch.jsonl.zst"); code != exit.Failed || !strings.Contains(errs, "nosuch") {
		t.Errorf("exit %d: %s", code, errs)
	}
}

// A failed assertion names both numbers, and nothing else is wrong: exit code 1.
func TestReplayGate(t *testing.T) {
	t.Parallel()
	code, out, errs := heddle(t, "replay", cluster, "--policies", "fair", "--assert", "fair.cross_rack_bytes.total < 0.9*actual", "--assert", "fair.jobs > 1")
	if code != exit.Failed || !strings.Contains(errs, "does not hold: 1.82") || strings.Contains(errs, "fair.jobs") {
		t.Errorf("exit %d: %s", code, errs)
	}
	if !strings.Contains(out, "fair.jobs > 1: holds (2, 1)") {
		t.Error(out)
	}
}

func TestReplayRefuses(t *testing.T) {
	t.Parallel()
	plain := filepath.Join(t.TempDir(), "jobs.jsonl")
	if err := os.WriteFile(plain, []byte(simJobs), 0o600); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(cluster)
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(t.TempDir(), "cut.jsonl.zst")
	if err := os.WriteFile(cut, data[:len(data)*2/3], 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"replay"}, exit.Usage, "name one recording"},
		{[]string{"replay", cluster, cluster}, exit.Usage, "name one recording"},
		{[]string{"replay", cluster, "--policies", ""}, exit.Usage, "--policies"},
		{[]string{"replay", cluster, "--policies", "nosuch"}, exit.Usage, "want one of"},
		{[]string{"replay", cluster, "--policies", "recorded{\"a\":1}"}, exit.Usage, "takes no parameters"},
		{[]string{"replay", cluster, "--policies", "nas", "--since", "yesterday"}, exit.Usage, "--since"},
		{[]string{"replay", cluster, "--policies", "nas", "--assert", "nas.jobs = 2"}, exit.Usage, "column 10"},
		{[]string{"replay", cluster, "--policies", "nas", "--assert", "dawn.jobs > 2"}, exit.Usage, "no policy"},
		{[]string{"replay", format1, "--policies", "nas"}, exit.Failed, "give them with --config"},
		{[]string{"replay", "nosuch.jsonl.zst", "--policies", "nas"}, exit.Failed, "nosuch.jsonl.zst"},
		{[]string{"replay", plain, "--policies", "nas"}, exit.Failed, "heddle simulate --workload"},
		{[]string{"replay", cut, "--policies", "nas"}, exit.Failed, "truncated"},
		{[]string{"replay", cut, "--policies", "nas", "--allow-truncated"}, exit.OK, "what comes before is replayed"},
		{[]string{"simulate", "--workload", cluster, "--cluster", simCluster4, "--policies", "nas"}, exit.Failed, "heddle replay"},
	} {
		code, _, errs := heddle(t, tt.args...)
		if code != tt.code || !strings.Contains(errs, tt.says) {
			t.Errorf("%v: exit %d: %s, want %d and %q", tt.args, code, errs, tt.code, tt.says)
		}
	}
}

// A recording with pseudonyms gives the same figures as the one with names, replayed and simulated,
// and says the same in the demo's views but for names.
func TestPseudonymizeCommand(t *testing.T) {
	t.Parallel()
	const mix = "testdata/validation/mix.jsonl.zst"
	copied := filepath.Join(t.TempDir(), "mix.jsonl.zst")
	code, out, errs := heddle(t, "pseudonymize", mix, "--out", copied)
	if code != exit.OK || out != copied+": 1355 records; pseudonyms for 14 hosts, 4 racks, 1 user, 2 queues, 2 job names, 8 path names, 1 configuration\n" {
		t.Fatalf("exit %d: %s%s", code, out, errs)
	}
	for _, args := range [][]string{
		{"replay", "--policies", "recorded,shufflewatcher,capacity"},
		{"replay", "--policies", "recorded,fair,nas", "--counterfactual"},
	} {
		_, want, _ := heddle(t, append(args, mix)...)
		code, got, errs := heddle(t, append(args, copied)...)
		if want, got = strings.ReplaceAll(want, mix, "FILE"), strings.ReplaceAll(got, copied, "FILE"); code != exit.OK || want != got || len(got) < 500 {
			t.Errorf("%v: exit %d: %s\n%s\nwith names:\n%s", args, code, errs, got, want)
		}
	}
	if code, out, errs := heddle(t, "demo", "--once", "--recording", copied); code != exit.OK || !strings.Contains(out, "1355 records") {
		t.Errorf("demo: exit %d: %s%s", code, out, errs)
	}
	if code, _, errs := heddle(t, "pseudonymize", copied, "--out", copied+".jsonl.zst"); code != exit.Failed || !strings.Contains(errs, "header: the recording has pseudonyms already") {
		t.Errorf("again: exit %d: %s", code, errs)
	}
}

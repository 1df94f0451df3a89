package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/cmd/heddle/internal/exit"
	"heddle/core/lab/counterfactual"
)

const (
	validationPage  = "../../docs/validation.md"
	validationBegin = "<!-- written by go test ./cmd/heddle -run ValidationDoc -update: from here -->\n"
	validationEnd   = "<!-- to there -->\n"
)

// frames is how many times its data a full Ethernet frame is, as the interfaces of the cluster count.
const frames = 1514.0 / 1448

// validated is a recording of a real cluster simulated with every task where it ran.
type validated struct {
	name                 string
	mbits                int
	errors               *counterfactual.Errors
	simulated, counted   float64 // bytes that left racks
	recordedS, simulateS float64 // mean completion times
}

// validate simulates a recording.
func validate(t *testing.T, file string) *validated {
	t.Helper()
	code, out, errs := heddle(t, "replay", file, "--counterfactual", "--policies", "recorded", "-o", "json")
	if code != exit.OK {
		t.Fatalf("exit %d: %s", code, errs)
	}
	var res struct {
		Runs []struct {
			CrossRack struct{ Total float64 } `json:"cross_rack_bytes"`
		}
		Recording struct {
			As *counterfactual.Errors `json:"as_recorded"`
		}
	}
	var uplinks struct {
		Mbits int `json:"uplink_mbit_s"`
		Bytes map[string]struct {
			Out float64
		} `json:"uplink_bytes"`
	}
	data, err := os.ReadFile(file + ".uplinks.json")
	if err != nil {
		t.Fatal(err)
	}
	for to, text := range map[any]string{&res: out, &uplinks: string(data)} {
		if err := json.Unmarshal([]byte(text), to); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	v := &validated{name: strings.TrimSuffix(filepath.Base(file), ".jsonl.zst"), mbits: uplinks.Mbits, errors: res.Recording.As, simulated: res.Runs[0].CrossRack.Total}
	for _, u := range uplinks.Bytes {
		v.counted += u.Out / frames
	}
	for _, j := range v.errors.Jobs {
		v.recordedS += j.Recorded / float64(len(v.errors.Jobs))
		v.simulateS += j.Simulated / float64(len(v.errors.Jobs))
	}
	return v
}

// TestValidationDoc simulates the recordings of the real cluster, and compares the table in the page.
func TestValidationDoc(t *testing.T) {
	files, err := filepath.Glob("testdata/validation/*.jsonl.zst")
	if err != nil || len(files) < 4 {
		t.Fatalf("%d recordings: %v", len(files), err)
	}
	var rows, worst strings.Builder
	var off []float64
	for _, file := range files {
		v := validate(t, file)
		fmt.Fprintf(&rows, "| %s | %d | %d | %.1f | %.1f | %+.0f | %.0f | %.1f | %.1f | %+.0f |\n", v.name, v.mbits, len(v.errors.Jobs),
			v.recordedS, v.simulateS, 100*v.errors.Mean, 100*v.errors.Worst, v.counted/1e6, v.simulated/1e6, 100*(v.simulated/v.counted-1))
		for _, j := range v.errors.Jobs {
			off = append(off, max(j.Error, -j.Error))
		}
	}
	slices.Sort(off)
	fmt.Fprintf(&worst, "\nOf %d jobs the completion time is off by %.0f %% in the median and by %.0f %% at most.\n", len(off), 100*off[len(off)/2], 100*off[len(off)-1])
	table := "\n| recording | uplinks, Mbit/s | jobs | mean completion, s | simulated | error % | worst job % | data out of racks, MB | simulated | error % |\n" +
		"|:--|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n" + rows.String() + worst.String() + "\n"
	page, err := os.ReadFile(validationPage)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(page), validationBegin)
	is, after, closed := strings.Cut(rest, validationEnd)
	if !ok || !closed {
		t.Fatal("the page lacks its marks")
	}
	if *update {
		if err := os.WriteFile(validationPage, []byte(before+validationBegin+table+validationEnd+after), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(is, table); diff != "" {
		t.Errorf("docs/validation.md is not what the simulator says; go test ./cmd/heddle -run ValidationDoc -update (-page +simulated):\n%s", diff)
	}
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/cmd/heddle/internal/exit"
	"heddle/core/lab/frontier"
)

// tinyFrontier is a command of two workloads with few jobs.
func tinyFrontier(args ...string) []string {
	return append([]string{"frontier", "--workloads", "fb2010-o5,moving-background", "--policies", "weave,fair,num", "--slowstarts", "0.05,1", "--scale", "0.005", "--seeds", "2"}, args...)
}

// Two small workloads whole: the same result with files of results and without, and a plot of each.
func TestFrontier(t *testing.T) {
	t.Parallel()
	results, plots := t.TempDir(), filepath.Join(t.TempDir(), "new", "plots")
	code, out, errs := heddle(t, tinyFrontier("-o", "json")...)
	var r frontier.Report
	if err := json.Unmarshal([]byte(out), &r); code != exit.OK || err != nil || errs != "" {
		t.Fatalf("exit %d, %v: %s%s", code, err, out, errs)
	}
	if len(r.Results) != 2 || r.Seeds != 2 || r.Scale != 0.005 || len(r.Verdicts) != 4 || len(r.Missing) > 0 {
		t.Errorf("%+v", r)
	}
	for _, res := range r.Results {
		if res.Jobs != 10 || len(res.Comparisons) != 4 || len(res.Variants) != 5 || len(res.Variants[0].Runs) != 2 || res.Variants[0].Runs[1].Spec.Seed != 2 {
			t.Errorf("%s: %d jobs, %d comparisons, %d variants", res.Name, res.Jobs, len(res.Comparisons), len(res.Variants))
		}
	}
	for range 2 { // writes the files, then reads them
		code, again, errs := heddle(t, tinyFrontier("-o", "json", "--results", results, "--plots", plots)...)
		if code != exit.OK || again != out {
			t.Fatalf("exit %d, another result: %s", code, errs)
		}
		if files, err := filepath.Glob(filepath.Join(results, "*")); err != nil || len(files) != 2*5*2 {
			t.Fatalf("%v: %q", err, files)
		}
	}
	for _, name := range []string{"fb2010-o5.svg", "moving-background.svg"} {
		if text, err := os.ReadFile(filepath.Join(plots, name)); err != nil || !strings.Contains(string(text), "<svg ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	code, out, _ = heddle(t, tinyFrontier("--results", results)...)
	if code != exit.OK || !strings.Contains(out, "moving-background  10 ") || !strings.Contains(out, "at or below") {
		t.Errorf("exit %d: %s", code, out)
	}
	code, out, _ = heddle(t, tinyFrontier("--results", results, "-o", "md")...)
	if code != exit.OK || !strings.HasPrefix(out, frontier.Intro) || !strings.Contains(out, "(frontier/moving-background.svg)") {
		t.Errorf("exit %d: %s", code, out)
	}
}

// A run whose file is there is not run again, unless that is asked for; a damaged file ends the command after the
// other runs.
func TestFrontierReusesResults(t *testing.T) {
	t.Parallel()
	results := t.TempDir()
	on := func(args ...string) (int, string, string) {
		t.Helper()
		return heddle(t, append([]string{"frontier", "--workloads", "many-racks", "--policies", "weave,fair", "--slowstarts", "0.8", "--scale", "0.002", "--seeds", "1", "--results", results, "-o", "json"}, args...)...)
	}
	code, first, errs := on()
	if code != exit.OK {
		t.Fatal(errs)
	}
	files, err := filepath.Glob(filepath.Join(results, "many-racks-fair-slowstart0.8-seed1-*.json"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	var r frontier.Run
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	r.Makespan = 123456
	changed, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	write := func(text []byte) {
		t.Helper()
		if err := os.WriteFile(files[0], text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(changed)
	if code, out, _ := on(); code != exit.OK || !strings.Contains(out, "123456") {
		t.Errorf("exit %d: runs again", code)
	}
	if code, out, _ := on("--again", "weave"); code != exit.OK || !strings.Contains(out, "123456") {
		t.Errorf("exit %d: runs another policy again", code)
	}
	if code, out, _ := on("--again", "fair"); code != exit.OK || out != first {
		t.Errorf("exit %d: does not run again", code)
	}
	if again, err := os.ReadFile(files[0]); err != nil || string(again) != string(text) {
		t.Errorf("%v: the file is not written again", err)
	}
	write(text[:100])
	others, err := filepath.Glob(filepath.Join(results, "many-racks-weave-slowstart0.05-seed1-*.json"))
	if err != nil || len(others) != 1 || os.Remove(others[0]) != nil {
		t.Fatal(others, err)
	}
	if code, _, errs := on(); code != exit.Failed || !strings.Contains(errs, "many-racks, fair, slowstart 0.8, seed 1: "+files[0]+": no result of a run: ") || !strings.Contains(errs, "remove the file") {
		t.Errorf("exit %d: %s", code, errs)
	}
	if _, err := os.Stat(others[0]); err != nil {
		t.Errorf("a damaged file keeps others from their run: %v", err)
	}
}

// smallFrontier is a command of one workload with few jobs and one seed.
func smallFrontier(results string, args ...string) []string {
	return append([]string{"frontier", "--workloads", "fb2010-o5", "--scale", "0.002", "--seeds", "1", "--results", results}, args...)
}

// Every perturbation runs once under each of three policies and has files of its own; what is not perturbed shares those of
// the comparison.
func TestFrontierRobust(t *testing.T) {
	t.Parallel()
	results := t.TempDir()
	if code, _, errs := heddle(t, smallFrontier(results, "--policies", "weave,fair,delay", "--slowstarts", "0.05")...); code != exit.OK {
		t.Fatal(errs)
	}
	code, out, errs := heddle(t, smallFrontier(results, "--robust", "-o", "json")...)
	var r frontier.Robustness
	if err := json.Unmarshal([]byte(out), &r); code != exit.OK || err != nil || errs != "" {
		t.Fatalf("exit %d, %v: %s%s", code, err, out, errs)
	}
	names := map[string]bool{}
	for _, res := range r.Results {
		names[res.Perturbation] = true
		if len(res.Comparisons) != 2 || res.Comparisons[0].By != "fair" || res.Comparisons[1].By != "delay" || res.Comparisons[0].Ratio <= 0 {
			t.Errorf("%+v", res)
		}
	}
	if all := frontier.Perturbations(); len(r.Results) != len(all) || len(names) != len(all) {
		t.Errorf("%d results of %d perturbations", len(r.Results), len(names))
	}
	files, err := filepath.Glob(filepath.Join(results, "*"))
	if err != nil || len(files) != 3*len(names) {
		t.Errorf("%v: %d files of %d perturbations", err, len(files), len(names))
	}
	for name := range names { // order-free: each by itself
		if of, _ := filepath.Glob(filepath.Join(results, "fb2010-o5-"+name+"-*")); name != "none" && len(of) != 3 {
			t.Errorf("%s: %q", name, of)
		}
	}
	if _, out, _ := heddle(t, smallFrontier(results, "--robust", "--policies", `weave{"others":0},fair,delay`)...); !strings.Contains(out, "fb2010-o5  node-loss ") || !strings.Contains(out, "DELAY GB") {
		t.Error(out)
	}
	if _, out, _ := heddle(t, smallFrontier(results, "--robust", "-o", "md")...); !strings.HasPrefix(out, frontier.RobustnessTitle) || !strings.Contains(out, "| skew-1.5 |") {
		t.Error(out)
	}
}

// weave runs once as it is, and once without each part.
func TestFrontierAblations(t *testing.T) {
	t.Parallel()
	results := t.TempDir()
	code, out, errs := heddle(t, smallFrontier(results, "--ablations", "-o", "json")...)
	var r frontier.AblationReport
	if err := json.Unmarshal([]byte(out), &r); code != exit.OK || err != nil || errs != "" {
		t.Fatalf("exit %d, %v: %s%s", code, err, out, errs)
	}
	all := frontier.Ablations()
	if files, err := filepath.Glob(filepath.Join(results, "*")); err != nil || len(files) != len(all) || len(r.Results) != len(all)-1 {
		t.Errorf("%v: %d files, %d results", err, len(files), len(r.Results))
	}
	for i, res := range r.Results {
		if res.Params != all[i+1].Params || len(res.Metrics) != 4 || res.Metrics[0].Ratios[0].Workload != "fb2010-o5" || res.Metrics[0].Mean <= 0 {
			t.Errorf("%+v", res)
		}
	}
	if _, out, _ := heddle(t, smallFrontier(results, "--ablations")...); !strings.Contains(out, "\nadmission ") {
		t.Error(out)
	}
	if _, out, _ := heddle(t, smallFrontier(results, "--ablations", "-o", "md")...); !strings.HasPrefix(out, frontier.AblationsTitle) || !strings.Contains(out, "| patience |") {
		t.Error(out)
	}
}

// Results of weave, and of fair with Hadoop's slowstart, keep what came of each job; the report has what that comes to.
func TestFrontierShares(t *testing.T) {
	t.Parallel()
	results := t.TempDir()
	args := []string{"--policies", "weave,fair", "--slowstarts", "0.05,1"}
	code, out, errs := heddle(t, smallFrontier(results, args...)...)
	if code != exit.OK || !strings.Contains(out, "JOBS BEYOND") || !strings.Contains(out, "of 4") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	files, err := filepath.Glob(filepath.Join(results, "*"))
	if err != nil || len(files) != 3 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if has := strings.Contains(string(text), `"more_than_share"`); err != nil || has != !strings.Contains(name, "slowstart1-") {
			t.Errorf("%s: %v, figures of each job: %v", name, err, has)
		}
	}
	if _, out, _ := heddle(t, smallFrontier(results, append(args, "-o", "json")...)...); !strings.Contains(out, `"jobs_of_users_with_more"`) || strings.Contains(out, `"more_than_share"`) {
		t.Error(out)
	}
}

func TestFrontierRefuses(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		`--output "table": want text, json or md`:       {"-o", "table"},
		`no workload "x"; there are fb2010-o5`:          {"--workloads", "many-racks,x"},
		"--scale 1.5: must be above 0":                  {"--scale", "1.5"},
		"--scale NaN: must be above 0":                  {"--scale", "NaN"},
		"--seeds 0: must be 1 or more":                  {"--seeds", "0"},
		"--slowstarts: 2: want numbers from 0 to 1":     {"--slowstarts", "0.05,2"},
		`policy "nosuch": unknown`:                      {"--policies", "nosuch"},
		"--again: nas is not among the policies":        {"--policies", "weave,fair", "--again", "nas"},
		"weave is there twice, with the same parameter": {"--policies", "weave,weave"},
		"give one of the two":                           {"--robust", "--ablations"},
		"not with --robust and --ablations":             {"--robust", "--slowstarts", "1"},
		"--plots and --slowstarts":                      {"--ablations", "--plots", "plots"},
		"the policies weave,fair,delay, in this order":  {"--robust", "--policies", "fair,weave,delay"},
		"omit --policies":                               {"--ablations", "--policies", "weave"},
	} {
		if code, _, errs := heddle(t, append([]string{"frontier"}, args...)...); code != exit.Usage || !strings.Contains(errs, want) {
			t.Errorf("%v: exit %d, %s; want %s", args, code, errs, want)
		}
	}
	if code, _, errs := heddle(t, "frontier", "--workloads", "fb2009-o3", "--traces", t.TempDir()); code != exit.Failed || !strings.Contains(errs, "docs/workloads.md") {
		t.Errorf("exit %d, %s", code, errs)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var errs strings.Builder
	if code := execute(ctx, tinyFrontier(), io.Discard, &errs); code != exit.Interrupted || !strings.Contains(errs.String(), "interrupted after 0 of 20 runs") {
		t.Errorf("exit %d, %s", code, errs.String())
	}
}

// Without the folder of traces, workloads from traces are named and left out.
func TestFrontierWithoutTraces(t *testing.T) {
	t.Setenv("HEDDLE_TRACES", "")
	code, out, errs := heddle(t, "frontier", "--workloads", "fb2009-o3,many-racks", "--policies", "weave,fair", "--slowstarts", "1", "--scale", "0.002", "--seeds", "1", "-o", "md")
	if code != exit.OK || !strings.Contains(errs, "left out: fb2009-o3\n") || !strings.Contains(out, "Not run, as their public trace is missing: fb2009-o3.") || !strings.Contains(out, "| many-racks |") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
}

// The page has the code's text and workloads, and a plot of each. Figures are those of whoever ran it.
func TestFrontierDoc(t *testing.T) {
	t.Parallel()
	docs := filepath.Join("..", "..", "docs")
	text, err := os.ReadFile(filepath.Join(docs, "frontier.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	if !strings.HasPrefix(page, frontier.Intro) {
		t.Error("its beginning is not the code's; make frontier writes it")
	}
	var report frontier.Report
	all := frontier.Workloads()
	for i := range all {
		w := &all[i]
		report.Results = append(report.Results, frontier.Result{Name: w.Name, Doc: w.Doc, Training: w.Training, Source: w.Source, Cluster: w.ClusterText()})
		if _, err := os.Stat(filepath.Join(docs, "frontier", w.Name+".svg")); err != nil {
			t.Error(err)
		}
	}
	report.Verdicts = frontier.Judge(report.Results)
	var want strings.Builder
	if err := report.Markdown(&want, "frontier"); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(want.String()) {
		row, isRow := strings.CutSuffix(line, " 0 | 0 |\n") // jobs and tasks
		if isRow && !strings.Contains(page, "\n"+row) || strings.HasPrefix(line, "![") && !strings.Contains(page, line) {
			t.Errorf("no %q; make frontier writes the page", line)
		}
	}
	sections := &strings.Builder{}
	if err := errors.Join((&frontier.Robustness{Seeds: 1}).Markdown(sections), frontier.NewAblationReport(nil, nil, 1, 1).Markdown(sections)); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(sections.String()) {
		// The first two cells of a row say what it is; figures follow.
		if cells := strings.Split(line, " | "); len(cells) > 3 && len(cells[1]) > 0 {
			line = strings.Join(cells[:2], " | ")
		} else if strings.HasPrefix(line, "This section: ") || strings.HasPrefix(line, "|") {
			continue
		}
		if !strings.Contains(page, line) {
			t.Errorf("no %q; make frontier writes the page", line)
		}
	}
}

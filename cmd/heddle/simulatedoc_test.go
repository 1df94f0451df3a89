package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"heddle/cmd/heddle/internal/exit"

	"github.com/google/go-cmp/cmp"
)

// TestSimulatorDoc runs the example of docs/simulator.md and holds the form of
// what it prints, without figures, to the page. Every key of the result is there.
func TestSimulatorDoc(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "simulator.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```\n(heddle simulate [^\n]*)\n```\n\n```\n(.*?)```").FindSubmatch(page)
	if blocks == nil {
		t.Fatal("no example with its output")
	}
	args := strings.Fields(string(blocks[1]))[1:]
	code, out, errs := heddle(t, args...)
	form := func(text string) []string {
		text = regexp.MustCompile(`\([\d.]+-[\d.]+\)`).ReplaceAllString(text, "") // there where seeds differ
		text = regexp.MustCompile(`\d[\d.]*`).ReplaceAllString(text, "0")
		text = regexp.MustCompile(` +`).ReplaceAllString(text, " ")
		lines := strings.Split(text, "\n")
		for i := range lines {
			lines[i] = strings.TrimSpace(lines[i])
		}
		i := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, "preempted for maps") })
		if i >= 0 { // whether there are any is a figure
			lines = lines[:i-1]
		}
		return lines
	}
	if diff := cmp.Diff(form(string(blocks[2])), form(out)); code != exit.OK || diff != "" {
		t.Errorf("exit %d %s (-page +printed):\n%s", code, errs, diff)
	}
	_, out, _ = heddle(t, append(args, "-o", "json")...)
	out = regexp.MustCompile(`(?s)"params": \{.*?\}`).ReplaceAllString(out, `"params": {}`) // in docs/policies.md
	for _, m := range regexp.MustCompile(`"(\w+)":`).FindAllStringSubmatch(out, -1) {
		if !strings.Contains(string(page), "`"+m[1]+"`") {
			t.Errorf("the page says nothing of the key %s", m[1])
		}
	}
	yml := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindSubmatch(page)
	if yml == nil {
		t.Fatal("no cluster as a file")
	}
	code, out, errs = heddle(t, "simulate", "--workload", simSynth, "--cluster", writeFile(t, "cluster.yml", string(yml[1])), "--policies", "fair")
	if code != exit.OK || !strings.Contains(out, "\n28 racks of 20 nodes of 6 containers, uplinks 1Gbps, ") || !strings.Contains(out, "\n2 racks of ") {
		t.Errorf("the page's cluster: exit %d\n%s%s", code, out, errs)
	}
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/cmd/heddle/internal/exit"
	"heddle/cmd/heddle/internal/reproduction"
	"heddle/core/lab/reproduce"
)

// A small part of NUM in the three forms. Without the trace its rows are not run.
func TestReproduce(t *testing.T) {
	t.Parallel()
	code, out, errs := heddle(t, "reproduce", "num", "--parts", "100", "--seeds", "1", "-o", "json")
	var a reproduction.Result
	if err := json.Unmarshal([]byte(out), &a); code != exit.OK || err != nil || !strings.Contains(errs, "experiments that need FB-2010") {
		t.Fatalf("exit %d, %v: %s%s", code, err, out, errs)
	}
	if len(a.Papers) != 1 || len(a.Papers[0].Rows) != 17 || a.Parts != 100 || a.Seeds != 1 {
		t.Errorf("%+v", a)
	}
	for _, r := range a.Papers[0].Rows {
		if (r.ID == "N7") != (r.Verdict == reproduce.NotRun) && (r.ID == "N7" || r.ID == "N4") {
			t.Errorf("%s is %s", r.ID, r.Verdict)
		}
	}
	var text strings.Builder
	if err := a.Text(&text); err != nil || !strings.Contains(text.String(), "ROW  VERDICT") || !strings.Contains(text.String(), "17 rows: ") {
		t.Errorf("%v: %s", err, text.String())
	}
	a.Papers[0].Rows[0].Ours = "1|2"
	var written strings.Builder
	if err := a.Page(&written); err != nil {
		t.Fatal(err)
	}
	page := written.String()
	for _, want := range []string{"## num: Optimizing", `| 1\|2 |`, "scaled down by 100", "| setting | value | from |"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in the page", want)
		}
	}
}

func TestReproduceRefuses(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		`no paper "nosuch"; there are`:            {"nosuch"},
		`--output "table": want text, json or md`: {"num", "-o", "table"},
		"--parts 0: must be 1 or more":            {"--parts", "0"},
		"--seeds -1: must be 1 or more":           {"--seeds", "-1"},
	} {
		if code, _, errs := heddle(t, append([]string{"reproduce"}, args...)...); code != exit.Usage || !strings.Contains(errs, want) {
			t.Errorf("%v: exit %d, %s; want %s", args, code, errs, want)
		}
	}
	if code, _, errs := heddle(t, "reproduce", "num", "--traces", t.TempDir()); code != exit.Failed || !strings.Contains(errs, "docs/workloads.md") {
		t.Errorf("exit %d, %s", code, errs)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var errs strings.Builder
	if code := execute(ctx, []string{"reproduce", "num"}, io.Discard, &errs); code != exit.Interrupted || !strings.Contains(errs.String(), "interrupted in num") {
		t.Errorf("exit %d, %s", code, errs.String())
	}
}

// The page of results has the rows and settings that the command prints now, in
// their order. Figures are those of whoever ran it.
func TestReproductionDoc(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "reproduction.md"))
	if err != nil {
		t.Fatal(err)
	}
	code, out, errs := heddle(t, "reproduce", "--parts", "1000", "--seeds", "1", "-o", "json")
	var a reproduction.Result
	if err := json.Unmarshal([]byte(out), &a); code != exit.OK || err != nil || len(a.Papers) != 4 {
		t.Fatalf("exit %d, %v, %d papers: %s", code, err, len(a.Papers), errs)
	}
	have := string(page)
	var written strings.Builder
	if err := a.Page(&written); err != nil {
		t.Fatal(err)
	}
	intro, _, _ := strings.Cut(written.String(), "\nThis page: ")
	cell := func(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
	if !strings.HasPrefix(have, intro) {
		t.Error("its beginning is not the code's; make reproduce writes it")
	}
	for _, p := range a.Papers {
		next := func(want string) {
			_, rest, ok := strings.Cut(have, want)
			if !ok {
				t.Errorf("%s: no %q, or not in its place; make reproduce writes the page", p.Name, want)
				return
			}
			have = rest
		}
		next(fmt.Sprintf("\n## %s: %s\n", p.Name, p.Title))
		for _, r := range p.Rows {
			next(fmt.Sprintf("\n| %s | %s | %s |", r.ID, cell(r.What), cell(r.Paper)))
		}
		for _, s := range p.Settings {
			next(fmt.Sprintf("\n| %s |", cell(s.Name)))
		}
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var pageFile = regexp.MustCompile("(?s)`([^`\n]+)`:\n\n```[a-z]*\n(.*?)```\n")

func addingAPolicy(t *testing.T) []byte {
	t.Helper()
	page, err := os.ReadFile("../../docs/adding-a-policy.md")
	if err != nil {
		t.Fatal(err)
	}
	return page
}

// TestAddingAPolicyCompiles: the page's policy compiles, and what the text of the
// page names is there.
func TestAddingAPolicyCompiles(t *testing.T) {
	t.Parallel()
	page := addingAPolicy(t)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	replace := map[string]string{}
	for i, block := range pageFile.FindAllSubmatch(page, -1) {
		file := filepath.Join(t.TempDir(), strconv.Itoa(i))
		write(t, file, block[2])
		replace[filepath.Join(root, string(block[1]))] = file
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "overlay.json")
	write(t, file, overlay)
	goTool(t, root, "build", "-overlay", file, "./core/policy/lifo")

	var code bytes.Buffer
	for _, dir := range []string{"core/model", "core/policy", "core/policy/dispatch", "core/state", "core/state/jobs", "core/state/nodes"} {
		files, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", dir, err)
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			code.Write(text)
		}
	}
	names := regexp.MustCompile("(?:`|\\*\\*)(?:\\w+\\.)?([A-Z]\\w+)(?:\\(\\))?(?:`|\\*\\*)").FindAllSubmatch(page, -1)
	if len(names) < 20 {
		t.Errorf("the page has %d names", len(names))
	}
	for _, n := range names {
		if declared := regexp.MustCompile(`(?m)^(func (\([^)]*\) )?|type |\t)` + string(n[1]) + `\b`); !declared.Match(code.Bytes()) {
			t.Errorf("%s is declared nowhere", n[0])
		}
	}
}

// TestAddingAPolicyDoc does what docs/adding-a-policy.md says in a copy of the
// module, and wants it to work and to touch the five files the page promises.
func TestAddingAPolicyDoc(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a copy of the module")
	}
	t.Parallel()
	page := addingAPolicy(t)
	before := sourceFiles(t, "../..")
	dir := t.TempDir()
	for name, data := range before {
		write(t, filepath.Join(dir, name), data)
	}
	for _, block := range pageFile.FindAllSubmatch(page, -1) {
		write(t, filepath.Join(dir, string(block[1])), block[2])
	}
	entry := regexp.MustCompile("(?s)beside the others:\n\n```go\n(.*?)```\n").FindSubmatch(page)
	if entry == nil {
		t.Fatal("the page has no entry")
	}
	registry := "core/policy/builtin/builtin.go"
	text := string(before[registry])
	text = strings.Replace(text, "\t\"heddle/core/policy/fifo\"\n", "\t\"heddle/core/policy/fifo\"\n\t\"heddle/core/policy/lifo\"\n", 1)
	text = strings.Replace(text, "\t\tfifo.Entry(),\n", "\t\tfifo.Entry(),\n"+string(entry[1]), 1)
	write(t, filepath.Join(dir, registry), []byte(text))
	goTool(t, dir, "test", "-count=1", "./core/policy/lifo", "./core/policy/builtin")
	goTool(t, dir, "test", "-count=1", "-run", "BuiltinPoliciesConform/lifo$", "./core/policy/policytest")
	goTool(t, dir, "test", "-count=1", "-run", "^TestPolicyDoc", "./cmd/heddle", "-update")
	goTool(t, dir, "test", "-count=1", "-run", "^TestPolicyDoc", "./cmd/heddle")

	var touched []string
	for name, data := range sourceFiles(t, dir) {
		if !bytes.Equal(before[name], data) {
			touched = append(touched, name)
		}
	}
	slices.Sort(touched)
	want := []string{registry, "core/policy/lifo/lifo.go", "core/policy/lifo/lifo_test.go", "core/policy/lifo/testdata/lifo.txt", "docs/policies.md"}
	if diff := cmp.Diff(want, touched); diff != "" {
		t.Errorf("files touched (-the page +what was):\n%s", diff)
	}
}

// sourceFiles reads every file of a module that is not hidden or built, by path.
func sourceFiles(t *testing.T, root string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		switch {
		case err != nil || name == ".":
			return err
		case strings.HasPrefix(d.Name(), ".") || name == "bin":
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case !d.Type().IsRegular():
			return nil
		}
		files[name], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func goTool(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

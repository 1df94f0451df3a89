package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/cmd/heddle/internal/exit"
	"heddle/cmd/heddle/internal/policylist"
	"heddle/core/policy/builtin"
	"heddle/integration/fakehadoop"
)

// heddle runs one command line in this process.
func heddle(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = execute(t.Context(), args, &out, &errs)
	return code, out.String(), errs.String()
}

const goodConfig = `
resource_manager: {urls: ["http://rm1:8088", "http://rm2:8088"]}
hdfs: {name_nodes: ["http://nn1:9870"]}
`

func TestExitCodes(t *testing.T) {
	t.Parallel()
	good, bad := writeFile(t, "good.yml", goodConfig), writeFile(t, "bad.yml", "mode: nosuch\n")
	const nobody = "--url=http://127.0.0.1:1"
	tests := []struct {
		args string
		code int
		says string // on standard output or standard error
	}{
		{"", exit.OK, "Usage:"},
		{"version", exit.OK, "heddle dev"},
		{"policies", exit.OK, "shufflewatcher"},
		{"check config " + good, exit.OK, "ok (hash "},
		{"check config --config " + good, exit.OK, "ok (hash "},
		{"demo --once", exit.OK, "decided by weave"},
		{"help plan", exit.OK, "heddle plan APPLICATION"},

		{"check config " + bad, exit.Failed, "problems in the configuration"},
		{"check config /no/such/file.yml", exit.Failed, "1 problem in the configuration"},
		{"check config " + good + " --log.level loud", exit.Failed, "--log.level"},
		{"serve --config " + bad, exit.Failed, "mode"},
		{"record --config " + bad + " --out x.jsonl.zst", exit.Failed, "mode"},
		{"record --config " + good + " --out x.txt", exit.Failed, ".jsonl.zst"},
		{"plan application_1_0001 " + nobody, exit.Failed, "is 'heddle serve' running there?"},
		{"explain application_1_0001 " + nobody, exit.Failed, "is 'heddle serve' running there?"},

		{"nosuch", exit.Usage, "unknown command"},
		{"check", exit.Usage, "name what to check"},
		{"check nosuch", exit.Usage, "unknown command"},
		{"check config a b", exit.Usage, "accepts at most 1"},
		{"check config " + good + " -o xml", exit.Usage, "want table or json"},
		{"version extra", exit.Usage, "extra"},
		{"version -o xml", exit.Usage, "want table or json"},
		{"policies extra", exit.Usage, "extra"},
		{"policies -o xml", exit.Usage, "want table or json"},
		{"serve extra", exit.Usage, "extra"},
		{"demo extra", exit.Usage, "extra"},
		{"demo --speed 0", exit.Usage, "--speed"},
		{"demo --speed fast", exit.Usage, "--speed"},
		{"demo --policy nosuch --once", exit.Usage, "want one of [capacity dawn delay"},
		{"record", exit.Usage, "--out"},
		{"record extra", exit.Usage, "extra"},
		{"record --out x.jsonl.zst --duration -5s", exit.Usage, "--duration"},
		{"record --out x.jsonl.zst --duration soon", exit.Usage, "--duration"},
		{"plan", exit.Usage, "name one application"},
		{"plan a b", exit.Usage, "name one application"},
		{"plan a --url ::", exit.Usage, "--url"},
		{"explain", exit.Usage, "name one application"},
		{"completion bash extra", exit.Usage, "extra"},
		{"pseudonymize", exit.Usage, "0 files: name one recording"},
		{"pseudonymize a b --out x.jsonl.zst", exit.Usage, "2 files: name one recording"},
		{"pseudonymize " + cluster, exit.Usage, "--out: name the file"},
		{"pseudonymize " + cluster + " --out x.zst", exit.Failed, ".jsonl.zst"},
		{"pseudonymize " + good + " --out x.jsonl.zst", exit.Failed, "not a recording"},
		{"pseudonymize " + cluster + " --out x.jsonl.zst --key-file " + bad, exit.Failed, "openssl rand -hex 32"},
		{"client-config extra", exit.Usage, "extra"},
		{"client-config --format yaml", exit.Usage, "want properties, xml, flags or spark"},
		{"client-config --config " + bad, exit.Failed, "mode"},
		{"client-config --config " + good, exit.Failed, "the relay does not run in mode observe: use mode enforce"},
	}
	for _, cmd := range commands(newRoot(func() {})) {
		path := strings.TrimPrefix(strings.TrimPrefix(cmd.CommandPath(), "heddle"), " ")
		tests = append(tests, struct {
			args string
			code int
			says string
		}{path + " --nosuch", exit.Usage, "unknown flag: --nosuch\nTry '" + cmd.CommandPath() + " --help'"})
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			t.Parallel()
			code, out, errs := heddle(t, strings.Fields(tt.args)...)
			if code != tt.code || !strings.Contains(out+errs, tt.says) {
				t.Errorf("exit %d, want %d with %q\nstdout: %s\nstderr: %s", code, tt.code, tt.says, out, errs)
			}
			if (code == exit.OK) != (errs == "") {
				t.Errorf("exit %d with standard error %q", code, errs)
			}
			if code == exit.Usage && !strings.Contains(errs, "--help'.") {
				t.Errorf("a usage error does not say where help is: %s", errs)
			}
		})
	}
	if _, err := os.Stat("x.jsonl.zst"); err == nil {
		t.Error("a recording was begun by a command that could not run")
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	all := commands(newRoot(func() {}))
	var names []string
	for _, cmd := range all {
		path := strings.Fields(cmd.CommandPath())[1:]
		names = append(names, strings.Join(path, " "))
		code, out, errs := heddle(t, append(path, "--help")...)
		if code != exit.OK || errs != "" || !strings.Contains(out, "Examples:\n  heddle ") {
			t.Errorf("%v --help: exit %d\n%s%s", path, code, out, errs)
		}
	}
	slices.Sort(names)
	want := []string{"", "check", "check config", "client-config", "demo", "diff", "explain", "export", "export sls", "fluid", "frontier", "import", "import coflow", "import jhist", "import rumen", "import sls", "import swim", "plan", "policies", "pseudonymize", "record", "relay", "replay", "reproduce", "serve", "simulate", "version"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
}

// shellWords splits a command line at spaces that are not within single quotes.
func shellWords(line string) []string {
	words := regexp.MustCompile(`(?:'[^']*'|[^ '])+`).FindAllString(line, -1)
	for i := range words {
		words[i] = strings.ReplaceAll(words[i], "'", "")
	}
	return words
}

// TestExamples runs the flags of every example past the parser.
func TestExamples(t *testing.T) {
	t.Parallel()
	for _, cmd := range commands(newRoot(func() {})) {
		for line := range strings.Lines(cmd.Example) {
			line, _, _ = strings.Cut(strings.TrimSpace(line), "   ")
			root := newRoot(func() {})
			found, args, err := root.Find(shellWords(line)[1:])
			if err != nil {
				t.Errorf("%s: %v", line, err)
				continue
			}
			if err := found.ParseFlags(args); err != nil {
				t.Errorf("%s: %v", line, err)
			} else if err := found.ValidateArgs(found.Flags().Args()); err != nil {
				t.Errorf("%s: %v", line, err)
			}
		}
	}
}

func TestJSONOutput(t *testing.T) {
	t.Parallel()
	good, bad := writeFile(t, "good.yml", goodConfig), filepath.Join("..", "..", "configs", "testdata", "units.bad.yml")
	decode := func(v any, wantCode int, args ...string) {
		t.Helper()
		code, out, _ := heddle(t, append(args, "-o", "json")...)
		if code != wantCode {
			t.Errorf("%v: exit %d", args, code)
		}
		d := json.NewDecoder(strings.NewReader(out))
		d.DisallowUnknownFields()
		if err := d.Decode(v); err != nil || d.More() {
			t.Errorf("%v: %v in %s", args, err, out)
		}
	}
	var b buildInfo
	if decode(&b, exit.OK, "version"); b.Version != "dev" || !strings.HasPrefix(b.Go, "go1.") || b.Platform == "" {
		t.Errorf("version: %+v", b)
	}
	var list []policylist.Policy
	decode(&list, exit.OK, "policies")
	var names []string
	for _, p := range list {
		names = append(names, p.Name)
		if p.Summary == "" || p.Paper == "" || !json.Valid(p.Params) {
			t.Errorf("policy: %+v", p)
		}
	}
	if diff := cmp.Diff(builtin.Registry().Names(), names); diff != "" {
		t.Error(diff)
	}
	var c checkedConfig
	if decode(&c, exit.OK, "check", "config", good); !c.OK || len(c.Keys) < 50 || len(c.Hash) != 64 || len(c.Problems) > 0 {
		t.Errorf("good: %+v", c)
	}
	i := slices.IndexFunc(c.Keys, func(k checkedKey) bool { return k.Key == "resource_manager.urls" })
	if i < 0 || !strings.Contains(c.Keys[i].Value, "http://rm2:8088") || c.Keys[i].Origin != good+":2" {
		t.Errorf("its key: %+v", c.Keys)
	}
	c = checkedConfig{}
	if decode(&c, exit.Failed, "check", "config", bad); c.OK || len(c.Problems) != 12 || len(c.Keys) > 0 {
		t.Errorf("bad: %+v", c)
	}
}

// TestCheckConfig checks every example and every test file of the
// configuration, whose name says what is to be found.
func TestCheckConfig(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{"testdata/*.yml", "examples/*.yml"} {
		files, err := filepath.Glob(filepath.Join("..", "..", "configs", pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%v: %v", files, err)
		}
		for _, file := range files {
			code, out, errs := heddle(t, "check", "config", file, "--hadoop-conf-dir", filepath.Join("..", "..", "configs", "testdata", "hadoop", "ha"))
			switch {
			case strings.HasSuffix(file, "everything.good.yml"): // its policy is one of a test
			case strings.Contains(file, ".bad."):
				if code != exit.Failed || !strings.Contains(errs, "in the configuration") || strings.Contains(out, "ok (hash") {
					t.Errorf("%s: exit %d\n%s%s", file, code, out, errs)
				}
			case code != exit.OK || !strings.Contains(out, "ok (hash"):
				t.Errorf("%s: exit %d\n%s%s", file, code, out, errs)
			}
		}
	}
	_, out, _ := heddle(t, "check", "config", filepath.Join("..", "..", "configs", "testdata", "units.bad.yml"))
	if n := strings.Count(out, "units.bad.yml:"); n != 12 {
		t.Errorf("%d of 12 problems at once:\n%s", n, out)
	}
}

// TestDemoOnce plays the bundled recording, which is of a real cluster.
func TestDemoOnce(t *testing.T) {
	t.Parallel()
	for _, policy := range builtin.Registry().Names() {
		code, out, errs := heddle(t, "demo", "--once", "--policy", policy)
		if code != exit.OK || errs != "" {
			t.Fatalf("exit %d: %s", code, errs)
		}
		wants := []string{
			"decided by " + policy + `\.`, `(?m)^/rack1 +2 +\d+/2048 MiB`, `(?m)^/rack2 `, `(?m)^/rack3 `, `(?m)^from /rack1 +- +[\d.]+ .?B`, `(?m)^_\d+ TeraSort `,
		}
		if policy == "shufflewatcher" {
			wants = append(wants, `(?m)^_\d+ TeraSort +FINISHED +reduce +\d+ +(/rack\d:\d ?)+ +map_output +[\d.]+ MB`, `(?m)^_\d+ word count +FINISHED +reduce `)
		}
		for _, want := range wants {
			if !regexp.MustCompile(want).MatchString(out) {
				t.Errorf("%s: no %s in\n%s", policy, want, out)
			}
		}
		if _, again, _ := heddle(t, "demo", "--once", "--policy", policy); again != out {
			t.Errorf("%s: another run prints another table (I5):\n%s\n%s", policy, out, again)
		}
	}
}

// TestDemoServes runs the whole demo, asks it, and ends it.
func TestDemoServes(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, errs := &buffer{}, &buffer{}
	ended := make(chan int, 1)
	go func() {
		ended <- execute(ctx, []string{"demo", "--web.listen-address", "127.0.0.1:0", "--speed", "200"}, out, errs)
	}()
	var url string
	eventually(t, "the address", func() error {
		m := regexp.MustCompile(`Open (http://\S+)`).FindStringSubmatch(out.String())
		if m == nil {
			return errors.New(out.String() + errs.String())
		}
		url = m[1]
		return nil
	})
	r := &running{t: t, url: url, web: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}}
	eventually(t, "the jobs of the recording", func() error {
		var apps struct {
			Applications []struct{ State string }
		}
		if err := r.read("/v1/applications?state=FINISHED", &apps); err != nil || len(apps.Applications) < 2 {
			return errors.Join(err, errors.New("too few"))
		}
		return r.ready()
	})
	if n, err := r.metric(`heddle_source_up{source="rm"}`); err != nil || n != 1 {
		t.Errorf("source_up %v, error %v", n, err)
	}
	eventually(t, "its end is said", func() error {
		if !strings.Contains(out.String(), "The recording has ended") {
			return errors.New(out.String())
		}
		return nil
	})
	cancel()
	if code := <-ended; code != exit.OK {
		t.Errorf("exit %d: %s", code, errs)
	}
}

// TestPlanAndExplain asks a running service.
func TestPlanAndExplain(t *testing.T) {
	t.Parallel()
	site := fakehadoop.Start(t)
	site.At(66 * time.Second)
	r := start(t, fastConfig(site)+"policy: {name: shufflewatcher}\n") // of which the figures below are
	r.settledPicture()
	at := "--url=" + r.url

	code, out, errs := heddle(t, "plan", fakehadoop.TeraSort, at)
	for _, want := range []string{`shufflewatcher, reduce stage, rank 1: map_output`, `(?m)^/rack2 +2 +42 % +2 +86\.6 MB +free$`, `(?m)^NODE +RACK +FREE$`} {
		if code != exit.OK || !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("exit %d, no %s in\n%s%s", code, want, out, errs)
		}
	}
	code, out, errs = heddle(t, "plan", fakehadoop.WordCount, "--stage", "map", at)
	if code != exit.OK || !strings.Contains(out, "map stage, rank") || !strings.Contains(out, "no rack is preferred") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	code, out, errs = heddle(t, "explain", fakehadoop.TeraSort, at)
	for _, want := range []string{`reduce stage, by shufflewatcher: \S+`, `shuffle/input ratio 1\.\d\d \(measured on its own maps\), shuffle-heavy`, `fewest_bytes +121\.4 MB`} {
		if code != exit.OK || !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("exit %d, no %s in\n%s%s", code, want, out, errs)
		}
	}
	for _, cmd := range []string{"plan", "explain"} {
		code, out, _ = heddle(t, cmd, fakehadoop.TeraSort, at, "-o", "json")
		var answer struct{ Application string }
		if err := json.Unmarshal([]byte(out), &answer); code != exit.OK || err != nil || answer.Application != fakehadoop.TeraSort {
			t.Errorf("%s -o json: exit %d, error %v: %s", cmd, code, err, out)
		}
		code, out, errs = heddle(t, cmd, "application_1_0001", at)
		if code != exit.Failed || out != "" || !strings.Contains(errs, "application_1_0001") {
			t.Errorf("%s of an unknown application: exit %d\n%s%s", cmd, code, out, errs)
		}
		code, out, errs = heddle(t, cmd, "a/../b?c", at)
		if code != exit.Failed || out != "" || !strings.Contains(errs, "a/../b?c") {
			t.Errorf("%s of an odd id: exit %d\n%s%s", cmd, code, out, errs)
		}
		code, _, errs = heddle(t, cmd, fakehadoop.TeraSort, "--url", site.NameNode.URL)
		if code != exit.Failed || !strings.Contains(errs, "404") {
			t.Errorf("%s of something else: exit %d %s", cmd, code, errs)
		}
	}
	code, out, errs = heddle(t, "plan", fakehadoop.TeraSort, "--stage", "shuffle", at)
	if code != exit.Failed || out != "" || !strings.Contains(errs, "stage") {
		t.Errorf("an unknown stage: exit %d\n%s%s", code, out, errs)
	}
	site.RM.Stop()
	r.advance(time.Minute)
	code, _, errs = heddle(t, "plan", fakehadoop.TeraSort, at)
	if code != exit.Failed || !strings.Contains(errs, "stale") {
		t.Errorf("stale state: exit %d %s", code, errs)
	}
}

// TestObserveModePlan asks a service that does not decide.
func TestObserveModePlan(t *testing.T) {
	t.Parallel()
	site := fakehadoop.Start(t)
	site.At(66 * time.Second)
	r := start(t, fastConfig(site, "mode: advise", "mode: observe"))
	r.settled()
	code, out, errs := heddle(t, "plan", fakehadoop.TeraSort, "--url", r.url)
	if code != exit.Failed || out != "" || !strings.Contains(errs, "observe") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	if r.Policy() != "" {
		t.Errorf("policy %q", r.Policy())
	}
}

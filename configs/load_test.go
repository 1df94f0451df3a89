package configs_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/configs"
	"heddle/configs/strict"
)

// knownPolicy stands in for the registry: testpolicy has one parameter that is
// checked, and others.
func knownPolicy(name string, params []byte) error {
	switch name {
	case "weave", "shufflewatcher", "fair":
		return nil
	case "testpolicy":
	default:
		return fmt.Errorf("no policy is called %q", name)
	}
	var p map[string]any
	if err := json.Unmarshal(params, &p); err != nil {
		return err
	}
	var errs []error
	if scan, ok := p["scan"]; ok && scan != "full" && scan != "greedy" {
		errs = append(errs, errors.New("scan: want full or greedy"))
	}
	if _, ok := p["wndow"]; ok {
		errs = append(errs, errors.New(`json: unknown field "wndow"`))
	}
	return errors.Join(errs...)
}

func options(file string) configs.Options {
	return configs.Options{File: file, HadoopConfDir: "testdata/hadoop/single", KnownPolicy: knownPolicy}
}

// write puts a configuration into a file of its own.
func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "heddle.yml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func load(t *testing.T, opts configs.Options) *configs.Loaded {
	t.Helper()
	l, err := configs.Load(opts)
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	return l
}

// problems loads what must not load, and returns one line per problem.
func problems(t *testing.T, opts configs.Options) []string {
	t.Helper()
	_, err := configs.Load(opts)
	var ps strict.Problems
	if !errors.As(err, &ps) {
		t.Fatalf("Load: got error %v, want Problems", err)
	}
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return lines
}

// compare holds problems against the substrings wanted, each of which exactly
// one problem has, with no problem left over.
func compare(t *testing.T, got, want []string) {
	t.Helper()
	left := append([]string(nil), got...)
	for _, w := range want {
		found := false
		for i, g := range left {
			if strings.Contains(g, w) {
				left = append(left[:i], left[i+1:]...)
				found = true
				break
			}
		}
		if !found {
			t.Errorf("no problem says %q in:\n%s", w, strings.Join(got, "\n"))
		}
	}
	if len(left) > 0 {
		t.Errorf("not wanted:\n%s", strings.Join(left, "\n"))
	}
}

func glob(tb testing.TB, pattern string) []string {
	tb.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		tb.Fatalf("no file matches %s: %v", pattern, err)
	}
	return files
}

// TestBad holds that every problem of a bad file is reported at once, each with
// its line and path: the file's first line lists them all.
func TestBad(t *testing.T) {
	t.Parallel()
	for _, file := range glob(t, "testdata/*.bad.yml") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			first, _, _ := strings.Cut(string(text), "\n")
			first, ok := strings.CutPrefix(first, "# want: ")
			if !ok {
				t.Fatal("the first line does not say what is wanted")
			}
			got := problems(t, options(file))
			compare(t, got, strings.Split(strings.TrimSpace(first), " | "))
			for _, g := range got {
				if strings.Contains(g, "hunter2") {
					t.Errorf("a secret is printed: %s", g)
				}
			}
		})
	}
}

// TestGoodRoundTrip holds that the values check config prints load to the same
// when they are given by the environment.
func TestGoodRoundTrip(t *testing.T) {
	t.Parallel()
	for _, file := range glob(t, "testdata/*.good.yml") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			first := load(t, options(file))
			again := load(t, configs.Options{Env: printed(first), KnownPolicy: knownPolicy})
			if diff := cmp.Diff(first.Config, again.Config); diff != "" {
				t.Errorf("what is printed loads to something else (-first +again):\n%s", diff)
			}
			if first.Hash() != again.Hash() {
				t.Error("the hashes of equal configurations differ")
			}
		})
	}
}

// printed returns a configuration as environment variables.
func printed(l *configs.Loaded) []string {
	var env []string
	for _, e := range l.Entries() {
		env = append(env, configs.EnvName(e.Path)+"="+e.Value)
	}
	return env
}

func TestGoodValues(t *testing.T) {
	t.Parallel()
	c := load(t, options("testdata/everything.good.yml")).Config
	if got, want := c.ResourceManager.PollInterval.Std(), 90*time.Second; got != want {
		t.Errorf("poll_interval = %v, want %v", got, want)
	}
	if got, want := c.ResourceManager.MaxAnswer, strict.Size(3<<29); got != want {
		t.Errorf("max_answer = %d, want %d", got, want)
	}
	if got, want := float64(c.ResourceManager.BytesPerSecond), 125e6; got != want {
		t.Errorf("bytes_per_second = %v, want %v", got, want)
	}
	want := map[string]strict.Rate{"/dc1/rack1": 1.25e9, "/default-rack": 12.5e6}
	if diff := cmp.Diff(want, c.Uplinks.Racks); diff != "" {
		t.Errorf("racks (-want +got):\n%s", diff)
	}
	if got, want := c.Uplinks.Prometheus.InQuery, `label_replace(in, "rack", "/$1", "sw", "(.*)") # not a comment`; got != want {
		t.Errorf("in_query = %q, want %q", got, want)
	}
	if got, want := string(c.Policy.Params.JSON()), `{"nested":{"list":[1,2.5,-3e10,true,null,"010",16],"text":"12"},"scan":"greedy"}`; got != want {
		t.Errorf("params = %s, want %s", got, want)
	}
}

func TestExamples(t *testing.T) {
	t.Parallel()
	dirs := map[string]string{"observe.yml": "single", "advise.yml": "single", "enforce.yml": "single", "ha-kerberos.yml": "ha"}
	for _, file := range glob(t, "examples/*.yml") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			dir, ok := dirs[filepath.Base(file)]
			if !ok {
				t.Fatal("the test knows no Hadoop directory for this example")
			}
			opts := options(file)
			opts.HadoopConfDir = "testdata/hadoop/" + dir
			load(t, opts)
		})
	}
}

func TestDefaultIsValidButForAddresses(t *testing.T) {
	t.Parallel()
	compare(t, problems(t, configs.Options{}), []string{"resource_manager.urls: not known", "hdfs.name_nodes: not known"})
	env := []string{"HEDDLE_RESOURCE_MANAGER_URLS=http://rm:8088", "HEDDLE_HDFS_NAME_NODES=http://nn:9870"}
	given := printed(load(t, configs.Options{Env: env}))
	load(t, configs.Options{Env: given}) // now no value is a default, so that all are checked
}

func TestPrecedenceAndProvenance(t *testing.T) {
	t.Parallel()
	file := write(t, "log:\n  level: warn\n  format: json\nhdfs:\n  name_nodes: [\"http://nn:9870\"]\nadvanced:\n  network:\n    period: 2s\n")
	l := load(t, configs.Options{
		File:          file,
		Env:           []string{"HEDDLE_LOG_LEVEL=error", "HEDDLE_LOG_FORMAT=text", "HEDDLE_UPLINKS_RACKS={/r1: 10Gbps}", "HEDDLE_POLICY_PARAMS={a: [1]}", "HOME=/"},
		Flags:         map[string]string{"log.level": "debug", "web.listen-address": "127.0.0.1:0"},
		HadoopConfDir: "testdata/hadoop/single",
	})
	want := map[string]string{
		"log.level":               "debug <- flag --log.level",
		"log.format":              "text <- environment HEDDLE_LOG_FORMAT",
		"advanced.network.period": "2s <- " + file + ":8",
		"advanced.network.ewma":   "5s <- default",
		"hdfs.name_nodes":         "http://nn:9870 <- " + file + ":5",
		"hdfs.rpc_addresses":      "master.example.com:9000 <- hadoop testdata/hadoop/single/core-site.xml:3 fs.defaultFS",
		"resource_manager.urls":   "http://master.example.com:8088 <- hadoop testdata/hadoop/single/yarn-site.xml:3 yarn.resourcemanager.hostname",
		"uplinks.racks":           "{/r1: 10Gbps} <- environment HEDDLE_UPLINKS_RACKS",
		"policy.params":           `{"a":[1]} <- environment HEDDLE_POLICY_PARAMS`,
		"web.listen_address":      "127.0.0.1:0 <- flag --web.listen-address",
		"hadoop.conf_dir":         "testdata/hadoop/single <- flag --hadoop-conf-dir",
	}
	got := map[string]string{}
	for _, e := range l.Entries() {
		if _, ok := want[e.Path]; ok {
			got[e.Path] = e.Value + " <- " + e.Origin.String()
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("effective keys (-want +got):\n%s", diff)
	}
}

// TestAllLayersAtOnce holds that problems of every layer come in one answer,
// also those of values that a stronger layer replaces.
func TestAllLayersAtOnce(t *testing.T) {
	t.Parallel()
	file := write(t, "log:\n  level: loud\nadvanced:\n  network: {period: 2,\n   perid: 2s}\n")
	compare(t, problems(t, configs.Options{
		File: file,
		Env: []string{
			"HEDDLE_ADVANCED_NETWORK_PERIOD=5s", "HEDDLE_ADVANCED_NETWORK_EWMA=5", "HEDDLE_STATE_QUEUE_LENGTH=5", "HEDDLE_UPLINKS_PROMETHEUS_TIMEOUT=1s", "HEDDLE_NETWORK_SATURATON=1", "HEDDLE_WEB_PASSWORD=hunter2",
			"HEDDLE_UPLINKS_RACKS={/r1: 1, /r2: 2}", "HEDDLE_SERVICE_HOST=10.0.0.1", "HEDDLE_TRACES=/data/traces", "HEDDLE_PORT_7909_TCP=tcp://10.0.0.1:7909",
		},
		Flags:         map[string]string{"advanced.web.max-body": "1", "web.nosuch": "1", "mode": "enforce"},
		HadoopConfDir: "testdata/hadoop/haincomplete",
	}), []string{
		file + ":2: log.level: \"loud\"",
		file + ":4: advanced.network.period: \"2\"",
		file + ":5: advanced.network.perid: unknown key; did you mean period?",
		"environment HEDDLE_ADVANCED_NETWORK_EWMA: advanced.network.ewma: \"5\"",
		"environment HEDDLE_STATE_QUEUE_LENGTH: moved to HEDDLE_ADVANCED_STATE_QUEUE_LENGTH",
		"environment HEDDLE_UPLINKS_PROMETHEUS_TIMEOUT: no longer a key: a query may take",
		"environment HEDDLE_NETWORK_SATURATON: unknown key; did you mean HEDDLE_NETWORK_SATURATION?",
		"environment HEDDLE_WEB_PASSWORD: secrets are not accepted",
		"environment HEDDLE_UPLINKS_RACKS: uplinks.racks: /r1: \"1\" has no unit",
		"flag --advanced.web.max-body: advanced.web.max_body: \"1\" has no unit",
		"flag --web.nosuch: web.nosuch: no such key",
		"relay.listeners: ResourceManager \"rm2\" has no address",
		"yarn-site.xml:7 yarn.resourcemanager.ha.rm-ids: resource_manager.urls: ResourceManager \"rm2\" has no address",
	})
}

func TestUnreadableFile(t *testing.T) {
	t.Parallel()
	compare(t, problems(t, options("testdata/nosuch.yml")), []string{"testdata/nosuch.yml: read the configuration:"})
	compare(t, problems(t, options("testdata")), []string{"testdata: read the configuration:"})
	compare(t, problems(t, options(write(t, "mode: observe\npolicy:\n  params: {a: "+strings.Repeat("[", 1000)))), []string{":3: brackets nest deeper than 64 levels"})
	compare(t, problems(t, options(write(t, strings.Repeat("a: b\n", 5000)))), []string{"more than 10000 words"})
	compare(t, problems(t, options(write(t, strings.Repeat("#\n", 1<<20)))), []string{"more than 262144 bytes"})
}

func TestProblemsArePrintedUpToALimit(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 150 {
		fmt.Fprintf(&text, "unknown%d: 1\n", i)
	}
	_, err := configs.Load(options(write(t, text.String())))
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 101 || lines[100] != "and 50 more" {
		t.Errorf("%d lines, the last is %q", len(lines), lines[len(lines)-1])
	}
}

func TestConfDirFromEnvironment(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, "conf"), 0o750); err != nil {
		t.Fatal(err)
	}
	single, ha := "testdata/hadoop/single", "testdata/hadoop/ha"
	tests := []struct {
		name, file, wantDir, wantFrom string
		env                           []string
	}{
		{"HADOOP_CONF_DIR first", "", single, "environment HADOOP_CONF_DIR", []string{"YARN_CONF_DIR=" + ha, "HADOOP_CONF_DIR=" + single}},
		{"then YARN_CONF_DIR", "", ha, "environment YARN_CONF_DIR", []string{"HADOOP_HOME=" + home, "YARN_CONF_DIR=" + ha}},
		{"then HADOOP_HOME", "", filepath.Join(home, "conf"), "environment HADOOP_HOME", []string{"HADOOP_HOME=" + home}},
		{"the file before them", "hadoop: {conf_dir: " + ha + "}\n", ha, "", []string{"HADOOP_CONF_DIR=" + single}},
		{"none", "", "", "default", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			base := "resource_manager: {urls: [\"http://rm:8088\"]}\nhdfs: {enabled: false}\n"
			l := load(t, configs.Options{File: write(t, base+tt.file), Env: tt.env})
			from := originOf(l, "hadoop.conf_dir")
			if l.Config.Hadoop.ConfDir != tt.wantDir || (tt.wantFrom != "" && from.String() != tt.wantFrom) {
				t.Errorf("got %s from %s, want %s from %s", l.Config.Hadoop.ConfDir, from, tt.wantDir, tt.wantFrom)
			}
		})
	}
	compare(t, problems(t, configs.Options{Env: []string{"HADOOP_CONF_DIR=/nosuch"}}),
		[]string{"environment HADOOP_CONF_DIR: hadoop.conf_dir: read Hadoop's configuration in /nosuch"})
}

// originOf returns where a key's value came from.
func originOf(l *configs.Loaded, path string) strict.Origin {
	for _, e := range l.Entries() {
		if e.Path == path {
			return e.Origin
		}
	}
	return strict.Origin{}
}

func TestHash(t *testing.T) {
	t.Parallel()
	keytab := filepath.Join(t.TempDir(), "keytab")
	text := "security: {authentication: kerberos, principal: heddle, keytab: " + keytab + "}\n"
	hash := func(text string) string {
		opts := options(write(t, text))
		return load(t, opts).Hash()
	}
	first := hash(text)
	if len(first) != 64 {
		t.Errorf("hash %q is not a SHA-256 in hex", first)
	}
	if err := os.WriteFile(keytab, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if hash(text) != first {
		t.Error("the content of a secret file, or the configuration file's name, changes the hash")
	}
	if hash("# a comment\nadvanced: {network: {period: 1000ms}}\n"+text) != first {
		t.Error("a default written out changes the hash")
	}
	if hash(text+"advanced: {network: {period: 2s}}\n") == first {
		t.Error("another value leaves the hash as it was")
	}
}

func TestReload(t *testing.T) {
	t.Parallel()
	old := load(t, options(write(t, "mode: observe\n"))).Config
	next := load(t, options(write(t, "mode: advise\nlog: {level: debug}\nnetwork: {saturation: 0.9}\npolicy: {name: fair, params: {x: 1}}\nuplinks: {racks: {/r1: 10Gbps}}\n"))).Config
	changed, refused := configs.Reloadable(&old, &next)
	if diff := cmp.Diff([]string{"network.saturation", "policy.name", "policy.params", "log.level"}, changed); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"mode", "uplinks.racks"}, refused); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
	merged := configs.Reload(&old, &next)
	changed, refused = configs.Reloadable(&merged, &next)
	if len(changed) != 0 || len(refused) != 2 {
		t.Errorf("after Reload %v are left to change and %v refused, want none and two", changed, refused)
	}
}

func TestNotices(t *testing.T) {
	t.Parallel()
	opts := options("")
	opts.HadoopConfDir = "testdata/hadoop/federation"
	opts.Flags = map[string]string{"web.listen-address": ":7909"}
	compare(t, load(t, opts).Notices, []string{
		"testdata/hadoop/federation/hdfs-site.xml:3: dfs.nameservices: only ns2 is read, not ns1, ns3",
		"mapreduce.history_server is not known",
		"web.listen_address :7909 can be reached from other machines",
	})
}

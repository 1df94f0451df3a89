package mixin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
)

const dump = "../testdata/metrics.prom"

// dashboard is what the tests read of a Grafana dashboard.
type dashboard struct {
	UID        string `json:"uid"`
	Title      string `json:"title"`
	Editable   bool   `json:"editable"`
	Templating struct {
		List []struct {
			Name  string          `json:"name"`
			Type  string          `json:"type"`
			Query json.RawMessage `json:"query"`
		} `json:"list"`
	} `json:"templating"`
	Panels []panel `json:"panels"`
}

type panel struct {
	ID          int    `json:"id"`
	Type        string `json:"type"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Datasource  struct {
		UID string `json:"uid"`
	} `json:"datasource"`
	GridPos struct {
		H, W, X, Y int
	} `json:"gridPos"`
	FieldConfig struct {
		Defaults struct {
			Unit string `json:"unit"`
		} `json:"defaults"`
	} `json:"fieldConfig"`
	Targets []struct {
		RefID   string `json:"refId"`
		Expr    string `json:"expr"`
		Instant bool   `json:"instant"`
		Range   bool   `json:"range"`
	} `json:"targets"`
}

func readDashboard(t *testing.T) dashboard {
	t.Helper()
	data, err := os.ReadFile("dashboards/heddle.json")
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(data, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// ruleFile is a file of recording rules or alerts.
type ruleFile struct {
	Groups []struct {
		Name  string `yaml:"name"`
		Rules []rule `yaml:"rules"`
	} `yaml:"groups"`
}

type rule struct {
	Record      string            `yaml:"record"`
	Alert       string            `yaml:"alert"`
	Expr        string            `yaml:"expr"`
	For         string            `yaml:"for"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

func readRules(t *testing.T) (recording, alerts []rule) {
	t.Helper()
	for _, path := range ruleFiles(t) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var f ruleFile
		if err := yaml.UnmarshalWithOptions(data, &f, yaml.Strict()); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for _, g := range f.Groups {
			for _, r := range g.Rules {
				if r.Alert != "" {
					alerts = append(alerts, r)
				} else {
					recording = append(recording, r)
				}
			}
		}
	}
	return recording, alerts
}

func ruleFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("rules/*.yml")
	if err != nil || len(files) == 0 {
		t.Fatalf("rules: %v %v", files, err)
	}
	return files
}

// exported returns the names of all series in the golden dump, and those every
// scrape has besides.
func exported(t *testing.T) map[string]bool {
	t.Helper()
	data, err := os.ReadFile(dump)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{"up": true, "process_resident_memory_bytes": true, "process_cpu_seconds_total": true}
	for line := range strings.Lines(string(data)) {
		if !strings.HasPrefix(line, "#") {
			names[regexp.MustCompile(`^[a-zA-Z_:0-9]+`).FindString(line)] = true
		}
	}
	return names
}

// metricsOf returns the metric names in a query: words followed by neither a
// parenthesis nor, inside braces or label lists, by anything of a matcher.
func metricsOf(expr string) []string {
	expr = regexp.MustCompile(`"(\\.|[^"\\])*"`).ReplaceAllString(expr, `""`)
	expr = regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(expr, "")
	expr = regexp.MustCompile(`\b(by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)`).ReplaceAllString(expr, " ")
	expr = regexp.MustCompile(`\[[^\]]*\]`).ReplaceAllString(expr, "")
	var out []string
	for _, m := range regexp.MustCompile(`[a-zA-Z_][a-zA-Z0-9_:]*\s*\(?`).FindAllString(expr, -1) {
		name := strings.TrimSpace(m)
		if !strings.HasSuffix(name, "(") && !slices.Contains([]string{"or", "and", "unless", "bool", "by", "without"}, name) {
			out = append(out, name)
		}
	}
	return out
}

func TestMetricsOf(t *testing.T) {
	t.Parallel()
	got := metricsOf(`sum by (rack) (rate(a_total{x="b_total",y=~"c"}[5m])) / on (job, instance) group_left () d:e:f > 0.5 unless histogram_quantile(0.9, g_bucket)`)
	if want := []string{"a_total", "d:e:f", "g_bucket"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestDashboard: what Grafana's own linter asks for, and no metric that heddle
// does not export.
func TestDashboard(t *testing.T) {
	t.Parallel()
	d := readDashboard(t)
	if d.UID == "" || d.Title == "" || d.Editable {
		t.Errorf("uid %q, title %q, editable %v: want a fixed uid and no edits", d.UID, d.Title, d.Editable)
	}
	vars := map[string]bool{}
	for _, v := range d.Templating.List {
		vars[v.Name] = true
	}
	for _, name := range []string{"datasource", "job", "instance"} {
		if !vars[name] {
			t.Errorf("no variable %s", name)
		}
	}
	known := exported(t)
	ids, titles := map[int]bool{}, map[string]bool{}
	rows := map[string]bool{}
	section := ""
	for _, p := range d.Panels {
		if ids[p.ID] || p.ID == 0 {
			t.Errorf("panel %q: id %d is used twice, or 0", p.Title, p.ID)
		}
		ids[p.ID] = true
		if p.Type == "row" {
			rows[p.Title], section = true, p.Title
			continue
		}
		if key := section + "/" + p.Title; titles[key] || p.Title == "" {
			t.Errorf("panel %q: no title, or one used twice in its row", key)
		} else {
			titles[key] = true
		}
		if p.Description == "" || p.FieldConfig.Defaults.Unit == "" || p.Datasource.UID != "${datasource}" || len(p.Targets) == 0 {
			t.Errorf("panel %q: description %q, unit %q, datasource %q, %d queries", p.Title, p.Description, p.FieldConfig.Defaults.Unit, p.Datasource.UID, len(p.Targets))
		}
		if p.GridPos.W == 0 || p.GridPos.H == 0 || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("panel %q: place %+v", p.Title, p.GridPos)
		}
		refs := map[string]bool{}
		for _, target := range p.Targets {
			if refs[target.RefID] || target.Instant == target.Range {
				t.Errorf("panel %q: query %s is there twice, or neither instant nor range", p.Title, target.RefID)
			}
			refs[target.RefID] = true
			checkQuery(t, p.Title, target.Expr, known)
		}
	}
	for _, want := range []string{"Cluster by rack", "Uplinks", "Locality", "Cross-rack bytes", "Source health"} {
		if !rows[want] {
			t.Errorf("no row %q in %v", want, slices.Sorted(maps.Keys(rows)))
		}
	}
	overlap(t, d.Panels)
}

func checkQuery(t *testing.T, title, expr string, known map[string]bool) {
	t.Helper()
	names := metricsOf(expr)
	if len(names) == 0 {
		t.Errorf("panel %q: no metric in %s", title, expr)
	}
	for _, name := range names {
		if !known[name] {
			t.Errorf("panel %q asks for %s, which heddle does not export", title, name)
		}
	}
	if strings.Count(expr, `job=~"$job",instance=~"$instance"`) != len(names) {
		t.Errorf("panel %q: not every metric is of the chosen job and instance: %s", title, expr)
	}
	for _, window := range regexp.MustCompile(`\[[^\]]*\]`).FindAllString(expr, -1) {
		if window != "[$__rate_interval]" && window != "[$__range]" {
			t.Errorf("panel %q: window %s, want $__rate_interval", title, window)
		}
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_total") && !regexp.MustCompile(`(rate|increase)\(`+name+`\{`).MatchString(expr) {
			t.Errorf("panel %q: counter %s without a rate", title, name)
		}
	}
}

// overlap reports panels that cover one another.
func overlap(t *testing.T, panels []panel) {
	t.Helper()
	at := map[[2]int]string{}
	for _, p := range panels {
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := at[[2]int{x, y}]; other != "" {
					t.Errorf("panel %q lies on %q", p.Title, other)
					return
				}
				at[[2]int{x, y}] = p.Title
			}
		}
	}
}

// TestRules: names as Prometheus wants them, only metrics that exist, and for
// every alert a severity, a text, a heading in the runbook and two tests.
func TestRules(t *testing.T) {
	t.Parallel()
	recording, alerts := readRules(t)
	known := exported(t)
	names := map[string]bool{}
	for _, r := range recording {
		if !regexp.MustCompile(`^[a-z_]+:[a-z_]+:[a-z0-9_]+$`).MatchString(r.Record) || names[r.Record] {
			t.Errorf("rule %q is not level:metric:operations, or is there twice", r.Record)
		}
		names[r.Record], known[r.Record] = true, true
	}
	runbook, err := os.ReadFile("../../docs/runbook.md")
	if err != nil {
		t.Fatal(err)
	}
	tests, err := os.ReadFile("tests.yml")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range append(recording, alerts...) {
		for _, name := range metricsOf(r.Expr) {
			if !known[name] {
				t.Errorf("rule %s%s asks for %s, which heddle does not export", r.Record, r.Alert, name)
			}
		}
	}
	for _, r := range alerts {
		if !regexp.MustCompile(`^Heddle[A-Z][A-Za-z]+$`).MatchString(r.Alert) || names[r.Alert] {
			t.Errorf("alert %q: not CamelCase after Heddle, or there twice", r.Alert)
		}
		names[r.Alert] = true
		if s := r.Labels["severity"]; s != "warning" && s != "critical" {
			t.Errorf("%s: severity %q", r.Alert, s)
		}
		if r.For == "" && !strings.Contains(r.Expr, "increase(") {
			t.Errorf("%s: no for", r.Alert)
		}
		if r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
			t.Errorf("%s: annotations %v", r.Alert, r.Annotations)
		}
		if want := "docs/runbook.md#" + strings.ToLower(r.Alert); r.Annotations["runbook_url"] != want {
			t.Errorf("%s: runbook_url %q, want %q", r.Alert, r.Annotations["runbook_url"], want)
		}
		checkHeading(t, string(runbook), r.Alert)
		for _, of := range []string{" fires\n", " is silent\n"} {
			if !strings.Contains(string(tests), "name: "+r.Alert+of) {
				t.Errorf("%s: no test that it%s", r.Alert, strings.TrimSpace(of))
			}
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^## (Heddle\w+)$`).FindAllStringSubmatch(string(runbook), -1) {
		if !names[m[1]] {
			t.Errorf("the runbook has a heading for %s, which is no alert", m[1])
		}
	}
}

func checkHeading(t *testing.T, runbook, alert string) {
	t.Helper()
	_, section, found := strings.Cut(runbook, "\n## "+alert+"\n")
	if !found {
		t.Errorf("the runbook has no heading ## %s", alert)
		return
	}
	section, _, _ = strings.Cut(section, "\n## ")
	last := -1
	for _, word := range []string{"**Meaning.**", "**Impact.**", "**Confirm.**", "**Mitigate.**", "**Fix.**"} {
		at := strings.Index(section, word)
		if at <= last {
			t.Errorf("runbook, %s: %s is missing or not in its place", alert, word)
		}
		last = at
	}
}

// tool returns a program: from an environment variable, or from the PATH.
func tool(t *testing.T, name, env string) string {
	t.Helper()
	if path := os.Getenv(env); path != "" {
		return path
	}
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("skipped: no %s on the PATH, and %s is not set", name, env)
	}
	return path
}

// TestPromtool: Prometheus' own checks of the rules, of their tests and of the
// metrics.
func TestPromtool(t *testing.T) {
	t.Parallel()
	promtool := tool(t, "promtool", "HEDDLE_PROMTOOL")
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	run := func(stdin string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(ctx, promtool, args...)
		if stdin != "" {
			f, err := os.Open(stdin)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			cmd.Stdin = f
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	run("", append([]string{"check", "rules"}, ruleFiles(t)...)...)
	run("", "test", "rules", "tests.yml")
	run(dump, "check", "metrics")
}

// TestPromtoolFindsFaults: the checks above are not satisfied by anything.
func TestPromtoolFindsFaults(t *testing.T) {
	t.Parallel()
	promtool := tool(t, "promtool", "HEDDLE_PROMTOOL")
	alerts, err := os.ReadFile("rules/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	tests, err := os.ReadFile("tests.yml")
	if err != nil {
		t.Fatal(err)
	}
	recording, err := os.ReadFile("rules/recording.yml")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for path, text := range map[string]string{
		"tests.yml": string(tests), "rules/recording.yml": string(recording),
		"rules/alerts.yml": strings.Replace(string(alerts), "heddle_rack_mismatches > 0", "heddle_rack_mismatches > 5", 1),
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, path), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), promtool, "test", "rules", filepath.Join(dir, "tests.yml"))
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || !strings.Contains(string(out), "HeddleRackMismatch") {
		t.Errorf("an alert that does not fire passes: %v\n%s", err, out)
	}
}

// substitute fills in what Grafana would.
func substitute(query string) string {
	return strings.NewReplacer(
		"$__rate_interval", "4s", "$__range", "8s", "$job", ".+", "$instance", ".+", "$rack", ".+",
	).Replace(query)
}

// variableSeries returns the series and the label a variable's query is about.
func variableSeries(query json.RawMessage) (series, label string, err error) {
	var q struct {
		Query string `json:"query"`
	}
	if err := json.Unmarshal(query, &q); err != nil {
		return "", "", err
	}
	m := regexp.MustCompile(`^label_values\((.+), (\w+)\)$`).FindStringSubmatch(q.Query)
	if m == nil {
		return "", "", fmt.Errorf("%q is no label_values", q.Query)
	}
	return substitute(m[1]), m[2], nil
}

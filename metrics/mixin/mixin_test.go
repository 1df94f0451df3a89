package mixin_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"heddle/metrics/mixin"
)

// The parts of a Grafana dashboard the tests look at.
type (
	dashboard struct {
		UID           string  `json:"uid"`
		Title         string  `json:"title"`
		Editable      bool    `json:"editable"`
		SchemaVersion int     `json:"schemaVersion"`
		Panels        []panel `json:"panels"`
		Templating    struct {
			List []variable `json:"list"`
		} `json:"templating"`
	}
	variable struct {
		Name       string          `json:"name"`
		Type       string          `json:"type"`
		Datasource datasource      `json:"datasource"`
		Definition string          `json:"definition"`
		Query      json.RawMessage `json:"query"`
		Refresh    int             `json:"refresh"`
	}
	datasource struct {
		Type string `json:"type"`
		UID  string `json:"uid"`
	}
	panel struct {
		ID          int        `json:"id"`
		Type        string     `json:"type"`
		Title       string     `json:"title"`
		Description string     `json:"description"`
		Datasource  datasource `json:"datasource"`
		Panels      []panel    `json:"panels"`
		Grid        struct {
			H, W, X, Y int
		} `json:"gridPos"`
		FieldConfig struct {
			Defaults struct {
				Unit string `json:"unit"`
			} `json:"defaults"`
		} `json:"fieldConfig"`
		Targets []target `json:"targets"`
	}
	target struct {
		RefID        string     `json:"refId"`
		Datasource   datasource `json:"datasource"`
		Expr         string     `json:"expr"`
		LegendFormat string     `json:"legendFormat"`
	}
)

// The parts of Prometheus' rule files and of promtool's rule tests.
type (
	ruleFile struct {
		Groups []struct {
			Name  string `yaml:"name"`
			Rules []rule `yaml:"rules"`
		} `yaml:"groups"`
	}
	rule struct {
		Record      string            `yaml:"record"`
		Alert       string            `yaml:"alert"`
		Expr        string            `yaml:"expr"`
		For         string            `yaml:"for"`
		Labels      map[string]string `yaml:"labels"`
		Annotations map[string]string `yaml:"annotations"`
	}
	testFile struct {
		Tests []struct {
			Alerts []struct {
				Name     string `yaml:"alertname"`
				Expected []any  `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
			Exprs []struct {
				Expr     string `yaml:"expr"`
				Expected []any  `yaml:"exp_samples"`
			} `yaml:"promql_expr_test"`
		} `yaml:"tests"`
	}
)

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	data, err := fs.ReadFile(mixin.Files(), name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func loadDashboard(t *testing.T) dashboard {
	t.Helper()
	var d dashboard
	if err := json.Unmarshal(readFile(t, "dashboard.json"), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// flat returns the panels that show something, those inside rows included.
func (d *dashboard) flat() []panel {
	var out []panel
	for _, p := range d.Panels {
		if p.Type != "row" {
			out = append(out, p)
		}
		out = append(out, p.Panels...)
	}
	return out
}

func loadRules(t *testing.T, name string) []rule {
	t.Helper()
	var f ruleFile
	if err := yaml.Unmarshal(readFile(t, name), &f); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var out []rule
	for _, g := range f.Groups {
		out = append(out, g.Rules...)
	}
	if len(out) == 0 {
		t.Fatalf("%s: no rules", name)
	}
	return out
}

// exported are the series of the golden dump with their labels, which are those of
// docs/metrics.md: the metrics tests hold both against the code.
func exported(t *testing.T) map[string][]string {
	t.Helper()
	dump, err := os.ReadFile("../testdata/metrics.prom")
	if err != nil {
		t.Fatal(err)
	}
	reference, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string][]string{}
	quoted := regexp.MustCompile("`([a-z_]+)`")
	for _, m := range regexp.MustCompile("(?m)^\\| `(heddle_[a-z_]+)` \\| ([a-z]+) \\| ([^|]*)\\|").FindAllStringSubmatch(string(reference), -1) {
		var labels []string
		for _, l := range quoted.FindAllStringSubmatch(m[3], -1) {
			labels = append(labels, l[1])
		}
		if m[2] == "histogram" {
			documented[m[1]+"_bucket"] = append([]string{"le"}, labels...)
			documented[m[1]+"_sum"], documented[m[1]+"_count"] = labels, labels
		} else {
			documented[m[1]] = labels
		}
	}
	out := map[string][]string{}
	for _, m := range regexp.MustCompile(`(?m)^(heddle_[a-z_]+)[{ ]`).FindAllStringSubmatch(string(dump), -1) {
		labels, ok := documented[m[1]]
		if !ok {
			t.Errorf("%s is in the golden dump and not in docs/metrics.md", m[1])
		}
		out[m[1]] = labels
	}
	if len(out) == 0 {
		t.Fatal("no metric of heddle's in the golden dump")
	}
	return out
}

var (
	stringRE   = regexp.MustCompile(`"[^"]*"`)
	nameRE     = regexp.MustCompile(`[a-zA-Z_:][a-zA-Z0-9_:]*`)
	selectorRE = regexp.MustCompile(`([a-zA-Z_:][a-zA-Z0-9_:]*)\{([^}]*)\}`)
	matcherRE  = regexp.MustCompile(`([a-z_]+)\s*(?:=~|!~|!=|=)`)
	groupingRE = regexp.MustCompile(`\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)`)
)

// checkExpr reports every metric of a query that nobody exports and every
// matcher on a label the metric does not have.
func checkExpr(t *testing.T, where, expr string, metrics map[string][]string, recorded []string) {
	t.Helper()
	bare := groupingRE.ReplaceAllString(stringRE.ReplaceAllString(expr, `""`), "")
	found := 0
	for _, name := range nameRE.FindAllString(bare, -1) {
		switch {
		case strings.Contains(name, ":"):
			found++
			if !slices.Contains(recorded, name) {
				t.Errorf("%s: nothing records %s", where, name)
			}
		case strings.HasPrefix(name, "heddle_"):
			found++
			if _, ok := metrics[name]; !ok {
				t.Errorf("%s: heddle does not export %s", where, name)
			}
		case name == "up", name == "process_start_time_seconds":
			found++
		}
	}
	if found == 0 {
		t.Errorf("%s: no metric in %s", where, expr)
	}
	for _, m := range selectorRE.FindAllStringSubmatch(expr, -1) {
		labels, ok := metrics[m[1]]
		for _, l := range matcherRE.FindAllStringSubmatch(stringRE.ReplaceAllString(m[2], `""`), -1) {
			if ok && !slices.Contains(append([]string{"job", "instance"}, labels...), l[1]) {
				t.Errorf("%s: %s has no label %s", where, m[1], l[1])
			}
		}
	}
}

func recordedNames(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, r := range loadRules(t, "rules.yml") {
		out = append(out, r.Record)
	}
	return out
}

func TestDashboard(t *testing.T) {
	t.Parallel()
	d := loadDashboard(t)
	if d.UID == "" || d.Title == "" || d.Editable || d.SchemaVersion < 39 {
		t.Errorf("uid %q, title %q, editable %v, schemaVersion %d: want a fixed uid, a title, not editable, a schema of this time", d.UID, d.Title, d.Editable, d.SchemaVersion)
	}
	var names []string
	for _, v := range d.Templating.List {
		names = append(names, v.Name)
		if v.Name != "datasource" && (v.Type != "query" || v.Datasource.UID != "${datasource}" || v.Refresh != 2) {
			t.Errorf("variable %s: %+v, want a query on ${datasource} that follows the time range", v.Name, v)
		}
	}
	if want := []string{"datasource", "job", "instance", "rack"}; !slices.Equal(names, want) {
		t.Errorf("variables %v, want %v", names, want)
	}
	var rows []string
	ids := map[int]string{}
	titles := map[string]bool{}
	for _, p := range append(d.flat(), d.Panels...) {
		if p.Type == "row" {
			rows = append(rows, p.Title)
		}
		if before, ok := ids[p.ID]; ok && before != p.Title || p.ID <= 0 {
			t.Errorf("panel %q: id %d, which %q has", p.Title, p.ID, before)
		}
		ids[p.ID] = p.Title
	}
	if want := []string{"Cluster by rack", "Uplinks", "Locality", "Cross-rack bytes", "Decisions and regret", "Relay", "Source health"}; !slices.Equal(rows, want) {
		t.Errorf("rows %q, want %q", rows, want)
	}
	for _, p := range d.flat() {
		if titles[p.Title] {
			t.Errorf("two panels are called %q", p.Title)
		}
		titles[p.Title] = true
	}
	if len(ids) != len(titles)+len(rows) {
		t.Errorf("%d ids for %d panels and %d rows", len(ids), len(titles), len(rows))
	}
}

func TestPanels(t *testing.T) {
	t.Parallel()
	d := loadDashboard(t)
	metrics := exported(t)
	units := []string{"short", "none", "percentunit", "bytes", "binBps", "cps", "s", "bool_yes_no", "bool_on_off", "dateTimeAsIso"}
	fixed := regexp.MustCompile(`\[[0-9]`)
	counter := regexp.MustCompile(`\w+_(?:total|bucket|sum|count)\b`)
	rated := regexp.MustCompile(`(?:rate|increase)\(heddle_\w+(?:\{[^}]*\})?\[\$__(?:rate_interval|range)\]\)`)
	for _, p := range d.flat() {
		where := fmt.Sprintf("panel %d %q", p.ID, p.Title)
		if p.Title == "" || len(p.Description) < 20 || !slices.Contains(units, p.FieldConfig.Defaults.Unit) {
			t.Errorf("%s: description %q, unit %q: want a title, a description and a unit", where, p.Description, p.FieldConfig.Defaults.Unit)
		}
		if p.Datasource.UID != "${datasource}" || p.Grid.W <= 0 || p.Grid.H <= 0 || p.Grid.X+p.Grid.W > 24 || len(p.Targets) == 0 {
			t.Errorf("%s: datasource %q, place %+v, %d queries", where, p.Datasource.UID, p.Grid, len(p.Targets))
		}
		refs := map[string]bool{}
		for _, q := range p.Targets {
			at := where + " " + q.RefID
			if q.Datasource.UID != "${datasource}" || q.LegendFormat == "" || refs[q.RefID] {
				t.Errorf("%s: datasource %q, legend %q, or a refId used twice", at, q.Datasource.UID, q.LegendFormat)
			}
			refs[q.RefID] = true
			checkExpr(t, at, q.Expr, metrics, nil)
			selectors := selectorRE.FindAllStringSubmatch(q.Expr, -1)
			for _, s := range selectors {
				if !strings.Contains(s[2], `job=~"$job", instance=~"$instance"`) {
					t.Errorf("%s: %s does not select job and instance", at, s[0])
				}
			}
			if n := strings.Count(q.Expr, "heddle_"); n != len(selectors) {
				t.Errorf("%s: %d metrics, %d selectors", at, n, len(selectors))
			}
			if fixed.MatchString(q.Expr) {
				t.Errorf("%s: a window of its own instead of $__rate_interval", at)
			}
			if p.Type != "stat" && counter.MatchString(rated.ReplaceAllString(q.Expr, "")) {
				t.Errorf("%s: a counter without rate or increase: %s", at, q.Expr)
			}
		}
	}
}

// TestPanelsDoNotOverlap: no two panels share a cell of the grid.
func TestPanelsDoNotOverlap(t *testing.T) {
	t.Parallel()
	cells := map[[2]int]string{}
	for _, p := range loadDashboard(t).Panels {
		for x := p.Grid.X; x < p.Grid.X+p.Grid.W; x++ {
			for y := p.Grid.Y; y < p.Grid.Y+p.Grid.H; y++ {
				if other, ok := cells[[2]int{x, y}]; ok {
					t.Fatalf("%q and %q are both at %d, %d", other, p.Title, x, y)
				}
				cells[[2]int{x, y}] = p.Title
			}
		}
	}
}

func TestRules(t *testing.T) {
	t.Parallel()
	metrics, recorded := exported(t), recordedNames(t)
	name := regexp.MustCompile(`^[a-z_]+:heddle_[a-z_]+:[a-z0-9_]+$`)
	seen := map[string]bool{}
	for _, r := range loadRules(t, "rules.yml") {
		if !name.MatchString(r.Record) || seen[r.Record] {
			t.Errorf("recording rule %q: want level:metric:operations, once", r.Record)
		}
		seen[r.Record] = true
		checkExpr(t, r.Record, r.Expr, metrics, recorded)
	}
}

func TestAlerts(t *testing.T) {
	t.Parallel()
	metrics, recorded := exported(t), recordedNames(t)
	book := runbook(t)
	name := regexp.MustCompile(`^Heddle[A-Z][A-Za-z]+$`)
	for _, r := range loadRules(t, "alerts.yml") {
		if !name.MatchString(r.Alert) || r.For == "" || r.For == "0s" {
			t.Errorf("alert %q, for %q", r.Alert, r.For)
		}
		if s := r.Labels["severity"]; !slices.Contains([]string{"critical", "warning", "info"}, s) {
			t.Errorf("%s: severity %q", r.Alert, s)
		}
		if r.Annotations["summary"] == "" || len(r.Annotations["description"]) < 60 {
			t.Errorf("%s: summary %q, description %q: say what is wrong and what to do", r.Alert, r.Annotations["summary"], r.Annotations["description"])
		}
		if url := r.Annotations["runbook_url"]; !strings.HasSuffix(url, "docs/runbook.md#"+strings.ToLower(r.Alert)) {
			t.Errorf("%s: runbook_url %q", r.Alert, url)
		}
		checkExpr(t, r.Alert, r.Expr, metrics, recorded)
		section, ok := book[r.Alert]
		if !ok {
			t.Errorf("docs/runbook.md has no heading ## %s", r.Alert)
		}
		for _, part := range []string{"Meaning", "Impact", "Confirm", "Mitigate", "Fix"} {
			if !strings.Contains(section, "**"+part+".** ") {
				t.Errorf("docs/runbook.md, %s: nothing under **%s.**", r.Alert, part)
			}
		}
	}
}

// runbook returns the sections of docs/runbook.md by their heading.
func runbook(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile("../../docs/runbook.md")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, section := range strings.Split(string(data), "\n## ")[1:] {
		heading, text, _ := strings.Cut(section, "\n")
		if _, ok := out[heading]; ok {
			t.Errorf("docs/runbook.md has two headings %s", heading)
		}
		out[heading] = text
	}
	return out
}

// TestRunbookMatches: whatever heading or metric the runbook names exists.
func TestRunbookMatches(t *testing.T) {
	t.Parallel()
	alerts := map[string]bool{}
	for _, r := range loadRules(t, "alerts.yml") {
		alerts[r.Alert] = true
	}
	metrics := exported(t)
	for heading, text := range runbook(t) {
		if strings.HasPrefix(heading, "Heddle") && !alerts[heading] {
			t.Errorf("docs/runbook.md: no alert is called %s", heading)
		}
		for _, name := range regexp.MustCompile(`\bheddle_[a-z_]+`).FindAllString(text, -1) {
			_, plain := metrics[name]
			_, buckets := metrics[name+"_bucket"]
			if !plain && !buckets {
				t.Errorf("docs/runbook.md, %s: heddle does not export %s", heading, name)
			}
		}
	}
}

// TestEveryRuleHasTests: each alert has a case in which it fires and one in
// which it does not, each recording rule a case with its values.
func TestEveryRuleHasTests(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("tests.yml")
	if err != nil {
		t.Fatal(err)
	}
	var f testFile
	if err := yaml.Unmarshal(data, &f); err != nil {
		t.Fatal(err)
	}
	fires, silent, valued := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, c := range f.Tests {
		for _, a := range c.Alerts {
			if len(a.Expected) > 0 {
				fires[a.Name] = true
			} else {
				silent[a.Name] = true
			}
		}
		for _, e := range c.Exprs {
			valued[e.Expr] = valued[e.Expr] || len(e.Expected) > 0
		}
	}
	for _, r := range loadRules(t, "alerts.yml") {
		if !fires[r.Alert] || !silent[r.Alert] {
			t.Errorf("%s: a case where it fires: %v, one where it is silent: %v; want both", r.Alert, fires[r.Alert], silent[r.Alert])
		}
	}
	for _, name := range recordedNames(t) {
		if !valued[name] {
			t.Errorf("%s: tests.yml does not say what it should be", name)
		}
	}
}

package metrics

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const intro = `# Metrics

heddle serves these at ` + "`/metrics`" + `, in Prometheus' text format or OpenMetrics, beside the usual ` + "`go_*` and `process_*`" + `.
This page is generated from the code: ` + "`go test ./metrics -update`" + ` writes it, and the tests compare it.

- Figures of the cluster are built at scrape time from the published snapshot. A scrape asks Hadoop nothing, and a rack or
  a node state that is gone leaves no series behind.
- Units are bytes, seconds and ratios from 0 to 1. No metric has an application, a user or a host as label; racks, queues
  of heddle's own, YARN queues (of ` + "`heddle_guard_`" + ` metrics, 100 at most), sources and closed sets are all there is.
- ` + "`heddle_cross_rack_bytes_total`" + ` has at most 400 rack pairs per kind; the rest is ` + "`src_rack=\"other\",dst_rack=\"other\"`" + `.
- Counters start at zero with heddle. They do not go back when the ResourceManager or the NameNode restarts.
- Dashboard, rules and alerts are in ` + "`metrics/mixin`" + `; what to do about an alert is in [runbook.md](runbook.md).

| metric | type | labels | meaning |
|---|---|---|---|
`

// reference renders the table of all metrics.
func reference() string {
	all, live := scraped(), instruments()
	specs := append(all[:], live[:]...)
	slices.SortFunc(specs, func(a, b spec) int { return strings.Compare(a.name, b.name) })
	var out strings.Builder
	out.WriteString(intro)
	for _, s := range specs {
		labels := make([]string, len(s.labels))
		for i, l := range s.labels {
			labels[i] = "`" + l + "`"
		}
		fmt.Fprintf(&out, "| `%s` | %s | %s | %s |\n", s.name, s.kind, strings.Join(labels, " "), s.help)
	}
	return out.String()
}

// TestReference: docs/metrics.md is what the code exports.
func TestReference(t *testing.T) {
	t.Parallel()
	const path = "../docs/metrics.md"
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(path, []byte(reference()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(data), reference()); diff != "" {
		t.Errorf("%s is not what the code exports (run with -update); -file +code:\n%s", path, diff)
	}
}

// TestTableIsWhole: every number has a metric of its own.
func TestTableIsWhole(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for i, s := range scraped() {
		if s.name == "" || s.help == "" || seen[s.name] {
			t.Errorf("metric %d: %+v: no name, no help, or a name used twice", i, s)
		}
		seen[s.name] = true
	}
}

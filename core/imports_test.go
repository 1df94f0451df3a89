package core_test

import (
	"slices"
	"strings"
	"testing"
)

// importRule says what the packages in one folder, and in the folders below
// it, may import of the module. Their own folder is always allowed.
type importRule struct {
	folder string
	may    []string // folders, with what is below them; a name ending in $ is that package alone
}

// testSupport is the conformance suite: only tests import it, so it may use
// what tests may use.
const testSupport = "core/policy/policytest"

// ipcSupport is the server's side of Hadoop RPC: only tests and the suite
// against a real cluster import it.
const ipcSupport = "yarnproxy/ipc/ipctest"

// importRules is the import picture of docs/architecture.md. The longest
// folder that matches a package is its rule; a package no rule matches fails
// the test, so that a new folder gets its place in the picture.
func importRules() []importRule {
	and := func(base []string, more ...string) []string { return slices.Concat(base, more) }
	model := []string{"core/model"}
	topology := and(model, "core/topology")
	shuffle := and(topology, "core/shuffle")
	counted := and(shuffle, "core/state/nodes")
	snapshots := and(model, "core/state/snapshot")
	view := and(shuffle, "core/state$")
	onePolicy := and(view, "core/policy$", "core/heap", "core/policy/dispatch")
	policies := and(view, "core/policy")
	return []importRule{
		{"core/model", nil},
		{"core/heap", nil},
		{"core/topology", model},
		{"core/shuffle", topology},
		{"core/state", shuffle},
		{"core/state/snapshot", model},
		{"core/state/sources", snapshots},
		{"core/state/nodes", and(shuffle, "core/state/snapshot")},
		{"core/state/demand", counted},
		{"core/state/inputs", counted},
		{"core/state/mapoutput", counted},
		{"core/state/jobs", and(counted, "core/state/snapshot", "core/state/demand", "core/state/inputs", "core/state/mapoutput")},
		{"core/state/dependencies", and(shuffle, "core/state/jobs")},
		{"core/state/traffic", and(counted, "core/state/snapshot", "core/state/jobs")},
		{"core/policy", view},
		{"core/policy/", onePolicy}, // core/policy/<name>
		{"core/policy/dispatch", and(view, "core/policy$")},
		{"core/policy/num", and(onePolicy, "core/policy/num/schedule")},
		{"core/policy/num/schedule", nil},
		{"core/policy/builtin", policies},
		{testSupport, []string{"core"}},
		{"core/engine", and(policies, "core/state/snapshot")},
		{"core/trace", model},
		{"core/asks", model},
		{"core/guard", snapshots},
		{"core/account", and(view, "core/policy$", "core/state/snapshot", "core/guard")},
		{"core/lab/bounds", and(shuffle, "core/lab/fluid/tandem", "core/policy/num/schedule")},
		{"core/lab/fluid", and(shuffle, "core/policy/num/schedule", "core/heap")},
		{"core/lab/workload", topology},
		{"core/lab/measured", and(topology, "core/lab/workload")},
		{"core/lab/measured/rumen", and(model, "core/lab/measured$")},
		{"core/lab/measured/sls", and(model, "core/lab/measured$", "core/lab/workload")},
		{"core/lab/measured/fsck", model},
		{"core/lab/measured/coflow", and(model, "core/lab/workload")},
		{"core/lab/reproduce", and(policies, "core/engine", "core/asks", "core/lab/workload", "core/lab/sim", "core/lab/fluid")},
		{"core/lab/frontier", and(policies, "core/lab/workload", "core/lab/sim$")},
		{"core/lab/sim", and(policies, "core/engine", "core/asks", "core/lab/workload", "core/lab/bounds", "core/heap")},
		{"core/lab/sim/network", topology},
		{"core/lab/counterfactual", and(policies, "core/engine", "core/trace", "core/lab/measured", "core/lab/workload", "core/lab/sim$")},
		{"core/lab/replay", and(policies, "core/engine", "core/trace", "core/account", "core/state/snapshot")},
		{"core/lab/pseudonym", and(policies, "core/trace", "core/lab/replay")},

		{"yarnproxy/rest", model},
		{"yarnproxy/ipc", model},
		{"yarnproxy/poll", and(model, "yarnproxy/rest")},
		{"yarnproxy/rm", and(model, "yarnproxy/rest", "yarnproxy/poll")},
		{"yarnproxy/mapreduce", and(model, "yarnproxy/rest", "yarnproxy/poll")},
		{"yarnproxy/tez", and(model, "yarnproxy/rest", "yarnproxy/poll")},
		{"yarnproxy/uplink", and(model, "yarnproxy/rest", "yarnproxy/poll")},
		{"yarnproxy/amrm", and(model, "core/asks", "yarnproxy/ipc")},
		{"yarnproxy/history", model},
		{"yarnproxy/jhist", and(model, "core/lab/measured")},
		{"yarnproxy/api", snapshots},
		{"yarnproxy/relaylink", and(model, "core/asks", "core/state/snapshot", "yarnproxy/amrm")},
		{"yarnproxy/clientconfig", []string{"yarnproxy/ipc", "configs"}},
		{"hdfsclient", and(model, "yarnproxy/rest", "yarnproxy/poll", "yarnproxy/ipc")},
		{"metrics", snapshots},
		{"metrics/internal/sample", and(model, "core/state", "metrics")},
		{"metrics/uplink", and(model, "yarnproxy/rest", "yarnproxy/poll")},
		{"metrics/report", and(model, "core/lab/sim$")},
		{"configs/hadoopconf", nil},
		{"configs/strict", model},
		{"configs", []string{"core", "configs/hadoopconf", "configs/strict"}},

		{"integration", []string{"core", "yarnproxy", "hdfsclient", "metrics", "configs"}},
		{"cmd", []string{"core", "yarnproxy", "hdfsclient", "metrics", "configs", "cmd"}},
		{"cmd/heddle/internal/terminal", nil},
		{"cmd/heddle/internal/exit", nil},
		{"cmd/heddle/internal/historyfile", shuffle},
		{"cmd/heddle/internal/recording", and(model, "core/trace")},
		{"cmd/heddle/internal/policylist", policies},
		{"cmd/heddle/internal/loop", and(policies, "core/state/snapshot", "core/engine", "core/account", "core/guard")},
	}
}

// homes says which folders may import the libraries that stay in one place.
func homes() map[string][]string {
	return map[string][]string{
		"github.com/colinmarc/hdfs": {"hdfsclient"},
		"github.com/prometheus":     {"metrics", "cmd"},
		"github.com/gorilla/mux":    {"yarnproxy/api"},
		"github.com/hamba/avro":     {"yarnproxy/jhist"},
	}
}

// TestImportsGoOneWay checks every import of the module, tests aside.
func TestImportsGoOneWay(t *testing.T) {
	t.Parallel()
	for _, p := range goList(t, "-e", "./...") {
		if p.folder() != "core" { // these tests alone
			for _, problem := range importProblems(p.folder(), p.Imports) {
				t.Error(problem)
			}
			if slices.Contains(p.Imports, "heddle/"+testSupport) {
				t.Errorf("%s imports %s, which is for tests", p.ImportPath, testSupport)
			}
			if slices.Contains(p.Imports, "heddle/"+ipcSupport) && !within(p.folder(), "integration") {
				t.Errorf("%s imports %s, which is for tests", p.ImportPath, ipcSupport)
			}
		}
		for _, imp := range slices.Concat(p.TestImports, p.XTestImports) {
			if strings.HasPrefix(imp, "heddle/cmd") && !within(p.folder(), "cmd") {
				t.Errorf("%s: its tests import %s, and nothing imports cmd", p.ImportPath, imp)
			}
		}
	}
}

// importProblems says which imports of the package in a folder are not allowed.
func importProblems(folder string, imports []string) []string {
	rule, ok := ruleOf(folder)
	if !ok {
		return []string{folder + ": no rule says what it may import; add one to core/imports_test.go and .ci/golangci.yml"}
	}
	var problems []string
	for _, imp := range imports {
		inner, ours := strings.CutPrefix(imp, "heddle/")
		switch {
		case ours && !rule.allows(folder, inner):
			problems = append(problems, folder+" imports "+inner+", which is not to its left in the import picture")
		case !ours && within(folder, "core") && folder != testSupport && impure(imp):
			problems = append(problems, folder+" imports "+imp+", and core has no clock, no I/O, no locks and no other module (I1)")
		case !ours && !atHome(folder, imp):
			problems = append(problems, folder+" imports "+imp+", which has another home")
		}
	}
	return problems
}

func ruleOf(folder string) (importRule, bool) {
	var best importRule
	found := false
	for _, r := range importRules() {
		below := strings.HasSuffix(r.folder, "/") && strings.HasPrefix(folder, r.folder)
		if (below || within(folder, r.folder)) && len(r.folder) >= len(best.folder) {
			best, found = r, true
		}
	}
	return best, found
}

// allows reports whether the package in a folder may import another of the module.
func (r importRule) allows(folder, imp string) bool {
	own := r.folder
	if strings.HasSuffix(own, "/") { // one folder for each name below it
		own = strings.Join(strings.SplitN(folder, "/", 4)[:3], "/")
	}
	if own != "core/policy" && within(imp, own) {
		return true
	}
	return slices.ContainsFunc(r.may, func(may string) bool {
		exact, one := strings.CutSuffix(may, "$")
		return one && imp == exact || !one && within(imp, may)
	})
}

// within reports whether a folder is another one or below it.
func within(folder, of string) bool {
	return folder == of || strings.HasPrefix(folder, of+"/")
}

// impure reports whether a package of another module or of the standard
// library has no place in core. The linter holds core to a list of what it may
// import; this is the part of it that must hold whatever the list says.
func impure(imp string) bool {
	first, _, _ := strings.Cut(imp, "/")
	return strings.Contains(first, ".") ||
		slices.Contains([]string{"time", "os", "net", "sync", "context", "log", "syscall", "unsafe", "runtime"}, first)
}

func atHome(folder, imp string) bool {
	for library, folders := range homes() {
		if within(imp, library) {
			return slices.ContainsFunc(folders, func(home string) bool { return within(folder, home) })
		}
	}
	return true
}

func TestImportProblems(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		folder, imp string
		ok          bool
	}{
		{"core/model", "fmt", true},
		{"core/model", "time", false},
		{"core/engine", "net/http", false},
		{"core/state", "github.com/google/go-cmp/cmp", false},
		{"core/model", "heddle/core/topology", false},
		{"core/shuffle", "heddle/core/topology", true},
		{"core/state", "heddle/core/policy", false},
		{"core/state", "heddle/core/state/jobs", true},
		{"core/state/nodes", "heddle/core/state/jobs", false},
		{"core/state/jobs", "heddle/core/state/nodes", true},
		{"core/state/jobs", "heddle/core/state/traffic", false},
		{"core/policy", "heddle/core/policy/fair", false},
		{"core/policy/fair", "heddle/core/state", true},
		{"core/policy/fair", "heddle/core/state/jobs", false},
		{"core/policy/fair", "heddle/core/policy", true},
		{"core/policy/fair", "heddle/core/policy/delay", false},
		{"core/policy/fair", "heddle/core/engine", false},
		{"core/policy/fair/inner", "heddle/core/policy/fair", true},
		{"core/policy/builtin", "heddle/core/policy/fair", true},
		{"core/engine", "heddle/core/policy/fair", true},
		{"core/policy/policytest", "heddle/core/engine", true},
		{"core/policy/policytest", "pgregory.net/rapid", true},
		{"core/policy/policytest", "heddle/configs", false},
		{"core/trace", "heddle/core/state", false},
		{"yarnproxy/rm", "heddle/yarnproxy/rest", true},
		{"yarnproxy/rm", "heddle/yarnproxy/mapreduce", false},
		{"yarnproxy/rm", "heddle/core/policy", false},
		{"yarnproxy/rm", "heddle/core/state", false},
		{"yarnproxy/amrm", "heddle/yarnproxy/ipc", true},
		{"yarnproxy/amrm", "heddle/yarnproxy/rest", false},
		{"core/state/snapshot", "heddle/core/state", false},
		{"yarnproxy/api", "heddle/core/state/snapshot", true},
		{"yarnproxy/api", "heddle/core/state", false},
		{"yarnproxy/api", "heddle/core/engine", false},
		{"yarnproxy/api", "github.com/gorilla/mux", true},
		{"yarnproxy/rm", "github.com/gorilla/mux", false},
		{"cmd/heddle", "github.com/gorilla/mux", false},
		{"hdfsclient", "github.com/colinmarc/hdfs/v2", true},
		{"cmd/heddle", "github.com/colinmarc/hdfs/v2", false},
		{"hdfsclient", "github.com/prometheus/client_golang/prometheus", false},
		{"cmd/heddle", "github.com/prometheus/client_golang/prometheus", true},
		{"metrics", "heddle/yarnproxy/api", false},
		{"configs", "heddle/hdfsclient", false},
		{"configs", "heddle/configs/hadoopconf", true},
		{"configs/hadoopconf", "heddle/configs", false},
		{"configs/strict", "heddle/configs", false},
		{"configs/hadoopconf", "heddle/core/model", false},
		{"integration/hadoop", "heddle/cmd/heddle", false},
		{"cmd/heddle", "heddle/cmd/heddle/internal/recording", true},
		{"somewhere/else", "fmt", false},
	} {
		if got := importProblems(tc.folder, []string{tc.imp}); (len(got) == 0) != tc.ok {
			t.Errorf("%s imports %s: got %q, want allowed to be %t", tc.folder, tc.imp, got, tc.ok)
		}
	}
}

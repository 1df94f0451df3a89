package pseudonymizing

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/cmd/heddle/internal/recording"
	"heddle/core/engine"
	"heddle/core/lab/pseudonym"
	"heddle/core/lab/replay"
	"heddle/core/model"
	"heddle/core/policy/builtin"
	"heddle/core/state"
	"heddle/core/topology"
	"heddle/core/trace"
)

const (
	cluster = "../../testdata/cluster.jsonl.zst"
	bundled = "../demo/recording.jsonl.zst"
)

// run makes a recording with pseudonyms of another one.
func run(t *testing.T, o Options) (out string) {
	t.Helper()
	o.Out = filepath.Join(t.TempDir(), "out.jsonl.zst")
	if _, err := o.Run(t.Context(), io.Discard); err != nil {
		t.Fatal(err)
	}
	return o.Out
}

// open opens a recording.
func open(t *testing.T, file string) *recording.Reader {
	t.Helper()
	r, err := recording.Open(os.DirFS(filepath.Dir(file)), filepath.Base(file))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// decisions replays a recording under every policy.
func decisions(t *testing.T, file string) (byPolicy [][]model.Decision, res *replay.Result) {
	t.Helper()
	in := open(t, file)
	header := in.Header()
	o := &replay.Options{Registry: builtin.Registry()}
	if len(header.Settings) == 0 {
		rate := topology.Link{Out: 12.5e6, In: 12.5e6}
		s := &replay.Settings{State: state.DefaultConfig(), Engine: engine.DefaultOptions("")}
		s.State.Uplinks.Default = rate
		o.Settings = s
	}
	for _, name := range append(builtin.Registry().Names(), replay.Recorded) {
		o.Policies = append(o.Policies, replay.Policy{Name: name, Label: name})
	}
	byPolicy = make([][]model.Decision, len(o.Policies))
	o.Decision = func(policy int, d *model.Decision) { byPolicy[policy] = append(byPolicy[policy], *d) }
	res, err := replay.Run(&header, in.Records(), o)
	if err != nil {
		t.Fatal(err)
	}
	return byPolicy, res
}

// numbers removes what is no number from a result.
func numbers(t *testing.T, res *replay.Result) any {
	t.Helper()
	data, err := json.Marshal(res)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	var only func(v any) any
	only = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			for k, e := range v { // order-free: each is replaced on its own
				v[k] = only(e)
			}
		case []any:
			for i := range v {
				v[i] = only(v[i])
			}
		case string:
			return ""
		}
		return v
	}
	return only(v)
}

// TestReplaysToTheSameDecisions replays real recordings with names and with pseudonyms, under
// every policy.
func TestReplaysToTheSameDecisions(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../testdata/validation/*.jsonl.zst")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	if testing.Short() {
		files = files[:1]
	}
	for _, file := range append(files, cluster, bundled) {
		key := filepath.Join(t.TempDir(), "key")
		if err := os.WriteFile(key, []byte("0123456789abcdef\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		want, result := decisions(t, file)
		got, resultToo := decisions(t, run(t, Options{File: file, KeyFile: key}))
		table := tableOf(t, file, "0123456789abcdef")
		total := 0
		for i := range want {
			for k := range want[i] {
				if err := table.Record(&trace.Record{Decision: &want[i][k]}); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(want[i], got[i]); diff != "" {
				t.Errorf("%s, policy %d (-names +pseudonyms):\n%s", file, i, diff)
			}
			total += len(want[i])
		}
		if total < 20 {
			t.Errorf("%s: %d decisions in all", file, total)
		}
		if diff := cmp.Diff(numbers(t, result), numbers(t, resultToo)); diff != "" {
			t.Errorf("%s: figures (-names +pseudonyms):\n%s", file, diff)
		}
		if c := resultToo.Runs[len(resultToo.Runs)-1].Check; c != nil && (c.Equal != c.Decisions || c.Decisions == 0 && file == cluster) {
			t.Errorf("%s: the recorded decisions are not those of the replay: %+v", file, c)
		}
	}
}

// tableOf returns the pseudonyms of a recording.
func tableOf(t *testing.T, file, key string) *pseudonym.Table {
	t.Helper()
	names, in := pseudonym.NewNames(), open(t, file)
	h := in.Header()
	if err := names.AddHeader(&h); err != nil {
		t.Fatal(err)
	}
	for rec, err := range in.Records() {
		if err == nil {
			err = names.Add(&rec)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	table, err := names.Table([]byte(key))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// TestNoNameIsLeft searches the copy of a recording of a real cluster for that cluster's names.
func TestNoNameIsLeft(t *testing.T) {
	t.Parallel()
	text := func(file string) string {
		in := open(t, file)
		var out strings.Builder
		enc := json.NewEncoder(&out)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(in.Header()); err != nil {
			t.Fatal(err)
		}
		for rec, err := range in.Records() {
			if err != nil {
				t.Fatal(err)
			}
			if err := enc.Encode(rec); err != nil {
				t.Fatal(err)
			}
		}
		return out.String()
	}
	before, after := text(cluster), text(run(t, Options{File: cluster}))
	for _, name := range []string{`"w11`, `"w32`, `"w21:45454"`, "rack1", "rack3", "10.77.", "master", "word count", "TeraSort", "/demo/", "counts", "root.default", "root.batch", `"root"`} {
		if !strings.Contains(before, name) {
			t.Errorf("%q is not in the recording", name)
		}
		if strings.Contains(after, name) {
			t.Errorf("%q is in the copy", name)
		}
	}
}

// A random key gives other pseudonyms every time, a key file the same.
func TestKeys(t *testing.T) {
	t.Parallel()
	text := func(o Options) string {
		o.File = cluster
		in := open(t, run(t, o))
		var all strings.Builder
		for rec, err := range in.Records() {
			if err != nil {
				t.Fatal(err)
			}
			data, err := json.Marshal(rec.Observation)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(data)
		}
		return all.String()
	}
	if first, second := text(Options{}), text(Options{}); first == second {
		t.Error("the random key is not random")
	}
	dir := t.TempDir()
	write := func(name, key string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(key), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	a := text(Options{KeyFile: write("a", "0123456789abcdef")})
	if a != text(Options{KeyFile: write("a.newline", "0123456789abcdef\r\n")}) || a == text(Options{KeyFile: write("b", "0123456789abcdeF")}) {
		t.Error("pseudonyms do not follow the key")
	}
	for name, key := range map[string]string{"short": "0123456789", "blank": strings.Repeat(" ", 20), "long": strings.Repeat("x", 5000)} {
		o := Options{File: cluster, Out: filepath.Join(dir, "out.jsonl.zst"), KeyFile: write(name, key)}
		if _, err := o.Run(t.Context(), io.Discard); err == nil || !strings.Contains(err.Error(), "openssl rand") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFiles writes a recording of several files, cut by a restart, and wants as many with the
// same records.
func TestFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := filepath.Join(dir, "in.jsonl.zst")
	header := trace.Header{Policy: "fifo", Start: 1, Topology: map[model.RackID][]string{"/rack1": {"alpha"}}}
	opts := recording.Options{Header: header, MaxBytes: 1}
	r, err := recording.Create(in, opts)
	if err != nil {
		t.Fatal(err)
	}
	nodes := func(i int) model.Observation {
		id := model.NodeID([]string{"alpha:1", "beta:1"}[i%2])
		return model.Observation{Source: model.SourceRM, At: model.Time(i), Fact: model.NodesFact{Nodes: []model.Node{{ID: id, State: model.NodeRunning}}}}
	}
	for i := range 3 {
		r.Observation(nodes(i))
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	opts.Header.Topology = map[model.RackID][]string{"/rack2": {"gamma"}}
	if r, err = recording.Continue(in, opts); err != nil {
		t.Fatal(err)
	}
	r.Observation(nodes(3))
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	out := run(t, Options{File: in})
	want, got := open(t, in), open(t, out)
	a, b := collect(t, want), collect(t, got)
	if len(a) != len(b) || len(a) < 6 {
		t.Fatalf("%d records, want %d", len(b), len(a))
	}
	for i := range a {
		if a[i].Seq != b[i].Seq || a[i].At != b[i].At || a[i].Kind() != b[i].Kind() {
			t.Errorf("record %d: %+v, want %+v", i, b[i], a[i])
		}
	}
	names := func(dir string) (n int) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	if n := names(filepath.Dir(out)); n != names(dir) || n < 3 {
		t.Errorf("%d files, want %d", n, names(dir))
	}
	if h := got.FileHeader(); !got.Header().Pseudonymized || !h.Pseudonymized || len(h.Topology) != 1 || cmp.Equal(h.Topology, got.Header().Topology) {
		t.Errorf("headers: %+v, then %+v", got.Header(), h)
	}
}

func collect(t *testing.T, in *recording.Reader) (all []trace.Record) {
	t.Helper()
	for rec, err := range in.Records() {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, rec)
	}
	return all
}

// Whatever goes wrong, no file is left, and none that was there is touched.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	whole, err := os.ReadFile(cluster)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	cut := write("cut.jsonl.zst", whole[:len(whole)/2])
	again := run(t, Options{File: cluster})
	there := write("there.jsonl.zst", []byte("x"))
	later := write("later.3.jsonl.zst", []byte("x"))
	before := list(t, dir)
	fine := filepath.Join(dir, "out.jsonl.zst")
	for _, tc := range []struct {
		o    Options
		says string
	}{
		{Options{File: cut, Out: fine}, "--allow-truncated"},
		{Options{File: again, Out: fine}, "pseudonyms already"},
		{Options{File: write("workload.json", []byte(`{"format":1,"kind":"workload"}`+"\n")), Out: fine}, "heddle simulate"},
		{Options{File: filepath.Join(dir, "none.jsonl.zst"), Out: fine}, "no such file"},
		{Options{File: cluster, Out: there}, "never overwritten"},
		{Options{File: cut, Out: cut}, "never overwritten"},
		{Options{File: cluster, Out: filepath.Join(dir, "later.jsonl.zst")}, "never overwritten"},
		{Options{File: cluster, Out: later}, "leave out the number"},
		{Options{File: cluster, Out: filepath.Join(dir, "out.zst")}, "ends in .jsonl.zst"},
		{Options{File: cluster, Out: filepath.Join(dir, "no", "out.jsonl.zst")}, "no such file"},
		{Options{File: cluster, Out: fine, KeyFile: filepath.Join(dir, "nokey")}, "--key-file"},
	} {
		if _, err := tc.o.Run(t.Context(), io.Discard); err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%+v: %v, want %q", tc.o, err, tc.says)
		}
	}
	if err := os.Remove(filepath.Join(dir, "workload.json")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, list(t, dir)); diff != "" {
		t.Errorf("files (-before +after):\n%s", diff)
	}
	var says strings.Builder
	o := Options{File: cut, Out: fine, AllowTruncated: true}
	if res, err := o.Run(t.Context(), &says); err != nil || res.Records == 0 || strings.Count(says.String(), "truncated") != 1 {
		t.Errorf("%+v, %v: %s", res, err, says.String())
	}
}

// list returns the files in a folder with their sizes.
func list(t *testing.T, dir string) map[string]int64 {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	sizes := map[string]int64{}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		sizes[e.Name()] = info.Size()
	}
	return sizes
}

// A copy that cannot be renamed leaves no file.
func TestCommitFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c, err := recording.NewCopy(filepath.Join(dir, "out.jsonl.zst"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.Begin(trace.Header{}, 0), c.Append(trace.Record{Mark: &trace.Mark{Name: "note"}}), c.Begin(trace.Header{}, 0)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "out.jsonl.zst"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.Commit(); err == nil {
		t.Error("it wrote over a file")
	}
	if left := list(t, dir); len(left) != 1 {
		t.Errorf("left: %v", left)
	}
}

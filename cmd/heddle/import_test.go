package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"heddle/cmd/heddle/internal/exit"
	"heddle/cmd/heddle/internal/importing"
	"heddle/cmd/heddle/internal/workloadfile"
	"heddle/core/lab/workload"
)

// histories has three jobs of a real cluster of three racks.
const histories = "../../yarnproxy/jhist/testdata"

func importJSON(t *testing.T, args ...string) importing.Result {
	t.Helper()
	code, out, errs := heddle(t, append([]string{"import"}, append(args, "-o", "json")...)...)
	if code != exit.OK {
		t.Fatalf("exit %d: %s", code, errs)
	}
	var res importing.Result
	if err := json.Unmarshal([]byte(out), &res); err != nil {
		t.Fatal(err)
	}
	return res
}

// copyHistories copies the history files into a folder as the JobHistory server lays it out.
func copyHistories(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "done", "2026", "11", "21", "000000")
	if err := os.CopyFS(dir, os.DirFS(histories)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestImportHistories imports jobs of a real cluster and simulates them on the cluster that
// they name.
func TestImportHistories(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	jobs, cluster := filepath.Join(dir, "jobs.jsonl.zst"), filepath.Join(dir, "cluster.yml")
	res := importJSON(t, "jhist", histories, "--out", jobs, "--cluster-out", cluster)
	if res.Jobs != 3 || res.Tasks != 42 || len(res.Left) != 0 || len(res.Racks) != 3 || res.Racks[0].Nodes != 3 {
		t.Errorf("%+v", res)
	}
	if want := (importing.Bytes{Read: 268880622, Output: 232000704, Shuffled: 232000704, Written: 222255475}); res.Bytes != want {
		t.Errorf("%+v, want what the counters of the jobs sum to, %+v", res.Bytes, want)
	}
	w, err := workloadfile.Open(jobs, false)
	if err != nil {
		t.Fatal(err)
	}
	maps := &w.Jobs[1].Stages[0]
	if w.Name != "jobs" || w.Jobs[1].Queue != "root.batch" || maps.Container.MemoryMiB != 512 || maps.Measured[0].RanOn.Rack == 0 || len(maps.Measured[0].Replicas) != 2 {
		t.Errorf("%s: %+v", w.Name, w.Jobs[1])
	}
	if code, out, errs := heddle(t, "simulate", "--workload", jobs, "--cluster", cluster, "--policies", "fair"); code != exit.OK || !strings.Contains(out, "3 racks of 3 nodes of 2 containers") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	anywhere := filepath.Join(dir, "anywhere.jsonl")
	if res := importJSON(t, "jhist", histories, "--out", anywhere, "--anywhere", "--name", "three"); len(res.Racks) != 0 || res.Cluster != "" {
		t.Errorf("%+v", res)
	}
	if code, out, errs := heddle(t, "simulate", "--workload", anywhere, "--cluster", "racks=2,nodes=2,containers=2,nic=1Gbps,uplink=1Gbps", "--policies", "fair"); code != exit.OK || !strings.HasPrefix(out, "three: 3 jobs") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
}

// TestImportLeavesOutBadHistories holds that broken and growing files do not keep others from
// being imported.
func TestImportLeavesOutBadHistories(t *testing.T) {
	t.Parallel()
	dir := copyHistories(t)
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("job_9_0001-1795218029101-u-n-1-1-1-SUCCEEDED-q-1.jhist", "Avro-Json\n{}\n{\"event\":{\"JobSubm")
	write("job_9_0002_1.jhist", "Avro-Json\n{}\n{\"event\":{\"JobSubmitted\":{\"jobid\":\"job_9_0002\",\"submitTime\":1795218029102}}}\n")
	write("job_9_0003-1795218029101-u-n-1-1-1-KILLED-q-1.jhist", "Avro-Json\n{}\n{\"event\":{\"JobSubmitted\":{\"jobid\":\"job_9_0003\",\"submitTime\":1795218029102}}}\n"+
		"{\"event\":{\"JobUnsuccessfulCompletion\":{\"jobid\":\"job_9_0003\",\"jobStatus\":\"KILLED\"}}}\n")
	write("job_9_0004-99-u-n-1-1-1-SUCCEEDED-q-1.jhist", "not read, as its name says that it was submitted too early")
	write("job_1795215638925_0055_conf.xml", "<configuration>")
	write("notes.txt", "")
	out := filepath.Join(t.TempDir(), "jobs.jsonl")
	res := importJSON(t, "jhist", filepath.Join(dir, "../../../.."), "--since", "2026-11-20", "--out", out)
	left := map[string]string{}
	for _, l := range res.Left {
		left[l.What] = l.Why
	}
	for job, why := range map[string]string{ // order-free: each on its own
		"job_9_0001": "event 1, at byte 13: the file stops within it: the job still runs, or the file was cut",
		"job_9_0002": "its history has no end",
		"job_9_0003": "it ended as KILLED",
	} {
		if !strings.HasPrefix(left[job], why) {
			t.Errorf("%s: left out as %q, want %q", job, left[job], why)
		}
	}
	notes := strings.Join(res.Notes, "\n")
	if res.Jobs != 3 || len(left) != 3 || !strings.Contains(notes, "configuration of job_1795215638925_0055: line 1, column 16: ") || !strings.Contains(notes, "1 job of 7 in ") {
		t.Errorf("%+v", res)
	}
	if code, _, errs := heddle(t, "import", "jhist", dir, "--until", "2020-01-01", "--out", filepath.Join(t.TempDir(), "x.jsonl")); code != exit.Failed ||
		!strings.Contains(errs, "no job could be imported") {
		t.Errorf("exit %d: %s", code, errs)
	}
	small := importJSON(t, "jhist", dir, "--max-file", "50kB", "--out", filepath.Join(t.TempDir(), "x.jsonl"))
	if small.Jobs == 3 || !strings.Contains(small.Left[0].Why, "the file has more than 50KB uncompressed: a larger file is read with --max-file") {
		t.Errorf("%+v", small)
	}
}

func TestImportUsage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	there := filepath.Join(dir, "there.jsonl")
	if err := os.WriteFile(there, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out.jsonl")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"jhist", histories}, exit.Usage, "--out: name the file to write"},
		{[]string{"jhist", "--out", out}, exit.Usage, "no source"},
		{[]string{"jhist", histories, "--out", "x.json"}, exit.Usage, "must end in .jsonl or .jsonl.zst"},
		{[]string{"jhist", histories, "--out", there}, exit.Usage, "exists"},
		{[]string{"jhist", histories, "--out", out, "--cluster-out", "c.txt"}, exit.Usage, "must end in .yml"},
		{[]string{"jhist", histories, "--out", out, "--cluster-out", "c.yml", "--anywhere"}, exit.Usage, "--cluster-out: with --anywhere"},
		{[]string{"jhist", histories, "--out", out, "--since", "noon"}, exit.Usage, `--since "noon": want a time`},
		{[]string{"jhist", histories, "--out", out, "--max-file", "1"}, exit.Usage, "--max-file"},
		{[]string{"jhist", dir, "--out", out}, exit.Failed, "there is no history file (job_….jhist) in it"},
		{[]string{"jhist", filepath.Join(dir, "none"), "--out", out}, exit.Failed, "no such file"},
		{[]string{"jhist", there, "--out", out}, exit.Failed, "not a job history file"},
		{[]string{"jhist", histories, "--out", filepath.Join(dir, "none", "x.jsonl")}, exit.Failed, "no such file or directory"},
	} {
		if code, _, errs := heddle(t, append([]string{"import"}, c.args...)...); code != c.code || !strings.Contains(errs, c.want) {
			t.Errorf("%q: exit %d: %s; want %d and %q", c.args, code, errs, c.code, c.want)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "out*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestImportSWIM imports lines of a public trace with input paths.
func TestImportSWIM(t *testing.T) {
	t.Parallel()
	trace := writeFile(t, "trace.txt", "job0\t1\t1\t2267942\t0\t1937944\tinputPath1\t\t\njob1\t2\t1\t20791551476\t12295202125\t1491950225\tinputPath2\t\t\n")
	out := filepath.Join(t.TempDir(), "jobs.jsonl")
	res := importJSON(t, "swim", trace, "--per-reduce", "256MiB", "--block", "64MiB", "--skew", "0.5", "--users", "1", "--out", out)
	if want := (importing.Bytes{Read: 20793819418, Output: 12295202125, Shuffled: 12295202125, Written: 1493888169}); res.Jobs != 2 || res.Bytes != want || res.Tasks != 1+310+51 {
		t.Errorf("%+v", res)
	}
	w, err := workloadfile.Open(out, false)
	if err != nil || len(w.Jobs) != 2 || w.Jobs[1].Stages[1].Skew != 0.5 {
		t.Errorf("%+v, %v", w, err)
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{trace, trace}, exit.Usage, "2 traces: name one"},
		{[]string{trace, "--users", "0"}, exit.Usage, "--users 0"},
		{[]string{trace, "--block", "1kB"}, exit.Usage, "block size: want 1 MiB or more"},
		{[]string{writeFile(t, "bad.tsv", "x\n")}, exit.Failed, "bad.tsv:1:1: 1 columns"},
		{[]string{writeFile(t, "bad.tsv", "x\n"), "--lenient"}, exit.Failed, "every record was wrong"},
	} {
		args := append([]string{"import", "swim", "--out", filepath.Join(t.TempDir(), "x.jsonl")}, c.args...)
		if code, _, errs := heddle(t, args...); code != c.code || !strings.Contains(errs, c.want) {
			t.Errorf("%q: exit %d: %s; want %d and %q", c.args, code, errs, c.code, c.want)
		}
	}
}

// TestImportTraces imports a trace of each other format and simulates it on the cluster it names.
func TestImportTraces(t *testing.T) {
	t.Parallel()
	coflows := writeFile(t, "coflows.txt", "4 2\n1 0 1 2 1 3:1.0\n2 10833 2 0 1 1 2:48.0\n")
	for _, c := range []struct {
		args  []string
		want  importing.Result
		notes int
	}{
		{[]string{"rumen", "../../core/lab/measured/rumen/testdata/jobs.json"}, importing.Result{
			Jobs: 2, Tasks: 4, Bytes: importing.Bytes{Read: 1582, Output: 1001, Shuffled: 1001, Written: 416666777}, Racks: make([]importing.Rack, 3), Left: make([]importing.Left, 2),
		}, 0},
		{[]string{"sls", "../../core/lab/measured/sls/testdata/trace.json"}, importing.Result{Jobs: 3, Tasks: 13, Racks: make([]importing.Rack, 3), Left: make([]importing.Left, 2)}, 1},
		{[]string{"coflow", coflows}, importing.Result{
			Jobs: 2, Tasks: 5, Bytes: importing.Bytes{Output: 49 << 20, Shuffled: 49 << 20}, Racks: make([]importing.Rack, 4),
		}, 1},
	} {
		t.Run(c.args[0], func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			jobs, cluster := filepath.Join(dir, "jobs.jsonl"), filepath.Join(dir, "cluster.yml")
			res := importJSON(t, append(c.args, "--out", jobs, "--cluster-out", cluster)...)
			if res.Jobs != c.want.Jobs || res.Tasks != c.want.Tasks || res.Bytes != c.want.Bytes || len(res.Racks) != len(c.want.Racks) || len(res.Left) != len(c.want.Left) || len(res.Notes) != c.notes {
				t.Errorf("%+v", res)
			}
			if code, out, errs := heddle(t, "simulate", "--workload", jobs, "--cluster", cluster, "--policies", "fair"); code != exit.OK {
				t.Errorf("exit %d: %s%s", code, out, errs)
			}
			anywhere := importJSON(t, append(c.args, "--out", filepath.Join(dir, "anywhere.jsonl"), "--anywhere")...)
			if anywhere.Jobs != res.Jobs || len(anywhere.Racks) != 0 {
				t.Errorf("%+v", anywhere)
			}
		})
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"sls", coflows}, exit.Failed, "coflows.txt: object 1, at byte 0: the object: want an object, has number"},
		{[]string{"sls", coflows, coflows}, exit.Usage, "2 traces: name one"},
		{[]string{"sls", "../../core/lab/measured/sls/testdata/trace.json", "--nodes", coflows}, exit.Failed, "--nodes: "},
		{[]string{"rumen", coflows}, exit.Failed, "coflows.txt: object 1"},
		{[]string{"coflow", coflows, coflows}, exit.Usage, "2 traces: name one"},
		{[]string{"coflow", writeFile(t, "bad.txt", "4 1\n1 0 1 4 1 3:1.0\n")}, exit.Failed, "bad.txt:2:7: the port of a mapper"},
	} {
		args := append([]string{"import"}, append(c.args, "--out", filepath.Join(t.TempDir(), "x.jsonl"))...)
		if code, _, errs := heddle(t, args...); code != c.code || !strings.Contains(errs, c.want) {
			t.Errorf("%q: exit %d: %s; want %d and %q", c.args, code, errs, c.code, c.want)
		}
	}
}

// TestExportSLS exports a workload, and imports what was written.
func TestExportSLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	trace, nodes, back := filepath.Join(dir, "trace.json"), filepath.Join(dir, "nodes.json"), filepath.Join(dir, "back.jsonl")
	const racks = "racks=2,nodes=3,containers=4,uplink=1Gbps,nic=1Gbps"
	code, out, errs := heddle(t, "export", "sls", "synth:fb2010,jobs=20,scale=0.001", "--out", trace, "--nodes-out", nodes, "--cluster", racks)
	if code != exit.OK || !strings.Contains(out, "20 jobs of ") {
		t.Fatalf("exit %d: %s%s", code, out, errs)
	}
	res := importJSON(t, "sls", trace, "--nodes", nodes, "--out", back)
	if res.Jobs != 20 || len(res.Racks) != 2 || res.Racks[0].Nodes != 3 || res.Cluster == "" {
		t.Errorf("%+v", res)
	}
	w, err := workloadfile.Open(back, false)
	if err != nil {
		t.Fatal(err)
	}
	from, err := workloadfile.Open("synth:fb2010,jobs=20,scale=0.001", false)
	if err != nil {
		t.Fatal(err)
	}
	for i := range from.Jobs { // the first submission is time 0
		if a, b := &from.Jobs[i], &w.Jobs[i]; a.ID != b.ID || a.Submit-from.Jobs[0].Submit != b.Submit || a.Tasks() != b.Tasks() || a.User != b.User {
			t.Errorf("%+v came back as %+v", a, b)
		}
	}
	far := writeFile(t, "far.jsonl", `{"format":1,"kind":"workload"}`+"\n"+`{"id":"a","user":"u","submit_ms":0,"stages":[{"name":"map","tasks":1,"output_bytes":0,"measured":[{"compute_ms":1,"ran_on":[3,1]}]}]}`+"\n")
	stage := func(name string) string { return `{"name":"` + name + `","tasks":1,"output_bytes":0}` }
	graph := writeFile(t, "graph.jsonl", `{"format":1,"kind":"workload"}`+"\n"+`{"id":"a","user":"u","submit_ms":0,"stages":[`+stage("x")+","+stage("y")+","+stage("z")+"]}\n")
	other := filepath.Join(dir, "other.json")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{far}, exit.Usage, "--out: name the file"},
		{[]string{far, "--out", trace}, exit.Usage, "exists"},
		{[]string{far, "--out", other, "--nodes-out", "n.json"}, exit.Usage, "--nodes-out and --cluster: give both"},
		{[]string{far, "--out", other, "--nodes-out", filepath.Join(dir, "n.json"), "--cluster", racks}, exit.Failed, "--cluster: it has no node 1 in rack 3, which job a names"},
		{[]string{graph, "--out", other}, exit.Failed, "a trace has maps and reduces only"},
		{[]string{}, exit.Usage, "0 workloads: name one"},
	} {
		if code, out, errs := heddle(t, append([]string{"export", "sls"}, c.args...)...); code != c.code || !strings.Contains(errs, c.want) {
			t.Errorf("%q: exit %d: %s%s; want %d and %q", c.args, code, out, errs, c.code, c.want)
		}
	}
	if _, err := os.Stat(other); err == nil {
		t.Error("a trace without a job was left behind")
	}
}

// fakeHDFS serves the files of a folder as a NameNode with a DataNode does over WebHDFS, and
// returns a folder of Hadoop's configuration that names it. Its done folder is /history/done.
func fakeHDFS(t *testing.T, root string) string {
	t.Helper()
	data := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from, _ := strconv.Atoi(r.URL.Query().Get("offset"))
		length, _ := strconv.Atoi(r.URL.Query().Get("length"))
		all, err := os.ReadFile(filepath.Join(root, r.URL.Path))
		if err != nil || len(all) < from+length {
			http.Error(w, "no such range", http.StatusBadRequest)
			return
		}
		_, _ = w.Write(all[from : from+length])
	}))
	t.Cleanup(data.Close)
	status := func(info os.FileInfo, name string) map[string]any {
		if info.IsDir() {
			return map[string]any{"pathSuffix": name, "type": "DIRECTORY"}
		}
		return map[string]any{"pathSuffix": name, "type": "FILE", "length": info.Size(), "blockSize": 1 << 20}
	}
	answer := func(w http.ResponseWriter, code int, v any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(v)
	}
	nn := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		file := strings.TrimPrefix(r.URL.Path, "/webhdfs/v1")
		info, err := os.Stat(filepath.Join(root, file))
		if err != nil {
			answer(w, 404, map[string]any{"RemoteException": map[string]any{"exception": "FileNotFoundException", "message": "no " + file}})
			return
		}
		switch r.URL.Query().Get("op") {
		case "GETFILESTATUS":
			answer(w, 200, map[string]any{"FileStatus": status(info, "")})
		case "OPEN":
			at := data.URL + (&url.URL{Path: file}).EscapedPath() + "?offset=" + r.URL.Query().Get("offset") + "&length=" + r.URL.Query().Get("length")
			http.Redirect(w, r, at, http.StatusTemporaryRedirect)
		default:
			list := []any{}
			entries, _ := os.ReadDir(filepath.Join(root, file))
			for _, e := range entries {
				info, _ := e.Info()
				list = append(list, status(info, e.Name()))
			}
			answer(w, 200, map[string]any{"DirectoryListing": map[string]any{"partialListing": map[string]any{"FileStatuses": map[string]any{"FileStatus": list}}, "remainingEntries": 0}})
		}
	}))
	t.Cleanup(nn.Close)
	conf := t.TempDir()
	for name, properties := range map[string]string{ // order-free: a file each
		"core-site.xml":   "<property><name>fs.defaultFS</name><value>hdfs://nn:8020</value></property>",
		"hdfs-site.xml":   "<property><name>dfs.namenode.http-address</name><value>" + strings.TrimPrefix(nn.URL, "http://") + "</value></property>",
		"yarn-site.xml":   "<property><name>yarn.resourcemanager.hostname</name><value>127.0.0.1</value></property>",
		"mapred-site.xml": "<property><name>yarn.app.mapreduce.am.staging-dir</name><value>/</value></property>",
	} {
		if err := os.WriteFile(filepath.Join(conf, name), []byte("<configuration>"+properties+"</configuration>"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return conf
}

// TestImportFromHDFS imports the done folder of a JobHistory server.
func TestImportFromHDFS(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.CopyFS(filepath.Join(root, "history", "done", "2026", "11", "21", "000000"), os.DirFS(histories)); err != nil {
		t.Fatal(err)
	}
	conf := fakeHDFS(t, root)
	dir := t.TempDir()
	config := writeFile(t, "heddle.yml", "uplinks: {capacity: 100Mbps}\nhadoop: {conf_dir: "+conf+"}\n")
	for name, args := range map[string][]string{ // order-free: each on its own
		"done":    {"--config", config},
		"bare":    {"--hadoop-conf-dir", conf},
		"folder":  {"hdfs://nn:8020/history", "--config", config},
		"webhdfs": {"webhdfs://nn/history/done", "--config", config},
	} {
		res := importJSON(t, append([]string{"jhist", "--out", filepath.Join(dir, name+".jsonl")}, args...)...)
		if want := (importing.Bytes{Read: 268880622, Output: 232000704, Shuffled: 232000704, Written: 222255475}); res.Jobs != 3 || res.Bytes != want || len(res.Left) != 0 {
			t.Errorf("%s: %+v", name, res)
		}
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"hdfs:///none", "--config", config}, "/none: no such file or directory in HDFS"},
		{[]string{"hdfs:///history", "--config", writeFile(t, "bad.yml", "mode: nosuch\n")}, "hdfs:///history: HDFS: configuration:"},
	} {
		args := append([]string{"import", "jhist", "--out", filepath.Join(dir, "x.jsonl")}, c.args...)
		if code, _, errs := heddle(t, args...); code != exit.Failed || !strings.Contains(errs, c.want) {
			t.Errorf("%q: exit %d: %s; want %q", c.args, code, errs, c.want)
		}
	}
}

// TestImportBlocks gives maps the replicas that hdfs fsck reports, in the order in which MapReduce
// numbers them.
func TestImportBlocks(t *testing.T) {
	t.Parallel()
	// The hosts that the history names for each map; fsck finds a third replica.
	maps := [][]string{{"33", "22"}, {"33", "23"}, {"31", "12"}, {"32", "12"}, {"33", "11"}, {"11", "22"}}
	addr := func(host string) string { return fmt.Sprintf("/rack%c/10.77.%c.1%c:9866", host[0], host[0], host[1]) }
	write := func(first, step int) string {
		var report strings.Builder
		for i := range 6 { // with first 5 and step -1 the last file is the largest, so that it is the first map's
			m := maps[(first+step*i+6)%6]
			fmt.Fprintf(&report, "/data/text/part-%d %d bytes, replicated: replication=3, 1 block(s):  OK\n", i, 1000+i)
			fmt.Fprintf(&report, "0. BP-1:blk_%d_1 len=%d Live_repl=3  [%s, %s, %s]\n\n", i, 1000+i, addr(m[1]), addr("13"), addr(m[0]))
		}
		report.WriteString("/data/text/_SUCCESS 0 bytes, replicated: replication=2, 0 block(s):  OK\n")
		return writeFile(t, "fsck.txt", report.String())
	}
	var hosts strings.Builder
	hosts.WriteString("127.0.0.1 localhost\n")
	for rack := 1; rack <= 3; rack++ {
		for host := 1; host <= 3; host++ {
			fmt.Fprintf(&hosts, "10.77.%d.1%d w%d%d alias # a worker\n", rack, host, rack, host)
		}
	}
	fsck, names := write(5, -1), writeFile(t, "hosts", hosts.String())
	for name, args := range map[string][]string{ // order-free: each on its own
		"named":  {"--fsck", fsck, "--hosts", names},
		"paired": {"--fsck", fsck},
	} {
		out := filepath.Join(t.TempDir(), name+".jsonl")
		res := importJSON(t, append([]string{"jhist", histories, "--out", out}, args...)...)
		notes := strings.Join(res.Notes, "\n")
		if !strings.Contains(notes, "blocks of 1 of 3 jobs are where fsck found them; 0 read another number of splits than the files have now, the histories of 0 name other hosts, 2 read no file of the report") ||
			strings.Contains(notes, "8 addresses of the report have no name") != (name == "paired") {
			t.Errorf("%s: %s", name, notes)
		}
		w, err := workloadfile.Open(out, false)
		if err != nil {
			t.Fatal(err)
		}
		for i, m := range w.Jobs[1].Stages[0].Measured {
			node := func(h string) workload.Node { return workload.Node{Rack: int(h[0] - '0'), Number: int(h[1] - '0')} }
			if want := []workload.Node{node(maps[i][1]), {Rack: 1, Number: 3}, node(maps[i][0])}; !slices.EqualFunc(m.Replicas, want, func(a, b workload.Node) bool { return a.Rack == b.Rack && (a == b || name == "paired") }) {
				t.Errorf("%s: map %d reads %v, want %v", name, i, m.Replicas, want)
			}
		}
	}
	moved := importJSON(t, "jhist", histories, "--out", filepath.Join(t.TempDir(), "moved.jsonl"), "--fsck", write(1, 1), "--hosts", names)
	if notes := strings.Join(moved.Notes, "\n"); !strings.Contains(notes, "blocks of 0 of 3 jobs") || !strings.Contains(notes, "the histories of 1 name other hosts") {
		t.Errorf("blocks that are elsewhere: %s", notes)
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--hosts", names}, exit.Usage, "--hosts names the addresses of --fsck: give that too"},
		{[]string{"--fsck", names}, exit.Failed, "hosts: line 11: there is no file with its blocks in it"},
		{[]string{"--fsck", fsck, "--hosts", fsck}, exit.Failed, "--hosts: "},
	} {
		args := append([]string{"import", "jhist", histories, "--out", filepath.Join(t.TempDir(), "x.jsonl")}, c.args...)
		if code, _, errs := heddle(t, args...); code != c.code || !strings.Contains(errs, c.want) {
			t.Errorf("%q: exit %d: %s; want %d and %q", c.args, code, errs, c.code, c.want)
		}
	}
}

// TestImportInterrupted: a signal ends an import, and no file is left behind.
func TestImportInterrupted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range [][]string{
		{"jhist", histories}, {"rumen", "../../core/lab/measured/rumen/testdata/jobs.json"}, {"sls", "../../core/lab/measured/sls/testdata/trace.json"},
		{"swim", writeFile(t, "a.tsv", "job0\t1\t1\t5\t0\t5\n")}, {"coflow", writeFile(t, "a.txt", "4 1\n1 0 1 2 1 3:1.0\n")},
	} {
		var stderr strings.Builder
		args := append([]string{"import"}, append(args, "--out", filepath.Join(dir, "x.jsonl"))...)
		if code := execute(ctx, args, io.Discard, &stderr); code != exit.Interrupted {
			t.Errorf("%v: exit %d: %s", args, code, stderr.String())
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

//go:build linux

package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/core/lab/workload"
	"heddle/core/model"
	"heddle/integration/hadoop"
)

// importedJob is a job whose history is imported.
type importedJob struct {
	id        string
	mapsWrite bool // it has no reduces
}

// TestImportedJobsEqualTheHistory imports the JobHistory server's done folder from HDFS. The bytes
// of each job, and of its tasks on each rack, are those of the JobHistory server's counters; the
// replicas that fsck reports are, map by map, those that the histories name.
func TestImportedJobsEqualTheHistory(t *testing.T) {
	c := cluster(t)
	if err := c.TeraInput(withTimeout(t, time.Minute), "/import/rows", c.Hosts(), 2, 4_000_000); err != nil {
		t.Fatal(err)
	}
	for i, blocks := range []int{1, 3, 2} { // lengths differ, so that splits are not numbered as files are
		line := fmt.Sprintf("words of file %d\n", i)
		text := bytes.Repeat([]byte(line), (blocks<<20-1-i*100_000)/len(line))
		put(t, c, fmt.Sprintf("/import/text-%d", i), text, "-Ddfs.blocksize=1048576", "-Ddfs.replication=2")
	}
	jobs := []importedJob{
		{id: runJob(t, c, "terasort", "-Dmapreduce.job.reduces=3", "/import/rows", "/import/sorted")},
		{id: runJob(t, c, "terasort", "-Dmapreduce.jobhistory.jhist.format=binary", // the cluster's is JSON
			"-Dmapreduce.job.reduces=2", "/import/rows", "/import/sorted-again")},
		{id: runJob(t, c, "wordcount", "/import/text-0", "/import/text-1", "/import/text-2", "/import/counted")},
		{id: runJob(t, c, "teragen", "-Dmapreduce.job.maps=3", "30000", "/import/generated"), mapsWrite: true},
	}
	waitDone(t, c, jobs)
	dir := t.TempDir()
	result, w := importDone(t, c, filepath.Join(dir, "jobs.jsonl"))
	for _, j := range jobs {
		t.Run(j.id, func(t *testing.T) { j.check(t, c, result, w) })
	}

	report, _, err := c.Run(withTimeout(t, time.Minute), "org.apache.hadoop.hdfs.tools.DFSck", "/import", "-files", "-blocks", "-locations", "-racks")
	if err != nil {
		t.Fatal(err)
	}
	var hosts strings.Builder
	for _, h := range c.Hosts() {
		fmt.Fprintln(&hosts, c.Addr(h), h)
	}
	fsck, names := filepath.Join(dir, "fsck.txt"), filepath.Join(dir, "hosts")
	if err := errors.Join(os.WriteFile(fsck, []byte(report), 0o600), os.WriteFile(names, []byte(hosts.String()), 0o600)); err != nil {
		t.Fatal(err)
	}
	located, moved := importDone(t, c, filepath.Join(dir, "located.jsonl"), "--fsck", fsck, "--hosts", names)
	t.Log(located.Notes)
	words := jobs[2].in(t, w)
	if diff := cmp.Diff(replicas(words), replicas(jobs[2].in(t, moved))); diff != "" || len(words.Stages[0].Measured) != 6 {
		t.Errorf("replicas of %d maps (-history +fsck):\n%s", len(words.Stages[0].Measured), diff)
	}
}

// waitDone waits until the JobHistory server has moved the histories of jobs to its done folder,
// which it does every three minutes.
func waitDone(t *testing.T, c *hadoop.Cluster, jobs []importedJob) {
	t.Helper()
	eventually(t, 5*time.Minute, "histories are in the done folder", func(ctx context.Context) error {
		list, err := c.FS(ctx, "-ls", "-R", "/user/history/done")
		if err != nil {
			return err
		}
		for _, j := range jobs {
			if !strings.Contains(list, "/"+j.id+"-") {
				return fmt.Errorf("no history of %s", j.id)
			}
		}
		return nil
	})
}

// imported is what 'heddle import' says of what it made.
type imported struct {
	Jobs  int
	Left  []struct{ What, Reason string } `json:"left_out"`
	Racks []struct {
		ID    model.RackID
		Nodes int
	}
	Notes []string
}

// importDone imports the done folder of the JobHistory server by Hadoop's own configuration.
func importDone(t *testing.T, c *hadoop.Cluster, out string, flags ...string) (*imported, *workload.Workload) {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(withTimeout(t, time.Minute), path, slices.Concat([]string{"import", "jhist", "--hadoop-conf-dir", c.ConfDir(), "--out", out, "-o", "json"}, flags)...)
	cmd.Env = []string{"HEDDLE_HDFS_USER=root", "PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	var result imported
	if err := json.Unmarshal(stdout.Bytes(), &result); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := workload.Read(f, workload.ReadOptions{File: out})
	if err != nil {
		t.Fatal(err)
	}
	return &result, w
}

// in finds the job in a workload.
func (j *importedJob) in(t *testing.T, w *workload.Workload) *workload.Job {
	t.Helper()
	for i := range w.Jobs {
		if string(w.Jobs[i].ID) == j.id {
			return &w.Jobs[i]
		}
	}
	t.Fatalf("%s was not imported", j.id)
	return nil
}

// sums are bytes by what they are of, and by rack.
type sums map[string]model.Bytes

func (s sums) add(what string, rack model.RackID, bytes model.Bytes) {
	s[what] += bytes
	s[what+" on "+string(rack)] += bytes
}

// check compares the job with the JobHistory server's counters of it and of its attempts.
func (j *importedJob) check(t *testing.T, c *hadoop.Cluster, result *imported, w *workload.Workload) {
	t.Helper()
	got, want := sums{}, sums{}
	job := j.in(t, w)
	for k := range job.Stages {
		s := &job.Stages[k]
		for i := range s.Measured {
			m := &s.Measured[i]
			if m.RanOn.Rack == 0 {
				t.Fatalf("where task %d of %s ran is not known", i, s.Name)
			}
			rack := result.Racks[m.RanOn.Rack-1].ID
			switch {
			case k == 1:
				got.add("shuffled", rack, m.Shuffled)
				got.add("written", rack, m.Output)
			case j.mapsWrite:
				got.add("read", rack, m.Read)
				got.add("written", rack, m.Output)
			default:
				got.add("read", rack, m.Read)
				got.add("map output", rack, m.Output)
			}
		}
	}
	attempts, err := c.Attempts(withTimeout(t, time.Minute), j.id)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range attempts {
		rack, of := model.RackID(a.Rack), func(name string) model.Bytes { return model.Bytes(a.Counters[name]) }
		switch {
		case a.Type == "REDUCE":
			want.add("shuffled", rack, of("REDUCE_SHUFFLE_BYTES"))
			want.add("written", rack, of("HDFS_BYTES_WRITTEN"))
		case j.mapsWrite:
			want.add("read", rack, of("HDFS_BYTES_READ"))
			want.add("written", rack, of("HDFS_BYTES_WRITTEN"))
		default:
			want.add("read", rack, of("HDFS_BYTES_READ"))
			want.add("map output", rack, of("MAP_OUTPUT_MATERIALIZED_BYTES"))
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("bytes of its attempts (-JobHistory server +imported):\n%s", diff)
	}
	total, err := jobCounters(withTimeout(t, time.Minute), c, j.id)
	if err != nil {
		t.Fatal(err)
	}
	whole := sums{"read": total["HDFS_BYTES_READ"].Map, "written": total["HDFS_BYTES_WRITTEN"].Reduce}
	if j.mapsWrite {
		whole["written"] = total["HDFS_BYTES_WRITTEN"].Map
	} else {
		whole["map output"], whole["shuffled"] = total["MAP_OUTPUT_MATERIALIZED_BYTES"].Map, total["REDUCE_SHUFFLE_BYTES"].Reduce
	}
	maps.DeleteFunc(got, func(what string, _ model.Bytes) bool { return strings.Contains(what, " on ") })
	if diff := cmp.Diff(whole, got); diff != "" {
		t.Errorf("bytes of the job (-JobHistory server +imported):\n%s", diff)
	}
	t.Logf("%s: %v", job.Name, got)
}

// jobCounter is a counter of a job, over its maps and over its reduces.
type jobCounter struct{ Map, Reduce model.Bytes }

// jobCounters gets the counters of a job from the JobHistory server.
func jobCounters(ctx context.Context, c *hadoop.Cluster, job string) (map[string]jobCounter, error) {
	var answer struct {
		JobCounters struct {
			CounterGroup []struct {
				Counter []struct {
					Name                                string
					MapCounterValue, ReduceCounterValue model.Bytes
				}
			}
		}
	}
	if err := c.GetJSON(ctx, c.JHSURL()+"/ws/v1/history/mapreduce/jobs/"+job+"/counters", &answer); err != nil {
		return nil, err
	}
	all := map[string]jobCounter{}
	for _, g := range answer.JobCounters.CounterGroup {
		for _, k := range g.Counter {
			all[k.Name] = jobCounter{k.MapCounterValue, k.ReduceCounterValue}
		}
	}
	return all, nil
}

// replicas returns where the block of each map is, each in order.
func replicas(j *workload.Job) [][]workload.Node {
	var all [][]workload.Node
	for i := range j.Stages[0].Measured {
		nodes := slices.Clone(j.Stages[0].Measured[i].Replicas)
		slices.SortFunc(nodes, func(a, b workload.Node) int { return (a.Rack-b.Rack)*1000 + a.Number - b.Number })
		all = append(all, nodes)
	}
	return all
}

//go:build linux

package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestRecordDemo makes the recording that `heddle demo` plays: wordcount and
// terasort beside each other on three racks with uplinks of 100 Mbit/s. It runs
// where HEDDLE_DEMO_OUT names the file to write.
func TestRecordDemo(t *testing.T) {
	out := os.Getenv("HEDDLE_DEMO_OUT")
	if out == "" {
		t.Skip("HEDDLE_DEMO_OUT does not name a recording to make")
	}
	c := cluster(t)
	const rows, words = 1_500_000, 12 << 20
	// One writer, one replica: the rows lie on one rack, and so will most of what terasort's maps write.
	runJob(t, c, "teragen", "-Dmapreduce.job.maps=1", "-Ddfs.replication=1", strconv.Itoa(rows), "/demo/rows")
	runJob(t, c, "randomtextwriter", "-Dmapreduce.randomtextwriter.totalbytes="+strconv.Itoa(words),
		"-Dmapreduce.randomtextwriter.bytespermap="+strconv.Itoa(words/3), "/demo/text")
	if err := c.Shape(100); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Shape(0) }()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(t.TempDir(), "heddle.yml")
	if err := os.WriteFile(config, []byte("mode: advise\nuplinks: {capacity: 100Mbps}\nhdfs: {user: root}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	rec := exec.Command(path, "record", "--config", config, "--out", out)
	rec.Stderr, rec.Stdout = os.Stderr, os.Stdout
	rec.Env = []string{"HADOOP_CONF_DIR=" + c.ConfDir(), "PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
	if err := rec.Start(); err != nil {
		t.Fatal(err)
	}
	var jobs sync.WaitGroup
	for _, args := range [][]string{
		{"terasort", "-Dmapreduce.job.reduces=4", "/demo/rows", "/demo/sorted"},
		{"wordcount", "-Dmapreduce.job.reduces=2", "/demo/text", "/demo/counts"},
	} {
		jobs.Go(func() { runJob(t, c, args...) })
	}
	jobs.Wait()
	time.Sleep(10 * time.Second) // the last facts come from the JobHistory server
	if err := rec.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := rec.Wait(); err != nil {
		t.Error(err)
	}
}

//go:build linux

package integration

import (
	"os"
	"strconv"
	"testing"
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
	demo := scene{mode: "advise", mbits: 100, jobs: []sceneJob{
		{0, []string{"terasort", "-Dmapreduce.job.reduces=4", "/demo/rows", "/demo/sorted"}},
		{0, []string{"wordcount", "-Dmapreduce.job.reduces=2", "/demo/text", "/demo/counts"}},
	}}
	demo.record(t, c, out)
}

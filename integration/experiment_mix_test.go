//go:build linux

package integration

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"heddle/integration/hadoop"
)

// The mix: 24 jobs of four users who share a cluster that is full. Jobs are few tasks, because each is a Java
// process that starts, and short ones; one process submits all jobs.

// Figures of the mix.
const (
	mixJobs     = 24
	mixInterval = 2500 * time.Millisecond // between two submissions
	mixLimit    = 20 * time.Minute        // of a run
	// mixMbit makes the uplinks slower than the two processors that all hosts are on.
	mixMbit = 10
)

// mixKind is a kind of job. Jobs of one kind and user are told by one name, as those that recur are.
type mixKind struct {
	name     string
	files    int   // of its input, each with one block and one map
	size     int64 // bytes of a file
	replicas int   // 1: all files are on one rack; 3, HDFS's default: they are on all racks
	reduces  int
	settings hadoop.Settings // what its tasks do
}

// Classes of Hadoop's own library that the jobs consist of.
const (
	libraryOf = "org.apache.hadoop.mapreduce.lib."
	textClass = "org.apache.hadoop.io.Text"
)

// sortsLines reads lines and writes them; reduces get them sorted.
func sortsLines() hadoop.Settings {
	return hadoop.Settings{
		"mapreduce.job.inputformat.class":  libraryOf + "input.KeyValueTextInputFormat",
		"mapreduce.job.output.key.class":   textClass,
		"mapreduce.job.output.value.class": textClass,
	}
}

// countsMatches counts the strings that match, as the example grep does: hardly anything is left to shuffle.
func countsMatches() hadoop.Settings {
	return hadoop.Settings{
		"mapreduce.job.map.class":          libraryOf + "map.RegexMapper",
		"mapreduce.mapper.regex":           "^00",
		"mapreduce.job.combine.class":      libraryOf + "reduce.LongSumReducer",
		"mapreduce.job.reduce.class":       libraryOf + "reduce.LongSumReducer",
		"mapreduce.job.output.key.class":   textClass,
		"mapreduce.job.output.value.class": "org.apache.hadoop.io.LongWritable",
	}
}

// mixKinds are the six jobs of each user: half of them small. Every second one reads what lies on all racks.
func mixKinds() []mixKind {
	const mb = 1_000_000
	return []mixKind{
		{"sort-large", 6, 16 * mb, 1, 3, sortsLines()},
		{"scan", 2, 16 * mb, 3, 1, countsMatches()},
		{"sort-middle", 3, 12 * mb, 1, 2, sortsLines()},
		{"copy", 1, 16 * mb, 1, 0, sortsLines()},
		{"sort-middle-everywhere", 3, 12 * mb, 3, 2, sortsLines()},
		{"sort-small", 2, 8 * mb, 1, 1, sortsLines()},
	}
}

// mixJob is a job of the mix.
type mixJob struct {
	mixKind
	after time.Duration // from the first submission to its own
	user  string
	queue string
	rack  int // of its input, where that is on one: 0 is the first
}

// mixSchedule is the jobs in order. Users take turns and so do racks; each user has the same kinds, in another order.
// Two users' large jobs come first and two users have those of all racks. Two users share each queue.
func mixSchedule() []mixJob {
	users, queues, kinds := hadoop.Users(), []string{"default", "batch"}, mixKinds()
	jobs := make([]mixJob, mixJobs)
	for i := range jobs {
		user, turn := i%len(users), i/len(users)
		kind := kinds[(turn+2*user)%len(kinds)]
		if kind.name == "sort-large" && user%2 == 1 {
			kind.name, kind.replicas = kind.name+"-everywhere", 3
		}
		// The first two users have the queue default.
		jobs[i] = mixJob{mixKind: kind, after: time.Duration(i) * mixInterval, user: users[user], queue: queues[user/2], rack: (turn + user) % 3}
	}
	return jobs
}

// input is the directory of the job's input, which jobs of a kind share.
func (j *mixJob) input() string {
	dir := "/in-mix/" + j.name
	if j.replicas == 1 {
		dir += "-" + strconv.Itoa(j.rack+1)
	}
	return dir
}

// write writes the job's input. A file's first replica is on the hosts of the rack by turns, or on one host of each rack by turns.
func (j *mixJob) write(ctx context.Context, c *hadoop.Cluster) error {
	var hosts []string
	for i := range j.files {
		rack, n := j.rack, i
		if j.replicas > 1 {
			rack, n = i%3, i/3
		}
		of := c.HostsOf(c.Racks()[rack])
		hosts = append(hosts, of[n%len(of)])
	}
	return hadoop.WriteTera(ctx, c, hadoop.TeraFiles{Dir: j.input(), Hosts: hosts, PerHost: 1, Size: j.size, Replicas: j.replicas})
}

// describe is the job in full, that writes to a directory.
func (j *mixJob) describe(s hadoop.Scheduler, out string) hadoop.Settings {
	all := maps.Clone(j.settings)
	queue := j.queue
	if s == hadoop.Fair {
		queue = "root." + queue // it knows queues by their full path
	}
	maps.Copy(all, hadoop.Settings{
		"mapreduce.job.name":                          j.name,
		"mapreduce.job.queuename":                     queue,
		"mapreduce.job.reduces":                       strconv.Itoa(j.reduces),
		"mapreduce.input.fileinputformat.inputdir":    j.input(),
		"mapreduce.output.fileoutputformat.outputdir": out,
		"dfs.replication":                             "1",
		// A quarter of a node: with half a node as elsewhere most of what runs would be ApplicationMasters.
		"yarn.app.mapreduce.am.resource.mb": "256",
		"mapreduce.map.memory.mb":           "256",
		"mapreduce.reduce.memory.mb":        "256",
	})
	return all
}

func mix() *scenario {
	return &scenario{
		name: "mix", about: fmt.Sprintf("%d jobs of four users within a minute", mixJobs), mbit: mixMbit, manyJobs: true,
		policies: []string{"shufflewatcher", "weave", "weave:holds"},
		columns:  []string{"seconds of a job, mean", "95th percentile", "of all jobs"},
		input: func(ctx context.Context, c *hadoop.Cluster) error {
			errs := []error{hadoop.AddUsers(ctx, c)}
			var written []string
			jobs := mixSchedule()
			for i := range jobs {
				j := &jobs[i]
				if !slices.Contains(written, j.input()) {
					written = append(written, j.input())
					errs = append(errs, j.write(ctx, c))
				}
			}
			return errors.Join(errs...)
		},
		run: func(r *trial) []float64 {
			ctx := withTimeout(r.t, mixLimit)
			jobs := mixSchedule()
			ids := r.submit(ctx, jobs)
			all := make([]ended, len(jobs))
			for i, id := range ids {
				waitEnded(ctx, r.t, r.c, id)
				all[i] = r.times(id)
			}
			r.after = func() { r.logMix(jobs, ids, all) }
			return mixColumns(all)
		},
	}
}

// submit submits each job at its time.
func (r *trial) submit(ctx context.Context, jobs []mixJob) (ids []string) {
	r.t.Helper()
	client, err := r.c.StartSubmitter(ctx)
	if err != nil {
		r.t.Fatal(err)
	}
	if err := hadoop.MakeDirectory(ctx, r.c, r.dir); err != nil {
		r.t.Fatal(err)
	}
	first := time.Now()
	for i := range jobs {
		j := &jobs[i]
		time.Sleep(time.Until(first.Add(j.after)))
		job := j.describe(r.scheduler, fmt.Sprintf("%s/%d", r.dir, i))
		maps.Copy(job, r.with)
		id, err := client.Submit(j.user, job)
		if err != nil {
			r.t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if late := time.Since(first) - jobs[len(jobs)-1].after; late > mixInterval {
		r.t.Logf("%s: the last job was submitted %.1f s after its time", r.dir, late.Seconds())
	}
	if err := client.Close(); err != nil {
		r.t.Fatal(err)
	}
	return ids
}

// waitEnded waits until an application has ended, and asks once a second: all hosts share the processors.
func waitEnded(ctx context.Context, t *testing.T, c *hadoop.Cluster, job string) {
	t.Helper()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		app, err := c.App(ctx, job)
		if err == nil && slices.Contains([]string{"FINISHED", "FAILED", "KILLED"}, app.State) {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s has not ended within %v: state %q, %v", job, mixLimit, app.State, err)
		}
	}
}

// logMix logs the time of each job, with where its tasks ran, and the mean of each user.
func (r *trial) logMix(jobs []mixJob, ids []string, all []ended) {
	r.t.Helper()
	of := map[string][]float64{}
	for i := range jobs {
		j := &jobs[i]
		of[j.user] = append(of[j.user], all[i].seconds())
		r.t.Logf("%s: %s %s of %s %.1f s, %s", r.dir, hadoop.AppID(ids[i]), j.name, j.user, all[i].seconds(), r.whereRan(ids[i]))
	}
	for _, user := range slices.Sorted(maps.Keys(of)) {
		r.t.Logf("%s: %d jobs of %s %.1f s in the mean", r.dir, len(of[user]), user, mean(of[user]))
	}
}

// mixColumns are the columns of the mix, in seconds.
func mixColumns(all []ended) []float64 {
	var seconds []float64
	first, last := all[0].start, all[0].end
	for _, e := range all {
		seconds = append(seconds, e.seconds())
		if e.start.Before(first) {
			first = e.start
		}
		if e.end.After(last) {
			last = e.end
		}
	}
	return []float64{mean(seconds), percentile(seconds, 0.95), last.Sub(first).Seconds()}
}

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

//go:build linux

package integration

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"testing"
	"time"

	"heddle/core/model"
	"heddle/integration/hadoop"
)

// scenario is work for the experiment, the same under every arm.
type scenario struct {
	name, about string
	policies    []string                // its arms beside stock, unless HEDDLE_POLICIES lists others
	reasons     map[string]model.Reason // by policy, one that a plan of every run must have; none for most
	columns     []string                // what run returns, in seconds; the first is what arms are compared by
	mbit        int                     // of an uplink; 0 is experimentMbit
	manyJobs    bool                    // so many jobs that heddle polls them less often

	input   func(context.Context, *hadoop.Cluster) error // written once
	prepare func(*trial)                                 // before each run, and not measured; nil for nothing
	run     func(*trial) []float64                       // one run
}

// trial is one run of a scenario.
type trial struct {
	t         *testing.T
	c         *hadoop.Cluster
	scheduler hadoop.Scheduler
	with      hadoop.Settings // of every job
	dir       string          // where all jobs write
	after     func()          // logs what is not to be measured; nil for nothing
}

// uplinkMbit is the rate of every uplink.
func (s *scenario) uplinkMbit() int { return cmp.Or(s.mbit, experimentMbit) }

// allScenarios are those there are.
func allScenarios() []*scenario {
	return []*scenario{
		oneJob("concentrated", "a terasort of input on one rack", func(c *hadoop.Cluster) []string { return c.HostsOf("/rack1") }, 2, 1),
		oneJob("even", "a terasort of input on all hosts", func(c *hadoop.Cluster) []string { return c.Hosts() }, 1, 1),
		oneJob("replicated", "a terasort of input on all hosts with three replicas", func(c *hadoop.Cluster) []string { return c.Hosts() }, 1, 3),
		chain(),
		pair(),
		mix(),
		crowd("eight", 8),
		crowd("crowd", 24),
	}
}

// Figures of the terasorts: relay-facts measured reduces alone with the same.
const (
	terasortBytes   = 6 * 33_000_000
	terasortReduces = 4
)

// terasortInput is the input of a terasort, so many files on each host.
func terasortInput(dir string, hosts []string, perHost, replicas int) hadoop.TeraFiles {
	return hadoop.TeraFiles{Dir: dir, Hosts: hosts, PerHost: perHost, Size: int64(terasortBytes / (len(hosts) * perHost)), Replicas: replicas}
}

// terasort runs one into a directory below the trial's.
func (r *trial) terasort(in, out string) ended {
	r.t.Helper()
	return r.job("terasort", "-Dmapreduce.job.reduces="+strconv.Itoa(terasortReduces), "-Dmapreduce.terasort.output.replication=1", in, r.dir+out)
}

// oneJob is a terasort alone.
func oneJob(name, about string, hosts func(*hadoop.Cluster) []string, perHost, replicas int) *scenario {
	in := "/in-" + name
	return &scenario{
		name: name, about: about, policies: []string{"shufflewatcher", "weave"}, columns: []string{"application seconds"},
		input: func(ctx context.Context, c *hadoop.Cluster) error {
			return hadoop.WriteTera(ctx, c, terasortInput(in, hosts(c), perHost, replicas))
		},
		run: func(r *trial) []float64 { return []float64{r.terasort(in, "").seconds()} },
	}
}

// chain is two sorts, of which the second reads what the first wrote together
// with a table on another rack. The first compresses its map output, as many
// sites do, so that its own shuffle is small beside what it writes. Where its
// reduces run is of little weight to itself: they lose a little by leaving the
// rack of its maps, and save the second most of its shuffle by running where the table is.
//
// Both tell their workflow as Hive and Pig do, and so does the job that loads
// the table before each run: Dawn weighs what jobs write, not what was there before them.
func chain() *scenario {
	const (
		facts, table  = "/in-chain-facts", "/in-chain-table"
		firstReduces  = 2
		secondReduces = 4
	)
	return &scenario{
		name: "chain", about: "two sorts, the second of the first's output and a table on another rack",
		policies: []string{"shufflewatcher", "dawn", "weave"}, reasons: map[string]model.Reason{"dawn": model.ReasonDependents},
		columns: []string{"seconds of both jobs", "of the first", "of the second"},
		input: func(ctx context.Context, c *hadoop.Cluster) error {
			const files, size = 2, 66_000_000
			return errors.Join(
				c.TeraInput(ctx, facts, c.HostsOf("/rack1")[:files], 1, size),
				c.TeraInput(ctx, table, c.HostsOf("/rack2")[:files], 1, size))
		},
		prepare: func(r *trial) { r.sort("table", 0, table, r.dir+"/table") },
		run: func(r *trial) []float64 {
			first := r.sort("first", firstReduces, facts, r.dir+"/first", "-Dmapreduce.map.output.compress=true")
			second := r.sort("second", secondReduces, r.dir+"/first,"+r.dir+"/table", r.dir+"/second")
			return []float64{second.end.Sub(first.start).Seconds(), first.seconds(), second.seconds()}
		},
	}
}

// sort runs a sort of lines of text as a node of the trial's workflow. Its files
// have one block and one replica; without reduces it copies.
func (r *trial) sort(node string, reduces int, in, out string, options ...string) ended {
	r.t.Helper()
	const lib, text = "org.apache.hadoop.mapreduce.lib.", "org.apache.hadoop.io.Text"
	workflow := "-Dmapreduce.workflow."
	return r.job("sort", append(options,
		workflow+"id="+path.Base(r.dir), workflow+"node.name="+node,
		workflow+"adjacency.table=second", workflow+"adjacency.first=second",
		"-Ddfs.replication=1", "-Ddfs.blocksize=134217728", "-r", strconv.Itoa(reduces),
		"-inFormat", lib+"input.KeyValueTextInputFormat", "-outFormat", lib+"output.TextOutputFormat",
		"-outKey", text, "-outValue", text, in, out)...)
}

// pair is two jobs that want the cluster at the same time: one reads much, all
// over the cluster, and shuffles next to nothing; the other one shuffles all it
// reads. The one that reads comes first, and its maps take nearly all containers.
func pair() *scenario {
	const spread, concentrated = "/in-pair-spread", "/in-pair-concentrated"
	return &scenario{
		name: "pair", about: "a map-heavy job and a shuffle-heavy one together",
		policies: []string{"shufflewatcher", "num", "weave"}, columns: []string{"seconds of a job, mean", "of the longer", "of the shuffle-heavy"},
		input: func(ctx context.Context, c *hadoop.Cluster) error {
			return errors.Join(
				c.TeraInput(ctx, spread, c.Hosts(), 2, 16_500_000),
				hadoop.WriteTera(ctx, c, terasortInput(concentrated, c.HostsOf("/rack1"), 2, 1)))
		},
		run: func(r *trial) []float64 {
			light := r.start("wordmean", spread, r.dir+"/mean")
			heavy := r.terasort(concentrated, "/sorted").seconds()
			other := light().seconds()
			return []float64{(other + heavy) / 2, max(other, heavy), heavy}
		},
	}
}

// crowd is more jobs at once than the cluster has containers for: terasorts of 66 MB, each of input on one rack, by turns.
func crowd(name string, jobs int) *scenario {
	in := func(i int) string { return fmt.Sprintf("/in-crowd-%d", i) }
	return &scenario{
		name: name, about: strconv.Itoa(jobs) + " terasorts a second apart, each of input on one rack",
		policies: []string{"shufflewatcher", "weave"}, columns: []string{"seconds of all jobs", "of a job, mean", "of the longest"},
		input: func(ctx context.Context, c *hadoop.Cluster) error {
			var errs []error
			for i, rack := range c.Racks() {
				errs = append(errs, c.TeraInput(ctx, in(i), c.HostsOf(rack), 1, 22_000_000))
			}
			return errors.Join(errs...)
		},
		run: func(r *trial) []float64 {
			wait := make([]func() ended, jobs)
			racks := len(r.c.Racks())
			for i := range wait {
				wait[i] = r.start("terasort", "-Dmapreduce.job.reduces=3", "-Dmapreduce.terasort.output.replication=1", in(i%racks), fmt.Sprintf("%s/%d", r.dir, i))
				time.Sleep(time.Second)
			}
			first, last, sum, longest := time.Time{}, time.Time{}, 0.0, 0.0
			for i := range wait {
				e := wait[i]()
				if first.IsZero() || e.start.Before(first) {
					first = e.start
				}
				if e.end.After(last) {
					last = e.end
				}
				sum, longest = sum+e.seconds(), max(longest, e.seconds())
			}
			return []float64{last.Sub(first).Seconds(), sum / float64(jobs), longest}
		},
	}
}

// ended is a job that has ended, with its times by the ResourceManager.
type ended struct{ start, end time.Time } // submission and end

func (e ended) seconds() float64 { return e.end.Sub(e.start).Seconds() }

// jobLimit bounds one job, its client and what else runs included.
const jobLimit = 20 * time.Minute

// job runs a program to its end.
func (r *trial) job(program string, args ...string) ended {
	r.t.Helper()
	job, err := r.c.JobWith(withTimeout(r.t, jobLimit), r.with, program, args...)
	if err != nil {
		r.t.Fatalf("%s: %v", r.dir, err)
	}
	return r.ended(program, job)
}

// start runs a program and returns once the ResourceManager has its job. What it
// returns waits for the end.
func (r *trial) start(program string, args ...string) func() ended {
	r.t.Helper()
	ctx, done, tag := withTimeout(r.t, jobLimit), make(chan jobResult, 1), path.Base(r.dir)
	go func() {
		job, err := r.c.JobWith(ctx, r.with, program, append([]string{"-Dmapreduce.job.tags=" + tag}, args...)...)
		done <- jobResult{job, err}
	}()
	eventually(r.t, jobLimit, program+" is submitted", func(ctx context.Context) error {
		apps, err := r.c.AppsTagged(ctx, tag)
		if err == nil && len(apps) == 0 {
			err = errors.New("no application has its tag")
		}
		return err
	})
	return func() ended {
		f := <-done
		if f.err != nil {
			r.t.Fatalf("%s: %v", r.dir, f.err)
		}
		return r.ended(program, f.job)
	}
}

// ended gets when a job began and ended, and logs where its tasks ran.
func (r *trial) ended(program, job string) ended {
	r.t.Helper()
	ctx := withTimeout(r.t, time.Minute)
	if _, err := r.c.Ended(ctx, job); err != nil {
		r.t.Fatal(err)
	}
	e := r.times(job)
	r.t.Logf("%s: %s %s %.1f s, %s", r.dir, hadoop.AppID(job), program, e.seconds(), r.whereRan(job))
	return e
}

// times gets when a job that has ended, and well, began and ended.
func (r *trial) times(job string) ended {
	r.t.Helper()
	var answer struct {
		App struct {
			StartedTime, FinishedTime int64 // milliseconds
			FinalStatus, Diagnostics  string
		}
	}
	if err := r.c.GetJSON(withTimeout(r.t, time.Minute), r.c.RMURL()+"/ws/v1/cluster/apps/"+hadoop.AppID(job), &answer); err != nil {
		r.t.Fatal(err)
	}
	if answer.App.FinalStatus != "SUCCEEDED" {
		r.t.Fatalf("%s: %s ended as %s: %s", r.dir, job, answer.App.FinalStatus, answer.App.Diagnostics)
	}
	return ended{time.UnixMilli(answer.App.StartedTime), time.UnixMilli(answer.App.FinishedTime)}
}

// whereRan says on which racks the tasks of a job that has ended ran.
func (r *trial) whereRan(job string) string {
	r.t.Helper()
	attempts, err := r.c.Attempts(withTimeout(r.t, time.Minute), job)
	if err != nil {
		r.t.Fatal(err)
	}
	return fmt.Sprintf("maps %v, reduces %v", hadoop.AttemptsByRack(attempts, "MAP"), hadoop.AttemptsByRack(attempts, "REDUCE"))
}

//go:build linux

package hadoop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// clientHeap is the heap of a client process, in MiB.
const clientHeap = 384

// Settings are Hadoop properties that a job is submitted with, over those of
// the cluster: mapreduce.job.queuename is the queue, mapreduce.job.tags the application's tags.
type Settings map[string]string

// flags are the settings as the generic options -Dname=value, sorted.
func (s Settings) flags() []string {
	flags := make([]string, 0, len(s))
	for _, name := range slices.Sorted(maps.Keys(s)) {
		flags = append(flags, "-D"+name+"="+s[name])
	}
	return flags
}

// override is these settings on top of others.
func (s Settings) override(base Settings) Settings {
	all := maps.Clone(base)
	maps.Copy(all, s)
	return all
}

// Run runs a Java class on the master host, with that host's configuration,
// and returns what it wrote. A status other than 0 is an error that quotes the end
// of its standard error.
func (p *Processes) Run(ctx context.Context, class string, args ...string) (stdout, stderr string, err error) {
	return p.run(ctx, program{jars: []string{p.jars}, class: class, args: args})
}

// program is a client to be run.
type program struct {
	jars    []string // directories
	options []string // of the Java machine; they win over those that every process has
	class   string
	args    []string
}

// run runs a program on the master host; see [Processes.Run].
func (p *Processes) run(ctx context.Context, client program) (stdout, stderr string, err error) {
	h := p.hosts[Master]
	if h == nil {
		return "", "", fmt.Errorf("run %s: the cluster is closed", client.class)
	}
	cmd := p.java(exec.CommandContext(ctx, p.javaFile()), p.site(Master), clientHeap, client.jars,
		slices.Concat(client.options, []string{client.class}, client.args)...)
	var out, diag bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &diag
	if err = h.Start(cmd); err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		text := strings.TrimSpace(diag.String())
		const tail = 2000
		err = fmt.Errorf("run %s %s: %w: %s", client.class, strings.Join(client.args, " "), errors.Join(err, ctx.Err()), text[max(0, len(text)-tail):])
	}
	return out.String(), diag.String(), err
}

// FS runs hdfs dfs with these arguments and returns its standard output.
func (c *Cluster) FS(ctx context.Context, args ...string) (string, error) {
	out, _, err := c.Run(ctx, "org.apache.hadoop.fs.FsShell", args...)
	return out, err
}

// Jobs runs programs on a cluster and finds their containers.
type Jobs struct {
	network   *Network
	processes *Processes
}

// Job runs a program of the examples jar to its end (teragen, terasort,
// wordcount, ...) and returns the id of its job.
func (j *Jobs) Job(ctx context.Context, args ...string) (string, error) {
	_, diag, err := j.processes.Run(ctx, "org.apache.hadoop.examples.ExampleDriver", args...)
	return JobID(diag), err
}

// SleepJob runs a job that only waits, for as long as its options say (-m, -r
// tasks; -mt, -rt milliseconds each), and returns its id.
func (j *Jobs) SleepJob(ctx context.Context, args ...string) (string, error) {
	_, diag, err := j.processes.Run(ctx, "org.apache.hadoop.mapreduce.SleepJob", args...)
	return JobID(diag), err
}

// JobWith is [Jobs.Job] with settings; the example sleep is that of
// [Jobs.SleepJob].
func (j *Jobs) JobWith(ctx context.Context, with Settings, example string, args ...string) (string, error) {
	args = append(with.flags(), args...)
	if example == "sleep" {
		return j.SleepJob(ctx, args...)
	}
	return j.Job(ctx, append([]string{example}, args...)...)
}

// JobID finds the id of the first job in the standard error of a client; empty
// when no job was submitted.
func JobID(stderr string) string {
	return regexp.MustCompile(`job_\d+_\d+`).FindString(stderr)
}

// Fsck runs hdfs fsck on a path and returns the blocks of its files with the
// hosts and racks of every replica.
func (c *Cluster) Fsck(ctx context.Context, path string) ([]FsckFile, error) {
	out, _, err := c.Run(ctx, "org.apache.hadoop.hdfs.tools.DFSck", path, "-files", "-blocks", "-locations", "-racks")
	if err != nil {
		return nil, err
	}
	return ParseFsck(strings.NewReader(out))
}

// Attempt is the successful attempt of a task of a finished job.
type Attempt struct {
	ID       string
	Type     string // MAP or REDUCE
	Rack     string // as the ApplicationMaster resolved it
	Host     string
	Started  int64            // milliseconds since the Unix epoch
	Counters map[string]int64 // by name; no name is in two of the groups that tasks have
}

// Attempts gets the successful attempts of all tasks of a finished job from
// the JobHistory server.
func (c *Cluster) Attempts(ctx context.Context, job string) ([]Attempt, error) {
	var list struct {
		Tasks struct {
			Task []struct{ ID, SuccessfulAttempt string }
		}
	}
	tasks := c.JHSURL() + "/ws/v1/history/mapreduce/jobs/" + job + "/tasks"
	if err := c.GetJSON(ctx, tasks, &list); err != nil {
		return nil, err
	}
	all := make([]Attempt, 0, len(list.Tasks.Task))
	for _, task := range list.Tasks.Task {
		a, err := c.attempt(ctx, tasks+"/"+task.ID+"/attempts/"+task.SuccessfulAttempt)
		if err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	return all, nil
}

func (c *Cluster) attempt(ctx context.Context, url string) (Attempt, error) {
	var one struct {
		TaskAttempt struct {
			ID, Type, Rack, NodeHTTPAddress string
			StartTime                       int64
		}
	}
	if err := c.GetJSON(ctx, url, &one); err != nil {
		return Attempt{}, err
	}
	var counters struct {
		JobTaskAttemptCounters struct {
			TaskAttemptCounterGroup []struct {
				Counter []struct {
					Name  string
					Value int64
				}
			}
		}
	}
	if err := c.GetJSON(ctx, url+"/counters", &counters); err != nil {
		return Attempt{}, err
	}
	t := one.TaskAttempt
	host, _, _ := strings.Cut(t.NodeHTTPAddress, ":")
	a := Attempt{ID: t.ID, Type: t.Type, Rack: t.Rack, Host: host, Started: t.StartTime, Counters: make(map[string]int64)}
	for _, g := range counters.JobTaskAttemptCounters.TaskAttemptCounterGroup {
		for _, k := range g.Counter {
			a.Counters[k.Name] = k.Value
		}
	}
	return a, nil
}

package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"heddle/cmd/heddle/internal/exit"
	"heddle/cmd/heddle/internal/importing"
	"heddle/cmd/heddle/internal/sources"
	"heddle/configs/hadoopconf"
	"heddle/core/model"
	"heddle/hdfsclient"
)

func newImport() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import FORMAT SOURCE... --out FILE",
		Short: "Make a workload of job histories and traces of other systems",
		Long: `Read job histories, or a trace of another system, and write a workload in heddle's own
format, which 'heddle simulate', 'heddle fluid' and 'heddle reproduce' take.

A job that cannot be imported is left out and named, with the reason; the others are
imported. Nothing is written over, and nothing is left behind unless all of it is written.`,
		Example: `  heddle import jhist /mnt/history/done --since 2026-11-01 --out november.jsonl.zst --cluster-out cluster.yml
  heddle simulate --workload november.jsonl.zst --cluster cluster.yml --policies fair,shufflewatcher,nas
  heddle import coflow FB2010-1Hr-150-0.txt --out coflows.jsonl.zst --cluster-out ports.yml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newImportJhist(), newImportRumen(), newImportSLS(), newImportSWIM(), newImportCoflow())
	return cmd
}

// importFlags are the flags that all formats share.
type importFlags struct {
	output

	maxFile string
}

// register adds the flags. Formats that say which nodes tasks ran on have more of them.
func (f *importFlags) register(cmd *cobra.Command, o *importing.Options, hasNodes bool) {
	fs := cmd.Flags()
	fs.StringVar(&o.Out, "out", "", "the `file` to write; its name ends in .jsonl or .jsonl.zst")
	fs.StringVar(&o.Name, "name", "", "the workload's `name` (default: that of the file)")
	fs.StringVar(&f.maxFile, "max-file", importing.DefaultMaxFile.String(), "the largest file to read, as a `size` without compression")
	f.flag(cmd)
	if !hasNodes {
		return
	}
	o.NIC, o.Uplink = 1e9/8, 10e9/8
	fs.StringVar(&o.ClusterOut, "cluster-out", "", "write the nodes that the workload names as a `file` for --cluster of 'heddle simulate'; its name ends in .yml")
	fs.BoolVar(&o.Anywhere, "anywhere", false, "leave out where blocks were and tasks ran, so that the workload runs on any cluster")
	fs.StringVar(&o.Topology, "topology", "", "a `file` with a host and its rack on each line, as net.topology.table.file.name has them, for hosts on which no task ran")
	fs.TextVar(&o.NIC, "nic", o.NIC, "the `rate` of a node's interface that the cluster has")
	fs.TextVar(&o.Uplink, "uplink", o.Uplink, "the `rate` of a rack's uplink that the cluster has")
}

// apply checks the flags and completes the options.
func (f *importFlags) apply(o *importing.Options, sources []string) error {
	if err := f.check(); err != nil {
		return err
	}
	if err := o.MaxFile.UnmarshalText([]byte(f.maxFile)); err != nil {
		return exit.NewUsageError(fmt.Errorf("--max-file: %w", err))
	}
	o.Sources = sources
	return nil
}

func newImportJhist() *cobra.Command {
	var h importing.Histories
	var flags importFlags
	var config configFlags
	var since, until string
	cmd := &cobra.Command{
		Use:   "jhist SOURCE... --out FILE",
		Short: "Import the history files of MapReduce jobs",
		Long: `Make a workload of the history files (.jhist) that MapReduce keeps of its jobs, of Hadoop 2
and 3, as JSON or binary, compressed by gzip or zstd or not.

A source is a history file or a folder, which is searched for them: the done folder of the
JobHistory server with its folders by date, or a copy of it. It may be on HDFS
(hdfs:///user/history/done), which is read over WebHDFS as the configuration says, or as
HADOOP_CONF_DIR does. With --config or --hadoop-conf-dir and no source, it is the
JobHistory server's done folder (mapreduce.jobhistory.done-dir). The configuration beside a
history (JOB_conf.xml) gives the size of its containers.

Each task is the attempt that succeeded: where it ran, from when to when, the bytes it
read, put out, fetched and wrote by its counters, the hosts of its block. Jobs that failed,
were killed or still run are left out.

--fsck takes the output of 'hdfs fsck / -files -blocks -locations -racks': the maps of a job
that has as many as the files it reads have splits get the replicas of their blocks, in
place of the hosts that its history names, unless these are others. MapReduce numbers maps
by the size of their splits. --hosts names the addresses in it, as /etc/hosts does.

--since and --until bound when jobs were submitted, by the names of the files: others are
not read.`,
		Example: `  heddle import jhist /mnt/history/done --since 2026-11-01 --until 2026-12-01 --out november.jsonl.zst --cluster-out cluster.yml
  heddle import jhist --hadoop-conf-dir /etc/hadoop/conf --since 2026-11-23 --out today.jsonl.zst
  heddle import jhist hdfs:///user/history/done/2026/11 --config heddle.yml --out november.jsonl.zst
  heddle import jhist job_1795215638925_0054-*.jhist --anywhere --out sort.jsonl`,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if err := flags.apply(&h.Options, args); err != nil {
				return err
			}
			if h.Since, err = instant("since", since); err != nil {
				return err
			}
			if h.Until, err = instant("until", until); err != nil {
				return err
			}
			if h.Hosts != "" && h.Fsck == "" {
				return exit.NewUsageError(errors.New("--hosts names the addresses of --fsck: give that too"))
			}
			h.Progress = cmd.ErrOrStderr()
			h.Done = config.file != "" || config.hadoopDir != ""
			h.HDFS = config.hdfs
			res, err := h.Run(cmd.Context())
			if err != nil {
				return err
			}
			return flags.print(cmd.OutOrStdout(), res, res.Table)
		},
	}
	flags.register(cmd, &h.Options, true)
	cmd.Flags().StringVar(&config.file, "config", "", "the configuration `file` (YAML) that says how to reach HDFS")
	cmd.Flags().StringVar(&config.hadoopDir, "hadoop-conf-dir", "", "the `directory` with Hadoop's own XML configuration (default: HADOOP_CONF_DIR)")
	cmd.Flags().StringVar(&h.Fsck, "fsck", "", "a `file` with the output of 'hdfs fsck / -files -blocks -locations -racks', for where blocks are")
	cmd.Flags().StringVar(&h.Hosts, "hosts", "", "a `file` such as /etc/hosts, with the names of the addresses in --fsck")
	cmd.Flags().StringVar(&since, "since", "", "import jobs submitted from this `time` on: RFC 3339, or a date such as 2026-11-01 (UTC)")
	cmd.Flags().StringVar(&until, "until", "", "import jobs submitted before this `time`")
	return cmd
}

// hdfs returns a client of the configured NameNodes, and Hadoop's own configuration, nil without
// one.
func (f *configFlags) hdfs() (*hdfsclient.Client, *hadoopconf.Config, error) {
	loaded, err := f.load()
	if err != nil {
		return nil, nil, fmt.Errorf("configuration:\n%w", err)
	}
	client, err := sources.HDFS(sources.Options{Config: &loaded.Config, Hadoop: loaded.Hadoop, Log: hclog.NewNullLogger(), Now: time.Now})
	return client, loaded.Hadoop, err
}

// instant reads a time of a flag, 0 if it is not given.
func instant(flag, text string) (model.Time, error) {
	if text == "" {
		return 0, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil && at.UnixMilli() > 0 {
			return model.Time(at.UnixMilli()), nil
		}
	}
	return 0, exit.NewUsageError(fmt.Errorf("--%s %q: want a time such as 2026-11-01T08:00:00Z, or a date such as 2026-11-01", flag, text))
}

func newImportSWIM() *cobra.Command {
	s := importing.DefaultSWIM()
	var flags importFlags
	cmd := &cobra.Command{
		Use:   "swim TRACE --out FILE",
		Short: "Import a SWIM trace with other sizes of tasks than the default",
		Long: `Make a workload of a trace of SWIM (SWIMProjectUCB/SWIM, workloadSuite), with or without
columns of paths. The other commands also take such a trace as it is (TRACE.tsv), with the
defaults of these flags; an import says what the trace leaves open.

A trace has bytes and times of submissions. Tasks are cut by size, jobs are given to users
at random, and what a task computes follows from what it reads.`,
		Example: `  heddle import swim FB-2010_samples_24_times_1hr_withInputPaths_0.tsv --out fb2010.jsonl.zst
  heddle import swim FB-2009_samples_24_times_1hr_1.tsv --block 64MiB --per-reduce 256MiB --skew 0.5 --out fb2009.jsonl.zst`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := flags.apply(&s.Options, args); err != nil {
				return err
			}
			res, err := s.Run(cmd.Context())
			if err != nil {
				return err
			}
			return flags.print(cmd.OutOrStdout(), res, res.Table)
		},
	}
	flags.register(cmd, &s.Options, false)
	f := cmd.Flags()
	f.BoolVar(&s.Trace.Lenient, "lenient", false, "skip invalid records, and print how many")
	f.IntVar(&s.Trace.Users, "users", s.Trace.Users, "the `number` of users, to whom jobs are given at random")
	f.Uint64Var(&s.Trace.Seed, "seed", s.Trace.Seed, "the `seed` of that draw")
	f.TextVar(&s.Block, "block", s.Block, "the input of a map, as a `size`")
	f.TextVar(&s.PerReduce, "per-reduce", s.PerReduce, "shuffle and output of a reduce together, as a `size`")
	f.IntVar(&s.Trace.Sizing.SWIMNodes, "swim-nodes", 0, "bound reduces as SWIM's replay does on a cluster of `N` nodes; 0 does not")
	f.IntVar(&s.Trace.Sizing.Racks, "racks", 0, "the `number` of racks that hold the input of a job; 0 is all")
	f.Float64Var(&s.Trace.Sizing.Skew, "skew", 0, "the Zipf `exponent` of reduce partitions, 0 to 8; 0 is even")
	return cmd
}

// Package importing runs the command `heddle import`: it reads traces and job histories of
// other systems and writes a workload in heddle's own format.
package importing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"heddle/cmd/heddle/internal/exit"
	"heddle/configs/strict"
	"heddle/core/lab/measured"
	"heddle/core/lab/workload"
	"heddle/core/model"
)

// Options are those that all formats share.
type Options struct {
	Sources    []string // files or folders
	Out        string   // the workload's file
	ClusterOut string   // "" writes no cluster
	Name       string   // of the workload; "" is that of Out without its ending
	Anywhere   bool     // drop the nodes that tasks ran on
	Topology   string   // file with the racks of hosts; "" is none
	NIC        strict.Rate
	Uplink     strict.Rate
	MaxFile    strict.Size // the largest file that is read, uncompressed
}

// Left is a job, or a file, that was left out.
type Left struct {
	What string `json:"what"` // the job's id or the file's name
	Why  string `json:"reason"`
}

// Result is what an import made.
type Result struct {
	File    string   `json:"file"`
	Jobs    int      `json:"jobs"`
	Tasks   int      `json:"tasks"`
	Bytes   Bytes    `json:"bytes"`
	Spans   float64  `json:"submitted_within_s"` // from the first submission to the last
	Left    []Left   `json:"left_out"`
	Racks   []Rack   `json:"racks,omitempty"`
	Cluster string   `json:"cluster,omitempty"` // what --cluster takes: a file or a line; "" where any cluster does
	Notes   []string `json:"notes,omitempty"`
}

// Bytes are sums over all jobs of the workload.
type Bytes struct {
	Read     model.Bytes `json:"read_bytes"`    // from HDFS
	Output   model.Bytes `json:"map_bytes"`     // output of stages that others read
	Shuffled model.Bytes `json:"shuffle_bytes"` // as reduces say; equal to the map output where they do not
	Written  model.Bytes `json:"written_bytes"` // to HDFS
}

// Rack is a rack and how many nodes it has.
type Rack struct {
	ID    model.RackID `json:"id"`
	Nodes int          `json:"nodes"`
}

// check refuses options that cannot work, before anything is read.
func (o *Options) check() error {
	switch {
	case len(o.Sources) == 0:
		return exit.NewUsageError(errors.New("no source: name the files to import, for histories also with --config alone the JobHistory server's"))
	case o.Out == "":
		return exit.NewUsageError(errors.New("--out: name the file to write, such as jobs.jsonl.zst"))
	case !isWorkloadName(o.Out):
		return exit.NewUsageError(fmt.Errorf("--out %s: the name must end in .jsonl or .jsonl.zst", o.Out))
	case o.ClusterOut != "" && o.Anywhere:
		return exit.NewUsageError(errors.New("--cluster-out: with --anywhere the workload runs on any cluster, so there is none to write"))
	case o.ClusterOut != "" && !isClusterName(o.ClusterOut):
		return exit.NewUsageError(fmt.Errorf("--cluster-out %s: the name must end in .yml or .yaml", o.ClusterOut))
	}
	return errors.Join(refuseExisting("--out", o.Out), refuseExisting("--cluster-out", o.ClusterOut))
}

func isWorkloadName(name string) bool {
	return strings.HasSuffix(name, ".jsonl") || strings.HasSuffix(name, ".jsonl.zst")
}

func isClusterName(name string) bool {
	return filepath.Ext(name) == ".yml" || filepath.Ext(name) == ".yaml"
}

// name returns the workload's name.
func (o *Options) name() string {
	base := filepath.Base(o.Out)
	return cmp.Or(o.Name, strings.TrimSuffix(strings.TrimSuffix(base, ".zst"), ".jsonl"))
}

// imported are jobs as they ran, and what was left out on the way.
type imported struct {
	jobs  []measured.Job
	racks map[model.RackID][]string
	left  []Left
	notes []string

	startsAtOnce bool // see measured.Options
}

// addRacks adds racks of hosts, which win over those that sources name.
func (i *imported) addRacks(racks map[model.RackID][]string) {
	if racks == nil {
		return
	}
	named := map[string]bool{}
	for _, hosts := range racks { // order-free: a set
		for _, h := range hosts {
			named[h] = true
		}
	}
	all := map[model.RackID][]string{}
	for rack, hosts := range i.racks { // order-free: each rack on its own
		all[rack] = slices.DeleteFunc(slices.Clone(hosts), func(h string) bool { return named[h] })
	}
	for rack, hosts := range racks { // order-free: each rack on its own
		all[rack] = append(all[rack], hosts...)
	}
	for rack, hosts := range all { // order-free: each rack on its own
		if len(hosts) == 0 {
			delete(all, rack)
		}
	}
	i.racks = all
}

// reader reads the jobs of the sources.
type reader func(ctx context.Context, o *Options) (*imported, error)

// measure reads jobs as they ran and writes the workload they make.
func (o *Options) measure(ctx context.Context, read reader) (*Result, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	racks, err := o.topology(ctx)
	if err != nil {
		return nil, err
	}
	in, err := read(ctx, o)
	if err != nil {
		return nil, err
	}
	in.addRacks(racks)
	m, err := measured.Workload(in.jobs, &measured.Options{Name: o.name(), Racks: in.racks, Anywhere: o.Anywhere, StartsAtOnce: in.startsAtOnce})
	if err != nil {
		return nil, err
	}
	for _, l := range m.Left {
		in.left = append(in.left, Left{l.ID, l.Why})
	}
	if len(m.Workload.Jobs) == 0 {
		return nil, nothing(in.left)
	}
	res := summarize(o.Out, m.Workload)
	res.Left, res.Notes = in.left, in.notes
	for i := range m.Racks {
		res.Racks = append(res.Racks, Rack{m.Racks[i].ID, len(m.Racks[i].Hosts)})
	}
	if n := unplaced(in.jobs, m.Racks); n > 0 && !o.Anywhere {
		res.Notes = append(res.Notes, fmt.Sprintf("hosts with blocks whose rack nothing says, and which are left out: %d (--topology names the racks of hosts)", n))
	}
	if err := o.write(m, res, mostAtOnce(in.jobs)); err != nil {
		return nil, err
	}
	return res, nil
}

// nothing says that no job is left.
func nothing(left []Left) error {
	if len(left) == 0 {
		return errors.New("there is no job in what was named")
	}
	var b strings.Builder
	printLeft(&b, left)
	return fmt.Errorf("no job could be imported\n%s", strings.TrimRight(b.String(), "\n"))
}

// write writes the workload and, where it names nodes, the cluster, whose nodes have so many
// containers.
func (o *Options) write(m *measured.Result, res *Result, containers int) error {
	if err := writeFile(o.Out, func(to io.Writer) error { return workload.Write(to, m.Workload) }); err != nil {
		return err
	}
	if len(m.Racks) == 0 {
		return nil
	}
	c := &cluster{racks: m.Racks, containers: containers, nic: o.NIC, uplink: o.Uplink}
	res.Cluster = c.line()
	if o.ClusterOut == "" {
		return nil
	}
	res.Cluster = o.ClusterOut
	return writeFile(o.ClusterOut, c.write)
}

// summarize sums up a workload.
func summarize(file string, w *workload.Workload) *Result {
	res := &Result{File: file, Jobs: len(w.Jobs), Left: []Left{}}
	for i := range w.Jobs {
		res.add(&w.Jobs[i])
	}
	if n := len(w.Jobs); n > 0 {
		res.Spans = w.Jobs[n-1].Submit.Sub(w.Jobs[0].Submit).Seconds()
	}
	return res
}

// add adds the tasks and bytes of a job.
func (r *Result) add(j *workload.Job) {
	read := make([]bool, len(j.Stages)) // by another stage
	for k := range j.Stages {
		for _, e := range j.Stages[k].Edges {
			read[e.From] = true
		}
	}
	for k := range j.Stages {
		s := &j.Stages[k]
		r.Tasks += s.Tasks
		r.Bytes.Read += s.Input()
		r.Bytes.Shuffled += shuffled(j, s)
		if read[k] {
			r.Bytes.Output += s.Output
		} else {
			r.Bytes.Written += s.Output
		}
	}
}

// shuffled returns what a stage fetches from others: as its tasks were measured or, where they
// were not, what those put out.
func shuffled(j *workload.Job, s *workload.Stage) model.Bytes {
	var sum model.Bytes
	for t := range s.Measured {
		sum += s.Measured[t].Shuffled
	}
	if sum > 0 {
		return sum
	}
	for _, e := range s.Edges {
		sum += j.Stages[e.From].Output
	}
	return sum
}

// unplaced counts hosts with blocks that are in no rack.
func unplaced(jobs []measured.Job, racks []measured.Rack) int {
	placed := map[string]bool{}
	for i := range racks {
		for _, h := range racks[i].Hosts {
			placed[h] = true
		}
	}
	missing := map[string]bool{}
	for i := range jobs {
		for k := range jobs[i].Maps {
			for _, h := range jobs[i].Maps[k].Replicas {
				if !placed[h] {
					missing[h] = true
				}
			}
		}
	}
	return len(missing)
}

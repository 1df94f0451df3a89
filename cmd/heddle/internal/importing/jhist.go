package importing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync/atomic"

	"heddle/cmd/heddle/internal/exit"
	"heddle/cmd/heddle/internal/terminal"
	"heddle/configs/hadoopconf"
	"heddle/configs/strict"
	"heddle/core/model"
	"heddle/hdfsclient"
	"heddle/yarnproxy/jhist"
)

// Histories imports the history files of MapReduce jobs.
type Histories struct {
	Options

	// Since and Until bound when jobs were submitted, of the Unix epoch: from Since on, and
	// before Until. 0 is no bound.
	Since, Until model.Time
	Progress     io.Writer // where a line about the progress goes
	// HDFS returns what reads HDFS, and Hadoop's configuration, nil without one.
	HDFS func() (*hdfsclient.Client, *hadoopconf.Config, error)
	// Fsck is a file with what 'hdfs fsck' printed, Hosts one with the names of addresses; "" is none.
	Fsck, Hosts string
	// Done imports the done folder of the JobHistory server if there is no source.
	Done bool
}

// Run imports.
func (h *Histories) Run(ctx context.Context) (*Result, error) {
	stores := &stores{hdfs: h.HDFS}
	if len(h.Sources) == 0 && h.Done {
		done, err := stores.doneFolder()
		if err != nil {
			return nil, err
		}
		h.Sources = []string{done}
	}
	res, err := h.measure(ctx, func(ctx context.Context, _ *Options) (*imported, error) { return h.read(ctx, stores) })
	return res, errors.Join(err, stores.close())
}

func (h *Histories) read(ctx context.Context, stores *stores) (*imported, error) {
	r := &historyReader{h: h, into: &imported{}, inputs: map[string][]string{}}
	stop := terminal.ShowProgress(ctx, h.Progress, func() string { return fmt.Sprintf("reading histories: %d jobs", r.done.Load()) })
	defer stop()
	for _, src := range h.Sources {
		in, err := stores.of(src)
		if err != nil {
			return nil, err
		}
		if err := r.source(ctx, in, src); err != nil {
			return nil, err
		}
	}
	if h.Fsck == "" {
		return r.into, nil
	}
	return r.into, h.locateBlocks(ctx, r.into, r.inputs, h.Fsck, h.Hosts)
}

// historyReader reads history files into jobs.
type historyReader struct {
	h      *Histories
	into   *imported
	inputs map[string][]string // by job: the paths that it reads
	done   atomic.Int64        // files that were read
}

// source reads the history files at or below a path.
func (r *historyReader) source(ctx context.Context, in store, path string) error {
	found, outside := 0, 0
	err := in.walk(ctx, path, func(file string) error {
		if ctx.Err() != nil {
			return exit.NewInterruptedError("after %d history files", r.done.Load())
		}
		name, isHistory := jhist.ParseName(file)
		if !isHistory && file != path { // a file that was named itself is read whatever it is called
			return nil
		}
		found++
		if name.Submitted > 0 && !r.h.within(name.Submitted) {
			outside++
			return nil
		}
		if err := r.file(ctx, in, file); err != nil {
			r.into.left = append(r.into.left, Left{cmp.Or(name.Job, file), err.Error()})
		}
		return nil
	})
	switch {
	case ctx.Err() != nil:
		return exit.NewInterruptedError("after %d history files", r.done.Load())
	case err != nil:
		return fmt.Errorf("histories: %w", err)
	case found == 0:
		return fmt.Errorf("%s: there is no history file (job_…%s) in it", path, jhist.Suffix)
	case outside > 0:
		r.into.notes = append(r.into.notes, fmt.Sprintf("%s of %d in %s submitted outside of --since and --until, by their names", terminal.Count(outside, "job"), found, path))
	}
	return nil
}

// within reports whether a job submitted at a time is wanted.
func (h *Histories) within(at model.Time) bool {
	return at >= h.Since && (h.Until == 0 || at < h.Until)
}

// file reads a history and the configuration beside it.
func (r *historyReader) file(ctx context.Context, in store, file string) error {
	j, err := readOf(ctx, in, file, r.h.MaxFile, jhist.Read)
	if err != nil {
		return err
	}
	r.done.Add(1)
	switch {
	case !r.h.within(j.Submitted):
		return errors.New("it was submitted outside of --since and --until")
	case j.Status == "":
		return errors.New("its history has no end: it still runs, or its ApplicationMaster was killed")
	case j.Status != "SUCCEEDED":
		return fmt.Errorf("it ended as %s", j.Status)
	}
	c, err := r.conf(ctx, in, file, j.ID)
	if err != nil {
		r.into.notes = append(r.into.notes, fmt.Sprintf("configuration of %s: %v; its containers have the default size", j.ID, err))
		c = &jhist.Conf{}
	}
	j.MapTask, j.ReduceTask = c.Map, c.Reduce
	r.inputs[j.ID] = c.Inputs
	r.into.jobs = append(r.into.jobs, j.Job)
	return nil
}

// conf reads the configuration beside a history; an empty one if there is none.
func (r *historyReader) conf(ctx context.Context, in store, file, job string) (*jhist.Conf, error) {
	beside := in.beside(file, jhist.ConfName(job))
	for _, name := range []string{beside, beside + ".gz"} {
		c, err := readOf(ctx, in, name, r.h.MaxFile, jhist.ReadConf)
		if !errors.Is(err, fs.ErrNotExist) {
			return c, err
		}
	}
	return &jhist.Conf{}, nil
}

// readOf opens a file and reads it.
func readOf[T any](ctx context.Context, in store, file string, limit strict.Size, read func(io.Reader) (*T, error)) (*T, error) {
	raw, err := in.open(ctx, file)
	if err != nil {
		return nil, err
	}
	src, err := uncompress(ctx, raw, int64(limit))
	if err != nil {
		return nil, err
	}
	defer src.Close() //nolint:errcheck // it was only read
	return read(src)
}

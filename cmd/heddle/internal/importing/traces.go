package importing

import (
	"context"
	"errors"
	"fmt"
	"io"

	"heddle/cmd/heddle/internal/exit"
	"heddle/core/lab/measured"
	"heddle/core/lab/measured/coflow"
	"heddle/core/lab/measured/rumen"
	"heddle/core/lab/measured/sls"
	"heddle/core/model"
)

// Rumen imports job traces of Rumen.
func (o *Options) Rumen(ctx context.Context) (*Result, error) {
	return o.measure(ctx, func(ctx context.Context, o *Options) (*imported, error) {
		all := &imported{racks: map[model.RackID][]string{}}
		for _, name := range o.Sources {
			if ctx.Err() != nil {
				return nil, exit.NewInterruptedError("before %s", name)
			}
			t, err := readTrace(ctx, name, o, rumen.Read)
			if err != nil {
				return nil, err
			}
			all.add(t)
		}
		return all, nil
	})
}

// SLS imports a trace of Hadoop's scheduler load simulator. Nodes is the file with its nodes,
// "" if there is none.
func (o *Options) SLS(ctx context.Context, nodes string) (*Result, error) {
	return o.measure(ctx, func(ctx context.Context, o *Options) (*imported, error) {
		if len(o.Sources) > 1 {
			return nil, exit.NewUsageError(fmt.Errorf("%d traces: name one; submissions of two are not of one time", len(o.Sources)))
		}
		t, err := readTrace(ctx, o.Sources[0], o, sls.Read)
		if err != nil {
			return nil, err
		}
		if nodes != "" {
			racks, err := readTrace(ctx, nodes, o, func(r io.Reader) (*map[model.RackID][]string, error) {
				racks, err := sls.ReadNodes(r)
				return &racks, err
			})
			if err != nil {
				return nil, fmt.Errorf("--nodes: %w", err)
			}
			t.Racks = *racks
		}
		all := &imported{racks: map[model.RackID][]string{}}
		all.add(t)
		all.startsAtOnce = t.StartsAtOnce
		return all, nil
	})
}

// add adds what a trace says.
func (i *imported) add(t *measured.Trace) {
	i.jobs = append(i.jobs, t.Jobs...)
	i.notes = append(i.notes, t.Notes...)
	for _, l := range t.Left {
		i.left = append(i.left, Left{l.ID, l.Why})
	}
	placed := map[string]bool{}
	for _, hosts := range i.racks { // order-free: a set
		for _, h := range hosts {
			placed[h] = true
		}
	}
	for rack, hosts := range t.Racks { // order-free: each rack on its own
		for _, h := range hosts {
			if !placed[h] {
				i.racks[rack] = append(i.racks[rack], h)
			}
		}
	}
}

// readTrace opens a trace and reads it; errors begin with its name.
func readTrace[T any](ctx context.Context, name string, o *Options, read func(io.Reader) (*T, error)) (*T, error) {
	in, err := openFile(ctx, name, o.MaxFile)
	if err != nil {
		return nil, err
	}
	defer in.Close() //nolint:errcheck // it was only read
	t, err := read(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return t, nil
}

// coflowContainers is how many containers a rack's one node gets: enough that no coflow waits
// for one.
const coflowContainers = 1000

// Coflow imports a trace of coflow-benchmark.
func (o *Options) Coflow(ctx context.Context) (*Result, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if len(o.Sources) > 1 {
		return nil, exit.NewUsageError(fmt.Errorf("%d traces: name one; arrivals of two are not of one time", len(o.Sources)))
	}
	name := o.Sources[0]
	in, err := openFile(ctx, name, o.MaxFile)
	if err != nil {
		return nil, err
	}
	defer in.Close() //nolint:errcheck // it was only read
	t, err := coflow.Read(in, coflow.Options{File: name, Name: o.name(), Anywhere: o.Anywhere})
	if err != nil {
		return nil, err
	}
	m := &measured.Result{Workload: t.Workload}
	res := summarize(o.Out, t.Workload)
	res.Notes = []string{"the trace says what racks shuffle, and nothing else: maps and reduces compute for no time, and read and write no files"}
	if !o.Anywhere {
		for r := range t.Racks {
			rack := model.RackID(fmt.Sprintf("/port%05d", r))
			m.Racks = append(m.Racks, measured.Rack{ID: rack, Hosts: []string{"node"}})
			res.Racks = append(res.Racks, Rack{rack, 1})
		}
	}
	return res, o.write(m, res, coflowContainers)
}

var errNotWritten = errors.New("no job could be written")

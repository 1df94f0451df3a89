package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"

	"heddle/core/fluid"
	"heddle/core/model"
	"heddle/core/workload"
)

// fluidLoad is a workload as the fluid model sees it.
type fluidLoad struct {
	name    string
	jobs    []fluid.Job
	mapRate float64 // the map capacity in bytes a second
	maps    float64 // bytes of all jobs
	shuffle float64
}

// loadFluid reads or makes the workload of a command line and says on stderr
// what was left out of it.
func loadFluid(q *fluidQuestion, stderr io.Writer) (*fluidLoad, error) {
	w, err := openWorkload(q.workload, q.lenient)
	if err != nil {
		return nil, err
	}
	sayLeftOut(stderr, w)
	l := &fluidLoad{name: w.Name, jobs: make([]fluid.Job, len(w.Jobs))}
	for i := range w.Jobs {
		j := &w.Jobs[i]
		l.jobs[i] = fluid.Job{Arrival: float64(j.Submit) / float64(model.Second), Map: float64(j.Input()), Shuffle: float64(j.Shuffle())}
		l.maps, l.shuffle = l.maps+l.jobs[i].Map, l.shuffle+l.jobs[i].Shuffle
	}
	l.mapRate = l.maps / q.span.Seconds()
	if unit, ok := lognormalUnit(q.workload); ok {
		l.mapRate = unit
	}
	if l.mapRate <= 0 {
		return nil, fmt.Errorf("%s: its %d jobs read nothing, and the map capacity is all they read over --span: use a workload with input", l.name, len(l.jobs))
	}
	return l, nil
}

func (l *fluidLoad) capacity(beta float64) fluid.Capacity {
	return fluid.Capacity{Map: l.mapRate, Shuffle: beta * l.mapRate}
}

func (l *fluidLoad) about() string {
	return fmt.Sprintf("%s: %d jobs, %s of map input, %s of shuffle; map capacity %s/s",
		l.name, len(l.jobs), sizeText(l.maps), sizeText(l.shuffle), sizeText(l.mapRate))
}

func (l *fluidLoad) wrong(err error) error { return fmt.Errorf("%s: %w", l.name, err) }

// openWorkload reads or makes a workload by its name on a command line.
func openWorkload(name string, lenient bool) (*workload.Workload, error) {
	if strings.HasPrefix(name, workload.SynthPrefix) {
		w, err := workload.Synth(name)
		if err != nil {
			return nil, usageError{fmt.Errorf("--workload: %w", err)}
		}
		return w, nil
	}
	f, err := os.Open(name) //nolint:gosec // the operator names it
	if err != nil {
		return nil, fmt.Errorf("--workload: %w", err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	w, err := readWorkload(f, name, lenient)
	if err != nil {
		return nil, fmt.Errorf("--workload: %w", err)
	}
	if w.Name == "" {
		w.Name = name
	}
	return w, nil
}

// sayLeftOut says what a lenient reader left out of a workload.
func sayLeftOut(stderr io.Writer, w *workload.Workload) {
	for _, s := range w.Skipped {
		fmt.Fprintf(stderr, "left out %d records, the first on line %d: %s\n", s.Count, s.Line, s.Reason)
	}
}

// readWorkload reads a file by the ending of its name.
func readWorkload(r io.Reader, name string, lenient bool) (*workload.Workload, error) {
	switch {
	case strings.HasSuffix(name, ".tsv"):
		opts := workload.DefaultSWIMOptions()
		opts.File, opts.Lenient = name, lenient
		return workload.ReadSWIM(r, opts)
	case strings.HasSuffix(name, ".jsonl"):
		return workload.Read(r, workload.ReadOptions{File: name, Lenient: lenient})
	case strings.HasSuffix(name, ".jsonl.zst"):
		z, err := zstd.NewReader(r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		defer z.Close()
		return workload.Read(z, workload.ReadOptions{File: name, Lenient: lenient})
	}
	return nil, errors.New(name + ": the name must end in .tsv for a SWIM trace, or in .jsonl or .jsonl.zst for heddle's own format")
}

// lognormalUnit returns the unit of size, in bytes, of the generator lognormal,
// one of which the paper's map capacity does a second (NUM §5.2.1).
func lognormalUnit(name string) (float64, bool) {
	const key = "unit_mib"
	parts := strings.Split(strings.TrimPrefix(name, workload.SynthPrefix), ",")
	if parts[0] != "lognormal" || !strings.HasPrefix(name, workload.SynthPrefix) {
		return 0, false
	}
	text := ""
	for _, g := range workload.Generators() {
		for _, k := range g.Keys {
			if g.Name == parts[0] && k.Name == key {
				text = k.Default
			}
		}
	}
	for _, pair := range parts[1:] {
		if value, ok := strings.CutPrefix(pair, key+"="); ok {
			text = value
		}
	}
	mib, err := strconv.ParseFloat(text, 64)
	return mib * float64(model.MiB), err == nil
}

package fluidsweep

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"heddle/cmd/heddle/internal/terminal"
	"heddle/cmd/heddle/internal/workloadfile"
	"heddle/core/lab/fluid"
	"heddle/core/lab/workload"
	"heddle/core/model"
)

// load is a workload in the terms of the fluid model.
type load struct {
	name    string
	jobs    []fluid.Job
	mapRate float64 // the map capacity in bytes a second
	maps    float64 // bytes of all jobs
	shuffle float64
}

// openLoad reads or generates the workload of a command line and reports skipped
// records on stderr.
func openLoad(o *Options, stderr io.Writer) (*load, error) {
	w, err := workloadfile.Open(o.Workload, o.Lenient)
	if err != nil {
		return nil, err
	}
	workloadfile.ReportSkipped(stderr, w)
	l := &load{name: w.Name, jobs: make([]fluid.Job, len(w.Jobs))}
	for i := range w.Jobs {
		j := &w.Jobs[i]
		l.jobs[i] = fluid.Job{Arrival: float64(j.Submit) / float64(model.Second), Map: float64(j.Input()), Shuffle: float64(j.Shuffle())}
		l.maps, l.shuffle = l.maps+l.jobs[i].Map, l.shuffle+l.jobs[i].Shuffle
	}
	l.mapRate = l.maps / o.Span.Seconds()
	if unit, ok := lognormalUnit(o.Workload); ok {
		l.mapRate = unit
	}
	if l.mapRate <= 0 {
		return nil, fmt.Errorf("%s: its %d jobs read nothing, and the map capacity is all they read over --span: use a workload with input", l.name, len(l.jobs))
	}
	return l, nil
}

func (l *load) capacity(beta float64) fluid.Capacity {
	return fluid.Capacity{Map: l.mapRate, Shuffle: beta * l.mapRate}
}

func (l *load) description() string {
	return fmt.Sprintf("%s: %d jobs, %s of map input, %s of shuffle; map capacity %s/s",
		l.name, len(l.jobs), terminal.Bytes(l.maps), terminal.Bytes(l.shuffle), terminal.Bytes(l.mapRate))
}

func (l *load) named(err error) error { return fmt.Errorf("%s: %w", l.name, err) }

// lognormalUnit returns the unit of size of the generator lognormal, in bytes. The
// paper's map capacity is one unit a second (NUM §5.2.1).
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

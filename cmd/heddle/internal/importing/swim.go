package importing

import (
	"context"
	"errors"
	"fmt"
	"io"

	"heddle/cmd/heddle/internal/exit"
	"heddle/configs/strict"
	"heddle/core/lab/workload"
)

// SWIM imports a trace of SWIM.
type SWIM struct {
	Options

	Trace     workload.SWIMOptions
	Block     strict.Size // input of a map
	PerReduce strict.Size // shuffle and output of a reduce
}

// DefaultSWIM returns the sizes and users that a trace gets where it is simulated as it is.
func DefaultSWIM() SWIM {
	o := workload.DefaultSWIMOptions()
	return SWIM{Trace: o, Block: strict.Size(o.Sizing.Block), PerReduce: strict.Size(o.Sizing.PerReduce)}
}

// Run imports.
func (s *SWIM) Run(ctx context.Context) (*Result, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	if len(s.Sources) != 1 {
		return nil, exit.NewUsageError(fmt.Errorf("%d traces: name one; submissions of two are not of one time", len(s.Sources)))
	}
	o := s.Trace
	o.File, o.Name = s.Sources[0], s.name()
	o.Sizing.Block, o.Sizing.PerReduce = s.Block.Bytes(), s.PerReduce.Bytes()
	if err := o.Sizing.Validate(); err != nil {
		return nil, exit.NewUsageError(err)
	}
	if o.Users < 1 {
		return nil, exit.NewUsageError(fmt.Errorf("--users %d: want 1 or more", o.Users))
	}
	in, err := openFile(ctx, o.File, s.MaxFile)
	if err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	defer in.Close() //nolint:errcheck // it was only read
	w, err := workload.ReadSWIM(in, o)
	if err != nil {
		return nil, err
	}
	return s.writeWorkload(w)
}

// writeWorkload writes a workload that names no nodes.
func (o *Options) writeWorkload(w *workload.Workload) (*Result, error) {
	if len(w.Jobs) == 0 {
		return nil, errors.New("every record was wrong: there is no job to write")
	}
	res := summarize(o.Out, w)
	for _, skip := range w.Skipped {
		res.Notes = append(res.Notes, fmt.Sprintf("skipped %d records, the first on line %d: %s", skip.Count, skip.Line, skip.Reason))
	}
	return res, writeFile(o.Out, func(to io.Writer) error { return workload.Write(to, w) })
}

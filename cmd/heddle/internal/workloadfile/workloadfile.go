// Package workloadfile opens the workloads that a command line names: files and generators.
package workloadfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/zstd"

	"heddle/cmd/heddle/internal/exit"
	"heddle/cmd/heddle/internal/recording"
	"heddle/core/lab/workload"
)

// Open reads or generates the workload that a command line names.
func Open(name string, lenient bool) (*workload.Workload, error) {
	if strings.HasPrefix(name, workload.SynthPrefix) {
		w, err := workload.Synth(name)
		if err != nil {
			return nil, exit.NewUsageError(fmt.Errorf("--workload: %w", err))
		}
		return w, nil
	}
	f, err := os.Open(name) //nolint:gosec // the operator names it
	if err != nil {
		return nil, fmt.Errorf("--workload: %w", err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	w, err := read(f, name, lenient)
	if err != nil && recording.Identify(name) == recording.KindRecording {
		return nil, fmt.Errorf("--workload: %s is a recording, no workload: heddle replay %s runs it", name, name)
	}
	if format := importFormat(name); err != nil && format != "" && !strings.HasSuffix(name, ".tsv") {
		return nil, fmt.Errorf("--workload: %s is of format %s: heddle import %s %s --out FILE makes a workload of it", name, format, format, name)
	}
	if err != nil {
		return nil, fmt.Errorf("--workload: %w", err)
	}
	if w.Name == "" {
		w.Name = name
	}
	return w, nil
}

// ReportSkipped prints the records that a lenient reader skipped.
func ReportSkipped(stderr io.Writer, w *workload.Workload) {
	for _, s := range w.Skipped {
		fmt.Fprintf(stderr, "skipped %d records, the first on line %d: %s\n", s.Count, s.Line, s.Reason)
	}
}

// read reads a file in the format that its name's suffix says.
func read(r io.Reader, name string, lenient bool) (*workload.Workload, error) {
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

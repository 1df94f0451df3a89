// Package pseudonymizing runs the command `heddle pseudonymize`: it reads a recording twice,
// for its names and to replace them, and writes another one.
package pseudonymizing

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"heddle/cmd/heddle/internal/exit"
	"heddle/cmd/heddle/internal/recording"
	"heddle/cmd/heddle/internal/terminal"
	"heddle/core/lab/pseudonym"
	"heddle/core/trace"
)

// Options are those of the command line.
type Options struct {
	File           string // the recording's first file
	Out            string
	KeyFile        string // "" for a random key
	AllowTruncated bool
}

// Result is what the command says at its end.
type Result struct {
	Records int
	Counts  []pseudonym.Count
}

// String says how many names there were.
func (r *Result) String() string {
	counts := make([]string, len(r.Counts))
	for i, c := range r.Counts {
		counts[i] = terminal.Count(c.Names, c.What)
	}
	return fmt.Sprintf("%s; pseudonyms for %s", terminal.Count(r.Records, "record"), cmp.Or(strings.Join(counts, ", "), "nothing"))
}

// Run writes the recording with pseudonyms.
func (o *Options) Run(ctx context.Context, stderr io.Writer) (*Result, error) {
	key, err := o.key()
	if err != nil {
		return nil, err
	}
	out, err := recording.NewCopy(o.Out)
	if err != nil {
		return nil, err
	}
	res, err := o.write(ctx, out, key, stderr)
	if err != nil {
		return nil, errors.Join(err, out.Discard())
	}
	return res, out.Commit()
}

// write collects the names, and writes what stands for each record.
func (o *Options) write(ctx context.Context, out *recording.Copy, key []byte, stderr io.Writer) (*Result, error) {
	var done atomic.Int64
	pass := "reading names"
	show := func() func() {
		now := pass
		return terminal.ShowProgress(ctx, stderr, func() string { return fmt.Sprintf("%s: %d records", now, done.Load()) })
	}
	stop := show()
	names := pseudonym.NewNames()
	count, err := o.each(ctx, stderr, -1, func(in *recording.Reader, rec *trace.Record) error {
		if rec == nil {
			h := in.FileHeader()
			return names.AddHeader(&h)
		}
		done.Add(1)
		return names.Add(rec)
	})
	stop()
	if err != nil {
		return nil, err
	}
	table, err := names.Table(key)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.File, err)
	}
	pass = "replacing names"
	done.Store(0)
	stop = show()
	defer stop()
	var header trace.Header
	_, err = o.each(ctx, io.Discard, count, func(in *recording.Reader, rec *trace.Record) error {
		if rec == nil {
			header = in.FileHeader()
			return table.Header(&header)
		}
		done.Add(1)
		isContinued := rec.Mark != nil && rec.Mark.Name == trace.MarkContinues
		switch err := table.Record(rec); {
		case err != nil:
			return err
		case isContinued || done.Load() == 1:
			if err := out.Begin(header, rec.At); err != nil || isContinued {
				return err
			}
		}
		return out.Append(*rec)
	})
	if err == nil && count == 0 {
		err = out.Begin(header, header.Start)
	}
	return &Result{Records: count, Counts: table.Counts()}, err
}

// each calls use with every record, and with nil when a file begins, before its records. It
// ends after so many records, if limit is not negative, and returns how many there were.
func (o *Options) each(ctx context.Context, stderr io.Writer, limit int, use func(*recording.Reader, *trace.Record) error) (n int, err error) {
	in, err := recording.Open(os.DirFS(filepath.Dir(o.File)), filepath.Base(o.File))
	if err != nil {
		return 0, recording.Explain(o.File, err)
	}
	defer in.Close()     //nolint:errcheck // only read
	in.AllowClockSteps() // what is wrong with a recording is to be seen in its copy
	at := func(err error, what string, args ...any) error {
		if err == nil {
			return nil
		}
		return fmt.Errorf("%s: %s: %w", o.File, fmt.Sprintf(what, args...), err)
	}
	if err := at(use(in, nil), "header"); err != nil || limit == 0 {
		return 0, err
	}
	for rec, err := range in.Records() {
		switch {
		case ctx.Err() != nil:
			return n, exit.NewInterruptedError("after %d records", n)
		case o.AllowTruncated && errors.Is(err, trace.ErrTruncated):
			fmt.Fprintf(stderr, "%v; what comes before is taken\n", err)
			return n, nil
		case err != nil:
			return n, recording.Explain(o.File, err, recording.FlagTruncated)
		}
		if rec.Mark != nil && rec.Mark.Name == trace.MarkContinues {
			if err := at(use(in, nil), "header before record %d", rec.Seq); err != nil {
				return n, err
			}
		}
		if err := at(use(in, &rec), "record %d", rec.Seq); err != nil {
			return n, err
		}
		if n++; n == limit {
			return n, nil
		}
	}
	return n, nil
}

// Bounds of a key in bytes.
const (
	minKey = 16
	maxKey = 4096
)

// key returns the key of the file, without white space at its end, or a random one.
func (o *Options) key() ([]byte, error) {
	if o.KeyFile == "" {
		key := make([]byte, 32)
		if _, err := rand.Read(key); err != nil {
			return nil, fmt.Errorf("make a key: %w", err)
		}
		return key, nil
	}
	f, err := os.Open(o.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("--key-file: %w; make one with: openssl rand -hex 32 > FILE", err)
	}
	defer f.Close() //nolint:errcheck // only read
	key, err := io.ReadAll(io.LimitReader(f, maxKey+1))
	if err != nil {
		return nil, fmt.Errorf("--key-file: %w", err)
	}
	if key = bytes.TrimRight(key, " \t\r\n"); len(key) < minKey || len(key) > maxKey {
		return nil, fmt.Errorf("--key-file %s: %d bytes or more, want %d to %d; make one with: openssl rand -hex 32 > FILE", o.KeyFile, len(key), minKey, maxKey)
	}
	return key, nil
}

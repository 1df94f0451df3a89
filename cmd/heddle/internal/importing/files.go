package importing

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"

	"heddle/cmd/heddle/internal/exit"
	"heddle/configs/strict"
)

// DefaultMaxFile is the largest file that is read unless another limit is given.
const DefaultMaxFile = strict.Size(4 << 30)

// unfinished ends the name of a file until it is whole.
const unfinished = ".tmp"

// refuseExisting refuses to write over a file.
func refuseExisting(flag, name string) error {
	if name == "" {
		return nil
	}
	if _, err := os.Lstat(name); err == nil {
		return exit.NewUsageError(fmt.Errorf("%s: %s exists: name another file, or remove it", flag, name))
	}
	return nil
}

// writeFile writes a file, compressed if its name ends in .zst, that has its name only
// once it is whole.
func writeFile(name string, write func(io.Writer) error) error {
	f, err := os.OpenFile(name+unfinished, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // a workload is for others to read; the operator names it
	if errors.Is(err, fs.ErrExist) {
		err = fmt.Errorf("%w: another heddle writes it, or one was killed and it can be removed", err)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	err = errors.Join(encode(f, name, write), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", name, err), os.Remove(f.Name()))
	}
	return nil
}

func encode(f *os.File, name string, write func(io.Writer) error) error {
	if !strings.HasSuffix(name, ".zst") {
		return errors.Join(write(f), f.Sync())
	}
	z, err := zstd.NewWriter(f)
	if err != nil {
		return err
	}
	return errors.Join(write(z), z.Close(), f.Sync())
}

// source is an open file, uncompressed.
type source struct {
	io.Reader

	closers []func() error
}

// Close closes the file.
func (s *source) Close() error {
	var err error
	for _, end := range slices.Backward(s.closers) {
		err = errors.Join(err, end())
	}
	return err
}

// uncompress reads a file that may be compressed, up to a limit.
func uncompress(ctx context.Context, in io.ReadCloser, limit int64) (*source, error) {
	s := &source{closers: []func() error{in.Close}}
	buffered := bufio.NewReaderSize(in, 64<<10)
	start, err := buffered.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.Join(err, s.Close())
	}
	s.Reader = buffered
	switch {
	case bytes.HasPrefix(start, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("gzip: %w", err), s.Close())
		}
		s.Reader = z
	case bytes.Equal(start, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(buffered, zstd.WithDecoderMaxMemory(256<<20), zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("zstd: %w", err), s.Close())
		}
		s.Reader = z
		s.closers = append(s.closers, func() error { z.Close(); return nil })
	}
	s.Reader = &limited{ctx: ctx, src: s.Reader, left: limit, limit: limit}
	return s, nil
}

// errTooLarge says that a file exceeds the limit.
var errTooLarge = errors.New("a larger file is read with --max-file")

// limited fails once more than its limit has been read, or its context has ended.
type limited struct {
	ctx         context.Context // io.Reader has none
	src         io.Reader
	left, limit int64
}

// Read implements io.Reader.
func (l *limited) Read(p []byte) (int, error) {
	if err := l.ctx.Err(); err != nil {
		return 0, err
	}
	if l.left < 0 {
		return 0, fmt.Errorf("the file has more than %v uncompressed: %w", strict.Size(l.limit), errTooLarge)
	}
	n, err := l.src.Read(p[:min(int64(len(p)), l.left+1)])
	l.left -= int64(n)
	if l.left < 0 {
		n += int(l.left)
		err = nil
	}
	return n, err
}

// openFile opens a file of this machine, uncompressed.
func openFile(ctx context.Context, name string, limit strict.Size) (*source, error) {
	f, err := os.Open(name) //nolint:gosec // the operator names it
	if err != nil {
		return nil, err
	}
	return uncompress(ctx, f, int64(limit))
}

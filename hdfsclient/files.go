package hdfsclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"heddle/yarnproxy/rest"
)

// readChunk is what one request for a file's content asks for.
const readChunk = 4 << 20

// Files calls each with the path of every file at or below a path, with or without its
// hdfs:// authority, folder by folder, until it returns an error. It reads listings page by
// page, and knows no limit of files.
func (c *Client) Files(ctx context.Context, path string, each func(path string) error) error {
	p, err := c.paths.resolve(path)
	if err != nil {
		return err
	}
	root, err := c.web.stat(ctx, p)
	if err != nil {
		return fmt.Errorf("list: %w", err)
	}
	if !root.directory {
		return each(root.path)
	}
	folders := []string{root.path}
	for len(folders) > 0 {
		dir := folders[len(folders)-1]
		folders = folders[:len(folders)-1]
		err := c.web.list(ctx, dir, func(page []fileStatus) error {
			for i := range page {
				f := &page[i]
				if f.directory {
					folders = append(folders, f.path)
					continue
				}
				if err := each(f.path); err != nil {
					return err
				}
			}
			return ctx.Err()
		})
		var gone *NotFoundError
		if err != nil && !errors.As(err, &gone) { // a folder may go while others are read
			return err
		}
	}
	return nil
}

// Open opens a file, with or without its hdfs:// authority, to read its content over
// WebHDFS from DataNodes that the NameNode names. The whole is read in ranges of a few
// MiB, with a request to each. It reads as much as the file has when it is opened.
func (c *Client) Open(ctx context.Context, path string) (io.ReadCloser, error) {
	p, err := c.paths.resolve(path)
	if err != nil {
		return nil, err
	}
	f, err := c.web.stat(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	if f.directory {
		return nil, &NotFileError{Path: p}
	}
	return &fileReader{ctx: ctx, c: c, path: p, length: f.length}, nil
}

// fileReader reads a file range by range.
type fileReader struct {
	ctx    context.Context // that of Open, as io.Reader has none
	c      *Client
	path   string
	length int64
	offset int64 // of the next range
	buf    []byte
}

// Read implements io.Reader.
func (r *fileReader) Read(p []byte) (int, error) {
	for len(r.buf) == 0 {
		if r.offset >= r.length {
			return 0, io.EOF
		}
		want := min(int64(readChunk), r.length-r.offset)
		data, err := r.c.readRange(r.ctx, r.path, r.offset, want)
		if err != nil {
			return 0, err
		}
		if len(data) == 0 || int64(len(data)) > want {
			return 0, fmt.Errorf("read %s: %d bytes at %d, asked for %d", r.path, len(data), r.offset, want)
		}
		r.buf = data
		r.offset += int64(len(data))
	}
	n := copy(p, r.buf)
	r.buf = r.buf[n:]
	return n, nil
}

// Close implements io.Closer.
func (r *fileReader) Close() error {
	r.buf, r.offset = nil, r.length
	return nil
}

// readRange reads a part of a file. The NameNode redirects to a DataNode; the request to that
// has no credentials but those that the NameNode put into its address.
func (c *Client) readRange(ctx context.Context, path string, offset, length int64) ([]byte, error) {
	query := "&offset=" + strconv.FormatInt(offset, 10) + "&length=" + strconv.FormatInt(length, 10)
	var direct []byte
	err := c.web.group.Get(ctx, operationPath(path, "OPEN", query), "", func(_ string, body []byte) error {
		direct = body // a gateway such as HttpFS answers itself
		return nil
	})
	var redirect *rest.RedirectError
	switch {
	case err == nil:
		return direct, nil
	case !errors.As(err, &redirect) || errors.Is(err, rest.ErrStandby):
		return nil, fmt.Errorf("read %w", classify(path, err))
	case strings.HasPrefix(redirect.URL, "https:") && !strings.HasPrefix(redirect.Location, "https:"):
		return nil, fmt.Errorf("read %s: the NameNode redirects from https to %s", path, redirect.Location)
	}
	data, err := c.data.Get(ctx, redirect.Location, "")
	if err != nil {
		return nil, fmt.Errorf("read %w", classify(path, err))
	}
	return data, nil
}

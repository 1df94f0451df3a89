package hdfsclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"

	"heddle/core/model"
	"heddle/yarnproxy/rest"
)

const (
	jsonType = "application/json"
	// blocksPerRequest bounds an answer about one large file: about 16 MB in
	// the larger of the two forms.
	blocksPerRequest = 8192
	maxPath          = 8000 // bytes; HDFS itself allows no longer path
)

// web asks NameNodes over HTTP.
type web struct {
	http     *rest.Client
	group    *rest.Group
	decoders chan *decoder // as many as requests for block locations may run at once

	noFileBlocks atomic.Bool // GETFILEBLOCKLOCATIONS is not known there
	noBatch      atomic.Bool // LISTSTATUS_BATCH is not known there
}

// fileStatus is one file or directory.
type fileStatus struct {
	path      string
	directory bool
	length    int64 // bytes
	modified  int64 // ms since the Unix epoch
	blockSize int64 // bytes
	// located are the blocks that came with the listing; nil if they are to be asked for.
	located []model.Block
}

// blocks returns how many blocks the file has by its length.
func (f *fileStatus) blocks() int {
	switch {
	case f.length <= 0:
		return 0
	case f.blockSize <= 0:
		return 1
	}
	return int((f.length-1)/f.blockSize + 1)
}

// get asks the active NameNode and hands its answer to use.
func (w *web) get(ctx context.Context, path string, use func(body []byte) error) error {
	read := func(base string, body []byte) error {
		if err := use(body); err != nil {
			return &rest.InvalidError{URL: base + path, Err: err}
		}
		return nil
	}
	err := w.group.Get(ctx, path, jsonType, read)
	if !isStartingUp(err) {
		return err
	}
	// A NameNode that starts is not called standby, so the group stays with it.
	active := w.group.Active()
	for _, base := range w.group.Bases() {
		if base == active {
			continue
		}
		if body, other := w.http.Get(ctx, base+path, jsonType); other == nil {
			return read(base, body)
		}
	}
	return err
}

// operationPath returns the WebHDFS path and query for an operation.
func operationPath(path, op, query string) string {
	var b strings.Builder
	b.WriteString("/webhdfs/v1")
	for segment := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		b.WriteByte('/')
		b.WriteString(strings.ReplaceAll(url.PathEscape(segment), "+", "%2B"))
	}
	b.WriteString("?op=")
	b.WriteString(op)
	b.WriteString(query)
	return b.String()
}

// getPath sends one WebHDFS operation.
func (w *web) getPath(ctx context.Context, path, op, query string, use func(body []byte) error) error {
	return classify(path, w.get(ctx, operationPath(path, op, query), use))
}

// preferNewer sends the newer of two operations. Once the NameNode has refused it as
// unknown, it sends the older.
func (w *web) preferNewer(old *atomic.Bool, newer, older func() error) error {
	if !old.Load() {
		err := newer()
		if !isUnknownOperation(err) {
			return err
		}
		old.Store(true)
	}
	return older()
}

// located asks for the blocks that overlap a range of a file; a length of 0
// or below is the whole file.
func (w *web) located(ctx context.Context, path string, offset, length int64) ([]model.Block, error) {
	var d *decoder
	select {
	case d = <-w.decoders:
	case <-ctx.Done():
		return nil, fmt.Errorf("%s: %w", path, ctx.Err())
	}
	defer func() { w.decoders <- d }()

	query := ""
	if length > 0 {
		query = "&offset=" + strconv.FormatInt(offset, 10) + "&length=" + strconv.FormatInt(length, 10)
	}
	var blocks []model.Block
	read := func(body []byte) (err error) {
		blocks, err = d.decode(body)
		return err
	}
	err := w.preferNewer(&w.noFileBlocks,
		func() error { return w.getPath(ctx, path, "GETFILEBLOCKLOCATIONS", query, read) },
		func() error { return w.getPath(ctx, path, "GET_BLOCK_LOCATIONS", query, read) })
	if err != nil {
		return nil, fmt.Errorf("block locations of %w", err)
	}
	return blocks, nil
}

// locate returns the blocks of the first bytes of a file, in as many requests
// as keep each answer small.
func (w *web) locate(ctx context.Context, f *fileStatus, bytes int64) ([]model.Block, error) {
	if bytes <= 0 {
		return nil, nil
	}
	step := f.blockSize * blocksPerRequest
	if step <= 0 || bytes <= step && bytes >= f.length {
		return w.located(ctx, f.path, 0, 0)
	}
	var all []model.Block
	for at := int64(0); at < bytes; {
		part, err := w.located(ctx, f.path, at, min(step, bytes-at))
		if err != nil {
			return nil, err
		}
		all = append(all, part...)
		at += step
		if len(part) > 0 { // the last block may reach beyond the range
			last := part[len(part)-1]
			at = max(at, int64(last.Offset+last.Length))
		}
	}
	return all, nil
}

// statusJSON is Hadoop's FileStatus.
type statusJSON struct {
	PathSuffix string   `json:"pathSuffix"`
	Type       string   `json:"type"` // FILE, DIRECTORY or SYMLINK
	Length     rest.Int `json:"length"`
	Modified   rest.Int `json:"modificationTime"`
	BlockSize  rest.Int `json:"blockSize"`
}

func (j *statusJSON) status(path string) (fileStatus, error) {
	if j.Length < 0 || j.BlockSize < 0 {
		return fileStatus{}, fmt.Errorf("status of %s: length %d and block size %d", path, j.Length, j.BlockSize)
	}
	return fileStatus{
		path: path, directory: j.Type == "DIRECTORY",
		length: int64(j.Length), modified: int64(j.Modified), blockSize: int64(j.BlockSize),
	}, nil
}

// decodeStatus reads an answer to GETFILESTATUS.
func decodeStatus(body []byte, path string) (fileStatus, error) {
	var answer struct {
		FileStatus *statusJSON `json:"FileStatus"`
	}
	if err := rest.Decode(body, &answer); err != nil {
		return fileStatus{}, fmt.Errorf("status of %s: %w", path, err)
	}
	if answer.FileStatus == nil {
		return fileStatus{}, fmt.Errorf("status of %s: no FileStatus in the answer", path)
	}
	return answer.FileStatus.status(path)
}

// stat implements namespace.
func (w *web) stat(ctx context.Context, path string) (fileStatus, error) {
	var f fileStatus
	err := w.getPath(ctx, path, "GETFILESTATUS", "", func(body []byte) (err error) {
		f, err = decodeStatus(body, path)
		return err
	})
	return f, err
}

type statusesJSON struct {
	FileStatus rest.List[statusJSON] `json:"FileStatus"`
}

// page is one part of a directory listing.
type page struct {
	entries   []fileStatus
	last      string // name of the last entry, of any type
	remaining int64  // entries after this page
}

// decodeListing reads an answer to LISTSTATUS ("FileStatuses") or to
// LISTSTATUS_BATCH ("DirectoryListing"). Symbolic links are left out, and so is
// the entry without a name by which a file answers in place of a directory.
func decodeListing(body []byte, dir string) (page, error) {
	var answer struct {
		FileStatuses     *statusesJSON `json:"FileStatuses"`
		DirectoryListing *struct {
			PartialListing struct {
				FileStatuses *statusesJSON `json:"FileStatuses"`
			} `json:"partialListing"`
			Remaining rest.Int `json:"remainingEntries"`
		} `json:"DirectoryListing"`
	}
	if err := rest.Decode(body, &answer); err != nil {
		return page{}, fmt.Errorf("listing of %s: %w", dir, err)
	}
	var p page
	list := answer.FileStatuses
	if d := answer.DirectoryListing; d != nil {
		list = cmp.Or(list, d.PartialListing.FileStatuses)
		p.remaining = int64(d.Remaining)
	}
	if list == nil {
		return page{}, fmt.Errorf("listing of %s: no FileStatuses in the answer", dir)
	}
	p.entries = make([]fileStatus, 0, len(list.FileStatus))
	for i := range list.FileStatus {
		j := &list.FileStatus[i]
		p.last = j.PathSuffix
		if j.PathSuffix == "" || j.Type == "SYMLINK" {
			continue
		}
		if strings.Contains(j.PathSuffix, "/") || j.PathSuffix == "." || j.PathSuffix == ".." {
			return page{}, fmt.Errorf("listing of %s: %q is no file name", dir, j.PathSuffix)
		}
		f, err := j.status(join(dir, j.PathSuffix))
		if err != nil {
			return page{}, err
		}
		p.entries = append(p.entries, f)
	}
	if p.remaining > 0 && p.last == "" {
		return page{}, fmt.Errorf("listing of %s: an empty page with %d entries to come", dir, p.remaining)
	}
	return p, nil
}

// list implements namespace.
func (w *web) list(ctx context.Context, dir string, each func([]fileStatus) error) error {
	var p page
	read := func(body []byte) (err error) {
		p, err = decodeListing(body, dir)
		return err
	}
	for after := ""; ; after = p.last {
		query := ""
		if after != "" {
			query = "&startAfter=" + url.QueryEscape(after)
		}
		err := w.preferNewer(&w.noBatch,
			func() error { return w.getPath(ctx, dir, "LISTSTATUS_BATCH", query, read) },
			func() error { return w.getPath(ctx, dir, "LISTSTATUS", "", read) })
		if err != nil {
			return err
		}
		if err := each(p.entries); err != nil || p.remaining <= 0 {
			return err
		}
		if p.last == after {
			return classify(dir, &rest.InvalidError{URL: operationPath(dir, "LISTSTATUS_BATCH", query), Err: errors.New("the listing does not advance")})
		}
	}
}

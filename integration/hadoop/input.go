//go:build linux

package hadoop

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

const (
	// rowBytes is the length of a record of teragen and terasort: a key of 10 bytes, 90 of no meaning.
	rowBytes = 100
	// keyBytes is the length of the key.
	keyBytes = 10
	// blockUnit is what the length of an HDFS block is a multiple of, at least
	// (dfs.namenode.fs-limits.min-block-size is 64 KiB here).
	blockUnit = 64 << 10
)

// File is a file to be written into HDFS.
type File struct {
	Path     string
	Host     string // a worker, where the first replica of every block is to be
	Replicas int    // 1 by default
	Block    int64  // bytes, a multiple of 512; the cluster's 16 MiB by default
}

// Write makes a file in HDFS, or replaces it, with the first replica of every
// block on the file's host: the DataNode there is the one that writes.
func (c *Cluster) Write(ctx context.Context, f File, content io.Reader) error {
	q := url.Values{
		"op": {"CREATE"}, "user.name": {"root"}, "overwrite": {"true"}, "namenoderpcaddress": {Master + ":8020"},
		"replication": {strconv.Itoa(max(1, f.Replicas))},
	}
	if f.Block > 0 {
		q.Set("blocksize", strconv.FormatInt(f.Block, 10))
	}
	where := "http://" + f.Host + ":9864/webhdfs/v1" + (&url.URL{Path: f.Path}).EscapedPath() + "?" + q.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, where, content)
	if err != nil {
		return fmt.Errorf("write %s on %s: %w", f.Path, f.Host, err)
	}
	resp, err := (&http.Client{Transport: c.http.Transport}).Do(req) // as long as it takes, unlike a question
	if err != nil {
		return fmt.Errorf("write %s on %s: %w", f.Path, f.Host, err)
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	if resp.StatusCode != http.StatusCreated {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10)) // what there is of a reason
		return fmt.Errorf("write %s on %s: %s: %s", f.Path, f.Host, resp.Status, strings.TrimSpace(string(text)))
	}
	return nil
}

// TeraInput writes the input of a terasort below a directory: so many files on
// each of the hosts, one after the other, each of one block with one replica. A job has one map for each
// file, whose only local host is the file's. Input on the hosts of one rack is
// skewed, on [Network.Hosts] even. The size is in bytes and cut to whole rows of 100.
func (c *Cluster) TeraInput(ctx context.Context, dir string, hosts []string, perHost int, size int64) error {
	return WriteTera(ctx, c, TeraFiles{Dir: dir, Hosts: hosts, PerHost: perHost, Size: size})
}

// TeraFiles are the files of a terasort's input.
type TeraFiles struct {
	Dir      string
	Hosts    []string // where the first replica of each block is to be
	PerHost  int
	Size     int64 // of a file, in bytes; cut to whole rows of 100
	Replicas int   // 1 by default; the NameNode puts the others where it does by default
}

// WriteTera writes files as TeraInput does.
func WriteTera(ctx context.Context, c *Cluster, f TeraFiles) error {
	rows := f.Size / rowBytes
	if rows < 1 || f.PerHost < 1 || len(f.Hosts) == 0 {
		return errors.New("write input for terasort: no rows, files or hosts")
	}
	block := (rows*rowBytes + blockUnit - 1) / blockUnit * blockUnit
	for i := range len(f.Hosts) * f.PerHost {
		file := File{Path: fmt.Sprintf("%s/part-%05d", f.Dir, i), Host: f.Hosts[i%len(f.Hosts)], Replicas: f.Replicas, Block: block}
		if err := c.Write(ctx, file, io.LimitReader(newTeraRows(i), rows*rowBytes)); err != nil {
			return err
		}
	}
	return nil
}

// teraRows is an endless file of rows with keys evenly spread. The keys are
// printable, as teragen's are not, for who looks into a file.
type teraRows struct {
	keys *rand.ChaCha8
	row  [rowBytes]byte
	left []byte // of the row
}

// newTeraRows is the rows of one file; another number makes other keys.
func newTeraRows(file int) *teraRows {
	var seed [32]byte
	binary.LittleEndian.PutUint64(seed[:], uint64(file))
	return &teraRows{keys: rand.NewChaCha8(seed)}
}

// Read fills p.
func (r *teraRows) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		if len(r.left) == 0 {
			r.next()
		}
		k := copy(p[n:], r.left)
		r.left = r.left[k:]
		n += k
	}
	return n, nil
}

func (r *teraRows) next() {
	for i := range r.row {
		r.row[i] = '.'
	}
	for i, key := 0, r.keys.Uint64(); i < keyBytes; i, key = i+1, key>>6 {
		r.row[i] = byte('0' + key&63)
	}
	r.row[rowBytes-1] = '\n'
	r.left = r.row[:]
}

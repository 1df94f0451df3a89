package hadoop

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// FsckFile is a file as hdfs fsck reports it.
type FsckFile struct {
	Path        string
	Size        int64 // bytes
	Replication int
	Blocks      []FsckBlock // in the file's order
}

// FsckBlock is a block of a file.
type FsckBlock struct {
	ID       string // block pool, block id and generation stamp: BP-..:blk_.._..
	Len      int64  // bytes
	Replicas []FsckReplica
}

// FsckReplica is a live copy of a block.
type FsckReplica struct {
	Rack string // as the NameNode maps it, with the slash
	Addr string // IP address and data port of the DataNode
}

// The lines of a report that matter (org.apache.hadoop.hdfs.server.namenode.NamenodeFsck):
//
//	/a/b 32 bytes, replicated: replication=2, 1 block(s):  OK
//	0. BP-1-10.0.0.1-2:blk_3_4 len=32 Live_repl=1  [/rack1/10.77.1.11:9866]
//	1. BP-1-10.0.0.1-2:blk_4_5 len=32 MISSING!
const (
	fsckFile  = `^(/.*) (\d+) bytes, replicated: replication=(\d+), (\d+) block\(s\):`
	fsckBlock = `^(\d+)\. (\S+:blk_\d+_\d+) len=(\d+) (?:MISSING!|Live_repl=(\d+)\s+\[(.*)\])`
	fsckItem  = `^\d+\. `
)

// fsckReader reads a report line by line.
type fsckReader struct {
	file, block, item *regexp.Regexp
	files             []FsckFile
	left              int // blocks of the last file still to come
}

// ParseFsck reads the output of hdfs fsck -files -blocks -locations -racks. It
// checks the counts that the report makes of blocks and replicas against what
// it read. A missing block has no replicas. Erasure-coded files are left out.
func ParseFsck(r io.Reader) ([]FsckFile, error) {
	report := fsckReader{
		file:  regexp.MustCompile(fsckFile),
		block: regexp.MustCompile(fsckBlock),
		item:  regexp.MustCompile(fsckItem),
	}
	in := bufio.NewScanner(r)
	in.Buffer(nil, 1<<20)
	for n := 1; in.Scan(); n++ {
		if err := report.line(in.Text()); err != nil {
			return nil, fmt.Errorf("read fsck: line %d: %w", n, err)
		}
	}
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("read fsck: %w", err)
	}
	return report.files, report.complete()
}

// line takes one line. What is neither a file nor a block is passed over:
// directories, complaints, headings, totals.
func (r *fsckReader) line(text string) error {
	if m := r.file.FindStringSubmatch(text); m != nil {
		if err := r.complete(); err != nil {
			return err
		}
		f, blocks, err := fsckFileOf(m)
		r.files, r.left = append(r.files, f), blocks
		return err
	}
	if r.left == 0 || !r.item.MatchString(text) {
		return nil
	}
	m := r.block.FindStringSubmatch(text)
	if m == nil {
		return fmt.Errorf("%q is not a block with its replicas", text)
	}
	f := &r.files[len(r.files)-1]
	b, err := fsckBlockOf(m, len(f.Blocks))
	f.Blocks = append(f.Blocks, b)
	r.left--
	return err
}

// complete checks that the last file has all its blocks.
func (r *fsckReader) complete() error {
	if r.left > 0 {
		return fmt.Errorf("%d blocks of %s are not listed", r.left, r.files[len(r.files)-1].Path)
	}
	return nil
}

func fsckFileOf(m []string) (f FsckFile, blocks int, err error) {
	f.Path = m[1]
	if f.Size, err = strconv.ParseInt(m[2], 10, 64); err != nil {
		return f, 0, err
	}
	if f.Replication, err = strconv.Atoi(m[3]); err != nil {
		return f, 0, err
	}
	blocks, err = strconv.Atoi(m[4])
	return f, blocks, err
}

// fsckBlockOf makes a block of the matched parts of its line, which must be that of block i.
func fsckBlockOf(m []string, i int) (b FsckBlock, err error) {
	if m[1] != strconv.Itoa(i) {
		return b, fmt.Errorf("block %s where block %d belongs", m[1], i)
	}
	b.ID = m[2]
	if b.Len, err = strconv.ParseInt(m[3], 10, 64); err != nil || m[4] == "" {
		return b, err // without a count it is missing
	}
	for loc := range strings.SplitSeq(m[5], ", ") {
		slash := strings.LastIndex(loc, "/")
		if slash <= 0 {
			return b, fmt.Errorf("replica %q is not a rack and an address", loc)
		}
		b.Replicas = append(b.Replicas, FsckReplica{Rack: loc[:slash], Addr: loc[slash+1:]})
	}
	if m[4] != strconv.Itoa(len(b.Replicas)) {
		return b, fmt.Errorf("block %s lists %d replicas and counts %s", b.ID, len(b.Replicas), m[4])
	}
	return b, nil
}

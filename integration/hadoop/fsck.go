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

// fsckFile matches "/a/b 32 bytes, replicated: replication=2, 1 block(s):  OK"
// and fsckBlock "0. BP-1-10.0.0.1-2:blk_3_4 len=32 Live_repl=2  [/rack1/10.77.1.11:9866, ...]"
// (org.apache.hadoop.hdfs.server.namenode.NamenodeFsck).
const (
	fsckFile  = `^(/.*) (\d+) bytes, replicated: replication=(\d+), (\d+) block\(s\):`
	fsckBlock = `^(\d+)\. (\S+:blk_\d+_\d+) len=(\d+) Live_repl=(\d+)\s+\[(.*)\]`
)

// ParseFsck reads the output of hdfs fsck -files -blocks -locations -racks. It
// checks every count that the report makes of itself against what it read.
func ParseFsck(r io.Reader) ([]FsckFile, error) {
	fileLine, blockLine := regexp.MustCompile(fsckFile), regexp.MustCompile(fsckBlock)
	var files []FsckFile
	left := 0 // blocks of the last file still to come
	in := bufio.NewScanner(r)
	in.Buffer(nil, 1<<20)
	for n := 1; in.Scan(); n++ {
		line := in.Text()
		switch {
		case left > 0:
			m := blockLine.FindStringSubmatch(line)
			if m == nil {
				if strings.TrimSpace(line) == "" {
					continue
				}
				return nil, fmt.Errorf("read fsck: line %d: want a block of %s, got %q", n, files[len(files)-1].Path, line)
			}
			f := &files[len(files)-1]
			b, err := fsckBlockOf(m, len(f.Blocks))
			if err != nil {
				return nil, fmt.Errorf("read fsck: line %d: %w", n, err)
			}
			f.Blocks = append(f.Blocks, b)
			left--
		default:
			m := fileLine.FindStringSubmatch(line)
			if m == nil {
				continue // directories, headings, totals
			}
			f, blocks, err := fsckFileOf(m)
			if err != nil {
				return nil, fmt.Errorf("read fsck: line %d: %w", n, err)
			}
			files, left = append(files, f), blocks
		}
	}
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("read fsck: %w", err)
	}
	if left > 0 {
		return nil, fmt.Errorf("read fsck: the report ends %d blocks before the end of %s", left, files[len(files)-1].Path)
	}
	return files, nil
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
	if b.Len, err = strconv.ParseInt(m[3], 10, 64); err != nil {
		return b, err
	}
	for _, loc := range strings.Split(m[5], ", ") {
		if loc == "" {
			continue
		}
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

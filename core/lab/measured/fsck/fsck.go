// Package fsck reads where blocks are out of what 'hdfs fsck / -files -blocks -locations
// -racks' prints, and the splits that MapReduce makes of files.
package fsck

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"heddle/core/model"
)

// File is a file with its blocks, in order.
type File struct {
	Path   string
	Bytes  model.Bytes
	Blocks []Block
}

// Block is a block and where its live replicas are; a missing block has none.
type Block struct {
	Bytes    model.Bytes
	Replicas []Replica
}

// Replica is a copy of a block.
type Replica struct {
	Rack model.RackID // empty where fsck was run without -racks
	Addr string       // IP address of the DataNode, without its port
}

// Error says on which line a report is wrong.
type Error struct {
	Line int // from 1
	Err  error
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap implements errors' unwrapping.
func (e *Error) Unwrap() error { return e.Err }

const (
	maxLine   = 4 << 20
	maxBlocks = 1 << 22 // of one file
)

// Each reads a report of Hadoop 2 or 3 and calls use with every replicated file that has
// blocks; the file is its own afterwards. Erasure-coded files, folders, complaints and
// totals are passed over. The errors are those of use, and *Error.
func Each(r io.Reader, use func(f *File) error) error {
	in := bufio.NewScanner(r)
	in.Buffer(nil, maxLine)
	p := parser{use: use}
	for in.Scan() {
		p.line++
		if err := p.text(in.Text()); err != nil {
			return err
		}
	}
	if err := in.Err(); err != nil {
		return &Error{p.line + 1, err}
	}
	p.line++
	if err := p.end(); err != nil {
		return err
	}
	if p.files == 0 {
		return &Error{p.line, errors.New("there is no file with its blocks in it; print it with hdfs fsck / -files -blocks -locations -racks")}
	}
	return nil
}

// parser reads a report line by line.
type parser struct {
	use   func(*File) error
	line  int
	file  *File // nil between files
	left  int   // blocks of it that are to come
	files int
}

func (p *parser) fail(format string, args ...any) error {
	return &Error{p.line, fmt.Errorf(format, args...)}
}

// text reads one line.
func (p *parser) text(line string) error {
	if strings.HasPrefix(line, "/") && strings.Contains(line, " block(s):") {
		if err := p.end(); err != nil {
			return err
		}
		return p.begin(line)
	}
	number, rest, found := strings.Cut(line, ". ")
	if !found || p.file == nil || p.left == 0 {
		return nil
	}
	n, err := strconv.Atoi(number)
	if err != nil {
		return nil //nolint:nilerr // a complaint
	}
	if n != len(p.file.Blocks) {
		return p.fail("block %d of %s where block %d belongs", n, p.file.Path, len(p.file.Blocks))
	}
	b, err := blockOf(rest)
	if err != nil {
		return p.fail("block %d of %s: %w", n, p.file.Path, err)
	}
	p.file.Blocks = append(p.file.Blocks, b)
	p.left--
	return nil
}

// begin reads the first line of a file, such as
//
//	/a/b 32 bytes, replicated: replication=2, 1 block(s):  OK
//	/a/b 32 bytes, 1 block(s):  OK
func (p *parser) begin(line string) error {
	head := line[:strings.Index(line, " block(s):")]
	at := strings.LastIndex(head, " bytes, ")
	if at < 0 {
		return nil // a complaint that quotes one
	}
	what := head[at+len(" bytes, "):]
	if strings.HasPrefix(what, "erasure-coded") {
		return nil
	}
	count, err := strconv.Atoi(what[strings.LastIndexByte(what, ' ')+1:])
	if err != nil || count < 0 || count > maxBlocks {
		return p.fail("%q: want the number of blocks before block(s)", what)
	}
	space := strings.LastIndexByte(head[:at], ' ')
	if space < 0 {
		return p.fail("%q: want a path and its bytes", head[:at])
	}
	size, err := strconv.ParseInt(head[space+1:at], 10, 64)
	if err != nil || size < 0 {
		return p.fail("%q is no number of bytes", head[space+1:at])
	}
	p.files++
	p.file, p.left = &File{Path: head[:space], Bytes: model.Bytes(size)}, count
	return nil
}

// end hands over a file that is complete.
func (p *parser) end() error {
	f := p.file
	p.file = nil
	switch {
	case f == nil:
		return nil
	case p.left > 0:
		return p.fail("%d blocks of %s are not listed: the report was cut, or printed without -blocks", p.left, f.Path)
	case len(f.Blocks) == 0:
		return nil
	}
	return p.use(f)
}

// blockOf reads a block, such as
//
//	BP-1-10.0.0.1-2:blk_3_4 len=32 Live_repl=1  [/rack1/10.77.1.11:9866]
//	BP-1-10.0.0.1-2:blk_4_5 len=32 MISSING!
//	BP-1-10.0.0.1-2:blk_3_4 len=32 repl=1 [DatanodeInfoWithStorage[10.77.1.11:50010,DS-1,DISK]]
func blockOf(text string) (Block, error) {
	_, rest, found := strings.Cut(text, " len=")
	if !found {
		return Block{}, errors.New("want its length, as in len=32")
	}
	number, rest, _ := strings.Cut(rest, " ")
	size, err := strconv.ParseInt(number, 10, 64)
	if err != nil || size < 0 {
		return Block{}, fmt.Errorf("its length %q is no number of bytes", number)
	}
	b := Block{Bytes: model.Bytes(size)}
	if strings.HasPrefix(strings.TrimSpace(rest), "MISSING") {
		return b, nil
	}
	_, list, found := strings.Cut(rest, "[")
	end := strings.LastIndexByte(list, ']')
	if !found || end < 0 {
		return Block{}, errors.New("want its replicas in brackets; print the report with -locations -racks")
	}
	for one := range strings.SplitSeq(list[:end], ", ") {
		if one = strings.TrimSpace(one); one == "" {
			continue
		}
		r, ok := replicaOf(one)
		if !ok {
			return Block{}, fmt.Errorf("replica %q is no rack and address, as in /rack1/10.77.1.11:9866", one)
		}
		b.Replicas = append(b.Replicas, r)
	}
	return b, nil
}

// replicaOf reads a replica.
func replicaOf(text string) (Replica, bool) {
	if inner, found := strings.CutPrefix(text, "DatanodeInfoWithStorage["); found {
		text, _, _ = strings.Cut(strings.TrimSuffix(inner, "]"), ",")
	}
	text, _, _ = strings.Cut(text, "(") // -replicaDetails adds its state
	var r Replica
	if slash := strings.LastIndexByte(text, '/'); slash >= 0 {
		r.Rack, text = model.RackID(text[:slash]), text[slash+1:]
		if !strings.HasPrefix(string(r.Rack), "/") {
			return Replica{}, false
		}
	}
	colon := strings.LastIndexByte(text, ':')
	if colon <= 0 {
		return Replica{}, false
	}
	if _, err := strconv.ParseUint(text[colon+1:], 10, 16); err != nil {
		return Replica{}, false
	}
	r.Addr = strings.Trim(text[:colon], "[]") // of IPv6
	return r, r.Addr != ""
}

package hdfsclient

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"heddle/yarnproxy/ipc"
)

// File types of HdfsFileStatusProto; everything else is a file.
const (
	typeDirectory = 1
	typeSymlink   = 3
)

// nativePage is an answer to getListing.
type nativePage struct {
	page
	found bool        // the path exists
	self  *fileStatus // the path itself, when it is a file
}

// pathRequest is GetFileInfoRequestProto.
func pathRequest(path string) []byte {
	return protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), path)
}

// listingRequest is GetListingRequestProto, whose fields are all required.
func listingRequest(path, after string, locations bool) []byte {
	b := pathRequest(path)
	b = protowire.AppendString(protowire.AppendTag(b, 2, protowire.BytesType), after)
	return protowire.AppendVarint(protowire.AppendTag(b, 3, protowire.VarintType), protowire.EncodeBool(locations))
}

// status reads GetFileInfoResponseProto: nil when the path does not exist.
func (d *decoder) status(body []byte, path string) (*fileStatus, error) {
	var found *fileStatus
	f := ipc.NewFields("GetFileInfoResponseProto", body)
	for f.Next() {
		if f.Num == 1 {
			s, err := d.fileStatus(f.Bytes())
			if err != nil {
				return nil, fmt.Errorf("status of %s: %w", path, err)
			}
			s.path = path
			found = &s.fileStatus
		}
	}
	return found, f.Err()
}

// listing reads GetListingResponseProto. Symbolic links are left out, and the
// entry without a name by which a file answers in place of a directory is self.
// Blocks are read as decode reads those of LocatedBlocks; the files of a page
// share their slices.
func (d *decoder) listing(body []byte, dir string) (nativePage, error) {
	var p nativePage
	f := ipc.NewFields("GetListingResponseProto", body)
	for f.Next() {
		if f.Num != 1 {
			continue
		}
		var err error
		if p, err = d.directory(f.Bytes(), dir); err != nil {
			return nativePage{}, fmt.Errorf("listing of %s: %w", dir, err)
		}
	}
	if err := f.Err(); err != nil {
		return nativePage{}, fmt.Errorf("listing of %s: %w", dir, err)
	}
	return p, nil
}

// directory reads DirectoryListingProto.
func (d *decoder) directory(message []byte, dir string) (nativePage, error) {
	d.blocks, d.hosts, d.racks = d.blocks[:0], d.hosts[:0], d.racks[:0]
	p := nativePage{found: true}
	var counts []int // blocks of each entry, -1 where the answer has none
	f := ipc.NewFields("DirectoryListingProto", message)
	for f.Next() {
		switch f.Num {
		case 1:
			s, err := d.fileStatus(f.Bytes())
			if err != nil {
				return p, err
			}
			if p.last = string(s.name); s.symlink {
				continue
			}
			if s.path, err = entryPath(dir, p.last); err != nil {
				return p, err
			}
			p.entries, counts = append(p.entries, s.fileStatus), append(counts, s.blocks)
		case 2:
			p.remaining = int64(f.Uint64() & 0xFFFFFFFF)
		}
	}
	if err := f.Err(); err != nil {
		return p, err
	}
	if p.remaining > 0 && p.last == "" {
		return p, fmt.Errorf("an empty page with %d entries to come", p.remaining)
	}
	all := d.copyBlocks()
	for i, n := range counts {
		if n >= 0 {
			p.entries[i].located, all = all[:n:n], all[n:]
		}
	}
	p.extractSelf(dir)
	return p, nil
}

// entryPath returns the path of an entry; a file answers without a name.
func entryPath(dir, name string) (string, error) {
	switch {
	case name == "":
		return dir, nil
	case strings.Contains(name, "/"), name == ".", name == "..":
		return "", fmt.Errorf("%q is no file name", name)
	}
	return join(dir, name), nil
}

// extractSelf moves the entry of the listed path itself from entries to self.
func (p *nativePage) extractSelf(dir string) {
	kept := p.entries[:0]
	for i := range p.entries {
		if p.entries[i].path == dir {
			self := p.entries[i]
			p.self = &self
			continue
		}
		kept = append(kept, p.entries[i])
	}
	p.entries = kept
}

// nativeStatus is one HdfsFileStatusProto; its blocks are the decoder's last.
type nativeStatus struct {
	fileStatus
	name    []byte
	symlink bool
	blocks  int // -1 when there are no locations in it
}

// fileStatus reads HdfsFileStatusProto.
func (d *decoder) fileStatus(message []byte) (nativeStatus, error) {
	s := nativeStatus{blocks: -1}
	first := len(d.blocks)
	var locations []byte
	located := false
	var length, blockSize uint64
	f := ipc.NewFields("HdfsFileStatusProto", message)
	for f.Next() {
		switch f.Num {
		case 1:
			kind := f.Int32()
			s.directory, s.symlink = kind == typeDirectory, kind == typeSymlink
		case 2:
			s.name = f.Bytes()
		case 3:
			length = f.Uint64()
		case 7:
			s.modified = int64(f.Uint64()) //nolint:gosec // checked below
		case 11:
			blockSize = f.Uint64()
		case 12:
			locations, located = f.Bytes(), true
		}
	}
	if err := f.Err(); err != nil {
		return s, err
	}
	s.length, s.blockSize = int64(length), int64(blockSize)
	if s.length < 0 || s.blockSize < 0 {
		return s, fmt.Errorf("%q has length %d and block size %d", s.name, s.length, s.blockSize)
	}
	if located && !s.directory && !s.symlink {
		if err := d.locatedBlocks(locations); err != nil {
			return s, err
		}
		s.blocks = len(d.blocks) - first
	}
	return s, nil
}

// locatedBlocks reads LocatedBlocksProto.
func (d *decoder) locatedBlocks(message []byte) error {
	f := ipc.NewFields("LocatedBlocksProto", message)
	for f.Next() {
		if f.Num == 2 {
			if err := d.nativeBlock(f.Bytes()); err != nil {
				return err
			}
		}
	}
	return f.Err()
}

// nativeBlock reads LocatedBlockProto.
func (d *decoder) nativeBlock(message []byte) error {
	var b span
	var block []byte
	f := ipc.NewFields("LocatedBlockProto", message)
	for f.Next() {
		switch f.Num {
		case 1:
			block = f.Bytes()
		case 2:
			b.offset = int64(f.Uint64()) //nolint:gosec // check refuses what is below 0
		case 3:
			if err := d.nativeLocation(f.Bytes()); err != nil {
				return err
			}
			b.replicas++
		case 4:
			b.corrupt = f.Uint64() != 0
		}
	}
	if err := f.Err(); err != nil {
		return err
	}
	f = ipc.NewFields("ExtendedBlockProto", block)
	for f.Next() {
		if f.Num == 4 {
			b.length = int64(f.Uint64()) //nolint:gosec // check refuses what is below 0
		}
	}
	if err := f.Err(); err != nil {
		return err
	}
	if err := d.check(b); err != nil {
		return err
	}
	d.blocks = append(d.blocks, b)
	return nil
}

// nativeLocation reads DatanodeInfoProto, and DatanodeIDProto in it.
func (d *decoder) nativeLocation(message []byte) error {
	var id, host, address, rack []byte
	f := ipc.NewFields("DatanodeInfoProto", message)
	for (id == nil || rack == nil) && f.Next() { // Java writes each once: the rest is load and times
		switch f.Num {
		case 1:
			id = f.Bytes()
		case 8:
			rack = f.Bytes()
		}
	}
	if err := f.Err(); err != nil {
		return err
	}
	f = ipc.NewFields("DatanodeIDProto", id)
	for len(host) == 0 && f.Next() {
		switch f.Num {
		case 1:
			address = f.Bytes()
		case 2:
			host = f.Bytes()
		}
	}
	if err := f.Err(); err != nil {
		return err
	}
	if len(host) == 0 {
		host = address
	}
	if len(host) == 0 {
		return errors.New("a replica on a host without a name")
	}
	d.hosts = append(d.hosts, d.intern(host))
	d.racks = append(d.racks, d.rack(rack))
	return nil
}

// withLocated returns the file with those blocks of its listing that begin
// within its first bytes.
func (f *fileStatus) withLocated(bytes int64, at time.Time) locatedFile {
	l := locatedFile{fileStatus: *f, bytes: bytes, at: at, blocks: f.located}
	l.located = nil
	if bytes >= f.length {
		return l
	}
	for i := range l.blocks {
		if int64(l.blocks[i].Offset) >= bytes {
			l.blocks = l.blocks[:i:i]
			break
		}
	}
	return l
}

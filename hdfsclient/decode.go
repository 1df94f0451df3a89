package hdfsclient

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"heddle/core/model"
)

const (
	internLimit  = 1 << 16 // names a decoder remembers
	internLength = 256     // longest name it remembers, in bytes
	scratchLimit = 1 << 17 // replicas of scratch space it keeps between answers
)

// decoder turns answers about block locations into blocks with three
// allocations an answer. It is not safe for concurrent use.
type decoder struct {
	names  map[string]string // host and rack names seen, so that each is stored once
	blocks []span
	hosts  []string
	racks  []model.RackID
	// Of the block being read: the addresses in "names", which stand in for hosts that are missing.
	addresses [][]byte
}

// span is one block with the number of its replicas in decoder.hosts and racks.
type span struct {
	offset, length int64
	replicas       int
	corrupt        bool
}

func newDecoder() *decoder { return &decoder{names: make(map[string]string)} }

// intern returns b as a string, the same one for the same bytes.
func (d *decoder) intern(b []byte) string {
	if s, ok := d.names[string(b)]; ok {
		return s
	}
	s := string(b)
	if len(s) <= internLength {
		if len(d.names) >= internLimit {
			clear(d.names)
		}
		d.names[s] = s
	}
	return s
}

// rack returns the rack with the given name, and the default rack for none.
func (d *decoder) rack(name []byte) model.RackID {
	if len(name) == 0 || name[0] != '/' || len(name) == 1 {
		return model.DefaultRack
	}
	return model.RackID(d.intern(name))
}

// decode reads an answer to GETFILEBLOCKLOCATIONS ("BlockLocations") or to
// GET_BLOCK_LOCATIONS ("LocatedBlocks"). The blocks share nothing with data.
//
// A block may have no replicas, and a corrupt block may list the hosts of its
// corrupt replicas. A block of an erasure-coded file is a block group: all
// hosts that hold a part of it are listed, as Hadoop's own jobs see them.
func (d *decoder) decode(data []byte) ([]model.Block, error) {
	d.blocks, d.hosts, d.racks = d.blocks[:0], d.hosts[:0], d.racks[:0]
	s := &scanner{data: data}
	found := false
	s.object(func(key []byte) {
		switch string(key) {
		case "BlockLocations":
			s.object(func(key []byte) {
				if string(key) != "BlockLocation" {
					s.skip()
					return
				}
				found = true
				s.list(func() { d.blockLocation(s) })
			})
		case "LocatedBlocks":
			s.object(func(key []byte) {
				if string(key) != "locatedBlocks" {
					s.skip()
					return
				}
				found = true
				s.list(func() { d.locatedBlock(s) })
			})
		default:
			s.skip()
		}
	})
	if s.err == nil && s.peek() != 0 {
		s.fail(errors.New("more after the end of the answer"))
	}
	if s.err != nil {
		return nil, fmt.Errorf("block locations %w", s.err)
	}
	if !found {
		return nil, errors.New("block locations: neither BlockLocation nor locatedBlocks in the answer")
	}
	return d.copyBlocks(), nil
}

// blockLocation reads one element of BlockLocation: hosts, names and
// topologyPaths are parallel arrays (DFSUtilClient.locatedBlocks2Locations).
func (d *decoder) blockLocation(s *scanner) {
	var b span
	hosts, racks := len(d.hosts), len(d.racks)
	d.addresses = d.addresses[:0]
	s.object(func(key []byte) {
		switch string(key) {
		case "offset":
			b.offset = s.integer()
		case "length":
			b.length = s.integer()
		case "corrupt":
			b.corrupt = s.boolean()
		case "hosts":
			d.hosts = d.hosts[:hosts]
			s.list(func() { d.hosts = append(d.hosts, d.intern(s.bytes())) })
		case "names":
			d.addresses = d.addresses[:0]
			s.list(func() { d.addresses = append(d.addresses, s.bytes()) })
		case "topologyPaths":
			d.racks = d.racks[:racks]
			s.list(func() {
				path := s.bytes()
				d.racks = append(d.racks, d.rack(path[:max(bytes.LastIndexByte(path, '/'), 0)]))
			})
		default:
			s.skip()
		}
	})
	for i, address := range d.addresses {
		if colon := bytes.LastIndexByte(address, ':'); colon > 0 {
			address = address[:colon]
		}
		switch at := hosts + i; {
		case at == len(d.hosts):
			d.hosts = append(d.hosts, d.intern(address))
		case d.hosts[at] == "":
			d.hosts[at] = d.intern(address)
		}
	}
	b.replicas = len(d.hosts) - hosts
	for len(d.racks)-racks < b.replicas {
		d.racks = append(d.racks, model.DefaultRack)
	}
	d.racks = d.racks[:racks+b.replicas]
	d.add(s, b)
}

// locatedBlock reads one element of locatedBlocks.
func (d *decoder) locatedBlock(s *scanner) {
	var b span
	s.object(func(key []byte) {
		switch string(key) {
		case "startOffset":
			b.offset = s.integer()
		case "isCorrupt":
			b.corrupt = s.boolean()
		case "block":
			s.object(func(key []byte) {
				if string(key) == "numBytes" {
					b.length = s.integer()
				} else {
					s.skip()
				}
			})
		case "locations":
			s.list(func() {
				b.replicas++
				d.location(s)
			})
		default:
			s.skip()
		}
	})
	d.add(s, b)
}

// location reads one DataNode of a located block.
func (d *decoder) location(s *scanner) {
	var host, address, rack []byte
	s.object(func(key []byte) {
		switch string(key) {
		case "hostName":
			host = s.bytes()
		case "ipAddr":
			address = s.bytes()
		case "networkLocation":
			rack = s.bytes()
		default:
			s.skip()
		}
	})
	if len(host) == 0 {
		host = address
	}
	d.hosts = append(d.hosts, d.intern(host))
	d.racks = append(d.racks, d.rack(rack))
}

func (d *decoder) add(s *scanner, b span) {
	if s.err != nil {
		return
	}
	if err := d.check(b); err != nil {
		s.fail(err)
		return
	}
	d.blocks = append(d.blocks, b)
}

// check refuses a block that cannot be; its hosts are the last ones read.
func (d *decoder) check(b span) error {
	if b.offset < 0 || b.length < 0 {
		return fmt.Errorf("block %d has offset %d and length %d", len(d.blocks), b.offset, b.length)
	}
	if slices.Contains(d.hosts[len(d.hosts)-b.replicas:], "") {
		return fmt.Errorf("block %d has a replica on a host without a name", len(d.blocks))
	}
	return nil
}

// copyBlocks returns what was read, in slices of exactly its size.
func (d *decoder) copyBlocks() []model.Block {
	blocks := make([]model.Block, len(d.blocks))
	hosts := make([]string, len(d.hosts))
	racks := make([]model.RackID, len(d.racks))
	copy(hosts, d.hosts)
	copy(racks, d.racks)
	for i, b := range d.blocks {
		n := b.replicas
		blocks[i] = model.Block{
			Offset: model.Bytes(b.offset), Length: model.Bytes(b.length), Corrupt: b.corrupt,
			Hosts: hosts[:n:n], Racks: racks[:n:n],
		}
		hosts, racks = hosts[n:], racks[n:]
	}
	if cap(d.hosts) > scratchLimit {
		d.blocks, d.hosts, d.racks = nil, nil, nil
	}
	return blocks
}

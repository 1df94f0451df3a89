package wire

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"heddle/yarnproxy/ipc"
)

// NewRow is an ask row that no row of the application is at hand for, of an
// application that was met in the middle of its life.
type NewRow struct {
	Priority  int32
	RequestID int64  // allocation_request_id, -1 for none
	Name      string // Any, a rack or a host
	Count     int32
	Relax     bool
	Memory    int64 // MiB
	VCores    int32
}

// AppendRequest appends body, an allocate call, to dst with other asks: all of
// its ask fields are left out, and asks, the ask fields that AppendRow and the
// like made, come where the first of them was, or at the front. Every other byte
// is as it came, in order. When body cannot be read, dst is returned as it was.
// Neither body nor asks may overlap the free space of dst.
func AppendRequest(dst, body, asks []byte) ([]byte, error) {
	out, placed := dst, false
	c := ipc.NewFields("AllocateRequestProto", body)
	for c.Next() {
		if c.Num != requestAsk {
			out = append(out, c.Raw()...)
			continue
		}
		c.Bytes()
		if !placed {
			out, placed = append(out, asks...), true
		}
	}
	if c.Err() != nil {
		return dst, fmt.Errorf("editing an allocate call of %d bytes, which is to go on as it came: %w", len(body), c.Err())
	}
	if !placed {
		return append(append(dst, asks...), body...), nil
	}
	return out, nil
}

// AppendRow appends an ask field to dst: the template, a row of the application
// without tag and length (Row.Raw), with another name, count and relaxLocality.
// It keeps everything else byte for byte, the node label aside, which Hadoop
// takes on the row named Any only and fails the whole call for elsewhere
// (SchedulerUtils.validateResourceRequest). The row named Any is therefore to be
// made of the application's own. When the template cannot be read, dst is
// returned as it was.
func AppendRow(dst, template []byte, name string, count int32, relax bool) ([]byte, error) {
	out, row := begin(dst, requestAsk)
	c := ipc.NewFields("ResourceRequestProto", template)
	for c.Next() {
		switch c.Num {
		case rowName, rowCount, rowRelax:
			continue
		case rowLabel:
			if name != Any {
				continue
			}
		}
		out = append(out, c.Raw()...)
	}
	if c.Err() != nil {
		return dst, fmt.Errorf("making an ask row for %s of one of %d bytes: %w", name, len(template), c.Err())
	}
	return end(appendName(out, name, count, relax), row), nil
}

// AppendNewRow appends an ask field to dst: for guaranteed containers of memory
// and vcores, without other resources and without a node label.
func AppendNewRow(dst []byte, r *NewRow) []byte {
	out, row := begin(dst, requestAsk)
	out, part := begin(out, rowPriority)
	out = end(appendNumber(out, 1, int64(r.Priority)), part)
	out, part = begin(out, rowCapability)
	out = end(appendNumber(appendNumber(out, 1, r.Memory), 2, int64(r.VCores)), part)
	out, part = begin(out, rowExecution)
	out = end(appendNumber(appendNumber(out, 1, 1), 2, 1), part) // GUARANTEED and enforced, as MapReduce writes it
	if r.RequestID != noRequestID {
		out = appendNumber(out, rowRequestID, r.RequestID)
	}
	return end(appendName(out, r.Name, r.Count, r.Relax), row)
}

// AppendVerbatim appends an ask field to dst: a row without tag and length
// (Row.Raw) as it is.
func AppendVerbatim(dst, raw []byte) []byte {
	dst = protowire.AppendTag(dst, requestAsk, protowire.BytesType)
	return protowire.AppendBytes(dst, raw)
}

// appendName appends what differs between the rows of a scheduler key. True is
// the default of relax_locality, and is left out as MapReduce does.
func appendName(dst []byte, name string, count int32, relax bool) []byte {
	dst = protowire.AppendTag(dst, rowName, protowire.BytesType)
	dst = protowire.AppendString(dst, name)
	dst = appendNumber(dst, rowCount, int64(count))
	if !relax {
		dst = appendNumber(dst, rowRelax, 0)
	}
	return dst
}

func appendNumber(dst []byte, field protowire.Number, n int64) []byte {
	dst = protowire.AppendTag(dst, field, protowire.VarintType)
	return protowire.AppendVarint(dst, uint64(n)) //nolint:gosec // negative numbers are sign-extended
}

// begin appends the tag of a message field and one byte for its length, and
// returns where the message starts.
func begin(dst []byte, field protowire.Number) ([]byte, int) {
	dst = append(protowire.AppendTag(dst, field, protowire.BytesType), 0)
	return dst, len(dst)
}

// end fills in the length of the message that starts at start. A length that
// takes more than the one byte moves the message.
func end(dst []byte, start int) []byte {
	size := len(dst) - start
	length := uint64(size) //nolint:gosec // never negative
	more := protowire.SizeVarint(length) - 1
	for range more {
		dst = append(dst, 0)
	}
	copy(dst[start+more:], dst[start:start+size])
	protowire.AppendVarint(dst[:start-1], length)
	return dst
}

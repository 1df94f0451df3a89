package rmmodel

import (
	"encoding/binary"
	"maps"
	"slices"

	"heddle/core/asks"
	"heddle/core/model"
)

// ownRows is an application's own ask table (RMContainerRequestor and
// AMRMClientImpl): counts by key and name, and which of them were touched since
// the last call. A touched row is sent with its count of then, even when that is
// the count it had before, and with 0 when it is gone.
type ownRows struct {
	counts map[asks.Key]map[string]int32
	needs  map[asks.Key]model.Resource
	dirty  map[asks.Key]map[string]bool
	labels map[asks.Key]bool // the ANY row carries a node label expression
}

func newOwnRows() *ownRows {
	return &ownRows{
		counts: map[asks.Key]map[string]int32{}, needs: map[asks.Key]model.Resource{},
		dirty: map[asks.Key]map[string]bool{}, labels: map[asks.Key]bool{},
	}
}

func (o *ownRows) touch(key asks.Key, name string) {
	if o.dirty[key] == nil {
		o.dirty[key] = map[string]bool{}
	}
	o.dirty[key][name] = true
}

// add asks for one container more by each name (addContainerReq).
func (o *ownRows) add(key asks.Key, names []string, t Task) {
	if o.counts[key] == nil {
		o.counts[key] = map[string]int32{}
	}
	o.needs[key], o.labels[key] = t.Need, t.Labelled
	for _, name := range names {
		o.counts[key][name]++
		o.touch(key, name)
	}
}

// remove asks for one container less by each name (decContainerReq). A row that
// is gone, as those of refused hosts are, is left alone.
func (o *ownRows) remove(key asks.Key, names []string) {
	for _, name := range names {
		n := o.counts[key][name]
		if n == 0 {
			continue
		}
		if n == 1 {
			delete(o.counts[key], name)
		} else {
			o.counts[key][name] = n - 1
		}
		o.touch(key, name)
	}
}

// drop takes the rows of a host away (containerFailedOnHost, when it comes to refusing the host).
func (o *ownRows) drop(host string) {
	for key, counts := range o.counts { // order-free: every key on its own
		if counts[host] > 0 {
			delete(counts, host)
			o.touch(key, host)
		}
	}
}

// touchAll has everything said again, after a failover.
func (o *ownRows) touchAll() {
	o.dirty = map[asks.Key]map[string]bool{}
	for key, counts := range o.counts { // order-free: a set is built
		for name := range counts { // order-free: a set is built
			o.touch(key, name)
		}
	}
}

// changed returns the touched rows by key and name, and forgets that they were.
func (o *ownRows) changed() []asks.Row {
	var rows []asks.Row
	for _, key := range slices.SortedFunc(maps.Keys(o.dirty), compareKeys) {
		for _, name := range slices.Sorted(maps.Keys(o.dirty[key])) {
			r := asks.Row{
				Key: key, Name: name, Count: o.counts[key][name], Relax: true,
				Labelled: o.labels[key] && name == model.AnyName, Capability: o.needs[key],
			}
			r.Raw = encodeRow(r)
			rows = append(rows, r)
		}
	}
	o.dirty = map[asks.Key]map[string]bool{}
	return rows
}

// encodeRow stands for the encoding of a ResourceRequestProto: what the relay
// passes on without looking into it.
func encodeRow(r asks.Row) []byte {
	b := binary.AppendVarint(nil, int64(r.Priority))
	b = binary.AppendVarint(b, r.RequestID)
	b = binary.AppendVarint(b, int64(r.Count))
	b = binary.AppendVarint(b, r.Capability.MemoryMiB)
	b = binary.AppendVarint(b, r.Capability.VCores)
	b = append(b, flag(r.Relax), flag(r.Labelled))
	return append(b, r.Name...)
}

// decodeRow reads what encodeRow wrote; false when it did not.
func decodeRow(b []byte) (asks.Row, bool) {
	var numbers [5]int64
	for i := range numbers {
		n, size := binary.Varint(b)
		if size <= 0 {
			return asks.Row{}, false
		}
		numbers[i], b = n, b[size:]
	}
	if len(b) < 2 || b[0] > 1 || b[1] > 1 {
		return asks.Row{}, false
	}
	r := asks.Row{
		Key:  asks.Key{Priority: int32(numbers[0]), RequestID: numbers[1]},
		Name: string(b[2:]), Count: int32(numbers[2]), Relax: b[0] == 1, Labelled: b[1] == 1,
		Capability: model.Resource{MemoryMiB: numbers[3], VCores: numbers[4]},
	}
	return r, true
}

func flag(set bool) byte {
	if set {
		return 1
	}
	return 0
}

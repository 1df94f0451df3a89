package jhist

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/hamba/avro/v2"
)

const (
	maxDepth  = 64      // of values in each other; Hadoop's events have 9
	maxValues = 1 << 20 // of one event, so that values without bytes stay bounded
	chunk     = 64 << 10
)

// The keys of a union that has several records.
const (
	unionName  = "name"
	unionValue = "value"
)

// binaryEvent decodes one event by the file's schema.
type binaryEvent struct {
	in     *input
	values int
}

// value decodes a value: nil, bool, int64, float64, string, []any or map[string]any. A union of
// several records is a map of the record's name and its value.
func (b *binaryEvent) value(s avro.Schema, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("its values are nested deeper than %d", maxDepth)
	}
	if b.values++; b.values > maxValues {
		return nil, fmt.Errorf("it has more than %d values", maxValues)
	}
	switch s := s.(type) {
	case *avro.RefSchema:
		return b.value(s.Schema(), depth+1)
	case *avro.RecordSchema:
		return b.record(s, depth)
	case *avro.UnionSchema:
		return b.union(s, depth)
	case *avro.ArraySchema:
		var list []any
		err := b.blocks(func() error {
			v, err := b.value(s.Items(), depth+1)
			list = append(list, v)
			return err
		})
		return list, err
	case *avro.MapSchema:
		m := map[string]any{}
		err := b.blocks(func() error {
			key, err := b.text()
			if err != nil {
				return err
			}
			m[key], err = b.value(s.Values(), depth+1)
			return err
		})
		return m, err
	case *avro.EnumSchema:
		n, err := binary.ReadVarint(b.in)
		if err != nil || n < 0 || n >= int64(len(s.Symbols())) {
			return nil, orWrong(err, "symbol %d of %d", n, len(s.Symbols()))
		}
		return s.Symbols()[n], nil
	case *avro.FixedSchema:
		return b.bytes(int64(s.Size()))
	}
	return b.primitive(s.Type())
}

func (b *binaryEvent) primitive(t avro.Type) (any, error) {
	switch t { //nolint:exhaustive // the other types are not primitive
	case avro.Null:
		return nil, nil
	case avro.Boolean:
		v, err := b.in.ReadByte()
		return v != 0, err
	case avro.Int, avro.Long:
		return binary.ReadVarint(b.in)
	case avro.String, avro.Bytes:
		return b.text()
	case avro.Float:
		var buf [4]byte
		err := b.in.full(buf[:])
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(buf[:]))), err
	case avro.Double:
		var buf [8]byte
		err := b.in.full(buf[:])
		return math.Float64frombits(binary.LittleEndian.Uint64(buf[:])), err
	}
	return nil, fmt.Errorf("its schema has a value of type %s", t)
}

func (b *binaryEvent) record(s *avro.RecordSchema, depth int) (any, error) {
	fields := make(map[string]any, len(s.Fields()))
	for _, f := range s.Fields() {
		v, err := b.value(f.Type(), depth+1)
		if err != nil {
			return nil, err
		}
		fields[f.Name()] = v
	}
	return fields, nil
}

func (b *binaryEvent) union(s *avro.UnionSchema, depth int) (any, error) {
	n, err := binary.ReadVarint(b.in)
	if err != nil || n < 0 || n >= int64(len(s.Types())) {
		return nil, orWrong(err, "type %d of the %d of a union", n, len(s.Types()))
	}
	one := s.Types()[n]
	v, err := b.value(one, depth+1)
	if err != nil {
		return nil, err
	}
	if ref, ok := one.(*avro.RefSchema); ok {
		one = ref.Schema()
	}
	if r, ok := one.(*avro.RecordSchema); ok {
		return map[string]any{unionName: r.FullName(), unionValue: v}, nil
	}
	return v, nil
}

// blocks calls each for every item of an array or a map.
func (b *binaryEvent) blocks(each func() error) error {
	for {
		n, err := binary.ReadVarint(b.in)
		if err != nil || n == 0 {
			return err
		}
		if n < 0 { // then the bytes of the block follow
			if _, err := binary.ReadVarint(b.in); err != nil {
				return err
			}
			n = -n
		}
		if n < 0 || n > maxValues {
			return fmt.Errorf("a list of %d items", n)
		}
		for range n {
			if err := each(); err != nil {
				return err
			}
		}
	}
}

func (b *binaryEvent) text() (string, error) {
	n, err := binary.ReadVarint(b.in)
	if err != nil {
		return "", err
	}
	return b.bytes(n)
}

// bytes reads n bytes, and makes room for no more than there are.
func (b *binaryEvent) bytes(n int64) (string, error) {
	if n < 0 {
		return "", fmt.Errorf("a text of %d bytes", n)
	}
	if n > b.in.left {
		return "", errEventTooLong
	}
	var all []byte
	for n > 0 {
		part := make([]byte, min(n, chunk))
		if err := b.in.full(part); err != nil {
			return "", err
		}
		n -= int64(len(part))
		if all == nil {
			all = part
		} else {
			all = append(all, part...)
		}
	}
	return string(all), nil
}

// orWrong returns err, or else an error that says what was read.
func orWrong(err error, format string, args ...any) error {
	if err != nil {
		return err
	}
	return fmt.Errorf(format, args...)
}

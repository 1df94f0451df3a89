package wire_test

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"
)

// encode draws a well-formed message: fields in any order, some of them twice,
// some not at all, some unknown, numbers of any length.
func encode(t *rapid.T, m protoreflect.MessageDescriptor, depth int) []byte {
	var b []byte
	fields := m.Fields()
	for range rapid.IntRange(0, 6).Draw(t, "fields of "+string(m.Name())) {
		if i := rapid.IntRange(-1, fields.Len()-1).Draw(t, "field"); i >= 0 {
			b = encodeField(t, b, fields.Get(i), depth)
		} else {
			b = encodeUnknown(t, b, fields, 0)
		}
	}
	for i := range fields.Len() {
		if f := fields.Get(i); f.Cardinality() == protoreflect.Required {
			b = encodeField(t, b, f, depth)
		}
	}
	return b
}

func encodeField(t *rapid.T, b []byte, f protoreflect.FieldDescriptor, depth int) []byte {
	name := string(f.Name())
	switch f.Kind() {
	case protoreflect.MessageKind:
		var inner []byte
		if depth < 6 {
			inner = encode(t, f.Message(), depth+1)
		}
		return protowire.AppendBytes(protowire.AppendTag(b, f.Number(), protowire.BytesType), inner)
	case protoreflect.StringKind:
		text := rapid.SampledFrom([]string{"*", "", "w11", "/rack1", "host-1.example.com", "\xff\x00"}).Draw(t, name)
		return protowire.AppendString(protowire.AppendTag(b, f.Number(), protowire.BytesType), text)
	case protoreflect.BytesKind:
		return protowire.AppendBytes(protowire.AppendTag(b, f.Number(), protowire.BytesType), junk(t, name))
	case protoreflect.FloatKind:
		return protowire.AppendFixed32(protowire.AppendTag(b, f.Number(), protowire.Fixed32Type), rapid.Uint32().Draw(t, name))
	default: // int32, int64, bool
		b = protowire.AppendTag(b, f.Number(), protowire.VarintType)
		return encodeNumber(t, b, name)
	}
}

// encodeNumber draws a varint, which may have more bytes than it needs.
func encodeNumber(t *rapid.T, b []byte, name string) []byte {
	special := []int64{0, 1, 2, 3, -1, 1 << 40, math.MaxInt32, math.MinInt32, math.MaxInt64, math.MinInt64, -1000}
	n := rapid.OneOf(rapid.SampledFrom(special), rapid.Int64()).Draw(t, name)
	at := len(b)
	b = protowire.AppendVarint(b, uint64(n))
	if len(b)-at < 9 && rapid.IntRange(0, 9).Draw(t, "padding") == 0 {
		b[len(b)-1] |= 0x80
		b = append(b, 0)
	}
	return b
}

// encodeUnknown draws a field that fields does not have.
func encodeUnknown(t *rapid.T, b []byte, fields protoreflect.FieldDescriptors, depth int) []byte {
	num := protowire.Number(rapid.SampledFrom([]int32{9, 11, 12, 13, 100, 20000, int32(protowire.MaxValidNumber)}).Draw(t, "unknown field"))
	if fields.ByNumber(num) != nil {
		num = 19
	}
	switch rapid.IntRange(0, 4).Draw(t, "wire type") {
	case 0:
		return encodeNumber(t, protowire.AppendTag(b, num, protowire.VarintType), "unknown")
	case 1:
		return protowire.AppendFixed32(protowire.AppendTag(b, num, protowire.Fixed32Type), 7)
	case 2:
		return protowire.AppendFixed64(protowire.AppendTag(b, num, protowire.Fixed64Type), 7)
	case 3:
		b = protowire.AppendTag(b, num, protowire.StartGroupType)
		if depth < 3 {
			b = encodeUnknown(t, b, fields, depth+1)
		}
		return protowire.AppendTag(b, num, protowire.EndGroupType)
	default:
		return protowire.AppendBytes(protowire.AppendTag(b, num, protowire.BytesType), junk(t, "unknown"))
	}
}

// junk draws bytes, sometimes so many that their length takes two bytes.
func junk(t *rapid.T, name string) []byte {
	return make([]byte, rapid.SampledFrom([]int{0, 1, 5, 127, 128, 300}).Draw(t, name))
}

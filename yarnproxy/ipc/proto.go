package ipc

import (
	"fmt"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// ParseError says what on the wire is not as Hadoop writes it. A relay passes
// such bytes on as they came.
type ParseError struct {
	What    string // the message or field, such as "request header"
	Problem string
}

// Error implements error.
func (e *ParseError) Error() string { return "hadoop rpc: " + e.What + ": " + e.Problem }

// Fields steps through the fields of one protobuf message without copying or
// allocating. A field of another type than it is read as is an error, which
// Err keeps; after an error there are no more fields.
type Fields struct {
	Num int // number of the current field

	what string // names the message in errors
	rest []byte
	raw  []byte // the whole current field
	typ  protowire.Type
	u    uint64 // of a varint or a 32-bit number
	b    []byte // of a length-delimited field
	err  error
}

// NewFields returns the fields of a message; what names it in errors.
func NewFields(what string, message []byte) Fields { return Fields{what: what, rest: message} }

// Next reads a field and reports whether there was one. Groups and 64-bit
// numbers are stepped over: no message here has them.
func (f *Fields) Next() bool {
	if f.err != nil || len(f.rest) == 0 {
		return false
	}
	before := f.rest
	if !f.decode() {
		return false
	}
	f.raw = before[: len(before)-len(f.rest) : len(before)-len(f.rest)]
	return true
}

// decode reads the next field.
func (f *Fields) decode() bool {
	num, typ, n := protowire.ConsumeTag(f.rest)
	if n < 0 {
		f.broken(n)
		return false
	}
	f.Num, f.typ, f.rest = int(num), typ, f.rest[n:]
	if num > protowire.MaxValidNumber {
		f.Fail("a tag of more than 32 bits") // Hadoop would cut it, and see another field in it
		return false
	}
	switch typ {
	case protowire.VarintType:
		f.u, n = protowire.ConsumeVarint(f.rest)
	case protowire.BytesType:
		f.b, n = protowire.ConsumeBytes(f.rest)
		f.b = slices.Clip(f.b)
	case protowire.Fixed32Type:
		var v uint32
		v, n = protowire.ConsumeFixed32(f.rest)
		f.u = uint64(v)
	default:
		n = protowire.ConsumeFieldValue(num, typ, f.rest)
	}
	if n < 0 {
		f.broken(n)
		return false
	}
	f.rest = f.rest[n:]
	return true
}

// broken fails with what protowire says of the bytes after the last tag.
func (f *Fields) broken(code int) {
	f.Fail(fmt.Sprintf("field %d: %v", f.Num, protowire.ParseError(code)))
}

// hasType reports whether the current field has a wire type, and fails if not.
func (f *Fields) hasType(want protowire.Type) bool {
	if f.typ != want {
		f.Fail(fmt.Sprintf("field %d: wire type %d, want %d", f.Num, f.typ, want))
	}
	return f.err == nil
}

// Uint64 returns the number of the current field.
func (f *Fields) Uint64() uint64 {
	if !f.hasType(protowire.VarintType) {
		return 0
	}
	return f.u
}

// Int64 returns the number of the current field; a negative one is sign-extended
// to 64 bits on the wire.
func (f *Fields) Int64() int64 { return int64(f.Uint64()) } //nolint:gosec // see above

// Bool returns the flag that is the current field.
func (f *Fields) Bool() bool { return f.Uint64() != 0 }

// Float32 returns the number of the current field.
func (f *Fields) Float32() float32 {
	if !f.hasType(protowire.Fixed32Type) {
		return 0
	}
	return math.Float32frombits(uint32(f.u)) //nolint:gosec // read as 32 bits
}

// Raw returns the whole current field, tag included; it points into the message.
func (f *Fields) Raw() []byte { return f.raw }

// Int32 returns the number of the current field, whose upper half protobuf drops.
func (f *Fields) Int32() int32 {
	return int32(uint32(f.Uint64() & 0xFFFFFFFF)) //nolint:gosec // 32 bits by the mask
}

// Sint32 returns the zigzag number of the current field.
func (f *Fields) Sint32() int32 {
	return int32(protowire.DecodeZigZag(f.Uint64() & 0xFFFFFFFF)) //nolint:gosec // 32 bits by the mask
}

// Bytes returns the bytes of the current field; they point into the message.
func (f *Fields) Bytes() []byte {
	if !f.hasType(protowire.BytesType) {
		return nil
	}
	return f.b
}

// Err returns the first error.
func (f *Fields) Err() error { return f.err }

// Fail ends the reading with a problem, unless there was one before.
func (f *Fields) Fail(problem string) {
	if f.err == nil {
		f.err = &ParseError{f.what, problem}
	}
}

// Nested takes over the error of a message within this one, unless it is nil.
func (f *Fields) Nested(err error) {
	if f.err == nil {
		f.err = err
	}
}

// cutDelimited reads a message with its length before it, and returns it and what
// follows it.
func cutDelimited(what string, b []byte) (message, rest []byte, err error) {
	message, n := protowire.ConsumeBytes(b)
	if n < 0 {
		return nil, nil, &ParseError{what, "cut off, or with a broken length"}
	}
	return message, b[n:], nil
}

package hdfsclient

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// scanner reads JSON in place, without building values for what is not asked
// for. It keeps its first error; after one, every method is a no-op. It is
// lenient where Hadoop's writers differ: null stands for any empty value, and
// a number may come as a string.
type scanner struct {
	data []byte
	pos  int
	err  error
}

var errShort = errors.New("answer ends too early")

func (s *scanner) fail(err error) {
	if s.err == nil {
		s.err = fmt.Errorf("at byte %d: %w", s.pos, err)
	}
	s.pos = len(s.data)
}

// peek returns the next byte that is not white space, and 0 at the end.
func (s *scanner) peek() byte {
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; c {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return c
		}
	}
	return 0
}

// expect consumes c, which must come next.
func (s *scanner) expect(c byte) {
	switch got := s.peek(); got {
	case c:
		s.pos++
	case 0:
		s.fail(errShort)
	default:
		s.fail(fmt.Errorf("%q where %q was expected", got, c))
	}
}

// null consumes a null, if one comes next.
func (s *scanner) null() bool {
	if s.peek() == 'n' && bytes.HasPrefix(s.data[s.pos:], []byte("null")) {
		s.pos += len("null")
		return true
	}
	return false
}

// object calls member for each key of an object; member must consume the value.
func (s *scanner) object(member func(key []byte)) {
	if s.null() {
		return
	}
	s.expect('{')
	for first := true; s.next(first, '}'); first = false {
		key := s.bytes()
		s.expect(':')
		if s.err != nil {
			return
		}
		member(key)
	}
}

// list calls element before each element of an array, which element must
// consume; an object in place of an array is a list of one.
func (s *scanner) list(element func()) {
	if s.null() {
		return
	}
	if s.peek() == '{' {
		element()
		return
	}
	s.expect('[')
	for first := true; s.next(first, ']'); first = false {
		element()
	}
}

// next moves to the next member of a container and reports whether there is
// one; it consumes the end.
func (s *scanner) next(first bool, end byte) bool {
	if s.err != nil {
		return false
	}
	if s.peek() == end {
		s.pos++
		return false
	}
	if !first {
		s.expect(',')
	} else if s.peek() == 0 {
		s.fail(errShort)
	}
	return s.err == nil
}

// bytes consumes a string and returns it, valid as long as the data.
func (s *scanner) bytes() []byte {
	if s.null() {
		return nil
	}
	s.expect('"')
	if s.err != nil {
		return nil
	}
	start := s.pos
	for i, c := range s.data[start:] { // names are short: a loop beats bytes.IndexByte
		switch c {
		case '"':
			s.pos = start + i + 1
			return s.data[start : start+i]
		case '\\':
			return s.escaped(start)
		}
	}
	s.fail(errShort)
	return nil
}

// escaped finishes bytes for a string that has a backslash in it.
func (s *scanner) escaped(start int) []byte {
	for i := start; i < len(s.data); i++ {
		switch s.data[i] {
		case '\\':
			i++
		case '"':
			var text string
			if err := json.Unmarshal(s.data[start-1:i+1], &text); err != nil {
				s.fail(err)
				return nil
			}
			s.pos = i + 1
			return []byte(text)
		}
	}
	s.fail(errShort)
	return nil
}

// integer consumes a whole number, which may be quoted.
func (s *scanner) integer() int64 {
	if s.null() {
		return 0
	}
	if s.peek() == '"' {
		n, err := strconv.ParseInt(string(s.bytes()), 10, 64)
		if err != nil {
			s.fail(err)
		}
		return n
	}
	start := s.pos
	for s.pos < len(s.data) && (s.data[s.pos] == '-' || s.data[s.pos]-'0' <= 9) {
		s.pos++
	}
	if s.pos == len(s.data) {
		s.fail(errShort)
		return 0
	}
	n, err := strconv.ParseInt(string(s.data[start:s.pos]), 10, 64)
	if err != nil {
		s.fail(fmt.Errorf("a whole number was expected: %w", err))
		return 0
	}
	return n
}

// boolean consumes true or false, which may be quoted.
func (s *scanner) boolean() bool {
	if s.null() {
		return false
	}
	if s.peek() == '"' {
		return string(s.bytes()) == "true"
	}
	for _, v := range []string{"true", "false"} {
		if bytes.HasPrefix(s.data[s.pos:], []byte(v)) {
			s.pos += len(v)
			return v == "true"
		}
	}
	s.fail(errors.New("true or false was expected"))
	return false
}

// skip consumes one value of any type. Within an object or an array it only
// looks for the end, not at the grammar.
func (s *scanner) skip() {
	switch s.peek() {
	case '"':
		s.bytes()
		return
	case '{', '[':
	default:
		s.literal()
		return
	}
	depth := 0
	for i := s.pos; i < len(s.data); i++ {
		switch s.data[i] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				s.pos = i + 1
				return
			}
		case '"':
			for i++; i < len(s.data) && s.data[i] != '"'; i++ {
				if s.data[i] == '\\' {
					i++
				}
			}
		}
	}
	s.fail(errShort)
}

// literal consumes a number, true, false or null.
func (s *scanner) literal() {
	for i := s.pos; i < len(s.data); i++ {
		switch s.data[i] {
		case ',', '}', ']', ':', '"', '{', '[', ' ', '\t', '\n', '\r':
			if i == s.pos {
				s.fail(errors.New("a value was expected"))
				return
			}
			s.pos = i
			return
		}
	}
	s.fail(errShort)
}

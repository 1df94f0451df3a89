package measured

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"heddle/core/model"
)

// Trace is what a reader made of a trace: jobs as they ran, and what it left out.
type Trace struct {
	Jobs  []Job
	Racks map[model.RackID][]string // hosts by rack, where the trace says more than where tasks ran
	Left  []Left
	Notes []string // what the user should know of it
	// StartsAtOnce is for Options: containers of the trace need no time to start.
	StartsAtOnce bool
}

// ObjectError says which of the JSON objects in a trace is wrong.
type ObjectError struct {
	Number int   // from 1
	Offset int64 // bytes before it is at fault, from the start
	Err    error
}

// Error implements error.
func (e *ObjectError) Error() string {
	return fmt.Sprintf("object %d, at byte %d: %v", e.Number, e.Offset, e.Err)
}

// Unwrap implements errors' unwrapping.
func (e *ObjectError) Unwrap() error { return e.Err }

// maxObject is the most bytes of one object: a job with some 100,000 tasks.
const maxObject = 512 << 20

// errObjectTooLong says that an object exceeds maxObject.
var errObjectTooLong = fmt.Errorf("it has more than %d MiB", maxObject>>20)

// EachObject decodes JSON objects that follow each other, as Rumen and SLS write them,
// and calls use with each and its number, from 1. The errors are *ObjectError.
func EachObject[T any](r io.Reader, use func(number int, v *T) error) error {
	in := &objectReader{src: r}
	dec := json.NewDecoder(in)
	for n := 1; ; n++ {
		in.left = maxObject
		begin := dec.InputOffset()
		var v T
		err := dec.Decode(&v)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = use(n, &v)
		} else {
			var syntax *json.SyntaxError
			var kind *json.UnmarshalTypeError
			switch {
			case errors.As(err, &syntax):
				begin = max(begin, syntax.Offset)
			case errors.As(err, &kind):
				err = fmt.Errorf("%s: want %s, has %s", cmp.Or(kind.Field, "the object"), kindName(kind.Type.String()), kind.Value)
			case errors.Is(err, io.ErrUnexpectedEOF):
				err = fmt.Errorf("the file stops within it: %w", err)
			}
		}
		if err != nil {
			return &ObjectError{n, begin, err}
		}
	}
}

// kindName names a type of Go for people.
func kindName(kind string) string {
	switch {
	case strings.HasPrefix(kind, "[]"):
		return "a list"
	case kind == "string":
		return "a text"
	case strings.HasPrefix(kind, "int"), strings.HasPrefix(kind, "float"), kind == "model.Bytes", kind == "model.Time":
		return "a number"
	}
	return "an object"
}

// objectReader bounds what is read for one object.
type objectReader struct {
	src  io.Reader
	left int64
}

// Read implements io.Reader.
func (r *objectReader) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, errObjectTooLong
	}
	n, err := r.src.Read(p[:min(int64(len(p)), r.left)])
	r.left -= int64(n)
	return n, err
}

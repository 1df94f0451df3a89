package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// Hadoop's JSON depends on the version and on the class: a number may come as
// a string, a list of one as its element, an empty list as {}, "" or null, and
// a missing value as any of these (hadoop.md 1.13). The types here take all of
// them; Decode also takes the bare NaN that is not JSON.

// Decode decodes JSON into v. Where the text is not JSON because of a bare
// NaN, Infinity or -Infinity, those are read as 0. Repeated keys are taken,
// the last one wins.
func Decode(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	if _, ok := errors.AsType[*json.SyntaxError](err); ok {
		if cleaned, changed := withoutBareNaN(data); changed {
			return json.Unmarshal(cleaned, v)
		}
	}
	return err
}

// withoutBareNaN returns a copy of data with every NaN and Infinity outside a
// string replaced by a 0 of the same length.
func withoutBareNaN(data []byte) ([]byte, bool) {
	var out []byte
	inString := false
	for i := 0; i < len(data); i++ {
		switch b := data[i]; {
		case inString && b == '\\':
			i++
		case b == '"':
			inString = !inString
		case !inString && (b == 'N' || b == 'I' || b == '-'):
			n := bareNaN(data[i:])
			if n == 0 {
				continue
			}
			if out == nil {
				out = bytes.Clone(data)
			}
			copy(out[i:i+n], "0"+strings.Repeat(" ", n-1))
			i += n - 1
		}
	}
	return out, out != nil
}

// bareNaN returns the length of the literal data starts with, or 0.
func bareNaN(data []byte) int {
	for _, word := range []string{"NaN", "Infinity", "-Infinity"} {
		if bytes.HasPrefix(data, []byte(word)) {
			return len(word)
		}
	}
	return 0
}

// Number is a JSON number that may come as a number, as a string of digits, as
// NaN or Infinity, or not at all. It is always finite.
type Number float64

// UnmarshalJSON implements json.Unmarshaler: null, "", NaN and the infinities,
// which the services write where a denominator is 0, become 0.
func (n *Number) UnmarshalJSON(data []byte) error {
	text, err := scalar(data)
	if err != nil {
		return err
	}
	if absent(text) {
		*n = 0
		return nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return fmt.Errorf("%q is not a number", clip(text))
	}
	*n = Number(f)
	return nil
}

// Int is a whole JSON number in any of the forms of Number. It is exact over
// the whole range of int64, as times in milliseconds and byte counters need.
type Int int64

// UnmarshalJSON implements json.Unmarshaler: null, "", NaN and the infinities
// become 0, a fraction is cut off, and what does not fit int64 is an error.
func (n *Int) UnmarshalJSON(data []byte) error {
	text, err := scalar(data)
	if err != nil {
		return err
	}
	if absent(text) {
		*n = 0
		return nil
	}
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		*n = Int(i)
		return nil
	}
	// 1.7952156E12: parsed exactly; the length bounds the work.
	f, ok := new(big.Float).SetPrec(256).SetString(text)
	if !ok || len(text) > 64 || strings.ContainsAny(text, "xXpP_iI") || f.MantExp(nil) > 64 {
		return fmt.Errorf("%q is not a whole number of 64 bits", clip(text))
	}
	i, accuracy := f.Int64()
	if accuracy != big.Exact && (i == math.MaxInt64 || i == math.MinInt64) {
		return fmt.Errorf("%q does not fit 64 bits", clip(text))
	}
	*n = Int(i)
	return nil
}

// Bool is a JSON boolean that may come as true, as "true", or not at all.
type Bool bool

// UnmarshalJSON implements json.Unmarshaler: null and "" become false.
func (b *Bool) UnmarshalJSON(data []byte) error {
	text, err := scalar(data)
	if err != nil {
		return err
	}
	switch text {
	case "true":
		*b = true
	case "false", "", "null":
		*b = false
	default:
		return fmt.Errorf("%q is not true or false", clip(text))
	}
	return nil
}

// Text is a JSON string that some versions write as a bare number or boolean
// when it looks like one.
type Text string

// UnmarshalJSON implements json.Unmarshaler: null becomes "".
func (t *Text) UnmarshalJSON(data []byte) error {
	if string(bytes.TrimSpace(data)) == "null" {
		*t = ""
		return nil
	}
	text, err := scalar(data)
	*t = Text(text)
	return err
}

// List is a JSON list that may be an array, a single element in place of a
// list of one, {}, "" or null.
type List[T any] []T

// UnmarshalJSON implements json.Unmarshaler. The empty forms give an empty
// list; an element of an array that is null is left at its zero value.
func (l *List[T]) UnmarshalJSON(data []byte) error {
	data = bytes.TrimSpace(data)
	switch {
	case len(data) == 0 || string(data) == "null" || string(data) == `""` || emptyObject(data):
		*l = nil
		return nil
	case data[0] == '[':
		var items []T
		if err := json.Unmarshal(data, &items); err != nil {
			return err
		}
		*l = items
		return nil
	}
	var one T
	if err := json.Unmarshal(data, &one); err != nil {
		return err
	}
	*l = List[T]{one}
	return nil
}

// Object is a JSON object that may also be "" or null when it is empty, as
// some versions write an empty {"apps":…}.
type Object[T any] struct{ Value T }

// UnmarshalJSON implements json.Unmarshaler.
func (o *Object[T]) UnmarshalJSON(data []byte) error {
	var zero T
	o.Value = zero
	switch text := string(bytes.TrimSpace(data)); text {
	case "null", `""`, "[]":
		return nil
	}
	return json.Unmarshal(data, &o.Value)
}

func emptyObject(data []byte) bool {
	return data[0] == '{' && len(bytes.TrimSpace(data[1:])) == 1
}

// scalar returns the text of a JSON string, number, boolean or null.
func scalar(data []byte) (string, error) {
	data = bytes.TrimSpace(data)
	switch {
	case len(data) == 0:
		return "", errors.New("no value")
	case data[0] == '"':
		var s string
		err := json.Unmarshal(data, &s)
		return s, err
	case data[0] == '{' || data[0] == '[':
		if emptyObject(data) {
			return "", nil
		}
		return "", fmt.Errorf("%q is not a plain value", clip(string(data)))
	}
	return string(data), nil
}

// absent reports whether a scalar stands for no value.
func absent(text string) bool {
	switch text {
	case "", "null", "NaN", "Infinity", "-Infinity", "+Infinity", "INF", "-INF":
		return true
	}
	return false
}

func clip(text string) string { return text[:min(len(text), 64)] }

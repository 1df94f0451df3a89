package workload

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// decoder reads one line of heddle's format strictly: it knows every key, and
// where on the line it is.
type decoder struct {
	src   *lines
	line  []byte
	json  *json.Decoder
	ids   map[JobID]int     // of the jobs before
	words map[string]string // strings seen before, so that a name is kept once
	// where, if it is not nil, gets the column of every value by its path; path
	// is that of the value being read.
	where map[string]int
	path  string
}

func newDecoder(src *lines, line []byte, ids map[JobID]int, words map[string]string) *decoder {
	d := &decoder{src: src, line: line, json: json.NewDecoder(bytes.NewReader(line)), ids: ids, words: words}
	d.json.UseNumber()
	return d
}

// keys are the keys of an object.
type keys struct{ required, optional []string }

// start returns the column at which the next value starts.
func (d *decoder) start() int {
	at := int(d.json.InputOffset())
	for at < len(d.line) && strings.IndexByte(" \t\r\n,:", d.line[at]) >= 0 {
		at++
	}
	return at + 1
}

// column returns where the value of a path starts, or the nearest one around it.
func (d *decoder) column(path string) int {
	for path != "" {
		if at, ok := d.where[path]; ok {
			return at
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
	return 1
}

// whole reads one value and wants nothing behind it.
func (d *decoder) whole(value func() error) error {
	if !utf8.Valid(d.line) {
		good := len(d.line) - len(bytes.TrimLeftFunc(d.line, func(r rune) bool { return r != utf8.RuneError }))
		return d.src.fail(good+1, ReasonSyntax, "not UTF-8")
	}
	if err := value(); err != nil {
		return err
	}
	at := d.start()
	if _, err := d.json.Token(); !errors.Is(err, io.EOF) {
		return d.src.fail(at, ReasonSyntax, "something follows the object; one object a line")
	}
	return nil
}

// token returns the next token and the column where it starts.
func (d *decoder) token() (json.Token, int, error) {
	at := d.start()
	t, err := d.json.Token()
	var syntax *json.SyntaxError
	switch {
	case err == nil:
		return t, at, nil
	case errors.As(err, &syntax):
		return nil, at, d.src.fail(max(at, min(int(syntax.Offset), len(d.line))), ReasonSyntax, "no JSON: %w", err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, at, d.src.fail(len(d.line)+1, ReasonSyntax, "the line ends within an object")
	}
	return nil, at, d.src.fail(at, ReasonSyntax, "no JSON: %w", err)
}

// open reads the token that starts an object or a list.
func (d *decoder) open(want json.Delim, what string) (int, error) {
	t, at, err := d.token()
	if err == nil && t != want {
		err = d.src.fail(at, ReasonSyntax, "want %s, is %v", what, show(t))
	}
	return at, err
}

// object reads an object and calls field with every key; field reads the value.
func (d *decoder) object(known keys, field func(key string) error) error {
	begin, err := d.open('{', "an object")
	if err != nil {
		return err
	}
	var seen []string
	for d.json.More() {
		t, at, err := d.token()
		if err != nil {
			return err
		}
		key, _ := t.(string) // a key is a string, or token would have failed
		switch {
		case slices.Contains(seen, key):
			return d.src.fail(at, ReasonKey, "key %q is there twice", key)
		case !slices.Contains(known.required, key) && !slices.Contains(known.optional, key):
			return d.src.fail(at, ReasonKey, "unknown key %q; known here: %s", key,
				strings.Join(slices.Concat(known.required, known.optional), ", "))
		}
		seen = append(seen, key)
		if err := d.within("."+key, func() error { return field(key) }); err != nil {
			return err
		}
	}
	if _, _, err := d.token(); err != nil { // the end of the object
		return err
	}
	for _, key := range known.required {
		if !slices.Contains(seen, key) {
			return d.src.fail(begin, ReasonMissing, "key %q is missing", key)
		}
	}
	return nil
}

// list reads a list and calls item for every element; item reads it.
func (d *decoder) list(item func(i int) error) error {
	if _, err := d.open('[', "a list"); err != nil {
		return err
	}
	for i := 0; d.json.More(); i++ {
		if err := d.within("["+strconv.Itoa(i)+"]", func() error { return item(i) }); err != nil {
			return err
		}
	}
	_, _, err := d.token() // the end of the list
	return err
}

// within reads a value below the current one and notes where it is.
func (d *decoder) within(step string, value func() error) error {
	if d.where == nil {
		return value()
	}
	outer := d.path
	d.path = strings.TrimPrefix(outer+step, ".")
	d.where[d.path] = d.start()
	err := value()
	d.path = outer
	return err
}

// text reads a string.
func (d *decoder) text(to *string) error {
	t, at, err := d.token()
	if err != nil {
		return err
	}
	s, ok := t.(string)
	if !ok {
		return d.src.fail(at, ReasonSyntax, "want a string, is %v", show(t))
	}
	*to = s
	return nil
}

// word reads a string that many records repeat.
func (d *decoder) word(to *string) error {
	var s string
	if err := d.text(&s); err != nil {
		return err
	}
	known, ok := d.words[s]
	if !ok {
		known = s
		d.words[s] = s
	}
	*to = known
	return nil
}

// integer reads a whole number.
func (d *decoder) integer(to *int64) error {
	t, at, err := d.token()
	if err != nil {
		return err
	}
	n, ok := t.(json.Number)
	if !ok {
		return d.src.fail(at, ReasonNumber, "want a whole number, is %v", show(t))
	}
	v, err := strconv.ParseInt(n.String(), 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return d.src.fail(at, ReasonRange, "%s does not fit into 64 bits", n)
	case err != nil:
		return d.src.fail(at, ReasonNumber, "want a whole number, is %s", n)
	}
	*to = v
	return nil
}

// number reads a number.
func (d *decoder) number(to *float64) error {
	t, at, err := d.token()
	if err != nil {
		return err
	}
	n, ok := t.(json.Number)
	if !ok {
		return d.src.fail(at, ReasonNumber, "want a number, is %v", show(t))
	}
	if *to, err = strconv.ParseFloat(n.String(), 64); err != nil {
		return d.src.fail(at, ReasonRange, "%s is too large", n)
	}
	return nil
}

// show prints a token for an error.
func show(t json.Token) string {
	switch t := t.(type) {
	case nil:
		return "null"
	case string:
		return strconv.Quote(t)
	}
	return fmt.Sprint(t)
}

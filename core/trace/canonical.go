package trace

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"

	"heddle/core/model"
)

// canonical decodes what a Writer writes: objects with their keys in the order of their
// fields, no white space, no null but for a list, and no string with an escape or a byte beyond ASCII.
// It goes over the text once, where encoding/json goes over it several times. Of anything
// else it says no, and encoding/json decides: FuzzCanonical holds the two equal.
type canonical struct {
	data     []byte
	at       int
	names    []string         // strings seen lately, each at its hash: a recording has few of them, again and again
	forms    map[string]*form // of facts, by kind
	decision *form
}

// mostNames and longestName bound the strings that are kept: names, and no texts of errors.
const (
	mostNames   = 1 << 14
	longestName = 256
)

// record decodes an observation or a decision.
func (c *canonical) record(line []byte) (Record, bool) {
	c.data, c.at = line, 0
	var rec Record
	var seq, at int64
	var kind string
	if !c.literal(`{"seq":`) || !c.integer(&seq) || seq < 0 || !c.literal(`,"t_ms":`) || !c.integer(&at) ||
		!c.literal(`,"kind":`) || !c.text(&kind) || !c.literal(`,"body":`) {
		return rec, false
	}
	rec.Seq, rec.At = uint64(seq), model.Time(at)
	ok := false
	switch Kind(kind) {
	case KindObservation:
		rec.Observation, ok = c.observation()
	case KindDecision:
		if c.decision == nil {
			c.decision = newForm(reflect.TypeFor[model.Decision]())
		}
		rec.Decision = new(model.Decision)
		ok = c.decision != nil && c.value(reflect.ValueOf(rec.Decision).Elem(), c.decision) && checkDecision(rec.Decision) == nil
	case KindMark:
	}
	return rec, ok && c.literal(`}`) && c.at == len(c.data)
}

// observation decodes the body of one.
func (c *canonical) observation() (*model.Observation, bool) {
	var source, kind string
	var read int64
	if !c.literal(`{"source":`) || !c.text(&source) || !c.literal(`,"at_ms":`) || !c.integer(&read) ||
		!c.literal(`,"fact":`) || !c.text(&kind) || !c.literal(`,"body":`) {
		return nil, false
	}
	form := c.formOf(kind)
	if form == nil {
		return nil, false
	}
	fact := reflect.New(form.typ).Elem()
	if !c.value(fact, form) {
		return nil, false
	}
	o := &model.Observation{Source: model.Source(source), At: model.Time(read)}
	var ok bool
	o.Fact, ok = reflect.TypeAssert[model.Fact](fact)
	return o, ok && c.literal(`}`)
}

// literal reads a text that has to be there.
func (c *canonical) literal(text string) bool {
	if len(c.data)-c.at < len(text) || string(c.data[c.at:c.at+len(text)]) != text {
		return false
	}
	c.at += len(text)
	return true
}

// peek returns the next byte, 0 at the end.
func (c *canonical) peek() byte {
	if c.at < len(c.data) {
		return c.data[c.at]
	}
	return 0
}

// integer reads a whole number of at most 18 digits.
func (c *canonical) integer(to *int64) bool {
	negative := c.peek() == '-'
	if negative {
		c.at++
	}
	from, n := c.at, int64(0)
	for c.at < len(c.data) && c.data[c.at] >= '0' && c.data[c.at] <= '9' {
		n = 10*n + int64(c.data[c.at]-'0')
		c.at++
	}
	digits := c.at - from
	if digits == 0 || digits > 18 || digits > 1 && c.data[from] == '0' || negative && n == 0 {
		return false
	}
	if next := c.peek(); next == '.' || next == 'e' || next == 'E' {
		return false
	}
	if *to = n; negative {
		*to = -n
	}
	return true
}

// number reads a number.
func (c *canonical) number(to *float64) bool {
	from := c.at
	if c.peek() == '-' {
		c.at++
	}
	whole := c.digits()
	if whole == 0 || whole > 1 && c.data[c.at-whole] == '0' {
		return false
	}
	if c.peek() == '.' {
		c.at++
		if c.digits() == 0 {
			return false
		}
	}
	if next := c.peek(); next == 'e' || next == 'E' {
		c.at++
		if next := c.peek(); next == '+' || next == '-' {
			c.at++
		}
		if c.digits() == 0 {
			return false
		}
	}
	var err error
	*to, err = strconv.ParseFloat(string(c.data[from:c.at]), 64)
	return err == nil
}

// digits reads digits and returns how many.
func (c *canonical) digits() int {
	from := c.at
	for c.at < len(c.data) && c.data[c.at] >= '0' && c.data[c.at] <= '9' {
		c.at++
	}
	return c.at - from
}

// raw reads a string of printable ASCII without escapes, and returns it without its quotes.
func (c *canonical) raw() ([]byte, bool) {
	if c.peek() != '"' {
		return nil, false
	}
	from := c.at + 1
	for i := from; i < len(c.data); i++ {
		switch b := c.data[i]; {
		case b == '"':
			c.at = i + 1
			return c.data[from:i], true
		case b < ' ' || b == '\\' || b >= 0x80:
			return nil, false
		}
	}
	return nil, false
}

func (c *canonical) text(to *string) bool {
	raw, ok := c.raw()
	if !ok {
		return false
	}
	if len(raw) > longestName {
		*to = string(raw)
		return true
	}
	if c.names == nil {
		c.names = make([]string, mostNames)
	}
	known := &c.names[placeOf(raw)]
	if *known != string(raw) {
		*known = string(raw)
	}
	*to = *known
	return true
}

// placeOf returns where a name is kept. All of it counts: hosts may have their domain in common, and containers their number.
func placeOf(name []byte) uint32 {
	h := uint32(2166136261)
	for _, b := range name {
		h = (h ^ uint32(b)) * 16777619 // FNV-1a
	}
	return (h ^ h>>16) % mostNames
}

// form says how a type is decoded.
type form struct {
	typ    reflect.Type
	kind   reflect.Kind
	fields []field
	of     *form // of a slice or a pointer
}

type field struct {
	key   string
	index int
	form  *form
}

// formOf returns the form of a kind of facts, made when it is met first; nil for one without.
func (c *canonical) formOf(kind string) *form {
	f, ok := c.forms[kind]
	if ok {
		return f
	}
	for _, fact := range model.Facts() {
		if fact.Kind() == kind {
			f = newForm(reflect.TypeOf(fact))
		}
	}
	if f != nil { // else anybody could fill the map
		if c.forms == nil {
			c.forms = map[string]*form{}
		}
		c.forms[kind] = f
	}
	return f
}

// newForm returns the form of a type, nil for one that only encoding/json decodes.
func newForm(t reflect.Type) *form {
	decoders := []reflect.Type{reflect.TypeFor[json.Unmarshaler](), reflect.TypeFor[encoding.TextUnmarshaler]()}
	for _, d := range decoders {
		if t.Implements(d) || reflect.PointerTo(t).Implements(d) {
			return nil
		}
	}
	f := &form{typ: t, kind: t.Kind()}
	switch t.Kind() {
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int64, reflect.Uint8, reflect.Uint64, reflect.Float64:
	case reflect.Slice, reflect.Pointer:
		if f.of = newForm(t.Elem()); f.of == nil || t.Elem().Kind() == reflect.Uint8 {
			return nil
		}
	case reflect.Struct:
		for sf := range t.Fields() {
			key, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
			of := newForm(sf.Type)
			if of == nil || sf.Anonymous || !sf.IsExported() || key == "" || key == "-" || strings.Contains(sf.Tag.Get("json"), ",string") {
				return nil
			}
			f.fields = append(f.fields, field{key, sf.Index[0], of})
		}
	default:
		return nil
	}
	return f
}

// value reads a value of a form.
func (c *canonical) value(v reflect.Value, f *form) bool {
	switch f.kind {
	case reflect.String:
		var s string
		ok := c.text(&s)
		v.SetString(s)
		return ok
	case reflect.Int, reflect.Int64:
		var n int64
		ok := c.integer(&n)
		v.SetInt(n)
		return ok && !v.OverflowInt(n)
	case reflect.Uint8, reflect.Uint64:
		var n int64
		ok := c.integer(&n) && n >= 0
		v.SetUint(uint64(max(n, 0)))
		return ok && !v.OverflowUint(uint64(max(n, 0)))
	case reflect.Float64:
		var n float64
		ok := c.number(&n)
		v.SetFloat(n)
		return ok
	case reflect.Bool:
		yes := c.literal("true")
		v.SetBool(yes)
		return yes || c.literal("false")
	case reflect.Pointer:
		v.Set(reflect.New(f.of.typ))
		return c.value(v.Elem(), f.of)
	case reflect.Slice:
		return c.list(v, f.of)
	default:
		return c.object(v, f.fields)
	}
}

// list reads a list.
func (c *canonical) list(v reflect.Value, of *form) bool {
	if c.literal("null") {
		return true
	}
	if !c.literal("[") {
		return false
	}
	if c.literal("]") {
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		return true
	}
	for n := 0; ; n++ {
		if n == v.Cap() {
			v.Grow(max(n, 4))
		}
		v.SetLen(n + 1)
		if !c.value(v.Index(n), of) {
			return false
		}
		if !c.literal(",") {
			return c.literal("]")
		}
	}
}

// object reads an object whose keys come in the order of the fields; some may lack.
func (c *canonical) object(v reflect.Value, fields []field) bool {
	if !c.literal("{") {
		return false
	}
	if c.literal("}") {
		return true
	}
	for next := 0; ; {
		key, ok := c.raw()
		if !ok || !c.literal(":") {
			return false
		}
		for next < len(fields) && fields[next].key != string(key) {
			next++
		}
		if next == len(fields) || !c.value(v.Field(fields[next].index), fields[next].form) {
			return false
		}
		next++
		if !c.literal(",") {
			return c.literal("}")
		}
	}
}

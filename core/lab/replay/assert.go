package replay

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Assertion is a condition on a result:
//
//	nas.cross_rack_bytes.total < 0.9*actual
//
// Each side is a number, a figure, or a number times one of these. A figure is the name
// of a policy, in double quotes if it has other characters than letters, digits, "_", "-"
// and "@", a dot, and the keys of a number in that policy's run of the JSON result.
// "actual" is the recorded counterpart of the other side's figure, "least" the least there
// is. The comparisons are <, <=, > and >=.
type Assertion struct {
	text        string
	left, right operand
	op          string
}

// operand is a factor times a figure, or a number.
type operand struct {
	column int // of its first character, from 1
	factor float64
	figure bool
	policy string
	keys   []string // none of actual and least
}

// The figures that stand for another of the same assertion.
const (
	actual = "actual"
	least  = "least"
)

// SyntaxError says what is wrong with an assertion, and where.
type SyntaxError struct {
	Text   string
	Column int // in characters, from 1
	Reason string
}

// Error implements error.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%q: column %d: %s", e.Text, e.Column, e.Reason)
}

// ParseAssertion reads an assertion. An error is a *SyntaxError.
func ParseAssertion(text string) (*Assertion, error) {
	p := assertionParser{text: text}
	a := &Assertion{text: text}
	var err error
	if a.left, err = p.operand(); err != nil {
		return nil, err
	}
	if a.op, err = p.comparison(); err != nil {
		return nil, err
	}
	if a.right, err = p.operand(); err != nil {
		return nil, err
	}
	p.skipSpace()
	if p.at < len(text) {
		return nil, p.fail("%q after the condition; want nothing", text[p.at:])
	}
	for _, o := range [...]*operand{&a.left, &a.right} {
		if o.figure && len(o.keys) == 0 && (o == &a.left || len(a.left.keys) == 0) {
			return nil, &SyntaxError{text, o.column, fmt.Sprintf("%q needs a figure of a policy before it, such as nas.cross_rack_bytes.total", o.policy)}
		}
	}
	if !a.left.figure && !a.right.figure {
		return nil, &SyntaxError{text, a.left.column, "two numbers: want a figure of a policy, such as nas.cross_rack_bytes.total"}
	}
	return a, nil
}

// assertionParser reads an assertion from left to right.
type assertionParser struct {
	text string
	at   int // in bytes
}

func (p *assertionParser) fail(format string, args ...any) error {
	return &SyntaxError{p.text, p.column(), fmt.Sprintf(format, args...)}
}

func (p *assertionParser) column() int { return utf8.RuneCountInString(p.text[:p.at]) + 1 }

func (p *assertionParser) skipSpace() {
	for p.at < len(p.text) && (p.text[p.at] == ' ' || p.text[p.at] == '\t') {
		p.at++
	}
}

// take returns the characters from here on that a function accepts.
func (p *assertionParser) take(accept func(rune) bool) string {
	rest := p.text[p.at:]
	n := strings.IndexFunc(rest, func(r rune) bool { return !accept(r) })
	if n < 0 {
		n = len(rest)
	}
	p.at += n
	return rest[:n]
}

func (p *assertionParser) operand() (operand, error) {
	p.skipSpace()
	o := operand{column: p.column(), factor: 1}
	if p.at < len(p.text) && strings.ContainsRune("+-.0123456789", rune(p.text[p.at])) {
		before := p.at
		number := p.take(func(r rune) bool { return strings.ContainsRune("+-.0123456789eE", r) })
		value, err := strconv.ParseFloat(number, 64)
		if err != nil {
			p.at = before
			return o, p.fail("%q is no number", number)
		}
		o.factor = value
		p.skipSpace()
		if !strings.HasPrefix(p.text[p.at:], "*") {
			return o, nil
		}
		p.at++
		p.skipSpace()
	}
	return p.figure(o)
}

func nameCharacter(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '-' || r == '@'
}

// figure reads the name of a policy and keys.
func (p *assertionParser) figure(o operand) (operand, error) {
	o.figure = true
	if strings.HasPrefix(p.text[p.at:], `"`) {
		quoted, err := strconv.QuotedPrefix(p.text[p.at:])
		if err == nil {
			o.policy, err = strconv.Unquote(quoted)
		}
		if err != nil {
			return o, p.fail("a name in quotes that does not end")
		}
		p.at += len(quoted)
	} else if o.policy = p.take(nameCharacter); o.policy == "" {
		return o, p.fail("want a number, or a figure such as nas.cross_rack_bytes.total")
	}
	for strings.HasPrefix(p.text[p.at:], ".") {
		p.at++
		key := p.take(nameCharacter)
		if key == "" {
			return o, p.fail("want a key after the dot, such as total")
		}
		o.keys = append(o.keys, key)
	}
	if len(o.keys) == 0 && o.policy != actual && o.policy != least {
		return o, p.fail("want a dot and a key after %q, such as .cross_rack_bytes.total", o.policy)
	}
	return o, nil
}

func (p *assertionParser) comparison() (string, error) {
	p.skipSpace()
	for _, op := range []string{"<=", ">=", "<", ">"} {
		if strings.HasPrefix(p.text[p.at:], op) {
			p.at += len(op)
			return op, nil
		}
	}
	return "", p.fail("want <, <=, > or >=")
}

// Outcome is an assertion with the numbers of a result.
type Outcome struct {
	Assertion string  `json:"assertion"`
	Left      float64 `json:"left"`
	Right     float64 `json:"right"`
	Holds     bool    `json:"holds"`
}

// Evaluate looks the figures of an assertion up in a result. An error is a *SyntaxError.
func (a *Assertion) Evaluate(r *Result) (Outcome, error) {
	out := Outcome{Assertion: a.text}
	var err error
	if out.Left, err = a.value(r, &a.left); err != nil {
		return out, err
	}
	if out.Right, err = a.value(r, &a.right); err != nil {
		return out, err
	}
	switch a.op {
	case "<":
		out.Holds = out.Left < out.Right
	case "<=":
		out.Holds = out.Left <= out.Right
	case ">":
		out.Holds = out.Left > out.Right
	case ">=":
		out.Holds = out.Left >= out.Right
	}
	return out, nil
}

// value is an operand's in a result. Actual and least are those of the left figure.
func (a *Assertion) value(r *Result, o *operand) (float64, error) {
	if !o.figure {
		return o.factor, nil
	}
	policy, keys := o.policy, o.keys
	if len(keys) == 0 {
		policy, keys = a.left.policy, counterpart(a.left.keys, o.policy)
		if keys == nil {
			return 0, &SyntaxError{a.text, o.column, fmt.Sprintf("%s has no counterpart %q: only cross_rack_bytes, busiest_uplink_bytes, locality and uplink_peak_bytes_per_second do", strings.Join(a.left.keys, "."), o.policy)}
		}
	}
	var labels []string
	for i := range r.Runs {
		run := &r.Runs[i]
		if labels = append(labels, run.Policy); run.Policy != policy {
			continue
		}
		v, err := number(run, keys)
		if err != nil {
			return 0, &SyntaxError{a.text, o.column, err.Error()}
		}
		return o.factor * v, nil
	}
	return 0, &SyntaxError{a.text, o.column, fmt.Sprintf("no policy %q: want one of %q", policy, labels)}
}

// counterpart returns the keys of the recorded, or the least, figure of a policy's.
func counterpart(keys []string, of string) []string {
	rest := keys[1:]
	switch key := keys[0]; {
	case key == "cross_rack_bytes" && of == actual:
		return append([]string{"recorded_cross_rack_bytes"}, rest...)
	case key == "cross_rack_bytes":
		return append([]string{"least_cross_rack_bytes"}, rest...)
	case key == "locality" && of == actual:
		return []string{"locality", "recorded"}
	case key == "busiest_uplink_bytes" && of == actual, key == "uplink_peak_bytes_per_second" && of == actual:
		return []string{key, "recorded"}
	case key == "busiest_uplink_bytes":
		return []string{key, least}
	}
	return nil
}

// number returns the number at some keys of the JSON form of a run.
func number(run *PolicyRun, keys []string) (float64, error) {
	data, err := json.Marshal(run)
	if err != nil {
		return 0, err
	}
	var at any
	if err := json.Unmarshal(data, &at); err != nil {
		return 0, err
	}
	for i, key := range keys {
		object, ok := at.(map[string]any)
		if !ok {
			return 0, fmt.Errorf("%s is a number, and has no %q", strings.Join(keys[:i], "."), key)
		}
		if at, ok = object[key]; !ok {
			return 0, fmt.Errorf("no figure %s", strings.Join(keys[:i+1], "."))
		}
	}
	v, ok := at.(float64)
	if !ok {
		return 0, fmt.Errorf("%s is no number: add a key of it", strings.Join(keys, "."))
	}
	return v, nil
}

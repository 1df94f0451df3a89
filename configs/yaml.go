package configs

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

const (
	// Bounds of a configuration file. The library's parser takes time quadratic in
	// the number of keys and in the depth of brackets; within these it is a second.
	maxFileBytes = 256 << 10
	maxTokens    = 10_000
	maxBrackets  = 64
	// maxListed bounds how many keys a problem lists as known.
	maxListed = 16
	// maxParamDepth bounds how deep a policy's parameters nest.
	maxParamDepth = 16
)

// parseYAML parses one document and returns its top node, nil when it is empty.
func parseYAML(data []byte) (ast.Node, error) {
	if len(data) > maxFileBytes {
		return nil, fmt.Errorf("the file has more than %d bytes", maxFileBytes)
	}
	tokens := lexer.Tokenize(string(data))
	if err := bounded(tokens); err != nil {
		return nil, err
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, err
	}
	var node ast.Node
	for _, doc := range file.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.CommentType || doc.Body.Type() == ast.CommentGroupType {
			continue
		}
		if node != nil {
			return nil, errors.New("the file holds more than one YAML document")
		}
		node = doc.Body
	}
	return node, nil
}

// bounded refuses a text that is too long or nests too deep to be parsed.
func bounded(tokens token.Tokens) error {
	if len(tokens) > maxTokens {
		return fmt.Errorf("the file has more than %d words and signs", maxTokens)
	}
	depth := 0
	for _, t := range tokens {
		switch t.Type { //nolint:exhaustive // only brackets count
		case token.SequenceStartType, token.MappingStartType:
			depth++
		case token.SequenceEndType, token.MappingEndType:
			depth--
		}
		if depth > maxBrackets {
			return &yaml.SyntaxError{Message: fmt.Sprintf("brackets nest deeper than %d levels", maxBrackets), Token: t}
		}
	}
	return nil
}

// yamlError splits an error of the YAML library into line and message; line is
// 0 when it names none.
func yamlError(err error) (line int, message string) {
	if positioned, ok := errors.AsType[yaml.Error](err); ok {
		if tk := positioned.GetToken(); tk != nil && tk.Position != nil {
			line = tk.Position.Line
		}
		return line, positioned.GetMessage()
	}
	return 0, err.Error()
}

// nodeLine returns the line a node starts in, 0 when it has none.
func nodeLine(n ast.Node) int {
	if n == nil {
		return 0
	}
	if tk := n.GetToken(); tk != nil && tk.Position != nil {
		return tk.Position.Line
	}
	return 0
}

// sink receives what a YAML tree says, one call per key.
type sink struct {
	section func(path string, line int)
	value   func(path string, line int, set func(reflect.Value) error)
	problem func(path string, line int, message string)
}

// walkYAML reads the mapping n into the fields of type t, reporting everything
// that is wrong on the way.
func walkYAML(n ast.Node, t reflect.Type, prefix string, out sink) {
	entries, ok := mapEntries(n)
	if !ok {
		out.problem(strings.TrimSuffix(prefix, "."), nodeLine(n), "want keys and values here, found "+describe(n))
		return
	}
	known := map[string]reflect.Type{}
	for f := range t.Fields() {
		known[f.Tag.Get("yaml")] = f.Type
	}
	seen := map[string]int{}
	for _, e := range entries {
		path := prefix + e.key
		ft, ok := known[e.key]
		switch {
		case e.err != nil:
			out.problem(path, e.line, e.err.Error())
		case !ok:
			out.problem(path, e.line, unknownKey(e.key, slices.Sorted(maps.Keys(known))))
		case seen[e.key] > 0:
			out.problem(path, e.line, fmt.Sprintf("given twice, first in line %d", seen[e.key]))
		case ft.Kind() == reflect.Struct:
			out.section(path, e.line)
			if e.value.Type() != ast.NullType { // a section may be there with all its keys commented out
				walkYAML(e.value, ft, path+".", out)
			}
		case ft == reflect.TypeFor[map[string]Rate]():
			walkRates(e.value, path, e.line, out)
		case isRows(ft):
			walkRows(e.value, ft, entry{key: path, line: e.line}, out)
		case ft == reflect.TypeFor[Params]():
			params, _ := mapEntries(e.value)
			for _, p := range params {
				out.section(path+"."+p.key, p.line)
			}
			fallthrough
		default:
			out.value(path, e.line, func(v reflect.Value) error { return setNode(v, e.value) })
		}
		seen[e.key] = e.line
	}
}

// walkRates reads a map of rates, reporting each bad entry by itself.
func walkRates(n ast.Node, path string, line int, out sink) {
	entries, ok := mapEntries(n)
	if !ok {
		out.problem(path, line, "want a map of names and rates, such as {/rack1: 10Gbps}, found "+describe(n))
		return
	}
	rates := make(map[string]Rate, len(entries))
	bad := false
	for _, e := range entries {
		var r Rate
		err := e.err
		if err == nil {
			if _, dup := rates[e.key]; dup {
				err = errors.New("given twice")
			} else {
				err = setNode(reflect.ValueOf(&r).Elem(), e.value)
			}
		}
		if err != nil {
			out.problem(path+"."+e.key, e.line, err.Error())
			bad = true
			continue
		}
		out.section(path+"."+e.key, e.line)
		rates[e.key] = r
	}
	if len(rates) == 0 {
		rates = nil
	}
	if !bad {
		out.value(path, line, func(v reflect.Value) error { v.Set(reflect.ValueOf(rates)); return nil })
	}
}

type entry struct {
	key   string
	value ast.Node
	line  int
	err   error // of the key, or of a value no key can have
}

// mapEntries returns the entries of a mapping in the file's order, and false
// for any other node.
func mapEntries(n ast.Node) ([]entry, bool) {
	m, ok := n.(ast.MapNode)
	if !ok {
		return nil, false
	}
	if _, ok := n.(*ast.AliasNode); ok { // anchors and aliases are maps to the library, not here
		return nil, false
	}
	if _, ok := n.(*ast.AnchorNode); ok {
		return nil, false
	}
	var entries []entry
	for it := m.MapRange(); it.Next(); {
		e := entry{value: it.Value(), line: nodeLine(it.Key())}
		e.key, e.err = keyText(it.Key())
		if e.err == nil {
			e.err = supported(e.value)
		}
		entries = append(entries, e)
	}
	return entries, true
}

// keyText returns the text of a mapping's key.
func keyText(k ast.MapKeyNode) (string, error) {
	if k.IsMergeKey() {
		return "<<", errors.New("merge keys are not supported; write the keys out")
	}
	switch n := k.(type) {
	case *ast.StringNode:
		return n.Value, nil
	case ast.ScalarNode:
		return n.GetToken().Value, nil
	}
	return k.String(), errors.New("want a plain name as the key")
}

// supported refuses the parts of YAML that a configuration does without:
// anchors, aliases and tags.
func supported(n ast.Node) error {
	if n == nil {
		return errors.New("has no value")
	}
	switch n.Type() { //nolint:exhaustive // these kinds are refused, all others are not
	case ast.AnchorType, ast.AliasType, ast.TagType:
		return errors.New("anchors, aliases and tags are not supported; write the value out")
	}
	return nil
}

// setNode reads a leaf from a node.
func setNode(v reflect.Value, n ast.Node) error {
	switch v.Interface().(type) {
	case []string, []int:
		return setList(v, n)
	case Params:
		p, err := paramMap(n, 0)
		if err == nil && len(p) > 0 {
			v.Set(reflect.ValueOf(Params(p)))
		}
		return err
	}
	text, err := scalarText(n)
	if err != nil {
		return err
	}
	return setScalar(v, text)
}

// setFlow reads a map leaf, or a list of rows, from YAML's flow form.
func setFlow(v reflect.Value, text string) error {
	n, err := parseYAML([]byte(text))
	if err != nil {
		_, message := yamlError(err)
		return errors.New(message)
	}
	if n == nil {
		return errors.New("want a map, such as {key: value}, or a list of them, found nothing")
	}
	if v.Type() == reflect.TypeFor[Params]() {
		return setNode(v, n)
	}
	var errs []error
	out := sink{
		section: func(string, int) {},
		value: func(_ string, _ int, set func(reflect.Value) error) {
			if err := set(v); err != nil {
				errs = append(errs, err)
			}
		},
		problem: func(path string, _ int, message string) {
			errs = append(errs, errors.New(strings.TrimPrefix(strings.TrimPrefix(path, ".")+": ", ": ")+message))
		},
	}
	if isRows(v.Type()) {
		walkRows(n, v.Type(), entry{}, out)
	} else {
		walkRates(n, "", 0, out)
	}
	return errors.Join(errs...)
}

// scalarText returns a scalar as it was written.
func scalarText(n ast.Node) (string, error) {
	if err := supported(n); err != nil {
		return "", err
	}
	switch s := n.(type) {
	case *ast.StringNode:
		return s.Value, nil
	case *ast.LiteralNode:
		return s.Value.Value, nil
	case *ast.NullNode:
		return "", errors.New("has no value; give one or delete the key")
	case ast.ScalarNode:
		return s.GetToken().Value, nil
	}
	return "", errors.New("want a single value, found " + describe(n))
}

// paramMap reads a mapping of a policy's parameters.
func paramMap(n ast.Node, depth int) (map[string]any, error) {
	entries, ok := mapEntries(n)
	if !ok {
		return nil, errors.New("want keys and values, found " + describe(n))
	}
	m := make(map[string]any, len(entries))
	for _, e := range entries {
		if e.err != nil {
			return nil, fmt.Errorf("%s: %w", e.key, e.err)
		}
		if _, dup := m[e.key]; dup {
			return nil, fmt.Errorf("%s: given twice", e.key)
		}
		v, err := paramValue(e.value, depth+1)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.key, err)
		}
		m[e.key] = v
	}
	return m, nil
}

// paramValue reads a value of a policy's parameters as JSON would hold it.
func paramValue(n ast.Node, depth int) (any, error) {
	if depth > maxParamDepth {
		return nil, fmt.Errorf("nested deeper than %d levels", maxParamDepth)
	}
	if err := supported(n); err != nil {
		return nil, err
	}
	switch s := n.(type) {
	case *ast.NullNode:
		return nil, nil //nolint:nilnil // YAML's null is a value
	case *ast.BoolNode:
		return s.Value, nil
	case *ast.IntegerNode:
		return json.Number(fmt.Sprint(s.Value)), nil
	case *ast.FloatNode:
		b, err := json.Marshal(s.Value)
		return json.Number(b), err
	case *ast.SequenceNode:
		list := make([]any, 0, len(s.Values))
		for _, e := range s.Values {
			v, err := paramValue(e, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	case ast.MapNode:
		return paramMap(n, depth)
	case *ast.InfinityNode, *ast.NanNode:
		return nil, errors.New("want a finite number")
	case *ast.StringNode:
		if s.GetToken().Type == token.StringType && isNumber(s.Value) { // the library knows no "3e10"
			return json.Number(s.Value), nil
		}
	}
	return scalarText(n)
}

// isNumber reports whether text is a number as JSON writes it.
func isNumber(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil && json.Valid([]byte(text))
}

// describe names what a node is.
func describe(n ast.Node) string {
	if n == nil {
		return "nothing"
	}
	switch n.Type() { //nolint:exhaustive // every other kind is a single value
	case ast.MappingType, ast.MappingValueType:
		return "keys and values"
	case ast.SequenceType:
		return "a list"
	case ast.NullType:
		return "nothing"
	case ast.AnchorType, ast.AliasType, ast.TagType:
		return "an anchor, alias or tag, which are not supported"
	}
	return "a single value"
}

// unknownKey says what is wrong with a key, without repeating its value: it
// may be a secret.
func unknownKey(key string, known []string) string {
	lower := strings.ToLower(key)
	for _, word := range []string{"password", "passwd", "secret", "token", "credential"} {
		if strings.Contains(lower, word) {
			return "secrets are not accepted in the configuration; put it in a file and give the file's path (security.keytab, security.ccache, --web.config.file)"
		}
	}
	best, distance := "", 3
	for _, k := range known {
		if d := editDistance(lower, strings.ToLower(k)); d < distance {
			best, distance = k, d
		}
	}
	if best != "" {
		return fmt.Sprintf("unknown key; did you mean %s?", best)
	}
	if len(known) > maxListed {
		return "unknown key"
	}
	return "unknown key; known here: " + strings.Join(known, ", ")
}

// editDistance counts the insertions, deletions and replacements that turn a into b.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}

package strict

import (
	"encoding/json"
	"errors"
	"fmt"
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

// Bounds of a configuration file. The library's parser takes time quadratic in
// the number of keys and in the depth of brackets; within these it is a second.
const (
	maxFileBytes  = 256 << 10
	maxTokens     = 10_000
	maxBrackets   = 64
	maxParamDepth = 16 // of a policy's parameters
)

// parseYAML parses one document and returns its top node, nil when it is empty.
func parseYAML(data []byte) (ast.Node, error) {
	if len(data) > maxFileBytes {
		return nil, fmt.Errorf("the file has more than %d bytes", maxFileBytes)
	}
	tokens := lexer.Tokenize(string(data))
	if err := checkBounds(tokens); err != nil {
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

// checkBounds refuses a text that is too long or nests too deep to be parsed.
func checkBounds(tokens token.Tokens) error {
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
	if located, ok := errors.AsType[yaml.Error](err); ok {
		return tokenLine(located.GetToken()), located.GetMessage()
	}
	return 0, err.Error()
}

func tokenLine(t *token.Token) int {
	if t == nil || t.Position == nil {
		return 0
	}
	return t.Position.Line
}

// nodeReader reads the nodes of a file into values.
type nodeReader struct {
	file     string
	origins  map[string]Origin // of sections, keys, rows and entries, by path
	problems Problems
	hints    *Hints
}

func (r *nodeReader) recordOrigin(path string, line int) { r.origins[path] = r.originAt(line) }

func (r *nodeReader) originAt(line int) Origin {
	return Origin{Layer: LayerFile, File: r.file, Line: line}
}

func (r *nodeReader) problem(path string, line int, message string) {
	r.problems = append(r.problems, &Problem{Path: path, Origin: r.originAt(line), Message: message})
}

// section reads a section of a struct from a mapping. keys are those of the
// whole struct, base is the path of the struct. set is called for each key
// with its value.
func (r *nodeReader) section(n ast.Node, base, section string, keys []Key, set func(k Key, from Origin, v reflect.Value)) {
	entries, ok := entriesOf(n)
	if !ok {
		r.problem(Join(base, section), nodeLine(n), "want keys and values here, found "+describe(n))
		return
	}
	lines := map[string]int{} // of the names so far
	for _, e := range entries {
		name := Join(section, e.name)
		path := Join(base, name)
		i := slices.IndexFunc(keys, func(k Key) bool { return k.Path == name })
		below := name + "."
		isSection := slices.ContainsFunc(keys, func(k Key) bool { return strings.HasPrefix(k.Path, below) })
		switch {
		case e.err != nil:
			r.problem(path, e.line, e.err.Error())
		case strings.Contains(e.name, "."):
			r.problem(path, e.line, "unknown key; sections are nested, not written with dots")
		case i < 0 && !isSection:
			r.problem(path, e.line, r.hints.unknownKey(name, keys, func(path string) string { return path }))
		case lines[e.name] > 0:
			r.problem(path, e.line, fmt.Sprintf("given twice, first in line %d", lines[e.name]))
		case i >= 0:
			r.recordOrigin(path, e.line)
			if v, ok := r.value(e.node, path, e.line, keys[i].Field.Type()); ok {
				set(keys[i], r.originAt(e.line), v)
			}
		default:
			r.recordOrigin(path, e.line)
			if e.node.Type() != ast.NullType { // a section may be there with all its keys commented out
				r.section(e.node, base, name, keys, set)
			}
		}
		lines[e.name] = e.line
	}
}

// Join returns the path of a name in a section, which is "" at the top.
func Join(section, name string) string {
	if section == "" || name == "" {
		return section + name
	}
	return section + "." + name
}

// value reads a key's value, and returns false when it has reported a problem.
func (r *nodeReader) value(n ast.Node, path string, line int, t reflect.Type) (reflect.Value, bool) {
	v := reflect.New(t).Elem()
	before := len(r.problems)
	var err error
	switch {
	case t == reflect.TypeFor[map[string]Rate]():
		err = r.rates(n, path, v)
	case t == reflect.TypeFor[Params]():
		err = r.params(n, path, v)
	case IsRows(t):
		err = r.rows(n, path, v)
	case t.Kind() == reflect.Slice:
		err = setList(v, n)
	default:
		err = setNode(v, n)
	}
	if err != nil {
		r.problem(path, line, err.Error())
	}
	return v, len(r.problems) == before
}

// rates reads a map of rates and reports each bad entry by itself.
func (r *nodeReader) rates(n ast.Node, path string, v reflect.Value) error {
	entries, ok := entriesOf(n)
	if !ok {
		return errors.New("want a map of names and rates, such as {/rack1: 10Gbps}, found " + describe(n))
	}
	rates := map[string]Rate{}
	for _, e := range entries {
		at := path + "." + e.name
		var rate Rate
		if _, twice := rates[e.name]; twice && e.err == nil {
			e.err = errors.New("given twice")
		}
		if e.err == nil {
			e.err = setNode(reflect.ValueOf(&rate).Elem(), e.node)
		}
		if e.err != nil {
			r.problem(at, e.line, e.err.Error())
			continue
		}
		r.recordOrigin(at, e.line)
		rates[e.name] = rate
	}
	if len(rates) > 0 { // an empty map is none at all
		v.Set(reflect.ValueOf(rates))
	}
	return nil
}

// rows reads a list of rows and reports every problem of every row by itself,
// as of relay.listeners[1].upstream.
func (r *nodeReader) rows(n ast.Node, path string, v reflect.Value) error {
	list, ok := n.(*ast.SequenceNode)
	if !ok {
		return errors.New("want a list of keys and values, found " + describe(n))
	}
	rows := reflect.MakeSlice(v.Type(), len(list.Values), len(list.Values))
	for i, e := range list.Values {
		at := RowPath(path, i)
		r.recordOrigin(at, nodeLine(e))
		r.section(e, at, "", appendKeys(nil, "", rows.Index(i), false), func(k Key, _ Origin, v reflect.Value) { k.Field.Set(v) })
	}
	if rows.Len() > 0 { // an empty list is none at all
		v.Set(rows)
	}
	return nil
}

// params reads a policy's parameters.
func (r *nodeReader) params(n ast.Node, path string, v reflect.Value) error {
	entries, _ := entriesOf(n)
	for _, e := range entries {
		r.recordOrigin(path+"."+e.name, e.line)
	}
	params, err := paramMap(n, 0)
	if len(params) > 0 {
		v.Set(reflect.ValueOf(Params(params)))
	}
	return err
}

// setList reads a list of single values.
func setList(v reflect.Value, n ast.Node) error {
	list, ok := n.(*ast.SequenceNode)
	if !ok {
		return errors.New("want a list, found " + describe(n))
	}
	items := reflect.MakeSlice(v.Type(), len(list.Values), len(list.Values))
	for i, e := range list.Values {
		if err := setNode(items.Index(i), e); err != nil {
			return err
		}
	}
	if items.Len() > 0 { // an empty list is none at all
		v.Set(items)
	}
	return nil
}

// setNode reads a single value.
func setNode(v reflect.Value, n ast.Node) error {
	text, err := scalarText(n)
	if err != nil {
		return err
	}
	return setScalar(v, text)
}

// entry is one entry of a mapping.
type entry struct {
	name string
	node ast.Node
	line int
	err  error // of the name, or of a value that no key can have
}

// entriesOf returns the entries of a mapping in the file's order, and false
// for any other node.
func entriesOf(n ast.Node) ([]entry, bool) {
	m, ok := n.(ast.MapNode)
	if !ok {
		return nil, false
	}
	if checkSupported(n) != nil { // anchors and aliases are maps to the library, not here
		return nil, false
	}
	var entries []entry
	for it := m.MapRange(); it.Next(); {
		e := entry{node: it.Value(), line: nodeLine(it.Key())}
		e.name, e.err = nameText(it.Key())
		if e.err == nil {
			e.err = checkSupported(e.node)
		}
		entries = append(entries, e)
	}
	return entries, true
}

// nodeLine returns the line a node starts in, 0 when it has none.
func nodeLine(n ast.Node) int {
	if n == nil {
		return 0
	}
	return tokenLine(n.GetToken())
}

// nameText returns the text of an entry's name.
func nameText(k ast.MapKeyNode) (string, error) {
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

// checkSupported refuses the parts of YAML that a configuration does without:
// anchors, aliases and tags.
func checkSupported(n ast.Node) error {
	if n == nil {
		return errors.New("has no value")
	}
	switch n.Type() { //nolint:exhaustive // these kinds are refused, all others are not
	case ast.AnchorType, ast.AliasType, ast.TagType:
		return errors.New("anchors, aliases and tags are not supported; write the value out")
	}
	return nil
}

// scalarText returns a scalar as it was written.
func scalarText(n ast.Node) (string, error) {
	if err := checkSupported(n); err != nil {
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
	entries, ok := entriesOf(n)
	if !ok {
		return nil, errors.New("want keys and values, found " + describe(n))
	}
	m := make(map[string]any, len(entries))
	for _, e := range entries {
		if _, twice := m[e.name]; twice && e.err == nil {
			e.err = errors.New("given twice")
		}
		if e.err == nil {
			m[e.name], e.err = paramValue(e.node, depth+1)
		}
		if e.err != nil {
			return nil, fmt.Errorf("%s: %w", e.name, e.err)
		}
	}
	return m, nil
}

// paramValue reads a value of a policy's parameters as JSON would hold it.
func paramValue(n ast.Node, depth int) (any, error) {
	if depth > maxParamDepth {
		return nil, fmt.Errorf("nested deeper than %d levels", maxParamDepth)
	}
	if err := checkSupported(n); err != nil {
		return nil, err
	}
	switch s := n.(type) {
	case *ast.NullNode:
		return nil, nil // YAML's null is a value
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

// describe names the kind of a node.
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

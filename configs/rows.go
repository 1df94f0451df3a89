package configs

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// isRows reports whether a key holds a list of small structs, rows, such as
// relay.listeners.
func isRows(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct
}

// walkRows reads a list of rows, reporting every problem of every row by
// itself, as relay.listeners[1].upstream.
func walkRows(n ast.Node, t reflect.Type, at entry, out sink) {
	path := at.key
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		out.problem(path, at.line, "want a list of keys and values, found "+describe(n))
		return
	}
	bad := false
	problem := func(path string, line int, message string) {
		bad = true
		out.problem(path, line, message)
	}
	rows := reflect.MakeSlice(t, len(seq.Values), len(seq.Values))
	for i, e := range seq.Values {
		row := fmt.Sprintf("%s[%d]", path, i)
		out.section(row, nodeLine(e))
		leaves := map[string]reflect.Value{}
		for _, f := range appendFields(nil, row+".", rows.Index(i)) {
			leaves[f.path] = f.value
		}
		walkYAML(e, t.Elem(), row+".", sink{
			section: out.section,
			problem: problem,
			value: func(path string, line int, set func(reflect.Value) error) {
				out.section(path, line)
				if err := set(leaves[path]); err != nil {
					problem(path, line, err.Error())
				}
			},
		})
	}
	if bad {
		return
	}
	out.value(path, at.line, func(v reflect.Value) error {
		if rows.Len() > 0 { // an empty list is none at all
			v.Set(rows)
		}
		return nil
	})
}

// setList reads a list of single values from a node.
func setList(v reflect.Value, n ast.Node) error {
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		return errors.New("want a list, found " + describe(n))
	}
	list := reflect.MakeSlice(v.Type(), len(seq.Values), len(seq.Values))
	for i, e := range seq.Values {
		text, err := scalarText(e)
		if err != nil {
			return err
		}
		if err := setScalar(list.Index(i), text); err != nil {
			return err
		}
	}
	if list.Len() > 0 { // an empty list is none at all
		v.Set(list)
	}
	return nil
}

// rowsText prints rows in YAML's flow form, leaving out what is empty.
func rowsText(v reflect.Value) string {
	rows := make([]string, v.Len())
	for i := range rows {
		var keys []string
		for _, f := range appendFields(nil, "", v.Index(i)) {
			if f.value.IsZero() {
				continue
			}
			text := plain(textOf(f.value))
			if f.value.Kind() == reflect.Slice {
				text = listText(f.value)
			}
			keys = append(keys, f.path+": "+text)
		}
		rows[i] = "{" + strings.Join(keys, ", ") + "}"
	}
	return "[" + strings.Join(rows, ", ") + "]"
}

// listText prints a list of single values in YAML's flow form.
func listText(v reflect.Value) string {
	items := make([]string, v.Len())
	for i := range items {
		items[i] = plain(fmt.Sprint(v.Index(i).Interface()))
	}
	return "[" + strings.Join(items, ", ") + "]"
}

// plain quotes a text unless it reads back as itself within YAML's flow form.
func plain(text string) string {
	if regexp.MustCompile(`^[A-Za-z0-9/_][A-Za-z0-9/_.:-]*$`).MatchString(text) &&
		!strings.HasSuffix(text, ":") && !strings.EqualFold(text, "null") {
		return text
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\r", `\r`).Replace(text) + `"`
}

package strict

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Params holds a policy's parameters as they were written: maps, lists,
// strings, numbers (json.Number), booleans and nil.
type Params map[string]any

// JSON returns the parameters as a JSON object with sorted keys, "{}" when
// there is none: what a policy's factory is given.
func (p Params) JSON() []byte {
	if len(p) == 0 {
		return []byte("{}")
	}
	b, err := json.Marshal(map[string]any(p))
	if err != nil { // every value came from paramValue, which admits JSON's kinds only
		panic("strict: parameters that are not JSON: " + err.Error())
	}
	return b
}

// advancedPrefix begins the path of a key that is tagged advanced.
const advancedPrefix = "advanced."

// Key is one key of a configuration: a field that holds a value.
type Key struct {
	Path    string        // dotted, as a file nests it
	Field   reflect.Value // can be set
	Tag     reflect.StructTag
	Reloads bool // on SIGHUP
}

// KeysOf lists the keys of the struct that config points to, in the order of
// its fields, with the advanced ones last.
func KeysOf(config any) []Key {
	all := appendKeys(nil, "", reflect.ValueOf(config).Elem(), false)
	isAdvanced := func(k Key) bool { return strings.HasPrefix(k.Path, advancedPrefix) }
	keys := slices.DeleteFunc(slices.Clone(all), isAdvanced)
	return append(keys, slices.DeleteFunc(all, func(k Key) bool { return !isAdvanced(k) })...)
}

func appendKeys(keys []Key, prefix string, section reflect.Value, reloads bool) []Key {
	for i := range section.NumField() {
		f := section.Type().Field(i)
		path := prefix + f.Tag.Get("yaml")
		k := Key{path, section.Field(i), f.Tag, reloads || f.Tag.Get("reload") == "true"}
		switch {
		case f.Anonymous:
			keys = appendKeys(keys, prefix, k.Field, k.Reloads)
		case f.Type.Kind() == reflect.Struct:
			keys = appendKeys(keys, path+".", k.Field, k.Reloads)
		case f.Tag.Get("advanced") == "true":
			k.Path = advancedPrefix + path
			keys = append(keys, k)
		default:
			keys = append(keys, k)
		}
	}
	return keys
}

// SetDefaults sets keys to the defaults of their tags.
func SetDefaults(keys []Key) {
	for _, k := range keys {
		if text, ok := k.Tag.Lookup("default"); ok {
			v, err := parseText(k.Field.Type(), text, &Hints{})
			if err != nil {
				panic("strict: the default of " + k.Path + ": " + err.Error())
			}
			k.Field.Set(v)
		}
	}
}

// RowPath returns the path of the i-th row of a list of rows.
func RowPath(list string, i int) string { return fmt.Sprintf("%s[%d]", list, i) }

// rowKeys lists the keys of every row of k, none when k holds no rows.
func rowKeys(k Key) []Key {
	var keys []Key
	if IsRows(k.Field.Type()) {
		for i := range k.Field.Len() {
			keys = appendKeys(keys, RowPath(k.Path, i)+".", k.Field.Index(i), false)
		}
	}
	return keys
}

// IsRows reports whether a key holds a list of small structs, rows, such as
// relay.listeners.
func IsRows(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct
}

// parent returns the section a key or section is in, "" at the top.
func parent(path string) string { return path[:max(strings.LastIndexByte(path, '.'), 0)] }

// parseText reads a value as the environment and flags give it. Lists are
// separated by commas; maps are YAML's flow form, "{/rack1: 10Gbps}", and so
// are rows, "[{rm: rm1, address: 10.0.0.5:7930}]".
func parseText(t reflect.Type, text string, hints *Hints) (reflect.Value, error) {
	v := reflect.New(t).Elem()
	switch {
	case t == reflect.TypeFor[[]string]():
		if list := splitList(text); len(list) > 0 {
			v.Set(reflect.ValueOf(list))
		}
		return v, nil
	case t.Kind() != reflect.Map && !IsRows(t):
		return v, setScalar(v, text)
	case strings.TrimSpace(text) == "":
		return v, nil
	}
	n, err := parseYAML([]byte(text))
	if err != nil {
		_, message := yamlError(err)
		return v, errors.New(message)
	}
	if n == nil {
		return v, errors.New("want a map, such as {key: value}, or a list of them, found nothing")
	}
	r := nodeReader{origins: map[string]Origin{}, hints: hints}
	v, _ = r.value(n, "", 0, t)
	var errs []error
	for _, p := range r.problems {
		errs = append(errs, &Problem{Path: strings.TrimPrefix(p.Path, "."), Message: p.Message})
	}
	return v, errors.Join(errs...)
}

// setScalar parses text into a field that is neither list nor map.
func setScalar(v reflect.Value, text string) error {
	if u, ok := reflect.TypeAssert[encoding.TextUnmarshaler](v.Addr()); ok {
		return u.UnmarshalText([]byte(text))
	}
	text = strings.TrimSpace(text)
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		if text != "true" && text != "false" {
			return fmt.Errorf("%q: want true or false", text)
		}
		v.SetBool(text == "true")
	case reflect.Int:
		n, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("%q: want a whole number", text)
		}
		v.SetInt(int64(n))
	case reflect.Float64:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || f-f != 0 { // f-f is not 0 for an infinity or NaN
			return fmt.Errorf("%q: want a number", text)
		}
		v.SetFloat(f)
	default:
		return errors.New("want a single value")
	}
	return nil
}

// splitList splits a list at its commas, without empty items.
func splitList(text string) []string {
	var list []string
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			list = append(list, item)
		}
	}
	return list
}

// TextOf prints a value so that parseText reads it back; equal values have
// equal texts.
func TextOf(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case encoding.TextMarshaler:
		b, err := x.MarshalText()
		if err != nil {
			return err.Error()
		}
		return string(b)
	case []string:
		return strings.Join(x, ", ")
	case map[string]Rate:
		items := make([]string, 0, len(x))
		for _, name := range slices.Sorted(maps.Keys(x)) {
			items = append(items, quoted(name)+": "+x[name].String())
		}
		return "{" + strings.Join(items, ", ") + "}"
	case Params:
		return string(x.JSON())
	}
	if !IsRows(v.Type()) {
		return fmt.Sprint(v.Interface())
	}
	if v.Len() == 0 {
		return ""
	}
	rows := make([]string, v.Len())
	for i := range rows {
		rows[i] = rowText(v.Index(i))
	}
	return "[" + strings.Join(rows, ", ") + "]"
}

// rowText prints a row in YAML's flow form, leaving out what is empty.
func rowText(row reflect.Value) string {
	var items []string
	for _, k := range appendKeys(nil, "", row, false) {
		if k.Field.IsZero() {
			continue
		}
		text := quoted(TextOf(k.Field))
		if k.Field.Kind() == reflect.Slice {
			list := make([]string, k.Field.Len())
			for i := range list {
				list[i] = quoted(fmt.Sprint(k.Field.Index(i).Interface()))
			}
			text = "[" + strings.Join(list, ", ") + "]"
		}
		items = append(items, k.Path+": "+text)
	}
	return "{" + strings.Join(items, ", ") + "}"
}

// quoted quotes a text unless it reads back as itself within YAML's flow form.
func quoted(text string) string {
	if regexp.MustCompile(`^[A-Za-z0-9/_][A-Za-z0-9/_.:-]*$`).MatchString(text) &&
		!strings.HasSuffix(text, ":") && !strings.EqualFold(text, "null") {
		return text
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\r", `\r`).Replace(text) + `"`
}

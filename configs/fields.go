package configs

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
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
		panic("configs: parameters that are not JSON: " + err.Error())
	}
	return b
}

// MarshalYAML implements goccy/go-yaml's BytesMarshaler. JSON is YAML.
func (p Params) MarshalYAML() ([]byte, error) { return p.JSON(), nil }

// field is one leaf of the configuration: a key that holds a value.
type field struct {
	path  string
	value reflect.Value
}

// fields lists the leaves of c in the order of the structs. The values refer
// into c and can be set.
func fields(c *Config) []field {
	return appendFields(nil, "", reflect.ValueOf(c).Elem())
}

func appendFields(fs []field, prefix string, v reflect.Value) []field {
	for i := range v.NumField() {
		path := prefix + v.Type().Field(i).Tag.Get("yaml")
		if f := v.Field(i); f.Kind() == reflect.Struct {
			fs = appendFields(fs, path+".", f)
		} else {
			fs = append(fs, field{path, f})
		}
	}
	return fs
}

// setText parses text into a leaf, as the environment and flags give it. Lists
// are separated by commas; maps are YAML's flow form, "{/rack1: 10Gbps}", and so
// are lists of rows, "[{rm: rm1, address: 10.0.0.5:7930}]".
func setText(v reflect.Value, text string) error {
	switch v.Interface().(type) {
	case []string:
		v.Set(reflect.ValueOf(splitList(text)))
		return nil
	case map[string]Rate, Params:
		return setFlow(v, text)
	}
	if isRows(v.Type()) {
		return setFlow(v, text)
	}
	return setScalar(v, text)
}

// setScalar parses text into a leaf that is neither list nor map.
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

// splitList splits a list at its commas, without empty elements.
func splitList(text string) []string {
	var list []string
	for s := range strings.SplitSeq(text, ",") {
		if s = strings.TrimSpace(s); s != "" {
			list = append(list, s)
		}
	}
	return list
}

// textOf prints a leaf; equal values have equal texts.
func textOf(v reflect.Value) string {
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
		var b bytes.Buffer
		for i, k := range slices.Sorted(maps.Keys(x)) {
			if i > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "%s: %s", k, x[k])
		}
		return "{" + b.String() + "}"
	case Params:
		return string(x.JSON())
	}
	if isRows(v.Type()) {
		if v.Len() == 0 {
			return ""
		}
		return rowsText(v)
	}
	return fmt.Sprint(v.Interface())
}

package simulation

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"heddle/core/policy"
	"heddle/core/policy/builtin"
)

// variant is a policy to simulate.
type variant struct {
	name        string
	label       string          // the name, with the parameters in braces where the name alone is not enough
	givenParams json.RawMessage // the parameters that were given, an object
	allParams   json.RawMessage // all of them, defaults included
	build       func() (policy.Policy, error)
}

// parseVariants reads --policies, a list of NAME and NAME{JSON}, and --param,
// which holds for every policy of its name.
func parseVariants(list string, params []string) ([]variant, error) {
	var all []variant
	given := make([]map[string]any, 0, 8)
	for rest, more := list, true; more; {
		p, left, err := nextVariant(rest)
		if err != nil {
			return nil, fmt.Errorf("--policies: %w", err)
		}
		object := map[string]any{}
		if err := json.Unmarshal(p.givenParams, &object); err != nil {
			return nil, fmt.Errorf("--policies: %s%s: %w", p.name, p.givenParams, err)
		}
		all, given = append(all, p), append(given, object)
		rest, more = strings.CutPrefix(left, ",")
	}
	for _, p := range params {
		if err := setParam(all, given, p); err != nil {
			return nil, fmt.Errorf("--param %s: %w", p, err)
		}
	}
	for i := range all {
		if err := all[i].resolve(given[i]); err != nil {
			return nil, fmt.Errorf("--policies: %w", err)
		}
	}
	return all, setLabels(all)
}

// nextVariant cuts NAME or NAME{JSON} from the front of a list; what is left is
// empty or begins with a comma.
func nextVariant(list string) (p variant, left string, err error) {
	end := strings.IndexAny(list+",", ",{")
	p.name, p.givenParams, left = strings.TrimSpace(list[:end]), json.RawMessage("{}"), list[end:]
	if p.name == "" {
		return p, "", errors.New("name at least one, with commas between several; 'heddle policies' lists them")
	}
	if !strings.HasPrefix(left, "{") {
		return p, left, nil
	}
	d := json.NewDecoder(strings.NewReader(left))
	if err := d.Decode(&p.givenParams); err != nil {
		at := len(left)
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			at = int(syntax.Offset)
		}
		return p, "", fmt.Errorf("parameters of %s, at character %d of %s: %w", p.name, at, left, err)
	}
	left = strings.TrimLeft(left[d.InputOffset():], " ")
	if left != "" && left[0] != ',' {
		return p, "", fmt.Errorf("%q after the parameters of %s: want a comma", left, p.name)
	}
	return p, left, nil
}

// setParam puts POLICY.KEY=VALUE among the parameters of every policy of that
// name. KEY is one that 'heddle policies' lists, dots and all; VALUE is JSON, or
// else a text.
func setParam(all []variant, given []map[string]any, param string) error {
	target, value, ok := strings.Cut(param, "=")
	name, key, dotted := strings.Cut(target, ".")
	if !ok || !dotted || name == "" || key == "" {
		return errors.New("want POLICY.KEY=VALUE, such as nas.skips=count")
	}
	if !slices.ContainsFunc(all, func(p variant) bool { return p.name == name }) {
		return fmt.Errorf("%s is not among --policies", name)
	}
	var of any = value
	if json.Valid([]byte(value)) {
		of = json.RawMessage(value)
	}
	for i := range all {
		if all[i].name == name {
			given[i][key] = of
		}
	}
	return nil
}

// resolve looks the policy up and checks its parameters.
func (v *variant) resolve(given map[string]any) error {
	registry := builtin.Registry()
	var err error
	if v.givenParams, err = json.Marshal(given); err != nil {
		return fmt.Errorf("parameters of %s: %w", v.name, err)
	}
	if _, err := registry.New(v.name, v.givenParams); err != nil {
		return err
	}
	e, _ := registry.Lookup(v.name)
	expanded, err := e.Expand(v.givenParams)
	if err != nil {
		return fmt.Errorf("parameters of %s: %w", v.name, err)
	}
	v.build = func() (policy.Policy, error) { return e.New(expanded) }
	full := reflect.New(reflect.TypeOf(e.Params)) // as policy.Build has them
	full.Elem().Set(reflect.ValueOf(e.Params))
	if err := json.Unmarshal(expanded, full.Interface()); err != nil {
		return fmt.Errorf("parameters of %s: %w", v.name, err)
	}
	if v.allParams, err = json.Marshal(full.Elem().Interface()); err != nil {
		return fmt.Errorf("parameters of %s: %w", v.name, err)
	}
	return nil
}

// setLabels names policies for people, none like another.
func setLabels(all []variant) error {
	count, seen := map[string]int{}, map[string]bool{}
	for i := range all {
		count[all[i].name]++
	}
	for i := range all {
		p := &all[i]
		p.label = p.name
		if count[p.name] > 1 && string(p.givenParams) != "{}" {
			p.label += string(p.givenParams)
		}
		if seen[p.label] {
			return fmt.Errorf("--policies: %s is there twice, with the same parameters", p.label)
		}
		seen[p.label] = true
	}
	return nil
}

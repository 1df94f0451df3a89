// Package policyflag reads the policies named on a command line: --policies, a list of
// NAME and NAME{JSON}, and --param.
package policyflag

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

// Policy is one policy of a list.
type Policy struct {
	Name  string
	Label string          // the name, with the parameters in braces where the name alone is not enough
	Given json.RawMessage // the parameters that were given, an object
	All   json.RawMessage // all of them, defaults included; nil of a name that is not registered
	Build func() (policy.Policy, error)
}

// Parse reads --policies and --param, which holds for every policy of its name. Names in
// more stand for themselves and take no parameters.
func Parse(list string, params []string, more ...string) ([]Policy, error) {
	var all []Policy
	given := make([]map[string]any, 0, 8)
	for rest, more := list, true; more; {
		p, left, err := nextVariant(rest)
		if err != nil {
			return nil, fmt.Errorf("--policies: %w", err)
		}
		object := map[string]any{}
		if err := json.Unmarshal(p.Given, &object); err != nil {
			return nil, fmt.Errorf("--policies: %s%s: %w", p.Name, p.Given, err)
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
		if slices.Contains(more, all[i].Name) {
			if len(given[i]) > 0 {
				return nil, fmt.Errorf("--policies: %s takes no parameters", all[i].Name)
			}
			continue
		}
		if err := all[i].resolve(given[i]); err != nil {
			return nil, fmt.Errorf("--policies: %w", err)
		}
	}
	return all, setLabels(all)
}

// nextVariant cuts NAME or NAME{JSON} from the front of a list; what is left is
// empty or begins with a comma.
func nextVariant(list string) (p Policy, left string, err error) {
	end := strings.IndexAny(list+",", ",{")
	p.Name, p.Given, left = strings.TrimSpace(list[:end]), json.RawMessage("{}"), list[end:]
	if p.Name == "" {
		return p, "", errors.New("name at least one, with commas between several; 'heddle policies' lists them")
	}
	if !strings.HasPrefix(left, "{") {
		return p, left, nil
	}
	d := json.NewDecoder(strings.NewReader(left))
	if err := d.Decode(&p.Given); err != nil {
		at := len(left)
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			at = int(syntax.Offset)
		}
		return p, "", fmt.Errorf("parameters of %s, at character %d of %s: %w", p.Name, at, left, err)
	}
	left = strings.TrimLeft(left[d.InputOffset():], " ")
	if left != "" && left[0] != ',' {
		return p, "", fmt.Errorf("%q after the parameters of %s: want a comma", left, p.Name)
	}
	return p, left, nil
}

// setParam puts POLICY.KEY=VALUE among the parameters of every policy of that
// name. KEY is one that 'heddle policies' lists, dots and all; VALUE is JSON, or
// else a text.
func setParam(all []Policy, given []map[string]any, param string) error {
	target, value, ok := strings.Cut(param, "=")
	name, key, dotted := strings.Cut(target, ".")
	if !ok || !dotted || name == "" || key == "" {
		return errors.New("want POLICY.KEY=VALUE, such as nas.skips=count")
	}
	if !slices.ContainsFunc(all, func(p Policy) bool { return p.Name == name }) {
		return fmt.Errorf("%s is not among --policies", name)
	}
	var of any = value
	if json.Valid([]byte(value)) {
		of = json.RawMessage(value)
	}
	for i := range all {
		if all[i].Name == name {
			given[i][key] = of
		}
	}
	return nil
}

// resolve looks the policy up and checks its parameters.
func (v *Policy) resolve(given map[string]any) error {
	registry := builtin.Registry()
	var err error
	if v.Given, err = json.Marshal(given); err != nil {
		return fmt.Errorf("parameters of %s: %w", v.Name, err)
	}
	if _, err := registry.New(v.Name, v.Given); err != nil {
		return err
	}
	e, _ := registry.Lookup(v.Name)
	expanded, err := e.Expand(v.Given)
	if err != nil {
		return fmt.Errorf("parameters of %s: %w", v.Name, err)
	}
	v.Build = func() (policy.Policy, error) { return e.New(expanded) }
	full := reflect.New(reflect.TypeOf(e.Params)) // as policy.Build has them
	full.Elem().Set(reflect.ValueOf(e.Params))
	if err := json.Unmarshal(expanded, full.Interface()); err != nil {
		return fmt.Errorf("parameters of %s: %w", v.Name, err)
	}
	if v.All, err = json.Marshal(full.Elem().Interface()); err != nil {
		return fmt.Errorf("parameters of %s: %w", v.Name, err)
	}
	return nil
}

// setLabels names policies for people, none like another.
func setLabels(all []Policy) error {
	count, seen := map[string]int{}, map[string]bool{}
	for i := range all {
		count[all[i].Name]++
	}
	for i := range all {
		p := &all[i]
		p.Label = p.Name
		if count[p.Name] > 1 && string(p.Given) != "{}" {
			p.Label += string(p.Given)
		}
		if seen[p.Label] {
			return fmt.Errorf("--policies: %s is there twice, with the same parameters", p.Label)
		}
		seen[p.Label] = true
	}
	return nil
}

package main

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

// simPolicy is a policy to simulate.
type simPolicy struct {
	name  string
	label string          // the name, with the parameters in braces where the name alone is not enough
	given json.RawMessage // the parameters that were given, an object
	all   json.RawMessage // all of them, defaults included
	build policy.Factory
}

// parsePolicies reads --policies, a list of NAME and NAME{JSON}, and --param,
// which holds for every policy of its name.
func parsePolicies(list string, params []string) ([]simPolicy, error) {
	var all []simPolicy
	given := make([]map[string]any, 0, 8)
	for rest, more := list, true; more; {
		p, left, err := cutPolicy(rest)
		if err != nil {
			return nil, fmt.Errorf("--policies: %w", err)
		}
		object := map[string]any{}
		if err := json.Unmarshal(p.given, &object); err != nil {
			return nil, fmt.Errorf("--policies: %s%s: %w", p.name, p.given, err)
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
		if err := all[i].complete(given[i]); err != nil {
			return nil, fmt.Errorf("--policies: %w", err)
		}
	}
	return all, label(all)
}

// cutPolicy cuts NAME or NAME{JSON} from the front of a list; what is left is
// empty or begins with a comma.
func cutPolicy(list string) (p simPolicy, left string, err error) {
	end := strings.IndexAny(list+",", ",{")
	p.name, p.given, left = strings.TrimSpace(list[:end]), json.RawMessage("{}"), list[end:]
	if p.name == "" {
		return p, "", errors.New("name at least one, with commas between several; 'heddle policies' lists them")
	}
	if !strings.HasPrefix(left, "{") {
		return p, left, nil
	}
	d := json.NewDecoder(strings.NewReader(left))
	if err := d.Decode(&p.given); err != nil {
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
func setParam(all []simPolicy, given []map[string]any, param string) error {
	target, value, ok := strings.Cut(param, "=")
	name, key, dotted := strings.Cut(target, ".")
	if !ok || !dotted || name == "" || key == "" {
		return errors.New("want POLICY.KEY=VALUE, such as nas.skips=count")
	}
	if !slices.ContainsFunc(all, func(p simPolicy) bool { return p.name == name }) {
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

// complete looks the policy up and checks its parameters.
func (p *simPolicy) complete(given map[string]any) error {
	registry := builtin.Registry()
	var err error
	if p.given, err = json.Marshal(given); err != nil {
		return fmt.Errorf("parameters of %s: %w", p.name, err)
	}
	if _, err := registry.New(p.name, p.given); err != nil {
		return err
	}
	e, _ := registry.Lookup(p.name)
	p.build = e.New
	full := reflect.New(reflect.TypeOf(e.Params)) // as policy.Build has them
	full.Elem().Set(reflect.ValueOf(e.Params))
	if err := json.Unmarshal(p.given, full.Interface()); err != nil {
		return fmt.Errorf("parameters of %s: %w", p.name, err)
	}
	if p.all, err = json.Marshal(full.Elem().Interface()); err != nil {
		return fmt.Errorf("parameters of %s: %w", p.name, err)
	}
	return nil
}

// label names policies for people, none like another.
func label(all []simPolicy) error {
	count, seen := map[string]int{}, map[string]bool{}
	for i := range all {
		count[all[i].name]++
	}
	for i := range all {
		p := &all[i]
		p.label = p.name
		if count[p.name] > 1 && string(p.given) != "{}" {
			p.label += string(p.given)
		}
		if seen[p.label] {
			return fmt.Errorf("--policies: %s is there twice, with the same parameters", p.label)
		}
		seen[p.label] = true
	}
	return nil
}

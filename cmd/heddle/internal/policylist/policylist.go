// Package policylist describes the policies heddle is built with, for people and for REST.
package policylist

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"heddle/core/policy"
	"heddle/core/policy/builtin"
)

// Policy is one policy as `heddle policies` shows it; GET /v1/policies has a
// part of it. The texts are Markdown.
type Policy struct {
	Name       string          `json:"name"`
	Summary    string          `json:"summary"`
	Paper      string          `json:"paper"`
	About      string          `json:"about"`
	Plans      bool            `json:"plans"` // it makes plans of its own, not only from offers
	Live       []string        `json:"live"`  // what its plans do to asks in mode enforce; none if it ranks jobs only
	Params     json.RawMessage `json:"params"`
	Parameters []Param         `json:"parameters"`
	Changed    []string        `json:"changed"` // deviations from the paper
}

// Param is one parameter of a policy.
type Param struct {
	Key     string          `json:"key"` // "a.b" in a section
	Default json.RawMessage `json:"default"`
	Printed json.RawMessage `json:"printed,omitempty"` // with preset "paper", where that differs
	Doc     string          `json:"doc"`
}

// All returns every policy, in the order of their names.
func All() ([]Policy, error) {
	var out []Policy
	for _, e := range builtin.Registry() {
		p, err := e.New(nil)
		if err != nil {
			return nil, fmt.Errorf("policy %s: defaults: %w", e.Name, err)
		}
		info := Policy{Name: e.Name, Summary: e.Summary, Paper: e.Paper, About: e.About, Changed: append([]string{}, e.Changed...)}
		if info.Params, err = json.Marshal(e.Params); err == nil {
			info.Parameters, err = params([]Param{}, "", reflect.ValueOf(e.Params))
		}
		if err == nil && e.Printed != nil {
			err = info.addPrinted(e.Printed)
		}
		if err != nil {
			return nil, fmt.Errorf("policy %s: print defaults: %w", e.Name, err)
		}
		_, info.Plans = p.(policy.Planner)
		live, err := e.LiveAtDefaults()
		if err != nil {
			return nil, fmt.Errorf("policy %s: what it does live: %w", e.Name, err)
		}
		info.Live = live.Names()
		out = append(out, info)
	}
	return out, nil
}

// LiveText says what a policy's plans do to asks, for people.
func (p *Policy) LiveText() string {
	if len(p.Live) == 0 {
		return "nothing: it ranks jobs only, and no ask carries a rank"
	}
	return strings.Join(p.Live, ", ")
}

// addPrinted notes which parameters the paper has otherwise.
func (p *Policy) addPrinted(printed any) error {
	list, err := params(nil, "", reflect.ValueOf(printed))
	for i := range list {
		if v := list[i].Default; string(v) != string(p.Parameters[i].Default) {
			p.Parameters[i].Printed = v
		}
	}
	return err
}

// params appends the parameters of a struct in the order of its fields: a
// field's tag json is the key, its tag doc the meaning. A struct within is a
// section; an embedded one belongs to the outer struct.
func params(list []Param, prefix string, v reflect.Value) ([]Param, error) {
	var err error
	for i := range v.NumField() {
		f := v.Type().Field(i)
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		nested := f.Type.Kind() == reflect.Struct && !f.Type.Implements(reflect.TypeFor[json.Marshaler]())
		switch {
		case nested && f.Anonymous && key == "":
			list, err = params(list, prefix, v.Field(i))
		case key == "-" || !f.IsExported():
		case nested:
			list, err = params(list, prefix+key+".", v.Field(i))
		default:
			p := Param{Key: prefix + key, Doc: f.Tag.Get("doc")}
			p.Default, err = json.Marshal(v.Field(i).Interface())
			list = append(list, p)
		}
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

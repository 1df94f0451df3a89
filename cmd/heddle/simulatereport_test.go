package main

import (
	"fmt"
	"maps"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/core/sim"
)

// numbers visits every number within a struct by its path.
func numbers(v reflect.Value, path string, visit func(path string, v reflect.Value)) {
	if v.Kind() == reflect.Struct {
		for i := range v.NumField() {
			numbers(v.Field(i), path+"."+v.Type().Field(i).Name, visit)
		}
	} else if v.CanInt() || v.CanUint() || v.CanFloat() {
		visit(path, v)
	}
}

// A report gets every figure of a run.
func TestReportRun(t *testing.T) {
	t.Parallel()
	r := sim.Run{Policy: "nas"}
	want, next := map[string]string{}, 0
	numbers(reflect.ValueOf(&r).Elem(), "", func(path string, v reflect.Value) {
		next++
		v.Set(reflect.ValueOf(next).Convert(v.Type()))
		want[strings.Replace(path, ".Detail.Coflows.", ".Coflows.", 1)] = strconv.Itoa(next)
	})
	maps.DeleteFunc(want, func(path, _ string) bool { return strings.HasPrefix(path, ".Detail.") }) // its other numbers are not of the result
	r.Responses = []float64{3, 1}
	in := reportRun("nas{}", &r)
	got := map[string]string{}
	numbers(reflect.ValueOf(in), "", func(path string, v reflect.Value) {
		if path != ".Uplinks.Step" {
			got[path] = fmt.Sprint(v.Interface())
		}
	})
	if diff := cmp.Diff(want, got); diff != "" || in.Policy != "nas{}" || !cmp.Equal(in.Responses, r.Responses) {
		t.Errorf("%s, %v (-run +report):\n%s", in.Policy, in.Responses, diff)
	}
}

package trace_test

import (
	"math"
	"reflect"

	"pgregory.net/rapid"

	"heddle/core/model"
	"heddle/core/trace"
)

// records generates records of every kind, with every fact, over the whole
// range of every field.
func records() *rapid.Generator[trace.Record] {
	return rapid.Custom(func(t *rapid.T) trace.Record {
		r := trace.Record{At: model.Time(rapid.Int64().Draw(t, "at"))}
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			r.Mark = &trace.Mark{Name: "note", Count: rapid.Uint64().Draw(t, "count"), Text: rapid.String().Draw(t, "text")}
		case 1:
			d := filled[model.Decision](t)
			if rapid.Bool().Draw(t, "plan") {
				plan := filled[model.Plan](t)
				d.Placement, d.Plan = nil, &plan
			} else {
				placement := filled[model.Placement](t)
				d.Placement, d.Plan = &placement, nil
			}
			r.Decision = &d
		default:
			fact := reflect.New(reflect.TypeOf(rapid.SampledFrom(model.Facts()).Draw(t, "fact"))).Elem()
			fill(t, fact)
			r.Observation = &model.Observation{
				Source: rapid.SampledFrom(model.Sources()).Draw(t, "source"),
				At:     model.Time(rapid.Int64().Draw(t, "read")),
				Fact:   fact.Interface().(model.Fact),
			}
		}
		return r
	})
}

func filled[T any](t *rapid.T) T {
	var v T
	fill(t, reflect.ValueOf(&v).Elem())
	return v
}

// fill sets every field below v to something drawn.
func fill(t *rapid.T, v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for _, field := range v.Fields() {
			fill(t, field)
		}
	case reflect.Pointer:
		if rapid.Bool().Draw(t, "set") {
			v.Set(reflect.New(v.Type().Elem()))
			fill(t, v.Elem())
		}
	case reflect.Slice:
		n := rapid.IntRange(0, 3).Draw(t, "len")
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(t, v.Index(i))
		}
	case reflect.String:
		v.SetString(rapid.String().Draw(t, "string"))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.Float64:
		v.SetFloat(rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64).Draw(t, "float"))
	case reflect.Int, reflect.Int64:
		v.SetInt(rapid.Int64().Draw(t, "int"))
	case reflect.Uint8:
		v.SetUint(uint64(rapid.Uint8().Draw(t, "uint8")))
	case reflect.Uint64:
		v.SetUint(rapid.Uint64().Draw(t, "uint64"))
	default:
		t.Fatalf("a %s in model: teach fill about it", v.Type())
	}
}

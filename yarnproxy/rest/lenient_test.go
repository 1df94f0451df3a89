package rest_test

import (
	"encoding/json"
	"math"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/yarnproxy/rest"
)

func TestNumber(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]float64{
		`1.5`: 1.5, `"1.5"`: 1.5, `-3`: -3, `"1e3"`: 1000, `null`: 0, `""`: 0, `{}`: 0,
		`"NaN"`: 0, `"Infinity"`: 0, `"-Infinity"`: 0, `NaN`: 0, `Infinity`: 0, `-Infinity`: 0,
	} {
		var v struct{ N rest.Number }
		v.N = 7
		if err := rest.Decode([]byte(`{"s":"NaN \" -Infinity","N":`+in+`}`), &v); err != nil || float64(v.N) != want {
			t.Errorf("%s: %v, error %v, want %v", in, v.N, err, want)
		}
	}
	for _, in := range []string{`"abc"`, `true`, `[1]`, `{"a":1}`, `"1e999"`, `nan`} {
		var n rest.Number
		if err := rest.Decode([]byte(in), &n); err == nil {
			t.Errorf("%s was taken as %v", in, n)
		}
	}
}

func TestInt(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]int64{
		`1795215638925`: 1795215638925, `"1795215638925"`: 1795215638925,
		`9007199254740993`: 9007199254740993, `"9223372036854775807"`: math.MaxInt64, `-9223372036854775808`: math.MinInt64,
		`1.795215638925E12`: 1795215638925, `9.007199254740993e15`: 9007199254740993, `2.9`: 2, `-2.9`: -2,
		`null`: 0, `""`: 0, `{}`: 0, `"NaN"`: 0, `NaN`: 0, `0`: 0, `-0.0`: 0, `1e-9`: 0,
	} {
		n := rest.Int(7)
		if err := rest.Decode([]byte(in), &n); in != "null" && (err != nil || int64(n) != want) {
			t.Errorf("%s: %d, error %v, want %d", in, n, err, want)
		}
	}
	for _, in := range []string{`9223372036854775808`, `1e999999999`, `"1_000"`, `"0x10"`, `"12 34"`, `true`, `[]`, `"1p3"`, `"inf"`} {
		n := rest.Int(7)
		if err := rest.Decode([]byte(in), &n); err == nil {
			t.Errorf("%s was taken as %d", in, n)
		}
	}
}

func TestIntIsExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.Int64().Draw(t, "n")
		text := strconv.FormatInt(want, 10)
		for _, in := range []string{text, `"` + text + `"`, text + ".0"} {
			var n rest.Int
			if err := rest.Decode([]byte(in), &n); err != nil || int64(n) != want {
				t.Fatalf("%s: %d, error %v", in, n, err)
			}
		}
	})
}

func TestBoolAndText(t *testing.T) {
	t.Parallel()
	var v struct {
		A, B, C, D rest.Bool
		E, F, G, H rest.Text
	}
	err := rest.Decode([]byte(`{"A":true,"B":"true","C":null,"D":"","E":"x","F":12,"G":null,"H":true}`), &v)
	if err != nil || !v.A || !v.B || v.C || v.D {
		t.Errorf("%+v, error %v", v, err)
	}
	if v.E != "x" || v.F != "12" || v.G != "" || v.H != "true" {
		t.Errorf("%+v", v)
	}
	for _, in := range []string{`{"A":"yes"}`, `{"A":1}`, `{"E":[1]}`, `{"E":{"a":1}}`} {
		if err := rest.Decode([]byte(in), &v); err == nil {
			t.Errorf("%s was taken", in)
		}
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	type item struct{ ID rest.Text }
	for in, want := range map[string]rest.List[item]{
		`[{"id":"a"},{"id":"b"}]`: {{"a"}, {"b"}},
		` {"id":"a"} `:            {{"a"}},
		`{}`:                      nil, `{ }`: nil, `""`: nil, `null`: nil,
		`[]`: {},
	} {
		var v struct{ Items rest.List[item] }
		v.Items = rest.List[item]{{"old"}}
		if err := rest.Decode([]byte(`{"items":`+in+`}`), &v); err != nil {
			t.Errorf("%s: %v", in, err)
		}
		if diff := cmp.Diff(want, v.Items); diff != "" {
			t.Errorf("%s: %s", in, diff)
		}
	}
	var absent struct{ Items rest.List[item] }
	if err := rest.Decode([]byte(`{}`), &absent); err != nil || absent.Items != nil {
		t.Errorf("absent: %v, error %v", absent, err)
	}
	var texts rest.List[rest.Text]
	if err := rest.Decode([]byte(`"one"`), &texts); err != nil || len(texts) != 1 || texts[0] != "one" {
		t.Errorf("one string: %q, error %v", texts, err)
	}
	for _, in := range []string{`"x"`, `7`, `[{"id":[1]}]`, `[`} {
		var l rest.List[item]
		if err := rest.Decode([]byte(in), &l); err == nil {
			t.Errorf("%s was taken as %v", in, l)
		}
	}
}

func TestObject(t *testing.T) {
	t.Parallel()
	type apps struct{ App rest.List[rest.Text] }
	for in, want := range map[string]int{`{"app":["a","b"]}`: 2, `{"app":"a"}`: 1, `{}`: 0, `""`: 0, `null`: 0, `[]`: 0} {
		var v struct{ Apps rest.Object[apps] }
		if err := rest.Decode([]byte(`{"apps":`+in+`}`), &v); err != nil || len(v.Apps.Value.App) != want {
			t.Errorf("%s: %v, error %v", in, v, err)
		}
	}
	var o rest.Object[apps]
	if err := rest.Decode([]byte(`"text"`), &o); err == nil {
		t.Error("a text was taken for an object")
	}
}

func TestDecodeTakesRepeatedKeys(t *testing.T) {
	t.Parallel()
	var v struct {
		Entry struct{ Key string }
	}
	err := rest.Decode([]byte(`{"entry":{"key":"memory-mb"},"entry":{"key":"vcores"}}`), &v)
	if err != nil || v.Entry.Key != "vcores" {
		t.Errorf("%+v, error %v", v, err)
	}
}

// FuzzDecode: no input crashes a lenient type, and what plain JSON reads as a
// number is read as the same number.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"n":"512","i":1795216318005,"b":"true","t":12,"l":[{"n":1}],"o":{"l":{"n":"2"}}}`,
		`{"n":NaN,"i":"NaN","l":{},"o":""}`, `{"n":-Infinity}`, `{"n":"Infinity","l":"","o":null}`,
		`{"entry":{"key":"memory-mb"},"entry":{"key":"vcores"}}`, `{"i":1e400}`, `{"i":"9223372036854775807"}`, "{\"t\":\"\\", `NaN`, `"NaN`,
	} {
		f.Add([]byte(seed))
	}
	type inner struct{ N rest.Number }
	type outer struct {
		N rest.Number
		I rest.Int
		B rest.Bool
		T rest.Text
		L rest.List[inner]
		O rest.Object[struct{ L rest.List[inner] }]
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		keep := string(data)
		var v outer
		err := rest.Decode(data, &v)
		if string(data) != keep {
			t.Fatal("the input was changed")
		}
		if err == nil && (math.IsNaN(float64(v.N)) || math.IsInf(float64(v.N), 0)) {
			t.Fatalf("%q gave %v", data, v.N)
		}
		var plain float64
		if json.Unmarshal(data, &plain) == nil {
			var n rest.Number
			if err := rest.Decode(data, &n); err != nil || float64(n) != plain {
				t.Fatalf("%q: %v, error %v, want %v", data, n, err, plain)
			}
		}
		var exact int64
		if json.Unmarshal(data, &exact) == nil {
			var n rest.Int
			if err := rest.Decode(data, &n); err != nil || int64(n) != exact {
				t.Fatalf("%q: %v, error %v, want %v", data, n, err, exact)
			}
		}
	})
}

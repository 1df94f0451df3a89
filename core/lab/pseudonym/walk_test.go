package pseudonym_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"heddle/core/lab/pseudonym"
	"heddle/core/lab/replay"
	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/policy/builtin"
	"heddle/core/trace"
)

// facts holds one empty value of every fact there is.
func facts() []model.Fact {
	return []model.Fact{
		model.ClusterFact{}, model.NodesFact{}, model.AppsFact{}, model.AsksFact{}, model.ContainersFact{}, model.JobFact{},
		model.JobConfFact{}, model.TasksFact{}, model.CountersFact{}, model.BlocksFact{}, model.DataNodesFact{}, model.UplinkFact{},
		model.GraphFact{}, model.HistoryFact{}, model.PollFact{}, model.SampleFact{}, model.RoundFact{}, model.PolicyFact{},
	}
}

// secret is a name that must not be found afterwards.
const secret = "Zaphod"

// filler sets every field below a value: strings to neutral texts, and the one whose turn
// it is to the secret.
type filler struct {
	turn  int // which string is the secret
	seen  int
	where string // the field it is in
}

func (f *filler) fill(t *testing.T, v reflect.Value, where string) {
	t.Helper()
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			f.fill(t, v.Field(i), where+"."+v.Type().Field(i).Name)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(t, v.Elem(), where)
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			return // header and params are tested on their own
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		f.fill(t, v.Index(0), where+"[]")
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		f.fill(t, key, where+"[key]")
		f.fill(t, value, where+"[value]")
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString(f.text(v.Type(), where))
	case reflect.Bool, reflect.Float64, reflect.Int, reflect.Int64, reflect.Uint8, reflect.Uint64:
	default:
		t.Fatalf("%s is a %s: teach fill and the walk about it", where, v.Type())
	}
}

func (f *filler) text(of reflect.Type, where string) string {
	f.seen++
	if f.seen == f.turn {
		f.where = where
		return secret
	}
	switch {
	case of == reflect.TypeFor[model.AppID]():
		return "application_1_2"
	case strings.HasSuffix(where, "Container.ID"), strings.HasSuffix(where, "Containers[].ID"):
		return "container_1_2_3_4"
	case strings.HasSuffix(where, "PolicyFact.Policy"), strings.HasSuffix(where, "Header.Policy"):
		return "fifo"
	case strings.HasSuffix(where, "PolicyFact.Params"):
		return "{}"
	}
	return "other"
}

// eachString fills a record once for every string in it with the secret there, and wants the
// secret gone, or an error.
func eachString(t *testing.T, name string, build func(f *filler) (*trace.Header, *trace.Record)) {
	t.Helper()
	for turn := 1; ; turn++ {
		f := &filler{turn: turn}
		h, r := build(f)
		if f.seen < turn {
			if turn == 1 {
				return // no strings
			}
			break
		}
		names := pseudonym.NewNames()
		err := names.AddHeader(h)
		if err == nil {
			err = names.Add(r)
		}
		if err != nil {
			continue // refused, as an id that has a name in it is
		}
		table, err := names.Table([]byte("key"))
		if err != nil {
			t.Fatal(err)
		}
		h, r = build(&filler{turn: turn})
		if err := table.Header(h); err != nil {
			t.Fatal(err)
		}
		if err := table.Record(r); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		w, err := trace.NewWriter(&out, *h)
		if err == nil {
			_, err = w.Append(*r)
		}
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(out.String(), secret) {
			t.Errorf("%s: the name in %s is still there: %s", name, f.where, out.String())
		}
	}
}

// TestEveryStringIsReplaced fails when a string is added to a fact, a decision, a mark, a
// header or the settings in it, and the walk does not know it.
func TestEveryStringIsReplaced(t *testing.T) {
	t.Parallel()
	header := func() *trace.Header { return &trace.Header{Policy: "fifo"} }
	for _, fact := range facts() {
		eachString(t, fact.Kind(), func(f *filler) (*trace.Header, *trace.Record) {
			o := &model.Observation{}
			v := reflect.New(reflect.TypeOf(fact)).Elem()
			f.fill(t, v, v.Type().Name())
			f.fill(t, reflect.ValueOf(&o.Source).Elem(), "Source")
			o.Fact = v.Interface().(model.Fact)
			return header(), &trace.Record{Observation: o}
		})
	}
	for _, plan := range []bool{false, true} {
		eachString(t, "decision", func(f *filler) (*trace.Header, *trace.Record) {
			d := &model.Decision{}
			f.fill(t, reflect.ValueOf(d).Elem(), "Decision")
			if plan {
				d.Placement = nil
			} else {
				d.Plan = nil
			}
			return header(), &trace.Record{Decision: d}
		})
	}
	filledHeader := func(f *filler) *trace.Header {
		h, s := &trace.Header{}, &replay.Settings{}
		f.fill(t, reflect.ValueOf(h).Elem(), "Header")
		f.fill(t, reflect.ValueOf(s).Elem(), "Settings")
		h.Pseudonymized = false
		var err error
		if h.Settings, err = json.Marshal(s); err != nil {
			t.Fatal(err)
		}
		return h
	}
	eachString(t, "mark", func(f *filler) (*trace.Header, *trace.Record) {
		m := &trace.Mark{}
		m.Name, m.Text = f.text(reflect.TypeFor[string](), "Mark.Name"), f.text(reflect.TypeFor[string](), "Mark.Text")
		m.Header = filledHeader(f)
		if m.Name == trace.MarkContinues {
			m.Name = "note"
		}
		return header(), &trace.Record{Mark: m}
	})
	eachString(t, "header", func(f *filler) (*trace.Header, *trace.Record) {
		return filledHeader(f), &trace.Record{Mark: &trace.Mark{Name: "note"}}
	})
}

// The list of facts above has every kind that a recording can hold.
func TestFactsAreAll(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, f := range facts() {
		known[f.Kind()] = true
	}
	for _, file := range []string{"format1.jsonl", "format2.jsonl"} {
		data, err := os.ReadFile("../../trace/testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		r, err := trace.NewReader(bytes.NewReader(data), trace.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for rec, err := range r.Records() {
			if err != nil {
				t.Fatal(err)
			}
			if o := rec.Observation; o != nil && !known[o.Fact.Kind()] {
				t.Errorf("no value of the fact %s above", o.Fact.Kind())
			}
		}
	}
}

// The parameters of every policy: a map's keys are replaced, and a word that no policy knows
// is refused by the policy itself.
func TestEveryParameterIsReplaced(t *testing.T) {
	t.Parallel()
	registry := builtin.Registry()
	for i := range registry {
		e := &registry[i]
		for turn := 1; ; turn++ {
			f := &filler{turn: turn}
			params := reflect.New(reflect.TypeOf(e.Params)).Elem()
			params.Set(reflect.ValueOf(e.Params))
			fillParams(f, params)
			if f.seen < turn {
				break
			}
			raw, err := json.Marshal(params.Interface())
			if err != nil {
				t.Fatal(err)
			}
			for _, inFact := range []bool{false, true} {
				out, err := rewriteParams(e, raw, inFact)
				if err == nil && strings.Contains(out, secret) {
					t.Errorf("%s: %s has still the name in %s", e.Name, out, f.where)
				}
				if err != nil && strings.HasSuffix(f.where, "[key]") {
					t.Errorf("%s: %v", f.where, err)
				}
			}
		}
	}
}

// fillParams sets one string of parameters, or one key of a map in them, to the secret.
func fillParams(f *filler, v reflect.Value) {
	for i := range v.NumField() {
		field, where := v.Field(i), v.Type().Field(i).Name
		switch field.Kind() {
		case reflect.String:
			if f.seen++; f.seen == f.turn {
				f.where = where
				field.SetString(secret)
			}
		case reflect.Map:
			if f.seen++; f.seen == f.turn {
				f.where = where + "[key]"
				field.Set(reflect.MakeMap(field.Type()))
				field.SetMapIndex(reflect.ValueOf(secret).Convert(field.Type().Key()), reflect.New(field.Type().Elem()).Elem())
			}
		case reflect.Struct:
			fillParams(f, field)
		default:
		}
	}
}

func rewriteParams(e *policy.Entry, raw json.RawMessage, inFact bool) (string, error) {
	build := func() (*trace.Header, *trace.Record) {
		h, r := &trace.Header{Policy: "fifo"}, &trace.Record{Mark: &trace.Mark{Name: "note"}}
		if inFact {
			r = &trace.Record{Observation: &model.Observation{Fact: model.PolicyFact{Policy: e.Name, Params: string(raw)}}}
		} else {
			h.Policy, h.Params = e.Name, raw
		}
		return h, r
	}
	names := pseudonym.NewNames()
	h, r := build()
	if err := names.AddHeader(h); err != nil {
		return "", err
	}
	if err := names.Add(r); err != nil {
		return "", err
	}
	table, err := names.Table([]byte("key"))
	if err != nil {
		return "", err
	}
	h, r = build()
	if err := table.Header(h); err != nil {
		return "", err
	}
	if err := table.Record(r); err != nil {
		return "", err
	}
	if inFact {
		return r.Observation.Fact.(model.PolicyFact).Params, nil
	}
	return string(h.Params), nil
}

// A recording that has pseudonyms is refused, in its header and after a restart.
func TestPseudonymizedIsRefused(t *testing.T) {
	t.Parallel()
	for i, add := range []func(*pseudonym.Names) error{
		func(n *pseudonym.Names) error { return n.AddHeader(&trace.Header{Pseudonymized: true}) },
		func(n *pseudonym.Names) error {
			return n.Add(&trace.Record{Mark: &trace.Mark{Name: trace.MarkRestarted, Header: &trace.Header{Pseudonymized: true}}})
		},
	} {
		if err := add(pseudonym.NewNames()); err == nil || !strings.Contains(fmt.Sprint(err), "already") {
			t.Errorf("%d: %v", i, err)
		}
	}
}

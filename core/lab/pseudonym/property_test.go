package pseudonym_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"heddle/core/lab/pseudonym"
	"heddle/core/lab/replay"
	"heddle/core/model"
	"heddle/core/shuffle"
	"heddle/core/trace"
)

// place is what a string in a recording is.
type place string

// The places. The names of a place that is ordered keep their order.
const (
	aRack, aNode, aHost, aUser, aQueue, aJob place = "rack", "node", "host", "user", "queue", "job"
	aPath, aResource, anAddress, tags        place = "path", "resource", "address", "tags"
	anApp, aContainer, aWord, aName          place = "app", "container", "word", "name"
	aText, aVersion, aPolicy, params, aMark  place = "text", "version", "policy", "params", "mark"
	aWorkflow, aStep, aVertex                place = "workflow", "step", "vertex"
)

// placeOf tells places apart by type, then by field.
func placeOf(of reflect.Type, field string) place {
	byType := map[reflect.Type]place{
		reflect.TypeFor[model.RackID]():  aRack,
		reflect.TypeFor[model.NodeID]():  aNode,
		reflect.TypeFor[model.UserID]():  aUser,
		reflect.TypeFor[model.QueueID](): aQueue,
		reflect.TypeFor[model.AppID]():   anApp,
	}
	if p, ok := byType[of]; ok {
		return p
	}
	if of != reflect.TypeFor[string]() {
		return aWord
	}
	byField := map[string]place{
		"Host": aHost, "Hosts": aHost, "Preferred": aHost, "Topology": aHost, "Table": aHost,
		"Path": aPath, "Inputs": aPath, "Output": aPath,
		"ResourceName": aResource, "Blacklist": aResource,
		"Address": anAddress, "HTTPAddress": anAddress,
		"Tags": tags, "Error": aText, "Text": aText, "Version": aVersion, "ToolVersion": aVersion,
		"Policy": aPolicy, "Params": params, "HAState": aWord, "Scheduler": aWord, "Type": aWord, "Method": aWord, "UplinkMethod": aWord,
		"Workflow.ID": aWorkflow, "Workflow.Name": aWorkflow, "Workflow.Node": aStep, "WorkflowEdges.Node": aStep, "WorkflowEdges.Next": aStep,
		"GraphStage.Name": aVertex, "GraphEdge.From": aVertex, "GraphEdge.To": aVertex,
		"App.Name": aJob, "Mark.Name": aMark, "JobRuns.Name": aJob, "Container.ID": aContainer,
	}
	last := field[strings.LastIndexByte(field, '.')+1:]
	return cmp.Or(byField[field], byField[last], aName)
}

// templates are the texts of a place; N stands for a name.
func (p place) templates() []string {
	return map[place][]string{
		aRack: {"/N", "/N/N", "/default-rack", "N"}, aNode: {"N:8041", "N.N:8041", "N:80"}, aHost: {"N", "N.N"},
		aUser: {"N"}, aQueue: {"root.N", "N", "root.N.N", "root", "N.N", "root-N", "rootN"}, aJob: {"N", "N N 2024-01-05", "N (Stage-1)", "N", "17"},
		aPath:     {"/N/N", "/N", "hdfs://N:8020/N/../N", "hdfs:/N/./N", "N/N", "s3a://N.N/N", "hdfs://N/", "/N//N/", "odd://N@N/N", "/../../N", ""},
		aResource: {"*", "/N", "N", "/N/N", "N.N"}, anAddress: {"N:8088", "http://N:8088", "N", ""}, tags: {"N,N", "N", ""},
		anApp: {"application_1_1", "application_1_2"}, aContainer: {"container_1_1_1_000001", "container_e17_1_1_1_2"},
		aWord: {"N", "map", "RUNNING"}, aName: {"N", "N N"}, aWorkflow: {"N", "N N", ""}, aStep: {"N", "N N"}, aVertex: {"N", "Map 1", "map"}, aMark: {"note", "dropped", "N"},
		aText: {
			"Get \"http://N:8088/N\": dial tcp N: connection refused", "N", "", "open hdfs://N/N for N: permission denied",
			"N\nN: timeout", "the queue was full",
		},
		aVersion: {"3.4.3-N", "3.4-N", ""}, aPolicy: {"fifo"}, params: {"{}", ""},
	}[p]
}

// drawn fills a value with texts in which names have numbers: ⟦0⟧, ⟦1⟧.
func drawn(t *rapid.T, v reflect.Value, field string, names int) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			drawn(t, v.Field(i), v.Type().Name()+"."+v.Type().Field(i).Name, names)
		}
	case reflect.Pointer:
		if rapid.Bool().Draw(t, "set") {
			v.Set(reflect.New(v.Type().Elem()))
			drawn(t, v.Elem(), field, names)
		}
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			return
		}
		n := rapid.IntRange(0, 2).Draw(t, "len")
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			drawn(t, v.Index(i), field, names)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range rapid.IntRange(0, 2).Draw(t, "len") {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			drawn(t, key, field, names)
			drawn(t, value, field, names)
			v.SetMapIndex(key, value)
		}
	case reflect.String:
		text := rapid.SampledFrom(placeOf(v.Type(), field).templates()).Draw(t, "text")
		for strings.Contains(text, "N") {
			text = strings.Replace(text, "N", fmt.Sprintf("⟦%d⟧", rapid.IntRange(0, names-1).Draw(t, "name")), 1)
		}
		v.SetString(text)
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.Float64:
		v.SetFloat(float64(rapid.IntRange(0, 9).Draw(t, "float")))
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(rapid.IntRange(0, 9).Draw(t, "int")))
	case reflect.Uint8, reflect.Uint64:
		v.SetUint(uint64(rapid.IntRange(0, 2).Draw(t, "uint")))
	default:
		t.Fatalf("a %s: teach drawn about it", v.Type())
	}
}

// each returns a copy of a value in which every string is another one.
func each(v reflect.Value, field string, with func(of reflect.Type, field, text string) string) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			out.Field(i).Set(each(v.Field(i), v.Type().Name()+"."+v.Type().Field(i).Name, with))
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			inner := each(v.Elem(), field, with)
			if v.Kind() == reflect.Pointer {
				pointer := reflect.New(v.Type().Elem())
				pointer.Elem().Set(inner)
				inner = pointer
			}
			out.Set(inner)
		}
	case reflect.Slice:
		if v.IsNil() || v.Type() == reflect.TypeFor[json.RawMessage]() {
			return out
		}
		out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			out.Index(i).Set(each(v.Index(i), field, with))
		}
	case reflect.Map:
		if v.IsNil() {
			return out
		}
		out.Set(reflect.MakeMap(v.Type()))
		for _, k := range v.MapKeys() { // order-free: each goes to its own key
			out.SetMapIndex(each(k, field, with), each(v.MapIndex(k), field, with))
		}
	case reflect.String:
		out.SetString(with(v.Type(), field, v.String()))
	default:
	}
	return out
}

// tape is a recording in memory.
type tape struct {
	Header   trace.Header
	Settings replay.Settings
	Records  []trace.Record
}

// draw returns a recording of everything there is, with numbers for names.
func draw(t *rapid.T, names int) *tape {
	tp := &tape{}
	drawn(t, reflect.ValueOf(&tp.Header).Elem(), "", names)
	drawn(t, reflect.ValueOf(&tp.Settings).Elem(), "", names)
	tp.Header.Pseudonymized, tp.Header.Format = false, 0
	for range rapid.IntRange(1, 12).Draw(t, "records") {
		r := trace.Record{At: model.Time(rapid.IntRange(0, 9).Draw(t, "at"))}
		switch rapid.IntRange(0, 9).Draw(t, "kind") {
		case 0:
			r.Mark = &trace.Mark{}
			drawn(t, reflect.ValueOf(&r.Mark.Text).Elem(), "Mark.Text", names)
			drawn(t, reflect.ValueOf(&r.Mark.Name).Elem(), "Mark.Name", names)
		case 1:
			r.Decision = &model.Decision{}
			drawn(t, reflect.ValueOf(r.Decision).Elem(), "", names)
			r.Decision.Placement, r.Decision.Plan = nil, &model.Plan{}
			drawn(t, reflect.ValueOf(r.Decision.Plan).Elem(), "", names)
		default:
			fact := reflect.New(reflect.TypeOf(rapid.SampledFrom(facts()).Draw(t, "fact"))).Elem()
			drawn(t, fact, "", names)
			r.Observation = &model.Observation{Source: model.SourceRM, Fact: fact.Interface().(model.Fact)}
		}
		tp.Records = append(tp.Records, r)
	}
	return tp
}

// named returns the recording with names in place of numbers.
func (tp *tape) named(pool []string) *tape {
	return mapped(tp, func(_ reflect.Type, _, text string) string {
		for i, name := range pool {
			text = strings.ReplaceAll(text, fmt.Sprintf("⟦%d⟧", i), name)
		}
		return text
	})
}

func mapped(tp *tape, with func(of reflect.Type, field, text string) string) *tape {
	out := each(reflect.ValueOf(*tp), "", with).Interface().(tape)
	return &out
}

// pseudonymized returns the recording with pseudonyms: its values and its bytes.
func (tp *tape) pseudonymized() (*tape, []byte, error) {
	same := func(_ reflect.Type, _, text string) string { return text }
	encode := func(c *tape) {
		data, err := json.Marshal(c.Settings)
		if err != nil {
			panic(err)
		}
		c.Header.Settings = data
	}
	names, read := pseudonym.NewNames(), mapped(tp, same)
	encode(read)
	if err := names.AddHeader(&read.Header); err != nil {
		return nil, nil, err
	}
	for i := range read.Records {
		if err := names.Add(&read.Records[i]); err != nil {
			return nil, nil, err
		}
	}
	table, err := names.Table([]byte("key"))
	if err != nil {
		return nil, nil, err
	}
	out := mapped(tp, same)
	encode(out)
	if err := table.Header(&out.Header); err != nil {
		return nil, nil, err
	}
	var buf bytes.Buffer
	w, err := trace.NewWriter(&buf, out.Header)
	if err != nil {
		return nil, nil, err
	}
	for i := range out.Records {
		if err := table.Record(&out.Records[i]); err != nil {
			return nil, nil, err
		}
		if _, err := w.Append(out.Records[i]); err != nil {
			return nil, nil, err
		}
	}
	return out, buf.Bytes(), json.Unmarshal(out.Header.Settings, &out.Settings)
}

// aPseudonym matches every pseudonym; a name within one is there by chance.
var aPseudonym = regexp.MustCompile(`(root-|/[cr]|[hdptwnvgxuqs])\d+-[0-9a-f]{8}|job-[b-t]+-[b-t]{8}`)

// texts returns everything a recording has to read: its bytes, and its strings as JSON
// decodes them, in lower case and without pseudonyms.
func texts(t *rapid.T, data []byte) string {
	var out strings.Builder
	add := func(s string) { out.WriteString(strings.ToLower(aPseudonym.ReplaceAllString(s, "\x00")) + "\x00") }
	add(string(data))
	var decoded func(v any)
	decoded = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, e := range v { // order-free: all of them are searched
				add(k)
				decoded(e)
			}
		case []any:
			for _, e := range v {
				decoded(e)
			}
		case string:
			add(v)
		}
	}
	for line := range bytes.Lines(data) {
		var v any
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatal(err)
		}
		decoded(v)
	}
	return out.String()
}

// spellings are the ways to write a name in JSON.
func spellings(name string) []string {
	quoted, _ := json.Marshal(name)
	var plain bytes.Buffer
	enc := json.NewEncoder(&plain)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(name)
	all := []string{name, strings.Trim(string(quoted), `"`), strings.Trim(strings.TrimSpace(plain.String()), `"`)}
	return append(all, strings.Trim(strconv.QuoteToASCII(name), `"`), strings.ReplaceAll(name, "/", `\/`))
}

// pool draws names, some of which contain others.
func pool(t *rapid.T) []string {
	some := rapid.SampledFrom([]string{
		"a", "ab", "ab.c", "abc", "r1", "r10", "r100", "zürich", "Zürich", "日本語データ", "my job", "Alice", "alice", "ALICE", "10.77.0.1",
		"10.77.0.11", "dn-1.example.com", "dn-1", "fe80::1", `quo"te`, `back\slash`, "<html>&", "tab\tbed", "sales_2024-01-05", "eof-host",
		"rack42", "etl daily", "user=bob", "p1-deadbeef", "𝔘nicode", "ﬁle", "root", "default-rack", "..x", "x..", "{a,b}", "hdfs:x", "job-bcd",
	})
	of := rapid.OneOf(some, rapid.StringOfN(rapid.RuneFrom([]rune("abcXYZ019.-_é /:%~")), 1, 8, -1), rapid.Custom(func(t *rapid.T) string {
		return some.Draw(t, "first") + rapid.SampledFrom([]string{"", ".", "-", "0", "z"}).Draw(t, "between") + some.Draw(t, "second")
	}))
	return rapid.SliceOfNDistinct(of, 2, 7, rapid.ID[string]).Draw(t, "pool")
}

// constants are what stays of names, and phrases. A name within one of them may be found.
func constants() string {
	return "/default-rack root.root dev text removed: connection refused connection reset unknown host no route certificate timeout safe mode " +
		"standby permission denied incomplete answer connection ended the queue was full"
}

// TestNoNameSurvives writes recordings of everything there is, and searches what comes out for
// every name that went in.
func TestNoNameSurvives(t *testing.T) {
	t.Parallel()
	compared, searched := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		names := pool(t)
		form := draw(t, len(names))
		before := form.named(names)
		after, data, err := before.pseudonymized()
		if _, is := errors.AsType[*pseudonym.OrderError](err); is {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		// The same recording with names that are none of these says which words every such recording has.
		neutral := make([]string, len(names))
		for i := range neutral {
			neutral[i] = fmt.Sprintf("¤%c¤", 'A'+i)
		}
		_, plain, err := form.named(neutral).pseudonymized()
		if err != nil {
			t.Fatal(err)
		}
		vocabulary, found := texts(t, plain)+constants(), texts(t, data)
		for _, name := range names {
			for _, s := range spellings(name) {
				s = strings.ToLower(s)
				if len(name) >= 3 && !strings.Contains(vocabulary, s) {
					searched++
					if strings.Contains(found, s) {
						t.Fatalf("%q is still there, as %q:\n%s\nof\n%+v", name, s, data, before)
					}
				}
			}
		}
		compared += checkRelations(t, before, after)
	})
	if searched < 20 || compared < 50 {
		t.Errorf("%d searches, %d pairs of names compared", searched, compared)
	}
}

// checkRelations wants of every two names what the core looks at: their order, or whether they
// are equal, share a short name, or one path is below another.
func checkRelations(t *rapid.T, before, after *tape) (pairs int) {
	type pair struct{ before, after string }
	all := map[place][]pair{}
	collect := func(tp *tape) (out map[place][]string) {
		out = map[place][]string{}
		keep := func(v reflect.Value, field string) {
			each(v, field, func(of reflect.Type, field, text string) string {
				p := placeOf(of, field)
				out[p] = append(out[p], text)
				return text
			})
		}
		for i := range tp.Records { // maps come in any order: the header's are not compared
			keep(reflect.ValueOf(tp.Records[i]), "")
		}
		return out
	}
	a, b := collect(before), collect(after)
	for p := range a { // order-free: each place is checked on its own
		if len(a[p]) != len(b[p]) {
			t.Fatalf("%d texts as %s, then %d", len(a[p]), p, len(b[p]))
		}
		for i := range a[p] {
			all[p] = append(all[p], pair{a[p][i], b[p][i]})
		}
	}
	compare := func(p place, what string, relation func(x, y string) any) {
		for _, x := range all[p] {
			for _, y := range all[p] {
				pairs++
				if was, is := relation(x.before, y.before), relation(x.after, y.after); was != is {
					t.Fatalf("%s: %s of %q and %q is %v; with pseudonyms %q and %q it is %v", p, what, x.before, y.before, was, x.after, y.after, is)
				}
			}
		}
	}
	for _, p := range []place{aRack, aNode, aUser, aQueue} {
		compare(p, "order", func(x, y string) any { return cmp.Compare(x, y) })
	}
	compare(aQueue, "order below the root", func(x, y string) any {
		return cmp.Compare(strings.TrimPrefix(x, "root."), strings.TrimPrefix(y, "root."))
	})
	compare(aJob, "order", func(x, y string) any { return cmp.Compare(shuffle.NormalName(x), shuffle.NormalName(y)) })
	compare(aJob, "emptiness", func(x, _ string) any { return shuffle.NormalName(x) == "" })
	compare(aHost, "equality", func(x, y string) any { return x == y })
	compare(aHost, "short name", func(x, y string) any { return shortName(x) == shortName(y) })
	compare(aResource, "equality", func(x, y string) any { return x == y })
	compare(aResource, "form", func(x, _ string) any { return [2]bool{x == "*", strings.HasPrefix(x, "/")} })
	compare(aPath, "equality", func(x, y string) any { return x == y })
	compare(aPath, "place", func(x, y string) any { return cleanPath(x) == cleanPath(y) })
	compare(aPath, "being below", func(x, y string) any { return strings.HasPrefix(cleanPath(x), cleanPath(y)+"/") })
	for _, p := range []place{aWorkflow, aStep, aVertex, anApp, aContainer} {
		compare(p, "equality", func(x, y string) any { return x == y })
	}
	return pairs
}

// shortName is that of core/topology.
func shortName(host string) string {
	if host == "" || (host[0] >= '0' && host[0] <= '9') {
		return host
	}
	s, _, _ := strings.Cut(host, ".")
	return s
}

// cleanPath is that of core/state/dependencies.
func cleanPath(p string) string {
	volume := ""
	if scheme, rest, ok := strings.Cut(p, "://"); ok {
		host, rest, _ := strings.Cut(rest, "/")
		if p = rest; scheme != "hdfs" {
			volume = scheme + ":" + host
		}
	}
	var names []string
	for name := range strings.SplitSeq(strings.TrimPrefix(p, "hdfs:"), "/") {
		switch {
		case name == "" || name == ".":
		case name == ".." && len(names) > 0:
			names = names[:len(names)-1]
		default:
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return volume + "/" + strings.Join(names, "/")
}

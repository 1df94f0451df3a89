package trace

import (
	"bytes"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"heddle/core/model"
)

// sameAsJSON decodes a line both ways, and reports whether the fast way took it.
func sameAsJSON(t *testing.T, line []byte) bool {
	t.Helper()
	var c canonical
	got, ok := c.record(line)
	if !ok {
		return false
	}
	want, err := decode(line)
	if err != nil {
		t.Fatalf("%s: taken, and encoding/json says %v", line, err)
	}
	if reflect.DeepEqual(want, got) {
		return true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s (-encoding/json +got):\n%s", line, diff)
	}
	return true
}

// What a Writer wrote is decoded the fast way, whatever the fact.
func TestCanonicalTakesEveryFact(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/format1.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		escaped := bytes.Contains(line, []byte(`\u00`))
		if (!bytes.Contains(line, []byte(`"kind":"mark"`)) && bytes.Contains(line, []byte(`"kind":`)) && !escaped) != sameAsJSON(t, line) {
			t.Errorf("not decoded the fast way: %s", line)
		}
	}
	var c canonical
	for _, f := range model.Facts() {
		if c.formOf(f.Kind()) == nil {
			t.Errorf("%s has no form", f.Kind())
		}
	}
}

func TestCanonicalRefuses(t *testing.T) {
	t.Parallel()
	const good = `{"seq":7,"t_ms":5,"kind":"observation","body":{"source":"rm","at_ms":4,"fact":"asks","body":{"app":"a","rows":[{"priority":1,"allocation_request_id":0,"resource_name":"*","capability":{"memory_mib":1,"vcores":1},"count":2,"relax_locality":true}]}}}`
	if !sameAsJSON(t, []byte(good)) {
		t.Fatal("the line they are made of is refused")
	}
	for name, change := range map[string][2]string{
		"a space":             {`"app":"a"`, `"app": "a"`},
		"keys in other order": {`"priority":1,"allocation_request_id":0`, `"allocation_request_id":0,"priority":1`},
		"a key twice":         {`"app":"a"`, `"app":"a","app":"b"`},
		"an unknown key":      {`"app":"a"`, `"app":"a","more":1`},
		"null":                {`"app":"a"`, `"app":null`},
		"an escape":           {`"*"`, `"\u002a"`},
		"beyond ASCII":        {`"*"`, `"é"`},
		"a leading zero":      {`"count":2`, `"count":02`},
		"minus zero":          {`"count":2`, `"count":-0`},
		"a fraction":          {`"count":2`, `"count":2.0`},
		"19 digits":           {`"count":2`, `"count":1000000000000000000`},
		"yes":                 {`true`, `yes`},
		"a tail":              {`}}}`, `}}} `},
		"another kind":        {`"asks"`, `"answers"`},
	} {
		line := bytes.Replace([]byte(good), []byte(change[0]), []byte(change[1]), 1)
		var c canonical
		if _, ok := c.record(line); ok || bytes.Equal(line, []byte(good)) {
			t.Errorf("%s: taken", name)
		}
	}
}

// What is kept of the strings of a recording is bounded, however many and long they are.
func TestKeptNamesAreBounded(t *testing.T) {
	t.Parallel()
	var c canonical
	line := func(name string) []byte {
		return []byte(`{"seq":1,"t_ms":1,"kind":"observation","body":{"source":"rm","at_ms":1,"fact":"round","body":{"app":"` + name + `"}}}`)
	}
	read := func(name string) string {
		rec, ok := c.record(line(name))
		if !ok {
			t.Fatal("the line is not taken")
		}
		got := string(rec.Observation.Fact.(model.RoundFact).App)
		if got != name {
			t.Fatalf("the name %s became %s", name, got)
		}
		return got
	}
	for i := range 2 * mostNames { // more than there are places
		read(strconv.Itoa(i))
	}
	// Of as many hosts as a cluster has, that are read again and again, few are in each other's place.
	const hosts = 2000
	first, twice := map[int]*byte{}, 0
	for i := range 2 * hosts {
		kept := unsafe.StringData(read("node-" + strconv.Itoa(i%hosts) + ".hadoop.example.com"))
		if i < hosts {
			first[i] = kept
		} else if first[i-hosts] != kept {
			twice++
		}
	}
	if twice > hosts/4 {
		t.Errorf("%d of %d names are kept twice", twice, hosts)
	}
	longest := func() (n int) {
		for _, name := range c.names {
			n = max(n, len(name))
		}
		return n
	}
	rec, ok := c.record(line(strings.Repeat("x", 1<<20)))
	if !ok || len(rec.Observation.Fact.(model.RoundFact).App) != 1<<20 || longest() > longestName || len(c.names) > mostNames {
		t.Errorf("a long string: taken %v, %d strings are kept, the longest of %d bytes", ok, len(c.names), longest())
	}
}

// FuzzCanonical holds the fast decoder to encoding/json: what it takes, that takes too, and as the
// same record.
func FuzzCanonical(f *testing.F) {
	data, err := os.ReadFile("testdata/format1.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		f.Add(line)
	}
	f.Add([]byte(`{"seq":1,"t_ms":-1,"kind":"observation","body":{"source":"","at_ms":0,"fact":"sample","body":{}}}`))
	f.Fuzz(func(t *testing.T, line []byte) { sameAsJSON(t, line) })
}

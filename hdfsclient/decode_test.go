package hdfsclient

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/core/model"
)

func TestDecodeRecordings(t *testing.T) {
	t.Parallel()
	tests := []struct {
		file  string
		count int
		first model.Block
	}{
		{"GETFILEBLOCKLOCATIONS-x10.json", 10, model.Block{
			Offset: 0, Length: 1 << 20,
			Hosts: []string{"w23", "w11", "w22"}, Racks: []model.RackID{"/rack2", "/rack1", "/rack2"},
		}},
		{"GETFILEBLOCKLOCATIONS-x10-range.json", 1, model.Block{
			Offset: 1 << 20, Length: 1 << 20,
			Hosts: []string{"w32", "w33", "w11"}, Racks: []model.RackID{"/rack3", "/rack3", "/rack1"},
		}},
		{"GETFILEBLOCKLOCATIONS-tg2-part0.json", 2, model.Block{
			Offset: 0, Length: 16 << 20,
			Hosts: []string{"w11", "w33"}, Racks: []model.RackID{"/rack1", "/rack3"},
		}},
		{"GETFILEBLOCKLOCATIONS-empty-file.json", 0, model.Block{}},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			t.Parallel()
			got, err := newDecoder().decode(recording(t, tt.file))
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != tt.count {
				t.Fatalf("%d blocks, want %d", len(got), tt.count)
			}
			if tt.count > 0 {
				if diff := cmp.Diff(tt.first, got[0]); diff != "" {
					t.Errorf("first block (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// TestBothOperationsAgree compares the two answers that the same NameNode gave
// about the same file; it shuffles replicas from call to call.
func TestBothOperationsAgree(t *testing.T) {
	t.Parallel()
	d := newDecoder()
	var forms [2][]string
	for i, file := range []string{"GETFILEBLOCKLOCATIONS-x10.json", "GET_BLOCK_LOCATIONS-x10.json"} {
		blocks, err := d.decode(recording(t, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range blocks {
			var replicas []string
			for j := range b.Hosts {
				replicas = append(replicas, b.Hosts[j]+string(b.Racks[j]))
			}
			slices.Sort(replicas)
			forms[i] = append(forms[i], fmt.Sprint(b.Offset, b.Length, b.Corrupt, replicas))
		}
	}
	if diff := cmp.Diff(forms[0], forms[1]); diff != "" {
		t.Errorf("GETFILEBLOCKLOCATIONS against GET_BLOCK_LOCATIONS:\n%s", diff)
	}
}

func TestDecodeDialects(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, body string
		want       []model.Block
	}{
		{
			"racks of several levels",
			`{"BlockLocations":{"BlockLocation":[{"offset":0,"length":5,"hosts":["a"],"names":["1.2.3.4:9866"],"topologyPaths":["/dc1/row2/rack01/1.2.3.4:9866"]}]}}`,
			[]model.Block{{Length: 5, Hosts: []string{"a"}, Racks: []model.RackID{"/dc1/row2/rack01"}}},
		},
		{
			"corrupt, and without replicas",
			`{"BlockLocations":{"BlockLocation":[{"offset":0,"length":5,"corrupt":true,"hosts":["a"],"topologyPaths":["/r/1.2.3.4:1"]},{"offset":5,"length":1,"corrupt":true,"hosts":[],"names":[],"topologyPaths":[]}]}}`,
			[]model.Block{
				{Length: 5, Corrupt: true, Hosts: []string{"a"}, Racks: []model.RackID{"/r"}},
				{Offset: 5, Length: 1, Corrupt: true, Hosts: []string{}, Racks: []model.RackID{}},
			},
		},
		{
			"erasure coded: one block group on nine hosts",
			`{"BlockLocations":{"BlockLocation":[{"offset":0,"length":6291456,"hosts":["a","b","c","d","e","f","g","h","i"],"topologyPaths":["/1/x:1","/1/x:1","/1/x:1","/2/x:1","/2/x:1","/2/x:1","/3/x:1","/3/x:1","/3/x:1"]}]}}`,
			[]model.Block{{
				Length: 6291456, Hosts: []string{"a", "b", "c", "d", "e", "f", "g", "h", "i"},
				Racks: []model.RackID{"/1", "/1", "/1", "/2", "/2", "/2", "/3", "/3", "/3"},
			}},
		},
		{
			"one element for a list, numbers and truth as strings, null lists",
			`{"BlockLocations":{"BlockLocation":{"offset":"7","length":"5","corrupt":"true","cachedHosts":null,"hosts":["a"],"topologyPaths":["/r/x:1"]}}}`,
			[]model.Block{{Offset: 7, Length: 5, Corrupt: true, Hosts: []string{"a"}, Racks: []model.RackID{"/r"}}},
		},
		{
			"no list at all",
			`{"BlockLocations":{"BlockLocation":null}}`,
			[]model.Block{},
		},
		{
			"racks missing, short or of no name: the default rack",
			`{"BlockLocations":{"BlockLocation":[{"offset":0,"length":1,"hosts":["a","b","c","d"],"topologyPaths":["/r/x:1","/x:1","x:1"]}]}}`,
			[]model.Block{{Length: 1, Hosts: []string{"a", "b", "c", "d"}, Racks: []model.RackID{"/r", "/default-rack", "/default-rack", "/default-rack"}}},
		},
		{
			"more racks than hosts",
			`{"BlockLocations":{"BlockLocation":[{"topologyPaths":["/r/x:1","/q/x:1"],"offset":0,"length":1,"hosts":["a"]},{"topologyPaths":["/s/x:1"],"offset":1,"length":1,"hosts":["b"]}]}}`,
			[]model.Block{
				{Length: 1, Hosts: []string{"a"}, Racks: []model.RackID{"/r"}},
				{Offset: 1, Length: 1, Hosts: []string{"b"}, Racks: []model.RackID{"/s"}},
			},
		},
		{
			"hosts missing: addresses stand in",
			`{"BlockLocations":{"BlockLocation":[{"offset":0,"length":1,"hosts":["a",""],"names":["10.0.0.1:9866","10.0.0.2:9866","10.0.0.3"],"topologyPaths":["/r/x:1","/r/x:1","/r/x:1"]}]}}`,
			[]model.Block{{Length: 1, Hosts: []string{"a", "10.0.0.2", "10.0.0.3"}, Racks: []model.RackID{"/r", "/r", "/r"}}},
		},
		{
			"escapes",
			`{"BlockLocations":{"BlockLocation":[{"\u006fffset":3,"length":1,"hosts":["a\"\\b"],"topologyPaths":["\/r\u00e9\/x:1"]}]}}`,
			[]model.Block{{Offset: 3, Length: 1, Hosts: []string{`a"\b`}, Racks: []model.RackID{"/ré"}}},
		},
		{
			"located blocks without host name or location",
			`{"LocatedBlocks":{"fileLength":9,"lastLocatedBlock":null,"locatedBlocks":[{"startOffset":4,"isCorrupt":true,"block":{"blockId":1,"numBytes":5},"blockToken":{"urlString":"AA"},"locations":[{"ipAddr":"10.0.0.1","hostName":"","networkLocation":""},{"ipAddr":"10.0.0.2","hostName":"b","networkLocation":"/x/y"}]}]}}`,
			[]model.Block{{Offset: 4, Length: 5, Corrupt: true, Hosts: []string{"10.0.0.1", "b"}, Racks: []model.RackID{"/default-rack", "/x/y"}}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if !json.Valid([]byte(tt.body)) {
				t.Fatal("the test's own body is not JSON")
			}
			got, err := newDecoder().decode([]byte(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("blocks (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"nothing":               ``,
		"null":                  `null`,
		"no list":               `{"BlockLocations":{}}`,
		"another answer":        `{"FileStatus":{"length":1}}`,
		"a page":                `<html>`,
		"a list of numbers":     `{"BlockLocations":{"BlockLocation":[1,2]}}`,
		"an offset of text":     `{"BlockLocations":{"BlockLocation":[{"offset":"x","length":1}]}}`,
		"an offset below 0":     `{"BlockLocations":{"BlockLocation":[{"offset":-1,"length":1}]}}`,
		"a length below 0":      `{"LocatedBlocks":{"locatedBlocks":[{"startOffset":1,"block":{"numBytes":-4}}]}}`,
		"a host without a name": `{"BlockLocations":{"BlockLocation":[{"offset":1,"length":1,"hosts":[""]}]}}`,
		"a fraction":            `{"BlockLocations":{"BlockLocation":[{"offset":1.5,"length":1}]}}`,
		"too large a number":    `{"BlockLocations":{"BlockLocation":[{"offset":99999999999999999999,"length":1}]}}`,
		"something after":       `{"BlockLocations":{"BlockLocation":[]}} {}`,
	}
	for name, body := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := newDecoder().decode([]byte(body)); err == nil {
				t.Errorf("no error, but %v", got)
			}
		})
	}
	for _, file := range []string{"GETFILEBLOCKLOCATIONS-tg2-part0.json", "GET_BLOCK_LOCATIONS-x10-range.json"} {
		body := recording(t, file)
		d := newDecoder()
		for n := range len(body) {
			if got, err := d.decode(body[:n]); err == nil {
				t.Fatalf("%s: the first %d of %d bytes gave %v", file, n, len(body), got)
			}
		}
	}
}

// TestDecodeOwnsItsBlocks reuses the answer's memory and the decoder, as the
// client does.
func TestDecodeOwnsItsBlocks(t *testing.T) {
	t.Parallel()
	d := newDecoder()
	body := recording(t, "GETFILEBLOCKLOCATIONS-x10.json")
	first, err := d.decode(body)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := newDecoder().decode(recording(t, "GETFILEBLOCKLOCATIONS-x10.json"))
	clear(body)
	if _, err := d.decode(recording(t, "GET_BLOCK_LOCATIONS-x10.json")); err != nil {
		t.Fatal(err)
	}
	_ = append(first[0].Hosts, "intruder")
	if diff := cmp.Diff(want, first); diff != "" {
		t.Errorf("blocks changed after they were handed out:\n%s", diff)
	}
}

func TestDecodeAllocates(t *testing.T) {
	body := newFake(t).locations("GETFILEBLOCKLOCATIONS", 0, 1000)
	d := newDecoder()
	got := testing.AllocsPerRun(10, func() {
		if blocks, err := d.decode(body); err != nil || len(blocks) != 1000 {
			t.Fatal(len(blocks), err)
		}
	})
	if got > 10 {
		t.Errorf("%v allocations for an answer of 1000 blocks, want at most 10", got)
	}
}

func TestInternIsBounded(t *testing.T) {
	t.Parallel()
	d := newDecoder()
	for i := range 3 * internLimit {
		d.intern(fmt.Appendf(nil, "host%d", i))
	}
	if len(d.names) > internLimit {
		t.Errorf("%d names are kept, the limit is %d", len(d.names), internLimit)
	}
	before := len(d.names)
	if long := strings.Repeat("x", internLength+1); d.intern([]byte(long)) != long || len(d.names) != before {
		t.Error("a name too long to keep was kept or changed")
	}
}

// TestDecodeRoundTrip writes random blocks as Hadoop does and reads them back.
func TestDecodeRoundTrip(t *testing.T) {
	t.Parallel()
	d := newDecoder()
	rapid.Check(t, func(t *rapid.T) {
		type replica struct{ host, rack string }
		name := rapid.StringN(1, 12, 40)
		want := []model.Block{}
		var list, located []map[string]any
		for range rapid.IntRange(0, 8).Draw(t, "blocks") {
			b := model.Block{
				Offset: model.Bytes(rapid.Int64Min(0).Draw(t, "offset")), Length: model.Bytes(rapid.Int64Min(0).Draw(t, "length")),
				Corrupt: rapid.Bool().Draw(t, "corrupt"), Hosts: []string{}, Racks: []model.RackID{},
			}
			paths, places := []string{}, []map[string]any{}
			for range rapid.IntRange(0, 9).Draw(t, "replicas") {
				r := replica{name.Draw(t, "host"), "/" + name.Draw(t, "rack")}
				b.Hosts, b.Racks = append(b.Hosts, r.host), append(b.Racks, model.RackID(r.rack))
				paths = append(paths, r.rack+"/10.0.0.1:9866")
				places = append(places, map[string]any{"hostName": r.host, "networkLocation": r.rack})
			}
			want = append(want, b)
			list = append(list, map[string]any{"offset": b.Offset, "length": b.Length, "corrupt": b.Corrupt, "hosts": b.Hosts, "topologyPaths": paths})
			located = append(located, map[string]any{"startOffset": b.Offset, "isCorrupt": b.Corrupt, "locations": places, "block": map[string]any{"numBytes": b.Length}})
		}
		for _, answer := range []any{
			map[string]any{"BlockLocations": map[string]any{"BlockLocation": list}},
			map[string]any{"LocatedBlocks": map[string]any{"locatedBlocks": located, "isLastBlockComplete": true}},
		} {
			body, err := json.MarshalIndent(answer, "", " ")
			if err != nil {
				t.Fatal(err)
			}
			got, err := d.decode(body)
			if err != nil {
				t.Fatalf("%v in %s", err, body)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("blocks (-want +got):\n%s", diff)
			}
		}
	})
}

// seed adds recordings to a fuzz target.
func seed(f *testing.F, patterns ...string) {
	f.Helper()
	for _, pattern := range patterns {
		files, err := filepath.Glob(filepath.Join("testdata", pattern))
		if err != nil || len(files) == 0 {
			f.Fatalf("no seeds for %s: %v", pattern, err)
		}
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b)
		}
	}
}

func FuzzBlockLocations(f *testing.F) {
	seed(f, "GET*BLOCK*.json", "unknown-op-400.json")
	f.Fuzz(func(t *testing.T, body []byte) {
		blocks, err := newDecoder().decode(body)
		if err != nil {
			return
		}
		for _, b := range blocks {
			if len(b.Hosts) != len(b.Racks) || b.Offset < 0 || b.Length < 0 {
				t.Fatalf("bad block %+v", b)
			}
			for i := range b.Hosts {
				if b.Hosts[i] == "" || !strings.HasPrefix(string(b.Racks[i]), "/") {
					t.Fatalf("bad replica in %+v", b)
				}
			}
		}
	})
}

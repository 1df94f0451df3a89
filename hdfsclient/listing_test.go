package hdfsclient

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/core/model"
)

func TestDecodeListing(t *testing.T) {
	t.Parallel()
	whole, err := decodeListing(recording(t, "LISTSTATUS-tg2.json"), "/data/tg2")
	if err != nil {
		t.Fatal(err)
	}
	batch, err := decodeListing(recording(t, "LISTSTATUS_BATCH-tg2.json"), "/data/tg2")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(whole, batch, cmp.AllowUnexported(page{}, fileStatus{})); diff != "" {
		t.Errorf("LISTSTATUS against LISTSTATUS_BATCH:\n%s", diff)
	}
	if len(whole.entries) != 11 || whole.last != "part-m-00009" {
		t.Fatalf("%d entries, the last %q", len(whole.entries), whole.last)
	}
	want := fileStatus{path: "/data/tg2/part-m-00000", length: 20000000, modified: 1795216008477, blockSize: 16777216}
	if !cmp.Equal(whole.entries[1], want, cmp.AllowUnexported(fileStatus{})) || want.blocks() != 2 {
		t.Errorf("got %+v of %d blocks, want %+v of 2", whole.entries[1], want.blocks(), want)
	}
	dirs, err := decodeListing(recording(t, "LISTSTATUS-data.json"), "/")
	if err != nil || !dirs.entries[0].directory || dirs.entries[0].path != "/text" {
		t.Errorf("got %+v, %v; want the directory /text", dirs.entries[0], err)
	}
}

func TestDecodeListingRefuses(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"half":              `{"FileStatuses":{"FileStatus":[{"pathSuffix":"a"`,
		"another answer":    `{"boolean":true}`,
		"a slash in a name": `{"FileStatuses":{"FileStatus":[{"pathSuffix":"a/b","type":"FILE"}]}}`,
		"the parent":        `{"FileStatuses":{"FileStatus":[{"pathSuffix":"..","type":"DIRECTORY"}]}}`,
		"a length below 0":  `{"FileStatuses":{"FileStatus":[{"pathSuffix":"a","type":"FILE","length":-1}]}}`,
		"an empty page":     `{"DirectoryListing":{"partialListing":{"FileStatuses":{"FileStatus":[]}},"remainingEntries":5}}`,
	} {
		if got, err := decodeListing([]byte(body), "/d"); err == nil {
			t.Errorf("%s: no error, but %+v", name, got)
		}
	}
	if got, err := decodeStatus([]byte(`{"FileStatuses":{}}`), "/d"); err == nil {
		t.Errorf("a status of nothing: no error, but %+v", got)
	}
	p, err := decodeListing([]byte(`{"FileStatuses":{"FileStatus":{"pathSuffix":"a","type":"SYMLINK"}}}`), "/d")
	if err != nil || len(p.entries) != 0 {
		t.Errorf("a symbolic link gave %+v, %v; want nothing", p, err)
	}
}

func FuzzListing(f *testing.F) {
	seed(f, "LISTSTATUS*.json", "GETFILESTATUS*.json")
	f.Fuzz(func(t *testing.T, body []byte) {
		if s, err := decodeStatus(body, "/d"); err == nil && (s.length < 0 || s.blocks() < 0) {
			t.Fatalf("bad status %+v", s)
		}
		p, err := decodeListing(body, "/d")
		if err != nil {
			return
		}
		for _, s := range p.entries {
			if path.Dir(s.path) != "/d" || s.length < 0 || s.blocks() < 0 {
				t.Fatalf("bad entry %+v", s)
			}
		}
	})
}

func TestExpandBraces(t *testing.T) {
	t.Parallel()
	tests := []struct {
		pattern string
		want    []string
		bad     bool
	}{
		{"/a/b", []string{"/a/b"}, false},
		{"/a/{b,c}/d", []string{"/a/b/d", "/a/c/d"}, false},
		{"/{a/b,c}", []string{"/a/b", "/c"}, false},
		{"/{a,b{1,2}}x{3,}", []string{"/ax3", "/ax", "/b1x3", "/b1x", "/b2x3", "/b2x"}, false},
		{`/a\{b,c\}`, []string{`/a\{b,c\}`}, false},
		{"/a}b,c", []string{"/a}b,c"}, false},
		{"/{a}", []string{"/a"}, false},
		{"/{a,b", nil, true},
		{"/" + strings.Repeat("{a,b}", 40), nil, true},
	}
	for _, tt := range tests {
		got, err := expandBraces(tt.pattern)
		var bad *PathError
		if tt.bad != errors.As(err, &bad) || !cmp.Equal(tt.want, got) {
			t.Errorf("%s: got %q, %v; want %q, error %v", tt.pattern, got, err, tt.want, tt.bad)
		}
	}
}

func FuzzPattern(f *testing.F) {
	for _, p := range []string{"/a/{b,c{d,e}}/*", `/a\*/[!x-z]?`, "/{,}", "hdfs://nn:8020/a//b/", "/[", "/a/../b"} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, given string) {
		p, err := resolver{}.resolve(given)
		if err != nil {
			return
		}
		alternatives, err := expandBraces(p)
		if err != nil {
			return
		}
		if len(alternatives) > maxAlternatives {
			t.Fatalf("%d alternatives", len(alternatives))
		}
		for _, a := range alternatives {
			components, err := checkPattern(a)
			if err != nil {
				continue
			}
			for _, c := range components {
				if !isPattern(c) && !matches(c, unescape(c)) {
					t.Fatalf("component %q does not match itself", c)
				}
			}
		}
	})
}

func TestResolve(t *testing.T) {
	t.Parallel()
	r := resolver{authorities: []string{"mycluster", "nn1:8020"}}
	for given, want := range map[string]string{
		"/data":                            "/data",
		"//data///x/":                      "/data/x",
		"/":                                "/",
		"hdfs://mycluster/data/x":          "/data/x",
		"HDFS://NN1:8020/data":             "/data",
		"hdfs:///data":                     "/data",
		"hdfs:/data":                       "/data",
		"webhdfs://nn1:8020/a:b":           "/a:b",
		"/logs/10:30":                      "/logs/10:30",
		"hdfs://mycluster":                 "/",
		"hdfs://other/data":                "",
		"s3a://bucket/data":                "",
		"file:/data":                       "",
		"viewfs://c/data":                  "",
		"data/x":                           "",
		"":                                 "",
		"/data/../x":                       "",
		"/data/./x":                        "",
		"/a\x00b":                          "",
		"/" + strings.Repeat("x", maxPath): "",
	} {
		got, err := r.resolve(given)
		var bad *PathError
		if got != want || (want == "") != errors.As(err, &bad) {
			t.Errorf("%q: got %q, %v; want %q", given, got, err, want)
		}
	}
	if got, err := (resolver{}).resolve("hdfs://any:1/x"); got != "/x" || err != nil {
		t.Errorf("without authorities: %q, %v", got, err)
	}
}

// tree is what the walks below go through.
func tree(f *fakeNameNode) {
	for name, blocks := range map[string]int{
		"/in/2026/11/a.gz": 1, "/in/2026/11/b.gz": 2, "/in/2026/12/a.gz": 3, "/in/2026/12/.crc": 1,
		"/in/2026/12/_temporary/0/part": 1, "/in/2026/_SUCCESS": 0, "/in/2026/empty": 0,
		"/in/2025/12/c.gz": 1, "/in/_old/12/d.gz": 1, "/one": 4, "/odd/a[1] b+c%d;e?": 1, "/odd/ü": 1,
	} {
		f.put(name, blocks)
	}
}

func TestWalk(t *testing.T) {
	t.Parallel()
	tests := []struct {
		path string
		want []string
	}{
		{"/one", []string{"/one"}},
		{"hdfs://nn:8020/in/2026/", []string{"/in/2026/11/a.gz", "/in/2026/11/b.gz", "/in/2026/12/a.gz", "/in/2026/empty"}},
		{"/in/2026/12", []string{"/in/2026/12/a.gz"}},
		{"/in/*/12", []string{"/in/2025/12/c.gz", "/in/2026/12/a.gz", "/in/_old/12/d.gz"}},
		{"/in/202?/1[12]/a.gz", []string{"/in/2026/11/a.gz", "/in/2026/12/a.gz"}},
		{"/in/2026/{11,12,13}/a*", []string{"/in/2026/11/a.gz", "/in/2026/12/a.gz"}},
		{"/in/2026/{11/a,12/a,11/*}.gz", []string{"/in/2026/11/a.gz", "/in/2026/11/b.gz", "/in/2026/12/a.gz"}},
		{"/in/202[!6]", []string{"/in/2025/12/c.gz"}},
		{"/in/202[^6]/*/*", []string{"/in/2025/12/c.gz"}},
		{"/in/2026/*", []string{"/in/2026/11/a.gz", "/in/2026/11/b.gz", "/in/2026/12/a.gz", "/in/2026/empty"}},
		{"/in/2026/_SUCCESS", []string{"/in/2026/_SUCCESS"}}, // written out, so meant
		{"/in/2026/12/_temporary", []string{"/in/2026/12/_temporary/0/part"}},
		{`/odd/a\[1\]*`, []string{"/odd/a[1] b+c%d;e?"}},
		{"/odd", []string{"/odd/a[1] b+c%d;e?", "/odd/ü"}},
		{"/one/*", nil},
		{"/in/2026/*.txt", nil},
		{"/nope/*", nil},
		{"/nope", nil},
		{"/{nope,neither}", nil},
	}
	for _, mode := range []string{"pages", "whole"} {
		for _, tt := range tests {
			t.Run(mode+strings.ReplaceAll(tt.path, "/", "|"), func(t *testing.T) {
				t.Parallel()
				f := newFake(t)
				tree(f)
				f.pageSize = 2
				if mode == "whole" {
					f.unknown = []string{"LISTSTATUS_BATCH"}
				}
				c := client(t, Config{}, f)
				p, err := c.paths.resolve(tt.path)
				if err != nil {
					t.Fatal(err)
				}
				w := &walk{ns: c.web, maxFiles: 100, maxBlocks: 100}
				err = w.run(t.Context(), p)
				if (tt.want == nil) != errors.Is(err, fs.ErrNotExist) || (tt.want != nil && err != nil) {
					t.Fatal(err)
				}
				var got []string
				for _, s := range w.files {
					got = append(got, s.path)
				}
				slices.Sort(got)
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("files (-want +got):\n%s", diff)
				}
				if mode == "whole" && f.count("LISTSTATUS_BATCH") > 1 {
					t.Errorf("LISTSTATUS_BATCH was tried %d times", f.count("LISTSTATUS_BATCH"))
				}
			})
		}
	}
}

// TestOddNames: names that mean something in a URL.
func TestOddNames(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	tree(f)
	c := client(t, Config{User: "a&b"}, f)
	got, err := c.Blocks(t.Context(), "/odd")
	if err != nil || len(got.Blocks) != 2 {
		t.Errorf("got %+v, %v; want two blocks", got, err)
	}
	if got, err := c.BlockLocations(t.Context(), "/odd/a[1] b+c%d;e?"); err != nil || len(got) != 1 {
		t.Errorf("got %+v, %v; want one block", got, err)
	}
}

func TestWalkLimits(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name             string
		files, blocks    int
		wantFiles, want  int
		wantTruncated    bool
		wantLocationAsks int
	}{
		{"all", 100, 100, 5, 50, false, 5},
		{"exactly all", 5, 50, 5, 50, false, 5},
		{"files", 3, 100, 3, 30, true, 3},
		{"blocks, on a file's end", 100, 20, 2, 20, true, 2},
		{"blocks, within a file", 100, 25, 3, 25, true, 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			for i := range 5 {
				f.put(fmt.Sprintf("/d/f%d", i), 10)
			}
			c := client(t, Config{MaxFiles: tt.files, MaxBlocks: tt.blocks}, f)
			got, err := c.Blocks(t.Context(), "/d")
			if err != nil {
				t.Fatal(err)
			}
			if got.Files != tt.wantFiles || len(got.Blocks) != tt.want || got.Truncated != tt.wantTruncated || f.locationRequests() != tt.wantLocationAsks {
				t.Errorf("got %d files, %d blocks, truncated %v with %d requests; want %+v",
					got.Files, len(got.Blocks), got.Truncated, f.locationRequests(), tt)
			}
		})
	}
	t.Run("entries", func(t *testing.T) {
		t.Parallel()
		f := newFake(t)
		for i := range 100 {
			f.put(fmt.Sprintf("/d/_hidden%d", i), 1)
		}
		got, err := client(t, Config{MaxFiles: 5}, f).Blocks(t.Context(), "/d/*")
		if err != nil || !got.Truncated || got.Files != 0 {
			t.Errorf("got %+v, %v; want a truncated list of nothing", got, err)
		}
	})
}

// TestWalkLargeFile reads a file in several requests.
func TestWalkLargeFile(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.put("/large", 2*blocksPerRequest+100)
	got, err := client(t, Config{}, f).Blocks(t.Context(), "/large")
	if err != nil {
		t.Fatal(err)
	}
	if f.locationRequests() != 3 || len(got.Blocks) != 2*blocksPerRequest+100 {
		t.Fatalf("%d blocks in %d requests", len(got.Blocks), f.locationRequests())
	}
	for i, b := range got.Blocks {
		if b.Offset != model.Bytes(i)*fakeBlock {
			t.Fatalf("block %d is at %d", i, b.Offset)
		}
	}
}

// TestLocateOverlap: blocks that are not of the file's block size, as after an
// append, lie in two ranges and come once.
func TestLocateOverlap(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.put("/appended", 30)
	c := client(t, Config{}, f)
	for _, size := range []int64{700, 1000, fakeBlock / blocksPerRequest, 3 * fakeBlock / blocksPerRequest} {
		got, err := c.web.locate(t.Context(), &fileStatus{path: "/appended", length: 30 * fakeBlock, blockSize: size}, 30*fakeBlock)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != 30 {
			t.Errorf("%d blocks by ranges of %d bytes, want 30", len(got), size*blocksPerRequest)
		}
		for i, b := range got {
			if b.Offset != model.Bytes(i)*fakeBlock {
				t.Fatalf("block %d is at %d", i, b.Offset)
			}
		}
	}
}

// TestWalkEndlessListing meets answers that would never end.
func TestWalkEndlessListing(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"the same page again":      `{"DirectoryListing":{"partialListing":{"FileStatuses":{"FileStatus":[{"pathSuffix":"a","type":"FILE","length":1}]}},"remainingEntries":5}}`,
		"always a directory below": `{"FileStatuses":{"FileStatus":[{"pathSuffix":"` + strings.Repeat("d", 255) + `","type":"DIRECTORY"}]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			f.dirs["/d"] = true
			f.override = func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Query().Get("op") != "LISTSTATUS_BATCH" {
					return false
				}
				reply(w, 200, []byte(body))
				return true
			}
			_, err := client(t, Config{}, f).Blocks(t.Context(), "/d")
			if err == nil || pollResult(err) != model.PollInvalid {
				t.Errorf("%v is %s, want invalid", err, pollResult(err))
			}
		})
	}
}

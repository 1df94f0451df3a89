package fsck_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/core/lab/measured/fsck"
)

func read(t *testing.T, text string) ([]fsck.File, error) {
	t.Helper()
	var files []fsck.File
	err := fsck.Each(strings.NewReader(text), func(f *fsck.File) error {
		files = append(files, *f)
		return nil
	})
	return files, err
}

// TestEach reads the report of a real cluster, with missing blocks and complaints.
func TestEach(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/missing.txt")
	if err != nil {
		t.Fatal(err)
	}
	files, err := read(t, string(data))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 4 || files[3].Path != "/with space, odd 5 bytes" || files[0].Path != "/single" || len(files[0].Blocks) != 6 || files[2].Path != "/wide" || files[2].Bytes != 786432 {
		t.Fatalf("%+v", files)
	}
	want := fsck.File{Path: "/ten", Bytes: 1048576, Blocks: []fsck.Block{
		{262144, []fsck.Replica{{"/rack3", "10.77.3.12"}, {"/rack2", "10.77.2.11"}}},
		{262144, []fsck.Replica{{"/rack1", "10.77.1.12"}, {"/rack1", "10.77.1.11"}, {"/rack3", "10.77.3.12"}}},
		{262144, []fsck.Replica{{"/rack1", "10.77.1.12"}, {"/rack3", "10.77.3.12"}, {"/rack1", "10.77.1.11"}}},
		{262144, []fsck.Replica{{"/rack2", "10.77.2.11"}, {"/rack2", "10.77.2.12"}}},
	}}
	if diff := cmp.Diff(want, files[1]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if missing := files[0].Blocks[0]; missing.Bytes != 262144 || missing.Replicas != nil {
		t.Errorf("a missing block: %+v", missing)
	}
}

// TestOtherReports reads what Hadoop 2 prints, and reports without racks.
func TestOtherReports(t *testing.T) {
	t.Parallel()
	files, err := read(t, `/user <dir>
/user/a b 40 bytes, 2 block(s):  OK
0. BP-1-10.0.0.1-2:blk_3_4 len=32 repl=2 [/dc/r1/10.0.0.1:50010, /dc/r2/10.0.0.2:50010]
1. BP-1-10.0.0.1-2:blk_4_4 len=8 Live_repl=1 [DatanodeInfoWithStorage[10.0.0.3:50010,DS-1,DISK]]

/user/ec 40 bytes, erasure-coded: policy=RS-6-3-1024k, 1 block(s):  OK
0. BP-1-10.0.0.1-2:blk_-9_4 len=40 Live_repl=1  [blk_-9:/r/10.0.0.1:9866]

/user/six 4 bytes, replicated: replication=1, 1 block(s):  OK
0. BP-1-10.0.0.1-2:blk_3_4 len=4 Live_repl=1 [/r1/[fe80::1]:9866(LIVE)]
`)
	want := []fsck.File{
		{Path: "/user/a b", Bytes: 40, Blocks: []fsck.Block{{32, []fsck.Replica{{"/dc/r1", "10.0.0.1"}, {"/dc/r2", "10.0.0.2"}}}, {8, []fsck.Replica{{"", "10.0.0.3"}}}}},
		{Path: "/user/six", Bytes: 4, Blocks: []fsck.Block{{4, []fsck.Replica{{"/r1", "fe80::1"}}}}},
	}
	if diff := cmp.Diff(want, files); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	const file = "/a 4 bytes, replicated: replication=1, 1 block(s):  OK\n"
	for text, want := range map[string]string{ // order-free: each on its own
		"":                                      "line 1: there is no file with its blocks in it",
		file:                                    "line 2: 1 blocks of /a are not listed",
		file + file:                             "line 2: 1 blocks of /a are not listed",
		file + "1. x len=4 [/r/a:1]":            "line 2: block 1 of /a where block 0 belongs",
		file + "0. x":                           "line 2: block 0 of /a: want its length",
		file + "0. x len=y":                     `line 2: block 0 of /a: its length "y" is no number of bytes`,
		file + "0. x len=4 Live_repl=1":         "line 2: block 0 of /a: want its replicas in brackets",
		file + "0. x len=4 Live_repl=1 [r/a:1]": `line 2: block 0 of /a: replica "r/a:1" is no rack and address`,
		file + "0. x len=4 Live_repl=1 [/r/a]":  `line 2: block 0 of /a: replica "/r/a" is no rack and address`,
		"/a x bytes, 1 block(s): OK":            `line 1: "x" is no number of bytes`,
		"/a 4 bytes, many block(s): OK":         `line 1: "many": want the number of blocks`,
	} {
		if _, err := read(t, text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestMatches(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		input, file string
		want        bool
	}{
		{"/in", "/in/part-0", true},
		{"hdfs://nn:8020/in/", "/in/part-0", true},
		{"hdfs:/in", "/in/part-0", true},
		{"hdfs://nn", "/part-0", true},
		{"/in/part-0", "/in/part-0", true},
		{"/in/_hidden", "/in/_hidden", true},
		{"/in", "/in/_SUCCESS", false},
		{"/in", "/in/.tmp", false},
		{"/in", "/in/below/part-0", false},
		{"/in", "/input/part-0", false},
		{"/in/*", "/in/part-0", true},
		{"/in/*", "/in/below/part-0", true},
		{"/in/2026-1[12]", "/in/2026-11/a", true},
		{"/in/2026-1[12]", "/in/2026-13/a", false},
		{"/in/[", "/in/a", false},
	} {
		if got := fsck.Matches(c.input, c.file); got != c.want {
			t.Errorf("%s reads %s: %v", c.input, c.file, got)
		}
	}
}

// FuzzEach holds that any text is read or refused with its line.
func FuzzEach(f *testing.F) {
	data, err := os.ReadFile("testdata/missing.txt")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(data))
	f.Add("/a 4 bytes, 1 block(s): OK\n0. x len=4 repl=1 [DatanodeInfoWithStorage[a:1,DS,DISK]]\n")
	f.Fuzz(func(t *testing.T, text string) {
		err := fsck.Each(strings.NewReader(text), func(*fsck.File) error { return nil })
		var e *fsck.Error
		if err != nil && (!errors.As(err, &e) || e.Line < 1 || e.Line > strings.Count(text, "\n")+2) {
			t.Errorf("%v", err)
		}
	})
}

package hadoop

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const fsckPool = "BP-1-10.77.0.10-2:blk_"

func TestParseFsck(t *testing.T) {
	t.Parallel()
	const head = "FSCK started by root (auth:SIMPLE) from /10.77.0.10 for path / at Sat Nov 21 01:27:20 UTC 2026\n\n/ <dir>\n"
	tests := []struct {
		name, text, err string
		want            []FsckFile
	}{
		{"nothing", head, "", nil},
		{"empty file", head + "/e 0 bytes, replicated: replication=2, 0 block(s):  OK\n\n", "", []FsckFile{{Path: "/e", Replication: 2}}},
		{
			"blanks and figures in the name, nested racks",
			head + "/a 5 bytes, b 7 bytes, replicated: replication=2, 1 block(s):  OK\n0. " + fsckPool + "3_4 len=7 Live_repl=2  [/dc1/rack1/10.0.0.1:9866, /rack2/10.0.0.2:9866]\n", "",
			[]FsckFile{{"/a 5 bytes, b", 7, 2, []FsckBlock{{fsckPool + "3_4", 7, []FsckReplica{{"/dc1/rack1", "10.0.0.1:9866"}, {"/rack2", "10.0.0.2:9866"}}}}}},
		},
		{
			"complaints come before the blocks",
			head + "/a 7 bytes, replicated: replication=9, 1 block(s):  Under replicated " + fsckPool + "3_4. Target Replicas is 9\n Under replicated x\n0. " + fsckPool + "3_4 len=7 Live_repl=1  [/r/10.0.0.1:9866]\n", "",
			[]FsckFile{{"/a", 7, 9, []FsckBlock{{fsckPool + "3_4", 7, []FsckReplica{{"/r", "10.0.0.1:9866"}}}}}},
		},
		{"too few blocks at the end", head + "/a 7 bytes, replicated: replication=9, 1 block(s):  OK\n", "1 blocks of /a", nil},
		{"too few blocks before a file", head + "/a 7 bytes, replicated: replication=9, 1 block(s):  OK\n/e 0 bytes, replicated: replication=2, 0 block(s):  OK\n", "line 5: 1 blocks of /a", nil},
		{"a block that is none", head + "/a 7 bytes, replicated: replication=9, 1 block(s):  OK\n0. what\n", `"0. what"`, nil},
		{"wrong order", head + "/a 7 bytes, replicated: replication=9, 2 block(s):  OK\n1. " + fsckPool + "3_4 len=7 Live_repl=1  [/r/10.0.0.1:9866]\n", "block 1 where block 0", nil},
		{"wrong count", head + "/a 7 bytes, replicated: replication=9, 1 block(s):  OK\n0. " + fsckPool + "3_4 len=7 Live_repl=2  [/r/10.0.0.1:9866]\n", "lists 1 replicas and counts 2", nil},
		{"no rack", head + "/a 7 bytes, replicated: replication=9, 1 block(s):  OK\n0. " + fsckPool + "3_4 len=7 Live_repl=1  [10.0.0.1:9866]\n", "not a rack", nil},
		{"a length beyond all", head + "/a 99999999999999999999 bytes, replicated: replication=9, 1 block(s):  OK\n", "line 4", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := ParseFsck(strings.NewReader(tt.text))
			if (err != nil) != (tt.err != "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Fatalf("error %v, want %q", err, tt.err)
			}
			if err != nil {
				return
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// fsckSummary is what the report itself says at its end.
type fsckSummary struct{ Files, Blocks, Missing int }

// TestParseFsckOfARealNameNode compares with the totals at the end of real
// reports: of a healthy file system with a file that wants more replicas than
// there are DataNodes, and of one that has lost blocks.
func TestParseFsckOfARealNameNode(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"fsck-healthy.txt", "fsck-missing.txt"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile("testdata/" + name)
			if err != nil {
				t.Fatal(err)
			}
			files, err := ParseFsck(bytes.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			got := fsckSummary{Files: len(files)}
			for _, f := range files {
				got.Blocks += len(f.Blocks)
				var size int64
				for _, b := range f.Blocks {
					size += b.Len
					if len(b.Replicas) == 0 {
						got.Missing++
					}
				}
				if size != f.Size {
					t.Errorf("%s has %d bytes and blocks of %d", f.Path, f.Size, size)
				}
			}
			want := fsckSummary{total(t, text, "Total files:"), total(t, text, "Total blocks (validated):"), total(t, text, "Missing blocks:")}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if wantMissing := name == "fsck-missing.txt"; (got.Missing > 0) != wantMissing {
				t.Errorf("%d blocks are missing", got.Missing)
			}
		})
	}
}

// total reads the number after the first occurrence of a label.
func total(t *testing.T, text []byte, label string) int {
	t.Helper()
	_, rest, ok := bytes.Cut(text, []byte(label))
	n, digits := 0, 0
	for _, c := range bytes.TrimSpace(rest) {
		if c < '0' || c > '9' {
			break
		}
		n, digits = n*10+int(c-'0'), digits+1
	}
	if !ok || digits == 0 {
		t.Fatalf("the report has no %q", label)
	}
	return n
}

func FuzzParseFsck(f *testing.F) {
	for _, name := range []string{"fsck-healthy.txt", "fsck-missing.txt"} {
		text, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		files, err := ParseFsck(bytes.NewReader(text))
		if err != nil {
			return
		}
		for _, file := range files {
			if !strings.HasPrefix(file.Path, "/") || file.Size < 0 {
				t.Errorf("file %+v", file)
			}
			for _, b := range file.Blocks {
				for _, r := range b.Replicas {
					if r.Rack == "" {
						t.Errorf("replica %+v", r)
					}
				}
			}
		}
	})
}

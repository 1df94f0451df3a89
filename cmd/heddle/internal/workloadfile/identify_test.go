package workloadfile

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOpenNamesTheImport gives files of other formats in place of workloads.
func TestOpenNamesTheImport(t *testing.T) {
	t.Parallel()
	const lab = "../../../../core/lab/measured/"
	history, err := filepath.Glob("../../../../yarnproxy/jhist/testdata/*_0056-*")
	if err != nil || len(history) != 1 {
		t.Fatal(history, err)
	}
	file := func(name, text string) string {
		t.Helper()
		name = filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write([]byte("150 2\n1 0 1 22 1 65:1.0\n"))
	_ = z.Close()
	for name, want := range map[string]string{ // order-free: each on its own
		history[0]:                                        "is of format jhist: heddle import jhist ",
		lab + "rumen/testdata/jobs.json":                  "is of format rumen: heddle import rumen ",
		lab + "sls/testdata/trace.json":                   "is of format sls: heddle import sls ",
		file("a.jsonl", "150 2\n1 0 1 22 1 65:1.0\n"):     "is of format coflow: heddle import coflow ",
		file("a.txt.gz", packed.String()):                 "is of format coflow: heddle import coflow ",
		file("b.txt", "job0\t9\t9\t1762\t0\t14347\n"):     "is of format swim: heddle import swim ",
		file("c.jsonl", `{"format":1,"kind":"workload",`): "c.jsonl:1:",
		file("c.txt", "anything"):                         "the name must end in .tsv",
		file("d.tsv", "job0\t9\t9\t1762\t0\n"):            "5 columns",
		file("e.tsv", "job0\t9\t9\t1762\t0\t5\nx\n"):      "e.tsv:2:1: 1 columns",
	} {
		_, err := Open(name, false)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

func FuzzFormatOf(f *testing.F) {
	f.Add([]byte("Avro-Json\n{}\n"))
	f.Add([]byte("\x1f\x8b\x08\x00"))
	f.Fuzz(func(_ *testing.T, data []byte) { formatOf(beginning(bytes.NewReader(data))) })
}

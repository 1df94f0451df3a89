package workloadfile

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

func gzipped(text string) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, _ = z.Write([]byte(text))
	_ = z.Close()
	return out.Bytes()
}

func zstandard(tb testing.TB, text string) []byte {
	tb.Helper()
	z, err := zstd.NewWriter(nil, zstd.WithWindowSize(zstd.MinWindowSize), zstd.WithEncoderConcurrency(1))
	if err != nil {
		tb.Fatal(err)
	}
	return z.EncodeAll([]byte(text), nil)
}

// TestOpenNamesTheImport gives files of other formats in place of workloads.
func TestOpenNamesTheImport(t *testing.T) {
	t.Parallel()
	const lab = "../../../../core/lab/measured/"
	const coflow = "150 2\n1 0 1 22 1 65:1.0\n"
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
	for name, want := range map[string]string{ // order-free: each on its own
		history[0]:                                        "is of format jhist: heddle import jhist ",
		lab + "rumen/testdata/jobs.json":                  "is of format rumen: heddle import rumen ",
		lab + "sls/testdata/trace.json":                   "is of format sls: heddle import sls ",
		file("a.jsonl", coflow):                           "is of format coflow: heddle import coflow ",
		file("a.txt.gz", string(gzipped(coflow))):         "is of format coflow: heddle import coflow ",
		file("a.txt.zst", string(zstandard(t, coflow))):   "is of format coflow: heddle import coflow ",
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

// FuzzFormatOf looks at the beginning of any file: no more of it than the limit, whatever it
// decompresses to.
func FuzzFormatOf(f *testing.F) {
	for _, text := range []string{
		"Avro-Json\n{}\n", "Avro-Binary\r\n{}\n", ` { "user" : "a", "jobID" : "b"}`, `{"num.nodes":1}`, `{ "job.id": 1}`,
		"150 2\n1 0 1 22 1 65:1.0\n", "job0\t9\t9\t1762\t0\t14347\t/in\n", "\x1f\x8b\x08\x00", "\x28\xb5\x2f\xfd\x00\x00",
	} {
		f.Add([]byte(text))
		f.Add(gzipped(text))
		f.Add(zstandard(f, text))
	}
	f.Add(gzipped(strings.Repeat(" ", 2*identifyBytes)))
	f.Add(zstandard(f, strings.Repeat(" ", 2*identifyBytes)))
	f.Fuzz(func(t *testing.T, data []byte) {
		var h zstd.Header
		if len(data) > 4<<10 || h.Decode(data) == nil && max(h.WindowSize, h.FrameContentSize) > 256<<10 {
			return // to clear memory for a large window takes more time than all else
		}
		head := beginning(bytes.NewReader(data))
		if len(head) > identifyBytes {
			t.Fatalf("%d bytes of the file", len(head))
		}
		formatOf(head)
	})
}

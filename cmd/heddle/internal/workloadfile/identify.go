package workloadfile

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"regexp"

	"github.com/klauspost/compress/zstd"
)

// identifyBytes is how much of a file is looked at to tell what it is.
const identifyBytes = 64 << 10

// importFormat returns the format of 'heddle import' that a file looks like, "" if none.
func importFormat(name string) string {
	f, err := os.Open(name) //nolint:gosec // the operator names it
	if err != nil {
		return ""
	}
	defer f.Close() //nolint:errcheck // it was only read
	return formatOf(beginning(f))
}

// beginning returns the first bytes of a file, uncompressed.
func beginning(f io.Reader) []byte {
	in := bufio.NewReader(f)
	start, _ := in.Peek(4) // a shorter file is not compressed
	var from io.Reader = in
	switch {
	case bytes.HasPrefix(start, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil
		}
		from = z
	case bytes.Equal(start, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(in, zstd.WithDecoderMaxMemory(64<<20), zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil
		}
		defer z.Close()
		from = z
	}
	head, _ := io.ReadAll(io.LimitReader(from, identifyBytes)) // what there is
	return head
}

// How files of each format of 'heddle import' begin.
var (
	beginsJhist  = regexp.MustCompile(`^Avro-(Json|Binary)\r?\n`)
	beginsRumen  = regexp.MustCompile(`^\s*\{[^{]*"jobID"\s*:`)
	beginsSLS    = regexp.MustCompile(`^\s*\{\s*"(num\.nodes|am\.|job\.)`)
	beginsCoflow = regexp.MustCompile(`^\d+ \d+\s*\n\d+ \d+ \d+ `)
	beginsSWIM   = regexp.MustCompile(`^[^\t\n]+\t\d+\t\d+\t\d+\t\d+\t\d+[\t\r\n]`)
)

// formatOf returns the format of 'heddle import' that a file begins like, "" if none.
func formatOf(head []byte) string {
	switch {
	case beginsJhist.Match(head):
		return "jhist"
	case beginsRumen.Match(head):
		return "rumen"
	case beginsSLS.Match(head):
		return "sls"
	case beginsCoflow.Match(head):
		return "coflow"
	case beginsSWIM.Match(head):
		return "swim"
	}
	return ""
}

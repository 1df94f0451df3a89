package recording

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/klauspost/compress/zstd"

	"heddle/core/trace"
)

const (
	minuteMS = 60_000
	dayMS    = 24 * 60 * minuteMS
	beginMS  = 1_795_000_000_000
)

// script is a file of a recording: a header and bodies of records.
type script struct {
	header string // fields of the header beside those that have to be there
	after  int    // records in the files before, 0 for the first file
	lines  []string
}

// text returns the file; records are numbered on from those before.
func (s script) text() string {
	var out strings.Builder
	fmt.Fprintf(&out, `{"format":2,"tool_version":"","config_hash":"","policy":"","seed":1,"pseudonymized":false,%s}`+"\n", s.header)
	lines := s.lines
	if s.after > 0 {
		lines = append([]string{fmt.Sprintf(`"t_ms":1,"kind":"mark","body":{"mark":"continues","after":%d}`, s.after)}, lines...)
	}
	for i, l := range lines {
		fmt.Fprintf(&out, `{"seq":%d,%s}`+"\n", s.after+i+1, l)
	}
	return out.String()
}

func at(ms int64, fact, body string) string {
	return fmt.Sprintf(`"t_ms":%d,"kind":"observation","body":{"source":"rm","at_ms":%d,"fact":"%s","body":%s}`, ms, ms, fact, body)
}

func nodesOf(ms int64, hosts ...string) string {
	var list []string
	for _, h := range hosts {
		list = append(list, fmt.Sprintf(`{"id":"%s:1","host":"%s"}`, h, h))
	}
	return at(ms, "nodes", `{"nodes":[`+strings.Join(list, ",")+`]}`)
}

func clusterOf(started int64, address string) string {
	return at(beginMS, "cluster", fmt.Sprintf(`{"started_ms":%d,"address":"%s"}`, started, address))
}

const restartMark = `"t_ms":1,"kind":"mark","body":{"mark":"restarted","header":{"start_ms":9}}`

// readScripts reads files as one recording, and returns how many records came before the error.
func readScripts(steps bool, files ...script) (n int, err error) {
	fsys := fstest.MapFS{}
	for i, s := range files {
		fsys[partName("in.jsonl", i)] = &fstest.MapFile{Data: []byte(s.text())}
	}
	r, err := Open(fsys, "in.jsonl")
	if err != nil {
		return 0, err
	}
	defer r.Close()
	if steps {
		r.AllowClockSteps()
	}
	for _, err := range r.Records() {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// TestMixed reads files that do not belong together, and such as do although much changed.
func TestMixed(t *testing.T) {
	t.Parallel()
	const b, one, two = beginMS, `"start_ms":1795000000000`, `"start_ms":1795000000001`
	begins := []string{clusterOf(5, "rm1:8088"), nodesOf(b, "a", "b")}
	first := script{header: one, lines: begins}
	second := func(header string, lines ...string) script { return script{header: header, after: 2, lines: lines} }
	for _, tt := range []struct {
		name   string
		files  []script
		says   string // "" for no error
		record int    // of the file
	}{
		{"one service", []script{first, second(one, nodesOf(b, "a", "b"))}, "", 0},
		{"another service", []script{first, second(two, nodesOf(b, "a", "b"))}, "the header of in.1.jsonl (start_ms 1795000000001, config_hash \"\") is not that of in.jsonl", 2},
		{"another topology", []script{first, second(one+`,"topology":{"/r":["x"]}`, nodesOf(b, "a", "b"))}, "no restart is marked", 2},
		{"a restarted service", []script{first, second(two, restartMark, clusterOf(6, "rm9:1"), nodesOf(b, "x"))}, "", 0},
		{"restarted twice, once for nothing", []script{first, second(two), {header: one, after: 3, lines: []string{restartMark}}}, "", 0},
		{"the mark comes too late", []script{first, second(two, nodesOf(b, "a"), restartMark)}, "no restart is marked", 2},
		{"another mark first", []script{first, second(two, `"t_ms":1,"kind":"mark","body":{"mark":"dropped","count":3}`)}, "no restart is marked", 2},
		{"other nodes in the next file", []script{first, second(one, clusterOf(6, "rm1:8088"), nodesOf(b, "x", "y"))}, "none of the 2 nodes in in.1.jsonl is among the 2 that in.jsonl listed", 3},
		{"one node stays", []script{first, second(one, clusterOf(6, "rm1:8088"), nodesOf(b, "x", "b"))}, "", 0},
		{"only some are listed", []script{first, second(one, clusterOf(6, "rm1:8088"), at(b, "nodes", `{"nodes":[{"id":"x:1","host":"x"}],"partial":true}`))}, "", 0},
		{"no nodes yet", []script{first, second(one, clusterOf(6, "rm1:8088"), nodesOf(b), nodesOf(b, "b"))}, "", 0},
		{"no nodes, then others", []script{first, second(one, clusterOf(6, "rm1:8088"), nodesOf(b), nodesOf(b, "x"))}, "none of the 1 nodes", 4},
		{"failover", []script{{header: one, lines: append(begins, clusterOf(6, "rm2:8088"), nodesOf(b, "b", "c"))}}, "", 0},
		{"failover to another cluster", []script{{header: one, lines: append(begins, clusterOf(6, "rm2:8088"), nodesOf(b, "x"))}}, "files of two clusters", 4},
		{"restart on new nodes", []script{{header: one, lines: append(begins, clusterOf(6, "rm1:8088"), nodesOf(b, "x"))}}, "", 0},
		{"new nodes without a restart", []script{first, second(one, clusterOf(5, "rm1:8088"), nodesOf(b, "x"))}, "", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			checkRead(t, tt.files, tt.says, tt.record, trace.ErrMixed)
		})
	}
}

// checkRead reads files, and wants an error at a record of the last file, or none.
func checkRead(t *testing.T, files []script, says string, record int, want error) {
	t.Helper()
	_, err := readScripts(false, files...)
	if says == "" {
		if err != nil {
			t.Error(err)
		}
		return
	}
	var position *trace.PositionError
	if !errors.Is(err, want) || !errors.As(err, &position) || !strings.Contains(err.Error(), says) {
		t.Fatalf("got %v, want %v with %q", err, want, says)
	}
	last := files[len(files)-1].text()
	offset := 0
	for range record {
		offset += strings.IndexByte(last[offset:], '\n') + 1
	}
	if int(position.Record) != record || position.Offset != int64(offset) {
		t.Errorf("at record %d, byte %d; want %d, %d", position.Record, position.Offset, record, offset)
	}
}

// TestClockSteps reads records whose times do not go on.
func TestClockSteps(t *testing.T) {
	t.Parallel()
	const b = int64(beginMS)
	poll := func(ms int64) string { return at(ms, "poll", `{"result":"ok"}`) }
	decision := func(ms int64) string {
		return fmt.Sprintf(`"t_ms":%d,"kind":"decision","body":{"seq":1,"at_ms":%d,"policy":"fifo","plan":{}}`, ms, ms)
	}
	const header = `"start_ms":1795000000000`
	for _, tt := range []struct {
		name   string
		header string
		lines  []string
		says   string
		record int
	}{
		{"runs on", header, []string{poll(b), poll(b + 1), decision(b + 2)}, "", 0},
		{"a little back", header, []string{poll(b + minuteMS), poll(b), poll(b + minuteMS)}, "", 0},
		{"back in small steps", header, []string{poll(b + minuteMS), poll(b), poll(b - 1)}, "before", 3},
		{"back", header, []string{poll(b + minuteMS + 1), poll(b)}, "2026-11-18T11:06:40.000Z (1795000000000) is before 2026-11-18T11:07:40.001Z", 2},
		{"a decision goes back", header, []string{poll(b + minuteMS + 1), decision(b)}, "before", 2},
		{"nearly a day on", header, []string{poll(b), poll(b + dayMS)}, "", 0},
		{"more than a day on", header, []string{poll(b), poll(b + dayMS + 1)}, "more than a day after", 2},
		{"before the recording", header, []string{poll(b - minuteMS - 1)}, "before", 1},
		{"long after its beginning", header, []string{poll(b + dayMS + 1)}, "more than a day after", 1},
		{"no start", `"start_ms":0`, []string{poll(b), poll(5)}, "before", 2},
		{"only the source's time", header, []string{strings.Replace(poll(b), `"at_ms":`, `"at_ms":1`, 1)}, "more than a day", 1},
		{"as late as can be", header, []string{poll(b), poll(1<<63 - 1)}, "more than a day", 2},
		{"as early as can be", header, []string{poll(b), poll(0)}, "before", 2},
		{"after a restart", header, []string{poll(b), restartMark, poll(b + 10*dayMS), poll(b + 10*dayMS)}, "", 0},
		{"marks have any time", header, []string{poll(b), `"t_ms":5,"kind":"mark","body":{"mark":"dropped"}`, poll(b)}, "", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			files := []script{{header: tt.header, lines: tt.lines}}
			checkRead(t, files, tt.says, tt.record, trace.ErrClock)
			if n, err := readScripts(true, files...); err != nil || n != len(tt.lines) {
				t.Errorf("with steps allowed: %d records, %v", n, err)
			}
		})
	}
}

// A time before 1970 is refused whatever is allowed.
func TestNoTime(t *testing.T) {
	t.Parallel()
	for _, line := range []string{at(-1, "poll", `{"result":"ok"}`), strings.Replace(at(5, "poll", `{"result":"ok"}`), `"at_ms":5`, `"at_ms":-9223372036854775808`, 1)} {
		for _, steps := range []bool{false, true} {
			if _, err := readScripts(steps, script{header: `"start_ms":1`, lines: []string{line}}); !errors.Is(err, trace.ErrGarbage) || !strings.Contains(err.Error(), "record 1 at byte 104: not a recording: the time -") {
				t.Errorf("%s: %v", line, err)
			}
		}
	}
}

// zstdBomb returns a zstd frame that repeats a byte for 10 GiB after some text.
func zstdBomb(text string, repeated byte) []byte {
	const block = 128 << 10
	return zstdFrame(0x58, text, repeated, block, 10<<30/block) // a window of 2 MiB
}

// zstdFrame returns a zstd frame of some text and n blocks that repeat a byte.
func zstdFrame(window byte, text string, repeated byte, block, n int) []byte {
	frame := []byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, window} // no checksum, no size
	header := func(kind, size int, last bool) {
		h := uint32(size<<3 | kind<<1)
		if last {
			h |= 1
		}
		frame = append(frame, binary.LittleEndian.AppendUint32(nil, h)[:3]...)
	}
	header(0, len(text), n == 0)
	frame = append(frame, text...)
	for i := range n {
		header(1, block, i == n-1)
		frame = append(frame, repeated)
	}
	return frame
}

// TestBombs reads small files that decompress to 10 GiB, or say that they need a huge window: an
// error comes soon, with its place, and memory stays bounded. Not parallel: it measures.
func TestBombs(t *testing.T) {
	head := script{header: `"start_ms":1`}.text()
	record := head + `{"seq":1,"t_ms":1,"kind":"mark","body":{"mark":"note"}}` + "\n"
	for _, tt := range []struct {
		name   string
		data   []byte
		says   string
		record uint64
		offset int64
	}{
		{"a header without an end", zstdBomb(`{"format":2,"policy":"`, 'x'), "line too long", 0, 0},
		{"a record without an end", zstdBomb(record+`{"seq":2,"t_ms":1,"kind":"mark","body":{"mark":"`, 'x'), "line too long", 2, int64(len(record))},
		{"nothing but blanks", zstdBomb(record, ' '), "line too long", 2, int64(len(record))},
		{"nothing but lines", zstdBomb(record, '\n'), "not a recording", 2, int64(len(record))},
		{"brackets", zstdBomb(record, '['), "line too long", 2, int64(len(record))},
		{"a window of 2 GiB", []byte("\x28\xb5\x2f\xfd\x00\xa8" + "\x01\x00\x00"), "compress it again", 0, 0},
		{"a frame of 1 TiB", []byte("\x28\xb5\x2f\xfd\xe0\x00\x00\x00\x00\x00\x01\x00\x00" + "\x01\x00\x00"), "decompressed size", 0, 0},
	} {
		if testing.Short() && tt.name == "brackets" {
			continue
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := time.Now()
		r, err := Open(fstest.MapFS{"in.jsonl.zst": {Data: tt.data}}, "in.jsonl.zst")
		if err == nil {
			for _, e := range r.Records() {
				err = e
			}
			r.Close()
		}
		runtime.ReadMemStats(&after)
		var position *trace.PositionError
		if !errors.As(err, &position) || !strings.Contains(err.Error(), tt.says) || position.Record != tt.record || position.Offset != tt.offset {
			t.Errorf("%s: %v, want %q at record %d, byte %d", tt.name, err, tt.says, tt.record, tt.offset)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 8*trace.MaxLine {
			t.Errorf("%s: %d MiB of memory for a file of %d bytes", tt.name, used>>20, len(tt.data))
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("%s: it took %v", tt.name, took)
		}
		t.Logf("%s: %d bytes, %d MiB, %v: %v", tt.name, len(tt.data), (after.TotalAlloc-before.TotalAlloc)>>20, time.Since(began).Round(time.Millisecond), err)
	}
}

// FuzzFiles reads two files as one recording. Whatever is in them, an error names the file and
// has a place in it.
func FuzzFiles(f *testing.F) {
	const one = `"start_ms":1795000000000`
	first := script{header: one, lines: []string{clusterOf(5, "rm1:1"), nodesOf(beginMS, "a", "b")}}.text()
	second := script{header: one, after: 2, lines: []string{clusterOf(6, "rm1:1"), nodesOf(beginMS, "x")}}.text()
	f.Add([]byte(first), []byte(second))
	f.Add([]byte(first[:len(first)-9]), []byte(second))
	f.Add([]byte(first), []byte(strings.Replace(second, "1795000000000,", "5,", 1)))
	f.Add([]byte(first), []byte(script{header: `"start_ms":2`, after: 2, lines: []string{restartMark, nodesOf(5, "x")}}.text()))
	f.Add([]byte(script{header: one, lines: []string{at(1<<63-1, "poll", `{}`), at(-1<<63, "poll", `{}`)}}.text()), []byte(""))
	f.Add(zstdFrame(0, first, ' ', 1000, 3), zstdFrame(0, second, '\n', 100, 2)) // a window of 1 KiB
	f.Add([]byte("\x28\xb5\x2f\xfd\x00\xa8\x01\x00\x00"), []byte("\x28\xb5\x2f\xfd"))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		if slow(a) || slow(b) {
			return
		}
		fsys := fstest.MapFS{"in.jsonl": {Data: a}, "in.1.jsonl": {Data: b}}
		r, err := Open(fsys, "in.jsonl")
		if err == nil {
			defer r.Close()
			seq := uint64(0)
			for rec, e := range r.Records() {
				if err = e; err == nil && rec.Seq != seq+1 {
					t.Fatalf("record %d follows %d", rec.Seq, seq)
				}
				seq = rec.Seq
			}
		}
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return
		}
		if !strings.Contains(err.Error(), "in.") {
			t.Fatalf("no file in %v", err)
		}
		if _, is := errors.AsType[*trace.PositionError](err); !is {
			t.Fatalf("no place in %v", err)
		}
	})
}

// slow reports whether a file is long, or compressed with a window that is within the limit and
// takes more time to clear than all else does (TestBombs).
func slow(data []byte) bool {
	var h zstd.Header
	if len(data) > 4<<10 || h.Decode(data) != nil {
		return len(data) > 4<<10
	}
	window := max(h.WindowSize, h.FrameContentSize)
	return window > 16<<10 && window <= maxWindow
}

package recording

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"heddle/core/model"
	"heddle/core/trace"
)

// killedPath tells the test binary to be the recorder that TestKill kills.
const killedPath = "RECORDING_TEST_KILLED_PATH"

func TestMain(m *testing.M) {
	if path := os.Getenv(killedPath); path != "" {
		recordUntilKilled(path)
	}
	goleak.VerifyTestMain(m)
}

func header() trace.Header {
	return trace.Header{Format: trace.Format, ToolVersion: "test", Start: 1, Topology: map[model.RackID][]string{"/r1": {"a"}}}
}

func note(at int64, text string) trace.Record {
	return trace.Record{At: model.Time(at), Mark: &trace.Mark{Name: "note", Text: text}}
}

// readAll returns the records of a recording, whether it stopped short, and what
// else ended them. Without mayStopShort, trace.ErrTruncated is such an error too.
func readAll(tb testing.TB, path string, mayStopShort bool) (all []trace.Record, truncated bool, err error) {
	tb.Helper()
	r, err := Open(os.DirFS(filepath.Dir(path)), filepath.Base(path))
	if err != nil {
		return nil, false, err
	}
	defer func() {
		if err := r.Close(); err != nil {
			tb.Error(err)
		}
	}()
	if diff := cmp.Diff(header(), r.Header()); diff != "" {
		tb.Errorf("header (-want +got):\n%s", diff)
	}
	for rec, err := range r.Records() {
		switch {
		case mayStopShort && errors.Is(err, trace.ErrTruncated):
			return all, true, nil
		case err != nil:
			return all, false, err
		}
		all = append(all, rec)
	}
	return all, false, nil
}

func TestRecordAndRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a"+Suffix)
	r, err := Create(path, Options{Header: header()})
	if err != nil {
		t.Fatal(err)
	}
	want := []trace.Record{
		{At: 5, Observation: &model.Observation{Source: model.SourceRM, At: 4, Fact: model.NodesFact{Nodes: []model.Node{{ID: "a:1"}}}}},
		{At: 6, Decision: &model.Decision{Seq: 1, Plan: &model.Plan{App: "application_1_1", Stage: model.StageMap, Rank: 1}}},
		note(7, "end"),
	}
	for i := range want {
		want[i].Seq = uint64(i + 1)
		if !r.add(want[i]) {
			t.Fatal("no room in an empty queue")
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
	if r.add(note(8, "too late")) {
		t.Error("added to a closed recording")
	}
	got, truncated, err := readAll(t, path, false)
	if diff := cmp.Diff(want, got); diff != "" || truncated || err != nil {
		t.Errorf("truncated %t, error %v (-want +got):\n%s", truncated, err, diff)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if s := r.Status(); s.Records != 3 || s.Files != 1 || s.Bytes != info.Size() || s.Dropped != 1 {
		t.Errorf("status %+v, want 3 records in 1 file of %d bytes and 1 dropped", s, info.Size())
	}
}

func TestNeverOverwrites(t *testing.T) {
	t.Parallel()
	for _, there := range []string{"a" + Suffix, "a.1" + Suffix, "a.12" + Suffix} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, there), []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Create(filepath.Join(dir, "a"+Suffix), Options{}); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s is there: got %v", there, err)
		}
		if data, err := os.ReadFile(filepath.Join(dir, there)); err != nil || string(data) != "mine" {
			t.Errorf("%s is now %q, %v", there, data, err)
		}
		other, err := Create(filepath.Join(dir, "b"+Suffix), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := other.Close(); err != nil {
			t.Error(err)
		}
	}
	dir := t.TempDir()
	for _, name := range []string{"a.jsonl", "a.zst", "a.3" + Suffix, filepath.Join("none", "a"+Suffix)} {
		if r, err := Create(filepath.Join(dir, name), Options{}); err == nil {
			t.Errorf("%s: created %v", name, r.Close())
		}
	}
	if r, err := Create(filepath.Join(dir, "a"+Suffix), Options{FlushEvery: 2 * time.Second}); err == nil {
		t.Errorf("a second and more between flushes: created %v", r.Close())
	}
}

// noise returns text that does not compress.
func noise(rnd *rand.Rand, n int) string {
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(strconv.FormatUint(rnd.Uint64(), 36))
	}
	return b.String()
}

func TestRotation(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a"+Suffix)
	r, err := Create(path, Options{Header: header(), MaxBytes: 200 << 10, Queue: 64, Now: func() time.Time { return time.UnixMilli(77) }})
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	var texts []string
	for i := range 40 {
		texts = append(texts, noise(rnd, 32<<10))
		if !r.add(note(int64(i), texts[i])) {
			t.Fatal("no room")
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	s := r.Status()
	if s.Files < 3 || s.Dropped != 0 {
		t.Fatalf("status %+v, want several files and nothing dropped", s)
	}
	var bytes int64
	for n := range s.Files {
		info, err := os.Stat(partName(path, n))
		if err != nil {
			t.Fatal(err)
		}
		bytes += info.Size()
		if info.Size() > 500<<10 {
			t.Errorf("file %d has %d bytes", n, info.Size())
		}
	}
	if bytes != s.Bytes {
		t.Errorf("status says %d bytes, the files have %d", s.Bytes, bytes)
	}
	got, _, err := readAll(t, path, false)
	if err != nil {
		t.Fatal(err)
	}
	var back []string
	continued := 0
	for i, rec := range got {
		if rec.Seq != uint64(i+1) {
			t.Fatalf("record %d has seq %d", i+1, rec.Seq)
		}
		if rec.Mark.Name == trace.MarkContinues {
			continued++
			if rec.At != 77 || rec.Mark.After != rec.Seq-1 {
				t.Errorf("mark %+v at %d", rec.Mark, rec.At)
			}
			continue
		}
		back = append(back, rec.Mark.Text)
	}
	if diff := cmp.Diff(texts, back); diff != "" || continued != s.Files-1 {
		t.Errorf("%d marks for %d files, records (-want +got):\n%s", continued, s.Files, diff)
	}

	t.Run("file missing in the middle", func(t *testing.T) {
		t.Parallel()
		if err := os.Rename(partName(path, 1), partName(path, 1)+".away"); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(partName(path, 2), partName(path, 1)); err != nil {
			t.Fatal(err)
		}
		if _, _, err := readAll(t, path, true); !errors.Is(err, trace.ErrGap) || !strings.Contains(err.Error(), "a.1.jsonl.zst") {
			t.Errorf("got %v, want a gap in a.1.jsonl.zst", err)
		}
	})
}

// TestWithinASecond reads what is in the file a second after a record was
// added, with the recorder still at work.
func TestWithinASecond(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a"+Suffix)
	synctest.Test(t, func(t *testing.T) {
		r, err := Create(path, Options{Header: header()})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			r.add(note(int64(i), "x"))
			time.Sleep(time.Second)
			synctest.Wait()
			got, truncated, err := readAll(t, path, true)
			if err != nil || len(got) != i+1 || !truncated {
				t.Errorf("after %d seconds: %d records, truncated %t, error %v", i+1, len(got), truncated, err)
			}
			if _, _, err := readAll(t, path, false); !errors.Is(err, trace.ErrTruncated) {
				t.Errorf("an open recording read as a whole one: %v", err)
			}
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// disk is a file whose writes the test can hold up or make fail.
type disk struct {
	*os.File
	gate  atomic.Pointer[chan struct{}] // writes wait until it is closed
	fails atomic.Pointer[error]
}

func (d *disk) Write(p []byte) (int, error) {
	if gate := d.gate.Load(); gate != nil {
		<-*gate
	}
	if err := d.fails.Load(); err != nil {
		n, _ := d.File.Write(p[:len(p)/2])
		return n, *err
	}
	return d.File.Write(p)
}

// hold makes writes wait until the returned function is called.
func (d *disk) hold() (release func()) {
	gate := make(chan struct{})
	d.gate.Store(&gate)
	return func() { close(gate) }
}

func (d *disk) open(name string) (file, error) {
	var err error
	d.File, err = os.Create(name)
	return d, err
}

func TestDrops(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a"+Suffix)
	synctest.Test(t, func(t *testing.T) {
		var d disk
		r, err := create(path, Options{Header: header(), Queue: 4}, d.open)
		if err != nil {
			t.Fatal(err)
		}
		release := d.hold()
		r.add(note(1, "in the way"))
		time.Sleep(time.Second) // the flush now waits
		synctest.Wait()
		accepted := 0
		for i := range 10 {
			if r.add(note(int64(10+i), "x")) {
				accepted++
			}
		}
		if accepted != 4 || r.Status().Dropped != 6 {
			t.Errorf("%d accepted, %d dropped, want 4 and 6", accepted, r.Status().Dropped)
		}
		release()
		synctest.Wait()
		if !r.add(note(30, "room again")) {
			t.Error("no room in an empty queue")
		}
		synctest.Wait()
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	})
	got, _, err := readAll(t, path, false)
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, rec := range got {
		said = append(said, fmt.Sprint(rec.At, " ", rec.Mark.Name, " ", rec.Mark.Count))
	}
	want := []string{"1 note 0", "10 note 0", "11 note 0", "12 note 0", "13 note 0", "30 dropped 6", "30 note 0"}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

// TestDropsAtTheEnd loses records and closes before there was room to say so.
func TestDropsAtTheEnd(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a"+Suffix)
	synctest.Test(t, func(t *testing.T) {
		now := func() time.Time { return time.UnixMilli(99) }
		var d disk
		r, err := create(path, Options{Header: header(), Queue: 1, Now: now}, d.open)
		if err != nil {
			t.Fatal(err)
		}
		release := d.hold()
		r.add(note(1, "in the way"))
		time.Sleep(time.Second)
		synctest.Wait()
		for range 3 {
			r.add(note(2, "x"))
		}
		release()
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	})
	got, _, err := readAll(t, path, false)
	if err != nil || len(got) != 3 {
		t.Fatalf("%d records, %v, want 3", len(got), err)
	}
	if last := got[2]; last.At != 99 || last.Mark.Name != trace.MarkDropped || last.Mark.Count != 2 {
		t.Errorf("last record %+v %+v, want 2 dropped", last, last.Mark)
	}
}

func TestUnencodableRecord(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a"+Suffix)
	r, err := Create(path, Options{Header: header()})
	if err != nil {
		t.Fatal(err)
	}
	fact := model.UplinkFact{Samples: []model.UplinkSample{{In: model.BytesPerSecond(math.Inf(1))}}}
	r.add(trace.Record{At: 1, Observation: &model.Observation{Fact: fact}})
	r.add(note(2, "fine"))
	if err := r.Close(); err == nil || r.Status().Dropped != 1 {
		t.Errorf("error %v, status %+v, want one dropped", err, r.Status())
	}
	got, _, err := readAll(t, path, false)
	if err != nil || len(got) != 2 || got[0].Mark.Name != trace.MarkDropped || got[0].Mark.Count != 1 || got[1].Mark.Text != "fine" {
		t.Errorf("got %+v, %v, want a mark and the other record", got, err)
	}
}

// TestDiskFails fills the disk: nothing blocks, everything after is counted,
// and what was written before can be read.
func TestDiskFails(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a"+Suffix)
	full := errors.New("no space left on device")
	synctest.Test(t, func(t *testing.T) {
		var d disk
		r, err := create(path, Options{Header: header(), Queue: 4}, d.open)
		if err != nil {
			t.Fatal(err)
		}
		r.add(note(1, "kept"))
		time.Sleep(time.Second)
		synctest.Wait()
		d.fails.Store(&full)
		r.add(note(2, "lost"))
		time.Sleep(time.Second)
		synctest.Wait()
		if s := r.Status(); !errors.Is(s.Err, full) {
			t.Errorf("status %+v, want the disk's error", s)
		}
		for i := range 20 {
			r.add(note(int64(i), "lost too"))
			synctest.Wait()
		}
		if s := r.Status(); s.Dropped != 20 {
			t.Errorf("%d dropped, want 20", s.Dropped)
		}
		if err := r.Close(); !errors.Is(err, full) {
			t.Errorf("close: %v, want the disk's error", err)
		}
	})
	got, truncated, err := readAll(t, path, true)
	if err != nil || !truncated || len(got) != 1 || got[0].Mark.Text != "kept" {
		t.Errorf("got %+v, truncated %t, %v, want what was flushed before", got, truncated, err)
	}
}

func TestHeaderCannotBeWritten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a"+Suffix)
	full := errors.New("no space left on device")
	var d disk
	d.fails.Store(&full)
	_, err := create(path, Options{}, d.open)
	if !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty file was left behind: %v", err)
	}
}

// TestRotationBlocked puts a file where the second one of the recording would be.
func TestRotationBlocked(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a"+Suffix)
	r, err := Create(path, Options{Header: header(), MaxBytes: 1 << 10, Queue: 64})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(partName(path, 1), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range 20 {
		r.add(note(int64(i), noise(rnd, 32<<10)))
	}
	if err := r.Close(); !errors.Is(err, fs.ErrExist) {
		t.Errorf("close: %v, want that the next file exists", err)
	}
	if data, err := os.ReadFile(partName(path, 1)); err != nil || string(data) != "mine" {
		t.Errorf("the file in the way was touched: %d bytes, %v", len(data), err)
	}
	if err := os.Remove(partName(path, 1)); err != nil {
		t.Fatal(err)
	}
	got, _, err := readAll(t, path, false)
	if s := r.Status(); err != nil || uint64(len(got)) != s.Records || s.Records+s.Dropped != 20 || s.Dropped == 0 {
		t.Errorf("%d records read, %v, status %+v", len(got), err, s)
	}
}

// TestEveryCut cuts a compressed recording at every byte: always a clean
// prefix of its records, or an error that says truncated.
func TestEveryCut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "a"+Suffix)
	synctest.Test(t, func(t *testing.T) {
		r, err := Create(path, Options{Header: header()})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 4 {
			r.add(note(int64(i), "x"))
			time.Sleep(time.Second)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	})
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cutPath := filepath.Join(dir, "cut"+Suffix)
	most := 0
	for cut := range whole {
		if err := os.WriteFile(cutPath, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := readAll(t, cutPath, false); err == nil || cut > 4 && !errors.Is(err, trace.ErrTruncated) {
			t.Fatalf("cut at %d of %d: %v, want truncated", cut, len(whole), err)
		}
		got, truncated, err := readAll(t, cutPath, true)
		if err == nil && !truncated || err != nil && len(got) > 0 || len(got) < most {
			t.Fatalf("cut at %d: %d records, truncated %t, %v; there were %d before", cut, len(got), truncated, err, most)
		}
		most = len(got)
	}
	if most != 4 {
		t.Errorf("%d records before the end of the frame, want 4", most)
	}
}

// TestCutContinuation loses the header of the last file, as a crash during a
// rotation would.
func TestCutContinuation(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a"+Suffix)
	r, err := Create(path, Options{Header: header()})
	if err != nil {
		t.Fatal(err)
	}
	r.add(note(1, "x"))
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(partName(path, 1), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, truncated, err := readAll(t, path, true); err != nil || !truncated || len(got) != 1 {
		t.Errorf("%d records, truncated %t, %v; want 1 of a truncated recording", len(got), truncated, err)
	}
	if _, _, err := readAll(t, path, false); !errors.Is(err, trace.ErrTruncated) {
		t.Errorf("got %v, want truncated", err)
	}
}

func TestOpenWhatIsNone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := Open(os.DirFS(dir), "none"+Suffix); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	for name, content := range map[string]string{
		"text":   "hello\n",
		"zip":    "PK\x03\x04 and more\n",
		"broken": "\x28\xb5\x2f\xfd and no zstd after it, for more bytes than a header has",
	} {
		path := filepath.Join(dir, name+Suffix)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		var position *trace.PositionError
		if _, err := Open(os.DirFS(filepath.Dir(path)), filepath.Base(path)); !errors.As(err, &position) || !strings.Contains(err.Error(), filepath.Base(path)) {
			t.Errorf("%s: got %v, want an error with file and position", name, err)
		}
	}
}

func TestPlainRecording(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.jsonl")
	var buf bytes.Buffer
	w, err := trace.NewWriter(&buf, header())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Append(note(1, "x")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, buf.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	got, _, err := readAll(t, path, false)
	if err != nil || len(got) != 1 {
		t.Errorf("%d records, %v; want 1", len(got), err)
	}
}

// recordUntilKilled records the time, every millisecond, and says each time
// that it has added on its output.
func recordUntilKilled(path string) {
	r, err := Create(path, Options{Header: header()})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for {
		now := time.Now().UnixMilli()
		if r.add(note(now, "x")) {
			fmt.Fprintln(os.Stdout, now)
		}
		time.Sleep(time.Millisecond)
	}
}

// TestKill kills a recording process with SIGKILL and wants everything that
// was older than a second.
func TestKill(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a"+Suffix)
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), killedPath+"="+path)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var added []int64
	killed := false
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		at, err := strconv.ParseInt(lines.Text(), 10, 64)
		if err != nil {
			break // the last line may be cut
		}
		added = append(added, at)
		if !killed && at-added[0] > 2300 {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			killed = true
		}
	}
	if err := cmd.Wait(); !killed {
		t.Fatalf("the recorder ended by itself: %v", err)
	}
	got, truncated, err := readAll(t, path, true)
	if err != nil {
		t.Fatal(err)
	}
	if !truncated {
		t.Error("a killed recording is not taken for truncated")
	}
	last := added[len(added)-1]
	for i, at := range added {
		if i < len(got) {
			if int64(got[i].At) != at {
				t.Fatalf("record %d is of %d, %d was added", i+1, got[i].At, at)
			}
		} else if last-at > 1000 {
			t.Fatalf("record %d was added %d ms before the end and is lost", i+1, last-at)
		}
	}
	if len(got) < len(added)/2 {
		t.Errorf("%d of %d records read", len(got), len(added))
	}
	if _, _, err := readAll(t, path, false); !errors.Is(err, trace.ErrTruncated) {
		t.Errorf("read as a whole one: %v, want truncated", err)
	}
}

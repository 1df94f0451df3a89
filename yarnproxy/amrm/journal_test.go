package amrm

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"heddle/core/asks"
	"heddle/yarnproxy/amrm/wire"
)

// testClock is a clock that a test sets.
type testClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *testClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *testClock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func journalNames(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

func readRecord(t *testing.T, dir string, id wire.Attempt) record {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, id.String()+journalEnds))
	if err != nil {
		t.Error(err)
		return record{}
	}
	rec, err := decodeRecord(b)
	if err != nil {
		t.Error(err)
	}
	return rec
}

// testJournal is a journal that works until the test ends.
func testJournal(t *testing.T, dir string, now func() time.Time) (*journal, *atomic.Int64) {
	t.Helper()
	lost := new(atomic.Int64)
	j := newJournal(&Options{JournalDir: dir, Now: now, Logger: hclog.NewNullLogger()}, lost)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		j.run(ctx)
	}()
	t.Cleanup(func() { stop(); <-done })
	return j, lost
}

func TestJournal(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "journal")
	j, lost := testJournal(t, dir, time.Now)
	if _, err := j.load("a"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	for _, text := range []string{"one", "another"} {
		j.saved(j.save("a", []byte(text)))
		if b, err := j.load("a"); err != nil || string(b) != text {
			t.Errorf("%q, %v; want %q", b, err, text)
		}
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("folder %v, %v", info.Mode(), err)
	}
	j.remove("a")
	if _, err := j.load("a"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that was removed: %v", err)
	}
	if names := journalNames(t, dir); names != "" || lost.Load() != 0 {
		t.Errorf("left %q, %d lost", names, lost.Load())
	}
}

// TestJournalTidy removes what nobody will ask for.
func TestJournalTidy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	now := time.Now()
	for name, age := range map[string]time.Duration{"new.asks": time.Hour, "old.asks": 8 * 24 * time.Hour, "kept.asks": 9 * 24 * time.Hour, "begun.asks.tmp": time.Second, "other": 9 * 24 * time.Hour} { // order-free: files
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, now, now.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	j := newJournal(&Options{JournalDir: dir, Now: func() time.Time { return now }, Logger: hclog.NewNullLogger()}, new(atomic.Int64))
	j.prune(map[string]struct{}{"kept": {}})
	if names := journalNames(t, dir); names != "kept.asks new.asks other" || j.files != 2 {
		t.Errorf("left %q, %d counted", names, j.files)
	}
	if err := os.Chtimes(filepath.Join(dir, "new.asks"), now, now.Add(-8*24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	j.do(journalOp{kind: journalTidy})
	if j.files != 2 {
		t.Error("looked for old files twice within an hour")
	}
	j.files = journalFiles
	if err := j.write("more", nil); err == nil {
		t.Error("there is room for one more than the most")
	}
	if err := j.write("new", []byte("again")); err != nil {
		t.Errorf("a file that is there already: %v", err)
	}
}

// TestJournalBroken counts what cannot be written, and does not wait.
func TestJournalBroken(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	j, lost := testJournal(t, filepath.Join(file, "below"), time.Now)
	j.saved(j.save("a", []byte("one")))
	if _, err := j.load("a"); err == nil {
		t.Error("read what cannot be")
	}
	if lost.Load() == 0 {
		t.Error("nothing is counted")
	}
	stuck := newJournal(&Options{JournalDir: "x", Now: time.Now, Logger: hclog.NewNullLogger()}, lost)
	start := time.Now()
	stuck.saved(stuck.save("a", nil)) // nobody works
	if d := time.Since(start); d < journalWait || d > 20*journalWait {
		t.Errorf("waited %v", d)
	}
	start = time.Now()
	for range 2 * journalQueue { // more than wait
		stuck.remove("a")
	}
	before := lost.Load()
	stuck.saved(stuck.save("a", nil))
	if _, err := stuck.load("a"); err == nil || lost.Load() != before+2 {
		t.Errorf("a full queue takes more: %v, %d lost", err, lost.Load()-before)
	}
	if d := time.Since(start); d > journalWait {
		t.Errorf("a disk that hangs is waited for again: %v", d)
	}
}

// TestNote changes the number of the last call in a file, and in no file whose
// table is not the newest.
func TestNote(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j, _ := testJournal(t, dir, time.Now)
	id := attemptID(1)
	rec := record{attempt: id, responseID: 5, table: []byte("a table")}
	j.note(id.String(), 4) // of no file
	j.flush()
	if names := journalNames(t, dir); names != "" {
		t.Errorf("a note made %q", names)
	}
	j.saved(j.save(id.String(), rec.encode()))
	j.note(id.String(), 8)
	j.flush()
	if got := readRecord(t, dir, id); got.responseID != 8 || !bytes.Equal(got.table, rec.table) {
		t.Errorf("noted %+v", got)
	}
	blocks := filepath.Join(dir, id.String()+journalEnds+journalTemp)
	if err := os.Mkdir(blocks, 0o700); err != nil {
		t.Fatal(err)
	}
	j.saved(j.save(id.String(), rec.encode()))
	j.note(id.String(), 9)
	j.flush()
	if got := readRecord(t, dir, id); got.responseID != 8 {
		t.Errorf("noted %d beside an old table", got.responseID)
	}
	if err := os.Remove(blocks); err != nil {
		t.Fatal(err)
	}
	j.saved(j.save(id.String(), rec.encode()))
	j.note(id.String(), 10)
	j.flush()
	if got := readRecord(t, dir, id); got.responseID != 10 {
		t.Errorf("noted %d, want 10", got.responseID)
	}
	stuck := newJournal(&Options{JournalDir: dir, Now: time.Now, Logger: hclog.NewNullLogger()}, new(atomic.Int64))
	noted := 0
	for range journalQueue { // nobody works
		if stuck.note("a", 1) {
			noted++
		}
	}
	if noted != journalQueue/2 {
		t.Errorf("%d notes wait, want half of %d", noted, journalQueue)
	}
}

func TestRecord(t *testing.T) {
	t.Parallel()
	rec := record{attempt: wire.Attempt{Cluster: 1_700_000_000_000, App: 7, Attempt: 2}, responseID: 12, table: []byte("a table")}
	b := rec.encode()
	got, err := decodeRecord(b)
	if err != nil || got.attempt != rec.attempt || got.responseID != 12 || !bytes.Equal(got.table, rec.table) {
		t.Errorf("%+v, %v", got, err)
	}
	for i := range b {
		if _, err := decodeRecord(b[:i]); !errors.Is(err, errTorn) {
			t.Errorf("%d of %d bytes are taken for a whole file", i, len(b))
		}
		b[i] ^= 0x10
		if _, err := decodeRecord(b); !errors.Is(err, errTorn) {
			t.Errorf("a change of byte %d is not seen", i)
		}
		b[i] ^= 0x10
	}
}

// TestRestore takes a table from the journal only when it is of the attempt's
// present life.
func TestRestore(t *testing.T) {
	t.Parallel()
	c := inside(t, newFakeGuide())
	r := c.relay.steering
	r.journal, _ = testJournal(t, t.TempDir(), time.Now)
	table, err := asks.New(asks.Limits{}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	a := c.session.owner()
	next := func(responseID int32) asks.State {
		a.asks = asks.NewAttempt(asks.Limits{})
		r.restore(a)
		a.asks.CheckResponseID(0, responseID)
		return a.asks.State()
	}
	for _, k := range []struct {
		name       string
		saved      record
		responseID int32
		want       asks.State
	}{
		{"the next call", record{a.id, 5, table}, 6, asks.InSync},
		{"calls in between are not known", record{a.id, 5, table}, 7, asks.Resyncing},
		{"of another attempt", record{attemptID(2), 5, table}, 5, asks.Resyncing},
		{"no table", record{a.id, 5, []byte("{")}, 5, asks.Resyncing},
	} {
		r.journal.saved(r.journal.save(a.name, k.saved.encode()))
		if got := next(k.responseID); got != k.want {
			t.Errorf("%s: the attempt is %v, want %v", k.name, got, k.want)
		}
	}
	r.journal.saved(r.journal.save(a.name, []byte("half a fi")))
	if state := next(5); state != asks.Resyncing || r.counts.journalLost.Load() != 2 {
		t.Errorf("a torn file is taken, or not counted: %v, %d", state, r.counts.journalLost.Load())
	}
}

// flush waits until everything that was begun is written, but not for long.
func (j *journal) flush() {
	if j == nil {
		return
	}
	done := make(chan journalResult, 1)
	if j.submit(journalOp{kind: journalFlush, done: done}) {
		j.saved(done)
	}
}

package recording

import (
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// A file that has become too old is followed by the next one.
func TestRotationByAge(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a"+Suffix)
	synctest.Test(t, func(t *testing.T) {
		r, err := Create(path, Options{Header: header(), MaxAge: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 5 {
			r.add(note(int64(i), "x"))
			time.Sleep(25 * time.Minute)
		}
		if err := r.Close(); err != nil || r.Status().Files != 3 {
			t.Errorf("%d files, %v", r.Status().Files, err)
		}
	})
	if got, _, err := readAll(t, path, false); err != nil || len(got) != 7 { // two of them say that a file continues another
		t.Errorf("%d records, %v", len(got), err)
	}
}

// A disk that is full is said once.
func TestFailedIsSaidOnce(t *testing.T) {
	t.Parallel()
	full := errors.New("no space left on device")
	path := filepath.Join(t.TempDir(), "a"+Suffix)
	synctest.Test(t, func(t *testing.T) {
		var d disk
		said := 0
		r, err := create(path, Options{Header: header(), Failed: func(err error) {
			if errors.Is(err, full) {
				said++
			}
		}}, d.open)
		if err != nil {
			t.Fatal(err)
		}
		d.fails.Store(&full)
		for i := range 5 {
			r.add(note(int64(i), "lost"))
			time.Sleep(time.Second)
		}
		synctest.Wait()
		_ = r.Close()
		if said != 1 {
			t.Errorf("said %d times", said)
		}
	})
}

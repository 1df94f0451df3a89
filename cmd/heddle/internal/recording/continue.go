package recording

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Continue goes on with the recording at path in a new file, after a restart, or begins
// it. It refuses a recording that another process is writing.
func Continue(path string, opts Options) (*Recorder, error) {
	for {
		name, number := lastPart(path)
		if name == "" {
			return Create(path, opts)
		}
		seq, err := lastSeq(name)
		if err != nil {
			return nil, fmt.Errorf("continue recording %s: %w", path, err)
		}
		if seq > 0 {
			return start(path, opts, openNew, &resumed{files: number + 1, seq: seq})
		}
		if err := os.Remove(name); err != nil { // a crash left it without any record
			return nil, fmt.Errorf("continue recording %s: %w", path, err)
		}
	}
}

// resumed is what is known of a recording that goes on.
type resumed struct {
	files int
	seq   uint64 // of its last record
}

func lock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }

// lastPart returns the last file of a recording and its number, "" without any.
func lastPart(path string) (name string, number int) {
	for n := 0; ; n++ {
		part := partName(path, n)
		if _, err := os.Stat(part); part == "" || err != nil {
			return name, number
		}
		name, number = part, n
	}
}

// errInUse says that a recording is being written.
var errInUse = errors.New("another heddle is writing it; stop that one, or choose another record.file")

// lastSeq returns the number of the last whole record in a file of a recording, which a
// crash may have cut; 0 for none.
func lastSeq(name string) (uint64, error) {
	f, err := os.Open(name) //nolint:gosec // the operator's own file
	if err != nil {
		return 0, err
	}
	defer f.Close() //nolint:errcheck // only read
	if err := lock(f); errors.Is(err, syscall.EWOULDBLOCK) {
		return 0, errInUse
	}
	lines, err := decompress(f)
	if err != nil {
		return 0, err
	}
	defer lines.Close() //nolint:errcheck // only read
	in := bufio.NewReaderSize(lines, 64<<10)
	var last, current uint64 // of whole lines, and of the present one
	for begins := true; ; {
		part, err := in.ReadSlice('\n')
		if begins {
			current = 0
			_, _ = fmt.Sscanf(string(part[:min(len(part), 32)]), `{"seq":%d,`, &current) // the header has none
		}
		switch {
		case err == nil:
			last, begins = max(last, current), true
		case errors.Is(err, bufio.ErrBufferFull):
			begins = false
		default: // the end, or where the crash cut it
			return last, nil
		}
	}
}

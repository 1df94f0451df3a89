package ipc_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"net"
	"os"
	"runtime"
	"strconv"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"heddle/yarnproxy/ipc"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// frameOf returns a frame of n bytes after its prefix, filled by seed.
func frameOf(n int, seed byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(n))
	for i := range n {
		b = append(b, seed+byte(i*7))
	}
	return b
}

// TestReaderCuts: frames come out as they went in, whatever the stream was cut into.
func TestReaderCuts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.OneOf(rapid.IntRange(0, 300), rapid.IntRange(4000, 4200), rapid.IntRange(30_000, 140_000)), 0, 12).Draw(t, "sizes")
		stream := ipc.AppendPreamble(nil, ipc.Preamble{Version: 9})
		for i, n := range sizes {
			stream = append(stream, frameOf(n, byte(i))...)
		}
		var in io.Reader = bytes.NewReader(stream)
		cut := rapid.SampledFrom([]string{"whole", "half", "bytes", "with EOF"}).Draw(t, "cut")
		switch cut {
		case "half":
			in = iotest.HalfReader(in)
		case "bytes":
			in = iotest.OneByteReader(in)
		case "with EOF":
			in = iotest.DataErrReader(in)
		}
		r := ipc.NewReader(in, ipc.MaxFrame)
		p, err := r.ReadPreamble()
		if err != nil || len(p) != ipc.PreambleLen || string(p[:4]) != "hrpc" {
			t.Fatalf("preamble %q, %v", p, err)
		}
		for i, n := range sizes {
			frame, err := r.Next()
			if err != nil || !bytes.Equal(frame, frameOf(n, byte(i))) {
				t.Fatalf("%s: frame %d of %d bytes: %d bytes, %v", cut, i, n, len(frame), err)
			}
		}
		if frame, err := r.Next(); !errors.Is(err, io.EOF) {
			t.Fatalf("after the last frame: %d bytes, %v", len(frame), err)
		}
	})
}

// TestReaderEnd: the end of the stream is io.EOF between frames only, and what
// was read of a frame is not lost.
func TestReaderEnd(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 10, 100_000} {
		frame := frameOf(n, 1)
		for cut := range min(len(frame), 20) {
			at := cut * max(len(frame)/20, 1)
			if at > len(frame) {
				break
			}
			r := ipc.NewReader(bytes.NewReader(frame[:at]), ipc.MaxFrame)
			want := io.ErrUnexpectedEOF
			if at == 0 {
				want = io.EOF
			}
			for range 2 {
				if at == len(frame) {
					break
				}
				if _, err := r.Next(); err != want { //nolint:errorlint // the value itself, as of an io.Reader
					t.Errorf("%d of %d bytes: %v", at, len(frame), err)
				}
				if got := r.Buffered(); !bytes.Equal(got, frame[:at]) {
					t.Errorf("%d bytes buffered of %d", len(got), at)
				}
			}
		}
	}
	if _, err := ipc.NewReader(bytes.NewReader([]byte("hrp")), 9).ReadPreamble(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("half a preamble: %v", err)
	}
	if _, err := ipc.NewReader(bytes.NewReader(nil), 9).ReadPreamble(); err != io.EOF { //nolint:errorlint // as above
		t.Errorf("no preamble: %v", err)
	}
}

// TestReaderRefuses: a length that cannot be is an error that names it, again
// and again, and the bytes can still be passed on.
func TestReaderRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		prefix []byte
		length int32
	}{
		{[]byte{0xFF, 0xFF, 0xFF, 0xFF}, -1},
		{[]byte{0x80, 0, 0, 0}, -1 << 31},
		{[]byte{0, 0, 4, 1}, 1025},
		{[]byte{0x7F, 0xFF, 0xFF, 0xFF}, 1<<31 - 1},
	} {
		stream := append(append(frameOf(3, 1), c.prefix...), "the rest"...)
		r := ipc.NewReader(bytes.NewReader(stream), 1024)
		if frame, err := r.Next(); err != nil || len(frame) != 7 {
			t.Fatal(frame, err)
		}
		for range 2 {
			_, err := r.Next()
			bad, ok := errors.AsType[*ipc.FrameError](err)
			if !ok || bad.Length != c.length || bad.Limit != 1024 {
				t.Fatalf("%x: %v", c.prefix, err)
			}
		}
		var got bytes.Buffer
		if _, err := r.Copy(&got, -1); !errors.Is(err, io.EOF) || !bytes.Equal(got.Bytes(), stream[7:]) {
			t.Errorf("%x: %q goes on, %v", c.prefix, got.Bytes(), err)
		}
	}
	r := ipc.NewReader(bytes.NewReader(frameOf(9000, 1)), 1024)
	if _, err := r.Next(); err == nil {
		t.Error("a frame beyond the limit is returned")
	}
	r.SetLimit(9000)
	if frame, err := r.Next(); err != nil || !bytes.Equal(frame, frameOf(9000, 1)) {
		t.Errorf("after a higher limit: %d bytes, %v", len(frame), err)
	}
	if frame, err := ipc.NewReader(bytes.NewReader(frameOf(1024, 1)), 1024).Next(); err != nil || len(frame) != 1028 {
		t.Errorf("a frame of the limit: %d, %v", len(frame), err)
	}
}

// TestReaderCopy: what was read ahead comes first; frames go on after so many bytes, and after an error what is left.
func TestReaderCopy(t *testing.T) {
	t.Parallel()
	for _, size := range []int{5, 4 << 10, 200_000} {
		stream := append(append(frameOf(9, 1), frameOf(size, 2)...), frameOf(3, 3)...)
		for _, frames := range []int{0, 1, 2} {
			for _, n := range []int64{-1, 7} {
				r := ipc.NewReader(bytes.NewReader(stream), ipc.MaxFrame)
				taken := 0
				for range frames {
					frame, err := r.Next()
					if err != nil {
						t.Fatal(err)
					}
					taken += len(frame)
				}
				var got bytes.Buffer
				left, err := r.Copy(&got, n)
				want, end := stream[taken:], io.EOF
				if n >= 0 {
					want, end = want[:n], nil
				}
				if !errors.Is(err, end) || left != min(n, 0) || !bytes.Equal(got.Bytes(), want) {
					t.Errorf("%d bytes after %d frames: %d of %d bytes, %d left, %v", n, frames, got.Len(), len(want), left, err)
				}
			}
		}
	}
	r := ipc.NewReader(&cutter{append(frameOf(5000, 1), frameOf(3, 2)...), 700}, 100)
	var got bytes.Buffer
	if left, err := r.Copy(failing{}, 5004); err == nil || left != 5004 {
		t.Errorf("a writer that fails: %d are left, %v", left, err)
	}
	if left, err := r.Copy(&got, 5004); err != nil || left != 0 || !bytes.Equal(got.Bytes(), frameOf(5000, 1)) {
		t.Errorf("a frame beyond the limit: %d bytes, %d left, %v", got.Len(), left, err)
	}
	if frame, err := r.Next(); err != nil || !bytes.Equal(frame, frameOf(3, 2)) {
		t.Errorf("the frame after it: %x, %v", frame, err)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("refused") }

// TestReaderGoesOnAfterDeadline: a read deadline loses no byte of a frame.
func TestReaderGoesOnAfterDeadline(t *testing.T) {
	t.Parallel()
	for _, size := range []int{100, 100_000} {
		t.Run(strconv.Itoa(size), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				client, server := net.Pipe()
				defer client.Close()
				defer server.Close()
				frame := frameOf(size, 3)
				more := make(chan struct{})
				go func() {
					_, _ = client.Write(frame[:size/2])
					<-more
					_, _ = client.Write(frame[size/2:])
				}()
				r := ipc.NewReader(server, ipc.MaxFrame)
				_ = server.SetReadDeadline(time.Now().Add(time.Second))
				if _, err := r.Next(); !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Fatalf("got %v", err)
				}
				if got := len(r.Buffered()); got != size/2 {
					t.Errorf("%d bytes buffered, want %d", got, size/2)
				}
				_ = server.SetReadDeadline(time.Time{})
				close(more)
				if got, err := r.Next(); err != nil || !bytes.Equal(got, frame) {
					t.Errorf("%d of %d bytes, %v", len(got), len(frame), err)
				}
			})
		})
	}
}

// endless yields the same bytes for ever, as many at once as fit.
type endless struct {
	b  []byte
	at int
}

func (e *endless) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		c := copy(p[n:], e.b[e.at:])
		n += c
		e.at = (e.at + c) % len(e.b)
	}
	return n, nil
}

// stuck reads nothing and says nothing of it.
type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

func TestReaderStuck(t *testing.T) {
	t.Parallel()
	if _, err := ipc.NewReader(stuck{}, 10).Next(); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("got %v", err)
	}
}

// TestReaderAllocations: frames cost no allocation, and a length alone no memory.
func TestReaderAllocations(t *testing.T) { // counts allocations of the process
	for _, size := range []int{163, 3000, 60_000} {
		r := ipc.NewReader(&endless{b: frameOf(size, 1)}, ipc.MaxFrame)
		for range 3 {
			if _, err := r.Next(); err != nil {
				t.Fatal(err)
			}
		}
		allowed := 0.0
		if size > 4<<10 {
			allowed = 0.5 // the collector may empty the pool in between
		}
		if n := testing.AllocsPerRun(1000, func() { _, _ = r.Next() }); n > allowed {
			t.Errorf("%v allocations a frame of %d bytes", n, size)
		}
	}
	for came, most := range map[int]uint64{0: 8 << 10, 4000: 8 << 10, 64 << 10: 256 << 10} {
		announced := append(binary.BigEndian.AppendUint32(nil, ipc.MaxFrame), make([]byte, came)...)
		least := uint64(math.MaxUint64)
		for range 5 { // the runtime allocates at times, too
			in := bytes.NewReader(announced)
			var before, after runtime.MemStats
			runtime.GC() // empties the pool, in two steps
			runtime.GC()
			runtime.ReadMemStats(&before)
			_, _ = ipc.NewReader(in, ipc.MaxFrame).Next()
			runtime.ReadMemStats(&after)
			least = min(least, after.TotalAlloc-before.TotalAlloc)
		}
		if least > most {
			t.Errorf("a length of %d bytes, of which %d came, cost %d, want at most %d", ipc.MaxFrame, came, least, most)
		}
	}
}

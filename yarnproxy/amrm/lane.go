package amrm

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"time"

	"heddle/core/model"
	"heddle/yarnproxy/ipc"
)

const (
	largeFrame = 8 << 20 // longer frames are copied and not looked at
	copyBuffer = 4 << 10 // of what is copied and not looked at
)

// lane is one direction of a connection.
type lane struct {
	of       *conn
	src, dst net.Conn
	in       *ipc.Reader // of the lane: what was read ahead, then src
	pending
}

// pending is what a lane leaves undone when it pauses; another process that gets
// its sockets goes on with it.
type pending struct {
	ahead []byte // read from src, and to be read again
	owed  []byte // to be written to dst before anything else
	left  int64  // bytes of a frame that is not looked at, to be copied; -1: everything
}

// errPaused says that a lane stopped where it was told to.
var errPaused = errors.New("paused")

// newLane returns a lane of a connection that goes on with what another one left.
func newLane(of *conn, src, dst net.Conn, rest pending) lane {
	return lane{of: of, src: src, dst: dst, pending: rest}
}

// Read implements io.Reader.
func (l *lane) Read(b []byte) (int, error) {
	if len(l.ahead) == 0 {
		return l.src.Read(b)
	}
	n := copy(b, l.ahead)
	if l.ahead = l.ahead[n:]; len(l.ahead) == 0 {
		l.ahead = nil
	}
	return n, nil
}

// rewind gives back what the reader has read and not returned.
func (l *lane) rewind() {
	if read := l.in.Buffered(); len(read) > 0 {
		l.ahead = slices.Concat(read, l.ahead)
	}
	l.in = ipc.NewReader(l, largeFrame)
}

// goOn does what was left undone at a pause.
func (l *lane) goOn() error {
	if b := l.owed; len(b) > 0 {
		l.owed = nil
		if err := l.write(b); err != nil {
			return err
		}
	}
	if l.left > 0 {
		return l.copy()
	}
	return nil
}

// interrupted reports whether a read ended because the connection pauses; with
// more to come, it may go on for a while.
func (l *lane) interrupted(err error, more bool) (again bool, _ error) {
	p := l.of.pausing.Load()
	if !errors.Is(err, os.ErrDeadlineExceeded) || p == nil {
		return false, err
	}
	if more && l.of.relay.clock().Before(p.until) {
		return true, l.src.SetReadDeadline(p.until)
	}
	return false, errPaused
}

// next returns the next frame. A frame that is too long to be looked at is sent
// on before; io.EOF is the end of everything that came, half a frame included.
func (l *lane) next() ([]byte, error) {
	for {
		frame, err := l.in.Next()
		if err == nil {
			return frame, nil
		}
		if long, ok := errors.AsType[*ipc.FrameError](err); ok {
			if err := l.long(long); err != nil {
				return nil, err
			}
			continue
		}
		if again, err := l.interrupted(err, len(l.in.Buffered()) > 0); !again {
			return nil, l.rest(err)
		}
	}
}

// rest sends on half a frame at the end of a stream.
func (l *lane) rest(err error) error {
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	half := l.in.Buffered()
	l.in = ipc.NewReader(l, largeFrame) // it is not to be sent again after a pause
	if err := l.write(half); err != nil {
		return err
	}
	return io.EOF
}

// long copies a frame of a length that is not looked at. With a length that
// cannot be, nothing that follows is a frame: the peer will say so itself.
func (l *lane) long(e *ipc.FrameError) error {
	l.of.relay.counts.pass(model.PassDecode)
	if e.Length < 0 || e.Length > ipc.MaxFrame {
		l.of.goBlind()
		l.left = -1
	} else {
		l.left = prefixLen + int64(e.Length)
	}
	return l.copy()
}

// copy sends what is left to be copied on as it comes; with everything, it ends in io.EOF.
func (l *lane) copy() error {
	l.rewind()
	buf := make([]byte, copyBuffer)
	for l.left != 0 {
		b := buf
		if l.left > 0 {
			b = b[:min(int64(len(b)), l.left)]
		}
		got, err := l.Read(b)
		if l.left > 0 {
			l.left -= int64(got)
		}
		if err := l.write(b[:got]); err != nil {
			return err
		}
		if err == nil {
			continue
		}
		if again, err := l.interrupted(err, l.left > 0); !again {
			return err
		}
	}
	return nil
}

// write sends bytes on. A peer that takes none for long loses the connection;
// while it pauses, the rest is owed to it.
func (l *lane) write(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	if err := l.dst.SetWriteDeadline(l.of.relay.clock().Add(l.of.relay.times.write)); err != nil {
		return err
	}
	if p := l.of.pausing.Load(); p != nil { // it may have begun just now
		if err := l.dst.SetWriteDeadline(p.until); err != nil {
			return err
		}
	}
	n, err := l.dst.Write(b)
	if err != nil && errors.Is(err, os.ErrDeadlineExceeded) && l.of.pausing.Load() != nil {
		l.owed = bytes.Clone(b[n:])
		return errPaused
	}
	return err
}

// stop has the lane stop reading at a time, half a frame aside.
func (l *lane) stop(at time.Time) {
	_ = l.src.SetReadDeadline(at) // a closed socket has stopped already
}

// longAgo is a deadline that interrupts a read at once.
func longAgo() time.Time { return time.Unix(1, 0) }

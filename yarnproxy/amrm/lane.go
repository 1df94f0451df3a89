package amrm

import (
	"errors"
	"io"
	"net"
	"os"
	"time"

	"heddle/core/model"
	"heddle/yarnproxy/ipc"
)

const (
	// largeFrame is the longest frame that is looked at; longer ones are copied.
	largeFrame = 8 << 20
	// maxUnauthenticatedFrame is the longest frame, in either direction, of a client that has not authenticated. A SASL message
	// of a token is below 1 KiB.
	maxUnauthenticatedFrame = 64 << 10
)

// lane is one direction of a connection.
type lane struct {
	of       *conn
	src, dst net.Conn
	in       *ipc.Reader // of src
}

// errDrained says that a lane has ended because the relay does.
var errDrained = errors.New("the relay ends")

// errLongFrame ends a connection.
var errLongFrame = errors.New("a frame of a client that has not authenticated is too long")

func newLane(of *conn, src, dst net.Conn) lane {
	return lane{of: of, src: src, dst: dst, in: ipc.NewReader(src, maxUnauthenticatedFrame)}
}

// drained says what the error of a read means while the relay ends: with more of a frame to come, it may
// go on until the end.
func (l *lane) drained(err error, more bool) (again bool, _ error) {
	until := l.of.draining.Load()
	if !errors.Is(err, os.ErrDeadlineExceeded) || until == nil {
		return false, err
	}
	if more && l.of.relay.clock().Before(*until) {
		return true, l.src.SetReadDeadline(*until)
	}
	return false, errDrained
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
			if !l.of.authenticated.Load() {
				l.of.refuse(model.RefuseLongFrame)
				return nil, errLongFrame
			}
			if long.Limit < largeFrame {
				l.in.SetLimit(largeFrame)
				continue
			}
			if err := l.long(long); err != nil {
				return nil, err
			}
			continue
		}
		if again, err := l.drained(err, len(l.in.Buffered()) > 0); !again {
			return nil, l.rest(err)
		}
	}
}

// rest sends on half a frame at the end of a stream.
func (l *lane) rest(err error) error {
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	if err := l.write(l.in.Buffered()); err != nil {
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
		return l.copy(-1)
	}
	return l.copy(prefixLen + int64(e.Length))
}

// copy sends n bytes on as they come; below 0 everything, which ends in io.EOF.
func (l *lane) copy(n int64) error {
	for n != 0 {
		left, err := l.in.Copy(writer{l}, n)
		n = left
		if err == nil {
			return nil
		}
		if again, err := l.drained(err, n > 0); !again {
			return err
		}
	}
	return nil
}

// writer writes to where a lane sends.
type writer struct{ l *lane }

// Write implements io.Writer.
func (w writer) Write(b []byte) (int, error) {
	if err := w.l.write(b); err != nil {
		return 0, err
	}
	return len(b), nil
}

// write sends bytes on. A peer that takes none for long loses the connection.
func (l *lane) write(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	if l.of.unread.Load() {
		l.of.expiry.Reset(l.of.relay.times.idle)
	}
	if err := l.dst.SetWriteDeadline(l.of.relay.clock().Add(l.of.relay.times.write)); err != nil {
		return err
	}
	if until := l.of.draining.Load(); until != nil { // it may have begun just now
		if err := l.dst.SetWriteDeadline(*until); err != nil {
			return err
		}
	}
	_, err := l.dst.Write(b)
	return err
}

// stop has the lane stop reading at a time, half a frame aside.
func (l *lane) stop(at time.Time) {
	_ = l.src.SetReadDeadline(at) // a closed socket has stopped already
}

// longAgo is a deadline that interrupts a read at once.
func longAgo() time.Time { return time.Unix(1, 0) }

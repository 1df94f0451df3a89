package ipc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
)

const (
	prefixLen  = 4        // of a frame: its length, big-endian
	smallFrame = 4 << 10  // what a reader holds on to
	firstBig   = 32 << 10 // what a larger frame grows to once it has filled the small buffer
	keepBig    = 1 << 20  // larger buffers are not kept for others
)

// FrameError says that a frame announces a length it cannot have. Nothing of
// the frame is taken out of the reader.
type FrameError struct {
	Length int32 // as announced
	Limit  int
}

// Error implements error.
func (e *FrameError) Error() string {
	if e.Length < 0 {
		return fmt.Sprintf("hadoop rpc: a frame of length %d; the peer does not speak Hadoop RPC version 9", e.Length)
	}
	return fmt.Sprintf("hadoop rpc: a frame of %d bytes, and the limit is %d", e.Length, e.Limit)
}

// Reader cuts a stream into frames. It holds 4 KiB between frames. A longer
// frame gets a larger buffer once it has filled the 4 KiB, which grows as bytes
// come and which the next call gives back: the announced length alone allocates
// nothing. A Reader is not safe for concurrent use.
//
// An error of the stream loses nothing: after a deadline, for instance, the
// next call continues the same frame, and Buffered has what was read.
type Reader struct {
	r      io.Reader
	limit  int
	small  [smallFrame]byte
	lo, hi int     // what is read and not returned, in small
	big    *[]byte // of a longer frame, nil for none
	filled int     // bytes in big
	whole  bool    // big has been returned
}

// NewReader returns a reader of frames whose length, prefix not counted, is at
// most limit; MaxFrame is Hadoop's own.
func NewReader(r io.Reader, limit int) *Reader { return &Reader{r: r, limit: limit} }

// SetLimit changes the limit from the next frame on, and for one that Next has
// just refused.
func (r *Reader) SetLimit(limit int) { r.limit = limit }

// bigBuffers are shared by all readers.
//
//nolint:gochecknoglobals // a pool is of use only when it is shared
var bigBuffers = sync.Pool{New: func() any { b := make([]byte, firstBig); return &b }}

// ReadPreamble returns the first PreambleLen bytes of a connection, valid until
// the next call. It is io.EOF when there are none.
func (r *Reader) ReadPreamble() ([]byte, error) { return r.consume(PreambleLen) }

// Next returns the next frame with its length prefix, valid until the next
// call. The error is io.EOF at the end of a frame only, io.ErrUnexpectedEOF
// within one, *FrameError for a length that cannot be, or that of the stream.
func (r *Reader) Next() ([]byte, error) {
	if r.big != nil {
		if !r.whole {
			return r.fillBig()
		}
		r.releaseBig()
	}
	if err := r.fill(prefixLen); err != nil {
		return nil, err
	}
	length := int32(binary.BigEndian.Uint32(r.small[r.lo:])) //nolint:gosec // the prefix is signed
	switch {
	case length < 0 || int(length) > r.limit:
		return nil, &FrameError{Length: length, Limit: r.limit}
	case prefixLen+int(length) <= len(r.small):
		return r.consume(prefixLen + int(length))
	}
	if err := r.fill(len(r.small)); err != nil {
		return nil, err
	}
	r.big, _ = bigBuffers.Get().(*[]byte)
	r.filled, r.whole = copy(*r.big, r.small[r.lo:r.hi]), false
	r.lo, r.hi = 0, 0
	return r.fillBig()
}

// Buffered returns what was read from the stream and not yet returned, a part
// of a frame included, valid until the next call.
func (r *Reader) Buffered() []byte {
	if r.big != nil && !r.whole {
		return (*r.big)[:r.filled]
	}
	return r.small[r.lo:r.hi]
}

// Copy writes the next n bytes to w as they come, what was read ahead first; with n below 0 everything, which ends in
// io.EOF. It is for between two frames. It returns how many are left. An error of the stream loses nothing: another Copy of what is left goes on.
func (r *Reader) Copy(w io.Writer, n int64) (left int64, err error) {
	if r.big != nil && r.whole {
		r.releaseBig()
	}
	for n != 0 {
		if r.lo == r.hi {
			if err := r.fill(1); err != nil {
				return n, err
			}
		}
		b := r.small[r.lo:r.hi]
		if n > 0 {
			b = b[:min(int64(len(b)), n)]
		}
		if _, err := w.Write(b); err != nil {
			return n, err
		}
		r.lo += len(b)
		if n > 0 {
			n -= int64(len(b))
		}
	}
	return 0, nil
}

// consume returns the next n bytes and advances over them; n is at most the size of small.
func (r *Reader) consume(n int) ([]byte, error) {
	if err := r.fill(n); err != nil {
		return nil, err
	}
	b := r.small[r.lo : r.lo+n : r.lo+n]
	r.lo += n
	return b, nil
}

// fill reads until n bytes are in small.
func (r *Reader) fill(n int) error {
	if r.lo == r.hi {
		r.lo, r.hi = 0, 0
	}
	if r.lo+n > len(r.small) {
		r.hi = copy(r.small[:], r.small[r.lo:r.hi])
		r.lo = 0
	}
	for r.hi-r.lo < n {
		got, err := r.read(r.small[r.hi:])
		r.hi += got
		if err != nil && r.hi-r.lo < n {
			return atEnd(err, r.hi > r.lo)
		}
	}
	return nil
}

// fillBig reads the rest of the frame into big, which grows as bytes come.
func (r *Reader) fillBig() ([]byte, error) {
	total := prefixLen + int(binary.BigEndian.Uint32(*r.big))
	for r.filled < total {
		if r.filled == len(*r.big) {
			grown := make([]byte, min(2*len(*r.big), total))
			copy(grown, *r.big)
			*r.big = grown
		}
		got, err := r.read((*r.big)[r.filled:min(total, len(*r.big))])
		r.filled += got
		if err != nil && r.filled < total {
			return nil, atEnd(err, true)
		}
	}
	r.whole = true
	return (*r.big)[:total:total], nil
}

// releaseBig returns the buffer of a large frame to the pool.
func (r *Reader) releaseBig() {
	if len(*r.big) <= keepBig {
		bigBuffers.Put(r.big)
	}
	r.big, r.filled, r.whole = nil, 0, false
}

// read reads at least one byte, or returns an error.
func (r *Reader) read(b []byte) (int, error) {
	for range 100 {
		if n, err := r.r.Read(b); n > 0 || err != nil {
			return n, err
		}
	}
	return 0, io.ErrNoProgress
}

// atEnd returns io.ErrUnexpectedEOF if the stream ends within a frame or preamble, else err.
func atEnd(err error, within bool) error {
	if within && errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

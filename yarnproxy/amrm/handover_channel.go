package amrm

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// messageKind says what a message of a handover is.
type messageKind byte

const (
	sayHello     messageKind = iota + 1 // helloMsg, both ways
	sayRefused                          // refusedMsg
	sayListeners                        // []listenerMsg and their sockets
	sayAttempts                         // []attemptMsg
	sayConns                            // []connMsg, and the client's and the ResourceManager's socket of each
	sayEnd                              // endMsg
	sayReady                            // the new process has everything
	sayYours                            // the old one has let go
)

const (
	messageHeader = 1 + 1 + 4 // kind, number of sockets, length of the body
	messageLimit  = 64 << 20  // of a body: a connection may leave four times largeFrame, in base64
	messageFiles  = 128       // sockets of one message; Linux takes 253 (SCM_MAX_FD)
)

// channel is one end of a handover: messages of JSON, with sockets.
type channel struct{ c *net.UnixConn }

// message is one that was received. The sockets are the receiver's.
type message struct {
	kind  messageKind
	body  []byte
	files []*os.File
}

func (m *message) close() {
	for _, f := range m.files {
		_ = f.Close() // a copy: it ends nothing
	}
}

// send sends a message; v nil has no body. The descriptors stay the caller's.
func (ch channel) send(kind messageKind, v any, files ...int) error {
	var body []byte
	if v != nil {
		var err error
		if body, err = json.Marshal(v); err != nil {
			return fmt.Errorf("writing a message of a handover: %w", err)
		}
	}
	if len(body) > messageLimit || len(files) > messageFiles {
		return fmt.Errorf("a message of a handover of %d bytes and %d sockets is too large", len(body), len(files))
	}
	head := [messageHeader]byte{byte(kind), byte(len(files))} //nolint:gosec // within the limit
	binary.BigEndian.PutUint32(head[2:], uint32(len(body)))   //nolint:gosec // within the limit
	var rights []byte
	if len(files) > 0 {
		rights = unix.UnixRights(files...)
	}
	if _, _, err := ch.c.WriteMsgUnix(head[:], rights, nil); err != nil || len(body) == 0 {
		return err // even no bytes cannot be written to a peer that has heard enough
	}
	_, err := ch.c.Write(body)
	return err
}

// receive returns the next message.
func (ch channel) receive() (m message, err error) {
	defer func() {
		if err != nil {
			m.close()
			m = message{}
		}
	}()
	var head [messageHeader]byte
	rights := make([]byte, unix.CmsgSpace(4*messageFiles))
	n, got, flags, _, err := ch.c.ReadMsgUnix(head[:], rights)
	if err != nil {
		return m, err
	}
	if n == 0 {
		return m, io.EOF
	}
	files, err := filesOf(rights[:got])
	m.files = files
	if err != nil {
		return m, err
	}
	if flags&unix.MSG_CTRUNC != 0 {
		return m, errors.New("not all sockets of a handover arrived; raise the limit of open files")
	}
	if _, err = io.ReadFull(ch.c, head[n:]); err != nil {
		return m, err
	}
	length := binary.BigEndian.Uint32(head[2:])
	m.kind = messageKind(head[0])
	if length > messageLimit || int(head[1]) != len(m.files) {
		return m, fmt.Errorf("a message of a handover of %d bytes with %d sockets of %d", length, len(m.files), head[1])
	}
	if m.body, err = io.ReadAll(io.LimitReader(ch.c, int64(length))); err == nil && len(m.body) < int(length) {
		err = io.ErrUnexpectedEOF
	}
	return m, err
}

// filesOf takes the descriptors out of a control message.
func filesOf(control []byte) (files []*os.File, err error) {
	if len(control) == 0 {
		return nil, nil
	}
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return nil, err
	}
	for i := range messages {
		fds, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			return files, err
		}
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "handed over"))
		}
	}
	return files, nil
}

// duplicate returns a second descriptor of a socket, which both processes may close.
func duplicate(socket any) (int, error) {
	s, ok := socket.(syscall.Conn)
	if !ok {
		return 0, fmt.Errorf("%T is no socket of the system's", socket)
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return 0, err
	}
	var fd int
	var failed error
	err = raw.Control(func(of uintptr) { fd, failed = unix.FcntlInt(of, unix.F_DUPFD_CLOEXEC, 0) })
	return fd, errors.Join(err, failed)
}

// closeAll closes descriptors of duplicate.
func closeAll(fds []int) {
	for _, fd := range fds {
		_ = unix.Close(fd) // a copy: it ends nothing
	}
}

// peerUser returns whose process the other end of a Unix socket is.
func peerUser(c *net.UnixConn) (uint32, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) {
		cred, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err = errors.Join(err, failed); err != nil {
		return 0, fmt.Errorf("finding out whose process asks for a handover: %w", err)
	}
	return cred.Uid, nil
}

// errStranger says that a process of another user is at the other end.
var errStranger = errors.New("the process at the other end of the handover socket belongs to another user")

// trusted checks that the other end is a process of the same user, or of root.
func trusted(uid uint32, err error) error {
	if err != nil {
		return err
	}
	if uid != 0 && int64(uid) != int64(os.Geteuid()) {
		return fmt.Errorf("%w (%d)", errStranger, uid)
	}
	return nil
}

package hdfsclient

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"

	"heddle/yarnproxy/ipc"
)

// shortAnswer is what an answer counts as at least towards the limit of a call, because
// the client asks on and on where pages are empty.
const shortAnswer = 4 << 10

// rpcConn is a connection of colinmarc's client. It asks for block locations, which that
// client reads but never asks for. It gives every read and write a deadline, counts, and
// ends a call that would receive more than it is allowed: the client would make room for
// a long answer at once. What a NameNode sends is a sequence of packets, each a length in
// four bytes, big end first, and as many bytes.
type rpcConn struct {
	net.Conn
	session *rpcSession

	header []byte // of the next packet, as far as it is read
	left   int64  // bytes of the current packet to come
}

// Read implements net.Conn.
func (c *rpcConn) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(c.session.now().Add(c.session.timeout)); err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(p)
	c.session.received.Add(int64(n))
	for rest := p[:n]; len(rest) > 0; {
		if c.left > 0 {
			skip := min(c.left, int64(len(rest)))
			c.left -= skip
			rest = rest[skip:]
			continue
		}
		c.header = append(c.header, rest[0])
		if rest = rest[1:]; len(c.header) < 4 {
			continue
		}
		c.left = int64(binary.BigEndian.Uint32(c.header))
		c.header = c.header[:0]
		if c.session.allowed.Add(-max(c.left, shortAnswer)) < 0 {
			_ = c.Close()
			return 0, fmt.Errorf("%w: another %d bytes, and a call may receive %d", errTooLong, c.left, c.session.maxBytes)
		}
	}
	return n, err
}

// Write implements net.Conn. The client writes a request at once.
func (c *rpcConn) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(c.session.now().Add(c.session.timeout)); err != nil {
		return 0, err
	}
	p, call := needLocation(p, !c.session.large.Load())
	if call {
		c.session.sent.Add(1)
	}
	return c.Conn.Write(p)
}

// needLocation returns a frame as it is to be sent, and whether it is a call. A getListing
// asks for locations then, if they are wanted: its last field, needLocation, is 1 instead
// of 0. Anything else is unchanged. The client sends requests in the clear even where
// hadoop.rpc.protection wraps the answers; should it wrap them some day, files come
// without locations and are located over WebHDFS.
func needLocation(frame []byte, wanted bool) (changed []byte, call bool) {
	if len(frame) < 4 {
		return frame, false
	}
	h, rest, err := ipc.ParseRequest(frame[4:])
	if err != nil || h.CallID < 0 {
		return frame, false
	}
	c, request, err := ipc.ParseCall(rest)
	if wanted && err == nil && string(c.Method) == "getListing" && bytes.HasSuffix(request, []byte{3 << 3, 0}) {
		frame = bytes.Clone(frame)
		frame[len(frame)-1] = 1
	}
	return frame, true
}

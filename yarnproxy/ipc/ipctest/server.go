// Package ipctest is the parts of Hadoop RPC that tests need and heddle does not: those of a server, and of a client
// that calls for itself. Package ipc writes only what a relay writes.
package ipctest

import (
	"encoding/binary"

	"google.golang.org/protobuf/encoding/protowire"

	"heddle/yarnproxy/ipc"
)

// rpcVersion is RpcConstants.CURRENT_VERSION.
const rpcVersion = 9

// AppendResponse appends the frame of a response, length prefix included: of a
// success with its message, of which nil is none, or of an error without one.
func AppendResponse(dst []byte, h ipc.ResponseHeader, body []byte) []byte {
	header := appendVarint(nil, 1, uint64(uint32(h.CallID)))   //nolint:gosec // a negative id goes as 2^32 more
	header = appendVarint(header, 2, uint64(uint32(h.Status))) //nolint:gosec // statuses are not negative
	header = appendVarint(header, 3, rpcVersion)
	if h.Exception != nil {
		header = appendBytes(header, 4, h.Exception)
	}
	if h.Message != nil {
		header = appendBytes(header, 5, h.Message)
	}
	header = appendBytes(header, 7, h.ClientID)
	header = appendVarint(header, 8, 0) // retryCount
	payload := protowire.AppendBytes(nil, header)
	if h.Status == ipc.StatusSuccess && body != nil {
		payload = protowire.AppendBytes(payload, body)
	}
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(payload))) //nolint:gosec // the peer refuses what is above MaxFrame
	return append(dst, payload...)
}

func appendVarint(dst []byte, num protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(dst, num, protowire.VarintType), v)
}

func appendBytes(dst []byte, num protowire.Number, b []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(dst, num, protowire.BytesType), b)
}

// ParseContext reads the message of a request whose call id is CallContext.
// What it returns points into body.
func ParseContext(body []byte) (ipc.Context, error) {
	var c ipc.Context
	f := ipc.NewFields("connection context", body)
	for f.Next() {
		switch f.Num {
		case 2:
			u := ipc.NewFields("user of the connection context", f.Bytes())
			for u.Next() {
				switch u.Num {
				case 1:
					c.User = u.Bytes()
				case 2:
					c.RealUser = u.Bytes()
				}
			}
			f.Nested(u.Err())
		case 3:
			c.Protocol = f.Bytes()
		}
	}
	if f.Err() != nil {
		return ipc.Context{}, f.Err()
	}
	return c, nil
}

package ipc

import (
	"encoding/binary"

	"google.golang.org/protobuf/encoding/protowire"
)

// AppendPreamble appends the PreambleLen bytes that a client sends first.
func AppendPreamble(dst []byte, p Preamble) []byte {
	return append(dst, 'h', 'r', 'p', 'c', p.Version, p.ServiceClass, p.Auth)
}

// AppendRequest appends the frame of a request, length prefix included. With a
// call, body is its request message, of which nil is an empty one. Without,
// body is the message that follows the header directly, such as that of
// AppendSASL, and nil is none, as in a ping.
func AppendRequest(dst []byte, h RequestHeader, c *Call, body []byte) []byte {
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = appendMessage(dst, func(dst []byte) []byte {
		dst = appendVarint(dst, 1, uint64(uint32(h.Kind))) //nolint:gosec // enums of this header are not negative
		dst = appendVarint(dst, 2, uint64(uint32(h.Op)))   //nolint:gosec // as above
		dst = appendVarint(dst, 3, protowire.EncodeZigZag(int64(h.CallID)))
		dst = appendBytes(dst, 4, h.ClientID)
		dst = appendVarint(dst, 5, protowire.EncodeZigZag(int64(h.RetryCount)))
		if h.CallerContext != nil {
			dst = protowire.AppendTag(dst, 7, protowire.BytesType)
			dst = appendMessage(dst, func(dst []byte) []byte { return appendBytes(dst, 1, h.CallerContext) })
		}
		return dst
	})
	if c != nil {
		dst = appendMessage(dst, func(dst []byte) []byte {
			dst = appendBytes(dst, 1, c.Method)
			dst = appendBytes(dst, 2, c.Protocol)
			return appendVarint(dst, 3, c.Version)
		})
	}
	if c != nil || body != nil {
		dst = protowire.AppendBytes(dst, body)
	}
	return endFrame(dst, start)
}

// AppendSASL appends RpcSaslProto: the body of a request with SASLHeader, or of
// a response whose call id is CallSASL. An empty field is left out, those of
// Auths that protobuf requires aside.
func AppendSASL(dst []byte, s SASL) []byte {
	dst = appendVarint(dst, 2, uint64(uint32(s.State))) //nolint:gosec // states are not negative
	if s.Token != nil {
		dst = appendBytes(dst, 3, s.Token)
	}
	for i := range s.Auths {
		a := &s.Auths[i]
		dst = protowire.AppendTag(dst, 4, protowire.BytesType)
		dst = appendMessage(dst, func(dst []byte) []byte {
			dst = appendBytes(dst, 1, a.Method)
			dst = appendBytes(dst, 2, a.Mechanism)
			if a.Protocol != nil {
				dst = appendBytes(dst, 3, a.Protocol)
			}
			if a.ServerID != nil {
				dst = appendBytes(dst, 4, a.ServerID)
			}
			if a.Challenge != nil {
				dst = appendBytes(dst, 5, a.Challenge)
			}
			return dst
		})
	}
	return dst
}

// SASLHeader is the header of a SASL frame of a client.
func SASLHeader() RequestHeader {
	return RequestHeader{Kind: KindProtobuf, Op: OpFinal, CallID: CallSASL, ClientID: []byte{}, RetryCount: -1}
}

// ReplaceBody appends frame, a call with its length prefix, with newBody in
// place of its request message oldBody, which is the body that ParseCall
// returned of it. Header and call stay byte for byte; the lengths are made to
// fit. When oldBody is not what the frame ends in, frame is appended as it is.
func ReplaceBody(dst, frame, oldBody, newBody []byte) []byte {
	at := bodyStart(frame, len(oldBody))
	if at < 0 {
		return append(dst, frame...)
	}
	start := len(dst)
	dst = append(dst, frame[:at]...)
	dst = protowire.AppendBytes(dst, newBody)
	return endFrame(dst, start)
}

// bodyStart returns where the length of a call's request message is in its
// frame, -1 when the message is not of the given length. A varint need not be
// as short as it could be, so that the way there is through what is before it.
func bodyStart(frame []byte, length int) int {
	if len(frame) < prefixLen {
		return -1
	}
	rest := frame[prefixLen:]
	for range 2 { // header and call
		_, n := protowire.ConsumeBytes(rest)
		if n < 0 {
			return -1
		}
		rest = rest[n:]
	}
	body, n := protowire.ConsumeBytes(rest)
	if n != len(rest) || len(body) != length {
		return -1
	}
	return len(frame) - len(rest)
}

// appendMessage appends what fill appends with its length as a varint before it.
func appendMessage(dst []byte, fill func([]byte) []byte) []byte {
	start := len(dst)
	dst = append(dst, 0) // enough for a length below 128
	dst = fill(dst)
	size := len(dst) - start - 1
	if more := protowire.SizeVarint(uint64(size)) - 1; more > 0 { //nolint:gosec // a length
		dst = append(dst, make([]byte, more)...)
		copy(dst[start+1+more:], dst[start+1:start+1+size])
	}
	protowire.AppendVarint(dst[:start], uint64(size)) //nolint:gosec // a length
	return dst
}

func appendVarint(dst []byte, num protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(dst, num, protowire.VarintType), v)
}

func appendBytes(dst []byte, num protowire.Number, b []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(dst, num, protowire.BytesType), b)
}

// endFrame puts the length of what was appended since start into its first bytes.
func endFrame(dst []byte, start int) []byte {
	binary.BigEndian.PutUint32(dst[start:], uint32(len(dst)-start-prefixLen)) //nolint:gosec // the peer refuses what is above MaxFrame
	return dst
}

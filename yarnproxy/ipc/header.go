package ipc

// The values of fields 1 and 2 of a request header that every request of this
// package's builders has (RpcHeader.proto).
const (
	KindProtobuf int32 = 2 // RPC_PROTOCOL_BUFFER
	OpFinal      int32 = 0 // RPC_FINAL_PACKET
)

// ParsePreamble reads the PreambleLen bytes that a client sends first. Bytes
// beyond them are an error, and so is any other beginning than "hrpc". The
// version is not judged.
func ParsePreamble(b []byte) (Preamble, error) {
	switch {
	case len(b) >= 4 && string(b[:4]) == "GET ":
		return Preamble{}, ErrHTTP
	case len(b) != PreambleLen || string(b[:4]) != "hrpc":
		return Preamble{}, &ParseError{"preamble", `not "hrpc" and three bytes`}
	}
	return Preamble{Version: b[4], ServiceClass: b[5], Auth: b[6]}, nil
}

// ErrHTTP says that a client speaks HTTP to a port of Hadoop RPC.
var ErrHTTP error = &ParseError{"preamble", "an HTTP request; the port speaks Hadoop RPC"}

// ParseRequest reads the header of a request from a frame without its length
// prefix. What follows the header is rest: what ParseCall reads, or one
// length-delimited message when the call id is CallSASL or CallContext (see
// ParseParam), or nothing when it is CallPing. Everything returned points into
// payload.
func ParseRequest(payload []byte) (h RequestHeader, rest []byte, err error) {
	message, rest, err := cutDelimited("request header", payload)
	if err != nil {
		return RequestHeader{}, nil, err
	}
	h.RetryCount = -1
	var kind, op, call bool
	f := NewFields("request header", message)
	for f.Next() {
		switch f.Num {
		case 1:
			h.Kind, kind = f.Int32(), true
		case 2:
			h.Op, op = f.Int32(), true
		case 3:
			h.CallID, call = f.Sint32(), true
		case 4:
			h.ClientID = f.Bytes()
		case 5:
			h.RetryCount = f.Sint32()
		case 7:
			h.CallerContext = f.callerContext(h.CallerContext)
		}
	}
	if f.err == nil && (!kind || !op || !call) { // Server.checkRpcHeaders
		f.Fail("without rpcKind, rpcOp or callId")
	}
	if f.err != nil {
		return RequestHeader{}, nil, f.err
	}
	return h, rest, nil
}

// callerContext reads RPCCallerContextProto from the current field; old is
// the value of an earlier field of the same number.
func (f *Fields) callerContext(old []byte) []byte {
	c := NewFields("caller context", f.Bytes())
	for c.Next() {
		if c.Num == 1 {
			old = c.Bytes()
		}
	}
	f.Nested(c.err)
	return old
}

// ParseCall reads what follows the header of a call: the method, and the
// method's request message, which is all that is left. Both point into rest.
func ParseCall(rest []byte) (c Call, body []byte, err error) {
	message, rest, err := cutDelimited("call", rest)
	if err != nil {
		return Call{}, nil, err
	}
	f := NewFields("call", message)
	for f.Next() {
		switch f.Num {
		case 1:
			c.Method = f.Bytes()
		case 2:
			c.Protocol = f.Bytes()
		case 3:
			c.Version = f.Uint64()
		}
	}
	if f.err == nil && len(c.Method) == 0 {
		f.Fail("without a method")
	}
	if f.err != nil {
		return Call{}, nil, f.err
	}
	body, err = ParseParam(rest)
	if err != nil {
		return Call{}, nil, err
	}
	return c, body, nil
}

// ParseParam reads the one message that rest consists of, such as that of a
// request whose call id is CallSASL. It points into rest and is never nil
// without an error.
func ParseParam(rest []byte) ([]byte, error) {
	body, rest, err := cutDelimited("message", rest)
	if err == nil && len(rest) > 0 {
		err = &ParseError{"message", "more bytes after its end"}
	}
	if err != nil {
		return nil, err
	}
	return body, nil
}

// ParseResponse reads the header of a response from a frame without its length
// prefix, and the message that follows a success: nil on errors, which have
// none. Everything returned points into payload.
func ParseResponse(payload []byte) (h ResponseHeader, body []byte, err error) {
	message, rest, err := cutDelimited("response header", payload)
	if err != nil {
		return ResponseHeader{}, nil, err
	}
	var call, status bool
	f := NewFields("response header", message)
	for f.Next() {
		switch f.Num {
		case 1:
			h.CallID, call = f.Int32(), true // a negative id comes as 2^32 more
		case 2:
			h.Status, status = Status(f.Int32()), true
		case 4:
			h.Exception = f.Bytes()
		case 5:
			h.Message = f.Bytes()
		case 7:
			h.ClientID = f.Bytes()
		}
	}
	switch {
	case f.err != nil:
	case !call || !status:
		f.Fail("without callId or status")
	case h.Status < StatusSuccess || h.Status > StatusFatal:
		f.Fail("an unknown status")
	case h.Status != StatusSuccess && len(rest) > 0: // ProtobufRpcEngine2: "RPC response length mismatch"
		f.Fail("an error with more bytes after it")
	case len(rest) > 0:
		body, f.err = ParseParam(rest)
	}
	if f.err != nil {
		return ResponseHeader{}, nil, f.err
	}
	return h, body, nil
}

// Context is IpcConnectionContextProto: who calls which protocol on a
// connection. It names no user when a token does.
type Context struct{ User, RealUser, Protocol []byte }

// Package ipc is Hadoop RPC version 9 on the wire: the preamble, length-framed
// messages, request and response headers, and SASL frames.
//
// It parses without copying: what a parser returns points into the bytes it was
// given. A relay can therefore look at every frame and pass it on as it came.
// Sources: Hadoop's ipc/{Client,Server,RpcConstants}.java, RpcHeader.proto,
// IpcConnectionContext.proto, ProtobufRpcEngine2.proto, Security.proto.
package ipc

// Limits of Hadoop's own server and client.
const (
	// MaxFrame is ipc.maximum.data.length and ipc.maximum.response.length by default.
	MaxFrame = 128 << 20
	// PreambleLen is the length of what a client sends first.
	PreambleLen = 7
)

// The ways to authenticate that a preamble names.
const (
	AuthNone byte = 0x00
	AuthSASL byte = 0xDF
)

// Call ids with a meaning of their own (RpcConstants.java).
const (
	CallAuthFailed int32 = -1
	CallInvalid    int32 = -2
	CallContext    int32 = -3
	CallPing       int32 = -4
	CallSASL       int32 = -33
)

// Status of a response.
type Status int32

// The statuses of RpcResponseHeaderProto.
const (
	StatusSuccess Status = 0
	StatusError   Status = 1 // this call failed, the connection stays
	StatusFatal   Status = 2 // the server closes the connection
)

// Preamble is what a client sends first, after the bytes "hrpc".
type Preamble struct{ Version, ServiceClass, Auth byte }

// RequestHeader is RpcRequestHeaderProto, without what nobody here reads.
type RequestHeader struct {
	Kind, Op      int32
	CallID        int32
	ClientID      []byte // 16 bytes, empty on SASL frames
	RetryCount    int32  // -1 when absent
	CallerContext []byte // RPCCallerContextProto.context, such as mr_appmaster_appattempt_…
}

// Call names the method of a request (RequestHeaderProto).
type Call struct {
	Method   []byte
	Protocol []byte
	Version  uint64
}

// ResponseHeader is RpcResponseHeaderProto.
type ResponseHeader struct {
	CallID    int32
	Status    Status
	Exception []byte // class name, of an error
	Message   []byte // of an error
	ClientID  []byte
}

// SASLState is RpcSaslProto.SaslState.
type SASLState int32

// The states of a SASL exchange.
const (
	SASLSuccess   SASLState = 0
	SASLNegotiate SASLState = 1
	SASLInitiate  SASLState = 2
	SASLChallenge SASLState = 3
	SASLResponse  SASLState = 4
	SASLWrap      SASLState = 5
)

// SASL is RpcSaslProto as far as a relay reads it.
type SASL struct {
	State SASLState
	Token []byte
	Auths []SASLAuth
}

// SASLAuth is one way to authenticate that a server offers or a client chose.
type SASLAuth struct{ Method, Mechanism, Protocol, ServerID, Challenge []byte }

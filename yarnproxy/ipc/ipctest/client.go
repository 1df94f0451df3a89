package ipctest

import (
	"google.golang.org/protobuf/encoding/protowire"

	"heddle/yarnproxy/ipc"
)

// AppendContext appends IpcConnectionContextProto, the body of a request with
// ContextHeader. Without a user the user is there but empty, as it is when a
// token says who calls.
func AppendContext(dst []byte, c ipc.Context) []byte {
	var user []byte
	if c.User != nil {
		user = appendBytes(user, 1, c.User)
	}
	if c.RealUser != nil {
		user = appendBytes(user, 2, c.RealUser)
	}
	dst = protowire.AppendBytes(protowire.AppendTag(dst, 2, protowire.BytesType), user)
	return appendBytes(dst, 3, c.Protocol)
}

// CallHeader is the header of a call.
func CallHeader(id int32, clientID []byte) ipc.RequestHeader {
	return ipc.RequestHeader{Kind: ipc.KindProtobuf, Op: ipc.OpFinal, CallID: id, ClientID: clientID}
}

// ContextHeader is the header of a connection context.
func ContextHeader(clientID []byte) ipc.RequestHeader {
	return ipc.RequestHeader{Kind: ipc.KindProtobuf, Op: ipc.OpFinal, CallID: ipc.CallContext, ClientID: clientID, RetryCount: -1}
}

package ipc_test

import (
	"testing"

	"heddle/yarnproxy/ipc"
	"heddle/yarnproxy/ipc/ipctest"
)

// heartbeat is the frame of an empty allocate call, about as long as that of a
// MapReduce ApplicationMaster.
func heartbeat() []byte {
	h := ipctest.CallHeader(10, []byte("0123456789abcdef"))
	h.CallerContext = []byte(attempt)
	return ipc.AppendRequest(nil, h, &ipc.Call{Method: []byte("allocate"), Protocol: []byte("org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB"), Version: 1}, []byte{0x1a, 0, 0x20, 9, 0x2d, 0, 0, 0, 0x3f})
}

func BenchmarkReader(b *testing.B) {
	for name, frame := range map[string][]byte{"heartbeat": heartbeat(), "64KiB": frameOf(64<<10, 1)} {
		b.Run(name, func(b *testing.B) {
			r := ipc.NewReader(&endless{b: frame}, ipc.MaxFrame)
			b.SetBytes(int64(len(frame)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := r.Next(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkParseRequest(b *testing.B) {
	frame := heartbeat()
	b.ReportAllocs()
	for b.Loop() {
		_, rest, err := ipc.ParseRequest(frame[4:])
		if err != nil {
			b.Fatal(err)
		}
		if _, _, err := ipc.ParseCall(rest); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseResponse(b *testing.B) {
	frame := ipctest.AppendResponse(nil, ipc.ResponseHeader{CallID: 10, ClientID: []byte("0123456789abcdef")}, make([]byte, 50))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := ipc.ParseResponse(frame[4:]); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReplaceBody(b *testing.B) {
	frame := heartbeat()
	_, rest, err := ipc.ParseRequest(frame[4:])
	if err != nil {
		b.Fatal(err)
	}
	_, body, err := ipc.ParseCall(rest)
	if err != nil {
		b.Fatal(err)
	}
	edited := make([]byte, 400)
	var out []byte
	b.ReportAllocs()
	for b.Loop() {
		out = ipc.ReplaceBody(out[:0], frame, body, edited)
	}
}

func BenchmarkParseDigest(b *testing.B) {
	token := []byte(`charset=utf-8,username="AAABm2Q9mAAAAAABAAAAAc2yj0w=",realm="default",nonce="b64+/==",nc=00000001,cnonce="x==",digest-uri="/default",maxbuf=65536,response=0123456789abcdef0123456789abcdef,qop=auth`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ipc.ParseDigest(token); err != nil {
			b.Fatal(err)
		}
	}
}

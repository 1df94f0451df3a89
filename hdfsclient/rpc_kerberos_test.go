package hdfsclient

import (
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	krb "github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/credentials"
	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/gssapi"
	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/iana/nametype"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"

	"heddle/yarnproxy/ipc"
	"heddle/yarnproxy/ipc/ipctest"
)

const realm = "EXAMPLE.COM"

// kerberosClient returns a client that holds a ticket for a service, and the key that the
// two share: no KDC is asked.
func kerberosClient(t *testing.T, service string) (*krb.Client, types.EncryptionKey) {
	t.Helper()
	now := time.Now().UTC()
	user := types.NewPrincipalName(nametype.KRB_NT_PRINCIPAL, "heddle")
	cache := &credentials.CCache{}
	cache.DefaultPrincipal.Realm, cache.DefaultPrincipal.PrincipalName = realm, user
	var shared types.EncryptionKey
	for _, name := range []string{"krbtgt/" + realm, service} {
		keys := keytab.New()
		if err := keys.AddEntry(name, realm, "secret", now, 1, etypeID.AES256_CTS_HMAC_SHA1_96); err != nil {
			t.Fatal(err)
		}
		server := types.NewPrincipalName(nametype.KRB_NT_SRV_INST, name)
		end := now.Add(time.Hour)
		ticket, key, err := messages.NewTicket(user, realm, server, realm, types.NewKrbFlags(), keys, etypeID.AES256_CTS_HMAC_SHA1_96, 1, now, now, end, end)
		if err != nil {
			t.Fatal(err)
		}
		content, err := ticket.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		c := &credentials.Credential{Key: key, AuthTime: now, StartTime: now, EndTime: end, RenewTill: end, Ticket: content}
		c.Client.Realm, c.Client.PrincipalName, c.Server.Realm, c.Server.PrincipalName = realm, user, realm, server
		cache.Credentials = append(cache.Credentials, c)
		shared = key
	}
	client, err := krb.NewFromCCache(cache, config.New())
	if err != nil {
		t.Fatal(err)
	}
	return client, shared
}

// kerberos has the NameNode let in who holds the key, as Hadoop does by GSSAPI under SASL,
// and protect its answers: by "auth" in no way, by "auth-int" with a checksum, by
// "auth-conf" encrypted.
func (n *rpcNameNode) kerberos(key types.EncryptionKey, protection string) {
	etype, err := crypto.GetEtype(key.KeyType)
	if err != nil {
		n.t.Fatal(err)
	}
	token := func(payload []byte) []byte {
		w := gssapi.WrapToken{Flags: 1, EC: uint16(etype.GetHMACBitLength() / 8), Payload: payload}
		if err := w.SetCheckSum(key, keyusage.GSSAPI_ACCEPTOR_SEAL); err != nil {
			n.t.Error(err)
		}
		b, err := w.Marshal()
		if err != nil {
			n.t.Error(err)
		}
		return b
	}
	answer := func(s ipc.SASL) []byte {
		return ipctest.AppendResponse(nil, ipc.ResponseHeader{CallID: ipc.CallSASL}, ipc.AppendSASL(nil, s))
	}
	n.login = func(conn net.Conn, frames *ipc.Reader) bool {
		for _, step := range []struct {
			want ipc.SASLState
			give ipc.SASL
		}{
			{ipc.SASLNegotiate, ipc.SASL{State: ipc.SASLNegotiate, Auths: []ipc.SASLAuth{
				{Method: []byte("TOKEN"), Mechanism: []byte("DIGEST-MD5"), Challenge: fmt.Appendf(nil, `realm="default",nonce="n",qop="%s",charset=utf-8,algorithm=md5-sess`, protection)},
				{Method: []byte("KERBEROS"), Mechanism: []byte("GSSAPI"), Protocol: []byte("nn"), ServerID: []byte("127.0.0.1")},
			}}},
			{ipc.SASLInitiate, ipc.SASL{State: ipc.SASLChallenge, Token: token([]byte{1, 0, 0, 0})}},
			{ipc.SASLResponse, ipc.SASL{State: ipc.SASLSuccess}},
		} {
			frame, err := frames.Next()
			if err != nil {
				n.t.Error(err)
				return false
			}
			_, rest, err := ipc.ParseRequest(frame[4:])
			if err != nil {
				n.t.Error(err)
				return false
			}
			body, _ := ipc.ParseParam(rest)
			if s, err := ipc.ParseSASL(body); err != nil || s.State != step.want || step.want != ipc.SASLNegotiate && len(s.Token) == 0 {
				n.t.Errorf("%+v, %v, want state %d", s, err, step.want)
				return false
			}
			if _, err := conn.Write(answer(step.give)); err != nil {
				return false
			}
		}
		return true
	}
	switch protection {
	case "auth-int":
		n.wrap = func(b []byte) []byte { return answer(ipc.SASL{State: ipc.SASLWrap, Token: token(b)}) }
	case "auth-conf":
		n.wrap = func(b []byte) []byte {
			_, sealed, err := etype.EncryptMessage(key.KeyValue, b, keyusage.GSSAPI_ACCEPTOR_SEAL)
			if err != nil {
				n.t.Error(err)
			}
			return answer(ipc.SASL{State: ipc.SASLWrap, Token: token(sealed)})
		}
	}
}

// TestRPCKerberos: locations come with the listings on a cluster with Kerberos, too,
// whatever hadoop.rpc.protection says.
func TestRPCKerberos(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	tree(f)
	f.unknown = []string{"GETFILEBLOCKLOCATIONS"} // the other form was recorded with the same order of replicas
	want, err := client(t, Config{}, f).Blocks(t.Context(), "/in/2026")
	if err != nil {
		t.Fatal(err)
	}
	for _, protection := range []string{"auth", "auth-int", "auth-conf"} {
		login, key := kerberosClient(t, "nn/127.0.0.1")
		n := newRPCNameNode(t, f)
		n.kerberos(key, protection)
		c, err := New(Config{
			NameNodes: []string{"http://nn1:9870"}, RPCAddresses: []string{n.listener.Addr().String()}, RPCPrincipal: "nn/_HOST",
		}, Options{Base: inMemory{"nn1:9870": f}, Kerberos: func() (*krb.Client, error) { return login, nil }})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		before := f.locationRequests()
		got, err := c.Blocks(t.Context(), "/in/2026")
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-WebHDFS +RPC):\n%s", protection, err, diff)
		}
		if f.locationRequests() != before || n.count("getListing") == 0 {
			t.Errorf("%s: %d listings over RPC, %d requests for files", protection, n.count("getListing"), f.locationRequests()-before)
		}
	}
}

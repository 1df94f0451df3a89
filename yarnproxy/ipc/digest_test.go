package ipc_test

import (
	"errors"
	"testing"

	"heddle/yarnproxy/ipc"
	"heddle/yarnproxy/ipc/ipctest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestParseDigest(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]ipc.Digest{
		`charset=utf-8,username="AAE+/w==",realm="default",nonce="n=",nc=00000001,cnonce="c,=",digest-uri="/default",maxbuf=65536,response=00ff,qop=auth`: {
			Username: "AAE+/w==", Realm: "default", Nonce: "n=", NC: "00000001", CNonce: "c,=", URI: "/default", Response: "00ff", QOP: "auth",
		},
		` Username = "a\"b\\\c" ,, response=1 , authzid="z"`: {Username: `a"b\c`, Response: "1", AuthzID: "z", QOP: "auth"},
		`username=u,response=r,qop="auth-conf"`:              {Username: "u", Response: "r", QOP: "auth-conf"},
		`username=u,response=r,qop=AUTH`:                     {Username: "u", Response: "r", QOP: "AUTH"},
		`username="é",response=r,x="qop=auth-int"`:           {Username: "é", Response: "r", QOP: "auth"},
	} {
		got, err := ipc.ParseDigest([]byte(in))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", in, err, diff)
		}
		if got.Protected() != (want.QOP != "auth") {
			t.Errorf("%s: protected %v", in, got.Protected())
		}
	}
	for _, in := range []string{
		``, `username="u"`, `response=r`, `username="u,response=r`, `username=u response=r`, `username="u"x,response=r`, `username=,response=r`,
		`=u`, `username`, `username="u\`, `username=u,username=v,response=r`, `username=u,response=r,qop=auth,qop=auth-conf`, `username=u"v",response=r`,
	} {
		if got, err := ipc.ParseDigest([]byte(in)); err == nil {
			t.Errorf("%s is %+v", in, got)
		}
	}
}

func TestParseChallenge(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]ipc.Challenge{
		`realm="default",nonce="uw==",qop="auth",charset=utf-8,algorithm=md5-sess`: {Realms: []string{"default"}, Nonce: "uw==", QOP: []string{"auth"}},
		`realm="a",realm="b",nonce=n,qop="auth-conf, auth-int,auth"`:               {Realms: []string{"a", "b"}, Nonce: "n", QOP: []string{"auth-conf", "auth-int", "auth"}},
		`nonce=n`: {Nonce: "n", QOP: []string{"auth"}},
	} {
		got, err := ipc.ParseChallenge([]byte(in))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", in, err, diff)
		}
	}
	for _, in := range []string{``, `realm="x"`, `nonce=a,nonce=b`, `nonce="a`} {
		if got, err := ipc.ParseChallenge([]byte(in)); err == nil {
			t.Errorf("%s is %+v", in, got)
		}
	}
}

// TestDigestOfRFC2831 computes the examples of RFC 2831, section 4.
func TestDigestOfRFC2831(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ nonce, cnonce, uri, response, rspauth string }{
		{"OA6MG9tEQGm2hh", "OA6MHXh6VqTrRk", "imap/elwood.innosoft.com", "d388dad90d4bbd760a152321f2143af7", "ea40f60335c427b5527b84dbabcdfffd"},
		{"OA9BSXrbuRhWay", "OA9BSuZWMSpW8m", "acap/elwood.innosoft.com", "6084c6db3fede7352c551284490fd0fc", "2f0b3d7c3c2e486600ef710726aa2eae"},
	} {
		challenge, err := ipc.ParseChallenge([]byte(`realm="elwood.innosoft.com",nonce="` + c.nonce + `",qop="auth",algorithm=md5-sess,charset=utf-8`))
		if err != nil {
			t.Fatal(err)
		}
		token, rspauth, err := ipctest.ClientDigest(&challenge, ipctest.Secret{Username: "chris", Password: "secret"}, c.uri, c.cnonce)
		if err != nil || string(rspauth) != "rspauth="+c.rspauth {
			t.Errorf("client expects %s, %v", rspauth, err)
		}
		d, err := ipc.ParseDigest(token)
		if err != nil || d.Response != c.response {
			t.Errorf("%s: %v", token, err)
		}
		if got, err := ipctest.ServerDigest(&d, c.nonce, "secret"); err != nil || string(got) != "rspauth="+c.rspauth {
			t.Errorf("server answers %s, %v", got, err)
		}
		if _, err := ipctest.ServerDigest(&d, c.nonce, "Secret"); !errors.Is(err, ipctest.ErrDigest) {
			t.Errorf("another password: %v", err)
		}
		if _, err := ipctest.ServerDigest(&d, "another", "secret"); !errors.Is(err, ipctest.ErrDigest) {
			t.Errorf("another nonce: %v", err)
		}
		d.QOP = "auth-int"
		if _, err := ipctest.ServerDigest(&d, c.nonce, "secret"); err == nil {
			t.Error("protection that was not offered")
		}
	}
	if _, _, err := ipctest.ClientDigest(&ipc.Challenge{Nonce: "n", QOP: []string{"auth-conf"}}, ipctest.Secret{Username: "u", Password: "p"}, "/default", "c"); err == nil {
		t.Error("privacy was agreed to")
	}
}

func TestDigestRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringN(1, 40, -1)
		c := ipc.Challenge{Realms: []string{word.Draw(t, "realm")}, Nonce: word.Draw(t, "nonce"), QOP: []string{"auth-int", "auth"}}
		got, err := ipc.ParseChallenge(ipctest.AppendChallenge(nil, &c))
		if diff := cmp.Diff(c, got); diff != "" || err != nil {
			t.Fatalf("%v (-want +got):\n%s", err, diff)
		}
		s := ipctest.Secret{Username: word.Draw(t, "username"), Password: word.Draw(t, "password")}
		token, want, err := ipctest.ClientDigest(&got, s, "/default", word.Draw(t, "cnonce"))
		if err != nil {
			t.Fatal(err)
		}
		d, err := ipc.ParseDigest(token)
		if err != nil || d.Username != s.Username {
			t.Fatalf("%s: %+v, %v", token, d, err)
		}
		if rspauth, err := ipctest.ServerDigest(&d, c.Nonce, s.Password); err != nil || string(rspauth) != string(want) {
			t.Fatalf("%s, want %s, %v", rspauth, want, err)
		}
	})
}

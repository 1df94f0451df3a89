package ipctest

import (
	"crypto/md5" //nolint:gosec // DIGEST-MD5 is what Hadoop's tokens authenticate by
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"slices"
	"strings"

	"heddle/yarnproxy/ipc"
)

const (
	digestMD5 = "DIGEST-MD5"
	qopAuth   = "auth"
)

// Secret is what both sides of a token authentication know: the token's
// identifier and password, each in base64, as Hadoop puts them into
// DIGEST-MD5 (SaslRpcServer.encodeIdentifier, encodePassword).
type Secret struct{ Username, Password string }

// ClientDigest answers a challenge with qop=auth, the one that is offered by
// hadoop.rpc.protection=authentication. uri is "/" and the serverId that the
// server advertised; cnonce is random. It returns the token of SASLInitiate,
// and what the server's SASLSuccess has to carry.
func ClientDigest(c *ipc.Challenge, s Secret, uri, cnonce string) (token, rspauth []byte, err error) {
	if !slices.Contains(c.QOP, qopAuth) {
		return nil, nil, &ipc.ParseError{What: digestMD5, Problem: "the server offers only " + strings.Join(c.QOP, ",") + ": wrapped frames are not supported, set hadoop.rpc.protection to authentication"}
	}
	d := ipc.Digest{Username: s.Username, Nonce: c.Nonce, CNonce: cnonce, NC: "00000001", URI: uri, QOP: qopAuth}
	if len(c.Realms) > 0 {
		d.Realm = c.Realms[0]
	}
	d.Response = proof(&d, s.Password, "AUTHENTICATE")
	return AppendDigest(nil, &d), rspauthOf(&d, s.Password), nil
}

// ErrDigest says that a client did not know the token's password.
var ErrDigest = errors.New("DIGEST-MD5: the response does not fit the token's password")

// ServerDigest checks the answer to a challenge with the nonce and qop=auth and
// returns the token of SASLSuccess. Its error is ErrDigest or a *ipc.ParseError.
func ServerDigest(d *ipc.Digest, nonce, password string) (rspauth []byte, err error) {
	if d.Protected() {
		return nil, &ipc.ParseError{What: digestMD5, Problem: "qop=" + d.QOP + " was not offered"}
	}
	if d.Nonce != nonce || subtle.ConstantTimeCompare([]byte(d.Response), []byte(proof(d, password, "AUTHENTICATE"))) != 1 {
		return nil, ErrDigest
	}
	return rspauthOf(d, password), nil
}

// AppendChallenge appends a challenge as Java's server writes it.
func AppendChallenge(dst []byte, c *ipc.Challenge) []byte {
	for _, realm := range c.Realms {
		dst = append(appendQuoted(append(dst, "realm="...), realm), ',')
	}
	dst = appendQuoted(append(dst, "nonce="...), c.Nonce)
	dst = appendQuoted(append(dst, ",qop="...), strings.Join(c.QOP, ","))
	return append(dst, ",charset=utf-8,algorithm=md5-sess"...)
}

// AppendDigest appends a response as Java's client writes it: qop and the
// numbers without quotes. An empty directive is left out.
func AppendDigest(dst []byte, d *ipc.Digest) []byte {
	dst = append(dst, "charset=utf-8"...)
	for _, one := range []struct {
		name, value string
		bare        bool
	}{
		{"username", d.Username, false},
		{"realm", d.Realm, false},
		{"nonce", d.Nonce, false},
		{"nc", d.NC, true},
		{"cnonce", d.CNonce, false},
		{"digest-uri", d.URI, false},
		{"maxbuf", "65536", true},
		{"response", d.Response, true},
		{"qop", d.QOP, true},
		{"authzid", d.AuthzID, false},
	} {
		switch {
		case one.value == "":
		case one.bare && !strings.ContainsAny(one.value, ",\" \t\r\n"):
			dst = append(append(append(append(dst, ','), one.name...), '='), one.value...)
		default:
			dst = appendQuoted(append(append(append(dst, ','), one.name...), '='), one.value)
		}
	}
	return dst
}

func appendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := range len(s) {
		if s[i] == '"' || s[i] == '\\' {
			dst = append(dst, '\\')
		}
		dst = append(dst, s[i])
	}
	return append(dst, '"')
}

func rspauthOf(d *ipc.Digest, password string) []byte {
	return append([]byte("rspauth="), proof(d, password, "")...)
}

// proof is response-value and, with no method, response-auth of RFC 2831,
// 2.1.2.1 and 2.1.3, for algorithm md5-sess and qop=auth. Tokens are ASCII, so
// that the conversion to ISO 8859-1 that the RFC asks of names changes nothing.
func proof(d *ipc.Digest, password, method string) string {
	user := md5.Sum([]byte(d.Username + ":" + d.Realm + ":" + password)) //nolint:gosec // as above
	session := string(user[:]) + ":" + d.Nonce + ":" + d.CNonce
	if d.AuthzID != "" {
		session += ":" + d.AuthzID
	}
	return hexMD5(hexMD5(session) + ":" + d.Nonce + ":" + d.NC + ":" + d.CNonce + ":" + d.QOP + ":" + hexMD5(method+":"+d.URI))
}

func hexMD5(s string) string {
	sum := md5.Sum([]byte(s)) //nolint:gosec // as above
	return hex.EncodeToString(sum[:])
}

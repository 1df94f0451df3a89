package ipc

import (
	"slices"
	"strings"
)

// Digest is a DIGEST-MD5 response (RFC 2831, 2.1.2), which a client sends in
// the token of SASLInitiate. With Hadoop's tokens the username is the token's
// identifier in base64.
type Digest struct {
	Username, Realm, Nonce, CNonce, NC, URI, Response, AuthzID string
	QOP                                                        string // "auth" when it is absent
}

// Protected reports whether everything after the exchange is wrapped for
// integrity or privacy, so that a relay cannot read it: any protection but "auth".
func (d *Digest) Protected() bool { return d.QOP != qopAuth }

// Challenge is a DIGEST-MD5 challenge (RFC 2831, 2.1.1), which a server sends
// with SASLNegotiate.
type Challenge struct {
	Realms []string
	Nonce  string
	QOP    []string // what the server offers; "auth" when it is absent
}

const qopAuth = "auth"

// ParseDigest reads a DIGEST-MD5 response.
func ParseDigest(token []byte) (Digest, error) {
	d := Digest{}
	err := directives(token, func(name, value string) error {
		var to *string
		switch name {
		case "username":
			to = &d.Username
		case "realm":
			to = &d.Realm
		case "nonce":
			to = &d.Nonce
		case "cnonce":
			to = &d.CNonce
		case "nc":
			to = &d.NC
		case "digest-uri":
			to = &d.URI
		case "response":
			to = &d.Response
		case "qop":
			to = &d.QOP
		case "authzid":
			to = &d.AuthzID
		default:
			return nil
		}
		if *to != "" {
			return &ParseError{digestMD5, "two directives " + name}
		}
		*to = value
		return nil
	})
	switch {
	case err != nil:
		return Digest{}, err
	case d.Username == "" || d.Response == "":
		return Digest{}, &ParseError{digestMD5, "a response without username or response"}
	case d.QOP == "":
		d.QOP = qopAuth
	}
	return d, nil
}

// ParseChallenge reads a DIGEST-MD5 challenge.
func ParseChallenge(token []byte) (Challenge, error) {
	c := Challenge{}
	err := directives(token, func(name, value string) error {
		switch name {
		case "realm":
			c.Realms = append(c.Realms, value)
		case "nonce":
			if c.Nonce != "" {
				return &ParseError{digestMD5, "two directives nonce"}
			}
			c.Nonce = value
		case "qop":
			for q := range strings.FieldsFuncSeq(value, func(r rune) bool { return r == ',' || isSpace(r) }) {
				if !slices.Contains(c.QOP, q) {
					c.QOP = append(c.QOP, q)
				}
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return Challenge{}, err
	case c.Nonce == "":
		return Challenge{}, &ParseError{digestMD5, "a challenge without a nonce"}
	case c.QOP == nil:
		c.QOP = []string{qopAuth}
	}
	return c, nil
}

const (
	digestMD5     = "DIGEST-MD5"
	maxDirectives = 64
)

// directives calls each for every directive of a token: name=value or
// name="value" between commas, where a backslash in quotes stands for the byte
// after it. Names come in lower case.
func directives(token []byte, each func(name, value string) error) error {
	b := token
	for n := 0; ; n++ {
		for len(b) > 0 && (b[0] == ',' || isSpace(b[0])) {
			b = b[1:]
		}
		if len(b) == 0 {
			return nil
		}
		if n == maxDirectives {
			return &ParseError{digestMD5, "too many directives"}
		}
		end := slices.IndexFunc(b, func(c byte) bool { return c == '=' || c == ',' || c == '"' || isSpace(c) })
		name := b[:max(end, 0)]
		if b = skipSpace(b[len(name):]); len(name) == 0 || len(b) == 0 || b[0] != '=' {
			return &ParseError{digestMD5, "a directive that is not name=value"}
		}
		value, rest, ok := directiveValue(skipSpace(b[1:]))
		if !ok {
			return &ParseError{digestMD5, "a broken value of " + string(name)}
		}
		if err := each(strings.ToLower(string(name)), value); err != nil {
			return err
		}
		b = rest
	}
}

// directiveValue reads one value, and the space after it up to the comma or the end.
func directiveValue(b []byte) (value string, rest []byte, ok bool) {
	if len(b) > 0 && b[0] == '"' {
		value, b, ok = quoted(b[1:])
	} else {
		end := slices.IndexFunc(b, func(c byte) bool { return c == ',' || c == '"' || isSpace(c) })
		if end < 0 {
			end = len(b)
		}
		value, b, ok = string(b[:end]), b[end:], end > 0
	}
	b = skipSpace(b)
	return value, b, ok && (len(b) == 0 || b[0] == ',')
}

// quoted reads up to the closing quote.
func quoted(b []byte) (value string, rest []byte, ok bool) {
	var plain strings.Builder
	for i := 0; i < len(b); i++ {
		switch {
		case b[i] == '"':
			return plain.String(), b[i+1:], true
		case b[i] == '\\' && i+1 < len(b):
			i++
		}
		plain.WriteByte(b[i])
	}
	return "", nil, false
}

func skipSpace(b []byte) []byte {
	for len(b) > 0 && isSpace(b[0]) {
		b = b[1:]
	}
	return b
}

// isSpace is the linear white space of RFC 2831, 7.1.
func isSpace[C byte | rune](c C) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

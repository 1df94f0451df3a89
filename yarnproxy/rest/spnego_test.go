package rest_test

import (
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/keytab"

	"heddle/core/model"
	"heddle/yarnproxy/rest"
)

const krb5Conf = `[libdefaults]
  default_realm = EXAMPLE.COM
  dns_lookup_kdc = false
[realms]
  EXAMPLE.COM = {
    kdc = 127.0.0.1:1
  }
`

func writeFile(tb testing.TB, name, content string) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// makeKeytab returns the path of a keytab with one key, kvno 3.
func makeKeytab(tb testing.TB, user string, etype int32) string {
	tb.Helper()
	kt := keytab.New()
	if err := kt.AddEntry(user, "EXAMPLE.COM", "password", time.Unix(1795215638, 0), 3, etype); err != nil {
		tb.Fatal(err)
	}
	b, err := kt.Marshal()
	if err != nil {
		tb.Fatal(err)
	}
	return writeFile(tb, "heddle.keytab", string(b))
}

// makeCCache returns a ticket cache (format 4) whose ticket-granting ticket
// ends at a time.
func makeCCache(tb testing.TB, service string, ends time.Time) string {
	tb.Helper()
	var b []byte
	u16 := func(v uint16) { b = binary.BigEndian.AppendUint16(b, v) }
	u32 := func(v uint32) { b = binary.BigEndian.AppendUint32(b, v) }
	data := func(s string) { u32(uint32(len(s))); b = append(b, s...) }
	principal := func(parts ...string) {
		u32(1)
		u32(uint32(len(parts)))
		data("EXAMPLE.COM")
		for _, p := range parts {
			data(p)
		}
	}
	b = append(b, 5, 4)
	u16(12)
	u16(1)
	u16(8)
	u32(0)
	u32(0)
	principal("heddle")
	principal("heddle")
	principal(strings.Split(service, "/")...)
	u16(18) // key type
	data(strings.Repeat("k", 32))
	u32(uint32(ends.Add(-8 * time.Hour).Unix())) // authenticated
	u32(uint32(ends.Add(-8 * time.Hour).Unix())) // starts
	u32(uint32(ends.Unix()))
	u32(0) // not renewable
	b = append(b, 0)
	u32(0)             // flags
	u32(0)             // addresses
	u32(0)             // authorisation data
	data("a\x030\x01") // replaced below by a ticket that parses
	data("")
	return writeFile(tb, "krb5cc", strings.Replace(string(b), "\x00\x00\x00\x04a\x030\x01", ticket(), 1))
}

// ticket returns a length-prefixed DER Ticket for krbtgt/EXAMPLE.COM with an
// opaque encrypted part (RFC 4120 5.3).
func ticket() string {
	wrap := func(tag byte, body string) string { return string([]byte{tag, byte(len(body))}) + body }
	str := func(s string) string { return wrap(0x1b, s) }
	seq := func(s string) string { return wrap(0x30, s) }
	num := func(n byte) string { return "\x02\x01" + string([]byte{n}) }
	sname := seq(wrap(0xa0, num(2)) + wrap(0xa1, seq(str("krbtgt")+str("EXAMPLE.COM"))))
	enc := seq(wrap(0xa0, num(18)) + wrap(0xa2, wrap(0x04, "opaque")))
	der := wrap(0x61, seq(wrap(0xa0, num(5))+wrap(0xa1, str("EXAMPLE.COM"))+wrap(0xa2, sname)+wrap(0xa3, enc)))
	return string(binary.BigEndian.AppendUint32(nil, uint32(len(der)))) + der
}

func TestNewSPNEGOErrors(t *testing.T) {
	t.Parallel()
	now := time.Unix(1795215638, 0)
	conf := writeFile(t, "krb5.conf", krb5Conf)
	good := makeKeytab(t, "heddle", 18)
	tests := map[string]struct {
		opts rest.SPNEGOOptions
		want []string
	}{
		"neither":           {rest.SPNEGOOptions{Principal: "heddle"}, []string{"keytab or a ticket cache"}},
		"both":              {rest.SPNEGOOptions{Principal: "heddle", Keytab: good, CCache: "x"}, []string{"either a keytab or a ticket cache"}},
		"no keytab":         {rest.SPNEGOOptions{Principal: "heddle", Keytab: "/nowhere/k.keytab"}, []string{"/nowhere/k.keytab", "no such file", "may read it"}},
		"not a keytab":      {rest.SPNEGOOptions{Principal: "heddle", Keytab: conf}, []string{"krb5.conf", "keytab"}},
		"empty keytab":      {rest.SPNEGOOptions{Principal: "heddle", Keytab: writeFile(t, "empty", "")}, []string{"empty"}},
		"keytab cut off":    {rest.SPNEGOOptions{Principal: "heddle", Keytab: cutOff(t, good)}, []string{"keytab"}},
		"other principal":   {rest.SPNEGOOptions{Principal: "bob", Keytab: good}, []string{"no key of bob@EXAMPLE.COM", "heddle@EXAMPLE.COM kvno 3 aes256-cts-hmac-sha1-96"}},
		"other realm":       {rest.SPNEGOOptions{Principal: "heddle@OTHER.COM", Keytab: good}, []string{"no key of heddle@OTHER.COM", "it holds heddle@EXAMPLE.COM"}},
		"no principal":      {rest.SPNEGOOptions{Keytab: good}, []string{"set a principal"}},
		"key type":          {rest.SPNEGOOptions{Principal: "heddle", Keytab: good, Krb5Conf: writeFile(t, "k", strings.Replace(krb5Conf, "dns_lookup_kdc = false", "default_tkt_enctypes = aes128-cts-hmac-sha1-96", 1))}, []string{"default_tkt_enctypes", "aes256-cts-hmac-sha1-96"}},
		"no krb5.conf":      {rest.SPNEGOOptions{Principal: "heddle", Keytab: good, Krb5Conf: "/nowhere/krb5.conf"}, []string{"/nowhere/krb5.conf"}},
		"bad krb5.conf":     {rest.SPNEGOOptions{Principal: "heddle", Keytab: good, Krb5Conf: writeFile(t, "bad.conf", "[libdefaults]\n clockskew = soon\n")}, []string{"bad.conf", "clockskew"}},
		"no realm":          {rest.SPNEGOOptions{Principal: "heddle", Keytab: good, Krb5Conf: writeFile(t, "k", "[libdefaults]\n")}, []string{"name its realm", "default_realm"}},
		"no KDC":            {rest.SPNEGOOptions{Principal: "heddle", Keytab: good, Krb5Conf: writeFile(t, "k", "[libdefaults]\n default_realm = EXAMPLE.COM\n")}, []string{"no kdc for realm EXAMPLE.COM", "dns_lookup_kdc"}},
		"no cache":          {rest.SPNEGOOptions{CCache: "FILE:/nowhere/krb5cc_0"}, []string{"/nowhere/krb5cc_0", "kinit"}},
		"kernel cache":      {rest.SPNEGOOptions{CCache: "KEYRING:persistent:0"}, []string{"only file caches"}},
		"not a cache":       {rest.SPNEGOOptions{CCache: conf}, []string{"ticket cache", "krb5.conf"}},
		"empty cache":       {rest.SPNEGOOptions{CCache: writeFile(t, "cc", "")}, []string{"ticket cache", "damaged"}},
		"cache cut off":     {rest.SPNEGOOptions{CCache: cutOff(t, makeCCache(t, "krbtgt/EXAMPLE.COM", now.Add(time.Hour)))}, []string{"ticket cache", "not valid"}},
		"expired":           {rest.SPNEGOOptions{CCache: makeCCache(t, "krbtgt/EXAMPLE.COM", now.Add(-time.Minute))}, []string{"heddle@EXAMPLE.COM expired at 2026-11-20T22:59:38Z", "kinit"}},
		"no ticket":         {rest.SPNEGOOptions{CCache: makeCCache(t, "HTTP/rm1", now.Add(time.Hour))}, []string{"no ticket-granting ticket"}},
		"another's tickets": {rest.SPNEGOOptions{Principal: "bob", CCache: makeCCache(t, "krbtgt/EXAMPLE.COM", now.Add(time.Hour))}, []string{"a ticket of heddle@EXAMPLE.COM, want bob@EXAMPLE.COM"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.opts.Krb5Conf == "" {
				test.opts.Krb5Conf = conf
			}
			test.opts.Now = func() time.Time { return now }
			_, err := rest.NewSPNEGO(test.opts)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
		})
	}
}

func cutOff(tb testing.TB, path string) string {
	tb.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return writeFile(tb, "cut", string(b[:len(b)*2/3]))
}

// TestSPNEGOWithoutKDC: files in order and no KDC is an error of the request,
// which is not sent, and names the service principal and the keys at hand.
func TestSPNEGOWithoutKDC(t *testing.T) {
	t.Parallel()
	conf := writeFile(t, "krb5.conf", krb5Conf)
	asked := false
	base := serve(t, func(http.ResponseWriter, *http.Request) { asked = true })
	now := time.Now()
	for name, opts := range map[string]rest.SPNEGOOptions{
		"keytab": {Principal: "heddle", Keytab: makeKeytab(t, "heddle", 17), Krb5Conf: conf},
		"cache":  {CCache: "FILE:" + makeCCache(t, "krbtgt/EXAMPLE.COM", now.Add(7*time.Hour)), Krb5Conf: conf},
	} {
		auth, err := rest.NewSPNEGO(opts)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		c := newClient(t, rest.Options{Auth: auth})
		_, err = c.Get(t.Context(), base, "application/json")
		var failed *rest.AuthError
		if !errors.As(err, &failed) || rest.FromError(err) != model.PollDenied {
			t.Errorf("%s: error %T %v, want AuthError", name, err, err)
		}
		for _, want := range []string{"HTTP/127.0.0.1", "heddle@EXAMPLE.COM", map[string]string{"keytab": "kvno 3 aes128", "cache": "ticket until"}[name]} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %q does not say %q", name, err, want)
			}
		}
		if closer, ok := auth.(io.Closer); !ok || closer.Close() != nil {
			t.Errorf("%s: not closed", name)
		}
	}
	if asked {
		t.Error("a request without credentials was sent")
	}
}

// TestTicketCacheIsReadAgain: what kinit writes is taken up when the ticket
// nears its end, and an expired ticket is said to be one.
func TestTicketCacheIsReadAgain(t *testing.T) {
	t.Parallel()
	start := time.Now()
	now := start
	path := makeCCache(t, "krbtgt/EXAMPLE.COM", start.Add(time.Hour))
	auth, err := rest.NewSPNEGO(rest.SPNEGOOptions{CCache: path, Krb5Conf: writeFile(t, "krb5.conf", krb5Conf), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	authenticate := func() string {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://RM1.example.com:8088/", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if err := auth.Authenticate(req); err != nil {
			return err.Error()
		}
		return ""
	}
	now = start.Add(2 * time.Hour)
	if got := authenticate(); !strings.Contains(got, "expired") {
		t.Errorf("error %q, want that the ticket expired", got)
	}
	renewed, err := os.ReadFile(makeCCache(t, "krbtgt/EXAMPLE.COM", start.Add(24*time.Hour)))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, renewed, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, start.Add(time.Minute), start.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if got := authenticate(); strings.Contains(got, "expired") || !strings.Contains(got, "HTTP/rm1.example.com") {
		t.Errorf("error %q, want that of the KDC that does not answer", got)
	}
}

// TestKerberosClient: other protocols log in as HTTP does, and again with a ticket
// cache that was renewed.
func TestKerberosClient(t *testing.T) {
	t.Parallel()
	if rest.KerberosClient(nil) != nil {
		t.Error("simple authentication has a Kerberos client")
	}
	now := time.Now()
	cache := makeCCache(t, "krbtgt/EXAMPLE.COM", now.Add(time.Hour))
	auth, err := rest.NewSPNEGO(rest.SPNEGOOptions{CCache: cache, Krb5Conf: writeFile(t, "krb5.conf", krb5Conf), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	current := rest.KerberosClient(auth)
	first, err := current()
	if err != nil || first.Credentials.UserName() != "heddle" {
		t.Fatal(err)
	}
	now = now.Add(2 * time.Hour)
	if _, err := current(); err == nil || !strings.Contains(err.Error(), "expired") {
		t.Errorf("a ticket that has expired: %v", err)
	}
	content, err := os.ReadFile(makeCCache(t, "krbtgt/EXAMPLE.COM", now.Add(time.Hour)))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(cache, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(cache, now, now); err != nil {
		t.Fatal(err)
	}
	if second, err := current(); err != nil || second == first {
		t.Errorf("a renewed ticket cache: %v", err)
	}
}

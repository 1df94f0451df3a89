package rest

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	krb "github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/credentials"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/spnego"
)

// hostPattern is what stands for a host in a principal of Hadoop's settings.
const hostPattern = "_HOST"

// SPNEGOOptions say who heddle is. Exactly one of Keytab and CCache is set.
type SPNEGOOptions struct {
	Principal        string           // "heddle@REALM" or "heddle/_HOST@REALM"; with a ticket cache empty takes the cache's own
	Keytab           string           // path of a keytab that holds Principal
	CCache           string           // path of a ticket cache that something else renews (kinit, k5start); "FILE:" is taken off
	Krb5Conf         string           // default /etc/krb5.conf
	ServicePrincipal string           // of the HTTP service; default HTTP/_HOST, the host as it stands in the URL
	Now              func() time.Time // to judge a ticket's age; default time.Now
}

// spnegoAuth adds Negotiate headers. The ticket-granting ticket and the
// service tickets are kept in memory and renewed; files are read when it is
// made, and a ticket cache again when its ticket nears its end.
type spnegoAuth struct {
	opts SPNEGOOptions
	conf *config.Config

	mu       sync.Mutex // held over an exchange with the KDC: one login serves all
	client   *krb.Client
	hint     string    // what the keytab holds, for the error of a failed login
	ends     time.Time // of the ticket in the cache
	reloadAt time.Time // when to look for a renewed ticket cache
	modified time.Time // of the ticket cache as read
}

// NewSPNEGO builds an authenticator from a keytab or a ticket cache. It reads
// the files and reports what is wrong with them; the KDC is asked when the
// first request is authenticated. The value also implements io.Closer, which
// stops the renewal of its ticket.
func NewSPNEGO(opts SPNEGOOptions) (Authenticator, error) {
	a, err := newSPNEGO(opts)
	if err != nil {
		return nil, err
	}
	return a, nil
}

func newSPNEGO(opts SPNEGOOptions) (*spnegoAuth, error) {
	opts.Krb5Conf = cmp.Or(opts.Krb5Conf, "/etc/krb5.conf")
	opts.ServicePrincipal = cmp.Or(opts.ServicePrincipal, "HTTP/"+hostPattern)
	opts.CCache = strings.TrimPrefix(opts.CCache, "FILE:")
	if opts.Now == nil {
		opts.Now = systemClock()
	}
	if (opts.Keytab == "") == (opts.CCache == "") {
		return nil, errors.New("kerberos: set either a keytab or a ticket cache")
	}
	if i := strings.IndexByte(opts.CCache, ':'); i > 0 && !strings.Contains(opts.CCache[:i], "/") {
		return nil, fmt.Errorf("kerberos: ticket cache %s: only file caches can be read: set FILE:/path", opts.CCache)
	}
	conf, err := loadKrb5Conf(opts.Krb5Conf)
	if err != nil {
		return nil, err
	}
	a := &spnegoAuth{opts: opts, conf: conf}
	if opts.Keytab != "" {
		err = a.loadKeytab()
	} else {
		err = a.loadCCache()
	}
	if err != nil {
		return nil, err
	}
	return a, nil
}

// Authenticate implements Authenticator.
func (a *spnegoAuth) Authenticate(req *http.Request) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.refresh(); err != nil {
		return err
	}
	host := strings.ToLower(strings.TrimSuffix(req.URL.Hostname(), "."))
	spn, _, _ := strings.Cut(strings.Replace(a.opts.ServicePrincipal, hostPattern, host, 1), "@")
	if err := guard(func() error { return spnego.SetSPNEGOHeader(a.client, req, spn) }); err != nil {
		return fmt.Errorf("kerberos: ticket for %s as %s: %w%s", spn, a.name(), err, a.hint)
	}
	return nil
}

// KerberosClient returns what gets tickets for protocols that are not HTTP, with the
// credentials of an Authenticator that NewSPNEGO built, as long as its ticket cache is
// valid. It is to be called anew for each login. For another Authenticator it is nil.
func KerberosClient(auth Authenticator) func() (*krb.Client, error) {
	a, ok := auth.(*spnegoAuth)
	if !ok {
		return nil
	}
	return func() (*krb.Client, error) {
		a.mu.Lock()
		defer a.mu.Unlock()
		return a.client, a.refresh()
	}
}

// Close implements io.Closer.
func (a *spnegoAuth) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.client.Destroy()
	return nil
}

func (a *spnegoAuth) name() string {
	return a.client.Credentials.UserName() + "@" + a.client.Credentials.Domain()
}

// refresh reads the ticket cache again when its ticket nears its end and the
// file has changed, and reports one that has expired.
func (a *spnegoAuth) refresh() error {
	now := a.opts.Now()
	if a.opts.CCache == "" || now.Before(a.reloadAt) {
		return nil
	}
	if info, err := os.Stat(a.opts.CCache); err == nil && !info.ModTime().Equal(a.modified) {
		old := a.client
		if err := a.loadCCache(); err != nil {
			return err
		}
		old.Destroy()
	}
	if now.After(a.ends) {
		return expired(a.opts.CCache, a.name(), a.ends)
	}
	return nil
}

func expired(path, name string, ends time.Time) error {
	return fmt.Errorf("kerberos: ticket cache %s: the ticket of %s expired at %s: renew it with kinit, or configure a keytab",
		path, name, ends.UTC().Format(time.RFC3339))
}

func (a *spnegoAuth) loadKeytab() error {
	user, realm, err := a.principal()
	if err != nil {
		return err
	}
	kt := keytab.New()
	content, err := os.ReadFile(a.opts.Keytab)
	if err != nil {
		return fmt.Errorf("kerberos: keytab: %w: check the path and that the service's user may read it", err)
	}
	if err := guard(func() error { return kt.Unmarshal(content) }); err != nil {
		return fmt.Errorf("kerberos: keytab %s: %w", a.opts.Keytab, err)
	}
	var held []string // "heddle@REALM kvno 3 aes256-cts-hmac-sha1-96"
	var etypes []int32
	for _, e := range kt.Entries {
		held = append(held, fmt.Sprintf("%s kvno %d %s", e.Principal, max(e.KVNO, uint32(e.KVNO8)), etypeName(e.Key.KeyType)))
		if strings.Join(e.Principal.Components, "/") == user && e.Principal.Realm == realm {
			etypes = append(etypes, e.Key.KeyType)
		}
	}
	holds := "nothing"
	if len(held) > 0 {
		holds = strings.Join(held[:min(len(held), 8)], "; ")
	}
	if len(etypes) == 0 {
		return fmt.Errorf("kerberos: keytab %s: no key of %s@%s; it holds %s", a.opts.Keytab, user, realm, holds)
	}
	// Ask the KDC only for what the keytab can open.
	usable := slices.DeleteFunc(slices.Clone(a.conf.LibDefaults.DefaultTktEnctypeIDs),
		func(id int32) bool { return !slices.Contains(etypes, id) })
	if len(usable) == 0 {
		return fmt.Errorf("kerberos: keytab %s: none of the keys of %s@%s is of a type that %s permits (default_tkt_enctypes); it holds %s",
			a.opts.Keytab, user, realm, a.opts.Krb5Conf, holds)
	}
	a.conf.LibDefaults.DefaultTktEnctypeIDs = usable
	if err := a.checkRealm(realm); err != nil {
		return err
	}
	a.client = krb.NewWithKeytab(user, realm, kt, a.conf)
	a.hint = fmt.Sprintf(" (keytab %s holds %s: compare kvno and encryption type with the KDC's)", a.opts.Keytab, holds)
	return nil
}

func (a *spnegoAuth) loadCCache() error {
	path := a.opts.CCache
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("kerberos: ticket cache: %w: run kinit as the service's user, or configure a keytab", err)
	}
	var cache *credentials.CCache
	err = guard(func() (err error) { cache, err = credentials.LoadCCache(path); return err })
	if err != nil {
		return fmt.Errorf("kerberos: ticket cache %s: %w", path, err)
	}
	realm := cache.DefaultPrincipal.Realm
	name := cache.DefaultPrincipal.PrincipalName.PrincipalNameString() + "@" + realm
	if want := a.opts.Principal; want != "" {
		user, wantRealm, err := a.principal()
		if err != nil {
			return err
		}
		if user+"@"+wantRealm != name {
			return fmt.Errorf("kerberos: ticket cache %s: it holds a ticket of %s, want %s@%s", path, name, user, wantRealm)
		}
	}
	var starts, ends time.Time
	for _, c := range cache.GetEntries() {
		if c.Server.PrincipalName.PrincipalNameString() == "krbtgt/"+realm {
			starts, ends = c.AuthTime, c.EndTime
		}
	}
	if ends.IsZero() {
		return fmt.Errorf("kerberos: ticket cache %s: no ticket-granting ticket of %s: run kinit", path, realm)
	}
	if a.opts.Now().After(ends) {
		return expired(path, name, ends)
	}
	if err := a.checkRealm(realm); err != nil {
		return err
	}
	client, err := krb.NewFromCCache(cache, a.conf)
	if err != nil {
		return fmt.Errorf("kerberos: ticket cache %s: %w", path, err)
	}
	a.client, a.ends, a.modified = client, ends, info.ModTime()
	a.reloadAt = ends.Add(-ends.Sub(starts) / 4)
	a.hint = fmt.Sprintf(" (ticket cache %s, ticket until %s)", path, ends.UTC().Format(time.RFC3339))
	return nil
}

// principal splits the configured principal, with the default realm and this
// host's name where it leaves them open.
func (a *spnegoAuth) principal() (user, realm string, err error) {
	user, realm, _ = strings.Cut(a.opts.Principal, "@")
	realm = cmp.Or(realm, a.conf.LibDefaults.DefaultRealm)
	if user == "" {
		return "", "", errors.New("kerberos: set a principal such as heddle@EXAMPLE.COM")
	}
	if realm == "" {
		return "", "", fmt.Errorf("kerberos: principal %s: name its realm, or set default_realm in %s", user, a.opts.Krb5Conf)
	}
	if strings.HasSuffix(user, "/"+hostPattern) {
		host, err := os.Hostname()
		if err != nil {
			return "", "", fmt.Errorf("kerberos: expand %s of %s: %w", hostPattern, user, err)
		}
		user = strings.TrimSuffix(user, hostPattern) + strings.ToLower(host)
	}
	return user, realm, nil
}

// checkRealm reports a realm for which no KDC can be found.
func (a *spnegoAuth) checkRealm(realm string) error {
	if a.conf.LibDefaults.DNSLookupKDC {
		return nil
	}
	for _, r := range a.conf.Realms {
		if r.Realm == realm && len(r.KDC) > 0 {
			return nil
		}
	}
	return fmt.Errorf("kerberos: %s: no kdc for realm %s: add it under [realms] in this file (include lines are not read), or set dns_lookup_kdc = true",
		a.opts.Krb5Conf, realm)
}

func loadKrb5Conf(path string) (*config.Config, error) {
	var conf *config.Config
	err := guard(func() (err error) { conf, err = config.Load(path); return err })
	var unsupported config.UnsupportedDirective
	if err != nil && (conf == nil || !errors.As(err, &unsupported)) {
		return nil, fmt.Errorf("kerberos: %s: %w", path, err)
	}
	return conf, nil
}

// guard turns a panic of the Kerberos library on a damaged file into an error.
func guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("damaged or not of its format: %v", p)
		}
	}()
	return f()
}

// etypeName returns the name of an encryption type (RFC 3961 registry).
func etypeName(id int32) string {
	switch id {
	case 16:
		return "des3-cbc-sha1-kd"
	case 17:
		return "aes128-cts-hmac-sha1-96"
	case 18:
		return "aes256-cts-hmac-sha1-96"
	case 19:
		return "aes128-cts-hmac-sha256-128"
	case 20:
		return "aes256-cts-hmac-sha384-192"
	case 23:
		return "rc4-hmac"
	}
	return fmt.Sprintf("etype %d", id)
}

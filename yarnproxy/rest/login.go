package rest

import (
	"fmt"

	krb "github.com/jcmturner/gokrb5/v8/client"
)

// Login returns a Kerberos client that is logged in with the same credentials
// SPNEGO uses, for protocols that are not HTTP (the NameNode's RPC). With a
// keytab the KDC is asked now; a ticket cache brings its ticket.
func Login(opts SPNEGOOptions) (*krb.Client, error) {
	a, err := newSPNEGO(opts)
	if err != nil {
		return nil, err
	}
	if opts.Keytab == "" {
		return a.client, nil
	}
	if err := guard(a.client.Login); err != nil {
		err = fmt.Errorf("kerberos: log in as %s: %w%s", a.name(), err, a.hint)
		a.client.Destroy()
		return nil, err
	}
	return a.client, nil
}

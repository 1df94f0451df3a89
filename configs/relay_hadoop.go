package configs

import (
	"fmt"
	"net"
	"reflect"
	"strconv"
	"strings"
)

// DirectID is the rm-id under which `heddle client-config` has clients know the
// ResourceManager of a cluster without high availability.
const DirectID = "direct"

// IsRelayID reports whether an rm-id is one that `heddle client-config` made for
// a relay: heddle, heddle2, heddle-rm1, heddle2-rm1.
func IsRelayID(id string) bool {
	rest, ok := strings.CutPrefix(id, "heddle")
	rest = strings.TrimLeft(rest, "0123456789")
	return ok && (rest == "" || strings.HasPrefix(rest, "-"))
}

// relayListeners returns an address of the relay for every ResourceManager.
func (r resourceManagers) relayListeners(listen string) (finding, bool, error) {
	if listen == "" {
		listen = DefaultRelayAddress
	}
	rms, at, err := r.ids()
	if err != nil {
		return finding{}, false, err
	}
	listeners := make([]RelayListener, 0, len(rms))
	for i, rm := range rms {
		f, ok, err := r.scheduler(rm)
		if err != nil {
			return finding{}, false, err
		}
		if !ok && rm.suffix == "" {
			return finding{}, false, nil
		}
		if !ok {
			return finding{}, false, &Problem{Origin: at.origin(), Message: fmt.Sprintf(
				"ResourceManager %q has no address: set yarn.resourcemanager.scheduler.address.%s or .hostname.%s", rm.id, rm.id, rm.id)}
		}
		if len(rms) == 1 {
			at = f.at
		}
		address, err := NthAddress(listen, i)
		if err != nil && i == 0 { // the text is wrong: validation says so, with the place
			return finding{}, false, nil
		}
		if err != nil {
			return finding{}, false, &Problem{Message: err.Error()}
		}
		listeners = append(listeners, RelayListener{RM: rm.id, Address: address, Upstream: f.text})
	}
	return finding{rowsText(reflect.ValueOf(listeners)), at}, true, nil
}

// NthAddress returns the n-th address, from 0, of those that follow host:port by
// consecutive ports. Port 0 stays as it is.
func NthAddress(first string, n int) (string, error) {
	host, text, err := net.SplitHostPort(first)
	if err != nil {
		return "", fmt.Errorf("%q is not an address: %w", first, err)
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return "", fmt.Errorf("%q is not an address: bad port %q", first, text)
	}
	if port != 0 {
		port += uint64(n) //nolint:gosec // a small index
	}
	if port > 65535 {
		return "", fmt.Errorf("%s leaves no port for ResourceManager %d", first, n+1)
	}
	return net.JoinHostPort(host, strconv.FormatUint(port, 10)), nil
}

// HTTPS reports whether YARN's web servers speak HTTPS only.
func (h *Hadoop) HTTPS() (bool, error) {
	https, _, err := h.https(policyYARN)
	return https, err
}

// protection returns a notice where the protection of Hadoop's RPC keeps the
// relay from rewriting anything, "" otherwise.
func (h *Hadoop) protection() string {
	p, ok, err := h.Lookup("hadoop.rpc.protection")
	if err != nil || !ok || strings.EqualFold(p.Value, "authentication") {
		return ""
	}
	what := "the relay passes everything on and can rewrite nothing"
	if strings.Contains(strings.ToLower(p.Value), "authentication") {
		what = "the relay can rewrite nothing of applications that choose another one than authentication"
	}
	return fmt.Sprintf("%s:%d: hadoop.rpc.protection is %s: %s", p.File, p.Line, p.Value, what)
}

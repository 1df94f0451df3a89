package clientconfig

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"heddle/yarnproxy/ipc"
)

// AddressCheck is the result of connecting to one address.
type AddressCheck struct {
	Key     string `json:"key"`
	Address string `json:"address"`
	OK      bool   `json:"ok"`
	Found   string `json:"found"`
	Do      string `json:"do,omitempty"`
}

// finding is what was found behind a scheduler's address.
type finding int

const (
	unreachable finding = iota // no connection
	silent                     // the connection closes or sends no answer
	foreign                    // another service than a scheduler
	answers                    // the expected service
	protected                  // a scheduler that requires encryption or integrity, which a relay cannot rewrite
)

// checkedAtOnce is how many addresses are tried at once.
const checkedAtOnce = 8

// target is one address to try.
type target struct {
	key, address string
	relay        int    // index of the heddle it belongs to; -1 for none
	group        string // one address of a group has to answer, since a standby does not; "" for none
	scheduler    bool   // the service must be a scheduler
	found        finding
	err          error
}

// Check connects to every address of the settings.
func (cl *Cluster) Check(ctx context.Context, simple bool, timeout time.Duration) []AddressCheck {
	targets := cl.targets(simple)
	var tries errgroup.Group
	tries.SetLimit(checkedAtOnce)
	for i := range targets {
		t := &targets[i]
		tries.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, timeout)
			defer cancel()
			t.found, t.err = probe(ctx, t.address, t.scheduler)
			return nil
		})
	}
	_ = tries.Wait() // every target has its own error
	results := make([]AddressCheck, len(targets))
	for i, t := range targets {
		served := slices.ContainsFunc(targets, func(o target) bool { return t.group != "" && o.group == t.group && o.found >= answers })
		results[i] = t.result(served)
	}
	return results
}

// targets lists the addresses of relays, of schedulers, and of the other services
// that an application and its client need.
func (cl *Cluster) targets(simple bool) []target {
	ids, direct := cl.ids()
	var list []target
	for h, heddle := range cl.relays {
		for i, address := range heddle {
			list = append(list, target{key: keyScheduler + "." + ids[h][i], address: address, relay: h, group: fmt.Sprint("heddle", h), scheduler: true})
		}
		if simple {
			for i, set := range cl.SimpleSettings() {
				list[i].key = set.Key
			}
			return list
		}
	}
	for i, id := range direct {
		list = append(list, target{key: keyScheduler + "." + id, address: cl.rms[i].Scheduler, relay: -1, group: keyScheduler, scheduler: true})
	}
	for i, id := range direct {
		for _, set := range cl.idSettings(id, i, "") {
			switch set.Key {
			case keyClient + "." + id: // only the active ResourceManager opens it
				list = append(list, target{key: set.Key, address: set.Value, relay: -1, group: keyClient})
			case keyWeb + "." + id, keyWebHTTPS + "." + id:
				list = append(list, target{key: set.Key, address: set.Value, relay: -1})
			}
		}
	}
	return list
}

// probe opens a connection and asks a scheduler how it authenticates.
func probe(ctx context.Context, address string, isScheduler bool) (finding, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return unreachable, err
	}
	defer conn.Close() //nolint:errcheck // nothing more is sent
	if !isScheduler {
		return answers, nil
	}
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return silent, err
		}
	}
	hello := ipc.AppendPreamble(nil, ipc.Preamble{Version: 9, Auth: ipc.AuthSASL})
	hello = ipc.AppendRequest(hello, ipc.SASLHeader(), nil, ipc.AppendSASL(nil, ipc.SASL{State: ipc.SASLNegotiate}))
	if _, err := conn.Write(hello); err != nil {
		return silent, err
	}
	frame, err := ipc.NewReader(conn, maxNegotiate).Next()
	if _, badFrame := errors.AsType[*ipc.FrameError](err); badFrame {
		return foreign, errors.New("it does not speak Hadoop RPC")
	}
	if err != nil {
		return silent, err
	}
	return parseOffer(frame[4:])
}

// maxNegotiate bounds the answer to the first message of a SASL exchange.
const maxNegotiate = 64 << 10

// parseOffer reads the authentication methods that a scheduler offers. A scheduler
// offers tokens, by DIGEST-MD5.
func parseOffer(payload []byte) (finding, error) {
	header, body, err := ipc.ParseResponse(payload)
	if err != nil {
		return foreign, err
	}
	if header.Status != ipc.StatusSuccess {
		return foreign, fmt.Errorf("it refuses: %s: %s", header.Exception, header.Message)
	}
	sasl, err := ipc.ParseSASL(body)
	if err != nil {
		return foreign, err
	}
	at := slices.IndexFunc(sasl.Auths, func(a ipc.SASLAuth) bool { return string(a.Method) == "TOKEN" })
	if at < 0 {
		return foreign, errors.New("it is a Hadoop service that takes no tokens")
	}
	if len(sasl.Auths) > 1 {
		return foreign, errors.New("it is a Hadoop service, but not a scheduler: it takes more than tokens")
	}
	challenge, err := ipc.ParseChallenge(sasl.Auths[at].Challenge)
	if err == nil && !slices.Contains(challenge.QOP, "auth") {
		return protected, nil
	}
	return answers, nil // a challenge of an unknown form is left to the relay
}

// result describes the finding and its repair. served reports whether another
// ResourceManager of the group answers: then this one is on standby.
func (t *target) result(served bool) AddressCheck {
	r := AddressCheck{Key: t.key, Address: t.address}
	var dns *net.DNSError
	switch {
	case t.found == protected:
		r.OK = t.relay < 0
		r.Found = "answers, with hadoop.rpc.protection integrity or privacy"
		r.Do = "the relay cannot rewrite its calls: do not set up applications for the relay"
	case t.found == answers && t.relay >= 0:
		r.OK, r.Found = true, "the relay answers for the ResourceManager"
	case t.found == answers:
		r.OK, r.Found = true, "answers"
	case errors.As(t.err, &dns):
		r.Found, r.Do = "the name does not resolve here", "every node has to resolve it: use an IP address (relay.advertise, relay.peers, --direct)"
	case t.found == foreign:
		r.Found, r.Do = t.err.Error(), "the port is another service's: compare it with relay.listen, relay.peers and yarn.resourcemanager.scheduler.address"
	case served && (t.found == silent || t.relay < 0):
		r.OK, r.Found = true, "a ResourceManager on standby"
	case t.found == silent && t.relay >= 0:
		r.Found, r.Do = "the relay is there, but no ResourceManager behind it", "is the ResourceManager running, and is upstream in relay.listeners its scheduler address? heddle's log has the error"
	case t.relay >= 0:
		r.Found, r.Do = describeError(t.err), "is 'heddle relay' running there, listening on this address (relay.listen), and does a firewall let nodes through?"
	default:
		r.Found, r.Do = describeError(t.err), "is the ResourceManager running, and is this the address of "+strings.TrimPrefix(t.key, Prefix)+" in its yarn-site.xml?"
	}
	return r
}

// describeError says why there is no answer.
func describeError(err error) string {
	var timeout net.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens there"
	case errors.As(err, &timeout) && timeout.Timeout():
		return "no answer in time"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return "the connection closes at once"
	}
	return err.Error()
}

package main

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

// reachedFrom is how one address answered.
type reachedFrom struct {
	Key     string `json:"key"`
	Address string `json:"address"`
	OK      bool   `json:"ok"`
	Found   string `json:"found"`
	Do      string `json:"do,omitempty"`
}

// answer is what was found behind a scheduler's address.
type answer int

const (
	unreachable answer = iota // no connection
	silent                    // a connection that is closed, or says nothing
	foreign                   // something else than a scheduler
	answers                   // what is to be there
	protected                 // a scheduler that only admits what a relay cannot read
)

// checkedAtOnce is how many addresses are tried at once.
const checkedAtOnce = 8

// target is one address to try.
type target struct {
	key, address string
	relay        int    // which heddle it is of, from 0; -1 for none
	group        string // of which one has to answer, "" for none: a ResourceManager on standby does not
	scheduler    bool   // rather than any other service
	found        answer
	err          error
}

// check connects to every address of the settings.
func (s *clientSite) check(ctx context.Context, simple bool, timeout time.Duration) []reachedFrom {
	targets := s.targets(simple)
	var tries errgroup.Group
	tries.SetLimit(checkedAtOnce)
	for i := range targets {
		t := &targets[i]
		tries.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, timeout)
			defer cancel()
			t.found, t.err = try(ctx, t.address, t.scheduler)
			return nil
		})
	}
	_ = tries.Wait() // every target has its own error
	results := make([]reachedFrom, len(targets))
	for i, t := range targets {
		served := slices.ContainsFunc(targets, func(o target) bool { return t.group != "" && o.group == t.group && o.found >= answers })
		results[i] = t.result(served)
	}
	return results
}

// targets lists the addresses: those of relays, those of schedulers, then what
// else an application and its client need.
func (s *clientSite) targets(simple bool) []target {
	ids, direct := s.ids()
	var list []target
	for h, heddle := range s.relays {
		for i, address := range heddle {
			list = append(list, target{key: keyScheduler + "." + ids[h][i], address: address, relay: h, group: fmt.Sprint("heddle", h), scheduler: true})
		}
		if simple {
			for i, set := range s.simpleSettings() {
				list[i].key = set.Key
			}
			return list
		}
	}
	for i, id := range direct {
		list = append(list, target{key: keyScheduler + "." + id, address: s.rms[i].Scheduler, relay: -1, group: keyScheduler, scheduler: true})
	}
	for i, id := range direct {
		for _, set := range s.of(id, i, "") {
			switch set.Key {
			case keyClient + "." + id: // which only the active one opens
				list = append(list, target{key: set.Key, address: set.Value, relay: -1, group: keyClient})
			case keyWeb + "." + id, keyWebHTTPS + "." + id:
				list = append(list, target{key: set.Key, address: set.Value, relay: -1})
			}
		}
	}
	return list
}

// try opens a connection and, to a scheduler, has it say how it authenticates.
func try(ctx context.Context, address string, isScheduler bool) (answer, error) {
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
	if _, odd := errors.AsType[*ipc.FrameError](err); odd {
		return foreign, errors.New("it does not speak Hadoop RPC")
	}
	if err != nil {
		return silent, err
	}
	return offered(frame[4:])
}

// maxNegotiate bounds the answer to the first message of a SASL exchange.
const maxNegotiate = 64 << 10

// offered reads what a scheduler offers: tokens, by DIGEST-MD5.
func offered(payload []byte) (answer, error) {
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
	return answers, nil // without a challenge of a form known here, the relay will see
}

// result says what was found, and what to do about it. served tells whether
// another ResourceManager of its group answers: then this one is on standby.
func (t *target) result(served bool) reachedFrom {
	r := reachedFrom{Key: t.key, Address: t.address}
	var dns *net.DNSError
	switch {
	case t.found == protected:
		r.OK = t.relay < 0
		r.Found = "answers, with hadoop.rpc.protection integrity or privacy"
		r.Do = "nothing can be rewritten: applications need not go through the relay"
	case t.found == answers && t.relay >= 0:
		r.OK, r.Found = true, "the relay answers for the ResourceManager"
	case t.found == answers:
		r.OK, r.Found = true, "answers"
	case errors.As(t.err, &dns):
		r.Found, r.Do = "the name is not known here", "every node has to resolve it, or applications fail: use an IP address (relay.advertise, relay.peers, --direct)"
	case t.found == foreign:
		r.Found, r.Do = t.err.Error(), "the port is another service's: compare it with relay.listen, relay.peers and yarn.resourcemanager.scheduler.address"
	case served && (t.found == silent || t.relay < 0):
		r.OK, r.Found = true, "a ResourceManager on standby"
	case t.found == silent && t.relay >= 0:
		r.Found, r.Do = "the relay is there, but no ResourceManager behind it", "is the ResourceManager running, and is upstream in relay.listeners its scheduler address? heddle's log says what it meets"
	case t.relay >= 0:
		r.Found, r.Do = plainError(t.err), "is 'heddle serve' running there with mode enforce, listening on this address (relay.listen), and does a firewall let nodes through?"
	default:
		r.Found, r.Do = plainError(t.err), "is the ResourceManager running, and is this the address of "+strings.TrimPrefix(t.key, rmPrefix)+" in its yarn-site.xml?"
	}
	return r
}

// plainError says in a few words why there is no answer.
func plainError(err error) string {
	var timeout net.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens there"
	case errors.As(err, &timeout) && timeout.Timeout():
		return "no answer in time"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return "the connection is closed at once"
	}
	return err.Error()
}

func (c clientConfig) checkTable(w io.Writer) error {
	err := tabs(w, func(w io.Writer) {
		for _, r := range c.Checks {
			word := "ok"
			if !r.OK {
				word = "WRONG"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", word, r.Address, strings.TrimPrefix(r.Key, rmPrefix), r.Found)
		}
	})
	said := map[string]bool{}
	for _, r := range c.Checks {
		if r.Do != "" && !said[r.Do] {
			fmt.Fprintf(w, "- %s: %s\n", r.Found, r.Do)
			said[r.Do] = true
		}
	}
	return err
}

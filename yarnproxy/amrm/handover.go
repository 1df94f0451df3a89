package amrm

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"time"

	"heddle/core/model"
	"heddle/yarnproxy/amrm/asks"
	"heddle/yarnproxy/amrm/wire"
	"heddle/yarnproxy/ipc"
)

// A handover: a heddle that starts finds one that runs at the handover socket
// and greets it. The running one takes nothing new, has every connection stop at
// the end of a frame, and sends its sockets and what it knows. The new one
// installs all of it and says so; the old one lets go, which ends no connection,
// because a socket ends with its last copy; and only then does the new one read.
// Whatever goes wrong before that, the old one goes on where it was.

// handoverVersion is of the messages: another one is refused.
const handoverVersion = 1

// handover is a relay's end of handovers.
type handover struct {
	socket *net.UnixListener // where the next process asks; nil for nowhere
	file   fs.FileInfo       // of the socket, as it was made
	peer   func(*net.UnixConn) (uid uint32, err error)
	taken  *taken // from another process, until Run; nil for nothing
}

// taken is what was taken over.
type taken struct {
	conns    []*conn
	attempts int
	stopped  time.Time // when the other process stopped relaying
}

type helloMsg struct {
	Version int `json:"version"`
}

type refusedMsg struct {
	Reason string `json:"reason"`
}

// listenerMsg is a listening socket.
type listenerMsg struct {
	RM       string `json:"rm"`
	Address  string `json:"address"` // as configured
	Upstream string `json:"upstream"`
}

// endMsg closes what is sent.
type endMsg struct {
	Listeners int           `json:"listeners"`
	Attempts  int           `json:"attempts"`
	Conns     int           `json:"conns"`
	Stopped   time.Duration `json:"stopped"` // how long ago the old process stopped relaying
}

// attemptMsg is the state of an attempt.
type attemptMsg struct {
	ID         wire.Attempt    `json:"id"`
	Table      json.RawMessage `json:"table"`
	Saved      bool            `json:"saved,omitempty"` // the journal has the table
	Standing   standing        `json:"standing,omitempty"`
	App        App             `json:"app"`
	Known      bool            `json:"known,omitempty"`
	At         model.Time      `json:"at"`
	ResponseID int32           `json:"response_id"`
	Answered   int32           `json:"answered"`
	Asked      []asks.Key      `json:"asked,omitempty"`
	Faults     int             `json:"faults,omitempty"`
	Said       bool            `json:"said,omitempty"`
}

// connMsg is the state of a connection.
type connMsg struct {
	Phase     phase         `json:"phase"`
	Token     wire.Attempt  `json:"token"`
	Named     bool          `json:"named,omitempty"`
	Tokens    int           `json:"tokens,omitempty"`
	Protected bool          `json:"protected,omitempty"`
	Calls     []callMsg     `json:"calls,omitempty"`
	Attempt   *wire.Attempt `json:"attempt,omitempty"` // whose calls these are
	Up        pendingMsg    `json:"up"`
	Down      pendingMsg    `json:"down"`
}

type callMsg struct {
	ID     int32         `json:"id"`
	Method method        `json:"method"`
	Edited bool          `json:"edited,omitempty"`
	Spent  time.Duration `json:"spent,omitempty"`
}

type pendingMsg struct {
	Ahead []byte `json:"ahead,omitempty"`
	Owed  []byte `json:"owed,omitempty"`
	Left  int64  `json:"left,omitempty"`
}

func (p *pendingMsg) len() int { return len(p.Ahead) + len(p.Owed) }

// errHandover says that what came is no message of a handover.
var errHandover = errors.New("not a message of a handover")

// decode reads the body of a message.
func decode[T any](body []byte) (T, error) {
	var v T
	if err := json.Unmarshal(body, &v); err != nil {
		return v, fmt.Errorf("%w: %w", errHandover, err)
	}
	return v, nil
}

// decodeConns reads connections, to which as many sockets belong as came with them.
func decodeConns(body []byte, files int) ([]connMsg, error) {
	list, err := decode[[]connMsg](body)
	if err != nil {
		return nil, err
	}
	if 2*len(list) != files {
		return nil, fmt.Errorf("%w: %d sockets of %d connections", errHandover, files, len(list))
	}
	for i := range list {
		if !list[i].sound() {
			return nil, fmt.Errorf("%w: a connection that cannot be", errHandover)
		}
	}
	return list, nil
}

func (m *connMsg) sound() bool {
	for i := range m.Calls {
		if k := &m.Calls[i]; k.Method < methodOther || k.Method > methodFinish {
			return false
		}
	}
	return m.Phase >= phasePreamble && m.Phase <= phaseBlind && m.Tokens >= 0 && len(m.Calls) <= maxCalls &&
		m.Up.sound() && m.Down.sound()
}

func (p *pendingMsg) sound() bool { return p.Left >= -1 && p.Left <= prefixLen+ipc.MaxFrame }

func decodeAttempts(body []byte) ([]attemptMsg, error) {
	list, err := decode[[]attemptMsg](body)
	if err != nil {
		return nil, err
	}
	for i := range list {
		m := &list[i]
		if m.Standing < unmet || m.Standing > ended || m.Faults < 0 || len(m.Asked) > maxAsked {
			return nil, fmt.Errorf("%w: an attempt that cannot be", errHandover)
		}
	}
	return list, nil
}

// export returns a connection's state. It pauses, and both lanes have stopped.
func (c *conn) export() connMsg {
	c.session.mu.Lock()
	defer c.session.mu.Unlock()
	s := &c.session.state
	m := connMsg{
		Phase: s.phase, Token: s.token, Named: s.named, Tokens: s.tokens, Protected: s.protected,
		Up: c.up.export(), Down: c.down.export(),
	}
	for _, k := range s.calls {
		m.Calls = append(m.Calls, callMsg{ID: k.id, Method: k.method, Edited: k.edited, Spent: k.spent})
	}
	if a := c.session.attempt; a != nil {
		m.Attempt = &a.id
	}
	return m
}

func (l *lane) export() pendingMsg {
	l.rewind()
	return pendingMsg{Ahead: l.ahead, Owed: l.owed, Left: l.left}
}

// imported makes a connection of a process before go on here.
func (r *Relay) imported(m *connMsg, client, rm net.Conn) *conn {
	c := newConn(r, client, rm)
	c.up.pending = pending{ahead: m.Up.Ahead, owed: m.Up.Owed, left: m.Up.Left}
	c.down.pending = pending{ahead: m.Down.Ahead, owed: m.Down.Owed, left: m.Down.Left}
	s := &c.session.state
	s.phase, s.token, s.named, s.tokens, s.protected = m.Phase, m.Token, m.Named, m.Tokens, m.Protected
	for _, k := range m.Calls {
		s.calls = append(s.calls, call{id: k.ID, method: k.Method, edited: k.Edited, spent: k.Spent})
	}
	return c
}

// export returns an attempt's state.
func (a *attempt) export() (attemptMsg, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	table, err := a.table.Marshal()
	if err != nil {
		return attemptMsg{}, err
	}
	m := attemptMsg{
		ID: a.id, Table: table, Saved: a.saved.good && a.saved.version == a.table.Version(), Standing: a.trust.standing,
		App: a.about.info, Known: a.about.known, At: a.last.at, ResponseID: a.last.responseID, Answered: a.last.answered,
		Faults: a.trouble.faults, Said: a.trouble.said,
	}
	for k := range a.asked { // order-free: into a set
		m.Asked = append(m.Asked, k)
	}
	return m, nil
}

// install puts the attempt of another process in its place. A table that is not
// understood is looked for in the journal when the attempt calls.
func (r *registry) install(m *attemptMsg) {
	a := r.newAttempt(m.ID)
	a.trust.standing = m.Standing
	a.about = about{m.App, m.Known}
	a.last = exchange{at: m.At, responseID: m.ResponseID, answered: m.Answered}
	a.trouble = trouble{m.Faults, m.Said}
	a.observed.due = true
	for _, k := range m.Asked {
		a.asked[k] = struct{}{}
	}
	switch err := a.table.Unmarshal(m.Table); {
	case err != nil:
		r.opts.Logger.Warn("asks of an application were not understood at the handover; starting from its journal", "attempt", a.name, "error", err)
		if m.Standing != ended && m.Standing != lost {
			a.trust = trust{}
		}
	case m.Standing == doubted:
		a.doubt(r.opts.now()) // when it heard what does not come along
	case m.Saved:
		a.saved = saved{version: a.table.Version(), responseID: m.ResponseID, good: true}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all[m.ID] = a
}

// listenAt opens the handover socket under a name that nobody asks at yet, and
// returns what gives it its own.
func (h *handover) listenAt(path string) (publish func() error, err error) {
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() != fs.ModeSocket {
		return nil, fmt.Errorf("relay: %s is no socket; name another path for the handover", path)
	}
	fresh := path + ".new"
	if err := os.Remove(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("relay: removing what an earlier start left: %w", err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: fresh, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("relay: opening the handover socket: %w; its folder has to exist and be heddle's", err)
	}
	l.SetUnlinkOnClose(false) // by then the name may be another process's
	h.socket = l
	err = os.Chmod(fresh, 0o600)
	if err == nil {
		h.file, err = os.Lstat(fresh)
	}
	if err != nil {
		h.close(fresh)
		return nil, fmt.Errorf("relay: closing the handover socket to others: %w", err)
	}
	return func() error { return os.Rename(fresh, path) }, nil
}

// close closes the socket, and removes its name if that is still its own. Without
// a name, that is another process's by now.
func (h *handover) close(path string) {
	if h.socket == nil {
		return
	}
	if now, err := os.Lstat(path); path != "" && err == nil && os.SameFile(now, h.file) {
		_ = os.Remove(path) // or the next start does
	}
	_ = h.socket.Close() // nobody is served any more
	h.socket = nil
}

package amrm

import (
	"sync"
	"sync/atomic"
	"time"

	"heddle/yarnproxy/amrm/wire"
)

// maxCalls is how many answers a connection waits for; of more, the oldest is
// not recognised.
const maxCalls = 64

// phase is how far a connection has come.
type phase int

const (
	phasePreamble phase = iota // nothing came yet
	phaseSASL                  // client and ResourceManager authenticate each other
	phaseCalls                 // context and calls
	phaseBlind                 // bytes go through as they come: protected, or not understood
)

// method is a method of ApplicationMasterProtocol.
type method int

const (
	methodOther method = iota
	methodAllocate
	methodRegister
	methodFinish
)

// call is a call whose answer is to be recognised.
type call struct {
	id     int32
	method method
	edited bool
	spent  time.Duration // in the relay, on the way there
}

// state is how far a connection has come.
type state struct {
	phase     phase
	token     wire.Attempt // whom the client says the token was given to
	named     bool         // token is set
	tokens    int          // how many were presented
	protected bool         // the client chose integrity or privacy
	calls     []call       // that wait for an answer, oldest first
}

// session is the state of a connection, which both of its lanes look at.
type session struct {
	mu    sync.Mutex // guards what follows
	state state
	// attempt is whose calls these are, once the ResourceManager has accepted the token; nil when they only pass.
	attempt *attempt
}

func (s *session) phase() phase {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.phase
}

// enter reports whether the phase is another one now. There is no way out of phaseBlind.
func (s *session) enter(p phase) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.phase == p || s.state.phase == phaseBlind {
		return false
	}
	s.state.phase = p
	return true
}

// waiting returns how many answers are missing.
func (s *session) waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.state.calls)
}

// remember keeps a call until its answer comes. When there are too many, the
// oldest is forgotten and counted.
func (s *session) remember(k call, forgotten *atomic.Int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.state.calls) == maxCalls {
		s.state.calls = append(s.state.calls[:0], s.state.calls[1:]...)
		forgotten.Add(1)
	}
	s.state.calls = append(s.state.calls, k)
}

// sent notes how long a call took to be sent, unless it is answered already.
func (s *session) sent(id int32, spent time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.state.calls {
		if k := &s.state.calls[i]; k.id == id {
			k.spent = spent
		}
	}
}

// recall returns the call that an answer belongs to, methodOther when there is none.
func (s *session) recall(id int32) call {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, k := range s.state.calls {
		if k.id == id {
			s.state.calls = append(s.state.calls[:i], s.state.calls[i+1:]...)
			return k
		}
	}
	return call{}
}

// present takes note that the client presents a token, and reports whether it is
// the first of the connection. With two, it cannot be told which of them the
// ResourceManager finds good.
func (s *session) present() (first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.tokens++
	s.state.named = false
	return s.state.tokens == 1
}

func (s *session) protect(protected bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.protected = protected
}

func (s *session) name(token wire.Attempt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.token, s.state.named = token, true
}

// claim returns whose token the client presented, if that is known, and whether
// what follows is protected.
func (s *session) claim() (token wire.Attempt, named, protected bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.token, s.state.named, s.state.protected
}

// attach makes the connection one of an attempt, with nil of none, and returns whose it was.
func (s *session) attach(a *attempt) *attempt {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.attempt
	s.attempt = a
	return before
}

func (s *session) owner() *attempt {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.attempt
}

package amrm

import (
	"runtime/debug"
	"strings"

	"heddle/core/asks"
	"heddle/core/model"
	"heddle/yarnproxy/amrm/wire"
	"heddle/yarnproxy/ipc"
)

// answered takes the answer to an allocate call.
func (r *steering) answered(a *attempt, body []byte, s *scratch) {
	if err := s.resp.Parse(body); err != nil {
		r.unread(a, "an answer to an allocate call", err)
		return
	}
	s.takeAnswer()
	r.guarded(a, func() {
		a.last.answered = s.resp.ResponseID
		if s.resp.Command != wire.CommandNone {
			a.asks.LoseRegistration() // it registers again, or ends
			return
		}
		a.asks.Response(r.opts.now(), &s.answer, a.intent.Site)
		if len(s.answer.Granted) > 0 {
			a.observed.due = true
		}
	})
}

// takeAnswer converts what an answer says.
func (s *scratch) takeAnswer() {
	in, out := &s.resp, &s.answer
	*out = asks.Response{ResponseID: in.ResponseID, Granted: out.Granted[:0], Ended: out.Ended[:0], LostHosts: out.LostHosts[:0]}
	if in.Headroom.Known {
		s.headroom = model.Resource{MemoryMiB: in.Headroom.Memory, VCores: int64(in.Headroom.VCores)}
		out.Headroom = &s.headroom
	}
	out.Granted = appendGrants(out.Granted, in.Allocated)
	out.Granted = appendGrants(out.Granted, in.Previous)
	for i := range in.Completed {
		out.Ended = append(out.Ended, asks.Ended{ID: asks.ContainerID(in.Completed[i].ID), ExitStatus: in.Completed[i].ExitStatus})
	}
	for i := range in.Nodes {
		if n := &in.Nodes[i]; !n.State.Usable() {
			out.LostHosts = append(out.LostHosts, intern(n.Host))
		}
	}
}

func appendGrants(dst []asks.Grant, from []wire.Container) []asks.Grant {
	for i := range from {
		k := &from[i]
		dst = append(dst, asks.Grant{
			ID: asks.ContainerID(k.ID), Key: asks.Key{Priority: k.Priority, RequestID: k.RequestID}, Host: intern(k.Host),
		})
	}
	return dst
}

// registered takes the answer to registerApplicationMaster: the application will
// say again everything it wants.
func (r *steering) registered(a *attempt, body []byte, s *scratch) {
	var err error
	if s.running, err = wire.ParseRegisterResponse(s.running[:0], body); err != nil {
		r.unread(a, "the answer to a register call", err)
	}
	r.guarded(a, func() {
		site, _ := r.opts.Guide.Site()
		a.asks.Register(appendGrants(nil, s.running), site)
		a.observed.due = true
	})
}

// finished takes the answer to finishApplicationMaster, which is asked until the
// application is unregistered.
func (r *steering) finished(a *attempt, body []byte) {
	over, err := wire.ParseFinishResponse(body)
	if err != nil {
		r.unread(a, "the answer to a finish call", err)
	}
	if over {
		r.attempts.end(a)
	}
}

// failed takes an error that the ResourceManager answered with.
func (r *steering) failed(a *attempt, k call, h *ipc.ResponseHeader) {
	exception := string(h.Exception)
	switch name := exception[strings.LastIndexByte(exception, '.')+1:]; {
	case name == "ApplicationMasterNotRegisteredException":
		r.guarded(a, a.asks.LoseRegistration)
	case name == "ApplicationAttemptNotFoundException":
		r.attempts.end(a)
	case k.edited && strings.HasPrefix(name, "Invalid") && name != "InvalidApplicationMasterRequestException": // of the response id
		r.fault(a, "the ResourceManager refused asks that were edited: "+exception+": "+string(h.Message))
	}
}

// guarded works on an attempt, locked, and survives a panic there.
func (r *steering) guarded(a *attempt, do func()) {
	defer func() {
		if v := recover(); v != nil {
			r.fault(a, v)
		}
	}()
	a.mu.Lock()
	defer a.mu.Unlock()
	do()
}

// fault ends the steering of an attempt whose decision failed. Its table starts
// anew from what the ResourceManager holds, which undoes at the next call what
// was asked in its place. When that fails too, everything goes on as it comes.
func (r *steering) fault(a *attempt, why any) {
	r.counts.faults.Add(1)
	r.counts.pass(model.PassDecode)
	r.log.Error("a decision failed: the asks of this application go on as they come; please report it",
		"attempt", a.name, "error", why, "stack", string(debug.Stack()))
	a.mu.Lock()
	defer a.mu.Unlock()
	a.failures.faults++
	a.asks.Invalidate(r.opts.now())
}

// unread says once for an attempt that something of it was not understood.
func (r *steering) unread(a *attempt, what string, err error) {
	r.counts.pass(model.PassDecode)
	a.mu.Lock()
	logged := a.failures.logged
	a.failures.logged = true
	a.mu.Unlock()
	if !logged {
		r.log.Warn(what+" of an application is not understood and goes on as it came; more of it is counted only", "attempt", a.name, "error", err)
	}
}

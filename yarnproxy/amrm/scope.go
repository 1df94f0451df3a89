package amrm

import (
	"slices"
	"strings"

	"heddle/core/asks"
	"heddle/core/model"
)

// covers reports whether an application is one of those the scope says.
func (s *Scope) covers(a *App) bool {
	return (len(s.Queues) == 0 || slices.ContainsFunc(s.Queues, func(q string) bool { return inQueue(string(a.Queue), q) })) &&
		(len(s.Users) == 0 || slices.Contains(s.Users, string(a.User))) &&
		(len(s.Types) == 0 || containsFold(s.Types, a.Type)) &&
		(len(s.Tags) == 0 || slices.ContainsFunc(s.Tags, func(t string) bool { return containsFold(a.Tags, t) }))
}

// inQueue reports whether a queue is one that is named or below it.
func inQueue(queue, named string) bool {
	below, ok := strings.CutPrefix(queue, named)
	return ok && (below == "" || below[0] == '.')
}

// containsFold ignores case: the ResourceManager turns tags to lower case, and
// compares application types without it.
func containsFold(list []string, want string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return strings.EqualFold(s, want) })
}

// of reports whether the rule is about a type of application.
func (s *StageRule) of(appType string) bool { return strings.EqualFold(s.Type, appType) }

// matches reports whether the rule names what a key of its type asks for.
func (s *StageRule) matches(k asks.Key, local bool) bool {
	return (len(s.Priorities) == 0 || slices.Contains(s.Priorities, int(k.Priority))) &&
		(s.Local == nil || *s.Local == local)
}

// stage names the stage that asks at a key of an application, by the first rule that matches.
func (r *rules) stage(appType string, k asks.Key, local bool) (model.Stage, bool) {
	for i := range r.stages {
		if s := &r.stages[i]; s.of(appType) && s.matches(k, local) {
			return s.Stage, true
		}
	}
	return "", false
}

// passReason says why nothing an application asks for is steered, "" when it may
// be. An application that no source has told of is not known to be in the scope.
func (r *rules) passReason(a *App, known bool) model.PassCause {
	switch {
	case !known:
		return model.PassStale
	case r.optOutTag != "" && containsFold(a.Tags, r.optOutTag):
		return model.PassOptOut
	case len(r.scopes) > 0 && !slices.ContainsFunc(r.scopes, func(s Scope) bool { return s.covers(a) }):
		return model.PassScope
	case !slices.ContainsFunc(r.stages, func(s StageRule) bool { return s.of(a.Type) }):
		return model.PassType
	}
	return a.Pass
}

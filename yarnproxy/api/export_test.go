package api

import (
	"net/http"
	"slices"
	"strings"

	"github.com/gorilla/mux"

	"heddle/core/model"
)

// RouterPaths returns the path of every route in the router.
func RouterPaths(opts Options) []string {
	var paths []string
	_ = newServer(opts).router.Walk(func(r *mux.Route, _ *mux.Router, _ []*mux.Route) error {
		p, err := r.GetPathTemplate()
		paths = append(paths, strings.ReplaceAll(p, ":.+", ""))
		return err
	})
	slices.Sort(paths)
	return paths
}

// PanicAt returns a handler whose route panics.
func PanicAt(opts Options, v any) http.Handler {
	s := newServer(opts)
	s.router.Path("/panic").HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(v) })
	return s
}

// Document returns the OpenAPI document.
func Document() []byte { return document }

// Texts returns what explain says of each reason.
func Texts() map[model.Reason]string { return reasonTexts() }

// RelayTexts returns what is said of each action and of each cause.
func RelayTexts() (map[model.Action]string, map[model.PassCause]string) {
	return actionTexts(), causeTexts()
}

// ShownRows is how many rows of a key are shown.
const ShownRows = shownRows

// Hints returns what to do about each poll result.
func Hints() map[model.PollResult]string { return hints() }

// ProblemTitles returns every kind of problem with its title.
func ProblemTitles() map[string]string { return titles() }

// Decode decodes the body of POST /v1/placements.
func Decode(data []byte) error {
	_, err := decodePlacements(data)
	return err
}

// KeptBodies returns how many encoded bodies a handler keeps, and how many it may.
func KeptBodies(h http.Handler) (kept, most int) {
	p := h.(*server).current.Load()
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.bodies), maxBodies
}

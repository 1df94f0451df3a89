package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
)

// problem is an answer that is not what was asked for (RFC 9457). It is an
// error inside the package and problem+json outside.
type problem struct {
	kind       string // ends the type URI; docs/api.md lists them
	status     int
	detail     string
	hint       string // what to do
	retryAfter int    // seconds, 0 for none
	errors     []fieldError
	sources    []sourceBody
}

// fieldError is what is wrong with one parameter or one field of a body.
type fieldError struct {
	Field  string `json:"field"` // a query parameter, or a path into the body such as asks[0].count
	Detail string `json:"detail"`
}

// problemBody is a problem on the wire.
type problemBody struct {
	Type      string       `json:"type"`
	Title     string       `json:"title"`
	Status    int          `json:"status"`
	Detail    string       `json:"detail"`
	Instance  string       `json:"instance"`
	Hint      string       `json:"hint,omitempty"`
	RequestID string       `json:"request_id"`
	Errors    []fieldError `json:"errors,omitempty"`
	Sources   []sourceBody `json:"sources,omitempty"`
}

// titles names every kind of problem.
func titles() map[string]string {
	return map[string]string{
		"bad-request":            "The request is not well formed",
		"body-too-large":         "The body is too large",
		"internal":               "heddle failed on this request",
		"method-not-allowed":     "This path does not serve that method",
		"relay-not-linked":       "The relay gave no answer",
		"name-node":              "The NameNode gave no answer that could be used",
		"no-plan":                "There is no plan for this stage",
		"no-policy":              "No policy decides",
		"no-relay":               "No relay runs",
		"no-snapshot":            "There is no picture of the cluster yet",
		"not-acceptable":         "Only JSON is served",
		"not-found":              "There is no such thing",
		"not-ready":              "heddle is not ready",
		"permission-denied":      "HDFS does not let heddle read this path",
		"slow-body":              "The body did not arrive in time",
		"stale-state":            "The state of the cluster is too old to decide on",
		"timeout":                "The answer took too long",
		"too-busy":               "Too many requests at once",
		"unsupported-media-type": "Only JSON is read",
	}
}

// Error implements error.
func (p *problem) Error() string { return p.kind + ": " + p.detail }

func notFound(detail, hint string) *problem {
	return &problem{kind: "not-found", status: http.StatusNotFound, detail: detail, hint: hint}
}

func badRequest(detail string, fields ...fieldError) *problem {
	return &problem{kind: "bad-request", status: http.StatusBadRequest, detail: detail, errors: fields}
}

// asProblem turns any error into a problem.
func asProblem(err error) *problem {
	var p *problem
	switch {
	case errors.As(err, &p):
		return p
	case errors.Is(err, ErrNoPolicy):
		return &problem{kind: "no-policy", status: http.StatusConflict, detail: err.Error(), hint: "set mode to advise in the configuration"}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return &problem{kind: "timeout", status: http.StatusGatewayTimeout, retryAfter: 1, detail: "the answer took longer than advanced.web.timeout allows: " + err.Error()}
	}
	return &problem{kind: "internal", status: http.StatusInternalServerError, detail: err.Error()}
}

// fail answers with a problem.
func (s *server) fail(w http.ResponseWriter, r *http.Request, p *problem) {
	id := w.Header().Get("X-Request-Id")
	body := problemBody{
		Type: "urn:heddle:problem:" + p.kind, Title: titles()[p.kind], Status: p.status, Detail: p.detail,
		Instance: r.URL.EscapedPath(), Hint: p.hint, RequestID: id, Errors: p.errors, Sources: p.sources,
	}
	if p.status == http.StatusInternalServerError {
		s.opts.Logger.Error("request failed", "path", r.URL.Path, "request_id", id, "error", p.detail)
	}
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	h.Del("ETag")
	if p.retryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(p.retryAfter))
	}
	data, err := json.Marshal(body)
	if err != nil { // only strings and numbers: cannot be
		data = fmt.Appendf(nil, `{"type":"about:blank","status":%d}`, p.status)
	}
	h.Set("Content-Length", strconv.Itoa(len(data)+1))
	w.WriteHeader(p.status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(append(data, '\n')) //nolint:gosec // JSON, named so, and never sniffed; the caller is gone if this fails
	}
}

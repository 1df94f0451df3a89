package api

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gorilla/mux"

	"heddle/core/model"
)

// query is one request being answered.
type query struct {
	server      *server
	r           *http.Request
	w           http.ResponseWriter
	cache       *snapshotCache
	now         model.Time // by the clock of the observations
	values      url.Values
	known       []string // parameters the route has asked for
	errors      []fieldError
	uncacheable bool // the answer is not of the snapshot alone: never 304
}

// snapshotBody opens every answer.
type snapshotBody struct {
	Seq uint64         `json:"seq"`
	At  model.Time     `json:"at_ms"`
	Age model.Duration `json:"age_ms"`
}

func (q *query) snapshot() snapshotBody {
	return snapshotBody{Seq: q.cache.snap.Seq, At: q.cache.snap.At, Age: max(q.now.Sub(q.cache.snap.At), 0)}
}

// head sets the headers that say which snapshot the answer is made of.
func (q *query) head() {
	s, h := q.snapshot(), q.w.Header()
	h.Set("Heddle-Snapshot-Seq", strconv.FormatUint(s.Seq, 10))
	h.Set("Heddle-Snapshot-Time", time.UnixMilli(int64(s.At)).UTC().Format("2006-01-02T15:04:05.000Z07:00"))
	h.Set("Heddle-Snapshot-Age-Ms", strconv.FormatInt(int64(s.Age), 10))
}

// write sends a JSON object with the snapshot put before its other members.
func (q *query) write(body []byte) {
	s := q.snapshot()
	open := fmt.Appendf(nil, `{"snapshot":{"seq":%d,"at_ms":%d,"age_ms":%d},`, s.Seq, s.At, s.Age)
	h := q.w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(open)+len(body)-1))
	q.w.WriteHeader(http.StatusOK)
	if q.r.Method == http.MethodHead {
		return
	}
	if _, err := q.w.Write(open); err == nil {
		_, _ = q.w.Write(body[1:]) // the caller is gone if this fails
	}
}

// path returns a variable of the path, unescaped.
func (q *query) path(name string) (string, error) {
	raw := mux.Vars(q.r)[name]
	v, err := url.PathUnescape(raw)
	if err != nil {
		return "", badRequest("the path does not unescape", fieldError{name, err.Error()})
	}
	return v, nil
}

func (q *query) addError(field, format string, args ...any) {
	q.errors = append(q.errors, fieldError{field, fmt.Sprintf(format, args...)})
}

// text returns a query parameter, "" when it is not given.
func (q *query) text(name string) string {
	q.known = append(q.known, name)
	v := q.values[name]
	if len(v) > 1 {
		q.addError(name, "is given %d times", len(v))
	}
	if len(v) == 0 {
		return ""
	}
	if len(v[0]) > 4096 {
		q.addError(name, "is longer than 4096 bytes")
		return ""
	}
	return v[0]
}

// oneOf returns a query parameter that must have one of some values.
func (q *query) oneOf(name, def string, values ...string) string {
	v := q.text(name)
	switch {
	case v == "":
		return def
	case !slices.Contains(values, v):
		q.addError(name, "is %q, want one of %s", v, strings.Join(values, ", "))
		return def
	}
	return v
}

// number returns a whole number from a query parameter.
func (q *query) number(name string, def, least, most uint64) uint64 {
	v := q.text(name)
	if v == "" {
		return def
	}
	n, err := strconv.ParseUint(v, 10, 64)
	if err != nil || n < least || n > most {
		q.addError(name, "is %q, want a whole number from %d to %d", v, least, most)
		return def
	}
	return n
}

// page is a part of a list.
type page struct{ limit, offset int }

func (q *query) page(def, most int) page {
	return page{
		limit:  int(q.number("limit", uint64(def), 1, uint64(most))), //nolint:gosec // bounded above
		offset: int(q.number("offset", 0, 0, 1<<31-1)),               //nolint:gosec // bounded above
	}
}

// pageBody says which part of a list an answer holds.
type pageBody struct {
	Total  int    `json:"total"` // entries that pass the filter
	Offset int    `json:"offset"`
	Next   string `json:"next,omitempty"` // path and query of the next page, absent on the last
}

// pageOf returns the part of a list a page names.
func pageOf[T any](q *query, p page, list []T) ([]T, pageBody) {
	from := min(p.offset, len(list))
	to := min(from+p.limit, len(list))
	return list[from:to:to], pageBodyOf(q, p, to-from, len(list))
}

// pageBodyOf says which part of a list of so many an answer with so many holds.
func pageBodyOf(q *query, p page, held, total int) pageBody {
	b := pageBody{Total: total, Offset: p.offset}
	if to := p.offset + held; held > 0 && to < total {
		v := url.Values{}
		maps.Copy(v, q.values)
		v.Set("limit", strconv.Itoa(p.limit))
		v.Set("offset", strconv.Itoa(to))
		b.Next = q.r.URL.EscapedPath() + "?" + v.Encode()
	}
	return b
}

// check returns what was wrong with the parameters, unknown ones included.
func (q *query) check() error {
	names := make([]string, 0, len(q.values))
	for name := range q.values { // order-free: sorted below
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		switch {
		case slices.Contains(q.known, name):
		case len(q.known) == 0:
			q.addError(name, "is not known: this path takes no parameters")
		default:
			q.addError(name, "is not known, want one of %s", strings.Join(q.known, ", "))
		}
	}
	if len(q.errors) > 0 {
		return badRequest("a parameter is wrong: "+q.errors[0].Field+" "+q.errors[0].Detail, q.errors...)
	}
	return nil
}

// stage returns the parameter stage, which may name a stage of any framework.
func (q *query) stage() model.Stage {
	v := q.text("stage")
	switch {
	case v == "":
		q.addError("stage", "is missing, want map, reduce or the name of a stage")
	case len(v) > 64 || strings.ContainsRune(" ._-", rune(v[0])) || strings.IndexFunc(v, func(c rune) bool { return !alphanumeric(c) && !strings.ContainsRune(" ._-", c) }) >= 0:
		q.addError("stage", "is %q, want map, reduce or the name of a stage", v)
	}
	return model.Stage(v)
}

// alphanumeric reports whether a character is an ASCII letter or digit.
func alphanumeric(c rune) bool {
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
}

// emptyNotNil returns a slice that is an empty list, not null, in JSON.
func emptyNotNil[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

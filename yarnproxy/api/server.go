package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gorilla/mux"

	"heddle/core/model"
	"heddle/core/state/snapshot"
)

// route is one path of the API.
type route struct {
	path   string // as openapi.json spells it
	match  string // the mux pattern, path when empty
	method string // GET also serves HEAD
	about  string // for the index page
	serve  func(q *query) (any, error)
	cached bool // the body depends on the snapshot and the query alone, and is read often
	fresh  bool // it rests on decisions: refused while the ResourceManager's state is too old
}

// routes lists what is served under /v1.
func routes() []route {
	return []route{
		{path: "/v1/cluster", method: http.MethodGet, serve: getCluster, cached: true, about: "the ResourceManager, totals, sources, what heddle had to work around"},
		{path: "/v1/racks", method: http.MethodGet, serve: getRacks, cached: true, about: "nodes, resources, containers and uplink of every rack"},
		{path: "/v1/racks/{rack}", match: "/v1/racks/{rack:.+}", method: http.MethodGet, serve: getRack, about: "one rack with its nodes"},
		{path: "/v1/nodes", method: http.MethodGet, serve: getNodes, cached: true, about: "nodes, by rack and state"},
		{path: "/v1/policies", method: http.MethodGet, serve: getPolicies, about: "the policies and their parameters"},
		{path: "/v1/traffic", method: http.MethodGet, serve: getTraffic, cached: true, about: "bytes from rack to rack"},
		{path: "/v1/shadow", method: http.MethodGet, serve: getShadow, cached: true, about: "what each policy would have saved and lost"},
		{path: "/v1/applications", method: http.MethodGet, serve: getApplications, cached: true, about: "applications, by state, user and queue"},
		{path: "/v1/applications/{id}", method: http.MethodGet, serve: getApplication, about: "one application"},
		{path: "/v1/applications/{id}/preferences", method: http.MethodGet, serve: getPreferences, fresh: true, about: "where its maps or reduces should go"},
		{path: "/v1/applications/{id}/explain", method: http.MethodGet, serve: getExplain, fresh: true, about: "why"},
		{path: "/v1/decisions", method: http.MethodGet, serve: getDecisions, about: "the log of decisions"},
		{path: "/v1/relay", method: http.MethodGet, serve: getRelay, about: "what is asked of the ResourceManager in place of what applications asked"},
		{path: "/v1/blocks", method: http.MethodGet, serve: getBlocks, about: "HDFS blocks of a path with their racks"},
		{path: "/v1/placements", method: http.MethodPost, serve: postPlacements, fresh: true, about: "asks in, ranked nodes and racks out; nothing is stored"},
	}
}

// server is the API. It is safe for concurrent use.
type server struct {
	opts    Options
	router  *mux.Router
	slots   chan struct{} // one taken per request under /v1
	boot    string        // distinguishes this process's snapshots and requests from those of another
	ids     atomic.Uint64
	current atomic.Pointer[snapshotCache]
}

func newServer(opts Options) *server {
	opts.setDefaults()
	s := &server{
		opts: opts, slots: make(chan struct{}, opts.Concurrency), boot: strconv.FormatInt(opts.Now().UnixMilli(), 36),
		router: mux.NewRouter().UseEncodedPath().SkipClean(true),
	}
	for _, rt := range routes() {
		match := rt.match
		if match == "" {
			match = rt.path
		}
		s.router.Path(match).Handler(s.limited(s.only(s.v1(rt), rt.method)))
	}
	for path, h := range map[string]http.Handler{ // order-free: the paths differ
		"/": http.HandlerFunc(s.index), "/openapi.json": http.HandlerFunc(serveDocument), "/metrics": opts.Metrics,
		"/healthz": http.HandlerFunc(s.healthz), "/-/healthy": http.HandlerFunc(s.healthz),
		"/readyz": http.HandlerFunc(s.readyz), "/-/ready": http.HandlerFunc(s.readyz),
	} {
		s.router.Path(path).Handler(s.only(h, http.MethodGet))
	}
	s.router.NotFoundHandler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, r, notFound("there is nothing at "+r.URL.Path, "GET / lists every route, /openapi.json describes them"))
	})
	return s
}

// ServeHTTP gives the request an id and a deadline, and answers whatever
// happens: a panic is a 500, not a closed connection.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get("X-Request-Id")
	if !isValidID(id) {
		id = s.boot + "-" + strconv.FormatUint(s.ids.Add(1), 36)
	}
	w.Header().Set("X-Request-Id", id)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	ctx, cancel := context.WithTimeout(r.Context(), s.opts.Timeout)
	defer cancel()
	if deadline, ok := ctx.Deadline(); ok {
		// A second more to write than the handlers have: their 504 is to be sent
		// too. A writer that knows no deadlines has no slow client behind it.
		control := http.NewResponseController(w)
		_ = control.SetReadDeadline(deadline)
		_ = control.SetWriteDeadline(deadline.Add(time.Second))
	}
	r = r.WithContext(ctx)
	defer func() {
		if v := recover(); v != nil {
			if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(v)
			}
			s.opts.Logger.Error("request panicked", "path", r.URL.Path, "request_id", id, "panic", v)
			s.fail(w, r, &problem{kind: "internal", status: http.StatusInternalServerError, detail: "heddle failed on this request; its log has the request id"})
		}
	}()
	s.router.ServeHTTP(w, r)
}

// isValidID reports whether a caller's request id may be taken over.
func isValidID(id string) bool {
	if id == "" || len(id) > 64 {
		return false
	}
	return strings.IndexFunc(id, func(c rune) bool { return !alphanumeric(c) && !strings.ContainsRune("-_.", c) }) < 0
}

// limited serves at most Concurrency requests at once. One more is refused at
// once: a queue would only delay every request.
func (s *server) limited(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case s.slots <- struct{}{}:
			defer func() { <-s.slots }()
			next.ServeHTTP(w, r)
		default:
			s.fail(w, r, &problem{
				kind: "too-busy", status: http.StatusServiceUnavailable, retryAfter: 1,
				detail: "heddle already serves " + strconv.Itoa(s.opts.Concurrency) + " requests (advanced.web.concurrency)", hint: "ask again in a second",
			})
		}
	})
}

// only refuses other methods.
func (s *server) only(next http.Handler, method string) http.Handler {
	allow := method
	if method == http.MethodGet {
		allow = "GET, HEAD"
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != method && (method != http.MethodGet || r.Method != http.MethodHead) {
			w.Header().Set("Allow", allow)
			s.fail(w, r, &problem{kind: "method-not-allowed", status: http.StatusMethodNotAllowed, detail: r.Method + " is not for this path", hint: "use " + allow})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// v1 serves one route from the newest snapshot.
func (s *server) v1(rt route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := &query{server: s, r: r, w: w, now: model.Time(s.opts.Now().UnixMilli()), values: r.URL.Query()}
		if q.cache = s.snapshotCache(); q.cache == nil {
			s.fail(w, r, &problem{
				kind: "no-snapshot", status: http.StatusServiceUnavailable, retryAfter: 1,
				detail: "heddle has just started and has no picture of the cluster yet", hint: "ask again in a second; /readyz says when it is ready",
			})
			return
		}
		q.head()
		body, err := s.answer(q, rt)
		if err != nil {
			s.fail(w, r, asProblem(err))
			return
		}
		tag := `W/"` + s.boot + "-" + strconv.FormatUint(q.cache.snap.Seq, 36) + `"`
		if r.Method == http.MethodPost || q.uncacheable {
			w.Header().Set("Cache-Control", "no-store")
		} else {
			w.Header().Set("ETag", tag)
			w.Header().Set("Cache-Control", "no-cache") // to be kept, and asked about each time
			if matches(r.Header.Get("If-None-Match"), tag) {
				w.WriteHeader(http.StatusNotModified)
				return
			}
		}
		q.write(body)
	})
}

// answer returns the encoded body of a route.
func (s *server) answer(q *query, rt route) ([]byte, error) {
	if !acceptable(q.r.Header.Get("Accept")) {
		return nil, &problem{
			kind: "not-acceptable", status: http.StatusNotAcceptable,
			detail: "Accept is " + strconv.Quote(q.r.Header.Get("Accept")), hint: "heddle answers application/json",
		}
	}
	if rt.fresh {
		if err := q.mustBeFresh(); err != nil {
			return nil, err
		}
	}
	if !rt.cached {
		return encode(rt.serve(q))
	}
	return q.cache.body(q.r.URL.Path+"?"+q.values.Encode(), func() ([]byte, error) { return encode(rt.serve(q)) })
}

// encode turns what a route returns into JSON.
func encode(v any, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// acceptable reports whether an Accept header admits JSON.
func acceptable(accept string) bool {
	if accept == "" {
		return true
	}
	for part := range strings.SplitSeq(accept, ",") {
		media, params, _ := strings.Cut(part, ";")
		if v := strings.ReplaceAll(params, " ", ""); v == "q=0" || v == "q=0.0" {
			continue
		}
		switch strings.ToLower(strings.TrimSpace(media)) {
		case "*/*", "application/*", "application/json":
			return true
		}
	}
	return false
}

// matches reports whether an If-None-Match header holds a tag. Tags are weak:
// the age in the body moves while the snapshot does not.
func matches(header, tag string) bool {
	for part := range strings.SplitSeq(header, ",") {
		if part = strings.TrimSpace(part); part == "*" || part == tag || "W/"+part == tag {
			return true
		}
	}
	return false
}

// snapshot returns the newest snapshot, nil before the first.
func (s *server) snapshot() *snapshot.Snapshot { return s.opts.Snapshot() }

// snapshotCache returns the newest snapshot with what is derived from it, nil before
// the first.
func (s *server) snapshotCache() *snapshotCache {
	snap := s.snapshot()
	if snap == nil {
		return nil
	}
	have := s.current.Load()
	if have != nil && have.snap == snap {
		return have
	}
	next := newSnapshotCache(snap)
	if s.current.CompareAndSwap(have, next) {
		return next
	}
	if now := s.current.Load(); now.snap == snap {
		return now
	}
	return next // another request has cached a newer snapshot
}

package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"heddle/core/model"
	"heddle/core/state/snapshot"
	"heddle/yarnproxy/api"
)

const oneAsk = `{"asks":[{"stage":"map","count":1,"capability":{"memory_mib":1,"vcores":1}}]}`

// TestBodyLimit: one byte above the limit is refused, the limit itself is not.
func TestBodyLimit(t *testing.T) {
	t.Parallel()
	const limit = 300
	r := newRig(t, func(o *api.Options) { o.MaxBody = limit })
	body := oneAsk + strings.Repeat(" ", limit-len(oneAsk))
	if a := r.post(t, body); a.status != http.StatusOK {
		t.Errorf("%d bytes: %d %s", len(body), a.status, a.body)
	}
	p := r.post(t, body+" ").problem(t, http.StatusRequestEntityTooLarge, "body-too-large")
	if !strings.Contains(p.Detail, "300 bytes") {
		t.Errorf("detail %q", p.Detail)
	}
}

// TestSlowBody: a body that does not come is given up, with an answer.
func TestSlowBody(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *api.Options) { o.Timeout = 200 * time.Millisecond })
	s := httptest.NewServer(r)
	defer s.Close()
	conn, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /v1/placements HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{")
	begin := time.Now()
	if err := conn.SetReadDeadline(begin.Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	a := &answer{resp.StatusCode, resp.Header, body}
	a.problem(t, http.StatusRequestTimeout, "slow-body")
	validate(t, "/v1/placements", request(http.MethodPost, "/v1/placements", ""), a)
}

// stuck answers nobody until it is released.
type stuck struct{ enter, release chan struct{} }

func (s stuck) Blocks(context.Context, string) (model.BlocksFact, error) {
	s.enter <- struct{}{}
	<-s.release
	return model.BlocksFact{}, nil
}

// TestConcurrencyLimit: with every slot taken the next request is refused at
// once and told when to come back; health and metrics are still served, and a
// slot that is given back serves again.
func TestConcurrencyLimit(t *testing.T) {
	t.Parallel()
	hold := stuck{make(chan struct{}), make(chan struct{})}
	r := newRig(t, func(o *api.Options) { o.Concurrency, o.Blocks = 2, hold })
	var done sync.WaitGroup
	for range 2 {
		done.Go(func() { serve(r, request(http.MethodGet, "/v1/blocks?path=/a", "")) })
		<-hold.enter
	}
	a := r.get(t, "/v1/racks", "/v1/racks")
	a.problem(t, http.StatusServiceUnavailable, "too-busy")
	if a.header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After %q", a.header.Get("Retry-After"))
	}
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/openapi.json"} {
		if a := r.get(t, path, path); a.status != http.StatusOK {
			t.Errorf("%s: %d while busy", path, a.status)
		}
	}
	close(hold.release)
	done.Wait()
	if a := r.get(t, "/v1/racks", "/v1/racks"); a.status != http.StatusOK {
		t.Errorf("afterwards: %d", a.status)
	}
}

// TestStaleStateIsNotDecidedOn: whatever rests on decisions is refused from the
// first millisecond above the limit, by the clock of the request; what merely
// shows the state is still answered, with its age.
func TestStaleStateIsNotDecidedOn(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	decided := []struct{ path, target string }{
		{preferencesPath, preferences(sorting, "?stage=reduce")},
		{explainPath, "/v1/applications/" + string(sorting) + "/explain"},
	}
	r.later(30 * time.Second)
	for _, d := range decided {
		if a := r.get(t, d.path, d.target); a.status != http.StatusOK {
			t.Errorf("%s at the limit: %d", d.target, a.status)
		}
	}
	if a := r.get(t, "/readyz", "/readyz"); a.status != http.StatusOK {
		t.Errorf("readyz at the limit: %d", a.status)
	}
	tag := r.get(t, preferencesPath, decided[0].target).header.Get("ETag")
	r.later(time.Millisecond)
	for _, d := range decided {
		p := r.get(t, d.path, d.target, "If-None-Match", tag).problem(t, http.StatusServiceUnavailable, "stale-state")
		if !strings.Contains(p.Detail, "source rm") || len(p.Sources) != 1 || p.Sources[0].AgeMS != 30_001 {
			t.Errorf("%s: %+v", d.target, p)
		}
	}
	r.post(t, oneAsk).problem(t, http.StatusServiceUnavailable, "stale-state")
	if a := r.get(t, "/v1/racks", "/v1/racks"); a.status != http.StatusOK || a.header.Get("Heddle-Snapshot-Age-Ms") != "30001" {
		t.Errorf("racks: %d, age %s", a.status, a.header.Get("Heddle-Snapshot-Age-Ms"))
	}
}

// TestReadiness: ready only with a snapshot and a fresh ResourceManager, at the
// time of asking; each source is listed with its age, its error and what to do.
func TestReadiness(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	type healthBody struct {
		Status   string           `json:"status"`
		Snapshot *json.RawMessage `json:"snapshot"`
		Sources  []struct {
			Source string `json:"source"`
			Fresh  bool   `json:"fresh"`
			AgeMS  *int64 `json:"age_ms"`
			Error  string `json:"error"`
			Hint   string `json:"hint"`
		} `json:"sources"`
	}
	both := func(name string, status int, kind, want string) {
		t.Helper()
		for _, path := range []string{"/readyz", "/-/ready"} {
			a := r.get(t, path, path)
			if status == http.StatusOK {
				if a.status != status {
					t.Errorf("%s: %s: %d %s", name, path, a.status, a.body)
				}
				continue
			}
			if p := a.problem(t, status, kind); len(p.Sources) == 0 || !strings.Contains(p.Hint, want) || p.Detail == "" {
				t.Errorf("%s: %s: %+v, want a hint with %q", name, path, p, want)
			}
		}
		for _, path := range []string{"/healthz", "/-/healthy"} {
			var h healthBody
			a := r.get(t, path, path)
			a.into(t, &h)
			if a.status != http.StatusOK || (h.Status == "ok") != (status == http.StatusOK) {
				t.Errorf("%s: %s: %d %s", name, path, a.status, a.body)
			}
		}
	}
	both("fresh", http.StatusOK, "", "")
	r.later(31 * time.Second)
	both("old", http.StatusServiceUnavailable, "not-ready", "poll that hangs")
	r.observe(model.PollFact{Result: model.PollStandby, Error: "no active ResourceManager"})
	r.snap.Store(r.snapshot())
	both("standby", http.StatusServiceUnavailable, "not-ready", "HA state")
	r.observe(model.PollFact{Result: model.PollBudget})
	r.snap.Store(r.snapshot())
	both("again", http.StatusOK, "", "")
	r.cluster.Apply(model.Observation{Source: model.SourceHDFS, At: model.Time(r.now.Load()), Fact: model.PollFact{Result: model.PollDenied, Error: "403"}})
	r.snap.Store(r.snapshot())
	if a := r.get(t, "/readyz", "/readyz"); a.status != http.StatusOK || !strings.Contains(string(a.body), `"degraded"`) || !strings.Contains(string(a.body), "ACLs") {
		t.Errorf("a source that is not required: %d %s", a.status, a.body)
	}
	r.snap.Store(&snapshot.Snapshot{Seq: 3})
	both("a snapshot without sources", http.StatusServiceUnavailable, "not-ready", "wait")
	r.snap.Store(nil)
	both("no snapshot", http.StatusServiceUnavailable, "not-ready", "wait")
	a := r.get(t, "/v1/racks", "/v1/racks")
	a.problem(t, http.StatusServiceUnavailable, "no-snapshot")
	if a.header.Get("Retry-After") == "" {
		t.Error("no Retry-After without a snapshot")
	}
	r.post(t, oneAsk).problem(t, http.StatusServiceUnavailable, "no-snapshot")
}

func TestNotThere(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	for _, target := range []string{"/v2", "/v1", "/v1/", "/v1/racks/", "/v1//racks", "/v1/applications/", "/v1/applications/a/b/c", "/debug/pprof/", "/%zz", "/v1/nodes%2F"} {
		q := httptest.NewRequest(http.MethodGet, "/", nil)
		q.URL.Path, q.RequestURI = target, target
		w := serve(r, q)
		a := &answer{w.Code, w.Header(), w.Body.Bytes()}
		if p := a.problem(t, http.StatusNotFound, "not-found"); p.Hint == "" {
			t.Errorf("%s: %+v", target, p)
		}
	}
}

func TestAccept(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	for accept, want := range map[string]int{
		"": 200, "*/*": 200, "application/json": 200, "text/html, application/*;q=0.8": 200, "Application/JSON; charset=utf-8": 200,
		"text/html": 406, "application/json;q=0": 406, "application/json; q=0.0, text/plain": 406,
	} {
		if a := r.get(t, "/v1/racks", "/v1/racks", "Accept", accept); a.status != want {
			t.Errorf("Accept %q: %d, want %d", accept, a.status, want)
		}
	}
}

// TestRequestIDs: a caller's id is taken over when it is harmless, and every
// answer has one, errors included.
func TestRequestIDs(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	if a := r.get(t, "/v1/racks", "/v1/racks", "X-Request-Id", "Trace-1.2_3"); a.header.Get("X-Request-Id") != "Trace-1.2_3" {
		t.Errorf("id %q", a.header.Get("X-Request-Id"))
	}
	seen := map[string]bool{}
	for _, bad := range []string{"", "a b", "<script>", strings.Repeat("x", 65), "ä"} {
		a := r.get(t, "/v1/racks/{rack}", "/v1/racks/none", "X-Request-Id", bad)
		id := a.header.Get("X-Request-Id")
		if id == "" || id == bad || seen[id] || a.problem(t, 404, "not-found").ID != id {
			t.Errorf("given %q, the id is %q", bad, id)
		}
		seen[id] = true
	}
}

// TestPanicIsAnAnswer: a handler that panics is a 500 with a request id, logged.
func TestPanicIsAnAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	w := serve(api.PanicAt(r.opts, "boom"), request(http.MethodGet, "/panic", ""))
	a := &answer{w.Code, w.Header(), w.Body.Bytes()}
	if p := a.problem(t, http.StatusInternalServerError, "internal"); p.ID == "" || strings.Contains(p.Detail, "boom") {
		t.Errorf("%+v", p)
	}
	if !strings.Contains(r.log.String(), "boom") {
		t.Errorf("log %q", r.log.String())
	}
	defer func() {
		if recover() == nil {
			t.Error("http.ErrAbortHandler was kept from the server")
		}
	}()
	serve(api.PanicAt(r.opts, http.ErrAbortHandler), request(http.MethodGet, "/panic", ""))
}

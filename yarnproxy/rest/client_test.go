package rest_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"heddle/core/model"
	"heddle/yarnproxy/rest"
)

// serve starts a loopback server that ends with the test.
func serve(tb testing.TB, handler http.HandlerFunc) string {
	tb.Helper()
	s := httptest.NewServer(handler)
	tb.Cleanup(s.Close)
	return s.URL
}

func newClient(tb testing.TB, opts rest.Options) *rest.Client {
	tb.Helper()
	c := rest.New(opts)
	tb.Cleanup(c.Close)
	return c
}

func hostOf(tb testing.TB, base string) string {
	tb.Helper()
	u, err := url.Parse(base)
	if err != nil {
		tb.Fatal(err)
	}
	return u.Host
}

// answer replies with one fixed answer.
func answer(status int, header map[string]string, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for k, v := range header {
			w.Header().Set(k, v)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// TestStandbyAnswers holds every form in which a daemon was seen to say that
// it is not the active one, with the texts as the daemons write them.
func TestStandbyAnswers(t *testing.T) {
	t.Parallel()
	html := map[string]string{"Content-Type": "text/html;charset=utf-8"}
	plain := map[string]string{"Content-Type": "text/plain;charset=utf-8"}
	with := func(h map[string]string, k, v string) map[string]string {
		out := map[string]string{k: v}
		maps.Copy(out, h)
		return out
	}
	tests := map[string]http.HandlerFunc{
		"2.4 to 2.6: 200 and Refresh": answer(200, with(plain, "Refresh", "3; url=http://rm2:8088/ws/v1/cluster/apps"),
			"This is standby RM. Redirecting to the current active RM: http://rm2:8088/ws/v1/cluster/apps\n"),
		"2.4 to 2.6: 200 and Refresh, no content type text known": answer(200, with(html, "Refresh", "3; url=http://rm2:8088/ws/v1/cluster/apps"), "<html></html>"),
		"200 and a page with a meta refresh": answer(200, html,
			`<html><head><meta http-equiv="refresh" content="3; url=http://rm2:8088/"></head><body>This is standby RM. Redirecting to the current active RM: http://rm2:8088/</body></html>`),
		"307 and Location to a host that is not allowed": answer(307, with(plain, "Location", "http://stranger:8088/ws/v1/cluster/apps"),
			"This is standby RM. The redirect url is: /ws/v1/cluster/apps\n"),
		"307 and Refresh without Location": answer(307, with(plain, "Refresh", "5;url=http://rm1:8088/ws/v1/cluster/apps?nextRefreshInterval=1"),
			"Can not find any active RM. Will retry in next 5 seconds.\nHA Zookeeper Connection State: CONNECTED\n"),
		"307 and Refresh, empty body": answer(307, map[string]string{"Refresh": "5;url=http://rm1:8088/"}, ""),
		"200 text after the last retry": answer(200, plain,
			"There is no active RM right now.\nHA Zookeeper Connection State: Could not find leader elector. Verify both HA and automatic failover are enabled.\n"),
		"200 text without content type": func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil
			_, _ = io.WriteString(w, "There is no active RM right now.\nHA Zookeeper Connection State: null\n")
		},
		"503 text": answer(503, plain, "There is no active RM right now.\n"),
		"NameNode": answer(403, map[string]string{"Content-Type": "application/json"},
			`{"RemoteException":{"exception":"StandbyException","javaClassName":"org.apache.hadoop.ipc.StandbyException","message":"Operation category READ is not supported in state standby. Visit https://s.apache.org/sbnn-error"}}`),
		"NameNode, class name for a name": answer(403, map[string]string{"Content-Type": "application/json"},
			`{"RemoteException":{"exception":"org.apache.hadoop.ipc.StandbyException","message":"Operation category READ is not supported in state standby"}}`),
	}
	for name, handler := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClient(t, rest.Options{})
			_, err := c.Get(t.Context(), serve(t, handler)+"/ws/v1/cluster/apps", "application/json")
			if !errors.Is(err, rest.ErrStandby) {
				t.Fatalf("error = %v, want ErrStandby", err)
			}
			if got := rest.FromError(err); got != model.PollStandby {
				t.Errorf("poll result %q, want standby", got)
			}
		})
	}
}

// TestNoAnswer: the fifth standby answer is none at all.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	release := make(chan struct{})
	silent := serve(t, func(http.ResponseWriter, *http.Request) { <-release })
	half := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"apps":`)
		w.(http.Flusher).Flush()
		<-release
	})
	t.Cleanup(func() { close(release) })
	for name, base := range map[string]string{"refused": gone.URL, "silent": silent, "silent after half": half} {
		c := newClient(t, rest.Options{Timeout: 150 * time.Millisecond})
		_, err := c.Get(t.Context(), base+"/ws/v1/cluster/apps", "application/json")
		if err == nil || rest.FromError(err) != model.PollUnreachable {
			t.Errorf("%s: error %v is %q, want unreachable", name, err, rest.FromError(err))
		}
	}
}

func TestFollowsOnlyToAllowedHosts(t *testing.T) {
	t.Parallel()
	var seen atomic.Pointer[http.Request]
	active := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen.Store(r)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"apps":{}}`)
	})
	standby := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Set-Cookie", "hadoop.auth=secret; Path=/")
		w.Header().Set("Location", active+"/ws/v1/cluster/apps")
		w.WriteHeader(http.StatusTemporaryRedirect)
		_, _ = io.WriteString(w, "This is standby RM. The redirect url is: /ws/v1/cluster/apps\n")
	})
	c := newClient(t, rest.Options{
		User: "heddle", Auth: hostBound{},
		Allowed: rest.AllowBases([]string{active, standby}),
	})
	body, err := c.Get(t.Context(), standby+"/ws/v1/cluster/apps?states=RUNNING,ACCEPTED", "application/json")
	if err != nil || string(body) != `{"apps":{}}` {
		t.Fatalf("body %q, error %v", body, err)
	}
	r := seen.Load()
	if r.URL.Query().Has("user.name") || r.Header.Get("Cookie") != "" {
		t.Errorf("credentials went to another host: %s, cookie %q", r.URL, r.Header.Get("Cookie"))
	}
	if got, want := r.Header.Get("Authorization"), "Negotiate for "+hostOf(t, active); got != want {
		t.Errorf("Authorization %q, want %q: a ticket is for one host", got, want)
	}
	if got := c.Usage(); got.Requests != 2 || got.Bytes == 0 {
		t.Errorf("usage %+v, want both requests and their bytes", got)
	}
}

// hostBound is an authenticator whose credentials name their host.
type hostBound struct{}

func (hostBound) Authenticate(req *http.Request) error {
	req.Header.Set("Authorization", "Negotiate for "+req.URL.Host)
	return nil
}

func TestRedirectsRefused(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	stranger := serve(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	var loop string
	loop = serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, loop+"/again", http.StatusFound) })
	to := func(location string) string {
		return serve(t, answer(302, map[string]string{"Location": location}, ""))
	}
	allowLoop := rest.AllowBases([]string{loop})
	var redirect *rest.RedirectError
	var invalid *rest.InvalidError
	tests := map[string]struct {
		url    string
		target any
	}{
		"stranger":     {to(stranger + "/jobhistory/job/job_1_1"), &redirect},
		"other scheme": {to("file:///etc/passwd"), &redirect},
		"loop":         {loop, &invalid},
		"no host":      {to("http:///x"), &redirect},
	}
	for name, test := range tests {
		c := newClient(t, rest.Options{Allowed: allowLoop})
		_, err := c.Get(t.Context(), test.url, "application/json")
		if !errors.As(err, test.target) || rest.FromError(err) != model.PollInvalid {
			t.Errorf("%s: error %T %v", name, err, err)
		}
		if name == "loop" && c.Usage().Requests != 4 {
			t.Errorf("loop: %d requests, want the first and three hops", c.Usage().Requests)
		}
	}
	if asked.Load() != 0 {
		t.Error("a host that was not allowed was asked")
	}
}

func TestUserName(t *testing.T) {
	t.Parallel()
	var query atomic.Value
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		query.Store(r.URL.RawQuery)
		w.Header().Set("Content-Type", "application/json")
	})
	for path, want := range map[string]string{
		"/":                          "user.name=a+b",
		"/?states=RUNNING,ACCEPTED":  "states=RUNNING,ACCEPTED&user.name=a+b",
		"/?user.name=alice&limit=1":  "user.name=alice&limit=1",
		"/jmx?qry=Hadoop:name=X,q0=": "qry=Hadoop:name=X,q0=&user.name=a+b",
	} {
		c := newClient(t, rest.Options{User: "a b"})
		if _, err := c.Get(t.Context(), base+path, "application/json"); err != nil {
			t.Fatal(err)
		}
		if got := query.Load(); got != want {
			t.Errorf("%s: query %q, want %q", path, got, want)
		}
	}
}

func TestInvalidAnswers(t *testing.T) {
	t.Parallel()
	js := map[string]string{"Content-Type": "application/json"}
	tests := map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"truncated JSON": {answer(200, js, `{"nodes":{"node":[{"rack":"/rack1","id":"w1`), "JSON input"},
		"page":           {answer(200, map[string]string{"Content-Type": "text/html"}, "<html>\n<b>Log in</b></html>"), `content type "text/html", want application/json: <html> <b>Log in</b></html>`},
		"no type": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil
			w.WriteHeader(http.StatusOK)
		}, "content type"},
		"xml": {answer(200, map[string]string{"Content-Type": "application/xml"}, "<apps/>"), "application/xml"},
		"connection cut": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, `{"apps":{"app":[`)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, "cut off"},
		"chunks cut": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.(http.Flusher).Flush()
			_, _ = io.WriteString(w, `{"apps":{"app":[`)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, "cut off"},
		"not gzip": {answer(200, map[string]string{"Content-Type": "application/json", "Content-Encoding": "gzip"}, `{"apps":{"app":[]}}`), "gzip"},
		"gzip cut": {answer(200, map[string]string{"Content-Type": "application/json", "Content-Encoding": "gzip"},
			gzipped(`{"apps":{}}`)[:20]), "cut off"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := rest.GetDecoded(t.Context(), newClient(t, rest.Options{}), serve(t, test.handler), func(body []byte) (v any, err error) {
				return v, rest.Decode(body, &v)
			})
			var invalid *rest.InvalidError
			if !errors.As(err, &invalid) || rest.FromError(err) != model.PollInvalid {
				t.Fatalf("error %T %v, want InvalidError", err, err)
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %q does not say %q", err, test.want)
			}
		})
	}
}

func gzipped(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, s)
	_ = w.Close()
	return b.String()
}

// TestHugeAnswer: 300 MB, plain and as a gzip bomb of 300 kB, stop at the
// limit and cost memory of its order only.
func TestHugeAnswer(t *testing.T) {
	const size, limit = 300 << 20, 4 << 20
	chunk := []byte(`{"app":[` + strings.Repeat(`{"id":"application_1_1","resourceRequests":[]},`, 1<<14))
	var sent atomic.Int64
	generate := func(w io.Writer) {
		for n := 0; n < size; n += len(chunk) {
			if _, err := w.Write(chunk); err != nil {
				return
			}
			sent.Add(int64(len(chunk)))
		}
	}
	tests := map[string]http.HandlerFunc{
		"plain": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			generate(w)
		},
		"gzip bomb": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Encoding", "gzip")
			zw, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
			defer zw.Close()
			generate(zw)
		},
	}
	for name, handler := range tests {
		base := serve(t, handler)
		sent.Store(0)
		c := newClient(t, rest.Options{MaxBytes: limit})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := c.Get(t.Context(), base, "application/json")
		runtime.ReadMemStats(&after)
		var invalid *rest.InvalidError
		if !errors.As(err, &invalid) || !strings.Contains(err.Error(), "larger than 4194304 bytes") {
			t.Errorf("%s: error %v", name, err)
		}
		if got := after.TotalAlloc - before.TotalAlloc; got > 12*limit {
			t.Errorf("%s: %d MiB were allocated for a limit of %d MiB", name, got>>20, limit>>20)
		}
		if name == "plain" && int64(c.Usage().Bytes) > 2*limit {
			t.Errorf("%s: read %d bytes for a limit of %d", name, c.Usage().Bytes, limit)
		}
	}
}

func TestGzip(t *testing.T) {
	t.Parallel()
	text := `{"apps":{"app":[` + strings.Repeat(`{"id":"application_1_1"},`, 1000) + `{}]}}`
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") != "gzip" {
			t.Error("gzip was not asked for")
		}
		w.Header().Set("Content-Type", "application/json;charset=utf-8")
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = io.WriteString(w, gzipped(text))
	})
	c := newClient(t, rest.Options{})
	body, err := c.Get(t.Context(), base, "application/json")
	if err != nil || string(body) != text {
		t.Fatalf("%d bytes, error %v", len(body), err)
	}
	if want := model.Bytes(len(gzipped(text))); c.Usage().Bytes != want {
		t.Errorf("received %d bytes, want the %d of the wire", c.Usage().Bytes, want)
	}
}

func TestStatusErrors(t *testing.T) {
	t.Parallel()
	js := map[string]string{"Content-Type": "application/json"}
	tests := []struct {
		name    string
		handler http.HandlerFunc
		want    rest.StatusError
		result  model.PollResult
	}{
		{
			"unknown application", answer(404, js, `{"RemoteException":{"exception":"NotFoundException","message":"java.lang.Exception: app with id: application_1_0001 not found","javaClassName":"org.apache.hadoop.yarn.webapp.NotFoundException"}}`),
			rest.StatusError{Status: 404, Exception: "NotFoundException", Message: "java.lang.Exception: app with id: application_1_0001 not found"},
			model.PollError,
		},
		{
			"permission", answer(403, js, `{"RemoteException":{"exception":"AccessControlException","javaClassName":"org.apache.hadoop.security.AccessControlException","message":"Permission denied: user=bob"}}`),
			rest.StatusError{Status: 403, Exception: "AccessControlException", Message: "Permission denied: user=bob"},
			model.PollDenied,
		},
		{
			"plain text", answer(400, map[string]string{"Content-Type": "text/plain"}, "Invalid\n  priority\n"),
			rest.StatusError{Status: 400, Message: "Invalid priority"},
			model.PollError,
		},
		{"empty", answer(500, nil, ""), rest.StatusError{Status: 500, Message: "Internal Server Error"}, model.PollError},
		{
			"SPNEGO wanted", answer(401, map[string]string{"WWW-Authenticate": "Negotiate", "Content-Type": "text/html"}, "<html>Authentication required</html>"),
			rest.StatusError{Status: 401, Message: "it wants SPNEGO: configure a Kerberos principal with a keytab or a ticket cache"},
			model.PollDenied,
		},
		{
			"half a reason", answer(500, js, `{"RemoteException":{"exception":"Ille`),
			rest.StatusError{Status: 500, Message: "Internal Server Error (the answer was cut off)"},
			model.PollError,
		},
		{"304", answer(304, nil, ""), rest.StatusError{Status: 304, Message: "Not Modified"}, model.PollError},
	}
	for _, test := range tests {
		base := serve(t, test.handler)
		_, err := newClient(t, rest.Options{}).Get(t.Context(), base, "application/json")
		var status *rest.StatusError
		if !errors.As(err, &status) {
			t.Errorf("%s: error %T %v", test.name, err, err)
			continue
		}
		test.want.URL = base
		if *status != test.want {
			t.Errorf("%s:\n got %+v\nwant %+v", test.name, *status, test.want)
		}
		if got := rest.FromError(fmt.Errorf("poll apps: %w", err)); got != test.result {
			t.Errorf("%s: poll result %q, want %q", test.name, got, test.result)
		}
	}
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	base := serve(t, func(_ http.ResponseWriter, r *http.Request) { cancel(); <-r.Context().Done() })
	_, err := newClient(t, rest.Options{}).Get(ctx, base, "application/json")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
}

// TestNoDowngrade: a redirect from https does not lead to plain http, not even
// to an allowed host.
func TestNoDowngrade(t *testing.T) {
	t.Parallel()
	base := roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.URL.Scheme == "http" {
			t.Error("plain http was asked")
		}
		return &http.Response{
			StatusCode: http.StatusFound, Request: r, Body: http.NoBody,
			Header: http.Header{"Location": {"http://rm1:8090/"}},
		}, nil
	})
	c := rest.New(rest.Options{Base: base, Allowed: rest.AllowBases([]string{"https://rm1:8090"})})
	_, err := c.Get(t.Context(), "https://rm1:8090/x", "application/json")
	var redirect *rest.RedirectError
	if !errors.As(err, &redirect) || redirect.Location != "http://rm1:8090/" {
		t.Errorf("error %v, want RedirectError", err)
	}
}

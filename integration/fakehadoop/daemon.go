package fakehadoop

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"
)

// Answer is what a daemon sends.
type Answer struct {
	Status int
	Type   string // Content-Type
	To     string // Location, "" for none
	Body   string
}

func (a Answer) send(w http.ResponseWriter) {
	w.Header().Set("Content-Type", a.Type)
	if a.To != "" {
		w.Header().Set("Location", a.To)
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(a.Body)))
	w.WriteHeader(a.Status)
	_, _ = w.Write([]byte(a.Body)) // the client is gone if this fails
}

func jsonAnswer(status int, body string) Answer {
	return Answer{Status: status, Type: "application/json;charset=utf-8", Body: body}
}

func redirect(status int, to, body string) Answer {
	return Answer{Status: status, Type: "text/html;charset=utf-8", To: to, Body: body}
}

// Daemon is one server of a Site.
type Daemon struct {
	URL string // http://127.0.0.1:port

	tb     testing.TB
	answer func(*http.Request) Answer

	mu     sync.Mutex
	server *httptest.Server // nil while it is stopped
	faults []broken
	asked  []string // path and query of every request
}

// broken is a fault of the paths that match.
type broken struct {
	match *regexp.Regexp
	fault Fault
}

func newDaemon(tb testing.TB, answer func(*http.Request) Answer) *Daemon {
	tb.Helper()
	d := &Daemon{tb: tb, answer: answer}
	d.serve("127.0.0.1:0")
	d.URL = d.server.URL
	tb.Cleanup(d.Stop)
	return d
}

// serve listens on an address. One that was left a moment ago may be taken for
// a while by a connection that goes out from it.
func (d *Daemon) serve(address string) {
	d.tb.Helper()
	var l net.Listener
	var err error
	for range 50 {
		if l, err = (&net.ListenConfig{}).Listen(context.Background(), "tcp", address); err == nil {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if err != nil {
		d.tb.Fatalf("listen on %s: %v", address, err)
	}
	server := &httptest.Server{Listener: l, Config: &http.Server{Handler: d, ReadHeaderTimeout: time.Minute}}
	server.Start()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.server = server
}

// Stop makes the daemon refuse connections, and breaks those there are.
func (d *Daemon) Stop() {
	d.mu.Lock()
	server := d.server
	d.server = nil
	d.mu.Unlock()
	if server != nil {
		server.CloseClientConnections()
		server.Close()
	}
}

// Restart lets a stopped daemon answer again, at the same address.
func (d *Daemon) Restart() {
	d.tb.Helper()
	d.serve(d.URL[len("http://"):])
}

// Break puts a fault in the place of the answers to requests whose path and
// query match a regular expression. The fault that was added last wins.
func (d *Daemon) Break(pattern string, fault Fault) {
	match := regexp.MustCompile(pattern)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.faults = append(d.faults, broken{match, fault})
}

// Mend takes all faults away.
func (d *Daemon) Mend() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.faults = nil
}

// Asked returns path and query of every request whose path and query match a
// regular expression, oldest first.
func (d *Daemon) Asked(pattern string) []string {
	match := regexp.MustCompile(pattern)
	d.mu.Lock()
	defer d.mu.Unlock()
	var found []string
	for _, uri := range d.asked {
		if match.MatchString(uri) {
			found = append(found, uri)
		}
	}
	return found
}

// ServeHTTP implements http.Handler.
func (d *Daemon) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	uri := r.URL.RequestURI()
	d.mu.Lock()
	d.asked = append(d.asked, uri)
	var fault Fault
	for _, b := range d.faults {
		if b.match.MatchString(uri) {
			fault = b.fault
		}
	}
	d.mu.Unlock()
	if fault == nil {
		d.answer(r).send(w)
		return
	}
	fault(w, r, d.answer(r))
}

package api

import (
	"net/http"
	"strings"
)

// index is a page of links for people who open the address in a browser.
func (s *server) index(w http.ResponseWriter, r *http.Request) {
	var b strings.Builder
	b.WriteString("<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>heddle</title>\n<h1>heddle</h1>\n<ul>\n")
	for _, rt := range routes() {
		switch {
		case rt.method != http.MethodGet || strings.Contains(rt.path, "{") || rt.path == "/v1/blocks":
			b.WriteString("<li><code>" + rt.method + " " + rt.path + "</code>: " + rt.about + "</li>\n")
		default:
			b.WriteString("<li><a href=\"" + rt.path + "\">" + rt.path + "</a>: " + rt.about + "</li>\n")
		}
	}
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/openapi.json"} {
		b.WriteString("<li><a href=\"" + path + "\">" + path + "</a></li>\n")
	}
	b.WriteString("</ul>\n</html>\n")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'")
	if r.Method != http.MethodHead {
		_, _ = w.Write([]byte(b.String())) // the caller is gone if this fails
	}
}

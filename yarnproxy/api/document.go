package api

import (
	_ "embed"
	"net/http"
)

// document describes every route: OpenAPI 3.1.
//
//go:embed openapi.json
var document []byte

func serveDocument(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-cache")
	if r.Method != http.MethodHead {
		_, _ = w.Write(document) // the caller is gone if this fails
	}
}

package api_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// FuzzPlacements: no body brings the API down, every answer is documented, and
// the cluster is afterwards what it was.
func FuzzPlacements(f *testing.F) {
	for _, body := range []string{
		oneAsk, `{}`, `{"asks":[{}]}`, `[`, `null`, `{"asks":[{"stage":"reduce","count":3,"capability":{"memory_mib":1,"vcores":0}}],"map_output_bytes":{"/dc1/rack1":1},"maps_completed":3}`,
		`{"asks":[{"stage":"map","count":2,"capability":{"memory_mib":1},"hosts":["w11.example.com","x"],"racks":["/dc1/rack2","/dc1/rack2"]}],"input_blocks":[{"length":1,"hosts":["w11.example.com","w11.example.com"]}],"limit":1}`,
		`{"asks":[{"stage":"map","count":100000,"capability":{"memory_mib":9223372036854775807}}],"input_paths":["/data/in"],"map_input_bytes":1}`,
		`{"asks":[{"stage":"map","count":1,"capability":{"memory_mib":1}}],"input_blocks":[{"length":1152921504606846977,"hosts":[]}]}`,
		`{"user":"\u0000","asks":[{"stage":"map","count":1e3,"capability":{"memory_mib":1}}]}`,
	} {
		f.Add(body)
	}
	r := newRig(f, nil)
	racks, jobs := len(r.cluster.View().Racks()), len(r.cluster.View().Jobs())
	f.Fuzz(func(t *testing.T, body string) {
		a := r.post(t, body)
		if a.status == http.StatusInternalServerError {
			t.Errorf("%d %s", a.status, a.body)
		}
		if n, m := len(r.cluster.View().Racks()), len(r.cluster.View().Jobs()); n != racks || m != jobs {
			t.Errorf("%d racks and %d jobs, were %d and %d", n, m, racks, jobs)
		}
	})
}

// FuzzPaths: no path and no query brings the API down; what is answered is
// JSON, or a problem, of a documented kind.
func FuzzPaths(f *testing.F) {
	for _, target := range []string{
		"/v1/racks/%2Fdc1%2Frack1", "/v1/racks/dc1/rack1", "/v1/racks/%2F", "/v1/racks/%", "/v1/racks/%zz", "/v1/racks//", "/v1/racks/..%2f",
		"/v1/applications/application_1700000000000_0001/preferences?stage=map", "/v1/applications/%00", "/v1/nodes?limit=99999999999999999999", "/v1/nodes?%zz=1&a=b;c=d",
		"/v1/decisions?since=18446744073709551615", "/v1/blocks?path=/data/in&offset=2147483647", "/v1/applications?state=live&offset=1", "/v1/traffic?kind=shuffle&kind=write",
		"/v1/relay?application=application_1700000000000_0001&limit=1", "/v1/relay?offset=2",
	} {
		path, query, _ := strings.Cut(target, "?")
		f.Add(path, query)
	}
	r := newRig(f, withRelay(steering()))
	doc := spec(f)
	f.Fuzz(func(t *testing.T, path, query string) {
		q := httptest.NewRequest(http.MethodGet, "/", nil)
		u, err := url.ParseRequestURI("/" + strings.TrimPrefix(path, "/"))
		if err != nil {
			return // net/http refuses it before any handler
		}
		u.RawQuery = query
		q.URL, q.RequestURI = u, u.RequestURI()
		if u.Query().Get("path") == "/slow" {
			return
		}
		w := serve(r, q)
		a := &answer{w.Code, w.Header(), w.Body.Bytes()}
		if p := route(q.URL.EscapedPath(), slices.Collect(keys(doc.Paths.Map()))); p != "" {
			validate(t, p, q, a)
		} else if a.status != http.StatusNotFound {
			t.Errorf("%s: %d, and no path of the document is like it", u, a.status)
		}
		if a.status == http.StatusInternalServerError {
			t.Errorf("%s: %s", u, a.body)
		}
	})
}

func keys[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// route returns the path of the document that a request is for, "" for none.
func route(path string, paths []string) string {
	if slices.Contains(paths, path) && !strings.Contains(path, "{") {
		return path
	}
	if rest, ok := strings.CutPrefix(path, "/v1/racks/"); ok && rest != "" {
		return "/v1/racks/{rack}"
	}
	if rest, ok := strings.CutPrefix(path, "/v1/applications/"); ok && rest != "" {
		id, tail, more := strings.Cut(rest, "/")
		switch {
		case id == "":
		case !more:
			return "/v1/applications/{id}"
		case tail == "preferences", tail == "explain":
			return "/v1/applications/{id}/" + tail
		}
	}
	return ""
}

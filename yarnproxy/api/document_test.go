package api_test

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"heddle/core/model"
	"heddle/core/state/snapshot"
	"heddle/yarnproxy/api"
)

// TestDocument: the document is valid OpenAPI 3.1, its examples obey its
// schemas, and no component is left over.
func TestDocument(t *testing.T) {
	t.Parallel()
	doc := spec(t)
	if doc.OpenAPI != "3.1.0" {
		t.Errorf("version %s, want 3.1.0", doc.OpenAPI)
	}
	if err := doc.Validate(context.Background()); err != nil {
		t.Error(err)
	}
	text := string(api.Document())
	for name := range doc.Components.Schemas {
		if !strings.Contains(text, `"#/components/schemas/`+name+`"`) {
			t.Errorf("schema %s is used nowhere", name)
		}
	}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			content := op.Responses.Status(http.StatusOK).Value.Content["application/json"]
			if content == nil || path == "/openapi.json" {
				continue
			}
			if content.Example == nil {
				t.Errorf("%s %s has no example", method, path)
				continue
			}
			if err := content.Schema.Value.VisitJSON(content.Example, openapi3.EnableJSONSchema2020()); err != nil {
				t.Errorf("%s %s: its example: %v", method, path, err)
			}
		}
	}
}

// TestDocumentHasEveryRoute: a route is in the router if and only if it is in
// the document, with the same methods.
func TestDocumentHasEveryRoute(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	doc := spec(t)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(doc.Paths.Map())), api.RouterPaths(r.opts)); diff != "" {
		t.Errorf("paths (-document +router):\n%s", diff)
	}
	for path, item := range doc.Paths.Map() {
		var want []string
		for method := range item.Operations() {
			want = append(want, method)
			if method == http.MethodGet {
				want = append(want, http.MethodHead)
			}
		}
		slices.Sort(want)
		a := &answer{}
		w := serve(r, request(http.MethodDelete, strings.NewReplacer("{id}", string(sorting), "{rack}", "r").Replace(path), ""))
		a.status, a.header, a.body = w.Code, w.Header(), w.Body.Bytes()
		a.problem(t, http.StatusMethodNotAllowed, "method-not-allowed")
		if got := a.header.Get("Allow"); got != strings.Join(want, ", ") {
			t.Errorf("%s allows %q, the document %q", path, got, want)
		}
	}
}

// TestDocumentIsServed: what is served is what is checked here.
func TestDocumentIsServed(t *testing.T) {
	t.Parallel()
	a := newRig(t, nil).get(t, "/openapi.json", "/openapi.json")
	if string(a.body) != string(api.Document()) {
		t.Error("another document is served")
	}
}

// TestWordsForEverything: whatever the closed sets hold has a text, a hint, or
// a place in the document.
func TestWordsForEverything(t *testing.T) {
	t.Parallel()
	doc := spec(t)
	for _, r := range model.Reasons() {
		if api.Texts()[r] == "" {
			t.Errorf("reason %s has no text", r)
		}
	}
	for _, r := range model.PollResults() {
		if r != model.PollOK && api.Hints()[r] == "" {
			t.Errorf("poll result %s has no hint", r)
		}
	}
	enum := func(schema string) []string {
		var out []string
		for _, v := range doc.Components.Schemas[schema].Value.Enum {
			out = append(out, v.(string))
		}
		slices.Sort(out)
		return out
	}
	for schema, values := range map[string][]string{
		"Reason": strs(model.Reasons()), "PollResult": strs(model.PollResults()), "SourceName": strs(model.Sources()),
	} {
		slices.Sort(values)
		if diff := cmp.Diff(values, enum(schema)); diff != "" {
			t.Errorf("%s (-code +document):\n%s", schema, diff)
		}
	}
	var cross struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	data, err := json.Marshal(doc.Components.Schemas["TrafficBytes"].Value)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &cross); err != nil || len(cross.Properties) != len(snapshot.TrafficKinds()) {
		t.Errorf("kinds of traffic in the document: %v (%v)", cross.Properties, err)
	}
	for kind, title := range api.ProblemTitles() {
		if title == "" || strings.ToLower(kind) != kind {
			t.Errorf("problem %q: title %q", kind, title)
		}
	}
}

func strs[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = string(v)
	}
	return out
}

// TestGuide: docs/api.md names every route and every kind of problem, and no
// kind that does not exist.
func TestGuide(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	guide := string(data)
	for path := range spec(t).Paths.Map() {
		if path != "/" && !strings.Contains(guide, path) {
			t.Errorf("docs/api.md says nothing of %s", path)
		}
	}
	_, table, _ := strings.Cut(guide, "| `urn:heddle:problem:` |")
	table, _, _ = strings.Cut(table, "\n\n")
	named := map[string]bool{}
	for _, m := range regexp.MustCompile("`([a-z-]+)`[,| ]").FindAllStringSubmatch(table, -1) {
		named[m[1]] = true
	}
	for kind := range api.ProblemTitles() {
		if !named[kind] {
			t.Errorf("docs/api.md says nothing of the problem %s", kind)
		}
	}
}

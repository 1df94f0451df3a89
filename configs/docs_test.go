package configs_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"heddle/configs"
)

var update = flag.Bool("update", false, "write docs/config.md anew")

const docsFile = "../docs/config.md"

const docsIntro = `# Configuration

<!-- Generated from the comments in configs/*.go by: go test ./configs -run Docs -update -->

heddle reads one YAML file, named by ` + "`--config`" + `. It is read strictly: an unknown key, a value without its unit or
two keys that contradict each other are errors, and all of them are reported at once, each with its path and line.
` + "`heddle check config FILE`" + ` reads a file without starting anything and prints every key with its value and where
that came from.

A key can be set in several places. The first of these wins:

1. a flag, such as ` + "`--web.listen-address`" + ` or ` + "`--log.level`" + `;
2. the environment: ` + "`HEDDLE_`" + ` and the key's path in capitals, so that ` + "`HEDDLE_RESOURCE_MANAGER_POLL_INTERVAL`" + ` sets
   ` + "`resource_manager.poll_interval`" + `. Lists are separated by commas, maps are written ` + "`{/rack1: 10Gbps}`" + `,
   lists of entries ` + "`[{queues: [root.batch]}]`" + `;
3. the file;
4. Hadoop's own XML files, for the keys whose description says so;
5. the default.

Durations are written ` + "`500ms`, `5s`, `10m`, `1h30m`" + `; sizes ` + "`64KiB`, `128MiB`, `1GB`" + `; rates ` + "`1Gbps`" + ` (decimal bits
per second), ` + "`125MB/s` or `8MiB/s`" + ` (bytes per second). The unit is never left out. Secrets are given by the path of a
file, never in the configuration. Anchors, aliases and tags of YAML are not supported.

On ` + "`SIGHUP`" + ` the file is read again. The sections policy, network and log are taken over, and of the section relay what is
steered and how (each such key says so); a change of any other key is named in the log and needs a restart; a file with
problems changes nothing and says so.

Complete files to start from are in ` + "[configs/examples](../configs/examples)" + `.
`

// structDocs holds the comments of the package's structs, and the defaults.
type structDocs struct {
	fields   map[string]map[string]string // by type, by field
	defaults map[string]string            // by path
}

func readStructDocs(t *testing.T) structDocs {
	t.Helper()
	docs := structDocs{fields: map[string]map[string]string{}}
	for _, name := range glob(t, "*.go") {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			gen, ok := decl.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range gen.Specs {
				typ, ok := spec.(*ast.TypeSpec)
				if !ok {
					continue
				}
				st, ok := typ.Type.(*ast.StructType)
				if !ok {
					continue
				}
				docs.fields[typ.Name.Name] = map[string]string{}
				for _, f := range st.Fields.List {
					for _, n := range f.Names {
						docs.fields[typ.Name.Name][n.Name] = strings.Join(strings.Fields(f.Doc.Text()), " ")
					}
				}
			}
		}
	}
	return docs
}

// kindOf names the type of a key's value for people.
func kindOf(v reflect.Value) string {
	switch v.Interface().(type) {
	case configs.Duration:
		return "duration"
	case configs.Size:
		return "size"
	case configs.Rate:
		return "rate"
	case []string:
		return "list"
	case map[string]configs.Rate:
		return "map of rates"
	case configs.Params:
		return "map"
	}
	switch v.Kind() { //nolint:exhaustive // the rest is text
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Struct {
			return "list of entries"
		}
		return "list"
	case reflect.Bool:
		return "true or false"
	case reflect.Int:
		return "whole number"
	case reflect.Float64:
		return "number"
	}
	return "text"
}

// entryKeys describes the keys of an entry of a list.
func (docs structDocs) entryKeys(t *testing.T, entry reflect.Type) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(" The keys of an entry:")
	for f := range entry.Fields() {
		doc := docs.fields[entry.Name()][f.Name]
		if doc == "" {
			t.Errorf("%s.%s has no comment", entry.Name(), f.Name)
		}
		fmt.Fprintf(&b, "<br>`%s` (%s): %s", f.Tag.Get("yaml"), kindOf(reflect.Zero(f.Type)), doc)
	}
	return b.String()
}

// writeSection writes the keys of a struct, then its sections.
func (docs structDocs) writeSection(t *testing.T, w *bytes.Buffer, prefix string, v reflect.Value) {
	t.Helper()
	var rows, sections bytes.Buffer
	for i := range v.NumField() {
		f := v.Type().Field(i)
		path := prefix + f.Tag.Get("yaml")
		doc := docs.fields[v.Type().Name()][f.Name]
		if doc == "" {
			t.Errorf("%s.%s has no comment", v.Type().Name(), f.Name)
		}
		if v.Field(i).Kind() == reflect.Struct {
			fmt.Fprintf(&sections, "\n## %s\n\n%s\n", path, doc)
			docs.writeSection(t, &sections, path+".", v.Field(i))
			continue
		}
		if kindOf(v.Field(i)) == "list of entries" {
			doc += docs.entryKeys(t, v.Field(i).Type().Elem())
		}
		def := ""
		if d := docs.defaults[path]; d != "" && d != "{}" {
			def = "`" + d + "`"
		}
		fmt.Fprintf(&rows, "| `%s` | %s | %s | %s |\n", path, kindOf(v.Field(i)), def, strings.ReplaceAll(doc, "|", "\\|"))
	}
	if rows.Len() > 0 {
		fmt.Fprintf(w, "\n| key | value | default | |\n|---|---|---|---|\n%s", rows.String())
	}
	w.Write(sections.Bytes())
}

// TestDocs holds that docs/config.md is what the comments of the structs and
// the defaults say.
func TestDocs(t *testing.T) {
	t.Parallel()
	c := configs.Default()
	defaults := map[string]string{}
	for _, e := range (&configs.Loaded{Config: c}).Entries() {
		defaults[e.Path] = e.Value
	}
	var want bytes.Buffer
	want.WriteString(docsIntro)
	docs := readStructDocs(t)
	docs.defaults = defaults
	docs.writeSection(t, &want, "", reflect.ValueOf(c))
	if *update {
		if err := os.MkdirAll(filepath.Dir(docsFile), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(docsFile, want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(docsFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Errorf("%s is not what the comments say; run go test ./configs -run Docs -update", docsFile)
	}
}

// TestEnvNames holds that no two keys share an environment variable.
func TestEnvNames(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, e := range (&configs.Loaded{Config: configs.Default()}).Entries() {
		name := configs.EnvName(e.Path)
		if other, ok := seen[name]; ok {
			t.Errorf("%s sets both %s and %s", name, other, e.Path)
		}
		seen[name] = e.Path
	}
}

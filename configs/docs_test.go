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
	"heddle/configs/strict"
)

var update = flag.Bool("update", false, "write docs/config.md")

const docsFile = "../docs/config.md"

const docsIntro = `# Configuration

<!-- Generated from the comments and tags in configs/*.go by: go test ./configs -run Docs -update -->

heddle reads one YAML file, which ` + "`--config`" + ` names. An unknown key, a value without its unit and two keys that
contradict each other are errors. heddle reports all errors at once, each with its path and line.
` + "`heddle check config FILE`" + ` reads a file and starts nothing. It prints every key with its value and the origin of
the value.

A key can be set in several places. The first of these wins:

1. a flag, such as ` + "`--web.listen-address`" + ` or ` + "`--log.level`" + `;
2. the environment. The variable is ` + "`HEDDLE_`" + ` and the key's path in capitals:
   ` + "`HEDDLE_RESOURCE_MANAGER_POLL_INTERVAL`" + ` sets ` + "`resource_manager.poll_interval`" + `. Commas separate the items of a
   list. A map is written ` + "`{/rack1: 10Gbps}`" + `, a list of entries ` + "`[{queues: [root.batch]}]`" + `;
3. the file;
4. Hadoop's own XML files, for the keys whose description says so;
5. the default.

A duration is written ` + "`500ms`, `5s`, `10m` or `1h30m`" + `. A size is written ` + "`64KiB`, `128MiB` or `1GB`" + `. A rate is written
` + "`1Gbps`" + ` (decimal bits per second), ` + "`125MB/s` or `8MiB/s`" + ` (bytes per second). The unit is required. A secret is never
a value: the key holds the path of its file. heddle does not support anchors, aliases and tags of YAML.

On ` + "`SIGHUP`" + ` heddle reads the file again and applies the keys that say "Reloaded on SIGHUP". If another key has changed,
the log names it, and the key keeps its value until a restart. If the file has an error, nothing changes, and the log
lists the errors.

Complete files to start from are in ` + "[configs/examples](../configs/examples)" + `.
`

const advancedIntro = `
## advanced

Limits and timings that fit every cluster that heddle has run on. Their paths begin with ` + "`advanced.`" + ` and then name the
section that they belong to. An older file that has such a key in the section itself is refused, and the error names the
new path.

| key | value | default | |
|---|---|---|---|
`

// structDocs holds the comments of the package's structs, and the defaults.
type structDocs struct {
	fields   map[string]map[string]string // by type, by field
	defaults map[string]string            // by path
	advanced bytes.Buffer                 // rows of the advanced keys
}

func readStructDocs(t *testing.T) *structDocs {
	t.Helper()
	docs := &structDocs{fields: map[string]map[string]string{}}
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
func kindOf(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[strict.Duration]():
		return "duration"
	case reflect.TypeFor[strict.Size]():
		return "size"
	case reflect.TypeFor[strict.Rate]():
		return "rate"
	case reflect.TypeFor[map[string]strict.Rate]():
		return "map of rates"
	case reflect.TypeFor[strict.Params]():
		return "map"
	}
	switch t.Kind() { //nolint:exhaustive // the rest is text
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Struct {
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

// valuesOf describes the values a key may have.
func valuesOf(f reflect.StructField) string {
	if low, high, ok := strings.Cut(f.Tag.Get("range"), ".."); ok {
		return fmt.Sprintf("%s, %s to %s", kindOf(f.Type), low, high)
	}
	if allowed := f.Tag.Get("oneof"); allowed != "" {
		return "`" + strings.ReplaceAll(strings.TrimPrefix(allowed, ","), ",", "`, `") + "`"
	}
	return kindOf(f.Type)
}

// describe returns the comment of a field, and of the keys of its entries.
func (d *structDocs) describe(t *testing.T, owner reflect.Type, f reflect.StructField, reloads bool) string {
	t.Helper()
	doc := d.fields[owner.Name()][f.Name]
	if doc == "" {
		t.Errorf("%s.%s has no comment", owner.Name(), f.Name)
	}
	if reloads {
		doc += " Reloaded on SIGHUP."
	}
	if kindOf(f.Type) != "list of entries" {
		return doc
	}
	parts := []string{doc + " The keys of an entry:"}
	for key := range f.Type.Elem().Fields() {
		parts = append(parts, fmt.Sprintf("`%s` (%s): %s", key.Tag.Get("yaml"), valuesOf(key), d.describe(t, f.Type.Elem(), key, false)))
	}
	return strings.Join(parts, "<br>")
}

// writeSection writes the keys of a struct, then its sections. Advanced keys
// are gathered in d.advanced.
func (d *structDocs) writeSection(t *testing.T, w *bytes.Buffer, prefix string, section reflect.Type, reloads bool) {
	t.Helper()
	var rows, sections bytes.Buffer
	for f := range section.Fields() {
		path := prefix + f.Tag.Get("yaml")
		reloads := reloads || f.Tag.Get("reload") == "true"
		if f.Type.Kind() == reflect.Struct {
			fmt.Fprintf(&sections, "\n## %s\n\n%s\n", path, d.describe(t, section, f, reloads))
			d.writeSection(t, &sections, path+".", f.Type, reloads)
			continue
		}
		to := &rows
		if f.Tag.Get("advanced") == "true" {
			to, path = &d.advanced, "advanced."+path
		}
		value := ""
		if v := d.defaults[path]; v != "" && v != "{}" {
			value = "`" + v + "`"
		}
		doc := d.describe(t, section, f, reloads)
		fmt.Fprintf(to, "| `%s` | %s | %s | %s |\n", path, valuesOf(f), value, strings.ReplaceAll(doc, "|", "\\|"))
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
	defaults := map[string]string{}
	for _, e := range (&configs.Loaded{Config: configs.Default()}).Entries() {
		defaults[e.Path] = e.Value
	}
	var want bytes.Buffer
	want.WriteString(docsIntro)
	docs := readStructDocs(t)
	docs.defaults = defaults
	docs.writeSection(t, &want, "", reflect.TypeFor[configs.Config](), false)
	want.WriteString(advancedIntro)
	want.Write(docs.advanced.Bytes())
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

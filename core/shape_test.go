package core_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strings"
	"testing"
)

// The most a type may have, over the whole module. A struct of settings, whose
// name says Config, may have as many fields as there are settings.
const (
	maxFields  = 16
	maxMethods = 20
)

// larger lists the types that are above a limit, with what they have. The list
// may only get shorter, and its numbers smaller.
func larger() map[string]int {
	return map[string]int{}
}

// TestShape keeps structs and method sets small.
func TestShape(t *testing.T) {
	t.Parallel()
	excused := larger()
	for _, p := range goList(t, "-e", "./...") {
		fset := token.NewFileSet()
		for _, s := range shapes(fset, parse(t, fset, &p)) {
			name := p.folder() + "." + s.name
			if allowed, listed := excused[name]; !listed || s.count > allowed {
				t.Errorf("%s: %s has %d %s, more than %d", s.at, name, s.count, s.of, max(allowed, s.limit))
			}
			delete(excused, name)
		}
	}
	for name := range excused {
		t.Errorf("%s is within the limits now: take it off the list in this file", name)
	}
}

// shape is a type with more of something than it may have.
type shape struct {
	name  string
	of    string // "fields" or "methods"
	count int
	limit int
	at    token.Position
}

// shapes returns the types of a package that are too large. Generated code is not judged.
func shapes(fset *token.FileSet, files []*ast.File) []shape {
	var found []shape
	methods := map[string]*shape{}
	for _, f := range files {
		if ast.IsGenerated(f) {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				s, ok := n.Type.(*ast.StructType)
				if ok && s.Fields.NumFields() > maxFields && !strings.Contains(n.Name.Name, "Config") {
					found = append(found, shape{n.Name.Name, "fields", s.Fields.NumFields(), maxFields, fset.Position(n.Pos())})
				}
			case *ast.FuncDecl:
				name := receiver(n)
				if name == "" {
					break
				}
				if methods[name] == nil {
					methods[name] = &shape{name, "methods", 0, maxMethods, fset.Position(n.Pos())}
				}
				methods[name].count++
			}
			return true
		})
	}
	for _, name := range slices.Sorted(maps.Keys(methods)) {
		if s := methods[name]; s.count > s.limit {
			found = append(found, *s)
		}
	}
	return found
}

// receiver returns the name of the type a method belongs to, "" for a function.
func receiver(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return ""
	}
	typ := fn.Recv.List[0].Type
	for {
		switch t := typ.(type) {
		case *ast.StarExpr:
			typ = t.X
		case *ast.IndexExpr:
			typ = t.X
		case *ast.IndexListExpr:
			typ = t.X
		case *ast.Ident:
			return t.Name
		default:
			return ""
		}
	}
}

func TestShapeFindsThem(t *testing.T) {
	t.Parallel()
	fields := func(n int) string {
		return "struct {" + strings.Repeat("a, b int;", n/2) + strings.Repeat("c int;", n%2) + "}"
	}
	var src strings.Builder
	fmt.Fprintf(&src, "package p\ntype fits %s\ntype big %s\ntype bigConfig %s\n", fields(16), fields(17), fields(40))
	src.WriteString("type list[T any] struct{}\ntype busy int\n")
	for i := range 21 {
		if i > 0 {
			fmt.Fprintf(&src, "func (busy) fits%d() {}\n", i)
		}
		fmt.Fprintf(&src, "func (l *list[T]) m%d() {}\n", i)
	}
	fset := token.NewFileSet()
	var got []string
	for _, s := range shapes(fset, []*ast.File{parseSource(t, fset, src.String())}) {
		got = append(got, fmt.Sprint(s.name, " ", s.count, " ", s.of))
	}
	if want := []string{"big 17 fields", "list 21 methods"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestPackageComments wants exactly one package comment in every package, so
// that there is one place to read what it is for.
func TestPackageComments(t *testing.T) {
	t.Parallel()
	for _, p := range goList(t, "-e", "./...") {
		fset := token.NewFileSet()
		files := parse(t, fset, &p)
		if len(files) == 0 {
			continue
		}
		if n := packageComments(files); n != 1 {
			t.Errorf("%s has %d package comments, want 1", p.ImportPath, n)
		}
	}
}

// packageComments counts the files that carry a package comment.
func packageComments(files []*ast.File) int {
	n := 0
	for _, f := range files {
		if f.Doc != nil && strings.TrimSpace(f.Doc.Text()) != "" {
			n++
		}
	}
	return n
}

func TestPackageCommentsCounts(t *testing.T) {
	t.Parallel()
	fset := token.NewFileSet()
	with := parseSource(t, fset, "// Package p is one.\npackage p\n")
	without := parseSource(t, fset, "// A licence, say.\n\npackage p\n")
	for want, files := range [][]*ast.File{{without}, {with, without}, {with, with}} {
		if got := packageComments(files); got != want {
			t.Errorf("got %d, want %d", got, want)
		}
	}
}

func parseSource(tb testing.TB, fset *token.FileSet, src string) *ast.File {
	tb.Helper()
	f, err := parser.ParseFile(fset, "p.go", src, parser.ParseComments)
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

func wantLines(tb testing.TB, got []int, want ...int) {
	tb.Helper()
	if !slices.Equal(got, want) {
		tb.Errorf("got lines %v, want %v", got, want)
	}
}

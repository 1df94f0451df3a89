package core_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
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

// TestShape keeps structs and method sets small.
func TestShape(t *testing.T) {
	t.Parallel()
	for _, p := range goList(t, "-e", "./...") {
		fset := token.NewFileSet()
		for _, problem := range shapeProblems(fset, parse(t, fset, &p)) {
			t.Error(problem)
		}
	}
}

// shapeProblems says which types of a package are too large. Generated code is not judged.
func shapeProblems(fset *token.FileSet, files []*ast.File) []string {
	var problems []string
	methods := map[string]int{}
	for _, f := range files {
		if ast.IsGenerated(f) {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				s, ok := n.Type.(*ast.StructType)
				if ok && s.Fields.NumFields() > maxFields && !strings.Contains(n.Name.Name, "Config") {
					problems = append(problems, fmt.Sprintf("%s: struct %s has %d fields, more than %d",
						fset.Position(n.Pos()), n.Name.Name, s.Fields.NumFields(), maxFields))
				}
			case *ast.FuncDecl:
				name := receiver(n)
				if name == "" {
					break
				}
				if methods[name]++; methods[name] == maxMethods+1 {
					problems = append(problems, fmt.Sprintf("%s: type %s has more than %d methods",
						fset.Position(n.Pos()), name, maxMethods))
				}
			}
			return true
		})
	}
	return problems
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
	got := shapeProblems(fset, []*ast.File{parseSource(t, fset, src.String())})
	if len(got) != 2 || !strings.Contains(got[0], "struct big has 17") || !strings.Contains(got[1], "type list has more") {
		t.Errorf("got %q, want the struct big and the type list", got)
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

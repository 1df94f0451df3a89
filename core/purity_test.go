// Package core_test checks what no linter does: that core depends on no map
// order, that types stay small, that every package says what it is, and that
// imports go one way over the whole module.
package core_test

import (
	"go/ast"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"strings"
	"testing"
)

// TestMapOrder wants a reason on every line of core that ranges over a map, or
// over maps.Keys, maps.Values or maps.All of one: their order differs from run
// to run, and the same recording must give the same decisions (I5). Loops whose
// result does not depend on the order say so: "// order-free: why".
func TestMapOrder(t *testing.T) {
	t.Parallel()
	fset := token.NewFileSet()
	all := goList(t, "-deps", "-export", "./core/...")
	conf := types.Config{Importer: compiled(fset, all)}
	for _, p := range all {
		if !strings.HasPrefix(p.folder(), "core/") {
			continue
		}
		files := parse(t, fset, &p)
		if len(files) == 0 {
			continue
		}
		info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}
		if _, err := conf.Check(p.ImportPath, fset, files, info); err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			for _, pos := range mapRanges(fset, f, info) {
				t.Errorf("%s: ranges over a map; sort the keys, or say \"// order-free: why\" on this line", pos)
			}
		}
	}
}

// compiled imports packages that go list -export has compiled.
func compiled(fset *token.FileSet, all []listed) types.Importer {
	exports := map[string]string{}
	for _, p := range all {
		exports[p.ImportPath] = p.Export
	}
	return importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
}

// mapRanges returns the places of a file that range over a map and give no reason.
func mapRanges(fset *token.FileSet, f *ast.File, info *types.Info) []token.Position {
	excused := map[int]bool{}
	for _, group := range f.Comments {
		for _, c := range group.List {
			if _, why, ok := strings.Cut(c.Text, "order-free:"); ok && strings.TrimSpace(why) != "" {
				excused[fset.Position(c.Pos()).Line] = true
			}
		}
	}
	var found []token.Position
	ast.Inspect(f, func(n ast.Node) bool {
		loop, ok := n.(*ast.RangeStmt)
		if !ok || !unordered(loop.X, info) {
			return true
		}
		if pos := fset.Position(loop.Pos()); !excused[pos.Line] {
			found = append(found, pos)
		}
		return true
	})
	return found
}

// unordered reports whether an expression that is ranged over is a map, or an
// iterator the maps package made of one.
func unordered(x ast.Expr, info *types.Info) bool {
	if typ := info.Types[x].Type; typ != nil {
		if _, isMap := typ.Underlying().(*types.Map); isMap {
			return true
		}
	}
	call, ok := x.(*ast.CallExpr)
	if !ok {
		return false
	}
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	fn, ok := info.Uses[selector.Sel].(*types.Func)
	return ok && fn.Pkg() != nil && fn.Pkg().Path() == "maps"
}

func TestMapRangesFindsThem(t *testing.T) {
	t.Parallel()
	const src = `package p

import ("maps"; "slices")

type named map[int]int

func f(m map[string]int, n named, s []int) (sum int) {
	for range m { sum++ }
	for range n { sum++ }
	for range maps.Keys(m) { sum++ }
	for range m { sum++ } // order-free: a sum
	for range n { sum++ } // order-free:
	for range s { sum++ }
	for range slices.Sorted(maps.Keys(m)) { sum++ }
	return sum
}
`
	fset := token.NewFileSet()
	f := parseSource(t, fset, src)
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: compiled(fset, goList(t, "-deps", "-export", "maps", "slices"))}
	if _, err := conf.Check("p", fset, []*ast.File{f}, info); err != nil {
		t.Fatal(err)
	}
	var lines []int
	for _, pos := range mapRanges(fset, f, info) {
		lines = append(lines, pos.Line)
	}
	wantLines(t, lines, 8, 9, 10, 12)
}

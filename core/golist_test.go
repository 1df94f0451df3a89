package core_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// listed is what the tests of this folder need of one package.
type listed struct {
	ImportPath   string
	Dir          string
	Export       string // file with the package's types, where -export was asked for
	GoFiles      []string
	CgoFiles     []string
	Imports      []string
	TestImports  []string
	XTestImports []string
}

// folder returns the package's path below the module's root, "" for other modules.
func (p *listed) folder() string {
	folder, ok := strings.CutPrefix(p.ImportPath, "heddle/")
	if !ok {
		return ""
	}
	return folder
}

// goList runs go list from the module's root. With -e it also lists packages
// that do not build, which is for other tests to say.
func goList(tb testing.TB, args ...string) []listed {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), "go", append([]string{"list", "-json"}, args...)...)
	cmd.Dir = ".."
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		tb.Fatalf("%s: %v\n%s", cmd, err, &stderr)
	}
	var all []listed
	for dec := json.NewDecoder(&stdout); ; {
		var p listed
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			tb.Fatalf("%s: %v", cmd, err)
		}
		all = append(all, p)
	}
	if len(all) == 0 {
		tb.Fatalf("%s: no packages", cmd)
	}
	return all
}

// parse returns the syntax of every file of a package but its tests.
func parse(tb testing.TB, fset *token.FileSet, p *listed) []*ast.File {
	tb.Helper()
	var files []*ast.File
	for _, name := range append(p.GoFiles, p.CgoFiles...) {
		f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.ParseComments)
		if err != nil {
			tb.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}

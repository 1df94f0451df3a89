package configs

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
)

// Bounds of what is read from Hadoop's configuration directory.
const (
	maxXMLBytes     = 4 << 20 // of one file
	maxXMLFiles     = 64      // included files and all
	maxIncludeDepth = 16
	maxXMLDepth     = 16 // of nested <configuration> elements
)

// Property is one property of Hadoop's configuration.
type Property struct {
	Key   string
	Value string
	File  string
	Line  int
	Final bool // later files cannot change it
}

// origin returns where the property stands.
func (p Property) origin() Origin {
	return Origin{Layer: LayerHadoop, File: p.File, Line: p.Line, Name: p.Key}
}

// xmlReader reads configuration files the way Hadoop's Configuration class
// does: later values replace earlier ones unless those are final, a property
// may be written with attributes, configurations nest, and XInclude brings in
// further local files.
type xmlReader struct {
	read  func(path string) ([]byte, error)
	set   func(p Property)
	files int
}

// xmlFile is one file being read.
type xmlFile struct {
	*xmlReader
	path  string
	depth int // of includes
	dec   *xml.Decoder
}

// file reads one file and everything it includes. The error is a *Problem that
// names the file and the line, or wraps fs.ErrNotExist when path is missing.
func (r *xmlReader) file(path string, depth int) error {
	data, err := r.read(path)
	if err != nil {
		return err
	}
	f := &xmlFile{xmlReader: r, path: path, depth: depth, dec: xml.NewDecoder(bytes.NewReader(data))}
	f.dec.CharsetReader = latin1
	if r.files++; r.files > maxXMLFiles {
		return f.problem(0, fmt.Sprintf("more than %d files are included", maxXMLFiles))
	}
	if len(data) > maxXMLBytes {
		return f.problem(0, fmt.Sprintf("the file has more than %d bytes", maxXMLBytes))
	}
	root := false
	for {
		tok, err := f.dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return f.malformed(err)
		}
		start, ok := tok.(xml.StartElement)
		if !ok {
			continue
		}
		if start.Name.Local != "configuration" {
			return f.problem(f.line(), fmt.Sprintf("the top element is <%s>, want <configuration>", start.Name.Local))
		}
		root = true
		if err := f.configuration(0); err != nil {
			return err
		}
	}
	if !root {
		return f.problem(0, "the file holds no <configuration>")
	}
	return nil
}

// configuration reads the content of an element that holds properties, up to
// its end.
func (f *xmlFile) configuration(nesting int) error {
	if nesting > maxXMLDepth {
		return f.problem(f.line(), fmt.Sprintf("<configuration> nests deeper than %d levels", maxXMLDepth))
	}
	for {
		tok, err := f.dec.Token()
		if err != nil {
			return f.malformed(err)
		}
		switch t := tok.(type) {
		case xml.EndElement:
			return nil
		case xml.StartElement:
			if err := f.element(t, nesting); err != nil {
				return err
			}
		}
	}
}

// element reads one child of a configuration.
func (f *xmlFile) element(start xml.StartElement, nesting int) error {
	switch start.Name.Local {
	case "property":
		return f.property(start)
	case "configuration":
		return f.configuration(nesting + 1)
	case "include":
		return f.include(start, nesting)
	}
	return f.skip() // Hadoop ignores what it does not know
}

// property reads one property. One without a name or without a value sets
// nothing, as in Hadoop.
func (f *xmlFile) property(start xml.StartElement) error {
	p := Property{File: f.path, Line: f.line()}
	hasValue := false
	take := func(name, text string) {
		switch name {
		case "name":
			p.Key = strings.TrimSpace(text)
		case "value":
			p.Value, hasValue = strings.TrimSpace(text), true
		case "final":
			p.Final = strings.TrimSpace(text) == "true"
		}
	}
	for _, a := range start.Attr {
		take(a.Name.Local, a.Value)
	}
	for {
		tok, err := f.dec.Token()
		if err != nil {
			return f.malformed(err)
		}
		switch t := tok.(type) {
		case xml.StartElement:
			text, err := f.text()
			if err != nil {
				return err
			}
			take(t.Name.Local, text)
		case xml.EndElement:
			if p.Key != "" && hasValue {
				f.set(p)
			}
			return nil
		}
	}
}

// text returns the characters of the current element, up to its end.
func (f *xmlFile) text() (string, error) {
	var b strings.Builder
	for {
		tok, err := f.dec.Token()
		if err != nil {
			return "", f.malformed(err)
		}
		switch t := tok.(type) {
		case xml.CharData:
			b.Write(t)
		case xml.StartElement:
			if err := f.skip(); err != nil {
				return "", err
			}
		case xml.EndElement:
			return b.String(), nil
		}
	}
}

// include reads an XInclude element: the file it names, relative to the file it
// stands in, or the content of its fallback when that file does not exist.
func (f *xmlFile) include(start xml.StartElement, nesting int) error {
	line, href := f.line(), ""
	for _, a := range start.Attr {
		if a.Name.Local == "href" {
			href = strings.TrimPrefix(strings.TrimSpace(a.Value), "file://")
		}
	}
	missing, err := f.included(href, line)
	if err != nil {
		return err
	}
	if !missing {
		return f.skip()
	}
	fallback := false
	for {
		tok, err := f.dec.Token()
		if err != nil {
			return f.malformed(err)
		}
		switch t := tok.(type) {
		case xml.StartElement:
			read := f.skip
			if t.Name.Local == "fallback" {
				fallback = true
				read = func() error { return f.configuration(nesting + 1) }
			}
			if err := read(); err != nil {
				return err
			}
		case xml.EndElement:
			if !fallback {
				return f.problem(line, fmt.Sprintf("includes %s, which does not exist", href))
			}
			return nil
		}
	}
}

// skip passes over the rest of the current element.
func (f *xmlFile) skip() error {
	if err := f.dec.Skip(); err != nil {
		return f.malformed(err)
	}
	return nil
}

// included reads an included file and reports whether it is missing.
func (f *xmlFile) included(href string, line int) (missing bool, err error) {
	switch {
	case href == "":
		return false, f.problem(line, "includes nothing: the href is empty")
	case strings.Contains(href, "://"):
		return false, f.problem(line, fmt.Sprintf("includes %s; only local files are read", href))
	case f.depth >= maxIncludeDepth:
		return false, f.problem(line, fmt.Sprintf("includes nest deeper than %d files; does %s include itself?", maxIncludeDepth, href))
	}
	path := href
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(f.path), path)
	}
	err = f.file(path, f.depth+1)
	var inner *Problem
	switch {
	case err == nil:
		return false, nil
	case errors.As(err, &inner):
		return false, inner
	case errors.Is(err, fs.ErrNotExist):
		return true, nil
	}
	return false, f.problem(line, fmt.Sprintf("includes %s: %v", href, err))
}

func (f *xmlFile) line() int {
	line, _ := f.dec.InputPos()
	return line
}

func (f *xmlFile) problem(line int, message string) *Problem {
	return &Problem{Origin: Origin{Layer: LayerHadoop, File: f.path, Line: line}, Message: message}
}

// malformed turns an error of the XML decoder into a problem with its line.
func (f *xmlFile) malformed(err error) *Problem {
	if syntax, ok := errors.AsType[*xml.SyntaxError](err); ok {
		return f.problem(syntax.Line, "malformed XML: "+syntax.Msg)
	}
	if errors.Is(err, io.EOF) {
		return f.problem(f.line(), "malformed XML: the file ends within an element")
	}
	return f.problem(f.line(), "malformed XML: "+err.Error())
}

// latin1 admits the other encodings Hadoop's files are seen in.
func latin1(charset string, input io.Reader) (io.Reader, error) {
	switch strings.ToLower(charset) {
	case "us-ascii", "ascii":
		return input, nil
	case "iso-8859-1", "latin1", "latin-1":
		b, err := io.ReadAll(input)
		if err != nil {
			return nil, err
		}
		var out bytes.Buffer
		for _, c := range b {
			out.WriteRune(rune(c))
		}
		return &out, nil
	}
	return nil, fmt.Errorf("the encoding %q is not supported; write the file in UTF-8", charset)
}

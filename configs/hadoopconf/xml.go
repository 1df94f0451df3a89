package hadoopconf

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

// Bounds of what is read from a configuration directory.
const (
	maxFileBytes    = 4 << 20
	maxFiles        = 64 // read for one site file, which includes the others
	maxIncludeDepth = 16
	maxElementDepth = 64
)

// reader reads a site file the way Hadoop's Configuration class does: a
// property may be written with attributes, configurations nest, and XInclude
// brings in further local files.
type reader struct {
	readFile func(path string) ([]byte, error)
	set      func(p Property) // called for each property, in order
	files    int
}

// element is one element of an XML file. Its text leaves out that of its children.
type element struct {
	name     string
	line     int
	attrs    []xml.Attr
	text     strings.Builder
	children []*element
}

// file reads one file and everything it includes. The error is an *Error, or
// wraps fs.ErrNotExist when path is missing.
func (r *reader) file(path string, depth int) error {
	data, err := r.readFile(path)
	if err != nil {
		return err
	}
	if r.files++; r.files > maxFiles {
		return &Error{File: path, Message: fmt.Sprintf("more than %d files are included", maxFiles)}
	}
	if len(data) > maxFileBytes {
		return &Error{File: path, Message: fmt.Sprintf("the file has more than %d bytes", maxFileBytes)}
	}
	root, err := parseXML(path, data)
	if err != nil {
		return err
	}
	for _, e := range root.children {
		if e.name != "configuration" {
			return &Error{File: path, Line: e.line, Message: fmt.Sprintf("the top element is <%s>, want <configuration>", e.name)}
		}
		if err := r.configuration(path, e, depth); err != nil {
			return err
		}
	}
	if len(root.children) == 0 {
		return &Error{File: path, Message: "the file holds no <configuration>"}
	}
	return nil
}

// parseXML returns an element whose children are the file's top elements.
func parseXML(path string, data []byte) (*element, error) {
	dec := xml.NewDecoder(bytes.NewReader(data))
	dec.CharsetReader = latin1
	open := []*element{{}}
	for {
		token, err := dec.Token()
		line, _ := dec.InputPos()
		var syntax *xml.SyntaxError
		switch {
		case errors.Is(err, io.EOF):
			return open[0], nil
		case errors.As(err, &syntax):
			return nil, &Error{File: path, Line: syntax.Line, Message: "malformed XML: " + syntax.Msg}
		case err != nil:
			return nil, &Error{File: path, Line: line, Message: "malformed XML: " + err.Error()}
		case len(open) > maxElementDepth:
			return nil, &Error{File: path, Line: line, Message: fmt.Sprintf("elements nest deeper than %d levels", maxElementDepth)}
		}
		top := open[len(open)-1]
		switch t := token.(type) {
		case xml.StartElement:
			e := &element{name: t.Name.Local, line: line, attrs: t.Attr}
			top.children = append(top.children, e)
			open = append(open, e)
		case xml.CharData:
			top.text.Write(t)
		case xml.EndElement:
			open = open[:len(open)-1]
		}
	}
}

// configuration reads an element that holds properties. Hadoop ignores
// elements that it does not know.
func (r *reader) configuration(path string, e *element, depth int) error {
	for _, child := range e.children {
		var err error
		switch child.name {
		case "property":
			r.property(path, child)
		case "configuration":
			err = r.configuration(path, child, depth)
		case "include":
			err = r.include(path, child, depth)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// property reads one property. One without a name or without a value sets
// nothing, as in Hadoop.
func (r *reader) property(path string, e *element) {
	p := Property{File: path, Line: e.line}
	hasValue := false
	read := func(name, text string) {
		text = strings.TrimSpace(text)
		switch name {
		case "name":
			p.Key = text
		case "value":
			p.Value, hasValue = text, true
		case "final":
			p.Final = text == "true"
		}
	}
	for _, a := range e.attrs {
		read(a.Name.Local, a.Value)
	}
	for _, child := range e.children {
		read(child.name, child.text.String())
	}
	if p.Key != "" && hasValue {
		r.set(p)
	}
}

// include reads an XInclude element: the file it names, relative to the file it
// stands in, or the content of its fallback when that file does not exist.
func (r *reader) include(path string, e *element, depth int) error {
	href := ""
	for _, a := range e.attrs {
		if a.Name.Local == "href" {
			href = strings.TrimPrefix(strings.TrimSpace(a.Value), "file://")
		}
	}
	problem := func(format string, args ...any) *Error {
		return &Error{File: path, Line: e.line, Message: fmt.Sprintf(format, args...)}
	}
	switch {
	case href == "":
		return problem("includes nothing: the href is empty")
	case strings.Contains(href, "://"):
		return problem("includes %s; only local files are read", href)
	case depth >= maxIncludeDepth:
		return problem("includes nest deeper than %d files; does %s include itself?", maxIncludeDepth, href)
	}
	included := href
	if !filepath.IsAbs(included) {
		included = filepath.Join(filepath.Dir(path), included)
	}
	err := r.file(included, depth+1)
	var located *Error
	if err == nil || errors.As(err, &located) {
		return err
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return problem("includes %s: %v", href, err)
	}
	for _, child := range e.children {
		if child.name == "fallback" {
			return r.configuration(path, child, depth)
		}
	}
	return problem("includes %s, which does not exist", href)
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

package jhist

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"heddle/core/model"
)

// Conf is what is used of a job's configuration.
type Conf struct {
	Map, Reduce model.Resource // of the container of a task; zero where it is not said
	Inputs      []string       // paths or patterns that the job reads
}

// keys of a job's configuration, and their names in Hadoop 1.
const (
	keyMapMemory    = "mapreduce.map.memory.mb"
	keyMapCores     = "mapreduce.map.cpu.vcores"
	keyReduceMemory = "mapreduce.reduce.memory.mb"
	keyReduceCores  = "mapreduce.reduce.cpu.vcores"
	keyInputs       = "mapreduce.input.fileinputformat.inputdir"
	keyOldInputs    = "mapred.input.dir"
)

const maxProperty = 8 << 20 // bytes of a name or a value; lists of input paths are long

// ReadConf reads a job's configuration, an XML file of properties.
func ReadConf(r io.Reader) (*Conf, error) {
	values, err := properties(r)
	if err != nil {
		return nil, err
	}
	c := &Conf{
		Map:    resource(values[keyMapMemory], values[keyMapCores]),
		Reduce: resource(values[keyReduceMemory], values[keyReduceCores]),
	}
	inputs := values[keyInputs]
	if inputs == "" {
		inputs = values[keyOldInputs]
	}
	c.Inputs = splitPaths(inputs)
	return c, nil
}

// confReader collects the properties in use.
type confReader struct {
	values            map[string]string // by key
	name, value, text strings.Builder
	depth, found      int // elements that are open; properties
}

// properties returns the properties in use, by key.
func properties(r io.Reader) (map[string]string, error) {
	c := confReader{values: map[string]string{keyMapMemory: "", keyMapCores: "", keyReduceMemory: "", keyReduceCores: "", keyInputs: "", keyOldInputs: ""}}
	d := xml.NewDecoder(r)
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil } // Hadoop writes UTF-8 whatever it declares
	for {
		t, err := d.Token()
		if errors.Is(err, io.EOF) && c.found > 0 {
			return c.values, nil
		}
		if err == nil {
			err = c.token(t)
		}
		if err != nil {
			line, column := d.InputPos()
			return nil, fmt.Errorf("line %d, column %d: %w", line, column, unexpected(err))
		}
	}
}

// token takes in a part of the file.
func (c *confReader) token(t xml.Token) error {
	switch t := t.(type) {
	case xml.StartElement:
		if c.depth++; c.depth > maxDepth {
			return fmt.Errorf("elements are nested deeper than %d", maxDepth)
		}
		c.text.Reset()
		if t.Name.Local == "property" {
			c.name.Reset()
			c.value.Reset()
		}
	case xml.CharData:
		if c.text.Len()+len(t) > maxProperty {
			return fmt.Errorf("a value has more than %d MiB", maxProperty>>20)
		}
		c.text.Write(t)
	case xml.EndElement:
		c.depth--
		c.end(t.Name.Local)
	}
	return nil
}

// end takes in the end of an element.
func (c *confReader) end(element string) {
	switch element {
	case "name":
		c.name.WriteString(strings.TrimSpace(c.text.String()))
	case "value":
		c.value.WriteString(c.text.String())
	case "property", "configuration":
		c.found++
		if _, used := c.values[c.name.String()]; used {
			c.values[c.name.String()] = strings.TrimSpace(c.value.String())
		}
	}
}

// resource makes a container's size of its two settings. Memory that is not set, or -1
// for a size by the heap, makes the whole not known.
func resource(memory, cores string) model.Resource {
	mb, err := strconv.ParseInt(memory, 10, 32)
	if err != nil || mb <= 0 {
		return model.Resource{}
	}
	n, err := strconv.ParseInt(cores, 10, 32)
	if err != nil || n <= 0 {
		n = 1
	}
	return model.Resource{MemoryMiB: mb, VCores: n}
}

// splitPaths splits a list of paths at its commas, save those within braces of a
// pattern or after a backslash, as FileInputFormat does.
func splitPaths(list string) []string {
	var paths []string
	var one strings.Builder
	braces := 0
	add := func() {
		if p := strings.TrimSpace(one.String()); p != "" {
			paths = append(paths, p)
		}
		one.Reset()
	}
	escaped := false
	for _, c := range list {
		switch {
		case escaped:
			escaped = false
			one.WriteRune(c)
			continue
		case c == '\\':
			escaped = true
			continue
		case c == '{':
			braces++
		case c == '}':
			braces = max(0, braces-1)
		case c == ',' && braces == 0:
			add()
			continue
		}
		one.WriteRune(c)
	}
	add()
	return paths
}

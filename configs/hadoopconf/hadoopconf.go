// Package hadoopconf reads a Hadoop configuration directory (core-site.xml,
// hdfs-site.xml, yarn-site.xml, mapred-site.xml) and finds in it where the
// cluster's services are. It knows the port that Hadoop gives a service whose
// address names none, and no other of Hadoop's defaults.
package hadoopconf

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Config is the content of a configuration directory.
type Config struct {
	Files   []string // that exist, in the order they were read
	Notices []string // of values that Hadoop ignores

	properties map[string]Property
	env        map[string]string
}

// Property is one property of Hadoop's configuration.
type Property struct {
	Key   string
	Value string
	File  string
	Line  int
	Final bool // later files cannot change it
}

// Error is a problem of one place in Hadoop's files. Key is empty for a file
// that is not valid XML, Line is 0 for a file as a whole, and File is empty
// where a property is missing in all of them.
type Error struct {
	File    string
	Line    int
	Key     string
	Message string
}

// Error implements error: "hadoop yarn-site.xml:7 yarn.resourcemanager.hostname: …".
func (e *Error) Error() string {
	place := e.File
	switch {
	case e.File == "":
		return "hadoop: " + e.Message
	case e.Line > 0:
		place = fmt.Sprintf("%s:%d", e.File, e.Line)
	}
	return strings.TrimSpace("hadoop "+place+" "+e.Key) + ": " + e.Message
}

// errorf returns an error of the place where the property stands.
func (p Property) errorf(format string, args ...any) *Error {
	return &Error{File: p.File, Line: p.Line, Key: p.Key, Message: fmt.Sprintf(format, args...)}
}

// Read reads the site files of a configuration directory; later files replace
// properties of earlier ones that are not final. A missing file is skipped, a
// missing directory is an error. env holds the variables that ${env.KEY} refers to.
// The error joins an *Error for each file that cannot be read.
func Read(dir string, env map[string]string) (*Config, error) {
	if info, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("read Hadoop's configuration in %s: %w", dir, err)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("read Hadoop's configuration in %s: it is not a directory", dir)
	}
	c := &Config{properties: map[string]Property{}, env: env}
	var errs []error
	for _, name := range []string{"core-site.xml", "hdfs-site.xml", "yarn-site.xml", "mapred-site.xml"} {
		path := filepath.Join(dir, name)
		err := (&reader{readFile: os.ReadFile, set: c.set}).file(path, 0)
		var located *Error
		switch {
		case err == nil:
			c.Files = append(c.Files, path)
		case errors.As(err, &located):
			errs = append(errs, located)
		case !errors.Is(err, fs.ErrNotExist):
			errs = append(errs, &Error{File: path, Message: err.Error()})
		}
	}
	return c, errors.Join(errs...)
}

// set adds one property, unless an earlier one of that name is final.
func (c *Config) set(p Property) {
	if old, ok := c.properties[p.Key]; ok && old.Final {
		if old.Value != p.Value {
			c.Notices = append(c.Notices, fmt.Sprintf("%s:%d: %s is final in %s:%d; the value here is ignored", p.File, p.Line, p.Key, old.File, old.Line))
		}
		return
	}
	c.properties[p.Key] = p
}

// Lookup returns a property with its variables expanded, and false when it is
// not set or empty. A name that Hadoop has deprecated is found under its new
// one. The error is an *Error: a variable that is not set, or a cycle.
func (c *Config) Lookup(key string) (Property, bool, error) {
	for _, name := range []string{key, deprecatedName(key)} {
		p, ok := c.properties[name]
		if !ok || p.Value == "" {
			continue
		}
		v, err := c.expand(p.Value, []string{name})
		if err != nil {
			return p, false, p.errorf("%v", err)
		}
		p.Value = v
		return p, v != "", nil
	}
	return Property{Key: key}, false, nil
}

// deprecatedName returns the name a key had in Hadoop 1 and 2
// (DeprecatedProperties.md), "" for none.
func deprecatedName(key string) string {
	switch key {
	case "fs.defaultFS":
		return "fs.default.name"
	case "dfs.nameservices":
		return "dfs.federation.nameservices"
	case "dfs.namenode.http-address":
		return "dfs.http.address"
	case "dfs.namenode.https-address":
		return "dfs.https.address"
	case "net.topology.table.file.name", "net.topology.node.switch.mapping.impl":
		return strings.TrimPrefix(key, "net.")
	}
	return ""
}

// Bounds of variable expansion. Hadoop itself gives up after 20 substitutions.
const (
	maxSubstitutions = 100
	maxExpanded      = 64 << 10
	maxVariableDepth = 20
)

// expand replaces ${name}, ${env.NAME}, ${env.NAME-default} and
// ${env.NAME:-default}, innermost first, as Configuration.substituteVars does.
// Where Hadoop would leave an unknown variable in the text, it is an error: no
// address or path can be made of it. names are the properties being expanded.
func (c *Config) expand(text string, names []string) (string, error) {
	variable := regexp.MustCompile(`\$\{([^${}\s]+)\}`)
	for range maxSubstitutions {
		m := variable.FindStringSubmatchIndex(text)
		if m == nil {
			return text, nil
		}
		value, err := c.variable(text[m[2]:m[3]], names)
		if err != nil {
			return "", err
		}
		text = text[:m[0]] + value + text[m[1]:]
		if len(text) > maxExpanded {
			break
		}
	}
	return "", fmt.Errorf("%s refers to too many variables", names[0])
}

// variable returns the value of the name between ${ and }.
func (c *Config) variable(name string, names []string) (string, error) {
	if env, ok := strings.CutPrefix(name, "env."); ok {
		return c.envVariable(env)
	}
	if slices.Contains(names, name) {
		return "", fmt.Errorf("${%s} refers to itself: %s -> %s", name, strings.Join(names, " -> "), name)
	}
	p, ok := c.properties[name]
	if !ok {
		return "", fmt.Errorf("${%s} is not set in any of Hadoop's files (a system property of Java cannot be read); give the value in heddle's own configuration", name)
	}
	if len(names) >= maxVariableDepth {
		return "", fmt.Errorf("variables nest deeper than %d: %s", maxVariableDepth, strings.Join(names, " -> "))
	}
	return c.expand(p.Value, append(slices.Clip(names), name))
}

// envVariable returns an environment variable, with the defaults of a shell.
func (c *Config) envVariable(expr string) (string, error) {
	name, fallback, hasFallback := strings.Cut(expr, "-")
	name, orEmpty := strings.CutSuffix(name, ":")
	value, set := c.env[name]
	switch {
	case set && (value != "" || !orEmpty):
		return value, nil
	case hasFallback:
		return fallback, nil
	}
	return "", fmt.Errorf("${env.%s}: the environment variable %s is not set", expr, name)
}

package configs

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

// Hadoop is what a Hadoop configuration directory says, without Hadoop's own
// defaults.
type Hadoop struct {
	Dir   string
	Files []string // that were found, in the order they were read

	props   map[string]Property
	env     map[string]string
	notices []string
}

// siteFiles lists the files of a configuration directory in the order they are
// read, later ones replacing what is not final in earlier ones.
func siteFiles() []string {
	return []string{"core-site.xml", "hdfs-site.xml", "yarn-site.xml", "mapred-site.xml"}
}

// ReadHadoop reads the site files of a configuration directory. A missing file
// is skipped; a missing directory is an error. env ("KEY=value") is what
// ${env.KEY} refers to. The error is Problems, one for each file that cannot be
// read.
func ReadHadoop(dir string, env []string) (*Hadoop, error) {
	h := &Hadoop{Dir: dir, props: map[string]Property{}, env: envMap(env)}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		if err == nil {
			err = errors.New("it is not a directory")
		}
		return nil, Problems{{Path: "hadoop.conf_dir", Message: fmt.Sprintf("read Hadoop's configuration in %s: %v", dir, err)}}
	}
	var problems Problems
	for _, name := range siteFiles() {
		path := filepath.Join(dir, name)
		err := (&xmlReader{read: os.ReadFile, set: h.set}).file(path, 0)
		var p *Problem
		switch {
		case err == nil:
			h.Files = append(h.Files, path)
		case errors.As(err, &p):
			problems = append(problems, p)
		case !errors.Is(err, fs.ErrNotExist):
			problems = append(problems, &Problem{Origin: Origin{Layer: LayerHadoop, File: path}, Message: err.Error()})
		}
	}
	return h, problems.orNil()
}

// set takes one property, unless an earlier one of that name is final.
func (h *Hadoop) set(p Property) {
	if old, ok := h.props[p.Key]; ok && old.Final {
		if old.Value != p.Value {
			h.notices = append(h.notices, fmt.Sprintf("%s:%d: %s is final in %s:%d; the value here is ignored", p.File, p.Line, p.Key, old.File, old.Line))
		}
		return
	}
	h.props[p.Key] = p
}

// Lookup returns a property with its variables expanded, and false when it is
// not set or empty. A name that Hadoop has deprecated is found under its new
// one. The error is a *Problem: a variable that is not set, or a cycle.
func (h *Hadoop) Lookup(key string) (Property, bool, error) {
	for _, name := range append([]string{key}, deprecatedNames(key)...) {
		p, ok := h.props[name]
		if !ok || p.Value == "" {
			continue
		}
		v, err := h.expand(p.Value, []string{name})
		if err != nil {
			return p, false, &Problem{Origin: p.origin(), Message: err.Error()}
		}
		p.Value = v
		return p, v != "", nil
	}
	return Property{Key: key}, false, nil
}

// deprecatedNames returns the names a key had in Hadoop 1 and 2
// (DeprecatedProperties.md), with the suffix of a nameservice kept.
func deprecatedNames(key string) []string {
	old := map[string]string{
		"fs.defaultFS":                          "fs.default.name",
		"dfs.nameservices":                      "dfs.federation.nameservices",
		"dfs.namenode.http-address":             "dfs.http.address",
		"dfs.namenode.https-address":            "dfs.https.address",
		"net.topology.table.file.name":          "topology.table.file.name",
		"net.topology.node.switch.mapping.impl": "topology.node.switch.mapping.impl",
	}
	if name, ok := old[key]; ok {
		return []string{name}
	}
	return nil
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
// address or path can be made of it.
func (h *Hadoop) expand(text string, within []string) (string, error) {
	variable := regexp.MustCompile(`\$\{([^${}\s]+)\}`)
	for range maxSubstitutions {
		m := variable.FindStringSubmatchIndex(text)
		if m == nil {
			return text, nil
		}
		value, err := h.variable(text[m[2]:m[3]], within)
		if err != nil {
			return "", err
		}
		text = text[:m[0]] + value + text[m[1]:]
		if len(text) > maxExpanded {
			break
		}
	}
	return "", fmt.Errorf("%s refers to too many variables", within[0])
}

// variable returns what one name between ${ and } stands for.
func (h *Hadoop) variable(name string, within []string) (string, error) {
	if env, ok := strings.CutPrefix(name, "env."); ok {
		return h.envVariable(env)
	}
	if slices.Contains(within, name) {
		return "", fmt.Errorf("${%s} refers to itself: %s -> %s", name, strings.Join(within, " -> "), name)
	}
	p, ok := h.props[name]
	if !ok {
		return "", fmt.Errorf("${%s} is not set in any of Hadoop's files (a system property of Java cannot be read); give the value in heddle's own configuration", name)
	}
	if len(within) >= maxVariableDepth {
		return "", fmt.Errorf("variables nest deeper than %d: %s", maxVariableDepth, strings.Join(within, " -> "))
	}
	return h.expand(p.Value, append(slices.Clip(within), name))
}

// envVariable returns an environment variable, with the defaults of a shell.
func (h *Hadoop) envVariable(expr string) (string, error) {
	name, fallback, hasFallback := strings.Cut(expr, "-")
	name, orEmpty := strings.CutSuffix(name, ":")
	value, set := h.env[name]
	switch {
	case set && (value != "" || !orEmpty):
		return value, nil
	case hasFallback:
		return fallback, nil
	}
	return "", fmt.Errorf("${env.%s}: the environment variable %s is not set", expr, name)
}

// envMap indexes "KEY=value" lines; the last of several wins.
func envMap(env []string) map[string]string {
	m := make(map[string]string, len(env))
	for _, kv := range env {
		if k, v, ok := strings.Cut(kv, "="); ok {
			m[k] = v
		}
	}
	return m
}

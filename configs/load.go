package configs

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// EnvPrefix begins the name of every environment variable that sets a key:
// HEDDLE_RESOURCE_MANAGER_POLL_INTERVAL is resource_manager.poll_interval.
const EnvPrefix = "HEDDLE_"

// Options say where a configuration is loaded from.
type Options struct {
	// File is the YAML file; empty reads none.
	File string
	// Env is the environment, "KEY=value" as os.Environ returns it.
	Env []string
	// Flags holds the flags that were given, by the path of the key they set
	// ("log.level"); dashes stand for underscores ("web.listen-address").
	Flags map[string]string
	// HadoopConfDir is the flag --hadoop-conf-dir; empty when it was not given.
	HadoopConfDir string
	// KnownPolicy checks a policy's name and its parameters, a JSON object; nil
	// checks neither. An error that joins several is reported as several.
	KnownPolicy func(name string, params []byte) error
}

// Loaded is a configuration that was loaded and is valid.
type Loaded struct {
	Config Config
	// Hadoop is what Hadoop's configuration directory says; nil without one.
	Hadoop *Hadoop
	// Notices are things the operator should know that are not wrong, such as
	// nameservices that are not read.
	Notices []string

	origins map[string]Origin
}

// Entry is one effective key.
type Entry struct {
	Path   string
	Value  string
	Origin Origin
}

// Load reads the configuration from all its layers and validates it. The error
// is Problems, with everything that is wrong.
func Load(opts Options) (*Loaded, error) {
	l := newLoader(opts)
	l.loadFlags()
	l.loadEnv()
	l.loadFile()
	return l.finish()
}

// finish adds the weaker layers to what flags, environment and file said, and
// checks the whole.
func (l *loader) finish() (*Loaded, error) {
	l.loadHadoop()
	l.findState("relay.journal", "relay")
	l.findState("state.history_file", "history.json")
	if l.cfg.Uplinks.Oversubscription.Ratio > 0 && l.origins["uplinks.capacity"].Layer == LayerDefault {
		l.cfg.Uplinks.Capacity = 0 // the ratio takes the place of the default
	}
	l.validate()
	if len(l.problems) > 0 {
		slices.SortStableFunc(l.problems, func(a, b *Problem) int {
			return cmp.Or(cmp.Compare(a.Origin.File, b.Origin.File), cmp.Compare(a.Origin.Line, b.Origin.Line))
		})
		return nil, l.problems
	}
	return &Loaded{Config: l.cfg, Hadoop: l.hadoop, Notices: append(l.notices, l.cfg.notes()...), origins: l.origins}, nil
}

// Provenance returns where the effective value of a key came from; false for a
// path that is no key.
func (l *Loaded) Provenance(path string) (Origin, bool) {
	for _, f := range fields(&l.Config) {
		if f.path == path {
			return l.origins[path], true
		}
	}
	return Origin{}, false
}

// Entries lists every key with its effective value and where that came from, in
// the order of the reference.
func (l *Loaded) Entries() []Entry {
	fs := fields(&l.Config)
	entries := make([]Entry, len(fs))
	for i, f := range fs {
		entries[i] = Entry{f.path, textOf(f.value), l.origins[f.path]}
	}
	return entries
}

// YAML returns the effective configuration as a file that loads to the same.
func (c *Config) YAML() ([]byte, error) {
	b, err := yaml.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("print the configuration as YAML: %w", err)
	}
	return b, nil
}

// Hash returns a digest of the effective configuration in hex. Equal
// configurations have equal digests wherever their values came from. What is in
// files that keys name, secrets above all, is not part of it.
func (l *Loaded) Hash() string {
	var text strings.Builder
	for _, e := range l.Entries() {
		fmt.Fprintf(&text, "%s=%q\n", e.Path, e.Value)
	}
	sum := sha256.Sum256([]byte(text.String()))
	return hex.EncodeToString(sum[:])
}

// loader gathers values and problems, the strongest layer first: a key keeps
// the first value it gets.
type loader struct {
	opts     Options
	cfg      Config
	leaves   map[string]reflect.Value
	origins  map[string]Origin // of keys that are set
	sections map[string]Origin // of sections in the file
	failed   map[string]bool   // keys and sections with a value that could not be read
	unread   bool              // the file as a whole could not be read
	hadoop   *Hadoop
	notices  []string
	problems Problems
}

func newLoader(opts Options) *loader {
	l := &loader{
		opts:     opts,
		cfg:      Default(),
		origins:  map[string]Origin{},
		sections: map[string]Origin{},
		failed:   map[string]bool{},
		leaves:   map[string]reflect.Value{},
	}
	for _, f := range fields(&l.cfg) {
		l.leaves[f.path] = f.value
	}
	return l
}

// apply reads one value of a key. It is read, and its problems reported, also
// when a stronger layer has set the key.
func (l *loader) apply(path string, from Origin, set func(reflect.Value) error) {
	leaf := l.leaves[path]
	fresh := reflect.New(leaf.Type()).Elem()
	if err := set(fresh); err != nil {
		l.report(path, from, err.Error())
		return
	}
	if _, ok := l.origins[path]; !ok {
		leaf.Set(fresh)
		l.origins[path] = from
	}
}

// report notes a problem of a key's value.
func (l *loader) report(path string, from Origin, message string) {
	l.failed[path] = true
	l.problems = append(l.problems, &Problem{Path: path, Origin: from, Message: message})
}

func (l *loader) loadFlags() {
	if l.opts.HadoopConfDir != "" {
		l.apply("hadoop.conf_dir", Origin{Layer: LayerFlag, Name: "hadoop-conf-dir"}, func(v reflect.Value) error {
			return setText(v, l.opts.HadoopConfDir)
		})
	}
	for _, name := range slices.Sorted(maps.Keys(l.opts.Flags)) {
		path, from := strings.ReplaceAll(name, "-", "_"), Origin{Layer: LayerFlag, Name: name}
		if _, ok := l.leaves[path]; !ok {
			l.report(path, from, "no such key of the configuration")
			continue
		}
		l.apply(path, from, func(v reflect.Value) error { return setText(v, l.opts.Flags[name]) })
	}
}

func (l *loader) loadEnv() {
	paths := make(map[string]string, len(l.leaves))
	for path := range l.leaves {
		paths[EnvName(path)] = path
	}
	env := envMap(l.opts.Env)
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if !strings.HasPrefix(name, EnvPrefix) || name == EnvTraces || fromKubernetes(name) {
			continue
		}
		from := Origin{Layer: LayerEnv, Name: name}
		path, ok := paths[name]
		if !ok {
			l.report("", from, unknownKey(name, slices.Sorted(maps.Keys(paths))))
			continue
		}
		l.apply(path, from, func(v reflect.Value) error { return setText(v, env[name]) })
	}
}

// EnvTraces names the folder of the public traces that tests and benchmarks
// read (docs/workloads.md). It is no key of the configuration.
const EnvTraces = EnvPrefix + "TRACES"

// EnvName returns the environment variable that sets a key.
func EnvName(path string) string {
	return EnvPrefix + strings.ToUpper(strings.ReplaceAll(path, ".", "_"))
}

// fromKubernetes reports whether a variable is one that Kubernetes gives every
// container in the namespace of a service called heddle.
func fromKubernetes(name string) bool {
	for _, prefix := range []string{"HEDDLE_SERVICE_HOST", "HEDDLE_SERVICE_PORT", "HEDDLE_PORT"} {
		if name == prefix || strings.HasPrefix(name, prefix+"_") {
			return true
		}
	}
	return false
}

func (l *loader) loadFile() {
	if l.opts.File == "" {
		return
	}
	data, err := readLimited(l.opts.File, maxFileBytes)
	if err != nil {
		l.report("", Origin{Layer: LayerFile, File: l.opts.File}, fmt.Sprintf("read the configuration: %v", err))
		l.unread = true
		return
	}
	l.decode(data)
}

// decode reads the file's text.
func (l *loader) decode(data []byte) {
	origin := func(line int) Origin { return Origin{Layer: LayerFile, File: l.opts.File, Line: line} }
	l.sections[""] = origin(0)
	node, err := parseYAML(data)
	if err != nil {
		line, message := yamlError(err)
		l.report("", origin(line), message)
		l.unread = true
		return
	}
	if node == nil {
		return
	}
	walkYAML(node, reflect.TypeFor[Config](), "", sink{
		section: func(path string, line int) { l.sections[path] = origin(line) },
		value: func(path string, line int, set func(reflect.Value) error) {
			l.sections[path] = origin(line)
			l.apply(path, origin(line), set)
		},
		problem: func(path string, line int, message string) { l.report(path, origin(line), message) },
	})
}

// readLimited reads a file and one byte more than the limit at most.
func readLimited(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	return io.ReadAll(io.LimitReader(f, limit+1))
}

func (l *loader) loadHadoop() {
	l.findConfDir()
	dir := l.cfg.Hadoop.ConfDir
	if dir == "" {
		return
	}
	h, err := ReadHadoop(dir, l.opts.Env)
	if problems, ok := errors.AsType[Problems](err); ok {
		for _, p := range problems {
			if p.Path != "" {
				p.Origin = l.origins[p.Path]
			}
		}
		l.problems = append(l.problems, problems...)
		// What depends on a file that cannot be read is not to be complained about as well.
		for _, path := range discoverable() {
			l.failed[path] = true
		}
		return
	}
	l.hadoop = h
	for _, path := range discoverable() {
		if _, ok := l.origins[path]; ok {
			continue
		}
		f, ok, err := h.discover(path, &l.cfg)
		if p, bad := errors.AsType[*Problem](err); bad {
			l.report(path, p.Origin, p.Message)
		} else if ok {
			l.apply(path, f.at.origin(), func(v reflect.Value) error { return setText(v, f.text) })
		}
	}
	if n := (nameNodes{h, l.cfg.HDFS.Nameservice}).unread(); n != "" && l.cfg.HDFS.Enabled {
		h.notices = append(h.notices, n)
	}
	if n := h.protection(); n != "" && l.cfg.RelayRuns() {
		h.notices = append(h.notices, n)
	}
	l.notices = append(l.notices, h.notices...)
}

// findConfDir looks for Hadoop's configuration where its own tools look.
func (l *loader) findConfDir() {
	if _, ok := l.origins["hadoop.conf_dir"]; ok {
		return
	}
	env := envMap(l.opts.Env)
	for _, name := range []string{"HADOOP_CONF_DIR", "YARN_CONF_DIR"} {
		if dir := env[name]; dir != "" {
			l.cfg.Hadoop.ConfDir = dir
			l.origins["hadoop.conf_dir"] = Origin{Layer: LayerEnv, Name: name}
			return
		}
	}
	home := env["HADOOP_HOME"]
	if home == "" {
		return
	}
	for _, sub := range []string{filepath.Join("etc", "hadoop"), "conf"} {
		dir := filepath.Join(home, sub)
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			l.cfg.Hadoop.ConfDir = dir
			l.origins["hadoop.conf_dir"] = Origin{Layer: LayerEnv, Name: "HADOOP_HOME"}
			return
		}
	}
}

// findState puts a file or directory of the service, unless its key is given,
// where the environment keeps state.
func (l *loader) findState(path, name string) {
	if _, ok := l.origins[path]; ok {
		return
	}
	env := envMap(l.opts.Env)
	for _, place := range []struct{ name, below string }{{"STATE_DIRECTORY", name}, {"XDG_STATE_HOME", "heddle/" + name}} {
		dir, _, _ := strings.Cut(env[place.name], ":") // systemd may name several
		if filepath.IsAbs(dir) {                       // XDG: any other is to be ignored
			l.leaves[path].SetString(filepath.Join(dir, place.below))
			l.origins[path] = Origin{Layer: LayerEnv, Name: place.name}
			return
		}
	}
}

// discoverable lists the keys that Hadoop's files can give.
func discoverable() []string {
	return []string{
		"security.authentication",
		"resource_manager.urls",
		"relay.listeners",
		"mapreduce.history_server",
		"tez.timeline_server",
		"hdfs.name_nodes",
		"hdfs.rpc_addresses",
		"hdfs.service_principal",
		"uplinks.shuffle_jmx.datanode_http_port",
		"uplinks.shuffle_jmx.datanode_https",
		"uplinks.shuffle_jmx.node_manager_https",
		"topology.table",
	}
}

// validate checks the values that were read, leaving out problems that may only
// follow from a value that could not be read.
func (l *loader) validate() {
	var found Problems
	if l.unread || !errors.As(l.cfg.Validate(l.opts.KnownPolicy), &found) {
		return
	}
	for _, p := range found {
		if slices.ContainsFunc(append(p.also, p.Path), l.hasFailed) {
			continue
		}
		p.Origin = l.blame(p)
		l.problems = append(l.problems, p)
	}
}

// hasFailed reports whether a key, or a section it is in, could not be read.
func (l *loader) hasFailed(path string) bool {
	for ; path != ""; path = parent(path) {
		if l.failed[path] {
			return true
		}
	}
	return false
}

// parent returns the section a key or section is in, "" at the top.
func parent(path string) string { return path[:max(strings.LastIndexByte(path, '.'), 0)] }

// notes returns what the operator should know of a valid configuration.
func (c *Config) notes() []string {
	var notes []string
	if c.MapReduce.Enabled && c.MapReduce.HistoryServer == "" {
		notes = append(notes, "mapreduce.history_server is not known: finished jobs are not read")
	}
	if host, _, err := net.SplitHostPort(c.Web.ListenAddress); err == nil && !isLoopback(host) {
		notes = append(notes, "web.listen_address "+c.Web.ListenAddress+" can be reached from other machines: set TLS and authentication with --web.config.file")
	}
	return append(notes, c.relayNotes()...)
}

// relayNotes returns what the operator should know of a valid relay.
func (c *Config) relayNotes() []string {
	r := &c.Relay
	if !c.RelayRuns() {
		if r.Listen != "" || len(r.Listeners) > 0 {
			return []string{"relay.listen has no effect in mode " + string(c.Mode)}
		}
		return nil
	}
	var notes []string
	if host, _, err := net.SplitHostPort(r.Listeners[0].Address); err == nil && isLoopback(host) {
		notes = append(notes, "the relay listens on "+r.Listeners[0].Address+", which only applications on this machine reach; relay.listen gives another address")
	}
	if r.Journal == "" {
		notes = append(notes, "relay.journal is empty: a restarted relay does not know what it had asked for, and steers running applications only as they ask anew")
	}
	return notes
}

// isLoopback reports whether a host is this machine only.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// blame returns what of the user's words a problem is owed to: where the key
// was set, or the map it is an entry of; else where a key was set that the
// problem also speaks of; else the section of the file that is nearest.
func (l *loader) blame(p *Problem) Origin {
	if list, _, ok := strings.Cut(p.Path, "["); ok { // in a row: where that stands, unless it is not from the file
		if from, ok := l.origins[list]; ok && from.Layer != LayerFile {
			return from
		}
	}
	if from, ok := l.origins[parent(p.Path)]; ok {
		if entry, ok := l.sections[p.Path]; ok && from.Layer == LayerFile {
			return entry
		}
		return from
	}
	for _, path := range append([]string{p.Path}, p.also...) {
		if from, ok := l.origins[path]; ok {
			return from
		}
	}
	path := p.Path
	for {
		if from, ok := l.sections[path]; ok || path == "" {
			return from
		}
		path = parent(path)
	}
}

package configs

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"heddle/configs/strict"

	"heddle/configs/hadoopconf"
)

// EnvPrefix begins the name of every environment variable that sets a key:
// HEDDLE_RESOURCE_MANAGER_POLL_INTERVAL is resource_manager.poll_interval.
const EnvPrefix = "HEDDLE_"

// envTraces names the folder of the public traces that tests and benchmarks
// read (docs/workloads.md). It is no key of the configuration.
const envTraces = EnvPrefix + "TRACES"

// Options are the sources of a configuration.
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
	// Hadoop is the content of Hadoop's configuration directory; nil without one.
	Hadoop *hadoopconf.Config
	// Notices are for the operator and no errors, such as nameservices that heddle
	// does not read.
	Notices []string

	origins map[string]strict.Origin
}

// Entry is one effective key.
type Entry struct {
	Path   string
	Value  string
	Origin strict.Origin
}

// Load reads the configuration from all its layers and checks it. The error
// is Problems, with everything that is wrong.
func Load(opts Options) (*Loaded, error) {
	cfg := Default()
	l := &loader{Document: strict.NewDocument(&cfg, strict.Origin{}, hints()), cfg: &cfg, opts: opts, env: environment(opts.Env)}
	l.loadFlags()
	l.loadEnv()
	if opts.File != "" {
		l.ReadFile(opts.File, "configuration")
	}
	l.loadHadoop()
	l.giveFile("relay.socket", "relay.sock", "RUNTIME_DIRECTORY", "XDG_RUNTIME_DIR")
	l.giveFile("state.history_file", "history.json", "STATE_DIRECTORY", "XDG_STATE_HOME")
	if _, given := l.Origins["uplinks.capacity"]; !given && cfg.Uplinks.Oversubscription.Ratio > 0 {
		cfg.Uplinks.Capacity = 0 // the ratio replaces the default
	}
	l.Check(func(v *strict.Validator) { cfg.rules(v, opts.KnownPolicy) })
	if err := l.Err(); err != nil {
		return nil, err
	}
	return &Loaded{Config: cfg, Hadoop: l.hadoop, Notices: append(l.notices, cfg.notices()...), origins: l.Origins}, nil
}

// hints returns what problems of unknown keys say.
func hints() strict.Hints {
	return strict.Hints{
		Removed: map[string]string{
			"relay.journal":                      "removed with the journal; a restarted relay reads what applications ask from the ResourceManager",
			"uplinks.prometheus.timeout":         "a query may take as long as uplinks.prometheus.interval, at most 10s",
			"uplinks.shuffle_jmx.timeout":        "a request may take as long as uplinks.shuffle_jmx.interval, at most 10s",
			"uplinks.shuffle_jmx.datanode_https": "it had no effect; DataNodes are read over HTTPS where NodeManagers are",
		},
		PathKeys: "security.keytab, security.ccache, --web.config.file",
	}
}

// Entries lists every key with its effective value and where that came from, in
// the order of the reference.
func (l *Loaded) Entries() []Entry {
	keys := strict.KeysOf(&l.Config)
	entries := make([]Entry, len(keys))
	for i, k := range keys {
		entries[i] = Entry{k.Path, strict.TextOf(k.Field), l.origins[k.Path]}
	}
	return entries
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

// loader loads a configuration.
type loader struct {
	*strict.Document
	cfg     *Config
	opts    Options
	env     map[string]string
	hadoop  *hadoopconf.Config
	notices []string
}

func (l *loader) loadFlags() {
	if l.opts.HadoopConfDir != "" {
		l.GiveText("hadoop.conf_dir", strict.Origin{Layer: strict.LayerFlag, Name: "hadoop-conf-dir"}, l.opts.HadoopConfDir)
	}
	for _, name := range slices.Sorted(maps.Keys(l.opts.Flags)) {
		l.GiveText(strings.ReplaceAll(name, "-", "_"), strict.Origin{Layer: strict.LayerFlag, Name: name}, l.opts.Flags[name])
	}
}

func (l *loader) loadEnv() {
	for _, name := range slices.Sorted(maps.Keys(l.env)) {
		if !strings.HasPrefix(name, EnvPrefix) || name == envTraces || isFromKubernetes(name) {
			continue
		}
		from := strict.Origin{Layer: strict.LayerEnv, Name: name}
		i := slices.IndexFunc(l.Keys, func(k strict.Key) bool { return EnvName(k.Path) == name })
		if i < 0 {
			l.Problems = append(l.Problems, &strict.Problem{Origin: from, Message: l.UnknownKey(name, EnvName)})
			continue
		}
		l.GiveText(l.Keys[i].Path, from, l.env[name])
	}
}

// EnvName returns the environment variable that sets a key.
func EnvName(path string) string {
	return EnvPrefix + strings.ToUpper(strings.ReplaceAll(path, ".", "_"))
}

// isFromKubernetes reports whether a variable is one that Kubernetes gives every
// container in the namespace of a service called heddle.
func isFromKubernetes(name string) bool {
	for _, prefix := range []string{"HEDDLE_SERVICE_HOST", "HEDDLE_SERVICE_PORT", "HEDDLE_PORT"} {
		if name == prefix || strings.HasPrefix(name, prefix+"_") {
			return true
		}
	}
	return false
}

// environment indexes "KEY=value" lines; the last of several wins.
func environment(env []string) map[string]string {
	m := make(map[string]string, len(env))
	for _, kv := range env {
		if k, v, ok := strings.Cut(kv, "="); ok {
			m[k] = v
		}
	}
	return m
}

// giveConfDir gives the configuration directory that Hadoop's own tools use.
func (l *loader) giveConfDir() {
	give := func(dir, variable string) {
		l.GiveText("hadoop.conf_dir", strict.Origin{Layer: strict.LayerEnv, Name: variable}, dir)
	}
	for _, name := range []string{"HADOOP_CONF_DIR", "YARN_CONF_DIR"} {
		if dir := l.env[name]; dir != "" {
			give(dir, name)
		}
	}
	home := l.env["HADOOP_HOME"]
	for _, below := range []string{filepath.Join("etc", "hadoop"), "conf"} {
		dir := filepath.Join(home, below)
		if info, err := os.Stat(dir); home != "" && err == nil && info.IsDir() {
			give(dir, "HADOOP_HOME")
		}
	}
}

// giveFile gives a key the path of a file or directory below a directory that the environment names: systemd's
// variable or, in the folder heddle, XDG's.
func (l *loader) giveFile(path, name, systemd, xdg string) {
	for _, place := range []struct{ variable, name string }{{systemd, name}, {xdg, "heddle/" + name}} {
		dir, _, _ := strings.Cut(l.env[place.variable], ":") // systemd may name several
		if filepath.IsAbs(dir) {                             // XDG: any other is to be ignored
			l.GiveText(path, strict.Origin{Layer: strict.LayerEnv, Name: place.variable}, filepath.Join(dir, place.name))
		}
	}
}

// notices returns remarks for the operator on a valid configuration.
func (c *Config) notices() []string {
	var notices []string
	if c.MapReduce.Enabled && c.MapReduce.HistoryServer == "" {
		notices = append(notices, "mapreduce.history_server is not known: heddle reads no finished jobs")
	}
	if !isLoopback(c.Web.ListenAddress) {
		notices = append(notices, "web.listen_address "+c.Web.ListenAddress+" can be reached from other machines: set TLS and authentication with --web.config.file")
	}
	r := &c.Relay
	if !c.RelayRuns() {
		if r.Listen != "" || len(r.Listeners) > 0 {
			notices = append(notices, "relay.listen has no effect in mode "+string(c.Mode))
		}
		return notices
	}
	if address := r.Listeners[0].Address; isLoopback(address) {
		notices = append(notices, "the relay listens on "+address+", which only applications on this machine reach; relay.listen gives another address")
	}
	return notices
}

// isLoopback reports whether only this machine reaches an address.
func isLoopback(address string) bool {
	host, _, _ := net.SplitHostPort(address) // validated
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

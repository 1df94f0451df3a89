package main

import (
	"cmp"
	"os"

	"github.com/spf13/cobra"

	"heddle/cmd/heddle/internal/settings"
	"heddle/configs"
)

// configFlags are the flags of every command that reads a configuration.
type configFlags struct {
	webKey    string // the key of --web.listen-address; "" is web.listen_address
	file      string
	hadoopDir string
	overrides map[string]*string // by key path
}

// register adds the flags. Single keys have flags spelled as in Prometheus' tools.
func (f *configFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.file, "config", "", "the configuration `file` (YAML)")
	fs.StringVar(&f.hadoopDir, "hadoop-conf-dir", "", "the `directory` with Hadoop's own XML configuration (default: HADOOP_CONF_DIR)")
	f.overrides = map[string]*string{}
	for _, o := range []struct{ flag, key, help string }{
		{"mode", "mode", "what to do: observe, advise or enforce"},
		{"web.listen-address", cmp.Or(f.webKey, "web.listen_address"), "the `address` to listen on"},
		{"log.level", "log.level", "the least severity to log: trace, debug, info, warn or error"},
		{"log.format", "log.format", "the form of a log line: text or json"},
	} {
		f.overrides[o.key] = fs.String(o.flag, "", o.help)
	}
}

// load reads the configuration; flags override it.
func (f *configFlags) load() (*configs.Loaded, error) {
	flags := map[string]string{}
	for key, value := range f.overrides {
		if *value != "" {
			flags[key] = *value
		}
	}
	return configs.Load(configs.Options{File: f.file, Env: os.Environ(), Flags: flags, HadoopConfDir: f.hadoopDir, KnownPolicy: settings.KnownPolicy})
}

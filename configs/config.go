// Package configs holds heddle's configuration: the structs, their defaults,
// the strict load of one YAML file, what Hadoop's own XML files and the
// environment add to it, and its validation.
//
// Load reports every problem it finds at once, each with the key's path and
// the place the value came from. The order of precedence is flag, environment,
// file, Hadoop XML, default; Loaded.Provenance tells which one won. The doc
// comments of the Config structs are the users' reference: docs/config.md is
// generated from them.
package configs

// Mode is what the service does with what it sees.
type Mode string

// The modes.
const (
	ModeObserve Mode = "observe"
	ModeAdvise  Mode = "advise"
	ModeEnforce Mode = "enforce"
)

// Config is the whole configuration of the service.
type Config struct {
	// What the service does: `observe` reads the cluster, exports metrics and
	// records; `advise` also answers preferences over REST and compares what the
	// policy would have done with what happened; `enforce` also rewrites what the
	// applications ask for that reach the ResourceManager through the relay.
	// Reloaded on SIGHUP from advise to enforce and back while `relay.listen` is given.
	Mode Mode `yaml:"mode"`
	// Where Hadoop's own settings are read from.
	Hadoop HadoopConfig `yaml:"hadoop"`
	// How the ResourceManager's REST API is read.
	ResourceManager ResourceManagerConfig `yaml:"resource_manager"`
	// How MapReduce ApplicationMasters and the JobHistory server are read.
	MapReduce MapReduceConfig `yaml:"mapreduce"`
	// How the graphs of stages of Tez applications are read.
	Tez TezConfig `yaml:"tez"`
	// How the NameNode is read for block locations.
	HDFS HDFSConfig `yaml:"hdfs"`
	// The capacity of the rack uplinks and where their load is read from.
	Uplinks UplinksConfig `yaml:"uplinks"`
	// An optional table of racks to hold against, or use instead of, the racks Hadoop reports.
	Topology TopologyConfig `yaml:"topology"`
	// How heddle authenticates to Hadoop. Secrets are given by file path only.
	Security SecurityConfig `yaml:"security"`
	// The relay between ApplicationMasters and the ResourceManager's scheduler port.
	// `heddle client-config` prints what sends applications through it.
	Relay RelayConfig `yaml:"relay"`
	// When a rack's uplink counts as saturated (NetSat, ShuffleWatcher 3.1).
	// Reloaded on SIGHUP.
	Network NetworkConfig `yaml:"network"`
	// The scheduling policy and its parameters. Reloaded on SIGHUP.
	Policy PolicyConfig `yaml:"policy"`
	// The limits of the cluster state kept in memory.
	State StateConfig `yaml:"state"`
	// The HTTP server for REST and metrics. TLS, basic authentication and client
	// certificates are set in the usual web-config file, named by `--web.config.file`.
	Web WebConfig `yaml:"web"`
	// Logging.
	Log LogConfig `yaml:"log"`
	// The recording of what was observed and decided.
	Record RecordConfig `yaml:"record"`
}

// HadoopConfig says where Hadoop's own settings are read from.
type HadoopConfig struct {
	// The directory with core-site.xml, hdfs-site.xml, yarn-site.xml and
	// mapred-site.xml; a file that is missing is skipped. Without it the first of
	// $HADOOP_CONF_DIR, $YARN_CONF_DIR, $HADOOP_HOME/etc/hadoop and
	// $HADOOP_HOME/conf is used, or none.
	ConfDir string `yaml:"conf_dir"`
}

// TopologyUse is what a topology table is used for.
type TopologyUse string

// The uses of a topology table.
const (
	TopologyVerify   TopologyUse = "verify"
	TopologyOverride TopologyUse = "override"
)

// TopologyConfig names a table of racks.
type TopologyConfig struct {
	// A file of two columns, host name or IP address and then rack, as Hadoop's
	// TableMapping reads it. From Hadoop: net.topology.table.file.name, where
	// TableMapping is configured and the file exists here.
	Table string `yaml:"table"`
	// `verify` reports hosts whose rack in the table differs from Hadoop's;
	// `override` uses the table's rack for them, which the relay does not admit.
	Use TopologyUse `yaml:"use"`
}

// Authentication is how heddle authenticates to Hadoop.
type Authentication string

// The ways to authenticate.
const (
	AuthSimple   Authentication = "simple"
	AuthKerberos Authentication = "kerberos"
)

// SecurityConfig is the one place for credentials of every client. It holds
// paths of secrets, never a secret.
type SecurityConfig struct {
	// `simple` sends a user name, `kerberos` authenticates with a keytab or a
	// ticket cache. From Hadoop: hadoop.security.authentication.
	Authentication Authentication `yaml:"authentication"`
	// The client's principal, such as `heddle/_HOST@EXAMPLE.COM`; needed with a keytab.
	// `_HOST` stands for this machine's name.
	Principal string `yaml:"principal"`
	// The keytab's file. Either a keytab or a ticket cache is given.
	Keytab string `yaml:"keytab"`
	// The ticket cache's file, which something else renews (kinit, k5start).
	CCache string `yaml:"ccache"`
	// Kerberos' own configuration file.
	Krb5Conf string `yaml:"krb5_conf"`
	// The principal of Hadoop's HTTP services; `_HOST` stands for the server's name.
	ServicePrincipal string `yaml:"service_principal"`
}

// NetworkConfig holds the thresholds of NetSat.
type NetworkConfig struct {
	// The utilisation of a rack's uplink, 0 to 1, at which it becomes saturated.
	Saturation float64 `yaml:"saturation"`
	// How often the utilisation is sampled.
	Period Duration `yaml:"period"`
	// The time constant of the samples' moving average; `0s` takes them as they are.
	EWMA Duration `yaml:"ewma"`
	// How far below `saturation` the utilisation must fall for the rack to be
	// free again; 0 for none.
	Hysteresis float64 `yaml:"hysteresis"`
}

// PolicyConfig chooses the scheduling policy.
type PolicyConfig struct {
	// The policy's name; `heddle policies` lists them.
	Name string `yaml:"name"`
	// The policy's own parameters, checked by the policy; those not given have the
	// policy's defaults.
	Params Params `yaml:"params"`
}

// StateConfig holds the limits of the state kept in memory.
type StateConfig struct {
	// A decision on cluster state older than this is not made.
	MaxAge Duration `yaml:"max_age"`
	// The least time between two snapshots for the readers (REST, metrics).
	PublishInterval Duration `yaml:"publish_interval"`
	// How many observations may wait for the state; beyond it the sources wait, and
	// the wait is counted.
	QueueLength int `yaml:"queue_length"`
	// How many finished jobs are remembered, for questions about them.
	FinishedJobsKept int `yaml:"finished_jobs_kept"`
	// The file that keeps what recurring jobs read and shuffled, by user and name with
	// dates and numbers folded, so that a job's shuffle can be predicted before its
	// first map is done: at most 10,000 jobs, the last 4 runs of each. Without the key:
	// `history.json` in systemd's $STATE_DIRECTORY or `heddle/history.json` in
	// $XDG_STATE_HOME, else none. Empty keeps none: what was measured is forgotten on a
	// restart. A file that cannot be read is moved aside, with a warning.
	HistoryFile string `yaml:"history_file"`
}

// WebConfig is the HTTP server of REST and metrics.
type WebConfig struct {
	// The host and port to listen on. Anything but the loopback wants TLS and
	// authentication (`--web.config.file`). The port lies outside 9100 to 9999, the
	// range Prometheus allots to exporters, where none is free any more.
	ListenAddress string `yaml:"listen_address"`
	// The largest request body that is read.
	MaxBody Size `yaml:"max_body"`
	// The longest a request may take, from its first byte to the answer's last.
	Timeout Duration `yaml:"timeout"`
	// How many requests are served at once; the next ones are answered 503.
	Concurrency int `yaml:"concurrency"`
}

// LogLevel is the least severity that is logged.
type LogLevel string

// The log levels.
const (
	LogTrace LogLevel = "trace"
	LogDebug LogLevel = "debug"
	LogInfo  LogLevel = "info"
	LogWarn  LogLevel = "warn"
	LogError LogLevel = "error"
)

// LogFormat is the form of a log line.
type LogFormat string

// The log formats.
const (
	LogText LogFormat = "text"
	LogJSON LogFormat = "json"
)

// LogConfig is the log, which goes to standard error.
type LogConfig struct {
	// The least severity that is logged: `trace`, `debug`, `info`, `warn` or
	// `error`. Reloaded on SIGHUP.
	Level LogLevel `yaml:"level"`
	// The form of a line: `text` or `json`. Reloaded on SIGHUP.
	Format LogFormat `yaml:"format"`
}

// RecordConfig is the recording of what was observed and decided.
type RecordConfig struct {
	// The file to write (JSON lines, zstd); empty records nothing. An existing file
	// is never overwritten.
	File string `yaml:"file"`
	// The size at which a new file is begun.
	MaxSize Size `yaml:"max_size"`
	// How often what was recorded is flushed to the file: what a sudden death loses at most.
	FlushInterval Duration `yaml:"flush_interval"`
}

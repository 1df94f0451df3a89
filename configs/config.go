// Package configs holds heddle's configuration: the structs with their defaults
// and limits, the strict load of one YAML file with what flags, the environment
// and Hadoop's own XML files add to it, and the checks across keys.
//
// Load reports every problem at once, each with the key's path and the place
// the value came from. The order of precedence is flag, environment, file,
// Hadoop XML, default; Loaded.Entries lists the layer of each value.
//
// The fields' comments and tags are the reference: docs/config.md is generated
// from them. The tags are
//
//	yaml      the key's name within its section
//	default   the value without any layer; the zero value where it is missing
//	range     "LOW..HIGH", both included; of a map, the range of its values
//	oneof     the values a text may have, separated by commas; an empty one first lets it be empty
//	removed   "OLD=NEW": a value of oneof that was, and the one that replaces it
//	format    what a text, or every item of a list, looks like (see formats); "unique" forbids items given twice
//	reload    "true": a running service applies the key on SIGHUP
//	advanced  "true": the key's path begins with "advanced."
package configs

import (
	"cmp"

	"heddle/configs/strict"
)

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
	// `observe` reads the cluster, exports metrics and records. `advise` also answers
	// questions for preferences over REST, and compares the policy's plans with what the
	// cluster did. `enforce` also rewrites the allocate calls of applications that reach
	// the ResourceManager through the relay. A SIGHUP changes advise to enforce and back
	// if `relay.listen` is given.
	Mode Mode `yaml:"mode" default:"observe" oneof:"observe,advise,enforce"`
	// The place of Hadoop's own settings.
	Hadoop HadoopConfig `yaml:"hadoop"`
	// How heddle reads the ResourceManager's REST API.
	ResourceManager ResourceManagerConfig `yaml:"resource_manager"`
	// How heddle reads MapReduce ApplicationMasters and the JobHistory server.
	MapReduce MapReduceConfig `yaml:"mapreduce"`
	// How heddle reads the stage graphs of Tez applications.
	Tez TezConfig `yaml:"tez"`
	// How heddle reads block locations from the NameNode.
	HDFS HDFSConfig `yaml:"hdfs"`
	// The capacity of the rack uplinks and the source of their load.
	Uplinks UplinksConfig `yaml:"uplinks"`
	// An optional table of racks, to compare with those that Hadoop reports or to replace them.
	Topology TopologyConfig `yaml:"topology"`
	// How heddle authenticates to Hadoop. A secret is given by the path of its file.
	Security SecurityConfig `yaml:"security"`
	// The relay between ApplicationMasters and the ResourceManager's scheduler port.
	// `heddle client-config` prints the settings that send applications through it.
	Relay RelayConfig `yaml:"relay"`
	// When a rack's uplink counts as saturated (NetSat, ShuffleWatcher 3.1).
	Network NetworkConfig `yaml:"network" reload:"true"`
	// The scheduling policy and its parameters.
	Policy PolicyConfig `yaml:"policy" reload:"true"`
	// Policies beside the one above that make plans of the same observations, and steer nothing.
	Shadow ShadowConfig `yaml:"shadow" reload:"true"`
	// Whether steering pays, by queue; where it does not it is turned off.
	Guard GuardConfig `yaml:"guard" reload:"true"`
	// The cluster state in memory.
	State StateConfig `yaml:"state"`
	// The HTTP server for REST and metrics. The file that `--web.config.file` names sets
	// TLS, basic authentication and client certificates, as for Prometheus' exporters.
	Web WebConfig `yaml:"web"`
	// Logging.
	Log LogConfig `yaml:"log" reload:"true"`
	// The recording of observations and decisions.
	Record RecordConfig `yaml:"record"`
}

// HadoopConfig is the place of Hadoop's own settings.
type HadoopConfig struct {
	// The directory of core-site.xml, hdfs-site.xml, yarn-site.xml and
	// mapred-site.xml. heddle skips a file that is missing. Without the key heddle uses the
	// first of $HADOOP_CONF_DIR, $YARN_CONF_DIR, $HADOOP_HOME/etc/hadoop and
	// $HADOOP_HOME/conf that exists, or none.
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
	// A file of two columns: a host name or IP address, and its rack, as Hadoop's
	// TableMapping reads it. From Hadoop: net.topology.table.file.name, if
	// TableMapping is configured and the file exists on this machine.
	Table string `yaml:"table"`
	// `verify` reports hosts whose rack in the table differs from Hadoop's.
	// `override` uses the table's rack for them; it cannot be combined with the relay.
	Use TopologyUse `yaml:"use" default:"verify" oneof:"verify,override"`
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
	// `simple` sends a user name. `kerberos` authenticates with a keytab or a
	// ticket cache. From Hadoop: hadoop.security.authentication.
	Authentication Authentication `yaml:"authentication" default:"simple" oneof:"simple,kerberos"`
	// heddle's principal, such as `heddle/_HOST@EXAMPLE.COM`. A keytab requires it.
	// `_HOST` stands for this machine's name.
	Principal string `yaml:"principal"`
	// The keytab's file. Give either a keytab or a ticket cache.
	Keytab string `yaml:"keytab"`
	// The ticket cache's file. Another program renews it (kinit, k5start).
	CCache string `yaml:"ccache"`
	// Kerberos' own configuration file.
	Krb5Conf string `yaml:"krb5_conf" default:"/etc/krb5.conf"`
	// The principal of Hadoop's HTTP services; `_HOST` stands for the server's name.
	ServicePrincipal string `yaml:"service_principal" default:"HTTP/_HOST" format:"principal"`
}

// NetworkConfig holds the thresholds of NetSat.
type NetworkConfig struct {
	// The utilisation of a rack's uplink at which it becomes saturated: above 0, at most 1.
	Saturation float64 `yaml:"saturation" default:"0.8"`
	// How often heddle samples the uplinks' utilisation.
	Period strict.Duration `yaml:"period" default:"1s" range:"100ms..1m" advanced:"true"`
	// The time constant of the moving average over the samples. `0s` averages nothing.
	EWMA strict.Duration `yaml:"ewma" default:"5s" range:"0s..10m" advanced:"true"`
	// How far below `saturation` the utilisation must fall before the rack is no longer
	// saturated.
	Hysteresis float64 `yaml:"hysteresis" default:"0.05"`
}

// PolicyConfig chooses the scheduling policy.
type PolicyConfig struct {
	// The policy's name. `heddle policies` lists them.
	Name string `yaml:"name" default:"weave"`
	// The policy's own parameters. The policy checks them, and has a default for each.
	Params strict.Params `yaml:"params"`
}

// ShadowConfig holds the policies that are only compared.
type ShadowConfig struct {
	// The policies. `/v1/shadow` and `heddle_regret_bytes_total` say what each would have saved and lost.
	Policies []ShadowPolicy `yaml:"policies" reload:"true"`
	// The share of heddle's main loop that they may take together. Beyond it they skip rounds, and
	// `heddle_shadow_skipped_total` counts.
	LoopTime float64 `yaml:"loop_time" default:"0.1" reload:"true"`
}

// ShadowPolicy is one policy that is only compared.
type ShadowPolicy struct {
	// The policy's name. `heddle policies` lists them.
	Name string `yaml:"name"`
	// What REST and metrics call it. The default is its name.
	Label string `yaml:"label" format:"name"`
	// The policy's own parameters. The policy checks them, and has a default for each.
	Params strict.Params `yaml:"params"`
}

// Called returns what REST and metrics call the policy.
func (p *ShadowPolicy) Called() string { return cmp.Or(p.Label, p.Name) }

// GuardConfig holds when steering is turned off for a queue.
type GuardConfig struct {
	// Whether steering is turned off for a queue where it loses: where by the closed forms and
	// by how long asks waited, or by how long applications took beside unsteered ones, they
	// are worse off than without it.
	Enabled bool `yaml:"enabled" default:"true" reload:"true"`
	// The share of applications that are never steered, to compare the others with: below 0.5.
	// Which they are follows from the application's id, so that every heddle of a cluster
	// chooses the same. By default there are none, and what applications took is compared only
	// where other applications of the queue happen to be unsteered.
	Control float64 `yaml:"control" reload:"true"`
	// How long an application counts after its end.
	Window strict.Duration `yaml:"window" default:"1h" range:"1m..24h" reload:"true"`
	// How many applications of a queue have to have ended within the window before anything is
	// concluded.
	MinApplications int `yaml:"min_applications" default:"10" range:"2..500" reload:"true"`
	// How much may be lost: a part of what applications took.
	Margin float64 `yaml:"margin" default:"0.05" reload:"true"`
	// How long steering is off. Each further time doubles it, up to a week.
	OffFor strict.Duration `yaml:"off_for" default:"6h" range:"1m..168h" reload:"true"`
}

// StateConfig holds the limits of the cluster state in memory.
type StateConfig struct {
	// The policy makes no decision on cluster state that is older.
	MaxAge strict.Duration `yaml:"max_age" default:"30s" range:"1s..1h"`
	// The shortest time between two snapshots for REST and metrics.
	PublishInterval strict.Duration `yaml:"publish_interval" default:"1s" range:"10ms..1m" advanced:"true"`
	// How many observations may wait to be applied to the state. When the queue is full the
	// sources wait, and `heddle_queue_full_total` counts.
	QueueLength int `yaml:"queue_length" default:"1024" range:"1..1000000" advanced:"true"`
	// How many finished jobs stay in the state, for questions about them.
	FinishedJobsKept int `yaml:"finished_jobs_kept" default:"1000" range:"0..1000000" advanced:"true"`
	// The file with the input and shuffle sizes of recurring jobs. With it heddle predicts
	// a job's shuffle before its first map is done. Jobs recur if user and name are equal;
	// dates and numbers in the name do not count. The file holds the last 4 runs of 10,000
	// jobs at most. Without the key it is `history.json` in systemd's $STATE_DIRECTORY, else
	// `heddle/history.json` in $XDG_STATE_HOME, else there is none. An empty value switches it
	// off. heddle renames a file that it cannot read and logs a warning.
	HistoryFile string `yaml:"history_file" format:"path"`
}

// WebConfig is the HTTP server of REST and metrics.
type WebConfig struct {
	// The host and port to listen on. Set TLS and authentication (`--web.config.file`) if
	// other machines can reach the address. The default port lies outside 9100 to 9999, the
	// range that Prometheus has allotted to exporters.
	ListenAddress string `yaml:"listen_address" default:"127.0.0.1:7909" format:"listen"`
	// The largest body of a REST request. The answer to a larger one is 413.
	MaxBody strict.Size `yaml:"max_body" default:"1MiB" range:"1KiB..1GiB" advanced:"true"`
	// The longest a REST request may take, from its first byte to the answer's last.
	Timeout strict.Duration `yaml:"timeout" default:"10s" range:"100ms..10m" advanced:"true"`
	// How many REST requests heddle serves at once. The answer to further ones is 503.
	Concurrency int `yaml:"concurrency" default:"64" range:"1..65536" advanced:"true"`
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
	// The lowest severity that heddle logs.
	Level LogLevel `yaml:"level" default:"info" oneof:"trace,debug,info,warn,error"`
	// The format of a line.
	Format LogFormat `yaml:"format" default:"text" oneof:"text,json"`
}

// RecordConfig is the recording of what was observed and decided.
type RecordConfig struct {
	// The file to write: JSON lines, compressed with zstd. Without it heddle records nothing.
	// heddle never overwrites a file: after a restart it goes on in a new one.
	File string `yaml:"file"`
	// The size at which heddle begins a new file.
	MaxSize strict.Size `yaml:"max_size" default:"1GiB" range:"1MiB..1TiB"`
	// The age at which heddle begins a new file.
	MaxAge strict.Duration `yaml:"max_age" default:"24h" range:"1m..8760h"`
	// How often heddle writes buffered records to the file. A crash loses no more than that.
	FlushInterval strict.Duration `yaml:"flush_interval" default:"1s" range:"10ms..1m" advanced:"true"`
}

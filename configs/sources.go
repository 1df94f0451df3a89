package configs

// ResourceManagerConfig is how the ResourceManager's REST API is read.
type ResourceManagerConfig struct {
	// The base URLs of all ResourceManagers, such as `http://rm1:8088`; heddle finds the
	// active one. From Hadoop: yarn.resourcemanager.ha.rm-ids with
	// webapp.address, webapp.https.address or hostname of each, by yarn.http.policy.
	URLs []string `yaml:"urls"`
	// The user name sent with simple authentication; empty sends none, and Hadoop
	// then takes its static user (dr.who).
	User string `yaml:"user"`
	// The time from one poll's start to the next one's; at least 100ms.
	PollInterval Duration `yaml:"poll_interval"`
	// The longest one request may take.
	Timeout Duration `yaml:"timeout"`
	// The largest answer that is accepted, unpacked.
	MaxAnswer Size `yaml:"max_answer"`
	// The most requests per second spent on the ResourceManager, polls of
	// applications through its proxy not included.
	RequestsPerSecond float64 `yaml:"requests_per_second"`
	// The most bytes per second received from the ResourceManager, on average.
	BytesPerSecond Rate `yaml:"bytes_per_second"`
	// Whether CapacityScheduler counts vcores as well as memory, which its REST API does
	// not tell where heddle reads it: true with `yarn.scheduler.capacity.resource-calculator` =
	// DominantResourceCalculator. FairScheduler counts them always.
	CountVCores bool `yaml:"count_vcores"`
}

// MapReduceConfig is how MapReduce jobs are read.
type MapReduceConfig struct {
	// Whether running jobs are read from their ApplicationMasters and finished ones
	// from the JobHistory server. Without it nothing is known of map output.
	Enabled bool `yaml:"enabled"`
	// The JobHistory server's base URL, such as `http://jhs:19888`; empty skips finished
	// jobs. From Hadoop: mapreduce.jobhistory.webapp.address, or .https.address by
	// mapreduce.jobhistory.http.policy.
	HistoryServer string `yaml:"history_server"`
	// The time from one poll of a running job to its next; at least 100ms.
	PollInterval Duration `yaml:"poll_interval"`
	// The longest one request may take.
	Timeout Duration `yaml:"timeout"`
	// The most requests per second to all ApplicationMasters and the JobHistory
	// server together. They pass through the ResourceManager's proxy.
	RequestsPerSecond float64 `yaml:"requests_per_second"`
	// The most bytes per second received from them, on average.
	BytesPerSecond Rate `yaml:"bytes_per_second"`
	// How long a job that does not answer is tried before it is given up.
	GiveUpAfter Duration `yaml:"give_up_after"`
}

// TezConfig is how the timeline server is read for the graphs of Tez
// applications.
type TezConfig struct {
	// The base URL of YARN's timeline server (version 1 or 1.5), such as `http://ats:8188`;
	// empty reads no graphs, and a policy that plans by stages has none of Tez applications.
	// From Hadoop: yarn.timeline-service.webapp.address or .https.address by yarn.http.policy,
	// where yarn.timeline-service.enabled is true and its version is below 2.
	TimelineServer string `yaml:"timeline_server"`
	// The time from one poll of the running applications to the next; at least 100ms.
	PollInterval Duration `yaml:"poll_interval"`
	// The longest one request may take.
	Timeout Duration `yaml:"timeout"`
	// The most requests per second to the timeline server; each running application takes two a poll.
	RequestsPerSecond float64 `yaml:"requests_per_second"`
	// The most bytes per second received from it, on average.
	BytesPerSecond Rate `yaml:"bytes_per_second"`
}

// Walk is the protocol block locations are read with.
type Walk string

// The ways to read block locations.
const (
	WalkWebHDFS Walk = "webhdfs"
	WalkRPC     Walk = "rpc"
	WalkNative  Walk = "native"
)

// HDFSConfig is how the NameNode is read.
type HDFSConfig struct {
	// Whether block locations are read. Without it preferences know no data locality.
	Enabled bool `yaml:"enabled"`
	// The nameservice to read where Hadoop's files name several. Without it the one of
	// fs.defaultFS is read.
	Nameservice string `yaml:"nameservice"`
	// The base URLs of the nameservice's NameNodes, such as `http://nn1:9870`; heddle finds
	// the active one. From Hadoop: dfs.namenode.http-address or https-address of
	// dfs.ha.namenodes.NAMESERVICE, by dfs.http.policy.
	NameNodes []string `yaml:"name_nodes"`
	// The NameNodes' RPC addresses, such as `nn1:8020`. From Hadoop:
	// dfs.namenode.rpc-address, or fs.defaultFS.
	RPCAddresses []string `yaml:"rpc_addresses"`
	// The protocol of namespace walks: `webhdfs`, `rpc` or `native`. The last two want
	// `rpc_addresses`; `native` brings listings and block locations together, many files
	// in one request, and has simple authentication only.
	Walk Walk `yaml:"walk"`
	// The user name sent with simple authentication; it needs the right to read the
	// jobs' input directories.
	User string `yaml:"user"`
	// The NameNode's RPC principal with Kerberos; `_HOST` stands for the server's
	// name. From Hadoop: dfs.namenode.kerberos.principal.
	ServicePrincipal string `yaml:"service_principal"`
	// The most files walked for one job's input; what is beyond it is counted and left out.
	MaxFiles int `yaml:"max_files"`
	// The most blocks read for one job's input; what is beyond it is counted and left out.
	MaxBlocks int `yaml:"max_blocks"`
	// How many blocks' locations are cached.
	CacheBlocks int `yaml:"cache_blocks"`
	// How long a cached block location is used.
	CacheAge Duration `yaml:"cache_age"`
	// The time between two reads of DataNodes and topology.
	Interval Duration `yaml:"interval"`
	// The longest one request may take.
	Timeout Duration `yaml:"timeout"`
	// The most requests per second to the NameNode, over HTTP and RPC together.
	RequestsPerSecond float64 `yaml:"requests_per_second"`
	// The most bytes per second received from the NameNode, on average.
	BytesPerSecond Rate `yaml:"bytes_per_second"`
}

// UplinkSource is where the load of rack uplinks is read from.
type UplinkSource string

// The sources of uplink load.
const (
	UplinkEstimate   UplinkSource = "estimate"
	UplinkShuffleJMX UplinkSource = "shuffle-jmx"
	UplinkPrometheus UplinkSource = "prometheus"
)

// UplinksConfig is the capacity of the rack uplinks and where their load is
// read from.
type UplinksConfig struct {
	// Where the load is read from: `estimate` computes it from the shuffle matrix and the jobs'
	// progress, `shuffle-jmx` reads byte counters of NodeManagers and DataNodes,
	// `prometheus` asks a Prometheus server for the site's own counters.
	Source UplinkSource `yaml:"source"`
	// The capacity of a rack's uplink in each direction, for racks not listed below. Not
	// together with `oversubscription`.
	Capacity Rate `yaml:"capacity"`
	// Capacities of single racks, by the rack's name as Hadoop prints it.
	Racks map[string]Rate `yaml:"racks"`
	// Derives capacities from the number of nodes of a rack, in place of `capacity`.
	Oversubscription OversubscriptionConfig `yaml:"oversubscription"`
	// Settings of the source `prometheus`.
	Prometheus PrometheusConfig `yaml:"prometheus"`
	// Settings of the source `shuffle-jmx`.
	ShuffleJMX ShuffleJMXConfig `yaml:"shuffle_jmx"`
}

// OversubscriptionConfig derives an uplink's capacity: the rack's nodes times
// NodeNIC divided by Ratio.
type OversubscriptionConfig struct {
	// The summed bandwidth of a rack's nodes divided by that of its uplink, 5 for
	// 5:1; 0 when not used.
	Ratio float64 `yaml:"ratio"`
	// The bandwidth of one node's network card; needed with `ratio`.
	NodeNIC Rate `yaml:"node_nic"`
}

// PrometheusConfig is where the site's own uplink counters are asked for. Each
// query's answer is a vector with a label `rack`, in bytes per second.
type PrometheusConfig struct {
	// The base URL of the Prometheus server.
	URL string `yaml:"url"`
	// The query for bytes per second leaving each rack.
	OutQuery string `yaml:"out_query"`
	// The query for bytes per second entering each rack.
	InQuery string `yaml:"in_query"`
	// The time between two queries.
	Interval Duration `yaml:"interval"`
	// The longest a query may take.
	Timeout Duration `yaml:"timeout"`
}

// ShuffleJMXConfig is how byte counters of NodeManagers (ShuffleMetrics) and
// DataNodes (DataNodeActivity) are read.
type ShuffleJMXConfig struct {
	// The time between two reads of a node.
	Interval Duration `yaml:"interval"`
	// The longest one request may take.
	Timeout Duration `yaml:"timeout"`
	// How many nodes are read at once.
	Concurrency int `yaml:"concurrency"`
	// The port of the DataNodes' web server. From Hadoop: dfs.datanode.http.address,
	// or dfs.datanode.https.address by dfs.http.policy.
	DataNodeHTTPPort int `yaml:"datanode_http_port"`
	// Whether DataNodes are read over HTTPS. From Hadoop: dfs.http.policy.
	DataNodeHTTPS bool `yaml:"datanode_https"`
	// Whether NodeManagers are read over HTTPS. From Hadoop: yarn.http.policy.
	NodeManagerHTTPS bool `yaml:"node_manager_https"`
}

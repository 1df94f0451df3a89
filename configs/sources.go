package configs

import "heddle/configs/strict"

// ResourceManagerConfig is how the ResourceManager's REST API is read.
type ResourceManagerConfig struct {
	// The base URLs of all ResourceManagers, such as `http://rm1:8088`. heddle finds the
	// active one. From Hadoop: yarn.resourcemanager.ha.rm-ids with
	// webapp.address, webapp.https.address or hostname of each, by yarn.http.policy.
	URLs []string `yaml:"urls" format:"url,unique"`
	// The user name for simple authentication. With an empty value heddle sends none, and
	// Hadoop uses its static user (dr.who).
	User string `yaml:"user" default:"heddle"`
	// The time from the start of one poll to the start of the next.
	PollInterval strict.Duration `yaml:"poll_interval" default:"1s" range:"100ms..1h"`
	// The longest one request to the ResourceManager may take.
	Timeout strict.Duration `yaml:"timeout" default:"10s" range:"100ms..10m" advanced:"true"`
	// The largest answer of any Hadoop web server that heddle accepts, decompressed.
	MaxAnswer strict.Size `yaml:"max_answer" default:"64MiB" range:"64KiB..4GiB" advanced:"true"`
	// The most requests per second to the ResourceManager. Requests to
	// ApplicationMasters through its proxy do not count.
	RequestsPerSecond float64 `yaml:"requests_per_second" default:"20" range:"0.1..100000"`
	// The most bytes per second received from the ResourceManager, on average.
	BytesPerSecond strict.Rate `yaml:"bytes_per_second" default:"16MiB/s" range:"1KiB/s..1Tbps"`
	// Whether CapacityScheduler counts vcores as well as memory. Set it if
	// `yarn.scheduler.capacity.resource-calculator` is DominantResourceCalculator: the REST API
	// does not say so. FairScheduler always counts them.
	CountVCores bool `yaml:"count_vcores"`
}

// MapReduceConfig is how MapReduce jobs are read.
type MapReduceConfig struct {
	// Whether heddle reads running jobs from their ApplicationMasters and finished ones
	// from the JobHistory server. Without it heddle does not know where map output is.
	Enabled bool `yaml:"enabled" default:"true"`
	// The JobHistory server's base URL, such as `http://jhs:19888`. With an empty value heddle
	// does not read finished jobs. From Hadoop: mapreduce.jobhistory.webapp.address, or
	// .https.address by mapreduce.jobhistory.http.policy.
	HistoryServer string `yaml:"history_server" format:"url"`
	// The time from one poll of a running job to the next.
	PollInterval strict.Duration `yaml:"poll_interval" default:"2s" range:"100ms..1h"`
	// The longest one request to an ApplicationMaster or the JobHistory server may take.
	Timeout strict.Duration `yaml:"timeout" default:"10s" range:"100ms..10m" advanced:"true"`
	// The most requests per second to all ApplicationMasters and the JobHistory
	// server together. Those to ApplicationMasters pass through the ResourceManager's proxy.
	RequestsPerSecond float64 `yaml:"requests_per_second" default:"20" range:"0.1..100000"`
	// The most bytes per second received from them, on average.
	BytesPerSecond strict.Rate `yaml:"bytes_per_second" default:"8MiB/s" range:"1KiB/s..1Tbps"`
	// How long heddle looks for a job that neither its ApplicationMaster nor the JobHistory
	// server reports.
	GiveUpAfter strict.Duration `yaml:"give_up_after" default:"5m" range:"1s..24h" advanced:"true"`
}

// TezConfig is how the timeline server is read for the graphs of Tez
// applications.
type TezConfig struct {
	// The base URL of YARN's timeline server (version 1 or 1.5), such as `http://ats:8188`.
	// With an empty value heddle reads no graphs of Tez applications.
	// From Hadoop: yarn.timeline-service.webapp.address or .https.address by yarn.http.policy,
	// if yarn.timeline-service.enabled is true and its version is below 2.
	TimelineServer string `yaml:"timeline_server" format:"url"`
	// The time from one poll of the running applications to the next.
	PollInterval strict.Duration `yaml:"poll_interval" default:"5s" range:"100ms..1h"`
	// The longest one request to the timeline server may take.
	Timeout strict.Duration `yaml:"timeout" default:"10s" range:"100ms..10m" advanced:"true"`
	// The most requests per second to the timeline server. Each poll makes two for every
	// running application.
	RequestsPerSecond float64 `yaml:"requests_per_second" default:"10" range:"0.1..100000"`
	// The most bytes per second received from the timeline server, on average.
	BytesPerSecond strict.Rate `yaml:"bytes_per_second" default:"4MiB/s" range:"1KiB/s..1Tbps" advanced:"true"`
}

// Walk is the protocol block locations are read with.
type Walk string

// The ways to read block locations.
const (
	WalkRPC     Walk = "rpc"
	WalkWebHDFS Walk = "webhdfs"
)

// HDFSConfig is how the NameNode is read.
type HDFSConfig struct {
	// Whether heddle reads block locations. Without them preferences ignore where data is.
	Enabled bool `yaml:"enabled" default:"true"`
	// The nameservice to read, if Hadoop's files name several. Without the key heddle reads
	// the one of fs.defaultFS.
	Nameservice string `yaml:"nameservice"`
	// The base URLs of the nameservice's NameNodes, such as `http://nn1:9870`. heddle finds
	// the active one. From Hadoop: dfs.namenode.http-address or https-address of
	// dfs.ha.namenodes.NAMESERVICE, by dfs.http.policy.
	NameNodes []string `yaml:"name_nodes" format:"url,unique"`
	// The NameNodes' RPC addresses, such as `nn1:8020`. From Hadoop:
	// dfs.namenode.rpc-address, or fs.defaultFS.
	RPCAddresses []string `yaml:"rpc_addresses" format:"address,unique"`
	// The protocol that lists files and finds their blocks. `rpc` gets the block locations
	// of many files in one request; heddle uses WebHDFS instead while it knows no
	// `rpc_addresses` or none of them serves. `webhdfs` takes a request for each file.
	Walk Walk `yaml:"walk" default:"rpc" oneof:"rpc,webhdfs" removed:"native=rpc"`
	// The user name for simple authentication. It needs the right to read the jobs' input
	// directories.
	User string `yaml:"user" default:"heddle"`
	// The NameNode's RPC principal. `_HOST` stands for the server's name. From Hadoop:
	// dfs.namenode.kerberos.principal.
	ServicePrincipal string `yaml:"service_principal" default:"nn/_HOST" format:"principal" advanced:"true"`
	// The most files that heddle lists for one job's input. heddle ignores further ones and
	// counts them.
	MaxFiles int `yaml:"max_files" default:"10000" range:"1..10000000" advanced:"true"`
	// The most blocks that heddle locates for one job's input. heddle ignores further ones
	// and counts them.
	MaxBlocks int `yaml:"max_blocks" default:"100000" range:"1..100000000" advanced:"true"`
	// How many block locations heddle caches, at about 170 bytes each.
	CacheBlocks int `yaml:"cache_blocks" default:"1000000" range:"0..100000000"`
	// How long a cached block location is valid.
	CacheAge strict.Duration `yaml:"cache_age" default:"10m" range:"0s..24h" advanced:"true"`
	// The time between two reads of the DataNodes and their racks.
	Interval strict.Duration `yaml:"interval" default:"30s" range:"1s..24h"`
	// The longest one request to the NameNode may take.
	Timeout strict.Duration `yaml:"timeout" default:"10s" range:"100ms..10m" advanced:"true"`
	// The most requests per second to the NameNode, over HTTP and RPC together.
	RequestsPerSecond float64 `yaml:"requests_per_second" default:"50" range:"0.1..100000"`
	// The most bytes per second received from the NameNode, on average.
	BytesPerSecond strict.Rate `yaml:"bytes_per_second" default:"16MiB/s" range:"1KiB/s..1Tbps"`
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
	// The source of the load. `estimate` computes it from the shuffle matrix and the jobs'
	// progress. `shuffle-jmx` reads byte counters of NodeManagers and DataNodes.
	// `prometheus` queries a Prometheus server for the site's own counters.
	Source UplinkSource `yaml:"source" default:"estimate" oneof:"estimate,shuffle-jmx,prometheus"`
	// The capacity of a rack's uplink in each direction, for racks that `uplinks.racks` does
	// not list. It cannot be combined with `oversubscription`.
	Capacity strict.Rate `yaml:"capacity" default:"1Gbps"`
	// The capacities of single racks, by the rack's name as Hadoop prints it.
	Racks map[string]strict.Rate `yaml:"racks" range:"1Mbps..100Tbps"`
	// Computes capacities from the number of nodes of a rack, instead of `capacity`.
	Oversubscription OversubscriptionConfig `yaml:"oversubscription"`
	// Settings of the source `prometheus`.
	Prometheus PrometheusConfig `yaml:"prometheus"`
	// Settings of the source `shuffle-jmx`.
	ShuffleJMX ShuffleJMXConfig `yaml:"shuffle_jmx"`
}

// OversubscriptionConfig derives an uplink's capacity: the rack's nodes times
// NodeNIC divided by Ratio.
type OversubscriptionConfig struct {
	// The bandwidth of a rack's nodes together, divided by that of its uplink: 5 for 5:1.
	// 0 switches this off.
	Ratio float64 `yaml:"ratio"`
	// The bandwidth of one node's network card. `ratio` requires it.
	NodeNIC strict.Rate `yaml:"node_nic"`
}

// PrometheusConfig is where the site's own uplink counters are asked for. Each
// query's answer is a vector with a label `rack`, in bytes per second.
type PrometheusConfig struct {
	// The base URL of the Prometheus server.
	URL string `yaml:"url" format:"url"`
	// The query for bytes per second leaving each rack.
	OutQuery string `yaml:"out_query"`
	// The query for bytes per second entering each rack.
	InQuery string `yaml:"in_query"`
	// The time between two queries. One query may take as long, but at most 10s.
	Interval strict.Duration `yaml:"interval" default:"5s" range:"1s..1h"`
}

// ShuffleJMXConfig is how byte counters of NodeManagers (ShuffleMetrics) and
// DataNodes (DataNodeActivity) are read.
type ShuffleJMXConfig struct {
	// The time between two reads of a node. One request may take as long, but at most 10s.
	Interval strict.Duration `yaml:"interval" default:"5s" range:"1s..1h"`
	// How many nodes heddle reads at once.
	Concurrency int `yaml:"concurrency" default:"32" range:"1..4096" advanced:"true"`
	// The port of the DataNodes' web server. From Hadoop: dfs.datanode.http.address,
	// or dfs.datanode.https.address by dfs.http.policy.
	DataNodeHTTPPort int `yaml:"datanode_http_port" default:"9864" range:"1..65535" advanced:"true"`
	// Whether NodeManagers and DataNodes are read over HTTPS. From Hadoop: yarn.http.policy.
	NodeManagerHTTPS bool `yaml:"node_manager_https" advanced:"true"`
}

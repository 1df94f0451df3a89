package configs

import "time"

// DefaultListenAddress is where the service listens unless told otherwise. The
// port is outside 9100 to 9999, which Prometheus' list of default ports has
// used up, and is none of Hadoop's.
const DefaultListenAddress = "127.0.0.1:7909"

// Rates in bytes/s, as link rates are printed: decimal bits.
const (
	mbps Rate = 1e6 / 8
	gbps Rate = 1e9 / 8
)

// Default returns the configuration that holds when nothing else says
// anything. It is not complete: the addresses of Hadoop's services have no
// default and come from Hadoop's XML files or from the user.
func Default() Config {
	return Config{
		Mode:            ModeObserve,
		ResourceManager: defaultResourceManager(),
		MapReduce:       defaultMapReduce(),
		Tez:             defaultTez(),
		HDFS:            defaultHDFS(),
		Uplinks:         defaultUplinks(),
		Topology:        TopologyConfig{Use: TopologyVerify},
		Security: SecurityConfig{
			Authentication:   AuthSimple,
			Krb5Conf:         "/etc/krb5.conf",
			ServicePrincipal: "HTTP/_HOST",
		},
		Relay: defaultRelay(),
		Network: NetworkConfig{
			Saturation: 0.80,
			Period:     Duration(time.Second),
			EWMA:       Duration(5 * time.Second),
			Hysteresis: 0.05,
		},
		Policy: PolicyConfig{Name: "shufflewatcher"},
		State: StateConfig{
			MaxAge:           Duration(30 * time.Second),
			PublishInterval:  Duration(time.Second),
			QueueLength:      1024,
			FinishedJobsKept: 1000,
		},
		Web: WebConfig{
			ListenAddress: DefaultListenAddress,
			MaxBody:       mib,
			Timeout:       Duration(10 * time.Second),
			Concurrency:   64,
		},
		Log:    LogConfig{Level: LogInfo, Format: LogText},
		Record: RecordConfig{MaxSize: gib, FlushInterval: Duration(time.Second)},
	}
}

func defaultResourceManager() ResourceManagerConfig {
	return ResourceManagerConfig{
		User:              "heddle",
		PollInterval:      Duration(time.Second),
		Timeout:           Duration(10 * time.Second),
		MaxAnswer:         64 * mib,
		RequestsPerSecond: 20,
		BytesPerSecond:    Rate(16 * mib),
	}
}

func defaultMapReduce() MapReduceConfig {
	return MapReduceConfig{
		Enabled:           true,
		PollInterval:      Duration(2 * time.Second),
		Timeout:           Duration(10 * time.Second),
		RequestsPerSecond: 20,
		BytesPerSecond:    Rate(8 * mib),
		GiveUpAfter:       Duration(5 * time.Minute),
	}
}

func defaultTez() TezConfig {
	return TezConfig{
		PollInterval:      Duration(5 * time.Second),
		Timeout:           Duration(10 * time.Second),
		RequestsPerSecond: 10,
		BytesPerSecond:    Rate(4 * mib),
	}
}

func defaultHDFS() HDFSConfig {
	return HDFSConfig{
		Enabled:           true,
		Walk:              WalkWebHDFS,
		User:              "heddle",
		ServicePrincipal:  "nn/_HOST",
		MaxFiles:          10_000,
		MaxBlocks:         100_000,
		CacheBlocks:       1_000_000,
		CacheAge:          Duration(10 * time.Minute),
		Interval:          Duration(30 * time.Second),
		Timeout:           Duration(10 * time.Second),
		RequestsPerSecond: 50,
		BytesPerSecond:    Rate(16 * mib),
	}
}

func defaultUplinks() UplinksConfig {
	return UplinksConfig{
		Source:   UplinkEstimate,
		Capacity: gbps,
		Prometheus: PrometheusConfig{
			Interval: Duration(5 * time.Second),
			Timeout:  Duration(5 * time.Second),
		},
		ShuffleJMX: ShuffleJMXConfig{
			Interval:         Duration(5 * time.Second),
			Timeout:          Duration(5 * time.Second),
			Concurrency:      32,
			DataNodeHTTPPort: 9864,
		},
	}
}

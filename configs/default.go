package configs

import (
	"heddle/configs/strict"
	"heddle/core/model"
)

// DefaultListenAddress is where the service listens without another address. The
// port is outside 9100 to 9999, which Prometheus' list of default ports has
// used up, and is none of Hadoop's.
const DefaultListenAddress = "127.0.0.1:7909"

// DefaultRelayAddress is where the relay listens without another address. The
// port is none of YARN's (8030 to 8033, 8040 to 8049, 8088, 8090), so that
// heddle can run beside a ResourceManager or a NodeManager, and the ports after
// it are free for further ResourceManagers.
const DefaultRelayAddress = "127.0.0.1:7930"

// Default returns the configuration in which every key has its default. It is not
// complete: the addresses of Hadoop's services have no default.
func Default() Config {
	var c Config
	strict.SetDefaults(strict.KeysOf(&c))
	c.Relay.Stages = []RelayStage{
		{Type: "MAPREDUCE", Priorities: []int{20}, Stage: model.StageMap},
		{Type: "MAPREDUCE", Priorities: []int{10}, Stage: model.StageReduce},
		{Type: "SPARK", Stage: model.StageOther},
		{Type: "TEZ", LocalRows: LocalWith, Stage: model.StageMap},
		{Type: "TEZ", LocalRows: LocalWithout, Stage: model.StageReduce},
	}
	return c
}

package configs

import (
	"heddle/configs/strict"
	"heddle/core/model"
)

// RelayConfig is the relay between ApplicationMasters and the ResourceManager's
// scheduler port.
type RelayConfig struct {
	// The host and port to listen on for the first ResourceManager. The relay listens on the
	// next ports for further ones. Without the key it listens on `127.0.0.1:7930` in mode
	// enforce, which only applications on this machine reach, and does not run in mode advise.
	// With the key it runs in mode advise too, and only counts what it would rewrite. The key
	// has no effect in mode observe.
	Listen string `yaml:"listen" format:"listen"`
	// The address of the relay for each ResourceManager. From Hadoop:
	// yarn.resourcemanager.ha.rm-ids with scheduler.address or hostname of each, and
	// the addresses of `relay.listen`.
	Listeners []RelayListener `yaml:"listeners"`
	// The host name or IP address by which ApplicationMasters reach this heddle, for
	// `heddle client-config`. A relay that listens on 0.0.0.0 requires it. Without the key it
	// is the host of `relay.listen`. An ApplicationMaster that cannot resolve the name fails,
	// so that an IP address is the safer choice.
	Advertise string `yaml:"advertise" format:"host" reload:"true"`
	// The first relay address, host:port, of each further heddle for the same cluster. An
	// ApplicationMaster that loses the connection to this heddle tries them before it
	// connects to the ResourceManager directly.
	Peers []string `yaml:"peers" format:"address,unique" reload:"true"`
	// The applications that the relay steers: those that match any of the entries. Without
	// entries it steers all.
	Scopes []RelayScope `yaml:"scopes" reload:"true"`
	// The relay never steers an application with this tag. YARN writes tags in lower case.
	OptOutTag string `yaml:"opt_out_tag" default:"heddle-off" format:"tag" reload:"true"`
	// The stage of an ask, by application type and priority. The first entry that matches
	// counts. The relay forwards an ask unchanged if none matches; with the default list these
	// are MapReduce's priorities 5 (maps that failed before) and 19 (opportunistic maps), and
	// every other application type. A list in the configuration replaces the default list.
	Stages []RelayStage `yaml:"stages" reload:"true"`
	// How long the relay steers an ask, and how.
	Limits RelayLimits `yaml:"limits" reload:"true"`
	// How many connections the relay holds at once. It closes further ones; their
	// applications connect to the next address of `heddle client-config`.
	MaxConnections int `yaml:"max_connections" default:"10000" range:"1..1000000"`
	// How many of these connections may come from one IP address, which is usually one node.
	// The relay closes further ones. Raise it if many nodes share an address (NAT).
	MaxConnectionsPerAddress int `yaml:"max_connections_per_address" default:"256" range:"1..1000000"`
	// The Unix socket at which 'heddle relay' listens for 'heddle serve'. Both must run as the
	// same user, or serve as root. Without the key it is `relay.sock` in systemd's
	// $RUNTIME_DIRECTORY, else `heddle/relay.sock` in $XDG_RUNTIME_DIR, else the default.
	Socket string `yaml:"socket" default:"/run/heddle/relay.sock" format:"path"`
	// The host and port at which 'heddle relay' serves /metrics and /healthz.
	WebListenAddress string `yaml:"web_listen_address" default:"127.0.0.1:7908" format:"listen"`
	// How long a client may take from the start of its connection until the ResourceManager
	// has accepted its token, the time that the relay takes to connect to the ResourceManager
	// not counted. Then the relay closes the connection.
	AuthTimeout strict.Duration `yaml:"auth_timeout" default:"10s" range:"1s..5m" advanced:"true"`
	// How many of the `relay.max_connections` may be of clients that have not authenticated.
	// The relay closes further ones. `0` is a quarter.
	MaxUnauthenticated int `yaml:"max_unauthenticated" range:"0..1000000" advanced:"true"`
	// The longest the relay may take to connect to the ResourceManager, and how long it waits for
	// the only one of a cluster that refuses connections because it is being restarted.
	DialTimeout strict.Duration `yaml:"dial_timeout" default:"5s" range:"100ms..1m" advanced:"true"`
}

// RelayListener is one address that stands for one ResourceManager.
type RelayListener struct {
	// The ResourceManager's rm-id. Omit it without high availability.
	RM string `yaml:"rm"`
	// The host and port to listen on.
	Address string `yaml:"address" format:"listen"`
	// The host and port of the ResourceManager's scheduler address.
	Upstream string `yaml:"upstream" format:"address"`
}

// RelayScope selects the applications that match each of its lists. An empty
// list matches all.
type RelayScope struct {
	// Queues by their full path, such as root.batch. A parent includes its children.
	Queues []string `yaml:"queues" format:"name,unique"`
	// Users.
	Users []string `yaml:"users" format:"name,unique"`
	// Application types, such as MAPREDUCE.
	Types []string `yaml:"types" format:"name,unique"`
	// Application tags.
	Tags []string `yaml:"tags" format:"name,unique"`
}

// LocalRows selects asks by whether they name hosts or racks.
type LocalRows string

// The kinds of asks by what they name.
const (
	LocalAny     LocalRows = "any"
	LocalWith    LocalRows = "with"
	LocalWithout LocalRows = "without"
)

// RelayStage gives the stage of some asks of one application type.
type RelayStage struct {
	// The application type, such as MAPREDUCE.
	Type string `yaml:"type"`
	// The priorities of the asks; without it, all.
	Priorities []int `yaml:"priorities"`
	// `with` matches asks that name hosts or racks, `without` those that do not, `any` both;
	// without it, both.
	LocalRows LocalRows `yaml:"local_rows" oneof:",any,with,without"`
	// The stage of the asks; `other` means executors.
	Stage model.Stage `yaml:"stage" oneof:"map,reduce,other"`
}

// Local returns LocalRows as a condition: true with host or rack rows, false
// without them, nil for both.
func (s *RelayStage) Local() *bool {
	switch s.LocalRows {
	case LocalWith, LocalWithout:
		with := s.LocalRows == LocalWith
		return &with
	case LocalAny:
	}
	return nil
}

// Spread is how the relay uses the hosts of a rack.
type Spread string

// The ways to use the hosts of a rack.
const (
	SpreadPack Spread = "pack"
	SpreadEven Spread = "even"
)

// RelayLimits bound how the relay changes asks. Every pin and hold ends by itself (I9).
type RelayLimits struct {
	// How long an ask for reduces or executors may wait for its planned racks while another
	// rack could serve it, since a container was granted last. Then the relay sends the
	// application's own ask.
	PinDeadline strict.Duration `yaml:"pin_deadline" default:"30s" range:"1s..1h"`
	// The same for an ask for maps.
	TrimDeadline strict.Duration `yaml:"trim_deadline" default:"10s" range:"1s..1h"`
	// The longest an ask waits for its planned racks, whether or not another rack could serve
	// it, since the oldest container it waits for was asked for.
	WaitMax strict.Duration `yaml:"wait_max" default:"10m" range:"1s..24h"`
	// How long maps wait for a node with their input, and asks with `spread: even` for an even
	// spread. Then the relay asks for any host of the rack.
	WidenAfter strict.Duration `yaml:"widen_after" default:"3s" range:"0s..1h" advanced:"true"`
	// How long a rack without room may grant nothing. Then the relay asks for the plan's next
	// rack. If the plan's racks are all full, an ask waits for a third of its deadline, and not
	// less than this.
	FullAfter strict.Duration `yaml:"full_after" default:"5s" range:"1s..1h" advanced:"true"`
	// How long the relay holds asks back in all, if a plan wants it. Where the order of ranks
	// wants it, each container granted begins the time anew. `0s` never holds. A hold requires
	// `relay.peers`: if the only heddle dies, nothing ends its holds, and the job hangs.
	HoldMax strict.Duration `yaml:"hold_max" range:"0s..1h"`
	// Whether plans hold what applications ask for in the policy's order: what is asked for by
	// applications whose turn has not come waits, up to `relay.limits.hold_max`. By default only
	// holds that a policy asks for are made.
	HoldByRank bool `yaml:"hold_by_rank"`
	// Whether the relay may hold asks without a second heddle, at the risk that
	// `relay.limits.hold_max` describes.
	HoldWithoutPeer bool `yaml:"hold_without_peer" advanced:"true"`
	// `pack` asks for any number of containers on any host of a rack, which is quickest. `even`
	// asks for the same number on each host, until `advanced.relay.limits.widen_after`.
	Spread Spread `yaml:"spread" default:"pack" oneof:"pack,even"`
	// How long an allocate call may wait for the first plan of its application. Then the relay
	// forwards it unchanged.
	DecideIn strict.Duration `yaml:"decide_in" default:"200ms" range:"0s..2s"`
	// How many scheduler keys (priority and allocation request id) of one application attempt
	// the relay follows. It forwards the asks of further ones unchanged.
	MaxKeys int `yaml:"max_keys" default:"1000" range:"1..1000000" advanced:"true"`
	// How many ask rows of one application attempt the relay follows. It forwards further ones
	// unchanged.
	MaxRows int `yaml:"max_rows" default:"50000" range:"1..10000000" advanced:"true"`
}

// RelayRuns reports whether the relay runs: in mode enforce, and in mode advise
// if the configuration has an address for it.
func (c *Config) RelayRuns() bool {
	switch c.Mode {
	case ModeEnforce:
		return true
	case ModeAdvise:
		return c.Relay.Listen != "" || len(c.Relay.Listeners) > 0
	case ModeObserve:
	}
	return false
}

package configs

import "heddle/core/model"

// DefaultRelayAddress is where the relay listens unless told otherwise. The
// port is none of YARN's (8030 to 8033, 8040 to 8049, 8088, 8090), so that
// heddle can run beside a ResourceManager or a NodeManager, and the ports after
// it are free for further ResourceManagers.
const DefaultRelayAddress = "127.0.0.1:7930"

// DefaultJournal is where the relay keeps its journal when neither the
// configuration nor the environment names a place.
const DefaultJournal = "/var/lib/heddle/relay"

// RelayConfig is the relay between ApplicationMasters and the ResourceManager's
// scheduler port.
type RelayConfig struct {
	// The host and port to listen on; with several ResourceManagers, the ports that
	// follow are for the second and further ones. Without it the relay listens on
	// `127.0.0.1:7930` (and 7931, …) in mode enforce, where only applications on this
	// machine reach it, and not at all in mode advise. Given in mode advise, the relay
	// runs and only counts what it would rewrite. It has no effect in mode observe.
	Listen string `yaml:"listen"`
	// The addresses that stand for a ResourceManager each. From Hadoop:
	// yarn.resourcemanager.ha.rm-ids with scheduler.address or hostname of each, on
	// the addresses that `relay.listen` gives.
	Listeners []RelayListener `yaml:"listeners"`
	// The host name or IP address under which ApplicationMasters reach this heddle,
	// for `heddle client-config`; needed when the relay listens on 0.0.0.0. Without it
	// the host that it listens on. Every node has to resolve it: an ApplicationMaster
	// that cannot fails, so that an IP address is the safer choice. Reloaded on SIGHUP.
	Advertise string `yaml:"advertise"`
	// The first relay address, host:port, of each further heddle that serves the same
	// cluster; an ApplicationMaster that loses this one turns to them before it goes
	// to the ResourceManager directly. Reloaded on SIGHUP.
	Peers []string `yaml:"peers"`
	// Which applications are steered: those that match any of the entries; without
	// entries, all. Reloaded on SIGHUP.
	Scopes []RelayScope `yaml:"scopes"`
	// An application with this tag is never steered; empty for no such tag. YARN
	// writes tags in lower case. Reloaded on SIGHUP.
	OptOutTag string `yaml:"opt_out_tag"`
	// What the priorities of an application's asks mean; the first entry that fits
	// counts, and asks that none fits pass as they are: of MapReduce the priorities 5
	// (maps that failed before) and 19 (opportunistic maps), and those of every type
	// that is not named. A list given here takes the place of the default one.
	// Reloaded on SIGHUP.
	Stages []RelayStage `yaml:"stages"`
	// How long, and how, asks are steered. Reloaded on SIGHUP.
	Limits RelayLimits `yaml:"limits"`
	// The directory of the journal, which lets a restarted relay go on where it was.
	// Without the key: `relay` in systemd's $STATE_DIRECTORY, `heddle/relay` in
	// $XDG_STATE_HOME, or the default. Empty keeps no journal: after a restart the asks
	// of running applications are steered anew only as they change, from what the
	// ResourceManager's REST API shows of them.
	Journal string `yaml:"journal"`
	// How many connections are relayed at once; further ones are closed, and their
	// applications go to the ResourceManager directly where they know the way.
	MaxConnections int `yaml:"max_connections"`
	// The longest a connection to the ResourceManager may take to open.
	DialTimeout Duration `yaml:"dial_timeout"`
	// A Unix socket over which a newer heddle takes the relay over when it starts:
	// listening sockets, connections and what was asked; empty for none.
	HandoverSocket string `yaml:"handover_socket"`
}

// RelayListener is one address that stands for one ResourceManager.
type RelayListener struct {
	// The ResourceManager's rm-id; left out without high availability.
	RM string `yaml:"rm"`
	// The host and port to listen on.
	Address string `yaml:"address"`
	// The host and port of the ResourceManager's scheduler address.
	Upstream string `yaml:"upstream"`
}

// RelayScope says which applications are steered: those that match every list
// of it that is given.
type RelayScope struct {
	// Queues by their full path, such as root.batch; a parent covers its children.
	Queues []string `yaml:"queues"`
	// Users.
	Users []string `yaml:"users"`
	// Application types, such as MAPREDUCE.
	Types []string `yaml:"types"`
	// Application tags.
	Tags []string `yaml:"tags"`
}

// LocalRows tells apart asks by whether they name hosts or racks.
type LocalRows string

// The kinds of asks by what they name.
const (
	LocalAny     LocalRows = "any"
	LocalWith    LocalRows = "with"
	LocalWithout LocalRows = "without"
)

// RelayStage says what some asks of one type of application are for.
type RelayStage struct {
	// The application type, such as MAPREDUCE.
	Type string `yaml:"type"`
	// The priorities it speaks of; left out, all of them.
	Priorities []int `yaml:"priorities"`
	// `with` is for asks that name hosts or racks, `without` for those that do not;
	// left out or `any`, for both.
	LocalRows LocalRows `yaml:"local_rows"`
	// What they ask for: `map`, `reduce` or `other` (executors).
	Stage model.Stage `yaml:"stage"`
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

// Spread says how the hosts of a rack are used.
type Spread string

// The ways to use the hosts of a rack.
const (
	SpreadPack Spread = "pack"
	SpreadEven Spread = "even"
)

// RelayLimits bound what the relay does to asks. Everything ends by itself (I9).
type RelayLimits struct {
	// How long an ask for reduces or executors may wait for its planned racks before
	// the application's own ask is sent.
	PinDeadline Duration `yaml:"pin_deadline"`
	// The same for maps.
	TrimDeadline Duration `yaml:"trim_deadline"`
	// How long maps wait for a node of their own, and evenly spread asks for an even
	// spread, before every host of the rack will do.
	WidenAfter Duration `yaml:"widen_after"`
	// How long a rack that has no room may grant nothing before the plan's next rack
	// is asked.
	FullAfter Duration `yaml:"full_after"`
	// The longest an ask is held back when the policy says so; `0s` never holds. A
	// hold wants `relay.peers`: when the only heddle dies, nothing ends its holds,
	// and the job hangs.
	HoldMax Duration `yaml:"hold_max"`
	// Holds without a second heddle, at the risk that `hold_max` describes.
	HoldWithoutPeer bool `yaml:"hold_without_peer"`
	// `pack` takes any number on any host of a rack, which is quickest; `even` asks for
	// the same number on each, until `widen_after`.
	Spread Spread `yaml:"spread"`
	// How long an allocate call may wait for the first plan of its application; then
	// it goes on as it is.
	DecideIn Duration `yaml:"decide_in"`
	// How many scheduler keys (priority and allocation request id) of one application
	// attempt are followed; further ones pass as they are.
	MaxKeys int `yaml:"max_keys"`
	// How many ask rows of one application attempt are remembered; further ones pass
	// as they are.
	MaxRows int `yaml:"max_rows"`
}

func defaultRelay() RelayConfig {
	return RelayConfig{
		OptOutTag: "heddle-off",
		Stages: []RelayStage{
			{Type: "MAPREDUCE", Priorities: []int{20}, Stage: model.StageMap},
			{Type: "MAPREDUCE", Priorities: []int{10}, Stage: model.StageReduce},
			{Type: "SPARK", Stage: model.StageOther},
			{Type: "TEZ", LocalRows: LocalWith, Stage: model.StageMap},
			{Type: "TEZ", LocalRows: LocalWithout, Stage: model.StageReduce},
		},
		Limits: RelayLimits{
			PinDeadline:  30 * second,
			TrimDeadline: 10 * second,
			WidenAfter:   3 * second,
			FullAfter:    5 * second,
			Spread:       SpreadPack,
			DecideIn:     2 * hundredMs,
			MaxKeys:      1000,
			MaxRows:      50_000,
		},
		Journal:        DefaultJournal,
		MaxConnections: 10_000,
		DialTimeout:    5 * second,
	}
}

// RelayRuns reports whether the relay is to run: in mode enforce, and in mode
// advise when the configuration says where it listens.
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

// Package asks decides what the ResourceManager is asked for on behalf of one
// application attempt. It keeps the attempt's own ask table, what the
// ResourceManager was sent, and what it granted, and turns the targets of a plan
// into ask rows: pins, trims, holds, and the way back to the application's own
// rows. It is pure: time comes in as a value, and it does no I/O.
//
// The rows of one scheduler key, (priority, allocation request id), are absolute
// counts; the ResourceManager replaces a row by the newest of its name, drops the
// key when ANY becomes 0, and decrements rows as it allocates
// (LocalityAppPlacementAllocator). The application repeats only rows that
// changed, so that every later ANY row of a steered key has to be rewritten.
package asks

import (
	"heddle/core/model"
)

// Key is a scheduler key of an attempt.
type Key struct {
	Priority  int32
	RequestID int64 // -1 when the application gives none
}

// Row is one ask row as the application sent it, or as it is to be sent instead.
type Row struct {
	Key
	Name       string // "*", a rack or a host
	Count      int32
	Relax      bool
	Labelled   bool // carries a node label expression
	Capability model.Resource
	// Raw is the encoded row of the application. In a row to be sent, it is the row that name, count and
	// relaxLocality are to be put into, nil when there is none (an adopted key: the row is made from the other
	// fields); Verbatim says that it already is what is to be sent.
	Raw      []byte
	Verbatim bool
}

// ContainerID identifies a container within an application.
type ContainerID struct {
	Attempt int32
	ID      int64
}

// Request is what an allocate call of the application says.
type Request struct {
	ResponseID      int32
	Rows            []Row // owned by the caller again when Request returns, strings and Raw aside
	Releases        []ContainerID
	BlacklistAdd    []string // hosts or racks
	BlacklistRemove []string
	Scheduling      bool // it has scheduling requests
}

// Grant is a container the ResourceManager allocated.
type Grant struct {
	ID   ContainerID
	Key  Key
	Host string
}

// Ended is a container that completed.
type Ended struct {
	ID         ContainerID
	ExitStatus int32 // 0 is success; -100 released or lost with its node, -102 preempted
}

// Response is what the ResourceManager answered to an allocate call.
type Response struct {
	ResponseID int32
	Granted    []Grant
	Ended      []Ended
	LostHosts  []string        // of updated nodes that are not usable any more
	Headroom   *model.Resource // what the scheduler could still give the application; nil when it does not say
}

// Target is what the plan in force wants of one stage.
type Target struct {
	Racks []model.RackTarget // by falling count; counts include the tasks that ran or run; empty: every rack will do
	// Hold says that the stage is to have at most MaxRunning containers at a time until Until: what more it waits for is
	// held back.
	Hold       bool
	MaxRunning int
	Until      model.Time
	Reason     model.Reason
}

// Host is one node that could be named in an ask.
type Host struct {
	Name string // as in NodeId.host
	// Total is what its containers may use together, zero when that is not known; Free is what is left of it.
	Total, Free model.Resource
	// Idle is what of Free was free at the look before, too: nobody took it, where room on a busy cluster is gone within
	// a heartbeat.
	Idle model.Resource
}

// Rack is one rack with its usable nodes.
type Rack struct {
	ID    model.RackID
	Hosts []Host // usable ones, by name
}

// Site is the cluster as far as asks name it. It is immutable and shared.
type Site struct {
	Racks  []Rack
	RackOf map[string]model.RackID // every known host
	VCores bool                    // the scheduler counts vcores too
	// SoftHeadroom says that the scheduler grants more than the headroom that it reports: FairScheduler reports none
	// above the fair share (FSAppAttempt.getHeadroom), and goes on granting while there is room.
	SoftHeadroom bool
}

// Intent is everything that decides what to do with an attempt's asks at a call.
type Intent struct {
	Site *Site
	// Pass, when set, sends everything on as it came and says why.
	Pass model.PassCause
	// Stage names the stage that asks at a key; false when no rule knows it. local is whether the key has host or rack rows.
	Stage func(k Key, local bool) (model.Stage, bool)
	// Target returns the plan in force of a stage, false when there is none.
	Target func(stage model.Stage) (Target, bool)
	// Advise counts what would be rewritten and rewrites nothing.
	Advise bool
}

// Limits are the settings of all attempts.
type Limits struct {
	// PinDeadline is how long an ask for reduces or executors may wait for its planned racks while other nodes could
	// serve it, since a container was granted last; 0 never steers them.
	PinDeadline  model.Duration
	TrimDeadline model.Duration // the same for maps, also those without local rows
	WaitMax      model.Duration // the longest an ask is steered, whatever others could do; 0 is DefaultWaitMax
	HoldMax      model.Duration // how long asks are held in all (see hold); 0 never holds
	WidenAfter   model.Duration // how long maps wait for a node of their own, and spread asks for an even spread, before every host of the rack will do
	// FullAfter is how long a rack may grant nothing while it has no room before the next rack is asked. Where no planned
	// rack has room, an ask waits for a third of its deadline, and for FullAfter at least.
	FullAfter model.Duration
	Spread    Spread
	MaxKeys   int // of one attempt, 0 is 1024; further keys pass
	MaxRows   int // of one attempt, 0 is 65536; further keys pass
}

// Spread says how a pin uses the hosts of a rack.
type Spread string

// The spreads.
const (
	SpreadPack Spread = "pack" // any host takes any number: quickest, and CapacityScheduler fills hosts one after the other
	SpreadEven Spread = "even" // host rows sum to the rack's count until WidenAfter, then as pack
)

// Step is one thing done to a key at a call.
type Step struct {
	Key    Key
	Stage  model.Stage
	Action model.Action    // "" when passed
	Cause  model.PassCause // when passed although the key was asked for; with an Action it is PassAdvise: what would have been done
}

// Edit is what to do with an allocate call.
type Edit struct {
	Same  bool   // send the call as it came
	Rows  []Row  // else: the ask rows to send, valid until the next call
	Steps []Step // what was done, for counting; valid until the next call
}

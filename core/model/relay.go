package model

// Action is what the relay did to the asks of one allocate call for one key; a
// metric label. The set is closed.
type Action string

// The relay's actions.
const (
	ActionPin      Action = "pin"       // reduces or executors tied to racks with counts
	ActionTrim     Action = "trim"      // maps tied to those of their racks that are preferred
	ActionHold     Action = "hold"      // an ask that nothing satisfies, until the hold ends
	ActionWiden    Action = "widen"     // more hosts of the same racks
	ActionNextRack Action = "next_rack" // what a full or lost rack could not take goes to the plan's next one
	ActionFallBack Action = "fall_back" // the application's own rows again, after the deadline
	ActionRestore  Action = "restore"   // the application's own rows again, because nothing is planned any more
	ActionRepeat   Action = "repeat"    // the same edit for a repeated call
)

// Actions lists every action in a fixed order.
func Actions() []Action {
	return []Action{ActionPin, ActionTrim, ActionHold, ActionWiden, ActionNextRack, ActionFallBack, ActionRestore, ActionRepeat}
}

// PassCause says why the asks of an allocate call, or everything on a
// connection, went on as they came; a metric label. The set is closed.
type PassCause string

// The causes of passing through.
const (
	PassNoPlan    PassCause = "no_plan"    // no plan, or one that prefers no rack
	PassScope     PassCause = "scope"      // the application is not in the configured scope
	PassOptOut    PassCause = "opt_out"    // the application carries the tag that opts out
	PassType      PassCause = "type"       // no rule says what its priorities mean
	PassStale     PassCause = "stale"      // the cluster state is too old to act on
	PassLocality  PassCause = "locality"   // maps without local rows on the preferred racks
	PassConstrain PassCause = "constraint" // the application constrains this ask itself (strict rows, labels, scheduling requests)
	PassDeadline  PassCause = "deadline"   // fallen back after the deadline
	PassDecode    PassCause = "decode"     // an allocate call that does not decode
	PassPrivacy   PassCause = "privacy"    // integrity or privacy protection: a blind pipe
	PassAdvise    PassCause = "advise"     // would have been rewritten, but heddle only advises
	PassSite      PassCause = "site"       // no usable node is known on a planned rack
	PassUncertain PassCause = "uncertain"  // what is planned is not sure enough (I12), or worse than an even spread
	PassGuard     PassCause = "guard"      // steering is off for the application's queue, where it lost
	PassControl   PassCause = "control"    // the application is of the share that stays unsteered, to compare with
)

// PassCauses lists every cause in a fixed order.
func PassCauses() []PassCause {
	return []PassCause{
		PassNoPlan, PassScope, PassOptOut, PassType, PassStale, PassLocality, PassConstrain, PassDeadline, PassDecode,
		PassPrivacy, PassAdvise, PassSite, PassUncertain, PassGuard, PassControl,
	}
}

// RefuseCause says which limit made the relay close a connection; a metric
// label. The set is closed.
type RefuseCause string

// The limits of connections. The first three refuse a new connection, the others end one that has not authenticated.
const (
	RefuseConnections     RefuseCause = "connections"     // relay.max_connections were open
	RefuseUnauthenticated RefuseCause = "unauthenticated" // too many had not authenticated
	RefuseAddress         RefuseCause = "address"         // too many of one IP address were open
	RefuseAuthTimeout     RefuseCause = "auth_timeout"    // the client did not authenticate in time
	RefuseLongFrame       RefuseCause = "long_frame"      // a frame before the end of authentication was too long
	RefuseIdle            RefuseCause = "idle"            // a connection that is passed on unread from its start carried nothing for too long
)

// RefuseCauses lists every cause in a fixed order.
func RefuseCauses() []RefuseCause {
	return []RefuseCause{RefuseConnections, RefuseUnauthenticated, RefuseAddress, RefuseAuthTimeout, RefuseLongFrame, RefuseIdle}
}

// Relay is what the relay in front of the ResourceManager's scheduler port does
// at a moment. It is immutable once published.
type Relay struct {
	At          Time            `json:"at_ms"`
	Enforcing   bool            `json:"enforcing"` // false: asks are counted, not rewritten
	Listeners   []RelayListener `json:"listeners"`
	Connections int             `json:"connections"`
	Blind       int             `json:"blind_connections"` // protected by integrity or privacy
	// Unauthenticated counts the connections whose token the ResourceManager has not accepted, those that are passed on
	// unread from their start included.
	Unauthenticated int `json:"-"`

	Steering RelaySteering  `json:"steering"`
	Attempts []RelayAttempt `json:"attempts"` // those that were asked for, by application, then attempt
	Total    int            `json:"total"`    // attempts that Attempts is a part of
	Counts   RelayCounts    `json:"counts"`
}

// RelaySteering sums over all attempts what is steered at a moment.
type RelaySteering struct {
	Attempts   int            `json:"attempts"`             // whose allocate calls pass
	Containers map[Action]int `json:"containers,omitempty"` // outstanding ones, by the action in force
	Since      Time           `json:"since_ms,omitempty"`   // of the action that has been in force for longest; 0 is none
}

// Add counts the outstanding containers of a key in which an action is in force.
func (s *RelaySteering) Add(action Action, containers int, since Time) {
	if s.Containers == nil {
		s.Containers = map[Action]int{}
	}
	s.Containers[action] += containers
	if since != 0 && (s.Since == 0 || since < s.Since) {
		s.Since = since
	}
}

// Waits reports whether an action makes an ask wait for nodes that the application did not insist on.
func (a Action) Waits() bool {
	switch a {
	case ActionPin, ActionTrim, ActionHold, ActionWiden, ActionNextRack:
		return true
	case ActionFallBack, ActionRestore, ActionRepeat:
	}
	return false
}

// RelayListener is one address that stands for one ResourceManager.
type RelayListener struct {
	RM       string `json:"rm"` // the rm-id, "" without high availability
	Address  string `json:"address"`
	Upstream string `json:"upstream"`
}

// RelayCounts are sums since the relay started.
type RelayCounts struct {
	Accepted  int64                 `json:"accepted_connections"`
	Allocates int64                 `json:"allocates"`
	Rewritten map[Action]int64      `json:"rewritten"`
	Passed    map[PassCause]int64   `json:"passed"`
	Seconds   float64               `json:"added_seconds"` // added latency, summed over both directions
	Buckets   []int64               `json:"-"`             // of the added latency, by RelayBuckets, not cumulative
	Refused   map[RefuseCause]int64 `json:"-"`             // connections that the relay closed because of a limit
	Faults    int64                 `json:"-"`             // decisions that failed; their calls went on as they came
	Forgotten int64                 `json:"-"`             // calls whose answer was not looked at, as too many were under way
}

// RelayBuckets are the upper bounds of the added latency's buckets in seconds.
func RelayBuckets() []float64 {
	return []float64{10e-6, 25e-6, 50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 50e-3, 250e-3, 1}
}

// RelayAttempt is one application attempt whose allocate calls pass.
type RelayAttempt struct {
	App       AppID      `json:"application"`
	Attempt   int        `json:"attempt"`
	Type      string     `json:"type"`
	Connected bool       `json:"connected"`
	LastCall  Time       `json:"last_allocate_ms"`
	Response  int32      `json:"response_id"`
	Keys      []RelayKey `json:"keys"` // by priority, then request id
}

// RelayKey is one scheduler key of an attempt: what the application asks, and
// what the ResourceManager was sent instead.
type RelayKey struct {
	Priority  int       `json:"priority"`
	RequestID int64     `json:"allocation_request_id"`
	Stage     Stage     `json:"stage"`
	Asked     []AskRow  `json:"asked"`
	Sent      []AskRow  `json:"sent"`
	Action    Action    `json:"action,omitempty"` // in force; "" when passed as asked
	Cause     PassCause `json:"cause,omitempty"`  // why it is passed as asked
	Since     Time      `json:"since_ms,omitempty"`
	Deadline  Time      `json:"deadline_ms,omitempty"` // when the action ends by itself (I9)
	// Granted counts the containers granted at the key that run or succeeded, by rack.
	Granted map[RackID]int `json:"granted"`
	Held    int            `json:"held,omitempty"`   // of the containers it waits for, those that are not asked for now
	Reason  Reason         `json:"reason,omitempty"` // of the plan
}

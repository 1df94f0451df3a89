// Package rmmodel is a model of what the ResourceManager keeps of one
// application attempt: ask rows, response ids, containers, and the rules by
// which CapacityScheduler and FairScheduler answer node heartbeats with default
// settings. Beside it stand models of the applications that ask, and a driver
// that puts a relay between the two. Tests hold the relay's ask table against it.
//
// The rules are those of Hadoop 3.4: ApplicationMasterService and
// DefaultAMSProcessor (response ids), AppSchedulingInfo and
// LocalityAppPlacementAllocator (rows), RegularContainerAllocator and
// CapacityScheduler.canAllocateMore, FSAppAttempt and FairScheduler (heartbeats).
//
// Left out: queues, users and their limits (there is room wherever a node has
// room), node labels and placement constraints, other applications (a node can
// be occupied from outside), and reservations. With containers of one size both
// schedulers reserve nothing by default: CapacityScheduler does not offer a node
// with less than the minimum allocation free, FairScheduler does not reserve
// below twice its increment.
package rmmodel

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"heddle/core/asks"
	"heddle/core/model"
)

// Scheduler names one of YARN's schedulers.
type Scheduler string

// The schedulers.
const (
	Capacity Scheduler = "capacity"
	Fair     Scheduler = "fair"
)

// Settings are those of the scheduler that decide about locality.
type Settings struct {
	Scheduler Scheduler
	NodeDelay int   // yarn.scheduler.capacity.node-locality-delay
	RackDelay int   // yarn.scheduler.capacity.rack-locality-additional-delay, -1 is off
	OffSwitch int   // yarn.scheduler.capacity.per-node-heartbeat.maximum-offswitch-assignments
	MaxAssign int   // yarn.scheduler.capacity.per-node-heartbeat.maximum-container-assignments
	MinMiB    int64 // yarn.scheduler.minimum-allocation-mb
}

// Defaults are the settings Hadoop ships. FairScheduler has locality thresholds
// of -1 and assigns one container a node heartbeat; the other fields are not its own.
func Defaults(s Scheduler) Settings {
	return Settings{Scheduler: s, NodeDelay: 40, RackDelay: -1, OffSwitch: 1, MaxAssign: 100, MinMiB: 1024}
}

// The errors an allocate call ends with.
var (
	// ErrNotRegistered is ApplicationMasterNotRegisteredException: the ResourceManager
	// was restarted, and the ApplicationMaster registers and says everything again.
	ErrNotRegistered = errors.New("the attempt is not registered: register, and ask for everything again")
	// ErrResponseID is InvalidApplicationMasterRequestException.
	ErrResponseID = errors.New("the response id is neither the last one nor the one before it")
	// ErrInvalidAsk is InvalidResourceRequestException, and what the real
	// ResourceManager takes silently although it can never mean anything.
	ErrInvalidAsk = errors.New("the ask is invalid")
)

// Exit statuses of containers (ContainerExitStatus).
const (
	exitAborted   int32 = -100 // released, or its node was lost
	exitPreempted int32 = -102
)

// Container is one container the scheduler allocated.
type Container struct {
	asks.Grant
	Size   model.Resource
	Level  model.Locality
	Strict bool // ANY was not relaxed when it was allocated

	rows []row // what it was taken from, until the ApplicationMaster is told of it
}

// RM is the ResourceManager's side of one attempt. It is not safe for concurrent use.
type RM struct {
	scheduling

	registered bool
	last       asks.Response // to the last call that was applied
	containers map[asks.ContainerID]*Container
	fresh      []*Container // allocated, not told of yet
	ended      []asks.Ended
	lost       []string
	next       int64 // number of the next container
}

// NewRM returns a ResourceManager with one attempt that has not registered yet.
func NewRM(c *Cluster, s Settings) *RM {
	return &RM{
		scheduling: scheduling{
			cluster: c, settings: s,
			keys: map[asks.Key]*keyRows{}, misses: map[asks.Key]int{}, blacklist: map[string]bool{},
			opened: map[asks.Key]bool{},
		},
		containers: map[asks.ContainerID]*Container{}, next: 2, // 1 is the ApplicationMaster
	}
}

// Register registers the attempt: response ids start at 0.
func (rm *RM) Register() {
	rm.registered = true
	rm.last = asks.Response{}
}

// Allocate answers an allocate call. A call whose response id is the one before
// the last is a repetition: it is answered as the first time and not applied.
func (rm *RM) Allocate(r *asks.Request) (asks.Response, error) {
	if !rm.registered {
		return asks.Response{}, ErrNotRegistered
	}
	switch r.ResponseID {
	case rm.last.ResponseID - 1:
		return rm.last, nil
	case rm.last.ResponseID:
	default:
		return asks.Response{}, fmt.Errorf("%w: %d, and the last answer was %d", ErrResponseID, r.ResponseID, rm.last.ResponseID)
	}
	grouped, err := rm.checked(r.Rows)
	if err != nil {
		return asks.Response{}, err
	}
	ended := rm.ended
	rm.ended = nil
	for _, id := range r.Releases {
		rm.end(id, exitAborted) // told of in the next answer, as the real one does
	}
	for _, key := range slices.SortedFunc(maps.Keys(grouped), compareKeys) {
		rm.updateRows(key, grouped[key], false)
	}
	for _, place := range r.BlacklistAdd {
		rm.blacklist[place] = true
	}
	for _, place := range r.BlacklistRemove {
		delete(rm.blacklist, place)
	}
	rm.last = asks.Response{
		ResponseID: r.ResponseID + 1, Granted: rm.tell(), Ended: ended, LostHosts: rm.lost,
	}
	rm.lost = nil
	return rm.last, nil
}

// tell returns the containers nobody was told of yet. From now on their rows are
// not asked for again when they die.
func (rm *RM) tell() []asks.Grant {
	var told []asks.Grant
	for _, c := range rm.fresh {
		c.rows = nil
		told = append(told, c.Grant)
	}
	rm.fresh = nil
	return told
}

// Exit ends a container whose process ended by itself.
func (rm *RM) Exit(id asks.ContainerID, status int32) { rm.end(id, status) }

// Preempt kills a container for somebody else's sake.
func (rm *RM) Preempt(id asks.ContainerID) { rm.end(id, exitPreempted) }

// end takes a container off its node. When the ApplicationMaster was not told of
// it, what it was taken from is asked for again (recoverResourceRequestForContainer).
func (rm *RM) end(id asks.ContainerID, status int32) {
	c := rm.containers[id]
	if c == nil {
		return
	}
	delete(rm.containers, id)
	n := rm.cluster.Node(c.Host)
	n.Used = n.Used.Sub(c.Size)
	rm.ended = append(rm.ended, asks.Ended{ID: id, ExitStatus: status})
	if i := slices.Index(rm.fresh, c); i >= 0 {
		rm.fresh = slices.Delete(rm.fresh, i, i+1)
		rm.updateRows(c.Key, c.rows, true)
	}
}

// Lose takes a node out of the cluster, with every container on it.
func (rm *RM) Lose(host string) {
	n := rm.cluster.Node(host)
	if n == nil || !n.Usable {
		return
	}
	n.Usable = false
	for _, c := range rm.Containers() {
		if c.Host == host {
			rm.end(c.ID, exitAborted)
		}
	}
	rm.lost = append(rm.lost, host)
}

// Restore brings a node back, empty.
func (rm *RM) Restore(host string) {
	if n := rm.cluster.Node(host); n != nil {
		n.Usable = true
	}
}

// Failover replaces the ResourceManager by one that restarted: asks, misses and
// response ids are gone, containers that run were recovered from their nodes.
// A container nobody launched is on no node: known says which ones are. Nodes
// report again what ended and was not acknowledged by a later call.
func (rm *RM) Failover(known func(asks.ContainerID) bool) {
	rm.registered = false
	rm.ended = append(slices.Clone(rm.last.Ended), rm.ended...)
	rm.keys = map[asks.Key]*keyRows{}
	rm.misses = map[asks.Key]int{}
	rm.blacklist = map[string]bool{}
	rm.opened = map[asks.Key]bool{}
	rm.fresh, rm.lost = nil, nil
	for _, c := range rm.Containers() {
		if !known(c.ID) {
			n := rm.cluster.Node(c.Host)
			n.Used = n.Used.Sub(c.Size)
			delete(rm.containers, c.ID)
		}
	}
}

// Containers returns the containers that are there, by number.
func (rm *RM) Containers() []*Container {
	return slices.SortedFunc(maps.Values(rm.containers), func(a, b *Container) int { return cmp.Compare(a.ID.ID, b.ID.ID) })
}

// Pending returns the rows as the REST API shows them (app.resourceRequests).
func (rm *RM) Pending() []model.AskRow {
	var pending []model.AskRow
	for _, key := range slices.SortedFunc(maps.Keys(rm.keys), compareKeys) {
		for _, name := range slices.Sorted(maps.Keys(rm.keys[key].rows)) {
			r := rm.keys[key].rows[name]
			pending = append(pending, model.AskRow{
				Priority: int(key.Priority), RequestID: key.RequestID, ResourceName: name,
				Capability: r.capability, Count: int(r.count), RelaxLocality: r.relax,
			})
		}
	}
	return pending
}

// Asked returns the count of a key's row, 0 when there is none.
func (rm *RM) Asked(key asks.Key, name string) int32 {
	if k := rm.keys[key]; k != nil {
		return k.count(name)
	}
	return 0
}

// Untold counts the containers of a key that the ApplicationMaster was not told of.
func (rm *RM) Untold(key asks.Key) int {
	count := 0
	for _, c := range rm.fresh {
		if c.Key == key {
			count++
		}
	}
	return count
}

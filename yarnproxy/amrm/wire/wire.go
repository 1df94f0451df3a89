// Package wire reads and edits the messages of ApplicationMasterProtocol that
// matter to a relay: AllocateRequestProto and AllocateResponseProto
// (yarn_service_protos.proto, yarn_protos.proto), and AMRMTokenIdentifierProto.
//
// Nothing is decoded into generated messages. A request is edited by leaving out
// its ask fields and appending others; every other byte, fields unknown here
// included, goes on as it came. What a parser returns points into its input, and
// is valid for as long as that is.
//
// The parsers read as Hadoop's proto2 classes do: fields in any order, the last
// of a scalar wins, embedded messages that come twice are merged, an enum number
// that Hadoop does not know counts as absent. They are stricter in one thing: a
// field known here with another wire type is an error, not an unknown field. A
// message with an error goes on as it came (I4).
package wire

import "heddle/yarnproxy/ipc"

// Any is the name of the ask row that stands for every host (ResourceRequest.ANY).
const Any = "*"

// MaxItems is the most asks, releases, containers and so on that one message
// may carry to be read, of each kind. An allocate call of a cluster of 10,000
// nodes has about as many rows for each priority; the limit is there because two
// bytes on the wire become a hundred here.
const MaxItems = 1 << 16

// ContainerID identifies a container (ContainerIdProto) without its application,
// which the connection is known by: attempt and number. The number carries the
// ResourceManager's epoch above its lower 40 bits.
type ContainerID struct {
	Attempt int32
	ID      int64
}

// Row is one ResourceRequestProto of a request.
type Row struct {
	Priority  int32
	RequestID int64  // allocation_request_id, -1 when absent
	Name      []byte // Any, a rack or a host
	Count     int32
	Relax     bool   // true when absent
	Label     []byte // node_label_expression
	Memory    int64  // MiB, of the capability
	VCores    int32
	Raw       []byte // the whole message, without tag and length
}

// Request is an AllocateRequestProto as far as a relay reads it. The zero value
// is ready for Parse; one that is kept for the next Parse allocates nothing.
type Request struct {
	ResponseID      int32
	Progress        float32
	Asks            []Row
	Releases        []ContainerID
	BlacklistAdd    [][]byte // hosts or racks
	BlacklistRemove [][]byte
	Scheduling      int // number of scheduling_requests (placement constraints), which no relay edits
}

// Container is one allocated container.
type Container struct {
	ID        ContainerID
	Host      []byte // as in NodeId.host
	Port      int32
	Priority  int32
	RequestID int64 // allocation_request_id of the ask, -1 when absent
	Memory    int64 // MiB
	VCores    int32
}

// Completed is one completed container.
type Completed struct {
	ID         ContainerID
	ExitStatus int32 // -1000 when absent
}

// UpdatedNode is a node whose state changed.
type UpdatedNode struct {
	Host  []byte
	Port  int32
	Rack  []byte
	State NodeState
}

// Command is what the ResourceManager tells an ApplicationMaster to do.
type Command int32

// The commands of AMCommandProto; zero is none.
const (
	CommandNone     Command = 0
	CommandResync   Command = 1
	CommandShutdown Command = 2
)

// Response is an AllocateResponseProto as far as a relay reads it. The zero
// value is ready for Parse; one that is kept for the next Parse allocates nothing.
type Response struct {
	ResponseID int32
	Command    Command
	Allocated  []Container
	Completed  []Completed
	Nodes      []UpdatedNode
	Previous   []Container // containers_from_previous_attempts
	Headroom   struct {
		Known  bool
		Memory int64 // MiB
		VCores int32
	}
}

// room reports whether a list with n items may grow, and fails where it may not.
func room(c *ipc.Fields, n int) bool {
	if n >= MaxItems {
		c.Fail("more of a kind than MaxItems in one message")
	}
	return c.Err() == nil
}

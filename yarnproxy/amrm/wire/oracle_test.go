package wire_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"heddle/yarnproxy/amrm/wire"
)

// The second opinion of these tests: the same messages as Go's own protobuf
// runtime reads them. schema has what package wire reads and nothing else, so
// that both see the same fields as unknown. An enum is a repeated number here,
// because the runtime takes numbers of an enum that Hadoop does not know.
const schema = `
message AllocateRequestProto
  repeated ResourceRequestProto ask 1
  repeated ContainerIdProto release 2
  optional ResourceBlacklistRequestProto blacklist_request 3
  optional int32 response_id 4
  optional float progress 5
  repeated bytes scheduling_requests 10
message ResourceRequestProto
  optional PriorityProto priority 1
  optional string resource_name 2
  optional ResourceProto capability 3
  optional int32 num_containers 4
  optional bool relax_locality 5
  optional string node_label_expression 6
  optional bytes execution_type_request 7
  optional int64 allocation_request_id 8
message PriorityProto
  optional int32 priority 1
message ResourceProto
  optional int64 memory 1
  optional int32 virtual_cores 2
  repeated ResourceInformationProto resource_value_map 3
message ResourceInformationProto
  required string key 1
message ResourceBlacklistRequestProto
  repeated string blacklist_additions 1
  repeated string blacklist_removals 2
message ContainerIdProto
  optional ApplicationAttemptIdProto app_attempt_id 2
  optional int64 id 3
message ApplicationAttemptIdProto
  optional ApplicationIdProto application_id 1
  optional int32 attemptId 2
message ApplicationIdProto
  optional int32 id 1
  optional int64 cluster_timestamp 2
message AllocateResponseProto
  repeated int32 a_m_command 1
  optional int32 response_id 2
  repeated ContainerProto allocated_containers 3
  repeated ContainerStatusProto completed_container_statuses 4
  optional ResourceProto limit 5
  repeated NodeReportProto updated_nodes 6
  repeated ContainerProto containers_from_previous_attempts 17
message ContainerProto
  optional ContainerIdProto id 1
  optional NodeIdProto nodeId 2
  optional ResourceProto resource 4
  optional PriorityProto priority 5
  optional int64 allocation_request_id 8
message ContainerStatusProto
  optional ContainerIdProto container_id 1
  optional int32 exit_status 4
message NodeReportProto
  optional NodeIdProto nodeId 1
  optional string rackName 3
  repeated int32 node_state 7
message NodeIdProto
  optional string host 1
  optional int32 port 2
message RegisterApplicationMasterResponseProto
  repeated ContainerProto containers_from_previous_attempts 4
message FinishApplicationMasterResponseProto
  optional bool isUnregistered 1
message AMRMTokenIdentifierProto
  optional ApplicationAttemptIdProto appAttemptId 1
  optional int32 keyId 2
`

// oracle makes messages of schema.
type oracle struct{ file protoreflect.FileDescriptor }

func newOracle(tb testing.TB) oracle {
	tb.Helper()
	fd := &descriptorpb.FileDescriptorProto{Name: new("heddle_test.proto"), Syntax: new("proto2")}
	for line := range strings.Lines(strings.TrimSpace(schema)) {
		words := strings.Fields(line)
		if words[0] == "message" {
			fd.MessageType = append(fd.MessageType, &descriptorpb.DescriptorProto{Name: new(words[1])})
			continue
		}
		m := fd.MessageType[len(fd.MessageType)-1]
		m.Field = append(m.Field, schemaField(tb, words))
	}
	file, err := protodesc.NewFile(fd, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return oracle{file}
}

// schemaField reads a line of schema: label, type, name, number.
func schemaField(tb testing.TB, words []string) *descriptorpb.FieldDescriptorProto {
	tb.Helper()
	n, err := strconv.ParseInt(words[3], 10, 32)
	if err != nil {
		tb.Fatal(err)
	}
	f := &descriptorpb.FieldDescriptorProto{
		Name: new(words[2]), Number: new(int32(n)),
		Label: descriptorpb.FieldDescriptorProto_Label(descriptorpb.FieldDescriptorProto_Label_value["LABEL_"+strings.ToUpper(words[0])]).Enum(),
	}
	if kind, ok := descriptorpb.FieldDescriptorProto_Type_value["TYPE_"+strings.ToUpper(words[1])]; ok {
		f.Type = descriptorpb.FieldDescriptorProto_Type(kind).Enum()
	} else {
		f.Type = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum()
		f.TypeName = new("." + words[1])
	}
	return f
}

func (o oracle) describe(name string) protoreflect.MessageDescriptor {
	m := o.file.Messages().ByName(protoreflect.Name(name))
	if m == nil {
		panic("schema has no " + name)
	}
	return m
}

// read decodes a message of schema.
func (o oracle) read(name string, body []byte) (view, error) {
	m := dynamicpb.NewMessage(o.describe(name))
	if err := proto.Unmarshal(body, m); err != nil {
		return view{}, fmt.Errorf("%s: %w", name, err)
	}
	return view{m}, nil
}

// view reads the fields of a decoded message by name.
type view struct{ protoreflect.Message }

func (v view) field(name string) protoreflect.FieldDescriptor {
	f := v.Descriptor().Fields().ByName(protoreflect.Name(name))
	if f == nil {
		panic(string(v.Descriptor().Name()) + " has no " + name)
	}
	return f
}

func (v view) value(name string) protoreflect.Value { return v.Get(v.field(name)) }
func (v view) int32(name string) int32              { return int32(v.value(name).Int()) }
func (v view) int64(name string) int64              { return v.value(name).Int() }
func (v view) message(name string) view             { return view{v.value(name).Message()} }

// or returns a number, or its default where it is absent.
func (v view) or(name string, absent int64) int64 {
	if !v.Has(v.field(name)) {
		return absent
	}
	return v.int64(name)
}

func (v view) text(name string) []byte {
	if !v.Has(v.field(name)) {
		return nil
	}
	return []byte(v.value(name).String())
}

// enum returns the last number of at least 1 and at most highest.
func (v view) enum(name string, highest int64) int32 {
	last := int64(0)
	for i, l := 0, v.value(name).List(); i < l.Len(); i++ {
		if n := l.Get(i).Int(); n >= 1 && n <= highest {
			last = n
		}
	}
	return int32(last)
}

func each[T any](v view, name string, read func(view) T) []T {
	var all []T
	for i, l := 0, v.value(name).List(); i < l.Len(); i++ {
		all = append(all, read(view{l.Get(i).Message()}))
	}
	return all
}

func (v view) texts(name string) [][]byte {
	var all [][]byte
	for i, l := 0, v.value(name).List(); i < l.Len(); i++ {
		all = append(all, []byte(l.Get(i).String()))
	}
	return all
}

func (v view) request() wire.Request {
	blacklist := v.message("blacklist_request")
	return wire.Request{
		ResponseID: v.int32("response_id"), Progress: float32(v.value("progress").Float()),
		Asks: each(v, "ask", view.row), Releases: each(v, "release", view.containerID),
		BlacklistAdd: blacklist.texts("blacklist_additions"), BlacklistRemove: blacklist.texts("blacklist_removals"),
		Scheduling: v.value("scheduling_requests").List().Len(),
	}
}

func (v view) row() wire.Row {
	return wire.Row{
		Priority: v.message("priority").int32("priority"), RequestID: v.or("allocation_request_id", -1),
		Name: v.text("resource_name"), Count: v.int32("num_containers"),
		Relax: !v.Has(v.field("relax_locality")) || v.value("relax_locality").Bool(), Label: v.text("node_label_expression"),
		Memory: v.message("capability").int64("memory"), VCores: v.message("capability").int32("virtual_cores"),
	}
}

func (v view) containerID() wire.ContainerID {
	return wire.ContainerID{Attempt: v.message("app_attempt_id").int32("attemptId"), ID: v.int64("id")}
}

func (v view) container() wire.Container {
	node, capability := v.message("nodeId"), v.message("resource")
	return wire.Container{
		ID: v.message("id").containerID(), Host: node.text("host"), Port: node.int32("port"),
		Priority: v.message("priority").int32("priority"), RequestID: v.or("allocation_request_id", -1),
		Memory: capability.int64("memory"), VCores: capability.int32("virtual_cores"),
	}
}

func (v view) response() wire.Response {
	r := wire.Response{
		ResponseID: v.int32("response_id"), Command: wire.Command(v.enum("a_m_command", 2)),
		Allocated: each(v, "allocated_containers", view.container),
		Completed: each(v, "completed_container_statuses", func(v view) wire.Completed {
			return wire.Completed{ID: v.message("container_id").containerID(), ExitStatus: int32(v.or("exit_status", -1000))}
		}),
		Nodes: each(v, "updated_nodes", func(v view) wire.UpdatedNode {
			node := v.message("nodeId")
			return wire.UpdatedNode{
				Host: node.text("host"), Port: node.int32("port"), Rack: v.text("rackName"),
				State: wire.NodeState(v.enum("node_state", 8)),
			}
		}),
		Previous: each(v, "containers_from_previous_attempts", view.container),
	}
	r.Headroom.Known = v.Has(v.field("limit"))
	r.Headroom.Memory, r.Headroom.VCores = v.message("limit").int64("memory"), v.message("limit").int32("virtual_cores")
	return r
}

func (v view) attempt() wire.Attempt {
	app := v.message("application_id")
	return wire.Attempt{Cluster: app.int64("cluster_timestamp"), App: app.int32("id"), Attempt: v.int32("attemptId")}
}

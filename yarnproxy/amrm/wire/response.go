package wire

import (
	"fmt"

	"heddle/yarnproxy/ipc"
)

// Parse reads an answer to an allocate call. It overwrites r and reuses its
// slices; what they hold points into body. After an error r is not to be used,
// and body goes on as it came.
func (r *Response) Parse(body []byte) error {
	*r = Response{
		Allocated: r.Allocated[:0], Completed: r.Completed[:0],
		Nodes: r.Nodes[:0], Previous: r.Previous[:0],
	}
	c := ipc.NewFields("AllocateResponseProto", body)
	for c.Next() {
		switch c.Num { // fields of AllocateResponseProto
		case 1:
			r.command(c.Int32())
		case 2:
			r.ResponseID = c.Int32()
		case 3:
			r.Allocated = appendContainer(r.Allocated, &c)
		case 4:
			if room(&c, len(r.Completed)) {
				r.Completed = append(r.Completed, Completed{ExitStatus: exitInvalid})
				c.Nested(r.Completed[len(r.Completed)-1].parse(c.Bytes()))
			}
		case 5:
			r.Headroom.Known = true
			c.Nested(parseResource(c.Bytes(), &r.Headroom.Memory, &r.Headroom.VCores))
		case 6:
			if room(&c, len(r.Nodes)) {
				r.Nodes = append(r.Nodes, UpdatedNode{})
				c.Nested(r.Nodes[len(r.Nodes)-1].parse(c.Bytes()))
			}
		case 17:
			r.Previous = appendContainer(r.Previous, &c)
		}
	}
	if c.Err() != nil {
		return fmt.Errorf("reading the answer to an allocate call of %d bytes, which is to go on as it came: %w", len(body), c.Err())
	}
	return nil
}

func (r *Response) command(n int32) {
	if cmd := Command(n); cmd == CommandResync || cmd == CommandShutdown {
		r.Command = cmd
	}
}

// ParseRegisterResponse appends the containers of earlier attempts that run on
// (containers_from_previous_attempts of RegisterApplicationMasterResponseProto)
// to dst. They point into body.
func ParseRegisterResponse(dst []Container, body []byte) ([]Container, error) {
	c := ipc.NewFields("RegisterApplicationMasterResponseProto", body)
	for c.Next() {
		if c.Num == 4 {
			dst = appendContainer(dst, &c)
		}
	}
	if c.Err() != nil {
		return nil, fmt.Errorf("reading the answer to a register call of %d bytes, which is to go on as it came: %w", len(body), c.Err())
	}
	return dst, nil
}

// ParseFinishResponse reports whether the application is unregistered now
// (isUnregistered of FinishApplicationMasterResponseProto). It asks again until it is.
func ParseFinishResponse(body []byte) (bool, error) {
	unregistered := false
	c := ipc.NewFields("FinishApplicationMasterResponseProto", body)
	for c.Next() {
		if c.Num == 1 {
			unregistered = c.Bool()
		}
	}
	if c.Err() != nil {
		return false, fmt.Errorf("reading the answer to a finish call of %d bytes, which is to go on as it came: %w", len(body), c.Err())
	}
	return unregistered, nil
}

// appendContainer appends the container in the current field of c.
func appendContainer(dst []Container, c *ipc.Fields) []Container {
	if !room(c, len(dst)) {
		return dst
	}
	dst = append(dst, Container{RequestID: noRequestID})
	c.Nested(dst[len(dst)-1].parse(c.Bytes()))
	return dst
}

func (k *Container) parse(b []byte) error {
	c := ipc.NewFields("ContainerProto", b)
	for c.Next() {
		switch c.Num { // fields of ContainerProto
		case 1:
			c.Nested(k.ID.parse(c.Bytes()))
		case 2:
			c.Nested(parseNode(c.Bytes(), &k.Host, &k.Port))
		case 4:
			c.Nested(parseResource(c.Bytes(), &k.Memory, &k.VCores))
		case 5:
			c.Nested(parsePriority(c.Bytes(), &k.Priority))
		case 8:
			k.RequestID = c.Int64()
		}
	}
	return c.Err()
}

// exitInvalid is the default of exit_status (ContainerExitStatus.INVALID).
const exitInvalid = -1000

func (k *Completed) parse(b []byte) error {
	c := ipc.NewFields("ContainerStatusProto", b)
	for c.Next() {
		switch c.Num { // fields of ContainerStatusProto
		case 1:
			c.Nested(k.ID.parse(c.Bytes()))
		case 4:
			k.ExitStatus = c.Int32()
		}
	}
	return c.Err()
}

// parseNode reads a NodeIdProto.
func parseNode(b []byte, host *[]byte, port *int32) error {
	c := ipc.NewFields("NodeIdProto", b)
	for c.Next() {
		switch c.Num {
		case 1:
			*host = c.Bytes()
		case 2:
			*port = c.Int32()
		}
	}
	return c.Err()
}

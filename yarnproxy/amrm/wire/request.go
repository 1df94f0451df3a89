package wire

import (
	"errors"
	"fmt"

	"heddle/yarnproxy/ipc"
)

// Field numbers of AllocateRequestProto.
const (
	requestAsk        = 1
	requestRelease    = 2
	requestBlacklist  = 3
	requestResponseID = 4
	requestProgress   = 5
	requestScheduling = 10
)

// Field numbers of ResourceRequestProto.
const (
	rowPriority   = 1
	rowName       = 2
	rowCapability = 3
	rowCount      = 4
	rowRelax      = 5
	rowLabel      = 6
	rowExecution  = 7
	rowRequestID  = 8
)

// noRequestID is the default of allocation_request_id.
const noRequestID = -1

// Parse reads an allocate call. It overwrites r and reuses its slices; what they
// hold points into body. After an error r is not to be used, and body goes on as
// it came.
func (r *Request) Parse(body []byte) error {
	*r = Request{
		Asks: r.Asks[:0], Releases: r.Releases[:0],
		BlacklistAdd: r.BlacklistAdd[:0], BlacklistRemove: r.BlacklistRemove[:0],
	}
	c := ipc.NewFields("AllocateRequestProto", body)
	for c.Next() {
		switch c.Num {
		case requestAsk:
			if room(&c, len(r.Asks)) {
				r.Asks = append(r.Asks, Row{})
				c.Nested(r.Asks[len(r.Asks)-1].parse(c.Bytes()))
			}
		case requestRelease:
			if room(&c, len(r.Releases)) {
				r.Releases = append(r.Releases, ContainerID{})
				c.Nested(r.Releases[len(r.Releases)-1].parse(c.Bytes()))
			}
		case requestBlacklist:
			c.Nested(r.parseBlacklist(c.Bytes()))
		case requestResponseID:
			r.ResponseID = c.Int32()
		case requestProgress:
			r.Progress = c.Float32()
		case requestScheduling:
			c.Bytes()
			r.Scheduling++
		}
	}
	if c.Err() != nil {
		return fmt.Errorf("reading an allocate call of %d bytes, which is to go on as it came: %w", len(body), c.Err())
	}
	return nil
}

func (r *Request) parseBlacklist(b []byte) error {
	c := ipc.NewFields("ResourceBlacklistRequestProto", b)
	for c.Next() {
		switch c.Num {
		case 1:
			if room(&c, len(r.BlacklistAdd)) {
				r.BlacklistAdd = append(r.BlacklistAdd, c.Bytes())
			}
		case 2:
			if room(&c, len(r.BlacklistRemove)) {
				r.BlacklistRemove = append(r.BlacklistRemove, c.Bytes())
			}
		}
	}
	return c.Err()
}

func (r *Row) parse(b []byte) error {
	*r = Row{RequestID: noRequestID, Relax: true, Raw: b}
	c := ipc.NewFields("ResourceRequestProto", b)
	for c.Next() {
		switch c.Num {
		case rowPriority:
			c.Nested(parsePriority(c.Bytes(), &r.Priority))
		case rowName:
			r.Name = c.Bytes()
		case rowCapability:
			c.Nested(parseResource(c.Bytes(), &r.Memory, &r.VCores))
		case rowCount:
			r.Count = c.Int32()
		case rowRelax:
			r.Relax = c.Bool()
		case rowLabel:
			r.Label = c.Bytes()
		case rowExecution:
			c.Bytes()
		case rowRequestID:
			r.RequestID = c.Int64()
		}
	}
	return c.Err()
}

// parsePriority reads a PriorityProto.
func parsePriority(b []byte, priority *int32) error {
	c := ipc.NewFields("PriorityProto", b)
	for c.Next() {
		if c.Num == 1 {
			*priority = c.Int32()
		}
	}
	return c.Err()
}

// parseResource reads a ResourceProto. Hadoop takes memory and vcores from its
// own fields, not from resource_value_map (ResourcePBImpl).
func parseResource(b []byte, memory *int64, vcores *int32) error {
	c := ipc.NewFields("ResourceProto", b)
	for c.Next() {
		switch c.Num {
		case 1:
			*memory = c.Int64()
		case 2:
			*vcores = c.Int32()
		case 3:
			c.Nested(checkValue(c.Bytes()))
		}
	}
	return c.Err()
}

// checkValue looks for the key of a ResourceInformationProto, the one required
// field on the way of an ask: Hadoop refuses a message without it.
func checkValue(b []byte) error {
	key := false
	c := ipc.NewFields("ResourceInformationProto", b)
	for c.Next() {
		if c.Num == 1 {
			key = true
			c.Bytes()
		}
	}
	if c.Err() == nil && !key {
		return errors.New("a resource value has no key")
	}
	return c.Err()
}

// parse reads a ContainerIdProto. The attempt is in app_attempt_id; the older
// app_id beside it is not used by Hadoop either (ContainerIdPBImpl).
func (id *ContainerID) parse(b []byte) error {
	c := ipc.NewFields("ContainerIdProto", b)
	for c.Next() {
		switch c.Num {
		case 2:
			a := Attempt{Attempt: id.Attempt}
			c.Nested(a.parse(c.Bytes()))
			id.Attempt = a.Attempt
		case 3:
			id.ID = c.Int64()
		}
	}
	return c.Err()
}

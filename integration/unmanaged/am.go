package unmanaged

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"heddle/yarnproxy/amrm/wire"
	"heddle/yarnproxy/ipc/ipctest"
)

// AM is the ApplicationMaster of one attempt: Submit, Connect, Register,
// Allocate again and again, Finish. What it knows outlives its connection. It is
// not safe for concurrent use.
type AM struct {
	ID      string // of the application
	Attempt wire.Attempt

	secret   ipctest.Secret
	conn     *conn
	response int32  // id of the last answer
	last     []byte // the last allocate call
}

// Call is the content of one allocate call.
type Call struct {
	Rows            []wire.NewRow
	Release         []wire.ContainerID
	BlacklistAdd    []string // hosts or racks
	BlacklistRemove []string
}

// Answer is an allocate answer; Body is the message it was read from.
type Answer struct {
	wire.Response
	Body []byte
}

// errNotConnected is the error of calls without a connection.
var errNotConnected = errors.New("the ApplicationMaster is not connected: Connect first")

// Connect authenticates at a scheduler address, in place of the connection there was.
func (am *AM) Connect(ctx context.Context, address string) error {
	am.Close()
	c, err := dial(ctx, address, am.secret)
	if err != nil {
		return err // names the address
	}
	am.conn = c
	return nil
}

// Close ends the connection, and not the application. A second call does nothing.
func (am *AM) Close() {
	if am.conn != nil {
		_ = am.conn.net.Close()
		am.conn = nil
	}
}

// Register registers the attempt. Response ids start at 0 again.
func (am *AM) Register(ctx context.Context) error {
	// RegisterApplicationMasterRequestProto: host, rpc_port, tracking_url.
	request := appendMessage(appendNumber(appendMessage(nil, 1, []byte("localhost")), 2, 0), 3, nil)
	if _, err := am.call(ctx, "registerApplicationMaster", request); err != nil {
		return err
	}
	am.response, am.last = 0, nil
	return nil
}

// Allocate makes the next allocate call. When it fails, Repeat makes it again;
// another Allocate would be a new call with the same response id.
func (am *AM) Allocate(ctx context.Context, c Call) (*Answer, error) {
	am.last = am.appendCall(nil, c)
	return am.Repeat(ctx)
}

// Repeat makes the last allocate call again, byte for byte with the same response
// id, as an ApplicationMaster does that got no answer: on whatever connection
// there is now, under a new call id.
func (am *AM) Repeat(ctx context.Context) (*Answer, error) {
	if am.last == nil {
		return nil, errors.New("there is no allocate call to repeat since the attempt registered")
	}
	body, err := am.call(ctx, "allocate", am.last)
	if err != nil {
		return nil, err
	}
	a := &Answer{Body: body}
	if err := a.Parse(body); err != nil {
		return nil, err // it names what was read
	}
	am.response = a.ResponseID
	return a, nil
}

// Finish unregisters the application as succeeded, and returns when the ResourceManager says it is.
func (am *AM) Finish(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	// FinishApplicationMasterRequestProto: final_application_status = APP_SUCCEEDED.
	request := appendNumber(nil, 3, 1)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		body, err := am.call(ctx, "finishApplicationMaster", request)
		if err != nil {
			return err
		}
		over, err := wire.ParseFinishResponse(body)
		if err != nil {
			return err // it names what was read
		}
		if over {
			am.Close()
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("finish %s: it stays registered: %w", am.ID, ctx.Err())
		}
	}
}

func (am *AM) call(ctx context.Context, method string, request []byte) ([]byte, error) {
	if am.conn == nil {
		return nil, fmt.Errorf("%s of %s: %w", method, am.ID, errNotConnected)
	}
	return am.conn.invoke(ctx, method, request)
}

// appendCall appends AllocateRequestProto.
func (am *AM) appendCall(dst []byte, c Call) []byte {
	for i := range c.Rows {
		dst = wire.AppendNewRow(dst, &c.Rows[i])
	}
	for _, id := range c.Release {
		dst = appendMessage(dst, 2, am.container(id))
	}
	var blacklist []byte
	for _, place := range c.BlacklistAdd {
		blacklist = appendMessage(blacklist, 1, []byte(place))
	}
	for _, place := range c.BlacklistRemove {
		blacklist = appendMessage(blacklist, 2, []byte(place))
	}
	dst = appendMessage(dst, 3, blacklist)                   // there even when it is empty, as MapReduce writes it
	dst = appendNumber(dst, 4, uint64(am.response))          // never negative
	dst = protowire.AppendTag(dst, 5, protowire.Fixed32Type) // progress
	return protowire.AppendFixed32(dst, 0x3f000000)          // 0.5
}

// container is ContainerIdProto of a container of this application.
func (am *AM) container(id wire.ContainerID) []byte {
	app := appID(uint64(am.Attempt.App), uint64(am.Attempt.Cluster))
	attempt := appendNumber(appendMessage(nil, 1, app), 2, uint64(id.Attempt))
	return appendNumber(appendMessage(appendMessage(nil, 1, app), 2, attempt), 3, uint64(id.ID))
}

// Package unmanaged is an ApplicationMaster for tests that runs in the test's
// own process: YARN's unmanaged application (UnmanagedAMLauncher.java), for which
// the ResourceManager starts no container. A test says with it exactly which ask
// rows, releases and response ids go to a scheduler address, that of the
// ResourceManager or of a relay in front of it, and sees exactly what comes back.
//
// [Submit] makes the application over REST and fetches its token over
// ApplicationClientProtocol; [AM.Connect], [AM.Register], [AM.Allocate],
// [AM.Repeat] and [AM.Finish] are its side of ApplicationMasterProtocol. No
// container is ever launched: those that are granted stay ACQUIRED until they are
// released, or the ResourceManager takes them back after ten minutes
// (yarn.resourcemanager.rm.container-allocation.expiry-interval-ms).
//
// Security is simple, as in package hadoop's clusters.
package unmanaged

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"heddle/yarnproxy/amrm/wire"
	"heddle/yarnproxy/ipc"
	"heddle/yarnproxy/ipc/ipctest"
)

// Options are what to submit, and where.
type Options struct {
	Web    string // the ResourceManager's web address, such as http://master:8088
	Client string // host:port of its ApplicationClientProtocol, such as master:8032
	User   string // who submits; REST takes whoever asks for hadoop.http.staticuser.user, which has to be the same
	Queue  string
	Type   string // application type, such as SPARK
	Name   string
}

// callTime bounds each call and each request, whatever the caller's context allows.
const callTime = 15 * time.Second

// maxAnswer bounds an answer in bytes.
const maxAnswer = 4 << 20

// Submit submits an unmanaged application and waits until its attempt may
// register. It needs no node: the ResourceManager launches nothing.
func Submit(ctx context.Context, o Options) (*AM, error) {
	var fresh struct {
		ID string `json:"application-id"`
	}
	if err := post(ctx, o.Web+"/ws/v1/cluster/apps/new-application", nil, &fresh); err != nil {
		return nil, fmt.Errorf("get an application id: %w", err)
	}
	// Fields of ApplicationSubmissionContextInfo.java. The container is never launched, but has to be there.
	submission := map[string]any{
		"application-id": fresh.ID, "application-name": o.Name, "application-type": o.Type, "queue": o.Queue,
		"unmanaged-AM": true, "max-app-attempts": 1, "am-container-spec": map[string]any{},
		"resource": map[string]int{"memory": 128, "vCores": 1},
	}
	if err := post(ctx, o.Web+"/ws/v1/cluster/apps", submission, nil); err != nil {
		return nil, fmt.Errorf("submit %s: %w", fresh.ID, err)
	}
	am := &AM{ID: fresh.ID}
	if err := am.fetchToken(ctx, o); err != nil {
		return nil, fmt.Errorf("get the token of %s: %w", fresh.ID, err)
	}
	return am, nil
}

// post posts JSON, or nothing, and decodes the answer unless answer is nil.
func post(ctx context.Context, url string, body, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	encoded := []byte{}
	if body != nil {
		var err error
		if encoded, err = json.Marshal(body); err != nil {
			return fmt.Errorf("encode what to post to %s: %w", url, err)
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(encoded))
	if err != nil {
		return fmt.Errorf("make a request for %s: %w", url, err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err // names method and URL itself
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	said, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("read the answer of POST %s: %w", url, err)
	}
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusAccepted {
		return fmt.Errorf("POST %s: %s: %.400s", url, resp.Status, said)
	}
	if answer == nil {
		return nil
	}
	if err := json.Unmarshal(said, answer); err != nil {
		return fmt.Errorf("decode the answer of POST %s: %w", url, err)
	}
	return nil
}

// fetchToken asks for the application's report until it has the token that the
// attempt authenticates with: the ResourceManager gives that of an unmanaged
// attempt to its own user, from when it may register on (RMAppImpl.java).
func (am *AM) fetchToken(ctx context.Context, o Options) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	c, err := dialAs(ctx, o.Client, o.User)
	if err != nil {
		return err // names the address
	}
	defer c.net.Close() //nolint:errcheck // all answers have been read
	request, err := reportRequest(am.ID)
	if err != nil {
		return err
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		body, err := c.invoke(ctx, "getApplicationReport", request)
		if err != nil {
			return err // names method and address
		}
		r, err := parseReport(body)
		if err != nil {
			return fmt.Errorf("read the report: %w", err)
		}
		if len(r.identifier) > 0 && r.state == stateAccepted {
			return am.takeToken(r)
		}
		if r.state > stateRunning {
			return fmt.Errorf("it ended in state %d (YarnApplicationStateProto): %s", r.state, r.diagnostics)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("it has state %d (YarnApplicationStateProto), and a token of %d bytes: %w", r.state, len(r.identifier), ctx.Err())
		}
	}
}

func (am *AM) takeToken(r report) error {
	attempt, _, err := wire.ParseAttempt(r.identifier)
	if err != nil {
		return err // it names what was read
	}
	am.Attempt = attempt
	am.secret = ipctest.Secret{
		Username: base64.StdEncoding.EncodeToString(r.identifier), Password: base64.StdEncoding.EncodeToString(r.password),
	}
	return nil
}

// The states of YarnApplicationStateProto that matter here; those above RUNNING are ends.
const (
	stateAccepted = 4
	stateRunning  = 5
)

// report is what is read of ApplicationReportProto.
type report struct {
	state                int32
	diagnostics          []byte
	identifier, password []byte // of am_rm_token
}

// parseReport reads GetApplicationReportResponseProto.
func parseReport(body []byte) (report, error) {
	var r report
	f := ipc.NewFields("answer with a report", body)
	for f.Next() {
		if f.Num == 1 {
			if err := r.parse(f.Bytes()); err != nil {
				return report{}, err
			}
		}
	}
	if err := f.Err(); err != nil {
		return report{}, err
	}
	return r, nil
}

// parse reads ApplicationReportProto.
func (r *report) parse(b []byte) error {
	f := ipc.NewFields("application report", b)
	for f.Next() {
		switch f.Num {
		case 8:
			r.state = f.Int32()
		case 10:
			r.diagnostics = f.Bytes()
		case 19:
			if err := r.parseToken(f.Bytes()); err != nil {
				return err
			}
		}
	}
	return f.Err()
}

// parseToken reads TokenProto.
func (r *report) parseToken(b []byte) error {
	f := ipc.NewFields("token", b)
	for f.Next() {
		switch f.Num {
		case 1:
			r.identifier = f.Bytes()
		case 2:
			r.password = f.Bytes()
		}
	}
	return f.Err()
}

// reportRequest is GetApplicationReportRequestProto of an application such as application_1700000000000_0042.
func reportRequest(id string) ([]byte, error) {
	var app, cluster uint64
	if _, err := fmt.Sscanf(id, "application_%d_%d", &cluster, &app); err != nil {
		return nil, errors.New(id + " is not an application id")
	}
	return appendMessage(nil, 1, appID(app, cluster)), nil
}

// appID is ApplicationIdProto.
func appID(app, cluster uint64) []byte {
	return appendNumber(appendNumber(nil, 1, app), 2, cluster)
}

func appendNumber(dst []byte, field protowire.Number, n uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(dst, field, protowire.VarintType), n)
}

func appendMessage(dst []byte, field protowire.Number, message []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(dst, field, protowire.BytesType), message)
}

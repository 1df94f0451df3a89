package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"

	"heddle/core/model"
)

// Limits of one POST /v1/placements, beside that on its size.
const (
	maxAsks  = 1000
	maxHosts = 1000 // per ask, and per block
	maxTasks = 100_000
	maxPaths = 16
	maxBytes = 1 << 50 // of a rack's map output; sums stay within 64 bits
	maxBlock = 1 << 40 // bytes
	maxTask  = 1 << 31 // MiB and vcores
)

// placementsRequest is the body of POST /v1/placements.
type placementsRequest struct {
	User      model.UserID                 `json:"user"`
	Queue     model.QueueID                `json:"queue"`
	Asks      []askBody                    `json:"asks"`
	Paths     []string                     `json:"input_paths"`      // looked up in HDFS
	Blocks    []blockOf                    `json:"input_blocks"`     // or given
	MapOutput map[model.RackID]model.Bytes `json:"map_output_bytes"` // of maps that are done, by rack
	MapInput  model.Bytes                  `json:"map_input_bytes"`  // what those maps read; 0 when not known
	MapsDone  int                          `json:"maps_completed"`   // how many wrote it; at least one on each rack
	Limit     int                          `json:"limit"`            // nodes per stage in the answer
}

// askBody asks for some tasks of one stage that would be local in the same places.
type askBody struct {
	Stage      model.Stage    `json:"stage"`
	Count      int            `json:"count"`
	Capability model.Resource `json:"capability"`
	Hosts      []string       `json:"hosts"`
	Racks      []model.RackID `json:"racks"`
}

// blockOf is one block of the input.
type blockOf struct {
	Length model.Bytes `json:"length"`
	Hosts  []string    `json:"hosts"`
}

// placementsBody answers POST /v1/placements.
type placementsBody struct {
	Policy       string            `json:"policy"`
	Placements   []placementWish   `json:"placements"`
	IgnoredHosts []string          `json:"ignored_hosts"` // no NodeManager runs there, nor does the topology know them
	Unanswered   []stageUnanswered `json:"unanswered"`    // stages the policy has nothing to say about
	Sources      []sourceBody      `json:"sources"`
}

// placementWish is the answer for one stage.
type placementWish struct {
	preference
	Alternatives []alternativeOf `json:"alternatives"`
}

// stageUnanswered is a stage without an answer.
type stageUnanswered struct {
	Stage model.Stage `json:"stage"`
}

func postPlacements(q *query) (any, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	if q.server.opts.Advisor == nil {
		return nil, asProblem(ErrNoPolicy)
	}
	in, err := q.decode()
	if err != nil {
		return nil, err
	}
	d := draft{q: q, in: in, ignored: map[string]bool{}}
	request, err := d.request()
	if err != nil {
		return nil, err
	}
	advice, err := q.server.opts.Advisor.Advise(q.r.Context(), request)
	if err != nil {
		return nil, asProblem(err)
	}
	return d.placements(request, advice), nil
}

// decode reads the body, strictly and within its limits.
func (q *query) decode() (*placementsRequest, error) {
	if media, _, err := mime.ParseMediaType(q.r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return nil, &problem{
			kind: "unsupported-media-type", status: http.StatusUnsupportedMediaType,
			detail: fmt.Sprintf("Content-Type is %q", q.r.Header.Get("Content-Type")), hint: "send application/json",
		}
	}
	data, err := io.ReadAll(http.MaxBytesReader(q.w, q.r.Body, q.server.opts.MaxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, &problem{
			kind: "body-too-large", status: http.StatusRequestEntityTooLarge,
			detail: fmt.Sprintf("the body is larger than %d bytes (advanced.web.max_body)", tooLarge.Limit), hint: "ask about fewer tasks at once, or name input_paths instead of input_blocks",
		}
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, &problem{kind: "slow-body", status: http.StatusRequestTimeout, detail: "the body did not arrive within " + q.server.opts.Timeout.String() + " (advanced.web.timeout)"}
	case err != nil:
		return nil, badRequest("read body: " + err.Error())
	}
	return decodePlacements(data)
}

// decodePlacements decodes a body. Unknown fields are errors: a misspelt one
// would silently change the answer.
func decodePlacements(data []byte) (*placementsRequest, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	in := &placementsRequest{}
	if err := dec.Decode(in); err != nil {
		return nil, decodeProblem(err, len(data))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, badRequest(fmt.Sprintf("there is something after the JSON object, at byte %d", dec.InputOffset()))
	}
	return in, nil
}

func decodeProblem(err error, size int) *problem {
	var wrongType *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case size == 0:
		return badRequest("the body is empty, want a JSON object with asks")
	case errors.As(err, &wrongType):
		detail := fmt.Sprintf("is a %s, want %s (byte %d)", wrongType.Value, jsonType(wrongType.Type.Kind().String()), wrongType.Offset)
		if wrongType.Field == "" {
			return badRequest("the body " + detail)
		}
		return badRequest(wrongType.Field+" "+detail, fieldError{wrongType.Field, detail})
	case errors.As(err, &syntax):
		return badRequest(fmt.Sprintf("the body is not JSON: byte %d: %v", syntax.Offset, err))
	case errors.Is(err, io.ErrUnexpectedEOF):
		return badRequest(fmt.Sprintf("the body ends in the middle, after %d bytes", size))
	}
	if field, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		name := strings.Trim(field, `"`)
		return badRequest(name+" is not known", fieldError{name, "is not known; /openapi.json has the fields"})
	}
	return badRequest("the body is not what it should be: " + err.Error())
}

// jsonType names a Go kind as JSON does.
func jsonType(kind string) string {
	switch {
	case strings.HasPrefix(kind, "int"):
		return "a whole number"
	case kind == "slice":
		return "a list"
	case kind == "struct", kind == "map":
		return "an object"
	}
	return "a " + kind
}

// Package relaylink joins the two processes of heddle: `heddle serve`, which observes and plans, and
// `heddle relay`, which stands between ApplicationMasters and the ResourceManager. They talk over a Unix
// socket that the relay listens at. serve sends the relay its view of the cluster and its plans, whole
// at first and then what has changed; the relay reports what applications ask for, and asks for
// plans, for the rows that the ResourceManager shows, and answers questions about itself.
//
// The relay needs none of this to pass calls on: without serve its view grows old, and then it undoes
// what it steered.
package relaylink

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"heddle/core/model"
)

const (
	// format is of the messages. An end refuses another one's.
	format = 1
	// maxMessage is the most bytes of one message: the whole view of some 100,000 nodes.
	maxMessage = 64 << 20
)

// message is one line of JSON. Exactly one field is set.
type message struct {
	// Both ways, first.
	Hello *hello `json:"hello,omitempty"`

	// From serve.
	View        *view            `json:"view,omitempty"`
	Plans       *planAnswer      `json:"plans,omitempty"`
	Rows        *outstandingRows `json:"rows,omitempty"`
	StatusQuery *statusQuery     `json:"status_query,omitempty"`

	// From the relay.
	Refused     string       `json:"refused,omitempty"` // why the relay refuses this serve
	Asks        *appAsks     `json:"asks,omitempty"`
	PlanRequest *planRequest `json:"plan_request,omitempty"`
	RowsQuery   *rowsQuery   `json:"rows_query,omitempty"`
	Status      *status      `json:"status,omitempty"`
}

// hello identifies a process.
type hello struct {
	Format  int    `json:"format"`
	Version string `json:"version"` // of heddle
	PID     int    `json:"pid"`
}

// view is the cluster as serve knows it, or what has changed since the view before.
type view struct {
	Version    uint64     `json:"version"` // of the snapshot; rises
	Whole      bool       `json:"whole,omitempty"`
	StaleAfter model.Time `json:"stale_after_ms"` // when the ResourceManager's state becomes too old to act on
	VCores     bool       `json:"vcores,omitempty"`
	// SoftHeadroom: the scheduler grants more than the headroom that it reports.
	SoftHeadroom bool `json:"soft_headroom,omitempty"`

	Nodes     []node         `json:"nodes,omitempty"`
	GoneNodes []model.NodeID `json:"gone_nodes,omitempty"`
	Apps      []application  `json:"applications,omitempty"`
	GoneApps  []model.AppID  `json:"gone_applications,omitempty"`
	Targets   []target       `json:"targets,omitempty"`
	GonePlans []stageOfApp   `json:"gone_plans,omitempty"`
}

// node is a NodeManager.
type node struct {
	ID     model.NodeID   `json:"id"`
	Host   string         `json:"host"`
	Rack   model.RackID   `json:"rack"`
	Usable bool           `json:"usable,omitempty"`
	Total  model.Resource `json:"total"`
	Free   model.Resource `json:"free"`
}

// application is what the relay has to know of one.
type application struct {
	ID    model.AppID   `json:"id"`
	Type  string        `json:"type"`
	User  model.UserID  `json:"user"`
	Queue model.QueueID `json:"queue"`
	Tags  []string      `json:"tags,omitempty"`
	// Pass is why serve wants nothing of the application steered.
	Pass model.PassCause `json:"pass,omitempty"`
}

// stageOfApp names what a plan is for.
type stageOfApp struct {
	App   model.AppID `json:"application"`
	Stage model.Stage `json:"stage"`
}

// target is a plan that restricts where a stage's containers are asked for, or says that it is not sure enough to.
type target struct {
	stageOfApp
	Racks []model.RackTarget `json:"racks,omitempty"`
	Hold  bool               `json:"hold,omitempty"`
	// MaxRunning is how many containers a stage that is held may have at a time.
	MaxRunning int          `json:"max_running,omitempty"`
	Until      model.Time   `json:"until_ms,omitempty"`
	Reason     model.Reason `json:"reason"`
}

// appAsks is what an application asks for now.
type appAsks struct {
	App     model.AppID    `json:"application"`
	At      model.Time     `json:"at_ms"`
	Rows    []model.AskRow `json:"rows"`
	Relayed model.Relayed  `json:"relayed,omitzero"`
}

// planRequest asks for plans of one application, which has just asked for something new.
type planRequest struct {
	ID     uint64         `json:"id"`
	App    model.AppID    `json:"application"`
	At     model.Time     `json:"at_ms"`
	Rows   []model.AskRow `json:"rows"`
	Within model.Duration `json:"within_ms"` // from now; later answers are of use to later calls
}

// planAnswer answers planRequest.
type planAnswer struct {
	ID      uint64   `json:"id"`
	Targets []target `json:"targets,omitempty"` // none: there is no plan, or no time
}

// rowsQuery asks for the rows that the ResourceManager shows as outstanding.
type rowsQuery struct {
	App model.AppID `json:"application"`
}

// outstandingRows answers rowsQuery.
type outstandingRows struct {
	App  model.AppID    `json:"application"`
	At   model.Time     `json:"at_ms"` // when the ResourceManager was asked; 0: it was not
	Rows []model.AskRow `json:"rows,omitempty"`
}

// statusQuery asks what the relay does.
type statusQuery struct {
	ID     uint64      `json:"id"`
	App    model.AppID `json:"application,omitempty"` // only its attempts
	Offset int         `json:"offset,omitempty"`      // of the first attempt
	Limit  int         `json:"limit,omitempty"`       // attempts at most
}

// status answers statusQuery.
type status struct {
	ID    uint64       `json:"id"`
	Relay *model.Relay `json:"relay"`
}

// What may be wrong with a message.
var (
	errTooLong = fmt.Errorf("a message has more than %d MiB", maxMessage>>20)
	errNothing = errors.New("a message has no field, or several")
)

// reader reads messages.
type reader struct{ lines *bufio.Scanner }

func newReader(r io.Reader) *reader {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), maxMessage)
	return &reader{lines}
}

// next returns the next message; io.EOF after the last.
func (r *reader) next() (*message, error) {
	if !r.lines.Scan() {
		switch err := r.lines.Err(); {
		case errors.Is(err, bufio.ErrTooLong):
			return nil, errTooLong
		case err != nil:
			return nil, err
		}
		return nil, io.EOF
	}
	return decode(r.lines.Bytes())
}

func decode(line []byte) (*message, error) {
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		return nil, fmt.Errorf("a message is not understood: %w", err)
	}
	if m.fields() != 1 {
		return nil, errNothing
	}
	return &m, nil
}

// fields counts the fields that are set.
func (m *message) fields() int {
	n := 0
	for _, set := range []bool{
		m.Hello != nil, m.View != nil, m.Plans != nil, m.Rows != nil, m.StatusQuery != nil,
		m.Refused != "", m.Asks != nil, m.PlanRequest != nil, m.RowsQuery != nil, m.Status != nil,
	} {
		if set {
			n++
		}
	}
	return n
}

// encode returns a message as a line.
func (m *message) encode() ([]byte, error) {
	line, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("a message is not written: %w", err)
	}
	if len(line) >= maxMessage {
		return nil, errTooLong
	}
	return append(line, '\n'), nil
}

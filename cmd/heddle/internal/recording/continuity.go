package recording

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"heddle/core/model"
	"heddle/core/trace"
)

// Bounds of the time from one record to the next.
const (
	maxBack    = model.Minute           // sources are read side by side; more is a clock that was set back (package state)
	maxForward = 24 * 60 * model.Minute // a service that runs records something every second
)

// continuity tells whether records are of one service on one cluster. After a restart mark
// everything may be new.
type continuity struct {
	anyTime bool // clock steps are allowed

	header    []byte // of the present file, as JSON
	file      string // its name
	unmarked  error  // the header is another one, and no restart has been marked yet
	newest    model.Time
	hasTime   bool
	cluster   model.ClusterFact
	isNewFile bool            // since the nodes were listed
	restarted bool            // the ResourceManager was, since the nodes were listed
	otherHost bool            // another ResourceManager answers, since the nodes were listed
	hosts     map[string]bool // of the nodes
	hostsFile string          // where they were listed
}

// begin takes the header of a file.
func (c *continuity) begin(file string, h *trace.Header) error {
	data, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if c.header != nil {
		c.isNewFile = true
	} else {
		c.newest, c.hasTime = h.Start, h.Start > 0
	}
	if c.header != nil && !bytes.Equal(c.header, data) {
		c.unmarked = fmt.Errorf("%w: the header of %s (start_ms %d, config_hash %q) is not that of %s, which it continues, and no restart is marked",
			trace.ErrMixed, file, h.Start, h.ConfigHash, c.file)
	}
	c.header, c.file = data, file
	return nil
}

// check takes the next record.
func (c *continuity) check(rec *trace.Record) error {
	if m := rec.Mark; m != nil {
		if m.Name == trace.MarkRestarted {
			*c = continuity{anyTime: c.anyTime, header: c.header, file: c.file}
		}
		if m.Name != trace.MarkContinues { // the first record of a file
			return c.unmarked
		}
		return nil
	}
	if c.unmarked != nil {
		return c.unmarked
	}
	if err := c.checkTime(rec.At); err != nil {
		return err
	}
	o := rec.Observation
	if o == nil {
		return nil
	}
	if err := c.checkTime(o.At); err != nil {
		return err
	}
	switch f := o.Fact.(type) {
	case model.ClusterFact:
		c.restarted = c.restarted || c.cluster.Started != 0 && f.Started != c.cluster.Started
		c.otherHost = c.otherHost || c.cluster.Started != 0 && f.Address != c.cluster.Address
		c.cluster = f
	case model.NodesFact:
		return c.checkNodes(&f)
	}
	return nil
}

// checkTime refuses a time far from the newest one, and one that no clock shows.
func (c *continuity) checkTime(at model.Time) error {
	if at < 0 {
		return fmt.Errorf("%w: the time %d is before 1970", trace.ErrGarbage, at)
	}
	if c.anyTime {
		return nil
	}
	if c.hasTime {
		switch {
		case at < c.newest.Add(-maxBack):
			return fmt.Errorf("%w: %s is before %s", trace.ErrClock, timeText(at), timeText(c.newest))
		case at > c.newest.Add(maxForward):
			return fmt.Errorf("%w: %s is more than a day after %s", trace.ErrClock, timeText(at), timeText(c.newest))
		}
	}
	c.newest, c.hasTime = max(c.newest, at), true
	return nil
}

func timeText(at model.Time) string {
	return fmt.Sprintf("%s (%d)", time.UnixMilli(int64(at)).UTC().Format("2006-01-02T15:04:05.000Z"), at)
}

// checkNodes refuses a list of nodes that has no host of the last one after the ResourceManager
// became another: between two files, or when another host answers. Without that all nodes may
// have been replaced.
func (c *continuity) checkNodes(f *model.NodesFact) error {
	if len(f.Nodes) == 0 { // as after a restart of the ResourceManager
		return nil
	}
	known := len(c.hosts) == 0
	for i := range f.Nodes {
		if known = known || c.hosts[f.Nodes[i].Host]; known {
			break
		}
	}
	if !known && !f.Partial && c.restarted && (c.isNewFile || c.otherHost) {
		return fmt.Errorf("%w: none of the %d nodes in %s is among the %d that %s listed before, and the ResourceManager is another: files of two clusters do not belong together",
			trace.ErrMixed, len(f.Nodes), c.file, len(c.hosts), c.hostsFile)
	}
	if !f.Partial || c.hosts == nil {
		c.hosts = make(map[string]bool, len(f.Nodes))
	}
	for i := range f.Nodes {
		c.hosts[f.Nodes[i].Host] = true
	}
	if !f.Partial {
		c.isNewFile, c.restarted, c.otherHost, c.hostsFile = false, false, false, c.file
	}
	return nil
}

package replay

import (
	"encoding/json"

	"heddle/core/model"
	"heddle/core/trace"
)

// Check says whether a replay of the recorded policy decided as the recorded service did
// (I5).
type Check struct {
	Decisions int    `json:"decisions"` // recorded
	Equal     int    `json:"equal"`     // of them, up to the first that differs
	Differs   string `json:"differs,omitempty"`
}

// check compares decisions as they come: those of the replay before those that were
// recorded of the same round, which follow it. A nil check compares nothing.
type check struct {
	Check
	made []model.Decision
}

func (c *check) replayed(d []model.Decision) {
	if c != nil && c.Differs == "" {
		c.made = append(c.made, d...)
	}
}

func (c *check) recorded(rec *trace.Record) {
	if c == nil {
		return
	}
	c.Decisions++
	if c.Differs != "" {
		return
	}
	if len(c.made) == 0 {
		c.Differs = "the replay decides less: " + text(rec.Decision)
		return
	}
	made, want := text(&c.made[0]), text(rec.Decision)
	c.made = c.made[1:]
	if made != want {
		c.Differs = "recorded " + want + ", replayed " + made
		return
	}
	c.Equal++
}

// end is called after the last record.
func (c *check) end() *Check {
	if c == nil {
		return nil
	}
	if len(c.made) > 0 && c.Differs == "" {
		c.Differs = "the replay decides more: " + text(&c.made[0])
	}
	return &c.Check
}

func text(d *model.Decision) string {
	data, err := json.Marshal(d)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

package rmmodel

import (
	"fmt"
	"slices"

	"heddle/core/asks"
	"heddle/core/model"
)

// books hold what a ResourceManager without a relay would be asked for, given
// the same allocations, and check the real one against it.
type books struct {
	stages  map[asks.Key]model.Stage
	shadow  map[asks.Key]int32 // ANY, had the application's own rows gone on
	untold  map[asks.Key]int32 // allocated, and the relay has not seen it
	allowed map[asks.Key]int32 // by how much ANY may exceed the shadow: what was untold when the relay last wrote it
	missed  map[asks.Key]int32 // what a restarted relay cannot know to be granted, until the application says its count again
	wanted  map[asks.Key][]model.RackID
	blurred map[asks.Key]bool // rows came back at the ResourceManager that a relay in its resync may not have read: racks are not checked
	hungry  map[asks.Key]int  // seconds without a container although there is room
	first   *asks.Key         // that was served first in this second: nodes may have been used up before later keys
}

func newBooks(app App) books {
	b := books{
		stages: map[asks.Key]model.Stage{}, hungry: map[asks.Key]int{},
	}
	for _, t := range app.Tasks {
		b.stages[t.Key] = t.Stage
		if t.Again != (asks.Key{}) {
			b.stages[t.Again] = t.Stage
		}
	}
	b.forget()
	return b
}

// forget starts anew, as the ResourceManager does after a failover.
func (b *books) forget() {
	b.shadow, b.untold, b.allowed = map[asks.Key]int32{}, map[asks.Key]int32{}, map[asks.Key]int32{}
	b.missed, b.wanted, b.blurred = map[asks.Key]int32{}, map[asks.Key][]model.RackID{}, map[asks.Key]bool{}
}

// restarted enters a restart of the relay, which takes what is pending for what
// the application asks.
func (b *books) restarted(rm *RM) {
	for key := range b.stages { // order-free: every key on its own
		b.missed[key] = max(0, rm.Asked(key, model.AnyName)-b.shadow[key])
	}
}

// applied enters a call: own as the application made it, out as it arrived. It
// returns what is wrong with it, "" when nothing is.
func (b *books) applied(own *asks.Request, out *sent, rm *RM, result *Result) string {
	said := map[asks.Key]bool{}
	for _, row := range own.Rows {
		if row.Name == model.AnyName {
			b.shadow[row.Key] = row.Count
			said[row.Key] = true
			b.blurred[row.Key] = b.blurred[row.Key] && row.Count > 0
		}
	}
	for i := range out.Rows {
		row := &out.Rows[i]
		if row.Name != model.AnyName { // whether the ask is strict stays, and where it may be met so far
			b.wanted[row.Key] = append(slices.Clone(b.wanted[row.Key]), out.wanted[row.Key]...)
			continue
		}
		b.wanted[row.Key] = out.wanted[row.Key]
		if said[row.Key] {
			b.missed[row.Key] = 0
		} else {
			result.Injected += int(b.untold[row.Key] + b.missed[row.Key])
		}
		b.allowed[row.Key] = b.untold[row.Key] + b.missed[row.Key]
	}
	for key := range b.stages { // any order: one problem is enough
		if got := rm.Asked(key, model.AnyName); got > b.shadow[key]+b.allowed[key] {
			return fmt.Sprintf("%v: %d are asked for, and the application asks for %d, of which up to %d may be on their way",
				key, got, b.shadow[key], b.allowed[key])
		}
	}
	return ""
}

// allocated enters a container. It returns what is wrong with it, "" when nothing is.
func (b *books) allocated(c *Container, result *Result, rack model.RackID) string {
	b.hungry[c.Key] = 0
	if b.first == nil || compareKeys(c.Key, *b.first) < 0 {
		b.first = &c.Key
	}
	b.untold[c.Key]++
	if b.shadow[c.Key] > 0 {
		b.shadow[c.Key]--
	} else {
		result.Excess++
	}
	if !c.Strict {
		return ""
	}
	result.Strict++
	if wanted := b.wanted[c.Key]; !b.blurred[c.Key] && !slices.Contains(wanted, rack) {
		return fmt.Sprintf("%v: a strict ask was met on %s, and the plan wants %v", c.Key, rack, wanted)
	}
	return ""
}

// delivered enters an answer that relay and application got.
func (b *books) delivered(answer *asks.Response) {
	for _, g := range answer.Granted {
		b.untold[g.Key] = max(b.untold[g.Key]-1, 0)
	}
}

// died enters containers that die before anybody was told of them: they are asked
// for again. A relay in its resync that has read the rows before does not know of
// it until the application drops the key.
func (b *books) died(rm *RM, resyncing bool, kill func()) {
	before := map[asks.Key]int{}
	for key := range b.stages { // order-free: every key on its own
		before[key] = rm.Untold(key)
	}
	kill()
	for key := range b.stages { // order-free: every key on its own
		again := int32(before[key] - rm.Untold(key))
		b.shadow[key] += again
		b.untold[key] -= again
		b.blurred[key] = b.blurred[key] || again > 0 && resyncing
	}
}

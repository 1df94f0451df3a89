package sim

import (
	"errors"
	"fmt"

	"heddle/core/lab/sim/network"
	"heddle/core/model"
	"heddle/core/topology"
)

// background is the load of other traffic on the uplinks. Where it moves, every rack
// has the load of the rack before it after each move, and the first that of the last.
type background struct {
	loads []topology.Link // by rack, now
	every model.Duration  // 0: it stays
	next  model.Time      // of the next move
}

// newBackground puts the cluster's other traffic on its links.
func newBackground(c *Cluster, net *network.Fast) background {
	b := background{every: c.BackgroundMoves, next: model.Time(c.BackgroundMoves)}
	for i := range c.Racks {
		b.loads = append(b.loads, c.Racks[i].Background)
		if b.loads[i] != (topology.Link{}) {
			net.SetBackground(i, b.loads[i])
		}
	}
	return b
}

// movesAt reports whether a move is due at a time.
func (b *background) movesAt(at model.Time) bool { return b.every > 0 && b.next == at }

// moveBefore runs the simulation up to each move before a time, and moves the load.
func (b *background) moveBefore(s *Sim, until model.Time) {
	for b.every > 0 && b.next < until {
		s.faults.applyUntil(s, b.next)
		s.runUntil(b.next)
		s.now = b.next
		s.stats.sampleLinks(&s.world)
		b.next = b.next.Add(b.every)
		b.move(s.net)
	}
}

// move gives each rack the load of the one before.
func (b *background) move(net *network.Fast) {
	last := b.loads[len(b.loads)-1]
	copy(b.loads[1:], b.loads)
	b.loads[0] = last
	for i, load := range b.loads {
		net.SetBackground(i, load)
	}
}

// leastBackground returns the least load of other traffic that a rack's uplink has at any time.
func (c *Cluster) leastBackground(rack int) topology.Link {
	least := c.Racks[rack].Background
	if c.BackgroundMoves == 0 {
		return least
	}
	for i := range c.Racks {
		least.Out, least.In = min(least.Out, c.Racks[i].Background.Out), min(least.In, c.Racks[i].Background.In)
	}
	return least
}

// validateMoves reports loads of other traffic that do not fit on an uplink that they move to.
func (c *Cluster) validateMoves() (errs []error) {
	if c.BackgroundMoves < 0 {
		return []error{errors.New("cluster: moves of the background: give 0 or a time above 0")}
	}
	if c.BackgroundMoves == 0 {
		return nil
	}
	var most topology.Link
	for i := range c.Racks {
		most.Out, most.In = max(most.Out, c.Racks[i].Background.Out), max(most.In, c.Racks[i].Background.In)
	}
	for i, r := range c.Racks {
		if most.Out >= r.Uplink.Out || most.In >= r.Uplink.In {
			errs = append(errs, fmt.Errorf("cluster: rack %d: its uplink carries %g and %g bytes/s, and background of %g and %g moves to it: give less than it carries", i+1, r.Uplink.Out, r.Uplink.In, most.Out, most.In))
		}
	}
	return errs
}

// fitsHeartbeat reports moves that are not at heartbeats, where the links are read.
func (c *Cluster) fitsHeartbeat(heartbeat model.Duration) error {
	if heartbeat > 0 && c.BackgroundMoves%heartbeat != 0 {
		return fmt.Errorf("cluster: the background moves every %d ms: give a multiple of the heartbeat, %d ms", c.BackgroundMoves, heartbeat)
	}
	return nil
}

package asks

import "heddle/core/model"

// maxRunning bounds the containers that are remembered. Further ones count, but
// are not taken back when they fail.
const maxRunning = 1 << 16

// container is one that runs.
type container struct {
	key  Key
	host string
	rack model.RackID
}

// running are the containers that run.
type running map[ContainerID]container

// start counts a container that runs.
func (c running) start(g *Grant, k *key, site *Site) model.RackID {
	var rack model.RackID
	if site != nil {
		rack = site.RackOf[g.Host]
	}
	if rack != "" {
		k.Granted[rack]++
	}
	if len(c) < maxRunning {
		c[g.ID] = container{key: g.Key, host: g.Host, rack: rack}
		k.Running++
	}
	return rack
}

// end takes a container that does not run any more, once. What succeeded counts
// on as granted; what was released or failed does not.
func (t *Table) end(id ContainerID, success bool) {
	c, known := t.running[id]
	if !known {
		return
	}
	delete(t.running, id)
	t.change()
	k := t.have(c.key)
	if k == nil {
		return
	}
	k.Running--
	if !success && c.rack != "" {
		if k.Granted[c.rack]--; k.Granted[c.rack] <= 0 {
			delete(k.Granted, c.rack)
		}
	}
}

// takeDown counts the rows of a container down, as the ResourceManager did when
// it allocated it: host, rack and ANY when it was node-local, and so on
// (LocalityAppPlacementAllocator).
func (k *key) takeDown(host, rack string, call uint32) {
	for i := range k.Racks {
		if s := &k.Racks[i]; string(s.Rack) == rack {
			s.Busy, s.Granted = 0, true
		}
	}
	k.takeSent(host, rack, call)
	names := [...]string{model.AnyName, rack, host}
	onRack := k.Own[rack].left() > 0
	for i, name := range names {
		if r := k.Own[name]; r.left() > 0 && (i == 0 || onRack) {
			r.Taken++
			k.Own[name] = r
		}
	}
}

// takeSent counts the rows at the ResourceManager down. Rows of this call
// replaced those that the container was taken from: an answer tells what was
// allocated before the call. A container beside the named hosts of its rack may
// have been rack-local or, when ANY is relaxed, off-switch
// (RegularContainerAllocator.canAssign).
func (k *key) takeSent(host, rack string, call uint32) {
	anyRow, rackRow, hostRow := k.RM[model.AnyName], k.RM[rack], k.RM[host]
	replaced := anyRow.Call == call || rackRow.Call == call || hostRow.Call == call
	vague := replaced || anyRow.Relax && hostRow.Count == 0
	if anyRow.Call != call {
		takeRow(k.RM, model.AnyName, false)
	}
	if rackRow.Count == 0 && !vague {
		return
	}
	if rackRow.Call != call {
		takeRow(k.RM, rack, vague)
	}
	if hostRow.Call != call {
		takeRow(k.RM, host, vague)
	}
}

// takeRow counts one row at the ResourceManager down.
func takeRow(rows map[string]sentRow, name string, vague bool) {
	r, found := rows[name]
	if !found {
		return
	}
	r.Count, r.Vague = max(0, r.Count-1), r.Vague || vague
	if r.Count == 0 && !r.Vague {
		delete(rows, name)
		return
	}
	rows[name] = r
}

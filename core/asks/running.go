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

// add counts a container that runs.
func (c running) add(g *Grant, k *key, site *Site) model.RackID {
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

// removeContainer takes a container that does not run any more, once. What succeeded counts
// on as granted; what was released or failed does not.
func (t *Table) removeContainer(id ContainerID, success bool) {
	c, known := t.running[id]
	if !known {
		return
	}
	delete(t.running, id)
	t.change()
	k := t.find(c.key)
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

// applyGrant counts the rows of a container down, as the ResourceManager did when
// it allocated it: host, rack and ANY when it was node-local, and so on
// (LocalityAppPlacementAllocator).
func (k *key) applyGrant(host, rack string) {
	for i := range k.Racks {
		if s := &k.Racks[i]; string(s.Rack) == rack {
			s.Busy, s.Granted = 0, true
		}
	}
	own, sent := k.Own[rack].left() > 0, k.RM[rack].Count > 0
	for i, name := range [...]string{model.AnyName, rack, host} {
		if r := k.Own[name]; r.left() > 0 && (i == 0 || own) {
			r.Taken++
			k.Own[name] = r
		}
		if r := k.RM[name]; r.Count > 0 && (i == 0 || sent) {
			r.Count--
			k.RM[name] = r
		}
	}
}

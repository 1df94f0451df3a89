package rmmodel

import (
	"cmp"
	"fmt"
	"slices"

	"heddle/core/asks"
	"heddle/core/model"
)

// row is what the ResourceManager keeps of one ask row.
type row struct {
	name       string
	count      int32
	relax      bool
	labelled   bool
	capability model.Resource
}

// keyRows are the rows of one scheduler key (LocalityAppPlacementAllocator). It
// exists as long as any row does: rows that an allocation left over stay when
// ANY reached 0 by allocating, and count again when ANY comes back.
type keyRows struct {
	rows map[string]row
	live bool // the scheduler offers nodes to the key (AppSchedulingInfo.schedulerKeys)
}

func (k *keyRows) count(name string) int32 { return k.rows[name].count }

// mayDelayTo is canDelayTo: whether containers may be placed by a coarser row.
func (k *keyRows) mayDelayTo(name string) bool {
	r, found := k.rows[name]
	return !found || r.relax
}

// mayAllocate is canAllocate, the last check before a container is committed.
func (k *keyRows) mayAllocate(level model.Locality, n *Node) bool {
	if k.count(model.AnyName) <= 0 {
		return false
	}
	if level == model.OffSwitch {
		return true
	}
	if k.count(string(n.Rack)) <= 0 {
		return false
	}
	return level == model.RackLocal || k.count(n.Host) > 0
}

// take decrements the rows of an allocation and returns them with count 1 each,
// as the ResourceManager keeps them until the container is told of.
func (k *keyRows) take(level model.Locality, n *Node) []row {
	var names []string
	switch level {
	case model.NodeLocal:
		names = []string{n.Host, string(n.Rack), model.AnyName}
	case model.RackLocal:
		names = []string{string(n.Rack), model.AnyName}
	case model.OffSwitch:
		names = []string{model.AnyName}
	}
	taken := make([]row, 0, len(names))
	for _, name := range names {
		r := k.rows[name]
		r.count--
		if r.count == 0 {
			delete(k.rows, name)
		} else {
			k.rows[name] = r
		}
		r.count = 1
		taken = append(taken, r)
	}
	k.live = k.count(model.AnyName) > 0
	return taken
}

// update puts rows in the place of those of their names. With again set, they
// are rows of a container that died before anybody was told of it: counts are
// added. It returns false when the key is to be dropped, which an ANY of 0 says.
func (k *keyRows) update(rows []row, again bool) (keep bool) {
	keep = true
	for _, r := range rows {
		if again {
			r.count += k.count(r.name)
		}
		k.rows[r.name] = r
		if r.name == model.AnyName {
			keep = r.count > 0
			k.live = keep
		}
	}
	return keep
}

// scheduling is what a scheduler knows of the attempt (AppSchedulingInfo, SchedulerApplicationAttempt).
type scheduling struct {
	cluster   *Cluster
	settings  Settings
	keys      map[asks.Key]*keyRows
	misses    map[asks.Key]int  // scheduling opportunities; they outlive the key
	blacklist map[string]bool   // hosts and racks
	opened    map[asks.Key]bool // ANY was asked for and not taken back since, though allocations may have used it up
}

// updateRows is AppSchedulingInfo.updateResourceRequests: rows are grouped by
// key, the last one of a name counts, and order does not matter otherwise.
func (s *scheduling) updateRows(key asks.Key, rows []row, again bool) {
	k := s.keys[key]
	if k == nil {
		k = &keyRows{rows: map[string]row{}}
		s.keys[key] = k
	}
	if !k.update(rows, again) {
		delete(s.keys, key)
		delete(s.opened, key)
	} else if k.live {
		s.opened[key] = true
	}
}

// checked groups rows by key, the last one of a name winning, and refuses those
// that no sane caller sends.
func (s *scheduling) checked(rows []asks.Row) (map[asks.Key][]row, error) {
	grouped := map[asks.Key][]row{}
	for i := range rows {
		r := &rows[i]
		kept := row{name: r.Name, count: r.Count, relax: r.Relax, labelled: r.Labelled, capability: r.Capability}
		same := func(o row) bool { return o.name == r.Name }
		grouped[r.Key] = append(slices.DeleteFunc(grouped[r.Key], same), kept)
	}
	for key, rows := range grouped { // any order: only the first problem's wording depends on it
		if err := s.checkKey(key, rows); err != nil {
			return nil, err
		}
	}
	return grouped, nil
}

// checkKey checks the rows that a call has for one key. Rows without ANY are
// fine as long as nobody who sends them can know that ANY was used up: they are
// kept and mean nothing.
func (s *scheduling) checkKey(key asks.Key, rows []row) error {
	anyRow := slices.IndexFunc(rows, func(r row) bool { return r.name == model.AnyName })
	var size model.Resource
	if k := s.keys[key]; k != nil {
		for _, r := range k.rows { // all of one size
			size = r.capability
		}
	}
	if anyRow >= 0 {
		size = rows[anyRow].capability
	} else if size.IsZero() {
		size = rows[0].capability
	}
	for _, r := range rows {
		switch {
		case r.name == "":
			return fmt.Errorf("%w: a row of %v has no name", ErrInvalidAsk, key)
		case r.count < 0:
			return fmt.Errorf("%w: %v %s has the count %d", ErrInvalidAsk, key, r.name, r.count)
		case r.labelled && r.name != model.AnyName:
			return fmt.Errorf("%w: %v %s carries a node label, which only %s may", ErrInvalidAsk, key, r.name, model.AnyName)
		case r.count > 0 && anyRow < 0 && !s.opened[key]:
			return fmt.Errorf("%w: %v %s has no %s row", ErrInvalidAsk, key, r.name, model.AnyName)
		case r.count > 0 && r.capability != size:
			return fmt.Errorf("%w: %v %s asks for %v, its other rows for %v", ErrInvalidAsk, key, r.name, r.capability, size)
		}
	}
	return nil
}

// refuses reports whether the application refuses a node, by host or rack.
func (s *scheduling) refuses(n *Node) bool { return s.blacklist[n.Host] || s.blacklist[string(n.Rack)] }

// compareKeys orders keys as the schedulers serve them: by priority, the lower
// number first, then by allocation request id (SchedulerRequestKey.compareTo).
func compareKeys(a, b asks.Key) int {
	return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.RequestID, b.RequestID))
}

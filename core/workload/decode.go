package workload

import (
	"slices"

	"heddle/core/model"
)

// job reads the line of a job.
func (d *decoder) job() (Job, error) {
	j := Job{Queue: DefaultQueue}
	// What refers to names is resolved at the end: keys come in any order.
	known := keys{required: []string{"id", "user", "submit_ms", "stages"}, optional: []string{"name", "queue", "parents"}}
	err := d.whole(func() error {
		return d.object(known, func(key string) error {
			switch key {
			case "id":
				return d.text((*string)(&j.ID))
			case "name":
				return d.word(&j.Name)
			case "user":
				return d.word((*string)(&j.User))
			case "queue":
				return d.word((*string)(&j.Queue))
			case "submit_ms":
				return d.integer((*int64)(&j.Submit))
			case "parents":
				return d.list(func(int) error { return d.parent(&j.Parents) })
			}
			return d.list(func(int) error { return d.stage(&j) })
		})
	})
	j.Parents, j.Stages = slices.Clip(j.Parents), slices.Clip(j.Stages)
	return j, err
}

// parent reads the id of an earlier job and adds its index.
func (d *decoder) parent(to *[]int) error {
	var i int
	if err := d.earlier(&i); err != nil {
		return err
	}
	*to = append(*to, i)
	return nil
}

// earlier reads the id of an earlier job into its index.
func (d *decoder) earlier(to *int) error {
	at := d.start()
	var id string
	if err := d.text(&id); err != nil {
		return err
	}
	i, ok := d.ids[JobID(id)]
	if !ok {
		return d.src.fail(at, ReasonParent, "no earlier job is called %q; a parent stands before its children", id)
	}
	*to = i
	return nil
}

// stage reads one stage and adds it to the job.
func (d *decoder) stage(j *Job) error {
	s := Stage{Container: DefaultSizing().Container}
	known := keys{
		required: []string{"name", "tasks", "output_bytes"},
		optional: []string{"reads", "edges", "fixed_ms", "per_gib_ms", "memory_mib", "vcores", "skew"},
	}
	err := d.object(known, func(key string) error {
		switch key {
		case "name":
			return d.word((*string)(&s.Name))
		case "tasks":
			return d.count(&s.Tasks)
		case "output_bytes":
			return d.integer((*int64)(&s.Output))
		case "reads":
			return d.list(func(int) error { return d.read(&s.Reads) })
		case "edges":
			return d.list(func(int) error { return d.edge(j.Stages, &s.Edges) })
		case "fixed_ms":
			return d.integer((*int64)(&s.Cost.Fixed))
		case "per_gib_ms":
			return d.integer((*int64)(&s.Cost.PerGiB))
		case "memory_mib":
			return d.integer(&s.Container.MemoryMiB)
		case "vcores":
			return d.integer(&s.Container.VCores)
		}
		return d.number(&s.Skew)
	})
	s.Reads, s.Edges = slices.Clip(s.Reads), slices.Clip(s.Edges)
	j.Stages = append(j.Stages, s)
	return err
}

// count reads a whole number into an int.
func (d *decoder) count(to *int) error {
	var v int64
	err := d.integer(&v)
	*to = int(v)
	return err
}

// read reads one file and adds it.
func (d *decoder) read(to *[]File) error {
	var r File
	at := d.start()
	var places int
	known := keys{required: []string{"bytes"}, optional: []string{"racks", "shares", "parent", "node"}}
	err := d.object(known, func(key string) error {
		if key != "bytes" {
			places++
		}
		switch key {
		case "bytes":
			return d.integer((*int64)(&r.Bytes))
		case "racks":
			r.Place = OnRacks
			return d.count(&r.Racks)
		case "parent":
			r.Place = OfParent
			return d.earlier(&r.Parent)
		case "node":
			r.Place = OnNode
			return d.node(&r.Node)
		}
		r.Place = ByShares
		return d.list(func(int) error {
			var share float64
			err := d.number(&share)
			r.Shares = append(r.Shares, share)
			return err
		})
	})
	if err == nil && places > 1 {
		return d.src.fail(at, ReasonKey, "say racks, shares, parent or node, and only one of them")
	}
	*to = append(*to, r)
	return err
}

// node reads a node, [rack, number].
func (d *decoder) node(to *Node) error {
	at, n := d.start(), 0
	err := d.list(func(i int) error {
		n++
		if i == 0 {
			return d.count(&to.Rack)
		}
		return d.count(&to.Number)
	})
	if err == nil && n != 2 {
		return d.src.fail(at, ReasonRange, "want a rack and the number of a node in it, as in [1,3]")
	}
	return err
}

// edge reads one edge and adds it.
func (d *decoder) edge(stages []Stage, to *[]Edge) error {
	var e Edge
	err := d.object(keys{required: []string{"from", "kind"}}, func(key string) error {
		if key == "kind" {
			return d.word((*string)(&e.Kind))
		}
		at := d.start()
		var name string
		if err := d.text(&name); err != nil {
			return err
		}
		e.From = slices.IndexFunc(stages, func(s Stage) bool { return s.Name == model.Stage(name) })
		if e.From < 0 {
			return d.src.fail(at, ReasonEdge, "no earlier stage is called %q; stages stand in topological order", name)
		}
		return nil
	})
	*to = append(*to, e)
	return err
}

package workload

import (
	"fmt"
	"math"

	"heddle/core/model"
)

// Measured is what one task of a stage did where it ran.
type Measured struct {
	Compute  model.Duration // apart from waiting for other racks' bytes
	Read     model.Bytes    // from HDFS
	Output   model.Bytes
	Shuffled model.Bytes // of scatter-gather edges: its part of them is in proportion to it
	Replicas []Node      // nodes with a copy of what it read; none where that is not known
	RanOn    Node        // zero where that is not known
	Launched model.Time  // on RanOn, since the start of the run; 0 where that is not known
}

// measuredLine is a task that was measured in heddle's own format.
type measuredLine struct {
	Compute  model.Duration `json:"compute_ms"`
	Read     model.Bytes    `json:"read_bytes,omitempty"`
	Output   model.Bytes    `json:"output_bytes,omitempty"`
	Shuffled model.Bytes    `json:"shuffle_bytes,omitempty"`
	Replicas [][]int        `json:"replicas,omitempty"`
	RanOn    []int          `json:"ran_on,omitempty"`
	Launched model.Time     `json:"launched_ms,omitempty"`
}

// measuredLines makes lines of measured tasks.
func measuredLines(tasks []Measured) []measuredLine {
	var lines []measuredLine
	for i := range tasks {
		m := &tasks[i]
		l := measuredLine{Compute: m.Compute, Read: m.Read, Output: m.Output, Shuffled: m.Shuffled, Launched: m.Launched}
		for _, n := range m.Replicas {
			l.Replicas = append(l.Replicas, []int{n.Rack, n.Number})
		}
		if m.RanOn != (Node{}) {
			l.RanOn = []int{m.RanOn.Rack, m.RanOn.Number}
		}
		lines = append(lines, l)
	}
	return lines
}

// measured makes measured tasks of their lines.
func measured(lines []measuredLine) ([]Measured, *fault) {
	var tasks []Measured
	for i := range lines {
		l := &lines[i]
		m := Measured{Compute: l.Compute, Read: l.Read, Output: l.Output, Shuffled: l.Shuffled, Launched: l.Launched}
		at := index("measured", i)
		for k, on := range l.Replicas {
			node, f := nodeOf(on, index(at+".replicas", k))
			if f != nil {
				return nil, f
			}
			m.Replicas = append(m.Replicas, node)
		}
		if l.RanOn != nil {
			node, f := nodeOf(l.RanOn, at+".ran_on")
			if f != nil {
				return nil, f
			}
			m.RanOn = node
		}
		tasks = append(tasks, m)
	}
	return tasks, nil
}

// nodeOf makes a node of a rack and the number of a node in it.
func nodeOf(on []int, path string) (Node, *fault) {
	if len(on) != 2 {
		return Node{}, &fault{ReasonRange, path, "want a rack and the number of a node in it, as in [1,3]"}
	}
	return Node{Rack: on[0], Number: on[1]}, nil
}

// checkMeasured checks what was measured of a stage's tasks: all of them or none, and
// together what the stage has.
func checkMeasured(s *Stage) *fault {
	if len(s.Measured) == 0 {
		return nil
	}
	if len(s.Measured) != s.Tasks {
		return &fault{ReasonRange, "measured", fmt.Sprintf("want one entry for each of %d tasks, has %d", s.Tasks, len(s.Measured))}
	}
	if s.Skew != 0 {
		return &fault{ReasonRange, "skew", "what was measured says how uneven the tasks are; leave skew out"}
	}
	if len(s.Reads) > 1 {
		return &fault{ReasonRange, "reads", "tasks that were measured read one file, which may stand for several"}
	}
	var read, output model.Bytes
	for i := range s.Measured {
		m := &s.Measured[i]
		if f := m.check(index("measured", i)); f != nil {
			return f
		}
		read, output = addCapped(read, m.Read), addCapped(output, m.Output)
	}
	if read != s.Input() {
		return &fault{ReasonRange, "measured", fmt.Sprintf("the tasks read %d bytes, and the stage %d", read, s.Input())}
	}
	if output != s.Output {
		return &fault{ReasonRange, "measured", fmt.Sprintf("the tasks put out %d bytes, and the stage %d", output, s.Output)}
	}
	return nil
}

func (m *Measured) check(at string) *fault {
	for _, n := range []struct {
		path  string
		value int64
		top   int64
	}{
		{"compute_ms", int64(m.Compute), MaxCost},
		{"read_bytes", int64(m.Read), int64(MaxBytes)},
		{"output_bytes", int64(m.Output), int64(MaxBytes)},
		{"shuffle_bytes", int64(m.Shuffled), int64(MaxBytes)},
		{"launched_ms", int64(m.Launched), int64(MaxTime)},
	} {
		if f := checkRange(at+"."+n.path, n.value, 0, n.top); f != nil {
			return f
		}
	}
	for k, n := range m.Replicas {
		if f := n.check(index(at+".replicas", k)); f != nil {
			return f
		}
	}
	if m.RanOn != (Node{}) {
		return m.RanOn.check(at + ".ran_on")
	}
	return nil
}

func (n Node) check(path string) *fault {
	if f := checkRange(path+"[0]", int64(n.Rack), 1, math.MaxInt32); f != nil {
		return f
	}
	return checkRange(path+"[1]", int64(n.Number), 1, math.MaxInt32)
}

// shuffled returns what all tasks were measured to fetch.
func (s *Stage) shuffled() model.Bytes {
	var sum model.Bytes
	for i := range s.Measured {
		sum = addCapped(sum, s.Measured[i].Shuffled)
	}
	return sum
}

// Uneven reports whether tasks draw unequal parts of what scatter-gather edges bring.
func (s *Stage) Uneven() bool {
	if s.Tasks < 2 {
		return false
	}
	if s.Skew > 0 {
		return true
	}
	for i := range s.Measured {
		if s.Measured[i].Shuffled != s.Measured[0].Shuffled {
			return true
		}
	}
	return false
}

// RanOn returns the node that task i was measured on and when it started there, zero where that is not known.
func (s *Stage) RanOn(i int) (on Node, launched model.Time) {
	if len(s.Measured) == 0 {
		return Node{}, 0
	}
	return s.Measured[i].RanOn, s.Measured[i].Launched
}

// Compute returns how long task i computes that reads so many bytes, in milliseconds.
func (s *Stage) Compute(i int, read model.Bytes) model.Duration {
	if len(s.Measured) > 0 {
		return s.Measured[i].Compute
	}
	return s.Cost.Of(read)
}

// measuredSplit returns what task i was measured to read, one after the other in the stage's file.
func (s *Stage) measuredSplit(i int) Split {
	var offset model.Bytes
	for k := range i {
		offset += s.Measured[k].Read
	}
	return Split{Offset: offset, Bytes: s.Measured[i].Read}
}

// Beyond returns a node that the stage names and a cluster does not have, false if there is none.
func (s *Stage) Beyond(has func(Node) bool) (Node, bool) {
	for i := range s.Reads {
		if f := &s.Reads[i]; f.Place == OnNode && !has(f.Node) {
			return f.Node, true
		}
	}
	for i := range s.Measured {
		m := &s.Measured[i]
		for _, n := range m.Replicas {
			if !has(n) {
				return n, true
			}
		}
		if m.RanOn != (Node{}) && !has(m.RanOn) {
			return m.RanOn, true
		}
	}
	return Node{}, false
}

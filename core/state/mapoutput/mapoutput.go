// Package mapoutput sums where the output of completed tasks lies: what attempts
// reported, and the rest of a job's total spread over the maps that reported
// nothing.
package mapoutput

import (
	"math"

	"heddle/core/model"
	"heddle/core/shuffle"
	"heddle/core/state/nodes"
	"heddle/core/topology"
)

// Completed counts the completed tasks of a stage and their reported outputs.
type Completed struct {
	tasks    []int         // by rack number
	reported []int         // of those, with a reported output
	output   []model.Bytes // sum of the reported outputs by rack number
	squares  float64       // of the reported outputs, summed
	onHost   nodes.HostTable[model.Bytes]
	estimate shuffle.Estimate // of output from input
	changed  bool             // since Output.Update
}

// Add adds a task that completed on a rack (sign +1) or removes it (-1). Input and
// output are below zero where the task did not report them.
func (c *Completed) Add(rack, sign int, input, output model.Bytes) {
	c.changed = true
	c.estimate.Add(input, output, sign)
	c.tasks, c.reported, c.output = topology.Extend(c.tasks, rack), topology.Extend(c.reported, rack), topology.Extend(c.output, rack)
	c.tasks[rack] += sign
	if output >= 0 {
		c.reported[rack] += sign
		c.output[rack] += model.Bytes(sign) * output
		c.squares += float64(sign) * float64(output) * float64(output)
	}
}

// Reported returns how many of the completed tasks on each rack reported their output, and how much that is, by rack
// number.
func (c *Completed) Reported() (tasks []int, output []model.Bytes) { return c.reported, c.output }

// Deviation returns the standard deviation of the reported outputs as a part of their mean; false for fewer than two.
func (c *Completed) Deviation() (deviation float64, known bool) {
	n, sum := 0, shuffle.Total(c.output)
	for _, k := range c.reported {
		n += k
	}
	if n < 2 || sum <= 0 {
		return 0, false
	}
	mean := float64(sum) / float64(n)
	variance := max(c.squares-float64(n)*mean*mean, 0) / float64(n-1)
	return math.Sqrt(variance) / mean, true
}

// AddOnHost adds to the reported output that lies on a host.
func (c *Completed) AddOnHost(host nodes.Host, output model.Bytes) {
	if host == nodes.NoHost || output == 0 {
		return
	}
	sum := c.onHost.Entry(host)
	*sum = max(*sum+output, 0)
}

// OnHost returns the reported output that lies on a host.
func (c *Completed) OnHost(host nodes.Host) model.Bytes { return c.onHost.At(host) }

// ByRack returns the completed tasks by rack number. The slice may be shorter than
// the number of racks.
func (c *Completed) ByRack() []int { return c.tasks }

// Estimate returns the relation of output to input over the tasks that reported
// both.
func (c *Completed) Estimate() *shuffle.Estimate { return &c.estimate }

// Changed reports whether tasks were added or removed since Output.Update.
func (c *Completed) Changed() bool { return c.changed }

// Output is the map output of one job by rack: the job counter
// MAP_OUTPUT_MATERIALIZED_BYTES, of which the part that attempts reported lies
// where those attempts ran, and the rest is spread evenly over the completed
// maps that reported nothing.
type Output struct {
	ByRack   []model.Bytes // by rack number; may be shorter than the number of racks
	Total    model.Bytes   // as the job counter says, at least what attempts reported; 0 until the counter was read
	Reported model.Bytes   // the part that attempts reported
	Unplaced model.Bytes   // of maps whose rack no source has reported
	Version  int           // changes whenever any of this does
}

// Update recomputes the output from a job's completed maps and its counter, which
// is 0 until it was read.
func (o *Output) Update(maps *Completed, total model.Bytes) {
	maps.changed = false
	o.Version++
	o.ByRack = topology.Extend(o.ByRack[:0], len(maps.tasks)-1)
	o.Reported = shuffle.Total(maps.output)
	o.Total, o.Unplaced = total, 0
	silent, all := 0, 0 // completed maps without a reported output, and all of them
	for r, n := range maps.tasks {
		o.ByRack[r] = maps.output[r]
		silent += n - maps.reported[r]
		all += n
	}
	if rest := o.Total - o.Reported; rest > 0 {
		switch {
		case silent > 0:
			distribute(o.ByRack, rest, silent, func(r int) int { return maps.tasks[r] - maps.reported[r] })
		case all > 0:
			distribute(o.ByRack, rest, all, func(r int) int { return maps.tasks[r] })
		default:
			o.Unplaced = rest
		}
	} else if o.Reported > o.Total {
		o.Total = o.Reported // the job counter is older than the attempts'
	}
}

// distribute adds rest to byRack in proportion to count, which sums to total.
func distribute(byRack []model.Bytes, rest model.Bytes, total int, count func(rack int) int) {
	for r := range byRack {
		byRack[r] += model.Bytes(float64(rest) * float64(count(r)) / float64(total))
	}
}

package reproduce

import (
	"slices"
	"strings"

	"heddle/core/lab/sim"
	"heddle/core/lab/sim/network"
	"heddle/core/lab/workload"
	"heddle/core/model"
	"heddle/core/shuffle"
)

// changeOfClass returns by how many percent what the jobs of a class moved under a
// variant is above that under another, seed by seed.
func (l *experiments) changeOfClass(name, base string, class workload.Class, of func(m *sim.JobTraffic) model.Bytes) []float64 {
	got, was := l.movedByClass(name, class, of), l.movedByClass(base, class, of)
	for i := range got {
		got[i] = 100 * (got[i]/max(was[i], 1) - 1)
	}
	return got
}

// movedByClass sums what the jobs of the benchmarks of a class moved, seed by seed.
func (l *experiments) movedByClass(name string, class workload.Class, of func(m *sim.JobTraffic) model.Bytes) []float64 {
	works := l.workloads[l.variant(name).load]
	out := make([]float64, len(works))
	for seed, w := range works {
		for i := range w.Jobs {
			if workload.BenchmarkClass(w.Jobs[i].Name) == class {
				out[seed] += float64(of(&l.results[name][seed].PerJob[i]))
			}
		}
	}
	return out
}

// What one job moved across racks.
func crossedShuffle(m *sim.JobTraffic) model.Bytes { return m.Crossed }
func remoteReads(m *sim.JobTraffic) model.Bytes    { return m.Read }
func crossedAndRead(m *sim.JobTraffic) model.Bytes { return m.Crossed + m.Read }

// sources and sinks are over how many racks the map output of a job lies and over
// how many its reduces, where a byte of shuffle counts like any other.
func sources(r *sim.Run) float64 {
	return weightedByShuffle(r, func(m *sim.JobTraffic) float64 { return m.Sources })
}

func sinks(r *sim.Run) float64 {
	return weightedByShuffle(r, func(m *sim.JobTraffic) float64 { return m.Sinks })
}

func weightedByShuffle(r *sim.Run, of func(m *sim.JobTraffic) float64) float64 {
	sum, weight := 0.0, 0.0
	for i := range r.PerJob {
		m := &r.PerJob[i]
		sum += of(m) * float64(m.Shuffle)
		weight += float64(m.Shuffle)
	}
	return sum / max(weight, 1)
}

// pointsOf returns by how much a figure of bytes is above that of another variant,
// in percent of what crosses racks under that one: kinds then sum to the whole.
func (l *experiments) pointsOf(name, base string, of figure) []float64 {
	got, was, all := l.values(name, of), l.values(base, of), l.values(base, crossRack)
	for i := range got {
		got[i] = 100 * (got[i] - was[i]) / max(all[i], 1)
	}
	return got
}

// changeByKind splits a change of the bytes across racks into shuffle and maps' reads.
func (l *experiments) changeByKind(name, base string) string {
	return "shuffle " + formatRange("%+.1f", l.pointsOf(name, base, crossShuffle)) + " and maps' reads " + formatRange("%+.1f", l.pointsOf(name, base, crossRead)) + " of the hundred"
}

// describeTraffic says what came of a comparison in bytes across racks.
func describeTraffic(l *experiments, name, base string) string {
	return "cross-rack bytes " + formatRange("%+.1f %%", l.change(name, base, crossRack)) + ", " + l.changeByKind(name, base) +
		", with the map output of a job on " + formatRange("%.1f", l.values(name, sources)) + " racks and its reduces on " + formatRange("%.1f", l.values(name, sinks))
}

// describeNodeTraffic says the same of a cluster whose racks stand for nodes.
func describeNodeTraffic(l *experiments, name, base string) string {
	return "time " + formatRange("%+.1f %%", l.change(name, base, makespan)) + ", cross-node bytes " + formatRange("%+.1f %%", l.change(name, base, crossRack)) +
		", map output of a job on " + formatRange("%.1f", l.values(name, sources)) + " nodes, its reduces on " + formatRange("%.1f", l.values(name, sinks))
}

// describeOutputSpread says over how many racks the map output of a job lies under variants.
func describeOutputSpread(l *experiments, names ...string) string {
	parts := make([]string, len(names))
	for i, name := range names {
		parts[i] = name + " " + formatRange("%.1f", l.values(name, sources))
	}
	return strings.Join(parts, "; ")
}

// addedReads returns what maps read across racks more under a variant than under
// another, in percent of all that crosses racks under Fair.
func (l *experiments) addedReads(name, base string) []float64 {
	more, without, all := l.values(name, crossRead), l.values(base, crossRead), l.values("Fair", crossRack)
	for i := range more {
		more[i] = 100 * (more[i] - without[i]) / max(all[i], 1)
	}
	return more
}

// describeComputing says for how much of the time counted computing alone keeps all containers
// busy, whatever the policy: what is near all of it leaves the network little to gain.
func describeComputing(l *experiments, name string) string {
	return formatRange("%.0f %%", l.values(name, func(r *sim.Run) float64 { return 100 * r.Bounds.MakespanCompute / l.window }))
}

// describeLimits says how much throughput any policy could gain over a variant whose
// throughput counts all jobs: by the lower bounds of the time they take, and by
// what its busiest uplink carries, if as much crosses racks.
func describeLimits(l *experiments, base string) string {
	runs := l.results[base]
	most, same := make([]float64, len(runs)), make([]float64, len(runs))
	for i := range runs {
		r := &runs[i]
		most[i] = gain(r.Makespan, max(r.Bounds.MakespanCompute, r.Bounds.MakespanNetwork))
		same[i] = min(gain(r.Makespan, busiestUplinkSeconds(r, &l.variant(base).cluster)), most[i])
	}
	text := "by the simulator's bounds no policy can be more than " + formatRange("%.0f %%", most) + " above Fair there"
	if slices.Equal(most, same) {
		return text
	}
	return text + ", nor more than " + formatRange("%.0f %%", same) + " where as many bytes cross the same uplinks"
}

// gain is how many percent more jobs there are to the hour if all take less time.
func gain(time, less float64) float64 { return 100 * (time/max(less, 1) - 1) }

// busiestUplinkSeconds returns how long the uplink that carries most takes for that.
func busiestUplinkSeconds(r *sim.Run, c *sim.Cluster) float64 {
	longest := 0.0
	for i := range r.ByRack {
		link := c.Racks[i].Uplink
		for _, way := range []struct {
			bytes [network.Kinds]model.Bytes
			rate  model.BytesPerSecond
		}{{r.ByRack[i].Up, link.Out}, {r.ByRack[i].Down, link.In}} {
			longest = max(longest, float64(shuffle.Total(way.bytes[:]))/float64(way.rate))
		}
	}
	return longest
}

// describeLargest says what part of all shuffle is that of the largest jobs.
func describeLargest(l *experiments, name string) string {
	var one, three []float64
	for _, w := range l.workloads[l.variant(name).load] {
		sizes := make([]float64, len(w.Jobs))
		all := 0.0
		for i := range w.Jobs {
			sizes[i] = float64(w.Jobs[i].Shuffle())
			all += sizes[i]
		}
		slices.Sort(sizes)
		top := sizes[len(sizes)-min(3, len(sizes)):]
		sum := 0.0
		for _, s := range top {
			sum += s
		}
		one, three = append(one, 100*top[len(top)-1]/max(all, 1)), append(three, 100*sum/max(all, 1))
	}
	return "the largest job has " + formatRange("%.0f %%", one) + " of all shuffle, the three largest " + formatRange("%.0f %%", three)
}

// withoutLargest returns a workload without the jobs that shuffle most: a part of
// them all.
func withoutLargest(w *workload.Workload, part float64) *workload.Workload {
	sizes := make([]model.Bytes, len(w.Jobs))
	for i := range w.Jobs {
		sizes[i] = w.Jobs[i].Shuffle()
	}
	slices.Sort(sizes)
	most := sizes[max(int((1-part)*float64(len(sizes)))-1, 0)]
	out := &workload.Workload{}
	for i := range w.Jobs {
		if w.Jobs[i].Shuffle() <= most {
			out.Jobs = append(out.Jobs, w.Jobs[i])
		}
	}
	return out
}

// describeHeld says what part of all container time attempts held.
func describeHeld(l *experiments, name string) string {
	places := float64(l.variant(name).cluster.Containers())
	return formatRange("%.0f %%", l.values(name, func(r *sim.Run) float64 { return 100 * r.ContainerSeconds / max(places*r.Makespan, 1) }))
}

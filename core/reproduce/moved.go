package reproduce

import (
	"slices"
	"strings"

	"heddle/core/model"
	"heddle/core/shuffle"
	"heddle/core/sim"
	"heddle/core/sim/network"
	"heddle/core/workload"
)

// changed returns by how many percent what the jobs of a class moved under a
// variant is above that under another, seed by seed.
func (l *lab) changed(name, base string, class workload.Class, of func(m *sim.Moved) model.Bytes) []float64 {
	got, was := l.ofClass(name, class, of), l.ofClass(base, class, of)
	for i := range got {
		got[i] = 100 * (got[i]/max(was[i], 1) - 1)
	}
	return got
}

// ofClass sums what the jobs of the benchmarks of a class moved, seed by seed.
func (l *lab) ofClass(name string, class workload.Class, of func(m *sim.Moved) model.Bytes) []float64 {
	works := l.works[l.variant(name).load]
	out := make([]float64, len(works))
	for seed, w := range works {
		for i := range w.Jobs {
			if workload.BenchmarkClass(w.Jobs[i].Name) == class {
				out[seed] += float64(of(&l.results[name][seed].Moved[i]))
			}
		}
	}
	return out
}

// What one job moved across racks.
func shuffled(m *sim.Moved) model.Bytes { return m.Crossed }
func read(m *sim.Moved) model.Bytes     { return m.Read }
func both(m *sim.Moved) model.Bytes     { return m.Crossed + m.Read }

// sources and sinks are over how many racks the map output of a job lies and over
// how many its reduces, where a byte of shuffle counts like any other.
func sources(r *sim.Run) float64 { return weighed(r, func(m *sim.Moved) float64 { return m.Sources }) }

func sinks(r *sim.Run) float64 { return weighed(r, func(m *sim.Moved) float64 { return m.Sinks }) }

func weighed(r *sim.Run, of func(m *sim.Moved) float64) float64 {
	sum, weight := 0.0, 0.0
	for i := range r.Moved {
		m := &r.Moved[i]
		sum += of(m) * float64(m.Shuffle)
		weight += float64(m.Shuffle)
	}
	return sum / max(weight, 1)
}

// points returns by how much a figure of bytes is above that of another variant,
// in percent of what crosses racks under that one: kinds then sum to the whole.
func (l *lab) points(name, base string, of figure) []float64 {
	got, was, all := l.by(name, of), l.by(base, of), l.by(base, crossRack)
	for i := range got {
		got[i] = 100 * (got[i] - was[i]) / max(all[i], 1)
	}
	return got
}

// kinds says of what a change of the bytes across racks is made up.
func (l *lab) kinds(name, base string) string {
	return "shuffle " + spread("%+.1f", l.points(name, base, crossShuffle)) + " and maps' reads " + spread("%+.1f", l.points(name, base, crossRead)) + " of the hundred"
}

// moved says what came of a comparison with another setup in bytes across racks.
func (l *lab) moved(setup, name, base string) string {
	return "tried " + setup + ": cross-rack bytes " + spread("%+.1f %%", l.change(name, base, crossRack)) + ", " + l.kinds(name, base) +
		", with the map output of a job on " + spread("%.1f", l.by(name, sources)) + " racks and its reduces on " + spread("%.1f", l.by(name, sinks))
}

// on says over how many racks the map output of a job lies under variants.
func (l *lab) on(names ...string) string {
	parts := make([]string, len(names))
	for i, name := range names {
		parts[i] = name + " " + spread("%.1f", l.by(name, sources))
	}
	return "map output of a job lies on so many racks: " + strings.Join(parts, "; ")
}

// limits says how much throughput any policy could gain over a variant whose
// throughput counts all jobs: by the lower bounds of the time they take, and by
// what its busiest uplink carries, if as much crosses racks.
func (l *lab) limits(base string) string {
	runs := l.results[base]
	most, same := make([]float64, len(runs)), make([]float64, len(runs))
	for i := range runs {
		r := &runs[i]
		most[i] = gain(r.Makespan, max(r.Bounds.MakespanCompute, r.Bounds.MakespanNetwork))
		same[i] = min(gain(r.Makespan, busiest(r, &l.variant(base).cluster)), most[i])
	}
	text := "by the simulator's bounds no policy can be more than " + spread("%.0f %%", most) + " above Fair there"
	if slices.Equal(most, same) {
		return text
	}
	return text + ", nor more than " + spread("%.0f %%", same) + " where as many bytes cross the same uplinks"
}

// gain is how many percent more jobs there are to the hour if all take less time.
func gain(time, less float64) float64 { return 100 * (time/max(less, 1) - 1) }

// busiest returns how long the uplink that carries most takes for that.
func busiest(r *sim.Run, c *sim.Cluster) float64 {
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

// largest says what part of all shuffle is that of the largest jobs.
func (l *lab) largest(name string) string {
	var one, three []float64
	for _, w := range l.works[l.variant(name).load] {
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
	return "the largest job has " + spread("%.0f %%", one) + " of all shuffle, the three largest " + spread("%.0f %%", three)
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

// held says what part of all container time attempts held, and what part they
// would have if they did nothing but compute.
func (l *lab) held(name string) string {
	places := float64(l.variant(name).cluster.Containers())
	of := func(r *sim.Run) float64 { return 100 * r.Held / max(places*r.Makespan, 1) }
	return name + " holds " + spread("%.0f %%", l.by(name, of)) + " of all container time"
}

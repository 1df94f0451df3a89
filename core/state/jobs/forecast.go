package jobs

import "heddle/core/shuffle"

// mapReduce is the type of applications that report how many maps they have.
const mapReduce = "MAPREDUCE"

// unknownDeviation is how far the outputs of a job's maps are taken to differ until two of them are known.
const unknownDeviation = 0.5

// Forecast sets f to where the job's map output will lie, over so many racks, once all its maps are complete: what
// is reported counts where it lies, and maps of which no output is known as much as those that are known lead to
// expect, where they run. It reports false while no map was launched and none is bound to racks.
func (j *Job) Forecast(f *shuffle.Forecast, racks int) (known bool) {
	m := mapFacts(j)
	if deviation, known := j.Map.completed.Deviation(); known {
		m.Deviation = deviation
	}
	return f.Expect(&m, racks)
}

// ExpectOutput is Forecast without how far off it may be, at less cost.
func (j *Job) ExpectOutput(f *shuffle.Forecast, racks int) (known bool) {
	m := mapFacts(j)
	return f.ExpectOutput(&m, racks)
}

// mapFacts returns what a forecast is made of, apart from a measured deviation.
func mapFacts(j *Job) shuffle.MapFacts {
	s := j.Map
	m := shuffle.MapFacts{Launched: s.launched, Complete: s.completed.ByRack(), Total: s.Tasks(), Done: s.Completed, Bound: j.reported.asks.bound, Local: s.demand.ByRack(), Deviation: unknownDeviation}
	m.Reported, m.Output = s.completed.Reported()
	switch {
	case s.Total == 0 && j.Type == mapReduce: // it tells how many there are as soon as it is asked
		m.Launched, m.Complete, m.Bound = nil, nil, nil
	case s.Total == 0: // containers that ended are in no report, and their output is where they ran
		m.Launched = s.seen
		m.Total = s.Pending
		for _, n := range s.seen {
			m.Total += n
		}
	}
	m.Each, m.Silent = outputOfMaps(j, &m)
	return m
}

// outputOfMaps returns what a map that is not complete is expected to output, and what one that is complete and has
// not reported its own: what the counters say of those, else the mean of those reported. What is not complete reads
// what is left of the input. Both are 0 as long as nothing tells.
func outputOfMaps(j *Job, m *shuffle.MapFacts) (each, silent float64) {
	count, sum := 0, float64(shuffle.Total(m.Output))
	for _, n := range m.Reported {
		count += n
	}
	k := &j.reported.counters
	counted, complete := float64(max(k.MapOutput, 0)), max(k.CompletedMapsNow, 0)
	if complete == 0 {
		complete = j.Map.Completed
	}
	mean := 0.0
	switch {
	case counted >= sum && complete >= count && complete > 0:
		mean = counted / float64(complete)
	case count > 0:
		mean = sum / float64(count)
	}
	silent = mean
	exact := counted >= sum && k.CompletedMapsNow > count
	if exact {
		silent = (counted - sum) / float64(complete-count)
	}
	p := j.Predict()
	each = mean
	if p.Predicted && p.Input > 0 {
		each = float64(p.MapOutput())
		if read, left := max(k.MapInput, 0), p.Maps-complete; read > 0 && read < p.Input && left > 0 {
			each = float64(p.Output(p.Input-read)) / float64(left)
		}
	}
	if silent == 0 && !exact {
		silent = each
	}
	if each == 0 {
		each = silent
	}
	return each, silent
}

package jobs

import "heddle/core/model"

// Prediction is what a job's shuffle is expected to be (NAS §III-A;
// algorithms.md 2.3.1).
type Prediction struct {
	// Ratio is map output over map input: the mean over the job's completed maps where attempts reported
	// both, else that of the job's counters, of an earlier run, or the initial one.
	Ratio     float64
	Predicted bool        // Ratio is not the initial one
	Input     model.Bytes // of the whole job: of its blocks where those are known, else by what its completed maps read; 0 when neither is
	Maps      int         // as far as is known
	Shuffle   model.Bytes // S, the map output of the whole job: what the counters say once every map is complete
	Fetched   model.Bytes // of the map output, by reduces

	empty    model.Bytes // output of a map that reads nothing
	hasEmpty bool
}

// Predict returns what is expected of the job's shuffle.
func (j *Job) Predict() Prediction {
	p := Prediction{Ratio: j.Ratio, Predicted: j.Predicted || j.Earlier, Maps: j.Map.Tasks(), Fetched: max(j.reported.counters.ReduceShuffle, 0)}
	if ratio, known := j.Map.completed.Estimate().Ratio(); known {
		p.Ratio, p.Predicted = ratio, true
	}
	p.empty, p.hasEmpty = j.Map.completed.Estimate().Empty()
	size, sized := j.Input.Size()
	switch read := j.reported.counters.MapInput; {
	case sized:
		p.Input = size
	case read > 0 && j.Map.Completed > 0:
		p.Input = model.Bytes(float64(read) / float64(j.Map.Completed) * float64(max(p.Maps, j.Map.Completed)))
	}
	switch {
	case j.Map.Total > 0 && j.Map.Completed >= j.Map.Total && j.Output.Total >= 0:
		p.Shuffle = j.Output.Total
	case p.Input == 0:
		p.Shuffle = p.Output(0) * model.Bytes(p.Maps)
	default:
		p.Shuffle = p.Output(p.Input)
	}
	return p
}

// Output returns the output of maps that read so many bytes in all.
func (p *Prediction) Output(input model.Bytes) model.Bytes {
	if input <= 0 && p.hasEmpty {
		return p.empty
	}
	return model.Bytes(p.Ratio * float64(max(input, 0)))
}

// MapInput returns the mean input of one map. YARN's asks name no task, so that
// every map to be launched counts as an average one.
func (p *Prediction) MapInput() model.Bytes {
	if p.Maps == 0 {
		return 0
	}
	return p.Input / model.Bytes(p.Maps)
}

// MapOutput returns the expected output of one average map.
func (p *Prediction) MapOutput() model.Bytes { return p.Output(p.MapInput()) }

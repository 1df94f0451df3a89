package frontier

import (
	"errors"

	"heddle/core/lab/sim"
	"heddle/core/lab/workload"
	"heddle/core/model"
)

// Perturbation is what goes wrong in a run, or is otherwise than policies take it to be.
type Perturbation struct {
	Name   string // in the names of files
	Doc    string
	Skew   float64 // Zipf exponent of what the tasks of a stage draw of what it gathers; 0 leaves it as it is
	change func(p *sim.Params, during model.Duration, racks []sim.Rack)
}

// Perturbations returns all, after none.
func Perturbations() []Perturbation {
	straggle := func(p *sim.Params) { p.Straggler, p.StragglerFactor = 0.05, 3 }
	return []Perturbation{
		{Name: "none", Doc: "as in the comparison above"},
		{
			Name: "mispredicted", Doc: "until a job's maps are done, its map output is told as the true one times a factor from 0.5 to 2, drawn for each job, and that of single maps is not told",
			change: func(p *sim.Params, _ model.Duration, _ []sim.Rack) { p.Misprediction.Factor = 2 },
		},
		{
			Name: "unpredicted", Doc: "until a job's maps are done, nothing is told of its map output",
			change: func(p *sim.Params, _ model.Duration, _ []sim.Rack) { p.Misprediction.Silent = true },
		},
		{
			Name: "stragglers", Doc: "one in twenty attempts computes three times as long",
			change: func(p *sim.Params, _ model.Duration, _ []sim.Rack) { straggle(p) },
		},
		{
			Name: "speculation", Doc: "the same, and tasks that are late get a second attempt",
			change: func(p *sim.Params, _ model.Duration, _ []sim.Rack) { straggle(p); p.Speculation = true },
		},
		{
			Name: "node-loss", Doc: "at any time while jobs are submitted, and for half an hour at least, one node is lost, another one of the next rack every ten minutes",
			change: func(p *sim.Params, during model.Duration, racks []sim.Rack) { p.Losses = nodeLosses(during, racks) },
		},
		{
			Name: "rack-loss", Doc: "a rack is lost for ten minutes, ten minutes after the first submission, and the next rack an hour later, for as long as jobs are submitted",
			change: func(p *sim.Params, during model.Duration, racks []sim.Rack) { p.Losses = rackLosses(during, racks) },
		},
		{
			Name: "app-masters", Doc: "each job's ApplicationMaster holds a container, from five seconds before its first ask on; a tenth of all containers is for these",
			change: func(p *sim.Params, _ model.Duration, _ []sim.Rack) { p.AMStart = 5 * model.Second },
		},
		{Name: "skew-1", Doc: "what the reduces of a job draw of its map output falls off by Zipf's law with exponent 1", Skew: 1},
		{Name: "skew-1.5", Doc: "the same with exponent 1.5", Skew: 1.5},
	}
}

// How long nodes are lost, how often racks are, and for how long that goes on at least.
const (
	lossFor      = 10 * model.Minute
	rackLossFrom = 10 * model.Minute
	rackLossStep = 60 * model.Minute
	leastLosses  = 30 * model.Minute
)

// nodeLosses are losses of single nodes one after the other, on all racks in turn.
func nodeLosses(during model.Duration, racks []sim.Rack) []sim.Loss {
	var out []sim.Loss
	for k := 0; model.Duration(k)*lossFor < during; k++ {
		rack := k % len(racks)
		out = append(out, sim.Loss{Rack: rack + 1, Node: k/len(racks)%racks[rack].Nodes + 1, At: model.Time(model.Duration(k) * lossFor), For: lossFor})
	}
	return out
}

// rackLosses are losses of whole racks, in turn.
func rackLosses(during model.Duration, racks []sim.Rack) []sim.Loss {
	var out []sim.Loss
	for k := 0; rackLossFrom+model.Duration(k)*rackLossStep < during; k++ {
		out = append(out, sim.Loss{Rack: k%len(racks) + 1, At: model.Time(rackLossFrom + model.Duration(k)*rackLossStep), For: lossFor})
	}
	return out
}

// Perturb returns the setup with a perturbation. It is an error where the simulator does not simulate that of the workload.
func (s *Setup) Perturb(p *Perturbation) (*Setup, error) {
	if p.Skew == 0 && p.change == nil {
		return s, nil
	}
	out := *s
	out.perturbation = p.Name
	if p.Skew > 0 {
		out.Work = skewed(s.Work, p.Skew)
	}
	if p.change != nil {
		p.change(&out.params, max(lastSubmission(s.Work), leastLosses), s.Cluster.Racks)
	}
	return &out, errors.Join(sim.CheckSupported(out.Work, &out.params), out.sum(out.params.Faults, out.params.AMStart))
}

// lastSubmission returns how long after time 0 the last job is submitted.
func lastSubmission(w *workload.Workload) model.Duration {
	last := model.Time(0)
	for i := range w.Jobs {
		last = max(last, w.Jobs[i].Submit)
	}
	return last.Sub(0)
}

// skewed returns the jobs with uneven parts of what their stages gather.
func skewed(w *workload.Workload, exponent float64) *workload.Workload {
	out := &workload.Workload{Name: w.Name, Jobs: append([]workload.Job(nil), w.Jobs...)}
	for i := range out.Jobs {
		j := &out.Jobs[i]
		j.Stages = append([]workload.Stage(nil), j.Stages...)
		for k := range j.Stages {
			if s := &j.Stages[k]; len(s.Edges) > 0 && len(s.Reads) == 0 {
				s.Skew = exponent
			}
		}
	}
	return out
}

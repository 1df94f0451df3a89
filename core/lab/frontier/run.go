package frontier

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"heddle/core/lab/sim"
	"heddle/core/lab/workload"
	"heddle/core/policy"
	"heddle/core/policy/capacity"
	"heddle/core/policy/weave"
)

// Subject is the policy that is compared with all others.
const Subject = weave.Name

// Baselines returns the policies that Subject is compared with.
func Baselines() []string {
	return []string{"fair", "delay", "capacity", "drf", "shufflewatcher", "nas", "dawn", "num"}
}

// Slowstarts returns the values of mapreduce.job.reduce.slowstart.completedmaps that every baseline runs with.
func Slowstarts() []float64 { return []float64{0.05, 0.8, 1} }

// DefaultSlowstart is Hadoop's. Subject runs with it alone, as it decides itself when reduces start.
const DefaultSlowstart = 0.05

// Policy is a policy with its parameters.
type Policy struct {
	Name   string
	Label  string          // the name, with parameters where the name alone is not enough
	Params json.RawMessage // all of them
	New    func() (policy.Policy, error)
}

// Slowstarts returns those of the values that the policy runs with.
func (p *Policy) Slowstarts(of []float64) []float64 {
	if p.Name == Subject {
		return []float64{DefaultSlowstart}
	}
	return of
}

// Format is the version of Spec, Run and the reports. It increases when the simulator gives other results for the same Spec.
const Format = 1

// Spec is everything that a run's result depends on beside the code.
type Spec struct {
	Format    int             `json:"format"`
	Workload  string          `json:"workload"`
	Jobs      int             `json:"jobs"`
	Setup     string          `json:"setup_sha256"` // of the jobs and the cluster
	Policy    string          `json:"policy"`
	Params    json.RawMessage `json:"params"` // all of them
	Slowstart float64         `json:"slowstart"`
	Seed      uint64          `json:"seed"`
	// PerJob says that the result has figures of each job: that of Subject, and of Fair with Hadoop's slowstart.
	PerJob bool `json:"per_job,omitempty"`
	// Perturbation is the name of one; its values are in Setup.
	Perturbation string `json:"perturbation,omitempty"`
}

// Run is the result of a run.
type Run struct {
	Spec Spec `json:"spec"`
	sim.Outcome
	sim.Traffic
	Bounds     sim.Bounds `json:"bounds"`
	Ratio      sim.Ratios `json:"ratio_to_bound"`
	Placements int        `json:"placements"`
	PerJob     *PerJob    `json:"per_job,omitempty"`
}

// Setup is a workload that is ready to run.
type Setup struct {
	*Workload
	Work         *workload.Workload
	params       sim.Params
	perturbation string // "" without
	digest       string
}

// NewSetup returns a workload with its jobs.
func NewSetup(w *Workload, work *workload.Workload) (*Setup, error) {
	s := &Setup{Workload: w, Work: work, params: sim.DefaultParams()}
	return s, s.sum()
}

// sum sets the digest of all that a run depends on beside its Spec, any more values among them.
func (s *Setup) sum(more ...any) error {
	h := sha256.New()
	err := errors.Join(workload.Write(h, s.Work), json.NewEncoder(h).Encode(s.Cluster))
	for _, v := range more {
		err = errors.Join(err, json.NewEncoder(h).Encode(v))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	s.digest = hex.EncodeToString(h.Sum(nil))
	return nil
}

// Spec returns what a run of a policy depends on.
func (s *Setup) Spec(p *Policy, slowstart float64, seed uint64) Spec {
	return Spec{
		Format: Format, Workload: s.Name, Jobs: len(s.Work.Jobs), Setup: s.digest,
		Policy: p.Name, Params: p.Params, Slowstart: slowstart, Seed: seed,
		PerJob: p.Name == Subject || p.Name == Fair && slowstart == DefaultSlowstart, Perturbation: s.perturbation,
	}
}

// Run simulates what a Spec of the setup says, until keepOn, which may be nil, returns false.
func (s *Setup) Run(spec *Spec, p *Policy, keepOn func() bool) (Run, error) {
	pol, err := p.New()
	if err != nil {
		return Run{}, err
	}
	params := s.params
	params.Slowstart, params.Seed = spec.Slowstart, spec.Seed
	params.Multiple = p.Name == capacity.Name // it fills a node in one heartbeat
	world, err := sim.New(params, s.Cluster, s.Work, p.Name, pol)
	if err != nil {
		return Run{}, err
	}
	r, err := world.Run(func(sim.Progress) bool { return keepOn == nil || keepOn() })
	if err != nil {
		return Run{}, err
	}
	out := Run{Spec: *spec, Outcome: r.Outcome, Traffic: r.Traffic, Bounds: r.Bounds, Ratio: r.Ratio, Placements: r.Placements}
	if spec.PerJob {
		out.PerJob = newPerJob(&r)
	}
	return out, nil
}

// FileName returns the name of the file that holds the result of a Spec. Other Specs have other names.
func (s *Spec) FileName() (string, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	name := s.Workload
	if s.Perturbation != "" {
		name += "-" + s.Perturbation
	}
	return fmt.Sprintf("%s-%s-slowstart%g-seed%d-%s.json", name, s.Policy, s.Slowstart, s.Seed, hex.EncodeToString(sum[:6])), nil
}

// Encode returns the content of the file that holds a result.
func (r *Run) Encode() ([]byte, error) {
	text, err := json.Marshal(r)
	return append(text, '\n'), err
}

// Decode reads the content of a file that holds the result of a Spec.
func Decode(text []byte, want *Spec) (Run, error) {
	var r Run
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return Run{}, fmt.Errorf("no result of a run: %w", err)
	}
	again, err := r.Encode()
	if err != nil {
		return Run{}, err
	}
	if !bytes.Equal(again, text) {
		return Run{}, errors.New("no result of a run: it lacks fields or has more than one object")
	}
	is, err := json.Marshal(r.Spec)
	if err != nil {
		return Run{}, err
	}
	wanted, err := json.Marshal(want)
	if err != nil {
		return Run{}, err
	}
	if !bytes.Equal(is, wanted) {
		return Run{}, fmt.Errorf("the result of another run: %s, want %s", is, wanted)
	}
	return r, nil
}

package num

import (
	"encoding/json"
	"errors"

	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/policy/dispatch"
	"heddle/core/policy/num/schedule"
)

// Sizes are the settings every policy of this package has: how jobs are sized.
type Sizes struct {
	MapRate  float64 `json:"map_rate"  doc:"bytes of input per second that one map container works off; with the uplinks it decides which jobs count as shuffle-heavy"`
	Uplink   float64 `json:"uplink"    doc:"bytes per second of a rack's uplink whose capacity is not configured"`
	BlockMiB float64 `json:"block_mib" doc:"MiB a map is taken to read where the input is not known"`
}

// DefaultSizes returns heddle's choices: the paper has no tasks. 10 MiB/s works
// off a block of 128 MiB in 13 s.
func DefaultSizes() Sizes {
	return Sizes{MapRate: 10 * float64(model.MiB), Uplink: 125e6, BlockMiB: 128}
}

// Params are NUM's own settings.
type Params struct {
	P1      schedule.Schedule `json:"p1"       doc:"P1, good for response time: maxsrpt, splitsrpt, uopt or psfair (4.2)"`
	P2      schedule.Schedule `json:"p2"       doc:"P2, good for the network: one of the same"`
	Theta   float64           `json:"theta"    doc:"the most of the map containers that P2 gets, 0 to 1 (4.2)"`
	BufferS float64           `json:"buffer_s" doc:"seconds of the network that unfetched map output may be worth and still count as none; 0 is the paper"`
	Sizes
}

// DefaultParams returns the paper's best, NUM(MaxSRPT, SplitSRPT, 0.85), with a
// second of buffer: less is gone before heddle reads the counters again.
func DefaultParams() Params {
	return Params{P1: schedule.MaxSRPT, P2: schedule.SplitSRPT, Theta: 0.85, BufferS: 1, Sizes: DefaultSizes()}
}

// Validate reports every setting that is out of range.
func (p Params) Validate() error {
	var errs []error
	if err := schedule.Validate(p.P1, p.P2, p.Theta); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(append(errs, policy.Within("buffer_s", p.BufferS, 0, policy.MaxSeconds), p.Sizes.Validate())...)
}

// Validate reports every setting that is out of range.
func (s Sizes) Validate() error {
	return errors.Join(
		policy.Within("map_rate", s.MapRate, 1, 1e12), policy.Within("uplink", s.Uplink, 1, 1e15), policy.Within("block_mib", s.BlockMiB, 1, 1e6),
	)
}

// New builds NUM from its section of the configuration.
func New(raw json.RawMessage) (policy.Policy, error) {
	return policy.Build(raw, DefaultParams(), NewWith)
}

// NewWith builds NUM from parameters.
func NewWith(p Params) (*dispatch.Dispatcher, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	r := newRule(p, p.P1)
	r.second = r.queues.side(p.P2)
	r.second.reason = model.ReasonFeedsNetwork
	return dispatch.New(r, dispatch.Settings{}), nil
}

// Alone returns what builds one of the schedules as a policy of its own.
func Alone(s schedule.Schedule) policy.Factory {
	return func(raw json.RawMessage) (policy.Policy, error) {
		return policy.Build(raw, DefaultSizes(), func(sizes Sizes) (*dispatch.Dispatcher, error) {
			if err := sizes.Validate(); err != nil {
				return nil, err
			}
			return dispatch.New(newRule(Params{Sizes: sizes}, s), dispatch.Settings{}), nil
		})
	}
}

// newRule makes a rule of one schedule.
func newRule(p Params, first schedule.Schedule) *rule {
	reduces := dispatch.Pass{Kinds: []model.Stage{model.StageReduce}, Indexed: true, Together: true}
	maps := dispatch.Pass{Kinds: []model.Stage{model.StageMap}, Indexed: true, Together: true}
	r := &rule{params: p, passes: []dispatch.Pass{passReady: reduces, passMaps: maps, passReduces: reduces}}
	x := &r.queues
	x.sizes, x.jobs = &r.params.Sizes, policy.JobsLeaving(x.forget)
	x.shuffle = x.add(first, 0, true)
	r.first = x.side(first)
	return r
}

// side makes the lanes of a schedule of the map queue.
func (x *queues) side(p schedule.Schedule) side {
	s := side{schedule: p}
	for lane := range p.Lanes() {
		s.lanes = append(s.lanes, x.add(p, lane, false))
	}
	switch p {
	case schedule.MaxSRPT, schedule.SplitSRPT:
		s.reason = model.ReasonLeastRemaining
	case schedule.UOPT:
		s.reason = model.ReasonFeedsNetwork
	case schedule.Fair:
		s.reason = model.ReasonFairShare
	}
	return s
}

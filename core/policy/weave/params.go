package weave

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"heddle/core/model"
	"heddle/core/policy"
	"heddle/core/policy/dispatch"
)

// Params are the policy's own settings.
type Params struct {
	Remaining    bool               `json:"remaining"     doc:"order jobs by the container time they have left; else by arrival"`
	BehindS      float64            `json:"behind_s"      doc:"seconds of its share that a user may be behind before its jobs go first, until it has had all; with 0 users count for nothing"`
	Spare        float64            `json:"spare"         doc:"part of the cluster that serves jobs in their order though others are behind, 0 to 1"`
	Queues       map[string]float64 `json:"queues" doc:"weights of queues by path, where users are behind or not; those not listed have 1"`
	Late         float64            `json:"late"          doc:"a job goes first once it has been there so many times as long as at an equal share it would have taken; 0 never"`
	Joint        bool               `json:"joint"         doc:"choose racks for a job's maps and reduces together"`
	Others       float64            `json:"others"        doc:"weight of the delay that a job's bytes put on each other job in that choice"`
	IdlePrice    float64            `json:"idle_price"    doc:"part of its price that a byte across racks has while uplinks are idle, 0 to 1"`
	Patience     float64            `json:"patience"      doc:"factor on how long a task waits for a rack on which it costs fewer bytes"`
	PatienceS    float64            `json:"patience_s"    doc:"the longest such wait in seconds, since the stage's last launch on the best racks"`
	AdmitS       float64            `json:"admit_s"       doc:"seconds that uplinks may have to carry for the jobs up to its own when a reduce is started; 0 does not look"`
	AdmitReduces float64            `json:"admit_reduces" doc:"how many reduces' bytes they may have to carry in any case"`
	AdmitMaxS    float64            `json:"admit_max_s"   doc:"the longest in seconds that a job's reduces wait for uplinks, since its last one"`
	Slack        float64            `json:"slack"         doc:"part of a reduce's computing that the busiest uplink may carry longer so that fewer bytes cross racks"`
	TaskMiB      float64            `json:"task_mib"      doc:"MiB that a task counts beside its bytes, for its start"`
	BlockMiB     float64            `json:"block_mib"     doc:"MiB a map is taken to read where the input is not known"`
}

// DefaultParams returns the defaults.
func DefaultParams() Params {
	return Params{
		Remaining: true, BehindS: 10, Spare: 0.6, Queues: map[string]float64{}, Late: 2, Joint: true, Others: 1, IdlePrice: 0.25, Patience: 1.5, PatienceS: 60, AdmitS: 10, AdmitReduces: 3, AdmitMaxS: 20, Slack: 0.5,
		TaskMiB: 32, BlockMiB: 128,
	}
}

// Validate reports every setting that is out of range.
func (p Params) Validate() error {
	return errors.Join(
		policy.Within("behind_s", p.BehindS, 0, policy.MaxSeconds), policy.Within("spare", p.Spare, 0, 1), policy.Within("late", p.Late, 0, 1e3), weights(p.Queues), policy.Within("others", p.Others, 0, 1e3), policy.Within("idle_price", p.IdlePrice, 0, 1), policy.Within("patience", p.Patience, 0, 1e3),
		policy.Within("patience_s", p.PatienceS, 0, policy.MaxSeconds), policy.Within("admit_s", p.AdmitS, 0, policy.MaxSeconds),
		policy.Within("admit_reduces", p.AdmitReduces, 0, 1e6), policy.Within("admit_max_s", p.AdmitMaxS, 0, policy.MaxSeconds),
		policy.Within("slack", p.Slack, 0, 1e3), policy.Within("task_mib", p.TaskMiB, 0, 1e6),
		policy.Within("block_mib", p.BlockMiB, 1, 1e6),
	)
}

func weights(queues map[string]float64) error {
	for _, name := range slices.Sorted(maps.Keys(queues)) {
		if err := policy.Within("queues."+name, queues[name], 0, 1e6); err != nil {
			return err
		}
	}
	return nil
}

// New builds the policy from its section of the configuration.
func New(raw json.RawMessage) (policy.Policy, error) {
	return policy.Build(raw, DefaultParams(), func(p Params) (*dispatch.Dispatcher, error) {
		if err := p.Validate(); err != nil {
			return nil, err
		}
		if p.Queues == nil {
			p.Queues = map[string]float64{}
		}
		return dispatch.New(newRule(p), dispatch.Settings{}), nil
	})
}

func newRule(p Params) *rule {
	pass := dispatch.Pass{Kinds: []model.Stage{model.StageMap, model.StageReduce}, Indexed: true, Together: true}
	r := &rule{params: p, passes: []dispatch.Pass{passStarving: pass, passFirst: pass, passAll: pass}}
	r.asking.list, r.fetching.list = listAsking, listFetching
	r.rates.begin(&p)
	r.jobs = policy.JobsLeaving(r.remove)
	return r
}

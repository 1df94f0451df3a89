package policy

// Live is what plans do to the asks of applications where a relay enforces them. The
// rank in a plan does nothing there: no ask carries one.
type Live uint8

// What plans may do live.
const (
	MapRacks      Live = 1 << iota // maps are asked for on racks of the plan
	ReduceRacks                    // so are reduces
	ExecutorRacks                  // so are containers that are neither
	Holds                          // a stage asks for nothing for some time
)

// fromOffers is what plans do that the engine counts from offers, for a policy that is
// no Planner.
const fromOffers = MapRacks | ReduceRacks

// Names returns what is done, one by one.
func (l Live) Names() []string {
	names := []string{}
	for i, name := range []string{"map racks", "reduce racks", "executor racks", "holds"} {
		if l&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// LiveAtDefaults returns what the plans of the policy do live at its default parameters:
// what its entry declares if it is a Planner, and what follows from offers otherwise.
func (e *Entry) LiveAtDefaults() (Live, error) {
	p, err := e.New(nil)
	if err != nil {
		return 0, err
	}
	if _, plans := p.(Planner); plans {
		return e.Live, nil
	}
	return fromOffers, nil
}

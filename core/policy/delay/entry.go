package delay

import "heddle/core/policy"

// Entry says what package builtin lists of the policy.
func Entry() policy.Entry {
	return policy.Entry{
		Name: Name, Params: DefaultParams(), New: New,
		Summary: "fair order; maps wait a little for a node or rack with their input",
		Paper:   "Zaharia et al., Delay Scheduling, EuroSys 2010",
		About: "Users in fair order, a user's jobs by arrival. A job whose best map for the offered node is not node-local lets the offer pass," +
			" for so many offers (`simple`), so long (`two-level`, the Hadoop Fair Scheduler's form) or so large a share of the nodes (`yarn`," +
			" YARN's form of it), before it takes a rack-local and later any map. Reduces do not wait.",
		Changed: []string{
			"The paper orders jobs by running tasks; here users are in fair order, as in the papers that compare with it.",
			"`simple` uses D for the step from node to rack and again from rack to any node, where the paper has one step.",
			"A job whose pending maps name no node and no rack does not wait.",
		},
	}
}

package capacity_test

import (
	"strings"
	"testing"

	"heddle/core/policy/capacity"
	"heddle/core/policy/policytest"
)

func TestScripts(t *testing.T) {
	t.Parallel()
	policytest.RunScripts(t, capacity.New)
}

func TestParams(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		raw  string
		want []string
	}{
		{`{}`, nil},
		{`{"queues":{"root.prod":{"capacity":75,"user-limit-factor":-1},"dev":{"capacity":25,"maximum-capacity":50}},"node-locality-delay":-1}`, nil},
		{`{"queues":{"prod":{"capacities":75}}}`, []string{"capacities"}},
		{`{"queues":{"prod":{"capacity":75},"dev":{"capacity":26}}}`, []string{"queues: capacities sum to 101"}},
		{`{"queues":{"prod":{"capacity":5},"root.prod":{"capacity":5}}}`, []string{"prod and root.prod are one queue"}},
		{
			`{"queues":{"q":{"capacity":101,"maximum-capacity":-1,"user-limit-factor":-2,"minimum-user-limit-percent":200,"maximum-am-resource-percent":10}},
			"node-locality-delay":-2,"rack-locality-additional-delay":-2,"per-node-heartbeat.maximum-offswitch-assignments":0,
			"minimum-allocation-mb":0,"am-resource-mb":-1}`,
			[]string{
				"queues.q.capacity:", "queues.q.maximum-capacity:", "queues.q.user-limit-factor:", "queues.q.minimum-user-limit-percent:",
				"queues.q.maximum-am-resource-percent:", "node-locality-delay:", "rack-locality-additional-delay:",
				"per-node-heartbeat.maximum-offswitch-assignments:", "minimum-allocation-mb:", "am-resource-mb:",
			},
		},
	} {
		p, err := capacity.New([]byte(tc.raw))
		for _, w := range tc.want {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%s: error %v, want it to name %s", tc.raw, err, w)
			}
		}
		if (p != nil) != (len(tc.want) == 0) {
			t.Errorf("%s: %v, %v", tc.raw, p, err)
		}
	}
}

// Package builtin is the one list of the policies heddle is built with.
package builtin

import (
	"cmp"
	"slices"

	"heddle/core/policy"
	"heddle/core/policy/capacity"
	"heddle/core/policy/dawn"
	"heddle/core/policy/delay"
	"heddle/core/policy/drf"
	"heddle/core/policy/fair"
	"heddle/core/policy/fifo"
	"heddle/core/policy/nas"
	"heddle/core/policy/num"
	"heddle/core/policy/shufflewatcher"
	"heddle/core/policy/weave"
)

// Registry returns every built-in policy, by name.
func Registry() policy.Registry {
	r := append(num.Entries(),
		capacity.Entry(),
		dawn.Entry(),
		delay.Entry(),
		drf.Entry(),
		fair.Entry(),
		fifo.Entry(),
		nas.Entry(),
		shufflewatcher.Entry(),
		weave.Entry(),
	)
	slices.SortFunc(r, func(a, b policy.Entry) int { return cmp.Compare(a.Name, b.Name) })
	return r
}

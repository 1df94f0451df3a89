package workload

import (
	"strings"
	"testing"
)

// FuzzSettings feeds the keys of every generator anything. What is taken is
// within the bounds of its key and can be read as what it is.
func FuzzSettings(f *testing.F) {
	for _, g := range Generators() {
		var pairs []string
		for _, k := range g.Keys {
			pairs = append(pairs, k.Name+"="+k.Default)
		}
		f.Add(strings.Join(pairs, ","))
	}
	f.Add("jobs=3,jobs=4,,=,scale=-1e-300,seed=0x10,skew=+Inf,lambda=NaN,mix=1 ")
	f.Fuzz(func(t *testing.T, text string) {
		for _, g := range Generators() {
			s, err := g.settings(strings.Split(text, ","))
			if err != nil {
				continue
			}
			for _, k := range g.Keys {
				if len(k.Words) > 0 {
					continue
				}
				v := s.real(k.Name)
				if !(v >= k.Min && v <= k.Max) || k.Whole && v != float64(s.whole(k.Name)) {
					t.Errorf("%s: %s is %g, want %s", g.Name, k.Name, v, k.Allowed())
				}
			}
		}
	})
}

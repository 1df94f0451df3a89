package workload

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"heddle/core/model"
)

// SynthPrefix starts the name of a workload that a generator makes:
// synth:NAME[,key=value…].
const SynthPrefix = "synth:"

// Generator makes workloads by name. The same keys give the same workload.
type Generator struct {
	Name string
	Doc  string // one sentence
	Keys []Key
	make func(s settings) (*Workload, error)
}

// Key is a parameter of a generator: a number within bounds, or one of a few words.
type Key struct {
	Name    string
	Default string
	Doc     string // with its unit
	Min     float64
	Max     float64
	Whole   bool     // takes whole numbers only
	Words   []string // takes one of these and no number
}

// Generators lists the generators by name.
func Generators() []Generator {
	return []Generator{dawnML(), dawnTPCH(), fb2010(), lognormal(), shuffleWatcher()}
}

// Synth makes the workload that a name such as "synth:fb2010,jobs=1000,seed=3" asks for.
func Synth(spec string) (*Workload, error) {
	rest, ok := strings.CutPrefix(spec, SynthPrefix)
	if !ok {
		return nil, fmt.Errorf("workload %q: want %sNAME[,key=value…]", spec, SynthPrefix)
	}
	parts := strings.Split(rest, ",")
	all := Generators()
	i := slices.IndexFunc(all, func(g Generator) bool { return g.Name == parts[0] })
	if i < 0 {
		var names []string
		for _, g := range all {
			names = append(names, g.Name)
		}
		return nil, fmt.Errorf("workload %q: no generator is called %q; there are %s", spec, parts[0], strings.Join(names, ", "))
	}
	s, err := all[i].settings(parts[1:])
	if err != nil {
		return nil, fmt.Errorf("workload %q: %w", spec, err)
	}
	w, err := all[i].make(s)
	if err != nil {
		return nil, fmt.Errorf("workload %q: %w", spec, err)
	}
	w.Name = spec
	if err := w.Validate(); err != nil {
		return nil, fmt.Errorf("workload %q makes %w", spec, err)
	}
	return w, nil
}

// settings are the values of a generator's keys, checked against their bounds.
type settings map[string]string

// settings reads key=value pairs over the defaults.
func (g *Generator) settings(pairs []string) (settings, error) {
	s := settings{}
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		i := slices.IndexFunc(g.Keys, func(k Key) bool { return k.Name == name })
		_, twice := s[name]
		switch {
		case !ok:
			return nil, fmt.Errorf("%q: want key=value", pair)
		case i < 0:
			return nil, fmt.Errorf("%s has no key %q; it has %s", g.Name, name, strings.Join(g.keyNames(), ", "))
		case twice:
			return nil, fmt.Errorf("key %s is there twice", name)
		}
		if err := g.Keys[i].check(value); err != nil {
			return nil, err
		}
		s[name] = value
	}
	for _, k := range g.Keys {
		if _, given := s[k.Name]; !given {
			s[k.Name] = k.Default
		}
	}
	return s, nil
}

func (g *Generator) keyNames() []string {
	var names []string
	for _, k := range g.Keys {
		names = append(names, k.Name)
	}
	return names
}

// Allowed says in words what the key takes.
func (k Key) Allowed() string {
	switch {
	case len(k.Words) > 0:
		return "one of " + strings.Join(k.Words, ", ")
	case k.Whole:
		return fmt.Sprintf("a whole number, %.0f to %.0f", k.Min, k.Max)
	}
	return fmt.Sprintf("a number, %g to %g", k.Min, k.Max)
}

func (k Key) check(value string) error {
	ok := slices.Contains(k.Words, value)
	if len(k.Words) == 0 {
		v, err := strconv.ParseFloat(value, 64)
		ok = err == nil && v >= k.Min && v <= k.Max // also refuses NaN
		if k.Whole {
			_, err := strconv.ParseUint(value, 10, 64)
			ok = ok && err == nil
		}
	}
	if !ok {
		return fmt.Errorf("%s=%s: want %s", k.Name, value, k.Allowed())
	}
	return nil
}

// real returns a number; its text was checked before.
func (s settings) real(key string) float64 {
	v, err := strconv.ParseFloat(s[key], 64)
	if err != nil {
		panic("workload: key " + key + " is no number")
	}
	return v
}

func (s settings) whole(key string) int { return int(s.real(key)) }

func (s settings) seed() uint64 { return uint64(s.real("seed")) }

// The most of what keys ask for; it keeps a slip of the keyboard from filling the memory.
const (
	maxJobs  = 1_000_000
	maxUsers = 100_000
	maxSeed  = 1 << 53
)

func seedKey() Key {
	return Key{Name: "seed", Default: "1", Doc: "of everything that is drawn", Max: maxSeed, Whole: true}
}

func usersKey(n int) Key {
	return Key{Name: "users", Default: strconv.Itoa(n), Doc: "users, to whom jobs are given at random", Min: 1, Max: maxUsers, Whole: true}
}

// sizingKeys are the keys that say how jobs are cut into tasks.
func sizingKeys(z Sizing) []Key {
	mib := func(b model.Bytes) string { return strconv.FormatInt(int64(b/model.MiB), 10) }
	return []Key{
		{Name: "block_mib", Default: mib(z.Block), Doc: "HDFS block, and so the input of a map, in MiB", Min: 1, Max: 1 << 20, Whole: true},
		{Name: "reduce_mib", Default: mib(z.PerReduce), Doc: "shuffle and output of a reduce, in MiB", Min: 1, Max: 1 << 20, Whole: true},
		{Name: "racks", Default: "0", Doc: "racks that hold the input of a job; 0 is all", Max: 1 << 20, Whole: true},
		{Name: "skew", Default: "0", Doc: "Zipf exponent of reduce partitions; 0 is even", Max: MaxSkew},
	}
}

func (s settings) sizing() Sizing {
	z := DefaultSizing()
	z.Block = model.Bytes(s.whole("block_mib")) * model.MiB
	z.PerReduce = model.Bytes(s.whole("reduce_mib")) * model.MiB
	z.Racks = s.whole("racks")
	z.Skew = s.real("skew")
	return z
}

// apportion splits n into whole parts in proportion to weights, by largest
// remainder; ties go to the earlier one. The parts sum to n.
func apportion(weights []float64, n int) []int {
	var sum float64
	for _, w := range weights {
		sum += w
	}
	parts := make([]int, len(weights))
	order := make([]int, len(weights))
	rest := make([]float64, len(weights))
	left := n
	for i, w := range weights {
		exact := float64(n) * w / sum
		parts[i] = int(exact)
		rest[i] = exact - float64(parts[i])
		order[i] = i
		left -= parts[i]
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rest[b], rest[a]) })
	for i := range left {
		parts[order[i%len(order)]]++
	}
	return parts
}

package configs

import "heddle/configs/strict"

// Reloadable compares two configurations and returns the paths of the keys that
// differ: changed are those a running service can apply, refused are those that
// need a restart.
func Reloadable(old, next *Config) (changed, refused []string) {
	before := strict.KeysOf(old)
	for i, k := range strict.KeysOf(next) {
		switch {
		case strict.TextOf(k.Field) == strict.TextOf(before[i].Field):
		case reloadable(k, old, next):
			changed = append(changed, k.Path)
		default:
			refused = append(refused, k.Path)
		}
	}
	return changed, refused
}

// Reload returns old with the keys of next that a running service can apply.
func Reload(old, next *Config) Config {
	c := *old
	after := strict.KeysOf(next)
	for i, k := range strict.KeysOf(&c) {
		if reloadable(k, old, next) {
			k.Field.Set(after[i].Field)
		}
	}
	return c
}

// reloadable reports whether a running service can apply a key. The mode is
// one of them while the relay runs before and after: then it only decides whether
// the relay rewrites asks.
func reloadable(k strict.Key, old, next *Config) bool {
	if k.Path == "mode" {
		return old.RelayRuns() && next.RelayRuns()
	}
	return k.Reloads
}

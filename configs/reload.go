package configs

// Reloadable compares two configurations and returns the paths of the keys that
// differ: changed are those a running service can apply, refused are those that
// need a restart.
func Reloadable(old, next *Config) (changed, refused []string) {
	before := keysOf(old)
	for i, k := range keysOf(next) {
		switch {
		case textOf(k.field) == textOf(before[i].field):
		case k.reloadable(old, next):
			changed = append(changed, k.path)
		default:
			refused = append(refused, k.path)
		}
	}
	return changed, refused
}

// Reload returns old with the keys of next that a running service can apply.
func Reload(old, next *Config) Config {
	c := *old
	after := keysOf(next)
	for i, k := range keysOf(&c) {
		if k.reloadable(old, next) {
			k.field.Set(after[i].field)
		}
	}
	return c
}

// reloadable reports whether a running service can apply a key. The mode is
// one of them while the relay runs before and after: then it only decides whether
// the relay rewrites asks.
func (k key) reloadable(old, next *Config) bool {
	if k.path == "mode" {
		return old.RelayRuns() && next.RelayRuns()
	}
	return k.reloads
}

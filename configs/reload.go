package configs

import "strings"

// reloads reports whether a running service takes a key anew on SIGHUP. The mode
// is one of them while the relay runs before and after: then it only says
// whether asks are rewritten.
func reloads(path string, old, next *Config) bool {
	if path == "mode" {
		return old.RelayRuns() && next.RelayRuns()
	}
	for _, prefix := range []string{
		"policy.", "network.", "log.",
		"relay.advertise", "relay.peers", "relay.scopes", "relay.opt_out_tag", "relay.stages", "relay.limits.",
	} {
		if strings.HasPrefix(path, prefix) {
			return true
		}
	}
	return false
}

// Reloadable compares two configurations and returns the paths of the keys that
// differ: changed are those a running service can take over (policy,
// thresholds, logging, what the relay steers and whether it does), refused are those that need a
// restart.
func Reloadable(old, next *Config) (changed, refused []string) {
	before := fields(old)
	for i, f := range fields(next) {
		if textOf(f.value) == textOf(before[i].value) {
			continue
		}
		if reloads(f.path, old, next) {
			changed = append(changed, f.path)
		} else {
			refused = append(refused, f.path)
		}
	}
	return changed, refused
}

// Reload returns old with the keys of next that a running service can take
// over.
func Reload(old, next *Config) Config {
	c := *old
	after := fields(next)
	for i, f := range fields(&c) {
		if reloads(f.path, old, next) {
			f.value.Set(after[i].value)
		}
	}
	return c
}

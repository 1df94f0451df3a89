package configs

import "strings"

// reloadable lists the sections that a running service takes anew on SIGHUP.
func reloadable() []string { return []string{"policy.", "network.", "log."} }

// Reloadable compares two configurations and returns the paths of the keys that
// differ: changed are those a running service can take over (policy,
// thresholds, logging), refused are those that need a restart.
func Reloadable(old, next *Config) (changed, refused []string) {
	before := fields(old)
	for i, f := range fields(next) {
		if textOf(f.value) == textOf(before[i].value) {
			continue
		}
		if hasAnyPrefix(f.path, reloadable()) {
			changed = append(changed, f.path)
		} else {
			refused = append(refused, f.path)
		}
	}
	return changed, refused
}

// Reload returns old with the sections of next that a running service can take
// over.
func Reload(old, next *Config) Config {
	c := *old
	c.Policy, c.Network, c.Log = next.Policy, next.Network, next.Log
	return c
}

func hasAnyPrefix(s string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

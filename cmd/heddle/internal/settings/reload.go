package settings

import (
	"strings"

	"github.com/hashicorp/go-hclog"

	"heddle/cmd/heddle/internal/servicelog"
	"heddle/configs"
)

// Next loads the configuration again. It returns the one in force with those settings changed that may change while a
// process runs, and logs the keys that need a restart. It is not ok if loading fails, which is logged too.
func Next(log hclog.Logger, old *configs.Loaded, load func() (*configs.Loaded, error)) (next *configs.Loaded, ok bool) {
	next, err := load()
	if err != nil {
		log.Error("configuration not reloaded; the one in force stays", "error", err)
		return nil, false
	}
	if _, refused := configs.Reloadable(&old.Config, &next.Config); len(refused) > 0 {
		log.Warn("these keys need a restart and stay as they were", "keys", strings.Join(refused, " "))
	}
	next.Config = configs.Reload(&old.Config, &next.Config)
	return next, true
}

// InForce applies the logging of a configuration that has replaced another one, and logs what has changed.
func InForce(log hclog.Logger, old, next *configs.Loaded) {
	if l, ok := log.(*servicelog.Log); ok {
		l.Reconfigure(&next.Config.Log)
	}
	changed, _ := configs.Reloadable(&old.Config, &next.Config)
	log.Info("configuration reloaded", "changed", strings.Join(changed, " "), "hash", next.Hash()[:12])
}

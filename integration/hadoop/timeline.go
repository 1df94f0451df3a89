//go:build linux

package hadoop

import (
	"context"
	"fmt"
	"os"
	"testing"
)

// tezHistoryVar names the jar of Tez's module tez-yarn-timeline-history, of the release
// [TezVersion]. It is part of Tez's binary release; Maven Central has none this new.
const tezHistoryVar = "HEDDLE_TEZ_HISTORY_JAR"

func tezHistoryJar() string { return os.Getenv(tezHistoryVar) }

// RequireTezHistory skips a test that needs Tez applications to write to a
// timeline server, where the jar for it is not at hand.
func RequireTezHistory(tb testing.TB) {
	tb.Helper()
	if _, err := os.Stat(tezHistoryJar()); err != nil {
		tb.Skipf("needs the jar of tez-yarn-timeline-history %s: name it in %s (%v)", TezVersion, tezHistoryVar, err)
	}
}

// StartTimeline starts YARN's timeline server (version 1, with its LevelDB store) on the
// master of a cluster, unless it runs, waits until it answers, and returns its web address
// without a slash at the end. It stays until the cluster is closed. Applications write to it
// whose configuration has yarn.timeline-service.enabled; see [TimelineSettings].
func StartTimeline(ctx context.Context, c *Cluster) (url string, err error) {
	if c.PID(TimelineServer, Master) == 0 {
		if err := c.StartDaemon(TimelineServer, Master); err != nil {
			return "", err
		}
	}
	url = "http://" + Master + ":8188"
	err = c.wait(ctx, func(ctx context.Context) error {
		var about struct{ About string }
		return c.GetJSON(ctx, url+"/ws/v1/timeline", &about)
	})
	if err != nil {
		return "", fmt.Errorf("wait for the timeline server: %w", err)
	}
	return url, nil
}

// TimelineSettings make a Tez application write its history to the timeline
// server. Its access control wants a module of its own, which is left out.
func TimelineSettings() Settings {
	return Settings{
		"yarn.timeline-service.enabled":       "true",
		"tez.history.logging.service.class":   "org.apache.tez.dag.history.logging.ats.ATSHistoryLoggingService",
		"tez.allow.disabled.timeline-domains": "true",
	}
}

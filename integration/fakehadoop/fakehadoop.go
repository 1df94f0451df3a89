// Package fakehadoop is a Hadoop cluster made of recorded answers: a
// ResourceManager with its web proxy, a JobHistory server and a NameNode that
// listen on the loopback and speak the wire of Hadoop 3.4.3. A test moves the
// cluster through the 89 s that were recorded, and breaks it in every way a
// network, a proxy or a daemon can. See testdata/README.md for what was
// recorded and what was made from it.
package fakehadoop

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// The recorded jobs. What they were doing when is in Site.At.
const (
	TeraSort      = "application_1795215638925_0054" // 20 maps, 6 reduces, queue root.default
	WordCount     = "application_1795215638925_0055" // 6 maps, 3 reduces, queue root.batch
	SmallTeraSort = "application_1795215638925_0056" // 4 maps, 3 reduces; unknown to the JobHistory server
)

// Site is one cluster. Its daemons answer as they did at the moment the site
// is at.
type Site struct {
	RM       *Daemon // active; its web proxy leads to the ApplicationMasters
	NameNode *Daemon // active
	History  *Daemon

	tape *recording
	now  atomic.Int64 // ms since the start of the recording
}

// Start starts a cluster that stands still at the beginning of the recording.
// It is stopped when the test ends.
func Start(tb testing.TB) *Site {
	tb.Helper()
	t, err := load()
	if err != nil {
		tb.Fatal(err)
	}
	s := &Site{tape: t}
	s.RM, s.History, s.NameNode = newDaemon(tb, s.resourceManager), newDaemon(tb, s.historyServer), newDaemon(tb, s.nameNode)
	return s
}

// At moves the cluster to a moment of the recording. Until 5 s it is empty;
// TeraSort is accepted from 5 s, runs from 8 s and has ended at 72 s; WordCount
// 9 s, 31 s, 75 s; SmallTeraSort 45 s, 73 s, 85 s.
func (s *Site) At(moment time.Duration) { s.now.Store(moment.Milliseconds()) }

// Span returns how long the recording is.
func (s *Site) Span() time.Duration { return time.Duration(s.tape.end) * time.Millisecond }

// StandbyRM starts one more ResourceManager, which is not the active one: it
// redirects to the active one, as one that knows it does.
func (s *Site) StandbyRM(tb testing.TB) *Daemon {
	tb.Helper()
	return newDaemon(tb, func(r *http.Request) Answer {
		if r.URL.Path == "/ws/v1/cluster/info" {
			return jsonAnswer(http.StatusOK, strings.Replace(s.tape.file("rm-info.json"), `"haState":"ACTIVE"`, `"haState":"STANDBY"`, 1))
		}
		return redirect(http.StatusTemporaryRedirect, s.RM.URL+r.URL.RequestURI(), "This is standby RM. The redirect url is: "+r.URL.RequestURI()+"\n")
	})
}

// StandbyNameNode starts one more NameNode, which is not the active one.
func (s *Site) StandbyNameNode(tb testing.TB) *Daemon {
	tb.Helper()
	return newDaemon(tb, func(r *http.Request) Answer {
		if strings.HasPrefix(r.URL.Path, "/webhdfs/") {
			return standbyNameNode()
		}
		return s.nameNode(r)
	})
}

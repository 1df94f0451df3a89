//go:build linux

package hadoop

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// App is an application as the ResourceManager knows it.
type App struct {
	ID          string
	Name        string
	Type        string `json:"applicationType"` // MAPREDUCE, SPARK, TEZ
	Queue       string // the full path
	Tags        string `json:"applicationTags"` // comma-separated, lower case
	State       string // FINISHED also if it failed
	FinalStatus string // SUCCEEDED
	ElapsedTime int64  // milliseconds from submission to the end, or until now
}

// Took is how long the application has run, from its submission on.
func (a App) Took() time.Duration { return time.Duration(a.ElapsedTime) * time.Millisecond }

// App gets an application from the active ResourceManager. The id may be
// that of a MapReduce job.
func (r *ResourceManagers) App(ctx context.Context, id string) (App, error) {
	var answer struct{ App App }
	return answer.App, r.getApps(ctx, "/"+AppID(id), &answer)
}

// Ended waits until an application has ended and gets it. Clients of Tez
// and Spark end when the work is done, a moment before the application is unregistered.
func (r *ResourceManagers) Ended(ctx context.Context, id string) (app App, err error) {
	err = poll(ctx, func(ctx context.Context) error {
		app, err = r.App(ctx, id)
		if err == nil && !slices.Contains([]string{"FINISHED", "FAILED", "KILLED"}, app.State) {
			err = fmt.Errorf("%s is %s", app.ID, app.State)
		}
		return err
	})
	return app, err
}

// AppsTagged gets the applications that have a tag, running and ended, from
// the active ResourceManager. So one is found while its client still runs.
func (r *ResourceManagers) AppsTagged(ctx context.Context, tag string) ([]App, error) {
	var answer struct{ Apps struct{ App []App } }
	err := r.getApps(ctx, "?applicationTags="+url.QueryEscape(strings.ToLower(tag)), &answer)
	return answer.Apps.App, err
}

func (r *ResourceManagers) getApps(ctx context.Context, what string, answer any) error {
	active, err := r.ActiveRM(ctx)
	if err != nil {
		return fmt.Errorf("get applications: %w", err)
	}
	return fetchJSON(ctx, r.http, http.MethodGet, rmURL(active)+"/ws/v1/cluster/apps"+what, answer)
}

// AppID is the id of the first application in a text, such as the standard
// error of a client. A job counts as its application. Empty when there is none.
func AppID(text string) string {
	m := regexp.MustCompile(`(?:application|job)(_\d+_\d+)`).FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	return "application" + m[1]
}

// Containers is the ids of the containers of an application that were launched,
// by host and sorted, those that have ended too: the NodeManagers keep their
// logs. Container 000001 of an attempt is its ApplicationMaster; see [IsAM].
func (j *Jobs) Containers(app string) (map[string][]string, error) {
	byHost := make(map[string][]string)
	for _, h := range j.network.Hosts() {
		dirs, err := filepath.Glob(filepath.Join(j.processes.site(h).data("nm-logs"), AppID(app), "container_*"))
		if err != nil {
			return nil, fmt.Errorf("list the containers of %s on %s: %w", app, h, err)
		}
		for _, dir := range dirs {
			byHost[h] = append(byHost[h], filepath.Base(dir))
		}
		slices.Sort(byHost[h])
	}
	return byHost, nil
}

// Workers is how many containers other than ApplicationMasters an application
// has launched, by host: tasks of MapReduce and Tez, executors of Spark.
func (j *Jobs) Workers(app string) (map[string]int, error) {
	all, err := j.Containers(app)
	if err != nil {
		return nil, err
	}
	byHost := make(map[string]int)
	for h, ids := range all {
		for _, id := range ids {
			if !IsAM(id) {
				byHost[h]++
			}
		}
	}
	return byHost, nil
}

// IsAM reports whether a container is an ApplicationMaster's: the first of its attempt.
func IsAM(container string) bool { return strings.HasSuffix(container, "_000001") }

// ByRack sums what is counted by host, such as [Jobs.Workers], over the hosts of each rack.
func (n *Network) ByRack(byHost map[string]int) map[string]int {
	racks := make(map[string]int)
	for h, k := range byHost { // a sum is the same in any order
		racks[n.RackOf(h)] += k
	}
	return racks
}

// AttemptsByRack counts attempts of one type, MAP or REDUCE, by rack.
func AttemptsByRack(attempts []Attempt, kind string) map[string]int {
	racks := make(map[string]int)
	for _, a := range attempts {
		if a.Type == kind {
			racks[a.Rack]++
		}
	}
	return racks
}

package jhist

import (
	"net/url"
	"path"
	"strconv"
	"strings"

	"heddle/core/model"
)

// Suffix ends the names of history files; they may be compressed, with ".gz" after it.
const Suffix = ".jhist"

// Name is what the name of a history file says.
type Name struct {
	Job       string
	Submitted model.Time // of the Unix epoch; 0 in the name of a job that runs
}

// ParseName reads the name of a history file, false if it is none. The JobHistory
// server names a file by the job's id, the time of its submission and eight more
// fields; the ApplicationMaster of a job that runs, by its id and attempt.
func ParseName(file string) (Name, bool) {
	base, found := strings.CutSuffix(strings.TrimSuffix(path.Base(file), ".gz"), Suffix)
	if !found || !strings.HasPrefix(base, "job_") {
		return Name{}, false
	}
	id, rest, dashed := strings.Cut(base, "-")
	parts := strings.Split(id, "_")
	if len(parts) < 3 {
		return Name{}, false
	}
	n := Name{Job: strings.Join(parts[:3], "_")}
	if dashed {
		field, _, _ := strings.Cut(rest, "-")
		text, err := url.QueryUnescape(field)
		if ms, numErr := strconv.ParseInt(text, 10, 64); err == nil && numErr == nil && ms > 0 {
			n.Submitted = model.Time(ms)
		}
	}
	return n, true
}

// ConfName returns the name of the file with a job's configuration.
func ConfName(job string) string { return job + "_conf.xml" }

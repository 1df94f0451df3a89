package mapreduce

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"heddle/core/model"
)

// maxTaskIndex bounds the index of a task; a larger one is an error: an
// ApplicationMaster runs out of memory long before it has so many tasks.
const maxTaskIndex = 1 << 22

// JobID returns the MapReduce job id of an application, job_<ts>_<n> for
// application_<ts>_<n> (hadoop.md 2.2: TypeConverter.fromYarn).
func JobID(app model.AppID) (string, error) {
	suffix, ok := strings.CutPrefix(string(app), "application_")
	stamp, number, two := strings.Cut(suffix, "_")
	if !ok || !two || !digits(stamp) || !digits(number) {
		return "", fmt.Errorf("application id %q: want application_<timestamp>_<number>", app)
	}
	return "job_" + suffix, nil
}

// taskKey names a task within its job.
type taskKey struct {
	stage model.Stage
	index int
}

// letter is how task ids write the stage.
func (k taskKey) letter() string {
	if k.stage == model.StageReduce {
		return "r"
	}
	return "m"
}

// taskID returns the id of a task, task_<ts>_<n>_m_000007.
func (k taskKey) taskID(job string) string {
	return fmt.Sprintf("task_%s_%s_%06d", strings.TrimPrefix(job, "job_"), k.letter(), k.index)
}

// parseTaskID reads a task id and checks that it belongs to the job.
func parseTaskID(id, job string) (taskKey, error) {
	rest, ok := strings.CutPrefix(id, "task_"+strings.TrimPrefix(job, "job_")+"_")
	if !ok {
		return taskKey{}, fmt.Errorf("task %q is not of %s", id, job)
	}
	letter, number, _ := strings.Cut(rest, "_")
	key := taskKey{}
	switch letter {
	case "m":
		key.stage = model.StageMap
	case "r":
		key.stage = model.StageReduce
	default:
		return taskKey{}, fmt.Errorf("task %q is neither a map nor a reduce", id)
	}
	index, err := strconv.Atoi(number)
	if err != nil || !digits(number) || index >= maxTaskIndex {
		return taskKey{}, fmt.Errorf("task %q: its index is not a number below %d", id, maxTaskIndex)
	}
	key.index = index
	return key, nil
}

// attemptOf reports whether the attempt id is one of the task's,
// attempt_<ts>_<n>_m_000007_<k>.
func attemptOf(attempt, task string) bool {
	number, ok := strings.CutPrefix(attempt, "attempt_"+strings.TrimPrefix(task, "task_")+"_")
	return ok && digits(number)
}

// hostOf returns the host of a node's host:port.
func hostOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return host
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

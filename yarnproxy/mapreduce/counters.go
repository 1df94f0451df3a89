package mapreduce

import (
	"encoding/json"
	"fmt"

	"heddle/core/model"
	"heddle/yarnproxy/rest"
)

// Counter groups and names (hadoop.md 2.4: TaskCounter, JobCounter,
// FileSystemCounter).
const (
	groupTask = "org.apache.hadoop.mapreduce.TaskCounter"
	groupJob  = "org.apache.hadoop.mapreduce.JobCounter"
	groupFile = "org.apache.hadoop.mapreduce.FileSystemCounter"

	counterMapOutput   = "MAP_OUTPUT_MATERIALIZED_BYTES"
	counterPlainOutput = "MAP_OUTPUT_BYTES"
	counterCombined    = "COMBINE_INPUT_RECORDS"
	counterShuffle     = "REDUCE_SHUFFLE_BYTES"
	counterHDFSRead    = "HDFS_BYTES_READ"
	counterHDFSWritten = "HDFS_BYTES_WRITTEN"
)

type counterID struct{ group, name string }

// counterGroup is a group of job counters (total, map, reduce) or of attempt
// counters (value).
type counterGroup struct {
	Group   string `json:"counterGroupName"`
	Counter rest.List[struct {
		Name  string   `json:"name"`
		Total rest.Int `json:"totalCounterValue"`
		Map   rest.Int `json:"mapCounterValue"`
		Value rest.Int `json:"value"`
	}] `json:"counter"`
}

// decodeCounters reads the job counters. Hadoop leaves out counters that no
// task has set: byte counters are then Unknown, counts of tasks 0.
func decodeCounters(body []byte, app model.AppID, job string) (model.CountersFact, error) {
	raw, err := field(body, "jobCounters")
	if err != nil {
		return model.CountersFact{}, fmt.Errorf("counters of %s: %w", job, err)
	}
	var answer struct {
		ID    string                  `json:"id"`
		Group rest.List[counterGroup] `json:"counterGroup"`
	}
	if raw != nil {
		if err := json.Unmarshal(raw, &answer); err != nil {
			return model.CountersFact{}, fmt.Errorf("counters of %s: %w", job, err)
		}
	}
	if answer.ID != job {
		return model.CountersFact{}, fmt.Errorf("counters of %s: they are those of %q", job, answer.ID)
	}
	totals, maps := map[counterID]rest.Int{}, map[counterID]rest.Int{}
	for _, group := range answer.Group {
		for _, c := range group.Counter {
			totals[counterID{group.Group, c.Name}] = c.Total
			maps[counterID{group.Group, c.Name}] = c.Map
		}
	}
	plain := max(bytesOf(maps, groupTask, counterPlainOutput), 0)
	if maps[counterID{groupTask, counterCombined}] > 0 { // it counts what the combiner reads
		plain = 0
	}
	return model.CountersFact{
		App:             app,
		MapOutput:       bytesOf(maps, groupTask, counterMapOutput),
		MapInput:        bytesOf(maps, groupFile, counterHDFSRead),
		MapOutputPlain:  plain,
		ReduceShuffle:   bytesOf(totals, groupTask, counterShuffle),
		HDFSWritten:     bytesOf(totals, groupFile, counterHDFSWritten),
		NodeLocalMaps:   countOf(totals, "DATA_LOCAL_MAPS"),
		RackLocalMaps:   countOf(totals, "RACK_LOCAL_MAPS"),
		OtherLocalMaps:  countOf(totals, "OTHER_LOCAL_MAPS"),
		LaunchedReduces: countOf(totals, "TOTAL_LAUNCHED_REDUCES"),
	}, nil
}

// attemptCounters are the byte counters of one attempt, Unknown where the
// attempt has not reported them.
type attemptCounters struct {
	output, input, shuffled model.Bytes
	reported                bool // the attempt has reported counters at all
}

// decodeAttemptCounters reads the counters of one attempt. An attempt that has
// not reported yet has no group at all.
func decodeAttemptCounters(body []byte, attemptID string) (attemptCounters, error) {
	raw, err := field(body, "jobTaskAttemptCounters")
	if err != nil {
		return attemptCounters{}, fmt.Errorf("counters of %s: %w", attemptID, err)
	}
	var answer struct {
		ID    string                  `json:"id"`
		Group rest.List[counterGroup] `json:"taskAttemptCounterGroup"`
	}
	if raw != nil {
		if err := json.Unmarshal(raw, &answer); err != nil {
			return attemptCounters{}, fmt.Errorf("counters of %s: %w", attemptID, err)
		}
	}
	if answer.ID != attemptID {
		return attemptCounters{}, fmt.Errorf("counters of %s: they are those of %q", attemptID, answer.ID)
	}
	values := map[counterID]rest.Int{}
	for _, group := range answer.Group {
		for _, c := range group.Counter {
			values[counterID{group.Group, c.Name}] = c.Value
		}
	}
	return attemptCounters{
		output:   bytesOf(values, groupTask, counterMapOutput),
		input:    bytesOf(values, groupFile, counterHDFSRead),
		shuffled: bytesOf(values, groupTask, counterShuffle),
		reported: len(values) > 0,
	}, nil
}

func bytesOf(values map[counterID]rest.Int, group, name string) model.Bytes {
	value, ok := values[counterID{group, name}]
	if !ok || value < 0 {
		return model.Unknown
	}
	return model.Bytes(value)
}

func countOf(values map[counterID]rest.Int, name string) int {
	value := values[counterID{groupJob, name}]
	if value < 0 || value > maxTaskIndex {
		return 0
	}
	return int(value)
}

package mapreduce

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"heddle/core/model"
	"heddle/yarnproxy/rest"
)

// defaultSlowstart is Hadoop's (mapred-default.xml).
const defaultSlowstart = 0.05

// decodeConf reads what heddle needs of a job's configuration. A value that
// cannot be used is replaced by Hadoop's default and named in the error, which
// then comes beside the fact (the fact's App is set).
func decodeConf(body []byte, app model.AppID) (model.JobConfFact, error) {
	raw, err := field(body, "conf")
	if err != nil {
		return model.JobConfFact{}, fmt.Errorf("configuration of %s: %w", app, err)
	}
	var answer struct {
		Property rest.List[struct {
			Name  rest.Text `json:"name"`
			Value rest.Text `json:"value"`
		}] `json:"property"`
	}
	if raw != nil {
		if err := json.Unmarshal(raw, &answer); err != nil {
			return model.JobConfFact{}, fmt.Errorf("configuration of %s: %w", app, err)
		}
	}
	values := make(map[string]string, len(answer.Property))
	for _, p := range answer.Property {
		values[string(p.Name)] = string(p.Value)
	}
	// The second names are those of Hadoop 1, which old drivers still set.
	first := func(names ...string) string {
		for _, name := range names {
			if v := values[name]; v != "" {
				return v
			}
		}
		return ""
	}
	fact := model.JobConfFact{
		App:       app,
		Inputs:    splitPaths(first("mapreduce.input.fileinputformat.inputdir", "mapred.input.dir")),
		Output:    first("mapreduce.output.fileoutputformat.outputdir", "mapred.output.dir"),
		Slowstart: defaultSlowstart,
		Workflow:  model.WorkflowOf(values),
	}
	var bad faults
	bad.add(setSlowstart(&fact, first("mapreduce.job.reduce.slowstart.completedmaps", "mapred.reduce.slowstart.completed.maps")))
	bad.add(setReplication(&fact, first("dfs.replication")))
	if err := bad.err(); err != nil {
		return fact, fmt.Errorf("configuration of %s: %w", app, err)
	}
	return fact, nil
}

func setSlowstart(fact *model.JobConfFact, text string) error {
	if text == "" {
		return nil
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || !(v >= 0 && v <= 1) {
		return fmt.Errorf("mapreduce.job.reduce.slowstart.completedmaps is %q, not 0 to 1", text)
	}
	fact.Slowstart = v
	return nil
}

func setReplication(fact *model.JobConfFact, text string) error {
	if text == "" {
		return nil
	}
	v, err := strconv.ParseInt(strings.TrimSpace(text), 10, 16)
	if err != nil || v < 1 {
		return fmt.Errorf("dfs.replication is %q, not 1 to 32767", text)
	}
	fact.Replication = int(v)
	return nil
}

// splitPaths splits a list of paths at its commas as FileInputFormat does: a
// backslash takes the meaning from a comma or a backslash after it.
func splitPaths(list string) []string {
	var paths []string
	var path strings.Builder
	end := func() {
		if path.Len() > 0 {
			paths = append(paths, path.String())
		}
		path.Reset()
	}
	for i := 0; i < len(list); i++ {
		c := list[i]
		if c == '\\' && i+1 < len(list) && (list[i+1] == ',' || list[i+1] == '\\') {
			i++
			path.WriteByte(list[i])
			continue
		}
		if c == ',' {
			end()
			continue
		}
		path.WriteByte(c)
	}
	end()
	return paths
}

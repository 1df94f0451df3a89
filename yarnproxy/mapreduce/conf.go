package mapreduce

import (
	"encoding/json"
	"fmt"
	"math"
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
	var bad rest.ErrorList
	bad.Add(setSlowstart(&fact, first("mapreduce.job.reduce.slowstart.completedmaps", "mapred.reduce.slowstart.completed.maps")))
	bad.Add(setReplication(&fact, first("dfs.replication")))
	bad.Add(setTask(&fact.MapTask, "map", first))
	bad.Add(setTask(&fact.ReduceTask, "reduce", first))
	if err := bad.Err(); err != nil {
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

// defaultTaskMiB is the memory of a task whose job says nothing of it
// (MRJobConfig.DEFAULT_MAP_MEMORY_MB and its like for reduces).
const defaultTaskMiB = 1024

// maxTaskSize bounds the memory in MiB and the vcores of a task; more is an error.
const maxTaskSize = 1 << 30

// setTask sets the size of a kind of task as the ApplicationMaster asks for it
// (JobConf.getMemoryRequired): the memory given, else what the heap given needs,
// else Hadoop's default. A configuration that mentions neither leaves it zero.
func setTask(task *model.Resource, kind string, first func(names ...string) string) error {
	memoryKey := "mapreduce." + kind + ".memory.mb"
	memory, err := atLeast(first(memoryKey), memoryKey, -1)
	opts := first("mapreduce."+kind+".java.opts", "mapred.child.java.opts")
	if err != nil || memory == 0 && opts == "" {
		return err
	}
	vcoresKey := "mapreduce." + kind + ".cpu.vcores"
	vcores, err := atLeast(first(vcoresKey), vcoresKey, 1)
	if err != nil {
		return err
	}
	if memory <= 0 {
		memory = defaultTaskMiB
		if heap := heapMiB(opts); heap > 0 {
			ratio, err := strconv.ParseFloat(strings.TrimSpace(first("mapreduce.job.heap.memory-mb.ratio")), 64)
			if err != nil || !(ratio > 0 && ratio <= 1) {
				ratio = 0.8 // Hadoop's
			}
			memory = int64(math.Ceil(min(float64(heap)/ratio, maxTaskSize)))
		}
	}
	*task = model.Resource{MemoryMiB: memory, VCores: max(vcores, 1)}
	return nil
}

// atLeast reads a whole number, 0 where there is none.
func atLeast(text, key string, lowest int64) (int64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || n < lowest || n > maxTaskSize {
		return 0, fmt.Errorf("%s is %q, not %d to %d", key, text, lowest, maxTaskSize)
	}
	return n, nil
}

// heapMiB returns the last -Xmx of a JVM's options in MiB, 0 without a usable one
// (JobConf.parseMaximumHeapSizeMB).
func heapMiB(opts string) int64 {
	heap := int64(0)
	for word := range strings.FieldsSeq(opts) {
		text, ok := strings.CutPrefix(word, "-Xmx")
		if !ok || text == "" {
			continue
		}
		shift := 0 // to bytes
		switch text[len(text)-1] {
		case 'k', 'K':
			shift = 10
		case 'm', 'M':
			shift = 20
		case 'g', 'G':
			shift = 30
		}
		if shift > 0 {
			text = text[:len(text)-1]
		}
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && n > 0 && n <= math.MaxInt64>>shift {
			heap = n << shift >> 20
		}
	}
	return heap
}

// splitPaths splits a list of paths at its commas as FileInputFormat does: a
// backslash escapes a comma or a backslash after it.
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

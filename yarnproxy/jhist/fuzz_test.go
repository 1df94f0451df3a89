package jhist_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/hamba/avro/v2"

	"heddle/core/lab/measured"
	"heddle/yarnproxy/jhist"
)

// fewFields is Hadoop's schema with the events and fields that are read, and some that are not: a
// file with the whole of it has 14 KB, of which a mutation would hardly ever reach an event.
const fewFields = `{"type":"record","name":"Event","namespace":"org.apache.hadoop.mapreduce.jobhistory","fields":[` +
	`{"name":"type","type":{"type":"enum","name":"EventType","symbols":["A","B"]}},` +
	`{"name":"event","type":[` +
	`{"type":"record","name":"JobSubmitted","fields":[{"name":"jobid","type":"string"},{"name":"acls","type":{"type":"map","values":"string"}},{"name":"submitTime","type":"long"},{"name":"workflowId","type":["null","string"]}]},` +
	`{"type":"record","name":"TaskStarted","fields":[{"name":"taskid","type":"string"},{"name":"taskType","type":"string"},{"name":"splitLocations","type":"string"}]},` +
	`{"type":"record","name":"TaskAttemptStarted","fields":[{"name":"taskid","type":"string"},{"name":"attemptId","type":"string"},{"name":"startTime","type":"long"}]},` +
	`{"type":"record","name":"MapAttemptFinished","fields":[{"name":"taskid","type":"string"},{"name":"attemptId","type":"string"},{"name":"finishTime","type":"long"},{"name":"hostname","type":"string"},` +
	`{"name":"counters","type":{"type":"record","name":"JhCounters","fields":[{"name":"groups","type":{"type":"array","items":` +
	`{"type":"record","name":"Group","fields":[{"name":"name","type":"string"},{"name":"counts","type":{"type":"array","items":` +
	`{"type":"record","name":"Count","fields":[{"name":"name","type":"string"},{"name":"value","type":"long"}]}}}]}}}]}},` +
	`{"name":"clockSplits","type":{"type":"array","items":"int"}}]},` +
	`{"type":"record","name":"JobFinished","fields":[{"name":"jobid","type":"string"},{"name":"finishTime","type":"long"},{"name":"mapCounters","type":["null","JhCounters"]}]}` +
	`]}]}`

// fewEvents are the events of a job with one map, by fewFields.
func fewEvents() []map[string]any {
	const task, attempt = "task_1_0001_m_000000", "attempt_1_0001_m_000000_0"
	counters := map[string]any{"groups": []any{map[string]any{
		"name": "org.apache.hadoop.mapreduce.FileSystemCounter", "counts": []any{map[string]any{"name": "HDFS_BYTES_READ", "value": int64(5)}},
	}}}
	const ns = "org.apache.hadoop.mapreduce.jobhistory."
	return []map[string]any{
		{ns + "JobSubmitted": map[string]any{"jobid": "job_1_0001", "acls": map[string]any{"a": "b"}, "submitTime": int64(7), "workflowId": map[string]any{"string": "w"}}},
		{ns + "TaskStarted": map[string]any{"taskid": task, "taskType": "MAP", "splitLocations": "a,b"}},
		{ns + "TaskAttemptStarted": map[string]any{"taskid": task, "attemptId": attempt, "startTime": int64(8)}},
		{ns + "MapAttemptFinished": map[string]any{"taskid": task, "attemptId": attempt, "finishTime": int64(9), "hostname": "a", "counters": counters, "clockSplits": []any{1, 2}}},
		{ns + "JobFinished": map[string]any{"jobid": "job_1_0001", "finishTime": int64(10), "mapCounters": map[string]any{ns + "JhCounters": counters}}},
	}
}

// FuzzRead holds that any bytes are read as a history or refused, within bounds.
func FuzzRead(f *testing.F) {
	schema, err := avro.ParseWithCache(fewFields, "", &avro.SchemaCache{})
	if err != nil {
		f.Fatal(err)
	}
	inBinary, inJSON := []byte("Avro-Binary\n"+fewFields+"\n"), []byte("Avro-Json\n{}\n")
	f.Add(inBinary)
	for _, e := range fewEvents() {
		data, err := avro.Marshal(schema, map[string]any{"type": "B", "event": e})
		if err != nil {
			f.Fatal(err)
		}
		inBinary = append(inBinary, data...)
		for name, fields := range e { // order-free: there is one
			inJSON = append(inJSON, event(f, name[strings.LastIndexByte(name, '.')+1:], fields.(map[string]any))...)
		}
	}
	for _, whole := range [][]byte{inBinary, inJSON} {
		if j, err := jhist.Read(bytes.NewReader(whole)); err != nil || len(j.Maps) != 1 || j.Maps[0].Read != 5 {
			f.Fatalf("%+v, %v", j, err)
		}
		f.Add(whole)
	}
	f.Add(inBinary[:len(inBinary)-20])
	f.Add([]byte("Avro-Json\n{}\n{\"event\":{\"JobSubmitted\":{\"jobid\":\"job_1_1\"}}}\n"))
	f.Add([]byte("Avro-Binary\n{\"type\":\"record\",\"name\":\"E\",\"fields\":[{\"name\":\"event\",\"type\":[\"null\",{\"type\":\"array\",\"items\":\"E\"}]}]}\n\x02\x02\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 16<<10 {
			return
		}
		j, err := jhist.Read(bytes.NewReader(data))
		if (j == nil) == (err == nil) {
			t.Fatalf("job %v and error %v", j, err)
		}
		if j == nil {
			return
		}
		if _, err := measured.Workload([]measured.Job{j.Job}, &measured.Options{}); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzReadConf holds that any bytes are read as a configuration or refused.
func FuzzReadConf(f *testing.F) {
	f.Add(unzipped(f, "*_0055_conf.xml.gz")[:20_000])
	f.Add([]byte("<configuration><property><name>mapreduce.map.memory.mb</name><value>1</value></property></configuration>"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := jhist.ReadConf(bytes.NewReader(data))
		if (c == nil) == (err == nil) {
			t.Fatalf("configuration %v and error %v", c, err)
		}
	})
}

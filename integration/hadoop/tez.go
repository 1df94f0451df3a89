//go:build linux

package hadoop

import (
	"context"
	"fmt"
	"slices"
)

// TezVersion is the Apache Tez release that [Jobs.TezJob] runs.
const TezVersion = "0.10.5"

// TezJob runs a program of Tez's examples to its end (orderedwordcount INPUT
// OUTPUT [REDUCES], ...) and returns the id of its application. The test
// has the extra [Tez].
func (j *Jobs) TezJob(ctx context.Context, with Settings, example string, args ...string) (string, error) {
	jars, err := Tez.jars().ready()
	if err != nil {
		return "", fmt.Errorf("run %s on Tez: %w", example, err)
	}
	classPath := jars + "/*:" + j.processes.jars + "/*"
	if history := tezHistoryJar(); history != "" {
		classPath = history + ":" + classPath
	}
	options := "-Xmx256m --add-opens=java.base/java.lang=ALL-UNNAMED " + jvmFlags
	all := with.override(Settings{
		// Every host has the jars, so none are uploaded.
		"tez.ignore.lib.uris":                         "true",
		"tez.use.cluster.hadoop-libs":                 "true",
		"tez.cluster.additional.classpath.prefix":     classPath,
		"tez.staging-dir":                             "/tmp/tez-staging",
		"tez.am.resource.memory.mb":                   "512",
		"tez.am.launch.cmd-opts":                      options,
		"tez.am.mode.session":                         "false",
		"tez.task.resource.memory.mb":                 "512",
		"tez.task.launch.cmd-opts":                    options,
		"tez.runtime.io.sort.mb":                      "64",
		"tez.runtime.unordered.output.buffer.size-mb": "32",
	})
	_, diag, err := j.processes.run(ctx, program{
		jars: []string{jars, j.processes.jars}, class: "org.apache.tez.examples.ExampleDriver",
		args: slices.Concat([]string{example}, all.flags(), args),
	})
	return AppID(diag), err
}

//go:build linux

package hadoop

import (
	"archive/zip"
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

//go:embed assets/ShuffleJob.java
var sparkSource []byte

// SparkVersion is the Apache Spark release that [Jobs.SparkJob] runs.
const SparkVersion = "3.5.6"

// sparkClass is the class of the source.
const sparkClass = "ShuffleJob"

// SparkMode is where the driver of a Spark application runs.
type SparkMode string

// The modes of Spark on YARN.
const (
	SparkClient  SparkMode = "client"  // in a process on the master
	SparkCluster SparkMode = "cluster" // in the ApplicationMaster
)

// SparkShuffle is the size of a Spark job that makes rows of 100 bytes and
// sends all of them through one shuffle.
type SparkShuffle struct {
	Maps    int
	Reduces int
	Rows    int // of each map
}

// SparkJob runs a shuffle to its end and returns the id of its application;
// [Jobs.Workers] says where its executors were. It starts when all of its executors
// are there, by default three of 640 MiB. Hadoop's properties have the prefix spark.hadoop
// in the settings; spark.yarn.queue and spark.yarn.tags are queue and tags. The test has the extra [Spark].
func (j *Jobs) SparkJob(ctx context.Context, mode SparkMode, with Settings, size SparkShuffle) (string, error) {
	jars, err := Spark.jars().ready()
	if err != nil {
		return "", fmt.Errorf("run a Spark job: %w", err)
	}
	jar, err := j.sparkProgram(ctx, jars)
	if err != nil {
		return "", err
	}
	args := []string{"--master", "yarn", "--deploy-mode", string(mode), "--class", sparkClass}
	all := with.override(sparkDefaults(jars))
	for _, flag := range all.flags() {
		args = append(args, "--conf", flag[len("-D"):])
	}
	args = append(args, jar, strconv.Itoa(size.Maps), strconv.Itoa(size.Reduces), strconv.Itoa(size.Rows))
	submit := program{jars: []string{jars}, options: sparkOptions(), class: "org.apache.spark.deploy.SparkSubmit", args: args}
	_, diag, err := j.processes.run(ctx, submit)
	return AppID(diag), err
}

func sparkDefaults(jars string) Settings {
	return Settings{
		// Every host has the jars, so none are uploaded.
		"spark.yarn.jars":                             "local:" + jars + "/*",
		"spark.executor.instances":                    "3",
		"spark.executor.memory":                       "512m", // hardly more than the least that Spark takes
		"spark.executor.memoryOverhead":               "128m",
		"spark.driver.memory":                         "512m",
		"spark.driver.memoryOverhead":                 "128m",
		"spark.yarn.am.memory":                        "512m",
		"spark.yarn.am.memoryOverhead":                "128m",
		"spark.executor.extraJavaOptions":             jvmFlags,
		"spark.driver.extraJavaOptions":               jvmFlags,
		"spark.yarn.am.extraJavaOptions":              jvmFlags,
		"spark.scheduler.minRegisteredResourcesRatio": "1.0",
		"spark.ui.enabled":                            "false",
	}
}

// sparkOptions are the heap of a driver in the client, and the options that Spark's own
// scripts give to a Java of today, in JavaModuleOptions.java of its launcher.
func sparkOptions() []string {
	options := []string{"-Xmx512m", "-XX:+IgnoreUnrecognizedVMOptions", "-Djdk.reflect.useDirectMethodHandle=false"}
	for _, pkg := range []string{
		"java.lang", "java.lang.invoke", "java.lang.reflect", "java.io", "java.net", "java.nio", "java.util",
		"java.util.concurrent", "java.util.concurrent.atomic", "sun.nio.ch", "sun.nio.cs", "sun.security.action", "sun.util.calendar",
	} {
		options = append(options, "--add-opens=java.base/"+pkg+"=ALL-UNNAMED")
	}
	return options
}

// sparkProgram compiles the job, once for a cluster, and returns its jar.
func (j *Jobs) sparkProgram(ctx context.Context, jars string) (string, error) {
	dir := filepath.Join(j.processes.dir, "spark")
	jar := filepath.Join(dir, sparkClass+".jar")
	if _, err := os.Stat(jar); err == nil {
		return jar, nil
	}
	source := filepath.Join(dir, sparkClass+".java")
	if err := writeFiles(dir, map[string][]byte{filepath.Base(source): sparkSource}); err != nil {
		return "", err
	}
	classes := filepath.Join(dir, "classes")
	// The compiler takes the class path that it runs with.
	compiler := program{
		jars: []string{jars}, class: "org.eclipse.jdt.internal.compiler.batch.Main",
		args: []string{"-source", "11", "-target", "11", "-proc:none", "-nowarn", "-d", classes, source},
	}
	if _, _, err := j.processes.run(ctx, compiler); err != nil {
		return "", fmt.Errorf("compile the Spark job: %w", err)
	}
	return jar, pack(jar, classes)
}

// pack makes a jar of the files of a directory.
func pack(jar, dir string) (err error) {
	f, err := os.OpenFile(jar, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("make a jar: %w", err)
	}
	defer f.Close() //nolint:errcheck // nothing is in it that the archive has not written
	z := zip.NewWriter(f)
	if err := z.AddFS(os.DirFS(dir)); err != nil {
		return fmt.Errorf("make %s: %w", jar, err)
	}
	if err := z.Close(); err != nil {
		return fmt.Errorf("make %s: %w", jar, err)
	}
	return nil
}

//go:build linux

package hadoop

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Every container is a Java process of its own, and most of what a short task
// costs is the loading of classes. Java maps them from an archive instead
// (class-data sharing), which is kept beside the jars. An archive fits one Java
// and one class path, the jars first; where it does not fit, Java ignores it.

// classArchive is the file of the archive for these jars and this Java.
func (p *Processes) classArchive() string {
	release, _ := os.ReadFile(filepath.Join(p.javaHome, "release")) // without it, one archive for all
	return fmt.Sprintf("%s-%.6x.jsa", p.jars, sha256.Sum256(append(release, p.javaHome...)))
}

// useArchive makes processes started from now on use the archive, if there is one.
func (p *Processes) useArchive() {
	file := p.classArchive()
	if _, err := os.Stat(file); err == nil {
		p.archive = file
	}
}

// classPath is the class path of a program of these jars with a host's
// configuration, and the options that go with it.
func (p *Processes) classPath(s site, jars []string) (path string, options []string) {
	config := []string{s.dir(), filepath.Join(p.dir, "web")}
	libraries := make([]string, 0, len(jars))
	for _, dir := range jars {
		libraries = append(libraries, dir+"/*")
	}
	if !slices.Equal(jars, []string{p.jars}) {
		return strings.Join(append(config, libraries...), ":"), nil
	}
	// One of the jars has a log4j.properties too.
	options = []string{"-Dlog4j.configuration=file:" + filepath.Join(s.dir(), "log4j.properties")}
	if p.archive != "" {
		options = append(options, archiveOptions(p.archive)...)
	}
	return strings.Join(append(libraries, config...), ":"), options
}

// archiveOptions have Java use an archive, and not warn where it cannot.
func archiveOptions(file string) []string {
	return []string{"-XX:SharedArchiveFile=" + file, "-Xlog:disable"}
}

// shareClasses makes the archive, once for each Java, from what a small job loads
// that runs in one process and reads and writes HDFS. Without it everything works
// as well, and takes longer.
func shareClasses(ctx context.Context, c *Cluster) error {
	if c.archive != "" {
		return nil
	}
	logf(c.log, "archiving the classes that tasks load, once for this Java")
	part := filepath.Join(c.dir, "classes.jsa")
	err := c.Write(ctx, File{Path: "/classes/in", Host: c.Hosts()[0]}, strings.NewReader("one two two\n"))
	if err == nil {
		_, _, err = c.run(ctx, program{
			jars: []string{c.jars}, options: []string{"-XX:ArchiveClassesAtExit=" + part, "-Xlog:disable"},
			class: "org.apache.hadoop.examples.ExampleDriver",
			args:  []string{"wordcount", "-Dmapreduce.framework.name=local", "/classes/in", "/classes/out"},
		})
	}
	if err == nil {
		err = copyFile(c.classArchive(), part)
	}
	if err != nil {
		logf(c.log, "no archive of classes: %v", err)
		return nil
	}
	c.useArchive()
	return c.configure()
}

// copyFile makes a file that appears under its name only when it is whole.
func copyFile(to, from string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return fmt.Errorf("read the archive of classes: %w", err)
	}
	part := fmt.Sprintf("%s.%d", to, os.Getpid())
	if err := os.WriteFile(part, content, 0o600); err != nil {
		return fmt.Errorf("keep the archive of classes: %w", err)
	}
	if err := os.Rename(part, to); err != nil {
		return fmt.Errorf("keep the archive of classes: %w", err)
	}
	return nil
}

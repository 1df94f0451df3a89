//go:build linux

package hadoop

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// lineClient is a process that reads lines on its standard input and answers each.
// It is not safe for concurrent use.
type lineClient struct {
	cmd   *exec.Cmd
	asks  io.WriteCloser
	lines *bufio.Reader
	diag  bytes.Buffer
}

// startLineClient starts a process by calling start.
func startLineClient(cmd *exec.Cmd, start func(*exec.Cmd) error) (l *lineClient, err error) {
	l = &lineClient{cmd: cmd}
	cmd.Stderr = &l.diag
	if l.asks, err = cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start Hadoop's client: %w", err)
	}
	answers, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start Hadoop's client: %w", err)
	}
	l.lines = bufio.NewReader(answers)
	if err := start(cmd); err != nil {
		return nil, fmt.Errorf("start Hadoop's client: %w", err)
	}
	return l, nil
}

// Close ends the client.
func (l *lineClient) Close() error {
	if err := errors.Join(l.asks.Close(), l.cmd.Wait()); err != nil {
		return l.failed("end", err)
	}
	return nil
}

// ask sends one line and returns the first of its answer.
func (l *lineClient) ask(question string) (string, error) {
	if _, err := fmt.Fprintln(l.asks, question); err != nil {
		return "", err
	}
	return l.line()
}

func (l *lineClient) line() (string, error) {
	line, err := l.lines.ReadString('\n')
	return strings.TrimSuffix(line, "\n"), err
}

// failed ends the client and returns an error with its last output.
func (l *lineClient) failed(what string, err error) error {
	_ = l.cmd.Process.Kill()
	_ = l.cmd.Wait() // the error below covers it
	text := strings.TrimSpace(l.diag.String())
	const tail = 2000
	return fmt.Errorf("%s by Hadoop's client: %w: %s", what, err, text[max(0, len(text)-tail):])
}

// compile compiles a program of one class against Hadoop's jars, once for a cluster, and returns
// the directory of its jar. The test has the extra [Spark], whose jars have the compiler.
func (j *Jobs) compile(ctx context.Context, class string, source []byte) (string, error) {
	spark, err := Spark.jars().ready()
	if err != nil {
		return "", fmt.Errorf("compile %s: %w", class, err)
	}
	dir := filepath.Join(j.processes.dir, strings.ToLower(class))
	jar := filepath.Join(dir, class+".jar")
	if _, err := os.Stat(jar); err == nil {
		return dir, nil
	}
	file, classes := filepath.Join(dir, class+".java"), filepath.Join(dir, "classes")
	if err := writeFiles(dir, map[string][]byte{filepath.Base(file): source}); err != nil {
		return "", err
	}
	// The compiler takes the class path that it runs with.
	compiler := program{
		jars: []string{j.processes.jars, spark}, class: "org.eclipse.jdt.internal.compiler.batch.Main",
		args: []string{"-source", "11", "-target", "11", "-proc:none", "-nowarn", "-d", classes, file},
	}
	if _, _, err := j.processes.run(ctx, compiler); err != nil {
		return "", fmt.Errorf("compile %s: %w", class, err)
	}
	return dir, pack(jar, classes)
}

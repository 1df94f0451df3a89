//go:build linux

package hadoop

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
)

//go:embed assets/Submission.java
var submissionSource []byte

// submissionClass is the class of the source.
const submissionClass = "Submission"

// Submitter is one process of Hadoop's MapReduce client that submits jobs of any user and
// waits for none. A process for each job costs a second and more of a processor. It is
// not safe for concurrent use.
type Submitter struct{ *lineClient }

// StartSubmitter starts a client on the master host. It ends with ctx, or by Close. The test has
// the extra [Spark], whose jars have the compiler.
func (j *Jobs) StartSubmitter(ctx context.Context) (*Submitter, error) {
	p := j.processes
	host := p.hosts[Master]
	if host == nil {
		return nil, errors.New("start a client: the cluster is closed")
	}
	jars, err := j.compile(ctx, submissionClass, submissionSource)
	if err != nil {
		return nil, err
	}
	cmd := p.java(exec.CommandContext(ctx, p.javaFile()), p.site(Master), clientHeap, []string{p.jars, jars}, submissionClass)
	client, err := startLineClient(cmd, host.Start)
	return &Submitter{client}, err
}

// Submit submits a job that its settings describe in full and returns its id. The user
// is one of [Users]; settings have no tabs and line ends.
func (s *Submitter) Submit(user string, job Settings) (string, error) {
	words := []string{user}
	for _, flag := range job.flags() {
		words = append(words, strings.TrimPrefix(flag, "-D"))
	}
	answer, err := s.ask(strings.Join(words, "\t"))
	for err == nil && !strings.HasPrefix(answer, "failed ") { // libraries may print lines of their own
		if id, ok := strings.CutPrefix(answer, "submitted "); ok {
			return id, nil
		}
		answer, err = s.line()
	}
	what := "submit " + job["mapreduce.job.name"] + " of " + user
	if err != nil {
		return "", s.failed(what, err)
	}
	return "", fmt.Errorf("%s: %s", what, answer)
}

// Users are those beside root as whom jobs can be submitted, once [AddUsers] has made their
// directories. Without security whoever names a user is that user.
func Users() []string { return []string{"ana", "ben", "carla", "dan"} }

// AddUsers makes the users' home directories, below which their jobs are staged.
func AddUsers(ctx context.Context, c *Cluster) error {
	for _, user := range Users() {
		home := "/user/" + user
		if err := errors.Join(changeFile(ctx, c, home, "MKDIRS", "permission=755"), changeFile(ctx, c, home, "SETOWNER", "owner="+user)); err != nil {
			return err
		}
	}
	return nil
}

// MakeDirectory makes a directory of root's in which all users may write.
func MakeDirectory(ctx context.Context, c *Cluster, dir string) error {
	return changeFile(ctx, c, dir, "MKDIRS", "permission=1777")
}

// changeFile changes a path of HDFS over WebHDFS, as root.
func changeFile(ctx context.Context, c *Cluster, path, op, argument string) error {
	where := c.NNURL() + "/webhdfs/v1" + (&url.URL{Path: path}).EscapedPath() + "?user.name=root&op=" + op + "&" + argument
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, where, http.NoBody)
	if err != nil {
		return fmt.Errorf("%s %s: %w", op, path, err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return err // names method and URL itself
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10)) // what there is of a reason
		return fmt.Errorf("%s %s: %s: %s", op, path, resp.Status, strings.TrimSpace(string(text)))
	}
	return nil
}

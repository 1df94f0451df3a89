package hdfsclient

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/colinmarc/hdfs/v2"

	"heddle/core/model"
	"heddle/yarnproxy/rest"
)

// SafeModeError is returned while the NameNode starts or is in safe mode: it
// does not know all replicas yet, so what it says of them is not used.
type SafeModeError struct {
	Message string // the NameNode's own words
}

// Error implements error.
func (e *SafeModeError) Error() string {
	return "NameNode is starting or in safe mode: " + e.Message
}

// PermissionError is returned for a path that heddle's user may not read. It
// is an fs.ErrPermission.
type PermissionError struct {
	Path    string
	Message string // the NameNode's own words: user, access, inode
}

// Error implements error.
func (e *PermissionError) Error() string {
	return fmt.Sprintf("%s: %s; give heddle's user read and execute on the directories of the path", e.Path, e.Message)
}

// Unwrap implements errors' unwrapping.
func (e *PermissionError) Unwrap() error { return fs.ErrPermission }

// NotFoundError is returned for a path that does not exist, or a pattern that
// matches nothing. It is an fs.ErrNotExist.
type NotFoundError struct {
	Path string
}

// Error implements error.
func (e *NotFoundError) Error() string { return e.Path + ": no such file or directory in HDFS" }

// Unwrap implements errors' unwrapping.
func (e *NotFoundError) Unwrap() error { return fs.ErrNotExist }

// NotFileError is returned where a file was asked for and the path is a
// directory.
type NotFileError struct {
	Path string
}

// Error implements error.
func (e *NotFileError) Error() string { return e.Path + ": is a directory, not a file" }

// Unwrap implements errors' unwrapping.
func (e *NotFileError) Unwrap() error { return fs.ErrInvalid }

// PathError is returned for a path that cannot be asked for at all: relative,
// on another file system, or a pattern that does not parse.
type PathError struct {
	Path   string
	Reason string
}

// Error implements error.
func (e *PathError) Error() string { return fmt.Sprintf("path %q: %s", e.Path, e.Reason) }

// Unwrap implements errors' unwrapping.
func (e *PathError) Unwrap() error { return fs.ErrInvalid }

// classify turns an answer of the NameNode about path into the package's
// errors. Anything else keeps its type and gains the path.
func classify(path string, err error) error {
	if err == nil {
		return nil
	}
	if status, ok := errors.AsType[*rest.StatusError](err); ok {
		if typed := fromException(path, status.Exception, status.Message); typed != nil {
			return typed
		}
	}
	return fmt.Errorf("%s: %w", path, err)
}

// fromException returns the package's error for a Java exception, by its
// simple name, and nil for one that has none. WebHDFS answers 403 to every
// IOException but FileNotFoundException, so the status says little
// (org.apache.hadoop.hdfs.web.resources.ExceptionHandler).
func fromException(path, exception, message string) error {
	switch exception {
	case "AccessControlException":
		return &PermissionError{Path: path, Message: firstLine(message)}
	case "FileNotFoundException":
		if strings.Contains(message, "is not a file") {
			return &NotFileError{Path: path}
		}
		return &NotFoundError{Path: path}
	case "SafeModeException":
		return &SafeModeError{Message: firstLine(message)}
	case "RetriableException":
		if strings.Contains(message, "SafeModeException") || strings.Contains(message, "safe mode") || isStartup(message) {
			return &SafeModeError{Message: firstLine(message)}
		}
	}
	return nil
}

// isStartup reports whether a RetriableException's message is that of a
// NameNode that has not loaded its namespace yet.
func isStartup(message string) bool { return strings.Contains(message, "in startup mode") }

// isStartingUp reports whether err is the answer of a NameNode that has not
// loaded its namespace yet, so that another one may be active.
func isStartingUp(err error) bool {
	var status *rest.StatusError
	return errors.As(err, &status) && status.Exception == "RetriableException" && isStartup(status.Message)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// isUnknownOperation reports whether the NameNode did not know the operation it
// was asked for, as releases before the operation do.
func isUnknownOperation(err error) bool {
	var status *rest.StatusError
	if !errors.As(err, &status) || status.Status != 400 {
		return false
	}
	switch status.Exception {
	case "UnsupportedOperationException":
		return true
	case "IllegalArgumentException":
		return strings.Contains(status.Message, `"op"`)
	}
	return false
}

// isPathError reports whether the error concerns one path alone and says nothing
// of the NameNode.
func isPathError(err error) bool {
	var notFound *NotFoundError
	var notFile *NotFileError
	var path *PathError
	return errors.As(err, &notFound) || errors.As(err, &notFile) || errors.As(err, &path)
}

// pollResult returns how a poll ended that met err.
func pollResult(err error) model.PollResult {
	var safeMode *SafeModeError
	var denied *PermissionError
	var remote hdfs.Error
	switch {
	case err == nil, isPathError(err):
		return model.PollOK
	case errors.As(err, &remote):
		return model.PollError // answered, over RPC
	case errors.Is(err, errRoundTime):
		return model.PollBudget
	case errors.As(err, &safeMode):
		return model.PollError
	case errors.As(err, &denied):
		return model.PollDenied
	}
	return rest.FromError(err)
}

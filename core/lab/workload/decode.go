package workload

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"heddle/core/model"
)

// The lines of heddle's own format. What has to be there, and may be 0, is a
// pointer.
type (
	headerLine struct {
		Format int    `json:"format"`
		Kind   string `json:"kind"`
		Name   string `json:"name,omitempty"`
	}
	jobLine struct {
		ID         JobID         `json:"id"`
		Name       string        `json:"name,omitempty"`
		User       model.UserID  `json:"user"`
		Queue      model.QueueID `json:"queue,omitempty"`
		Submit     *model.Time   `json:"submit_ms"`
		Parents    []JobID       `json:"parents,omitempty"`
		AMRanOn    []int         `json:"am_ran_on,omitempty"`
		AMLaunched model.Time    `json:"am_launched_ms,omitempty"`
		Stages     []stageLine   `json:"stages"`
	}
	stageLine struct {
		Name   model.Stage    `json:"name"`
		Tasks  int            `json:"tasks"`
		Reads  []fileLine     `json:"reads,omitempty"`
		Edges  []edgeLine     `json:"edges,omitempty"`
		Output *model.Bytes   `json:"output_bytes"`
		Fixed  model.Duration `json:"fixed_ms"`
		PerGiB model.Duration `json:"per_gib_ms"`
		Start  model.Duration `json:"start_ms,omitempty"`
		Memory *int64         `json:"memory_mib"`
		VCores *int64         `json:"vcores"`
		Skew   float64        `json:"skew,omitempty"`
		Tasked []measuredLine `json:"measured,omitempty"`
	}
	fileLine struct {
		Bytes  *model.Bytes `json:"bytes"`
		Racks  *int         `json:"racks,omitempty"`
		Shares []float64    `json:"shares,omitempty"`
		Parent *JobID       `json:"parent,omitempty"`
		Node   []int        `json:"node,omitempty"`
	}
	edgeLine struct {
		From model.Stage    `json:"from"`
		Kind model.EdgeKind `json:"kind"`
	}
)

// keysOf returns the keys of the object at a path of a job.
func keysOf(path string) []string {
	switch {
	case path == "":
		return []string{"id", "name", "user", "queue", "submit_ms", "parents", "am_ran_on", "am_launched_ms", "stages"}
	case strings.Contains(path, ".reads["):
		return []string{"bytes", "racks", "shares", "parent", "node"}
	case strings.Contains(path, ".edges["):
		return []string{"from", "kind"}
	case strings.Contains(path, ".measured["):
		return []string{"compute_ms", "read_bytes", "output_bytes", "shuffle_bytes", "replicas", "ran_on", "launched_ms"}
	}
	return []string{"name", "tasks", "reads", "edges", "output_bytes", "fixed_ms", "per_gib_ms", "start_ms", "memory_mib", "vcores", "skew", "measured"}
}

// decode reads the one JSON object of a line. Unknown keys are errors.
func (l *lines) decode(line []byte, to any) error {
	if !utf8.Valid(line) {
		good := len(line) - len(bytes.TrimLeftFunc(line, func(r rune) bool { return r != utf8.RuneError }))
		return l.fail(good+1, ReasonSyntax, "not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return l.explain(line, err)
	}
	end := len(line) - len(bytes.TrimLeft(line[d.InputOffset():], " \t\r"))
	if end < len(line) {
		return l.fail(end+1, ReasonSyntax, "something follows the object; write one object a line")
	}
	return nil
}

// explain says what is wrong with a line, and where.
func (l *lines) explain(line []byte, err error) error {
	var syntax *json.SyntaxError
	var mistyped *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return l.fail(min(max(int(syntax.Offset), 1), len(line)+1), ReasonSyntax, "no JSON: %w", err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return l.fail(len(line)+1, ReasonSyntax, "the line ends within an object")
	case errors.As(err, &mistyped):
		at := find(line, func(v value) bool { return v.end >= int(mistyped.Offset) })
		f := wrongType(mistyped, at.path)
		return l.fail(at.column(), f.reason, "%s", f)
	}
	if quoted, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		key, _ := strconv.Unquote(quoted)
		at := find(line, func(v value) bool { return v.key == key && !slices.Contains(keysOf(v.object), key) })
		return l.fail(at.column(), ReasonKey, "unknown key %q; known here: %s", key, strings.Join(keysOf(at.object), ", "))
	}
	return l.fail(1, ReasonSyntax, "no JSON: %w", err)
}

// wrongType says that the value of a path has another type than it is to have.
func wrongType(e *json.UnmarshalTypeError, path string) *fault {
	wanted, reason := "a string", ReasonSyntax
	found, _ := strings.CutPrefix(e.Value, "number ")
	switch e.Type.Kind().String() {
	case "int", "int64":
		wanted, reason = "a whole number", ReasonNumber
		if _, err := strconv.ParseInt(found, 10, 64); errors.Is(err, strconv.ErrRange) {
			wanted, reason = "a whole number that fits into 64 bits", ReasonRange
		}
	case "float64":
		wanted, reason = "a number", ReasonNumber
	case "slice":
		wanted = "a list"
	case "struct":
		wanted = "an object"
	}
	return &fault{reason, path, fmt.Sprintf("want %s, is %s", wanted, found)}
}

// value is a key or a value of a line, and where it stands.
type value struct {
	path       string // of the value; of a key that of its value
	object     string // path of the object that a key is in
	key        string // of a key alone
	start, end int    // bytes before its first, and before what follows
}

func (v value) column() int { return v.start + 1 }

// find returns the first key or value of a line, as they stand there, for which
// match says so; the line's start without one. It is slow, for errors alone.
func find(line []byte, match func(v value) bool) value {
	d := json.NewDecoder(bytes.NewReader(line))
	var found value
	done := false
	next := func(v value) json.Token {
		v.start = int(d.InputOffset())
		v.start += len(line[v.start:]) - len(bytes.TrimLeft(line[v.start:], " \t\r\n,:"))
		token, err := d.Token()
		v.end = int(d.InputOffset())
		if key, ok := token.(string); ok && v.object != v.path {
			v.key = key
			v.path = strings.TrimPrefix(v.object+"."+key, ".")
		}
		if done = done || err != nil; !done && match(v) {
			found, done = v, true
		}
		return token
	}
	var walk func(path string)
	walk = func(path string) {
		switch next(value{path: path, object: path}) {
		case json.Delim('{'):
			for !done && d.More() {
				key, _ := next(value{path: "key", object: path}).(string)
				walk(strings.TrimPrefix(path+"."+key, "."))
			}
			next(value{path: path, object: path, start: -1})
		case json.Delim('['):
			for i := 0; !done && d.More(); i++ {
				walk(index(path, i))
			}
			next(value{path: path, object: path, start: -1})
		}
	}
	walk("")
	return found
}

// columnOf returns where the value of a path starts, or the nearest one around it.
func columnOf(line []byte, path string) int {
	for path != "" {
		if at := find(line, func(v value) bool { return v.key == "" && v.path == path }); at.path == path {
			return at.column()
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
	return 1
}

// jobReader makes jobs of lines.
type jobReader struct {
	words map[string]string // names seen before: each is kept once
}

func (r *jobReader) intern(s string) string {
	if known, ok := r.words[s]; ok {
		return known
	}
	r.words[s] = s
	return s
}

// job makes a job of a line, given the indexes of the jobs before.
func (r *jobReader) job(l *jobLine, ids map[JobID]int) (Job, *fault) {
	if l.Submit == nil {
		return Job{}, missing("submit_ms")
	}
	j := Job{
		ID: l.ID, Name: r.intern(l.Name), User: model.UserID(r.intern(string(l.User))), Queue: DefaultQueue,
		Submit: *l.Submit, AMLaunched: l.AMLaunched, Stages: make([]Stage, 0, len(l.Stages)),
	}
	if l.Queue != "" {
		j.Queue = model.QueueID(r.intern(string(l.Queue)))
	}
	if l.AMRanOn != nil {
		node, f := nodeOf(l.AMRanOn, "am_ran_on")
		if f != nil {
			return j, f
		}
		j.AMRanOn = node
	}
	for i, id := range l.Parents {
		parent, f := jobIndex(id, ids, index("parents", i))
		if f != nil {
			return j, f
		}
		j.Parents = append(j.Parents, parent)
	}
	for i := range l.Stages {
		if f := r.stage(&j, &l.Stages[i], ids); f != nil {
			f.path = strings.TrimSuffix(index("stages", i)+"."+f.path, ".")
			return j, f
		}
	}
	j.Parents = slices.Clip(j.Parents)
	return j, nil
}

// stage adds a stage to a job.
func (r *jobReader) stage(j *Job, l *stageLine, ids map[JobID]int) *fault {
	if l.Output == nil {
		return missing("output_bytes")
	}
	s := Stage{
		Name: model.Stage(r.intern(string(l.Name))), Tasks: l.Tasks, Output: *l.Output,
		Cost: Cost{Fixed: l.Fixed, PerGiB: l.PerGiB}, Start: l.Start, Container: DefaultSizing().Container, Skew: l.Skew,
	}
	if l.Memory != nil {
		s.Container.MemoryMiB = *l.Memory
	}
	if l.VCores != nil {
		s.Container.VCores = *l.VCores
	}
	for i := range l.Reads {
		file, f := l.Reads[i].file(ids)
		if f != nil {
			f.path = strings.TrimSuffix(index("reads", i)+"."+f.path, ".")
			return f
		}
		s.Reads = append(s.Reads, file)
	}
	for i, e := range l.Edges {
		from := slices.IndexFunc(j.Stages, func(s Stage) bool { return s.Name == e.From })
		if from < 0 {
			return &fault{ReasonEdge, index("edges", i) + ".from", fmt.Sprintf("no earlier stage is called %q; stages stand in topological order", e.From)}
		}
		s.Edges = append(s.Edges, Edge{From: from, Kind: model.EdgeKind(r.intern(string(e.Kind)))})
	}
	s.Reads, s.Edges = slices.Clip(s.Reads), slices.Clip(s.Edges)
	var f *fault
	if s.Measured, f = measured(l.Tasked); f != nil {
		return f
	}
	j.Stages = append(j.Stages, s)
	return nil
}

// file makes a file of what a stage reads.
func (l *fileLine) file(ids map[JobID]int) (File, *fault) {
	if l.Bytes == nil {
		return File{}, missing("bytes")
	}
	file, places := File{Bytes: *l.Bytes}, 0
	if l.Racks != nil {
		file.Place, file.Racks = OnRacks, *l.Racks
		places++
	}
	if l.Shares != nil {
		file.Place, file.Shares = ByShares, l.Shares
		places++
	}
	if l.Parent != nil {
		parent, f := jobIndex(*l.Parent, ids, "parent")
		if f != nil {
			return file, f
		}
		file.Place, file.Parent = OfParent, parent
		places++
	}
	if l.Node != nil {
		node, f := nodeOf(l.Node, "node")
		if f != nil {
			return file, f
		}
		file.Place, file.Node = OnNode, node
		places++
	}
	if places > 1 {
		return file, &fault{ReasonKey, "", "say racks, shares, parent or node, and only one of them"}
	}
	return file, nil
}

// jobIndex returns the index of an earlier job.
func jobIndex(id JobID, ids map[JobID]int, path string) (int, *fault) {
	i, ok := ids[id]
	if !ok {
		return 0, &fault{ReasonParent, path, fmt.Sprintf("no earlier job is called %q; a parent stands before its children", id)}
	}
	return i, nil
}

func missing(key string) *fault {
	return &fault{ReasonMissing, "", fmt.Sprintf("key %q is missing", key)}
}

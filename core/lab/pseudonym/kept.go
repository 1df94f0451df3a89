package pseudonym

import (
	"slices"
	"strings"

	"heddle/core/model"
	"heddle/core/policy/builtin"
	"heddle/core/state"
	"heddle/core/trace"
)

// What stays in a recording, beside numbers:
//
//   - ids of applications and containers: a time and counts, checked to be no more;
//   - words of closed sets, below: the code tells them apart, and they are those of Hadoop
//     and heddle. A word that is in none gets a pseudonym;
//   - "/default-rack": where Hadoop puts hosts that its topology does not know;
//   - "*" in rows of an ask table: any node;
//   - "root" as a queue and before the path of one: every cluster has it;
//   - ports, the form of a path ("/", ".", ".."), and known schemes of URIs: they decide what lies
//     below what;
//   - the leading number of a version: what Hadoop and what heddle it was;
//   - phrases that say of what kind a replaced text was.

func keptSource(s model.Source) bool {
	return s == model.SourceService || slices.Contains(model.Sources(), s)
}

func keptReason(r model.Reason) bool { return slices.Contains(model.Reasons(), r) }

func keptPollResult(r model.PollResult) bool { return slices.Contains(model.PollResults(), r) }

func keptEdgeKind(k model.EdgeKind) bool { return slices.Contains(model.EdgeKinds(), k) }

func keptStage(s model.Stage) bool {
	return slices.Contains([]model.Stage{model.StageMap, model.StageReduce, model.StageAM, model.StageOther}, s)
}

func keptNodeState(s model.NodeState) bool {
	return slices.Contains([]model.NodeState{
		model.NodeNew, model.NodeRunning, model.NodeUnhealthy, model.NodeDecommissioned, model.NodeLost, model.NodeRebooted,
		model.NodeDecommissioning, model.NodeShutdown,
	}, s)
}

func keptAppState(s model.AppState) bool {
	return slices.Contains([]model.AppState{
		model.AppNew, model.AppNewSaving, model.AppSubmitted, model.AppAccepted, model.AppRunning, model.AppFinished, model.AppFailed,
		model.AppKilled,
	}, s)
}

func keptTaskState(s model.TaskState) bool {
	return slices.Contains([]model.TaskState{model.TaskPending, model.TaskRunning, model.TaskSucceeded, model.TaskFailed}, s)
}

func keptPolicy(name string) bool {
	_, ok := builtin.Registry().Lookup(name)
	return ok
}

func keptMethod(s string) bool {
	return slices.Contains([]string{state.MethodEstimate, state.MethodShuffleJMX, state.MethodPrometheus}, s)
}

// keptCost reports whether a name is one of model.Cost.
func keptCost(s string) bool {
	return slices.Contains([]string{"plan", "fewest_bytes", "proportional", "uniform", "as_placed", "not_pinned"}, s)
}

// keptHAState knows HAServiceProtocol.HAServiceState.
func keptHAState(s string) bool {
	return slices.Contains([]string{"INITIALIZING", "ACTIVE", "STANDBY", "OBSERVER", "STOPPING"}, s)
}

// keptScheduler knows the types of SchedulerInfo.
func keptScheduler(s string) bool {
	return slices.Contains([]string{"capacityScheduler", "fairScheduler", "fifoScheduler"}, s)
}

// keptType knows the types of applications that come with Hadoop and the frameworks on it.
func keptType(s string) bool {
	return slices.Contains([]string{"MAPREDUCE", "SPARK", "TEZ", "YARN", "yarn-service", "Apache Flink", "Apache Samza"}, s)
}

// keptScheme knows the schemes of file systems.
func keptScheme(s string) bool {
	return slices.Contains([]string{
		"hdfs", "webhdfs", "swebhdfs", "viewfs", "file", "har", "s3", "s3a", "s3n", "abfs", "abfss", "wasb", "wasbs", "adl", "gs",
		"o3fs", "ofs", "cosn", "oss", "obs", "http", "https",
	}, s)
}

func keptMark(s string) bool {
	return slices.Contains([]string{trace.MarkDropped, trace.MarkContinues, trace.MarkRestarted}, s)
}

// renameWord replaces a word unless it is one of those that are kept.
func renameWord[S ~string](w *walk, s *S, kept func(S) bool) {
	if !kept(*s) {
		rename(w, word, s)
	}
}

// phraseOfVersion returns the number that a version begins with.
func phraseOfVersion(v string) string {
	if v == "dev" { // a build of heddle without a version
		return v
	}
	end := strings.IndexFunc(v, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if end < 0 {
		return v
	}
	return v[:end]
}

// removed stands for a text.
const removed = "text removed"

// phrases are the kinds of errors that are told apart, by what the text of one has in it.
func phrases() [][2]string {
	return [][2]string{
		{"connection refused", "connection refused"},
		{"connection reset", "connection reset"},
		{"no such host", "unknown host"},
		{"unknown host", "unknown host"},
		{"no route to host", "no route"},
		{"certificate", "certificate"},
		{"deadline exceeded", "timeout"},
		{"timeout", "timeout"},
		{"timed out", "timeout"},
		{"safe mode", "safe mode"},
		{"standby", "standby"},
		{"permission denied", "permission denied"},
		{"unexpected end of json", "incomplete answer"},
		{"eof", "connection ended"},
	}
}

// phraseOfError returns what kind of error a text is of, as far as that is known.
func phraseOfError(text string) string {
	if text == "" {
		return ""
	}
	lower := strings.ToLower(text)
	for _, p := range phrases() {
		if strings.Contains(lower, p[0]) {
			return removed + ": " + p[1]
		}
	}
	return removed
}

// queueWasFull is the text of the mark that the recorder leaves most often.
const queueWasFull = "the queue was full"

func phraseOfMark(text string) string {
	if text == "" || text == queueWasFull {
		return text
	}
	return removed
}
